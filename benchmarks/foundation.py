"""The paper's sampler: speed against bootstrapped XGBoost, growth of its cost, accuracy over many data sets.

Prints JSON. Expected cost before measuring, for n = 3750 rows, p = m = 2, 1000 particles and 100 steps: one redrawn
hyperplane costs 2 n (m (p + 1) + m + 2) = 75 kflop, so 10^5 of them cost 7.5 Gflop, half a second on two cores at the
10 Gflop/s that products this thin reach.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import xgboost

from hyperplanes import HyperplaneProcessRegressor
from hyperplanes.experiments.metrics import rmse
from hyperplanes.experiments.simulate import simulate, split


def paper_model(**settings: Any) -> HyperplaneProcessRegressor:
    defaults = {"sampler": "paper", "n_particles": 1000, "n_steps": 100, "n_hyperplanes": 2, "random_state": 0}
    return HyperplaneProcessRegressor(**{**defaults, **settings})


def timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def fit_seconds(n_rows: int = 5000, n_repeats: int = 3, **settings: Any) -> float:
    """Seconds of a warm fit of the paper's sampler and its prediction of the test rows, the median of a few."""
    train, test = split(simulate(1, n_rows=n_rows, touching=True), 1)
    model = paper_model(**settings)
    timed(lambda: model.fit(train.X, train.y).predict(test.X))
    return float(np.median([timed(lambda: model.fit(train.X, train.y).predict(test.X)) for _ in range(n_repeats)]))


def first_fit_seconds() -> float:
    """Seconds of the first fit and prediction in a fresh process without any cache, without importing the library."""
    command = [sys.executable, __file__, "--first-fit"]
    environment = {**os.environ, "HYPERPLANES_CACHE": "off"}
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def bootstrap_seconds(n_bootstraps: int) -> float:
    """Seconds of bootstrapped XGBoost: 40 trees, defaults, one thread."""
    train, test = split(simulate(1, touching=True), 1)
    rng = np.random.default_rng(0)

    def run() -> None:
        for _ in range(n_bootstraps):
            rows = rng.integers(len(train.y), size=len(train.y))
            xgboost.XGBRegressor(n_estimators=40, n_jobs=1).fit(train.X[rows], train.y[rows]).predict(test.X)

    return timed(run)


def cost_exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of log time against log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth() -> dict[str, dict[str, Any]]:
    """Seconds and fitted exponents in rows, particles, steps and hyperplanes, where work outweighs overhead."""
    ladders: dict[str, list[int]] = {
        "n_rows": [200_000, 400_000, 800_000, 1_600_000],
        "n_particles": [4000, 8000, 16_000, 32_000],
        "n_steps": [50, 100, 200, 400],
        "n_hyperplanes": [8, 16, 32, 64],
    }
    base: dict[str, Any] = {"n_rows": 5000, "n_particles": 1000, "n_steps": 25}
    results = {}
    for name, sizes in ladders.items():
        small = {"n_particles": 100} if name == "n_rows" else {}
        seconds = [fit_seconds(n_repeats=1, **{**base, **small, name: size}) for size in sizes]
        results[name] = {"sizes": sizes, "seconds": seconds, "exponent": cost_exponent(sizes, seconds)}
    return results


def accuracy(n_sets: int) -> dict[str, Any]:
    """Test RMSE against the noise oracle's, on as many simulated data sets."""
    ratios = []
    for seed in range(n_sets):
        train, test = split(simulate(seed, touching=True), seed)
        model = paper_model(random_state=seed).fit(train.X, train.y)
        ratios.append(rmse(test.y, model.predict(test.X)) / rmse(test.y, test.f))
    return {"ratios": ratios, "mean": float(np.mean(ratios)), "median": float(np.median(ratios))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first-fit", action="store_true", help="print the seconds of one fit and stop")
    parser.add_argument("--sets", type=int, default=20, help="simulated data sets for the accuracy")
    parser.add_argument("--bootstraps", type=int, default=1000, help="XGBoost fits")
    options = parser.parse_args()
    if options.first_fit:
        train, test = split(simulate(1, touching=True), 1)
        print(timed(lambda: paper_model().fit(train.X, train.y).predict(test.X)))
        return
    xgb = bootstrap_seconds(options.bootstraps)
    ours = {"warm": fit_seconds(), "warm_one_job": fit_seconds(n_jobs=1), "first": first_fit_seconds()}
    report = {
        "seconds": {"xgboost": xgb, **ours},
        "times_faster": {name: xgb / seconds for name, seconds in ours.items()},
        "accuracy": accuracy(options.sets),
        "growth": growth(),
    }
    json.dump(report, sys.stdout, indent=2)


if __name__ == "__main__":
    main()

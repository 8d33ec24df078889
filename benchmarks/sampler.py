"""How near the samplers come to what is attainable on the paper's generator, and how fast.

Prints JSON, and a table on stderr. "Attainable" is sqrt(1 + d/n): n training rows, d the parameters of the true units
that fire on at least 1% of them, plus the intercept. A figure of 1 in the column `rmse` is what an efficient estimator
that knew which units matter would reach.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import xgboost

from hyperplanes import HyperplaneProcessRegressor
from hyperplanes.experiments.metrics import coverage, mean_width, rmse
from hyperplanes.experiments.simulate import Simulation, simulate, split

CASES = {"p2m2": (2, 2), "p10m10": (10, 10), "p20m10": (20, 10), "p50m10": (50, 10), "p2m40": (2, 40)}
COVERAGE = 0.95
TAILS = [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]


class Prediction(NamedTuple):
    """What a method says of the test rows."""

    mean: np.ndarray
    """Predicted mean."""
    function: np.ndarray
    """95% intervals of the function, (n, 2)."""
    response: np.ndarray
    """95% intervals of a new response, (n, 2)."""
    details: dict[str, float]
    """What else the method reports."""


def hyperplanes(sampler: str, **settings: Any) -> Callable[[Simulation, Simulation, int], Prediction]:
    def run(train: Simulation, test: Simulation, seed: int) -> Prediction:
        n_hyperplanes = len(train.offsets)
        model = HyperplaneProcessRegressor(n_hyperplanes, sampler=sampler, random_state=seed, **settings)
        model.fit(train.X, train.y)
        details = {
            "log_evidence": model.log_evidence_,
            "log_evidence_error": model.log_evidence_error_,
            "n_distinct": model.diagnostics_.n_distinct,
            "n_steps": model.diagnostics_.n_steps,
        }
        function = model.predict_interval(test.X, COVERAGE, target="mean")
        return Prediction(model.predict(test.X), function, model.predict_interval(test.X, COVERAGE), details)

    return run


def bootstrapped_xgboost(train: Simulation, test: Simulation, seed: int, n_bootstraps: int = 1000) -> Prediction:
    """1000 bootstrap fits of 40 trees on one thread; the response's interval adds resampled residuals."""
    rng = np.random.default_rng(seed)
    predictions, residuals = [], []
    for _ in range(n_bootstraps):
        rows = rng.integers(len(train.y), size=len(train.y))
        left_out = np.setdiff1d(np.arange(len(train.y)), rows)[:50]
        model = xgboost.XGBRegressor(n_estimators=40, n_jobs=1).fit(train.X[rows], train.y[rows])
        predictions.append(model.predict(test.X))
        residuals.append(train.y[left_out] - model.predict(train.X[left_out]))
    draws = np.array(predictions)
    noisy = draws + rng.choice(np.concatenate(residuals), size=draws.shape)
    intervals = [np.quantile(values, TAILS, axis=0).T for values in (draws, noisy)]
    return Prediction(draws.mean(axis=0), intervals[0], intervals[1], {})


METHODS: dict[str, Callable[[Simulation, Simulation, int], Prediction]] = {
    "auto": hyperplanes("auto"),
    "paper": hyperplanes("paper", n_particles=1000, n_steps=100),
    "xgboost": bootstrapped_xgboost,
}


def attainable(train: Simulation) -> float:
    fires = (train.offsets < train.X @ train.normals.T).mean(axis=0) >= 0.01
    n_parameters = fires.sum() * (train.X.shape[1] + 1) + 1
    return float(np.sqrt(1 + n_parameters / len(train.y)))


def score(method: str, case: str, seed: int) -> dict[str, Any]:
    n_columns, n_hyperplanes = CASES[case]
    train, test = split(simulate(seed, n_columns=n_columns, n_hyperplanes=n_hyperplanes), seed)
    start = time.perf_counter()
    prediction = METHODS[method](train, test, seed)
    seconds = time.perf_counter() - start
    return {
        "method": method,
        "case": case,
        "seed": seed,
        "seconds": seconds,
        "rmse": rmse(test.y, prediction.mean) / rmse(test.y, test.f) / attainable(train),
        "rmse_to_truth": rmse(test.f, prediction.mean),
        "function_covered": coverage(test.f, prediction.function),
        "function_width": mean_width(prediction.function),
        "response_covered": coverage(test.y, prediction.response),
        "response_width": mean_width(prediction.response),
        **prediction.details,
    }


def summarise(scores: list[dict[str, Any]]) -> dict[str, float]:
    """Medians of the RMSE, means of the rest."""
    names = ["seconds", "rmse_to_truth", "function_covered", "function_width", "response_covered", "response_width"]
    means = {name: float(np.mean([score[name] for score in scores])) for name in names}
    return {"rmse": float(np.median([score["rmse"] for score in scores])), **means}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--sets", type=int, default=10, help="simulated data sets of each case")
    options = parser.parse_args()
    report = []
    for case in options.cases:
        for method in options.methods:
            score(method, case, 0)  # compiles
            scores = [score(method, case, seed) for seed in range(1, options.sets + 1)]
            report.append({"case": case, "method": method, "summary": summarise(scores), "scores": scores})
            figures = "  ".join(f"{name} {value:.4g}" for name, value in report[-1]["summary"].items())
            print(f"{case:7} {method:8} {figures}", file=sys.stderr, flush=True)
    json.dump(report, sys.stdout, indent=2)


if __name__ == "__main__":
    main()

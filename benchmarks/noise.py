"""Noise that varies or has heavy tails: whether intervals are right for each row, and what outliers do.

Each cell (case, noise, seed) is one JSON file in the folder `--cells`. Prints JSON, and a table on stderr.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hyperplanes import HyperplaneProcessRegressor
from hyperplanes.experiments.cells import stored
from hyperplanes.experiments.metrics import coverage, rmse
from hyperplanes.experiments.predictive import Floats
from hyperplanes.experiments.simulate import simulate

NOISES = ("constant", "varying", "student", "auto")
N_TRAIN, N_TEST = 1000, 20_000
N_GROUPS = 10
SHIFT, SHARE = 10.0, 0.05
"""Outliers are moved by so many standard deviations of the noise, and are so many of the responses."""


class Case(NamedTuple):
    """Rows with a known function and a known spread."""

    X: Floats
    """Inputs."""
    f: Floats
    """Function."""
    spread: Floats
    """Standard deviation of the noise of each row."""
    y: Floats
    """Responses."""


def draw(seed: int, spread: Callable[[Floats], Floats]) -> Case:
    """The paper's generator with five columns and five hyperplanes, and noise of a given spread."""
    simulation = simulate(seed, n_rows=N_TRAIN + N_TEST, n_columns=5, n_hyperplanes=5)
    deviations = spread(simulation.X)
    white = np.random.default_rng(seed).standard_normal(len(deviations))
    return Case(simulation.X, simulation.f, deviations, simulation.f + deviations * white)


def outliers(seed: int, share: float) -> Case:
    case = draw(seed, lambda X: np.full(len(X), 0.1))
    rng = np.random.default_rng(seed + 1)
    moved = rng.uniform(size=len(case.y)) < share
    moved[N_TRAIN:] = False
    return case._replace(y=case.y + moved * SHIFT * 0.1 * rng.choice([-1, 1], size=len(case.y)))


CASES: dict[str, Callable[[int], Case]] = {
    "constant": lambda seed: draw(seed, lambda X: np.full(len(X), 0.1)),
    "linear": lambda seed: draw(seed, lambda X: 0.1 * np.exp(X[:, 0])),
    "bent": lambda seed: draw(seed, lambda X: 0.05 * np.exp(2 * np.maximum(X[:, 1], 0))),
    "product": lambda seed: draw(seed, lambda X: 0.1 * np.exp(1.5 * X[:, 0] * X[:, 1])),
    "outliers": lambda seed: outliers(seed, SHARE),
    "no_outliers": lambda seed: outliers(seed, 0.0),
}


def run_cell(name: str, noise: str, seed: int) -> dict[str, Any]:
    case = CASES[name](seed)
    train, test = (Case(*(each[rows] for each in case)) for rows in (slice(N_TRAIN), slice(N_TRAIN, None)))
    start = time.perf_counter()
    model = HyperplaneProcessRegressor(noise=noise, random_state=seed).fit(train.X, train.y)
    seconds = time.perf_counter() - start
    interval = model.predict_interval(test.X)
    groups = np.array_split(np.argsort(test.spread, kind="stable"), N_GROUPS)
    return {
        "case": name,
        "noise": noise,
        "seed": seed,
        "chosen": model.noise_,
        "log_evidence": model.log_evidence_,
        "log_evidences": dict(model.parts_[0].summary.log_evidences),
        "lpd": float(np.mean(model.log_predictive_density(test.X, test.y))),
        "rmse_to_truth": rmse(test.f, model.predict(test.X)),
        "covered": coverage(test.y, interval),
        "covered_by_spread": [coverage(test.y[rows], interval[rows]) for rows in groups],
        "function_covered": coverage(test.f, model.predict_interval(test.X, target="mean")),
        "seconds": seconds,
    }


def summarise(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for name, noise in sorted({(cell["case"], cell["noise"]) for cell in cells}):
        some = [cell for cell in cells if (cell["case"], cell["noise"]) == (name, noise)]
        numbers = ("lpd", "rmse_to_truth", "covered", "function_covered", "log_evidence", "seconds")
        kinds = [cell["chosen"] for cell in some]
        by_spread = np.array([cell["covered_by_spread"] for cell in some])
        found.append(
            {
                "case": name,
                "noise": noise,
                **{what: float(np.mean([cell[what] for cell in some])) for what in numbers},
                "covered_by_spread": by_spread.mean(axis=0).tolist(),
                "covered_in_one_set": [float(by_spread.min()), float(by_spread.max())],
                "chosen": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--noises", nargs="+", default=list(NOISES), choices=NOISES)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cells", type=Path, default=Path("benchmarks/cells/noise"))
    options = parser.parse_args()
    cells = []
    for name in options.cases:
        for noise in options.noises:
            for seed in range(1, options.seeds + 1):
                file = options.cells / f"{name}-{noise}-{seed}.json"
                cells.append(stored(file, partial(run_cell, name, noise, seed)))
                print(f"{name} {noise} {seed}", file=sys.stderr)
    report = summarise(cells)
    for line in report:
        spread = line["covered_by_spread"]
        print(
            f"{line['case']:12}{line['noise']:10} lpd {line['lpd']:.4f}  to truth {line['rmse_to_truth']:.4f}  "
            f"covered {line['covered']:.3f} ({min(spread):.3f} to {max(spread):.3f}, in one set "
            f"{line['covered_in_one_set'][0]:.3f} to {line['covered_in_one_set'][1]:.3f})  {line['chosen']}",
            file=sys.stderr,
        )
    json.dump(report, sys.stdout, indent=2)


if __name__ == "__main__":
    main()

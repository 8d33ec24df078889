"""The paper's third simulation: 40 hyperplanes in two columns, as a whole, by intensity and by domain.

Every method has 40 hyperplanes in all, 10 in each of four parts. Fits use one thread, so that seconds can be compared
with those of the whole; those of one of four independent parts are a quarter. Each cell (data set, method) is one JSON
file in the folder `--cells`, so that a run can be stopped, resumed and shared out. Prints JSON, and a table on stderr.
"""

import argparse
import json
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hyperplanes import HyperplaneProcessRegressor
from hyperplanes.estimators import HyperplanesWarning
from hyperplanes.experiments.cells import stored
from hyperplanes.experiments.metrics import coverage, rmse
from hyperplanes.experiments.simulate import simulate, split
from hyperplanes.inference import Subdomains

N_PARTS = 4
METHODS: dict[str, dict[str, Any]] = {
    "whole": {"n_hyperplanes": 40},
    "intensity": {"decomposition": "intensity"},
    "paper-intensity": {"decomposition": "paper-intensity"},
    "domain": {"decomposition": "domain"},
    "paper-domain": {"decomposition": "paper-domain"},
}
NEAR = 0.1
BLENDS = (0.0, 0.05, 0.1, 0.2, 0.3)
Cell = dict[str, Any]


def make_model(method: str, **settings: Any) -> HyperplaneProcessRegressor:
    options = {"n_hyperplanes": 10, "n_parts": N_PARTS, "n_jobs": 1, **METHODS[method], **settings}
    return HyperplaneProcessRegressor(**options)


def run_cell(method: str, seed: int) -> list[Cell]:
    """One fit; predictions of boxes with borders blended by several shares."""
    train, test = split(simulate(seed, n_columns=2, n_hyperplanes=40), seed)
    with warnings.catch_warnings(action="ignore", category=HyperplanesWarning):
        make_model(method, random_state=0, budget=1e-3).fit(train.X, train.y)  # compiles
    start = time.perf_counter()
    model = make_model(method, random_state=seed).fit(train.X, train.y)
    seconds = time.perf_counter() - start
    cells, subdomains = [], model.subdomains_
    for blend in BLENDS if len(model.parts_) > 1 else (0.0,):
        model.subdomains_ = subdomains.with_margins(blend, *model.input_range_)
        mean, of_response = model.predict(test.X), model.predict_interval(test.X)
        of_function, near = model.predict_interval(test.X, target="mean"), near_borders(subdomains, model, test.X)
        scores = {
            "rmse": rmse(test.y, mean),
            "oracle": rmse(test.y, test.f),
            "to_truth": rmse(test.f, mean),
            "response_covered": coverage(test.y, of_response),
            "function_covered": coverage(test.f, of_function),
            "response_covered_near": coverage(test.y[near], of_response[near]) if near.any() else None,
            "function_covered_near": coverage(test.f[near], of_function[near]) if near.any() else None,
            "log_predictive_density": float(np.mean(model.log_predictive_density(test.X, test.y))),
        }
        cells.append({"method": method, "blend": blend, "seed": seed, "seconds": seconds, **scores})
    return cells


def near_borders(subdomains: Subdomains, model: HyperplaneProcessRegressor, X: np.ndarray) -> np.ndarray:
    """Which rows are within a margin of `NEAR` of a border, whatever the model blends."""
    near = np.zeros(len(X), dtype=bool)
    for rows, shares in subdomains.with_margins(NEAR, *model.input_range_).members(X).values():
        near[rows[shares < 1]] = True
    return near


def collect(options: argparse.Namespace) -> list[Cell]:
    cells = []
    for seed in range(1, options.sets + 1):
        for method in options.methods:
            file = options.cells / f"{method}-{seed}.json"
            cells += stored(file, partial(run_cell, method, seed))
            print(f"{method} {seed}", file=sys.stderr)
    return cells


def summarise(cells: list[Cell]) -> list[Cell]:
    whole = {cell["seed"]: cell["seconds"] for cell in cells if cell["method"] == "whole"}
    found = []
    for method, blend in dict.fromkeys((cell["method"], cell["blend"]) for cell in cells):
        of_method = [cell for cell in cells if (cell["method"], cell["blend"]) == (method, blend)]
        names = [name for name, value in of_method[0].items() if isinstance(value, float)]
        means = {name: float(np.mean([cell[name] for cell in of_method])) for name in names}
        ratios = [cell["seconds"] / whole[cell["seed"]] for cell in of_method if cell["seed"] in whole]
        error = float(np.std([cell["rmse"] for cell in of_method]) / np.sqrt(len(of_method)))
        known = {"method": method, "sets": len(of_method), "rmse_error": error}
        found.append(means | known | {"of_whole": float(np.mean(ratios)) if ratios else None, "blend": blend})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--cells", type=Path, default=Path("benchmarks/cells/decompositions"))
    options = parser.parse_args()
    report = summarise(collect(options))
    shown = ["rmse", "oracle", "to_truth", "response_covered", "function_covered", "seconds", "of_whole"]
    print(f"{'':22}" + "".join(f"{name:>18}" for name in shown), file=sys.stderr)
    for row in report:
        label = f"{row['method']}, blend {row['blend']}"
        print(f"{label:22}" + "".join(f"{row[name] or np.nan:18.4f}" for name in shown), file=sys.stderr)
    json.dump(report, sys.stdout, indent=2)


if __name__ == "__main__":
    main()

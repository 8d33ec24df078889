"""Seconds of a default fit on 1000 rows and 10 columns beside 100 bootstraps of XGBoost, and how a budget is kept.

Prints JSON. Tables are Friedman's first function, which needs some twenty hyperplanes, and the paper's generator with
ten. A budget is given in units of the seconds that a fit takes by itself. The first fit of a size compiles; that of a
fresh process without a cache is printed too. Keep the machine quiet.
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
from sklearn.datasets import make_friedman1

from hyperplanes import HyperplaneProcessRegressor
from hyperplanes.experiments.data_sets import DataSet
from hyperplanes.experiments.metrics import rmse
from hyperplanes.experiments.simulate import simulate
from table_methods import METHODS

N_ROWS = 1000
BUDGETS = (0.5, 1.0, 2.0, 4.0)


def friedman1(seed: int) -> DataSet:
    return DataSet(*make_friedman1(2 * N_ROWS, noise=1.0, random_state=seed))


def of_the_paper(seed: int) -> DataSet:
    simulation = simulate(seed, n_rows=2 * N_ROWS, n_columns=10, n_hyperplanes=10)
    return DataSet(simulation.X, simulation.y)


TABLES: dict[str, Callable[[int], DataSet]] = {"friedman1": friedman1, "paper_p10m10": of_the_paper}


def fit(table: str, seed: int, budget: float | None = None) -> dict[str, float]:
    """Seconds of a fit to the first half of the rows, RMSE on the others in units of the response's deviation."""
    X, y = TABLES[table](seed)
    start = time.perf_counter()
    model = HyperplaneProcessRegressor(random_state=seed, budget=budget).fit(X[:N_ROWS], y[:N_ROWS])
    seconds = time.perf_counter() - start
    error = rmse(y[N_ROWS:], model.predict(X[N_ROWS:])) / float(np.std(y[:N_ROWS]))
    return {"seconds": seconds, "rmse": error, "n_steps": model.diagnostics_.n_steps}


def first_fit_seconds(table: str) -> float:
    """In a fresh process without any cache; the time to import the library does not count."""
    command = [sys.executable, __file__, "--first-fit", table]
    environment = {**os.environ, "HYPERPLANES_CACHE": "off"}
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def bootstrap_seconds(table: str, seed: int) -> float:
    X, y = TABLES[table](seed)
    start = time.perf_counter()
    METHODS["xgboost"](X[:N_ROWS], y[:N_ROWS], X[N_ROWS:], seed)
    return time.perf_counter() - start


def compare(table: str, seed: int) -> dict[str, Any]:
    fit(table, seed)
    default, bootstraps = fit(table, seed), bootstrap_seconds(table, seed)
    budgets = {}
    for times in BUDGETS:
        found = fit(table, seed, times * default["seconds"])
        budgets[times] = {**found, "share_of_budget": found["seconds"] / (times * default["seconds"])}
    times_xgboost = default["seconds"] / bootstraps
    return {**default, "bootstrap_seconds": bootstraps, "times_bootstraps": times_xgboost, "budgets": budgets}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="data sets of each kind")
    parser.add_argument("--first-fit", choices=TABLES, help="only print the seconds of one fit")
    options = parser.parse_args()
    if options.first_fit:
        print(fit(options.first_fit, 1)["seconds"])
        return
    report: dict[str, dict[str, Any]] = {}
    for table in TABLES:
        report[table] = {"first_fit_seconds": first_fit_seconds(table)}
        report[table] |= {f"set {seed}": compare(table, seed) for seed in range(1, options.seeds + 1)}
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()

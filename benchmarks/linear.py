"""Linear truths: what a model of hyperplanes loses to least squares, and how many hyperplanes it takes.

Says what a linear term of its own is worth (`--linear-variance`, 0 for none; several are compared on the same data).
Inputs are standard normal, the truth is linear with standard normal coefficients in all columns or in the first alone,
and the noise is half as wide as the truth. Prints JSON, and a table on stderr: errors to the truth on fresh rows,
relative to those of least squares.
"""

import argparse
import json
import sys
from itertools import product
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from hyperplanes import HyperplaneProcessRegressor, Prior
from hyperplanes.experiments.metrics import coverage, rmse

SIZES = ((200, 1), (200, 5), (1000, 5), (1000, 20))
"""Rows and columns."""
N_FRESH = 2000


def run_cell(n_rows: int, n_columns: int, sparse: bool, seed: int, linear_variance: float) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows + N_FRESH, n_columns))
    slopes = rng.normal(size=n_columns) * (np.arange(n_columns) == 0 if sparse else 1)
    f = X @ slopes
    y = f + 0.5 * np.linalg.norm(slopes) * rng.normal(size=len(f))
    train, fresh = slice(n_rows), slice(n_rows, None)
    prior = Prior(linear_variance=linear_variance)
    model = HyperplaneProcessRegressor(random_state=seed, prior=prior).fit(X[train], y[train])
    line = LinearRegression().fit(X[train], y[train])
    return {
        "times_least_squares": rmse(f[fresh], model.predict(X[fresh])) / rmse(f[fresh], line.predict(X[fresh])),
        "of_noise": rmse(f[fresh], model.predict(X[fresh])) / (0.5 * float(np.linalg.norm(slopes))),
        "function_covered": coverage(f[fresh], model.predict_interval(X[fresh], target="mean")),
        "n_hyperplanes": float(model.n_hyperplanes_.mean),
        "log_evidence": model.log_evidence_,
        "n_warnings": len(model.diagnostics_.warnings),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--linear-variance", type=float, nargs="+", default=[0.0])
    options = parser.parse_args()
    report = []
    for n_rows, n_columns in SIZES:
        for sparse, variance in product((False, True) if n_columns > 1 else (False,), options.linear_variance):
            seeds = range(1, options.seeds + 1)
            cells = [run_cell(n_rows, n_columns, sparse, seed, variance) for seed in seeds]
            means = {what: float(np.mean([cell[what] for cell in cells])) for what in cells[0]}
            case = {"rows": n_rows, "columns": n_columns, "sparse": sparse, "linear_variance": variance}
            report.append(case | means)
            print(
                f"{n_rows:5} rows {n_columns:3} columns {'one matters' if sparse else 'all matter':12}"
                f"variance {variance:<5g}{means['times_least_squares']:6.2f} times least squares, "
                f"{means['of_noise']:.3f} of the noise, {means['function_covered']:.3f} covered, "
                f"{means['n_hyperplanes']:.1f} hyperplanes, log evidence {means['log_evidence']:.1f}, "
                f"{means['n_warnings']:.1f} warnings",
                file=sys.stderr,
            )
    json.dump(report, sys.stdout, indent=2)


if __name__ == "__main__":
    main()

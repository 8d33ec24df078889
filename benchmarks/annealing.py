"""How slowly to anneal where coefficients are carried along: errors, evidence and time by the effective share of steps.

Each cell (share, case, seed) is one JSON file in the folder `--cells`. Prints JSON, and a table on stderr: means over
the seeds of the log loss of classes, or the RMSE to the true function, log evidence and processor seconds.
"""

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hyperplanes import HyperplaneProcessClassifier, HyperplaneProcessRegressor
from hyperplanes.experiments.cells import stored
from hyperplanes.experiments.data_sets import CLASS_SETS, split_rows
from hyperplanes.experiments.metrics import rmse
from hyperplanes.inference import compound
from noise import CASES, N_TRAIN

CLASSES = ("moons", "spirals", "breast_cancer", "wine_classes", "iris")
NOISES = {
    "constant, varying": ("constant", "varying"),
    "linear, varying": ("linear", "varying"),
    "no outliers, student": ("no_outliers", "student"),
    "outliers, student": ("outliers", "student"),
}


def fit_classes(name: str, seed: int) -> tuple[HyperplaneProcessClassifier, float]:
    train, test = split_rows(CLASS_SETS[name](seed), seed)
    model = HyperplaneProcessClassifier(random_state=seed).fit(train.X, train.y)
    return model, -float(np.mean(model.log_predictive_density(test.X, test.y)))


def fit_noise(case: str, noise: str, seed: int) -> tuple[HyperplaneProcessRegressor, float]:
    rows = CASES[case](seed)
    model = HyperplaneProcessRegressor(noise=noise, random_state=seed).fit(rows.X[:N_TRAIN], rows.y[:N_TRAIN])
    return model, rmse(rows.f[N_TRAIN:], model.predict(rows.X[N_TRAIN:]))


def run_cell(share: float, name: str, seed: int) -> dict[str, Any]:
    compound.SHARES, compound.OTHER_SHARE = {}, share
    start = time.process_time()
    model, error = fit_noise(*NOISES[name], seed) if name in NOISES else fit_classes(name, seed)
    seconds = time.process_time() - start
    return {"share": share, "case": name, "error": error, "log_evidence": model.log_evidence_, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shares", nargs="+", type=float, default=[0.65, 0.85, 0.95])
    parser.add_argument("--cases", nargs="+", default=[*CLASSES, *NOISES], choices=[*CLASSES, *NOISES])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cells", type=Path, default=Path("benchmarks/cells/annealing"))
    options = parser.parse_args()
    for case in options.cases:  # compiles, so that seconds compare
        run_cell(0.3, case, 0)
    cells = []
    for seed in range(1, options.seeds + 1):
        for share in options.shares:
            for case in options.cases:
                file = options.cells / f"{share}-{case.replace(', ', '-').replace(' ', '_')}-{seed}.json"
                cells.append(stored(file, partial(run_cell, share, case, seed)))
                print(cells[-1], file=sys.stderr)
    report = []
    for case in options.cases:
        for share in options.shares:
            some = [cell for cell in cells if (cell["case"], cell["share"]) == (case, share)]
            means = {key: float(np.mean([cell[key] for cell in some])) for key in ("error", "log_evidence", "seconds")}
            report.append({"case": case, "share": share, **means})
            print(
                f"{case:22}{share:5.2f}  error {means['error']:.4f}  log evidence {means['log_evidence']:8.1f}  "
                f"{means['seconds']:5.1f} s",
                file=sys.stderr,
            )
    json.dump(report, sys.stdout, indent=2)


if __name__ == "__main__":
    main()

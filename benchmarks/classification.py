"""Ours and its rivals at their defaults on classification.

Each cell (data set, method, split) is one JSON file in the folder `--cells`, so that a run can be stopped, resumed and
shared out. Prints JSON, and tables on stderr.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from hyperplanes import HyperplaneProcessClassifier
from hyperplanes.experiments.cells import stored
from hyperplanes.experiments.data_sets import CLASS_SETS, split_rows
from hyperplanes.experiments.metrics import brier_score, calibration_error, log_loss, reliability
from hyperplanes.experiments.predictive import Floats

Classifier = Callable[[Floats, Floats, Floats, int], tuple[Floats, dict[str, Any]]]
"""From training rows, their classes, new rows and a seed to probabilities of the classes, and details."""

METRICS = ("log_loss", "brier")
"""Those that methods are ranked by."""
AVERAGED = (*METRICS, "accuracy", "seconds")
SHOWN = (*AVERAGED, "calibration_error")
"""The last of the rows of all splits together: with a few hundred rows it is mostly chance."""
HALVED = ("moons", "circles", "spirals")
"""Half of the rows are for testing; otherwise a quarter."""


def ours(X: Floats, y: Floats, new: Floats, seed: int) -> tuple[Floats, dict[str, Any]]:
    model = HyperplaneProcessClassifier(random_state=seed).fit(X, y)
    return model.predict_proba(new), {"log_evidence": model.log_evidence_, "n_steps": model.diagnostics_.n_steps}


def of(make: Callable[[int, int], Any]) -> Classifier:
    """A classifier of scikit-learn's kind, made from a seed and the number of columns."""

    def run(X: Floats, y: Floats, new: Floats, seed: int) -> tuple[Floats, dict[str, Any]]:
        return make(seed, X.shape[1]).fit(X, y).predict_proba(new), {}

    return run


def scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


def gaussian_process(seed: int, n_columns: int) -> Any:
    return scaled(GaussianProcessClassifier(ConstantKernel() * RBF(np.ones(n_columns)), random_state=seed))


def boosted_trees(seed: int, n_columns: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(random_state=seed)


def additive_trees(X: Floats, y: Floats, new: Floats, seed: int) -> tuple[Floats, dict[str, Any]]:
    """Probit BART of stochtree, for two classes."""
    from stochtree import BARTModel, OutcomeModel

    model, probit = BARTModel(), OutcomeModel(outcome="binary", link="probit")
    options = {"random_seed": seed, "outcome_model": probit, "sample_sigma2_global": False}
    model.sample(X_train=X, y_train=y, general_params=options)
    second = np.ravel(model.predict(new, type="mean", terms="y_hat", scale="probability"))
    return np.column_stack([1 - second, second]), {}


METHODS: dict[str, Classifier] = {
    "ours": ours,
    "logistic": of(lambda seed, _: scaled(LogisticRegression(random_state=seed))),
    "forest": of(lambda seed, _: RandomForestClassifier(random_state=seed)),
    "xgboost": of(boosted_trees),
    "svc": of(lambda seed, _: scaled(SVC(probability=True, random_state=seed))),
    "gp": of(gaussian_process),
    "network": of(lambda seed, _: scaled(MLPClassifier(random_state=seed, max_iter=1000, early_stopping=True))),
    "stochtree": additive_trees,
}
OF_TWO_CLASSES = ("stochtree",)


def run_cell(name: str, method: str, seed: int) -> dict[str, Any]:
    train, test = split_rows(CLASS_SETS[name](seed), seed, 0.5 if name in HALVED else 0.25)
    start = time.perf_counter()
    found, details = METHODS[method](train.X, train.y, test.X, seed)
    seconds = time.perf_counter() - start
    return {
        "set": name,
        "method": method,
        "seed": seed,
        "n_test": len(test.y),
        "log_loss": log_loss(test.y, found),
        "brier": brier_score(test.y, found),
        "accuracy": float(np.mean(np.argmax(found, axis=1) == test.y)),
        "reliability": reliability(test.y, found).tolist(),
        "seconds": seconds,
        **details,
    }


def collect(options: argparse.Namespace) -> list[dict[str, Any]]:
    cells = []
    for name in options.sets:
        n_classes = len(np.unique(CLASS_SETS[name](1).y))
        for method in options.methods:
            if n_classes > 2 and method in OF_TWO_CLASSES:
                continue
            for seed in range(1, options.splits + 1):
                file = options.cells / f"{name}-{method}-{seed}.json"
                cells.append(stored(file, lambda which=(name, method, seed): run_cell(*which)))
                print(f"{name} {method} {seed}", file=sys.stderr)
    return cells


def summarise(cells: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    means: dict[str, dict[str, dict[str, float]]] = {name: {} for name in options.sets}
    for name in options.sets:
        for method in options.methods:
            some = [cell for cell in cells if cell["set"] == name and cell["method"] == method]
            if some:
                means[name][method] = {what: float(np.mean([cell[what] for cell in some])) for what in AVERAGED}
                pooled = calibration_error(np.sum([cell["reliability"] for cell in some], axis=0))
                means[name][method]["calibration_error"] = pooled
    everywhere = [method for method in options.methods if all(method in means[name] for name in options.sets)]
    ranks = {
        what: dict(
            zip(
                everywhere,
                np.mean([rankdata([means[name][m][what] for m in everywhere]) for name in options.sets], axis=0),
                strict=True,
            )
        )
        for what in METRICS
    }
    return {"means": means, "ranks": ranks}


def show(report: dict[str, Any]) -> None:
    for name, of_set in report["means"].items():
        print(f"\n{name}\n{'':10}" + "".join(f"{what:>19}" for what in SHOWN), file=sys.stderr)
        for method, values in of_set.items():
            print(f"{method:10}" + "".join(f"{values[what]:19.4g}" for what in SHOWN), file=sys.stderr)
    print(f"\nmean rank\n{'':10}" + "".join(f"{what:>19}" for what in METRICS), file=sys.stderr)
    for method in report["ranks"][METRICS[0]]:
        print(f"{method:10}" + "".join(f"{report['ranks'][what][method]:19.2f}" for what in METRICS), file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(CLASS_SETS), choices=CLASS_SETS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--cells", type=Path, default=Path("benchmarks/cells/classification"))
    options = parser.parse_args()
    report = summarise(collect(options), options)
    show(report)
    json.dump(report, sys.stdout, indent=2)


if __name__ == "__main__":
    main()

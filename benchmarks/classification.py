"""Ours and its rivals at their defaults on classification.

Each cell (data set, method, split) is one JSON file in the folder `--cells`, so that a run can be stopped, resumed and
shared out. Prints JSON, and tables on stderr.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import deep_ensembles
from hyperplanes import HyperplaneProcessClassifier, HyperplaneProcessRegressor
from hyperplanes.experiments.cells import stored
from hyperplanes.experiments.data_sets import CLASS_SETS, split_rows
from hyperplanes.experiments.metrics import brier_score, calibration_error, log_loss, reliability
from hyperplanes.experiments.predictive import Floats
from hyperplanes.experiments.simulate import simulate
from hyperplanes.plotting import plot_surface

Classifier = Callable[[Floats, Floats, Floats, int], tuple[Floats, dict[str, Any]]]
"""From training rows, their classes, new rows and a seed to probabilities of the classes, and details."""

METRICS = ("log_loss", "brier")
"""Those that methods are ranked by."""
AVERAGED = (*METRICS, "accuracy", "seconds")
SHOWN = (*AVERAGED, "calibration_error")
"""The last of the rows of all splits together: with a few hundred rows it is mostly chance."""
HALVED = ("moons", "circles", "spirals")
"""Half of the rows are for testing; otherwise a quarter. They have two columns and are drawn."""
MOST_ROWS_OF_GP = 500
N_ROWS_OF_COST = 2000


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


def gaussian_process(X: Floats, y: Floats, new: Floats, seed: int) -> tuple[Floats, dict[str, Any]]:
    """With a length scale for each column; of many rows a sample, since time grows with their cube."""
    if len(X) > MOST_ROWS_OF_GP:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS_OF_GP, stratify=y, random_state=seed)
    kernel = ConstantKernel() * RBF(np.ones(X.shape[1]))
    return scaled(GaussianProcessClassifier(kernel, random_state=seed)).fit(X, y).predict_proba(new), {}


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


def deep_ensemble(X: Floats, y: Floats, new: Floats, seed: int) -> tuple[Floats, dict[str, Any]]:
    found, seconds = deep_ensembles.probabilities(X, y, new, seed)
    return found, {"seconds": seconds}


METHODS: dict[str, Classifier] = {
    "ours": ours,
    "logistic": of(lambda seed, _: scaled(LogisticRegression(random_state=seed))),
    "forest": of(lambda seed, _: RandomForestClassifier(random_state=seed)),
    "xgboost": of(boosted_trees),
    "svc": of(lambda seed, _: scaled(SVC(probability=True, random_state=seed))),
    "gp": gaussian_process,
    "network": of(lambda seed, _: scaled(MLPClassifier(random_state=seed, max_iter=1000, early_stopping=True))),
    "bde": deep_ensemble,
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


def number_of_classes(name: str) -> int:
    return len(np.unique(CLASS_SETS[name](1).y))


def collect(options: argparse.Namespace) -> list[dict[str, Any]]:
    cells = []
    for name in options.sets:
        n_classes = number_of_classes(name)
        for method in options.methods:
            if n_classes > 2 and method in OF_TWO_CLASSES:
                continue
            for seed in range(1, options.splits + 1):
                file = options.cells / f"{name}-{method}-{seed}.json"
                if file.exists() or not options.report:
                    cells.append(stored(file, partial(run_cell, name, method, seed)))
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
    of_two = [name for name in options.sets if number_of_classes(name) == 2]
    ranks = {"all sets": mean_ranks(means, options.sets), "sets of two classes": mean_ranks(means, of_two)}
    return {"means": means, "ranks": ranks}


def mean_ranks(means: dict[str, dict[str, dict[str, float]]], sets: Sequence[str]) -> dict[str, dict[str, float]]:
    """Method -> metric -> mean rank over some sets, of the methods that have cells of all of them."""
    everywhere = [method for method in METHODS if sets and all(method in means[name] for name in sets)]
    found = {
        what: np.mean([rankdata([means[name][method][what] for method in everywhere]) for name in sets], axis=0)
        for what in (METRICS if everywhere else ())
    }
    return {method: {what: float(found[what][i]) for what in METRICS} for i, method in enumerate(everywhere)}


def draw_pictures(folder: Path) -> None:
    """For each set of two columns: the rows of the first split, the probability of a class and its uncertainty."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    for name in HALVED:
        train, _ = split_rows(CLASS_SETS[name](1), 1, 0.5)
        model = HyperplaneProcessClassifier(random_state=1).fit(train.X, train.y)
        figure = Figure(figsize=(11, 3.4), layout="constrained")
        rows, mean, doubt = figure.subplots(1, 3)
        rows.scatter(*train.X.T, c=train.y, s=4, cmap="coolwarm")
        plot_surface(model, mean)
        plot_surface(model, doubt, uncertainty=True)
        figure.colorbar(mean.images[-1], ax=mean)
        figure.colorbar(doubt.images[-1], ax=doubt)
        for panel, title in ((rows, name), (mean, "probability"), (doubt, "half the width of its 95% interval")):
            panel.set_title(title)
            panel.set(xlim=mean.get_xlim(), ylim=mean.get_ylim())
        figure.savefig(folder / f"{name}.png", dpi=120)


def measure_cost() -> dict[str, dict[str, dict[str, float]]]:
    """Seconds of a fit to 2000 rows and 10 columns, of a regression and of bands of the same response as classes.

    Seconds of all cores together, which a busy machine changes less, and by the clock. The first fit compiles and does
    not count.
    """
    tables = {
        "friedman1": make_friedman1(N_ROWS_OF_COST, n_features=10, noise=1.0, random_state=1),
        "paper_p10m10": simulate(1, n_rows=N_ROWS_OF_COST, n_columns=10, n_hyperplanes=10)[:2],
    }
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, (X, y) in tables.items():
        found[name] = {}
        for n_classes in (1, 2, 3):
            response = y if n_classes == 1 else np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
            model = HyperplaneProcessRegressor if n_classes == 1 else HyperplaneProcessClassifier
            for seed in (1, 2):
                start = time.process_time(), time.perf_counter()
                n_steps = model(random_state=seed).fit(X, response).diagnostics_.n_steps
                of_cores, by_clock = time.process_time() - start[0], time.perf_counter() - start[1]
            label = "regression" if n_classes == 1 else f"{n_classes} classes"
            found[name][label] = {"of_cores": of_cores, "by_clock": by_clock, "n_steps": n_steps}
            print(f"{name} {label}: {found[name][label]}", file=sys.stderr, flush=True)
    return found


def show(report: dict[str, Any]) -> None:
    for name, of_set in report["means"].items():
        print(f"\n{name}\n{'':10}" + "".join(f"{what:>19}" for what in SHOWN), file=sys.stderr)
        for method, values in of_set.items():
            print(f"{method:10}" + "".join(f"{values[what]:19.4g}" for what in SHOWN), file=sys.stderr)
    for sets, ranks in report["ranks"].items():
        print(f"\nmean rank, {sets}\n{'':10}" + "".join(f"{what:>19}" for what in METRICS), file=sys.stderr)
        for method, each in ranks.items():
            print(f"{method:10}" + "".join(f"{each[what]:19.2f}" for what in METRICS), file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(CLASS_SETS), choices=CLASS_SETS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--cells", type=Path, default=Path("benchmarks/cells/classification"))
    parser.add_argument("--report", action="store_true", help="compute no cells, use those that are there")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="draw probabilities in two dimensions, no more")
    parser.add_argument("--cost", action="store_true", help="measure what classes cost beside a regression, no more")
    options = parser.parse_args()
    if options.cost:
        json.dump(measure_cost(), sys.stdout, indent=2)
        return
    if options.pictures:
        draw_pictures(options.pictures)
        return
    report = summarise(collect(options), options)
    show(report)
    json.dump(report, sys.stdout, indent=2)


if __name__ == "__main__":
    main()

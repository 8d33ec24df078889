"""Ours and its rivals at their defaults, on development tables; the prior of ours was chosen on four of the ten.

Each cell (data set, method, split) is one JSON file in the folder `--cells`, so that a run can be stopped, resumed and
shared out. Prints JSON, tables on stderr, and draws a picture of the mean ranks.
"""

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata, ttest_rel

from hyperplanes.experiments.cells import stored
from hyperplanes.experiments.data_sets import DATA_SETS, DataSet, copies, split_rows
from hyperplanes.experiments.forecasts import TAILS
from hyperplanes.experiments.metrics import coverage, crps, mean_width, rmse
from hyperplanes.experiments.predictive import Predictive
from table_methods import METHODS, VARIANTS

METRICS = {"rmse": 1, "crps": 1, "lpd": -1}
"""Those that methods are ranked by; 1 where smaller is better."""
SHOWN = ["rmse", "crps", "lpd", "covered", "width", "seconds", "log_evidence", "rmse_with_copies"]
"""Log evidence of ours alone; the last on all test rows."""
OURS = "ours"
N_DRAWS = 1000

Cell = dict[str, Any]


def judge(predictive: Predictive, test: DataSet, spread: float, seed: int) -> Cell:
    """Scores in units of the standard deviation of the response."""
    draws = predictive.draw(np.random.default_rng(seed), N_DRAWS)
    interval = np.quantile(draws, TAILS, axis=0).T
    return {
        "rmse": rmse(test.y, predictive.mean()) / spread,
        "crps": crps(test.y, draws) / spread,
        "lpd": float(np.mean(predictive.log_density(test.y)) + np.log(spread)),
        "covered": coverage(test.y, interval),
        "width": mean_width(interval) / spread,
    }


def run_cell(name: str, method: str, seed: int) -> Cell:
    """Scores on the test rows that have no copy in training, which a model may have memorised; RMSE on all as well."""
    train, test = split_rows(DATA_SETS[name](seed), seed)
    start = time.perf_counter()
    predictive = (METHODS | VARIANTS)[method](train.X, train.y, test.X, seed)
    seconds = predictive.seconds or time.perf_counter() - start
    spread, fresh = float(np.std(train.y)), ~copies(test, train)
    judged = judge(predictive.of(fresh), DataSet(test.X[fresh], test.y[fresh]), spread, seed)
    with_copies = rmse(test.y, predictive.mean()) / spread
    found = {"seconds": seconds, **judged, "rmse_with_copies": with_copies}
    return {"set": name, "method": method, "seed": seed, **found, **predictive.details}


def collect(options: argparse.Namespace) -> list[Cell]:
    cells = []
    for name in options.sets:
        for method in options.methods:
            for seed in range(1, options.splits + 1):
                file = options.cells / f"{name}-{method}-{seed}.json"
                cells.append(stored(file, partial(run_cell, name, method, seed)))
                print(f"{name} {method} {seed}", file=sys.stderr)
    return cells


def summarise(cells: list[Cell], options: argparse.Namespace) -> dict[str, Any]:
    def mean(name: str, method: str, what: str) -> float:
        return float(np.mean([c.get(what, np.nan) for c in cells if c["set"] == name and c["method"] == method]))

    means = {name: {m: {what: mean(name, m, what) for what in SHOWN} for m in options.methods} for name in options.sets}
    ranks = {}
    for what, sign in METRICS.items():
        each = [rankdata([sign * means[name][m][what] for m in options.methods]) for name in options.sets]
        ranks[what] = dict(zip(options.methods, np.mean(each, axis=0).tolist(), strict=True))
    known = {name: {m: _finite(found) for m, found in by_method.items()} for name, by_method in means.items()}
    return {"means": known, "ranks": ranks, "better": {name: compare(cells, name) for name in options.sets}}


def _finite(scores: dict[str, float]) -> dict[str, float]:
    """Without those that a method does not have, such as the evidence of rivals: JSON knows no NaN."""
    return {what: value for what, value in scores.items() if np.isfinite(value)}


def compare(cells: list[Cell], name: str) -> dict[str, dict[str, float]]:
    """Mean of ours less that of each rival in RMSE, and the p-value of a paired t-test over splits."""
    by_split = {(c["method"], c["seed"]): c["rmse"] for c in cells if c["set"] == name}
    found = {}
    for method in sorted({method for method, _ in by_split} - {OURS}):
        seeds = [seed for other, seed in by_split if other == method and (OURS, seed) in by_split]
        pairs = np.array([(by_split[OURS, seed], by_split[method, seed]) for seed in seeds])
        if len(pairs) > 1:
            p_value = float(ttest_rel(*pairs.T).pvalue)
            found[method] = {"difference": float(np.mean(pairs[:, 0] - pairs[:, 1])), "p_value": p_value}
    return found


def show(report: dict[str, Any], options: argparse.Namespace) -> None:
    for name in options.sets:
        print(f"\n{name}\n{'':10}" + "".join(f"{what:>17}" for what in SHOWN), file=sys.stderr)
        for method in options.methods:
            values = report["means"][name][method]
            print(f"{method:10}" + "".join(f"{values.get(what, np.nan):17.4g}" for what in SHOWN), file=sys.stderr)
        for method, found in report["better"][name].items():
            print(f"ours less {method}: rmse {found['difference']:+.4f}, p {found['p_value']:.2g}", file=sys.stderr)
    print(f"\nmean rank\n{'':10}" + "".join(f"{what:>17}" for what in METRICS), file=sys.stderr)
    for method in options.methods:
        print(f"{method:10}" + "".join(f"{report['ranks'][what][method]:17.2f}" for what in METRICS), file=sys.stderr)


def draw_ranks(report: dict[str, Any], options: argparse.Namespace) -> None:
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(METRICS), figsize=(12, 0.4 * len(options.methods) + 1), sharex=True)
    for panel, what in zip(panels, METRICS, strict=True):
        ordered = sorted(options.methods, key=lambda method: -report["ranks"][what][method])
        panel.barh(ordered, [report["ranks"][what][method] for method in ordered], color="tab:blue")
        panel.set(title=f"mean rank in {what}", xlabel="rank (1 is best)")
    figure.tight_layout()
    figure.savefig(options.picture, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(DATA_SETS), choices=DATA_SETS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=[*METHODS, *VARIANTS])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--cells", type=Path, default=Path("benchmarks/cells/tables"))
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    report = summarise(collect(options), options)
    show(report, options)
    if options.picture:
        draw_ranks(report, options)
    json.dump(report, sys.stdout, indent=2)


if __name__ == "__main__":
    main()

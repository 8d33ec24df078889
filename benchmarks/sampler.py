"""How near the samplers come to what is attainable on the paper's generator, and how fast, beside their rivals.

Prints JSON, and a table on stderr. "Attainable" is sqrt(1 + d/n): n training rows, d the parameters of the true units
that fire on at least 1% of them, plus the intercept. A figure of 1 in the column `rmse` is what an efficient estimator
that knew which units matter would reach; `over_oracle` is the same without "attainable", test RMSE over that of the
true function.

Rivals on the same posterior (`nuts`, `blackjax`) may take 10 times the seconds of `auto`, measured in the same run. How
many times slower they are is the time after which they came as near to the truth as `auto`, in units of its time, the
median over data sets: `slower_first` when they first did, which favours them because they are looked at several times;
`slower_for_good` when they did and stayed so in all later looks. `never` (null) is more than the budget.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from hyperplanes import HyperplaneProcessRegressor, paper_prior
from hyperplanes.experiments.metrics import coverage, mean_width, rmse
from hyperplanes.experiments.simulate import Simulation, Split, simulate, split
from predictions import COVERAGE, Prediction

CASES = {"p2m2": (2, 2), "p5m5": (5, 5), "p10m10": (10, 10), "p20m10": (20, 10), "p50m10": (50, 10), "p2m40": (2, 40)}
TIMES_OURS = 10
"""Budget of the rivals on the same posterior, in units of the mean time of `auto`."""
AS_NEAR = 1.05
"""RMSE to the truth counts as the same up to this factor."""

MEANS = (
    "seconds",
    "rmse_to_truth",
    "function_covered",
    "function_width",
    "response_covered",
    "response_width",
    "number_covered",
    "log_evidence",
    "log_evidence_error",
    "n_distinct",
)
"""Figures of which the mean over data sets is shown, where a method has them."""
OF_FIRST_FITS = ("p2m2", "p10m10", "p20m10")
"""Cases that `--first-fit` measures unless told otherwise."""

Score = dict[str, Any]


def given(train: Simulation) -> dict[str, Any]:
    """The number of hyperplanes and the paper's prior, that of the generator up to the scale of coefficients."""
    return {"n_hyperplanes": len(train.offsets), "prior": paper_prior(train.X.shape[1])}


def told(sampler: str, **settings: Any) -> Callable[[Simulation, Simulation, int], Prediction]:
    def run(train: Simulation, test: Simulation, seed: int) -> Prediction:
        return hyperplanes(**given(train), sampler=sampler, **settings)(train, test, seed)

    return run


def hyperplanes(**settings: Any) -> Callable[[Simulation, Simulation, int], Prediction]:
    def run(train: Simulation, test: Simulation, seed: int) -> Prediction:
        model = HyperplaneProcessRegressor(random_state=seed, **settings)
        model.fit(train.X, train.y)
        number = model.n_hyperplanes_
        n_true = int(np.any(train.offsets < train.X @ train.normals.T, axis=0).sum())
        details = {
            "n_hyperplanes": [number.low, number.mean, number.high],
            "n_true": n_true,
            "number_covered": number.low <= n_true <= number.high,
            "log_evidence": model.log_evidence_,
            "log_evidence_error": model.log_evidence_error_,
            "n_distinct": model.diagnostics_.n_distinct,
            "n_steps": model.diagnostics_.n_steps,
        }
        function = model.predict_interval(test.X, COVERAGE, target="mean")
        return Prediction(model.predict(test.X), function, model.predict_interval(test.X, COVERAGE), details)

    return run


OURS: dict[str, Callable[[Simulation, Simulation, int], Prediction]] = {
    "auto": told("auto"),
    "numbered": lambda train, test, seed: hyperplanes(n_hyperplanes=len(train.offsets))(train, test, seed),
    "unset": hyperplanes(),
    "number_unset": lambda train, test, seed: hyperplanes(prior=given(train)["prior"])(train, test, seed),
    "paper": told("paper", n_particles=1000, n_steps=100),
}
SAME_POSTERIOR = ("blackjax", "nuts")
"""Rivals that take a budget in seconds."""
METHODS = (*OURS, *SAME_POSTERIOR, "truth", "bde", "bart", "xgboost")


def run_method(method: str, train: Simulation, test: Simulation, seed: int, budget: float) -> Prediction:
    if method in OURS:
        return OURS[method](train, test, seed)
    import sampler_rivals  # here, because ours need none of its libraries

    if method in SAME_POSTERIOR:
        limited = {"blackjax": sampler_rivals.tempered_smc, "nuts": sampler_rivals.nuts}
        return limited[method](train, test, seed, budget)
    others = {
        "truth": sampler_rivals.chain_from_truth,
        "bde": sampler_rivals.bde,
        "bart": sampler_rivals.bart,
        "xgboost": sampler_rivals.bootstrapped_xgboost,
    }
    return others[method](train, test, seed)


def data_set(case: str, seed: int) -> Split:
    n_columns, n_hyperplanes = CASES[case]
    return split(simulate(seed, n_columns=n_columns, n_hyperplanes=n_hyperplanes), seed)


def attainable(train: Simulation) -> float:
    fires = (train.offsets < train.X @ train.normals.T).mean(axis=0) >= 0.01
    n_parameters = fires.sum() * (train.X.shape[1] + 1) + 1
    return float(np.sqrt(1 + n_parameters / len(train.y)))


def score(method: str, case: str, seed: int, budget: float = 0.0) -> Score:
    train, test = data_set(case, seed)
    start = time.perf_counter()
    prediction = run_method(method, train, test, seed, budget)
    seconds = time.perf_counter() - start
    over_oracle = rmse(test.y, prediction.mean) / rmse(test.y, test.f)
    return {
        "method": method,
        "case": case,
        "seed": seed,
        "seconds": seconds,
        "rmse": over_oracle / attainable(train),
        "over_oracle": over_oracle,
        "rmse_to_truth": rmse(test.f, prediction.mean),
        "function_covered": coverage(test.f, prediction.function),
        "function_width": mean_width(prediction.function),
        "response_covered": coverage(test.y, prediction.response),
        "response_width": mean_width(prediction.response),
        "path": [(seconds, rmse(test.f, mean)) for seconds, mean in prediction.path],
        **prediction.details,
    }


def score_sets(method: str, case: str, n_sets: int, budget: float, cells: Path | None) -> list[Score]:
    """Scores on all data sets; those in the folder `cells` are read, those missing there are computed and written."""
    scores = []
    warm = method not in OURS  # the others compile before their clock starts, or say so
    for seed in range(1, n_sets + 1):
        cell = cells / f"{case}-{method}-{seed}.json" if cells else None
        if cell and cell.exists():
            scores.append(json.loads(cell.read_text()))
            continue
        if not warm:
            score(method, case, 0)
            warm = True
        scores.append(score(method, case, seed, budget))
        if cell:
            cell.write_text(json.dumps(scores[-1], default=float))
    return scores


def summarise(scores: list[Score], ours: list[Score]) -> dict[str, float | None]:
    """Medians of both ratios of the RMSE and of how many times slower, means of the rest."""
    means = [name for name in MEANS if name in scores[0]]
    summary: dict[str, float | None] = {
        **{name: float(np.median([score[name] for score in scores])) for name in ("rmse", "over_oracle")},
        **{name: float(np.mean([score[name] for score in scores])) for name in means},
    }
    if not scores[0]["path"]:
        return summary
    slower = np.median([times_slower(score, our) for score, our in zip(scores, ours, strict=True)], axis=0)
    finite = [float(times) if np.isfinite(times) else None for times in slower]
    return {**summary, "slower_first": finite[0], "slower_for_good": finite[1]}


def times_slower(rival: Score, ours: Score) -> tuple[float, float]:
    seconds, errors = np.array([*rival["path"], (np.inf, 0.0)]).T  # never is a look at infinity
    near = errors <= AS_NEAR * ours["rmse_to_truth"]
    for_good = np.logical_and.accumulate(near[::-1])[::-1]
    return seconds[near.argmax()] / ours["seconds"], seconds[for_good.argmax()] / ours["seconds"]


def evidence_spread(case: str, n_seeds: int) -> dict[str, Any]:
    """Standard deviation of the log evidence over seeds on one data set, beside the error that a single run reports."""
    train, _ = data_set(case, 1)
    models = [HyperplaneProcessRegressor(**given(train), random_state=seed) for seed in range(n_seeds)]
    evidences, errors = np.array([(m.fit(train.X, train.y).log_evidence_, m.log_evidence_error_) for m in models]).T
    spread = {"deviation": float(evidences.std(ddof=1)), "mean_error_reported": float(errors.mean())}
    return {"case": case, **spread, "log_evidences": evidences.tolist(), "errors": errors.tolist()}


def two_fits(case: str, seed: int) -> tuple[float, float]:
    """Seconds of a fit, and of the same fit once more."""
    train, _ = data_set(case, seed)
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        HyperplaneProcessRegressor(**given(train), random_state=seed).fit(train.X, train.y)
        seconds.append(time.perf_counter() - start)
    return seconds[0], seconds[1]


def first_fits(case: str, n_sets: int) -> dict[str, Any]:
    """Seconds of first fits in fresh processes without a disk cache, and of second ones, the number given.

    The time to import the library does not count.
    """
    os.environ["HYPERPLANES_CACHE"] = "off"
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as fresh:
        each = list(fresh.map(two_fits, [case] * n_sets, range(1, n_sets + 1)))
    first, second = np.array(each).T
    medians = {"first": float(np.median(first)), "second": float(np.median(second))}
    return {"case": case, **medians, "more": float(np.median(first - second)), "seconds_of_each": each}


def show(case: str, method: str, figures: dict[str, Any]) -> None:
    shown = {name: value for name, value in figures.items() if value is None or isinstance(value, float)}
    numbers = [f"{name} {'never' if value is None else f'{value:.4g}'}" for name, value in shown.items()]
    print(f"{case:7} {method:8} {'  '.join(numbers)}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=CASES)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--sets", type=int, default=10, help="simulated data sets of each case")
    parser.add_argument("--cells", type=Path, help="folder with one file a data set, read where it is there")
    parser.add_argument("--seeds-for-evidence", type=int, metavar="K", help="only fit one data set with K seeds")
    parser.add_argument("--first-fit", action="store_true", help="only time first and second fits in fresh processes")
    options = parser.parse_args()
    if "auto" not in options.methods and set(SAME_POSTERIOR) & set(options.methods):
        parser.error("blackjax and nuts are given 10 times the seconds of auto: add auto to --methods")
    if options.cells:
        options.cells.mkdir(parents=True, exist_ok=True)
    report = []
    for case in options.cases or (OF_FIRST_FITS if options.first_fit else CASES):
        if options.first_fit:
            report.append(first_fits(case, options.sets))
            show(case, "fits", report[-1])
            continue
        if options.seeds_for_evidence:
            report.append(evidence_spread(case, options.seeds_for_evidence))
            show(case, "evidence", report[-1])
            continue
        ours: list[Score] = []
        for method in sorted(options.methods, key=METHODS.index):
            budget = TIMES_OURS * float(np.mean([one["seconds"] for one in ours])) if ours else 0.0
            scores = score_sets(method, case, options.sets, budget, options.cells)
            ours = scores if method == "auto" else ours
            report.append({"case": case, "method": method, "summary": summarise(scores, ours), "scores": scores})
            show(case, method, report[-1]["summary"])
    json.dump(report, sys.stdout, indent=2, default=float)


if __name__ == "__main__":
    main()

"""What should hold of the results, whether it does, and what there is to say to it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hyperplanes.experiments.reproduction import names
from hyperplanes.experiments.reproduction.effort import FULL
from hyperplanes.experiments.reproduction.markup import NOT_RUN, VERDICTS, Table, show
from hyperplanes.experiments.reproduction.paper import printed
from hyperplanes.experiments.reproduction.results import Results, Summary, summarise
from hyperplanes.experiments.reproduction.studies import SLOW, STUDIES

SIGNIFICANT = 0.001
LEAST_PAIRS = 20
"""Repeats of both methods that a p-value needs to count."""
NEAR = 0.01
"""Share of a bound within which a figure is shown with another decimal."""
PAPER = "paper-L1000-R100"
NORMAL_QUANTILE = 1.96


class Claim(NamedTuple):
    """A statement about numbers."""

    text: str
    """What should hold."""
    found: str
    """What was found."""
    holds: bool | None
    """None where it was not run."""
    remark: str = ""
    """What the reader should know of it."""


def claims(results: Results) -> list[Claim]:
    """All of them, with what was found."""

    def sim1(method: str) -> Summary | None:
        return results.summary("sim1", "p2m2", method, "test_rmse")

    def sim4(metric: str) -> Summary | None:
        return results.summary("sim4", "p2m2", "ours", metric)

    def ratio(method: str) -> Summary | None:
        return summarise(results.time_ratios("sim4", "p2m2", method, "xgb").values())

    return [
        judge("sim1: mean test RMSE of ours at most 0.1005", sim1("ours"), high=0.1005),
        judge(
            "sim1: mean test RMSE of the paper's sampler within 0.002 of the paper's 0.101", sim1(PAPER), 0.099, 0.103
        ),
        _wilcoxon_claim(results),
        judge("sim4: 95% intervals of ours cover 0.94 to 0.96 of the responses", sim4("test_covered"), 0.94, 0.96),
        judge(
            "sim4: 95% intervals of ours cover 0.92 to 0.98 of the true function",
            sim4("test_function_covered"),
            0.92,
            0.98,
        ),
        judge(
            "sim4: their mean length at most 0.394", sim4("test_length"), high=0.394, remark=_length_with_truth_known()
        ),
        judge(
            "sim4: seconds of ours at most a fifth of 1000 bootstraps of XGBoost",
            ratio("ours"),
            high=0.2,
            remark="Ours is not told |P| and infers it, which the seconds include; the row below is told.",
        ),
        judge("sim4: the same where ours is told |P|, as the paper's is", ratio("ours-told"), high=0.2),
    ]


def judge(
    text: str, summary: Summary | None, low: float = -math.inf, high: float = math.inf, remark: str = ""
) -> Claim:
    """Whether a mean is within closed bounds, with a decimal more where it is near one."""
    if summary is None:
        return Claim(text, NOT_RUN, None, remark)
    near = any(abs(summary.mean - bound) <= NEAR * abs(bound) for bound in (low, high) if math.isfinite(bound))
    return Claim(text, show(summary, 5 if near else 4), low <= summary.mean <= high, remark)


def _length_with_truth_known() -> str:
    """The length that intervals of the fourth study have where the true function is known, from the data."""
    study = STUDIES["sim4"]
    tasks = [study.make_task("p2m2", repeat, FULL) for repeat in range(1, study.repeats + 1)]
    lengths = []
    for part, found in {"training": [task.train for task in tasks], "test": [task.test for task in tasks]}.items():
        deviations = [np.std(rows.y - rows.f) for rows in found if rows.f is not None]
        lengths.append(f"{2 * NORMAL_QUANTILE * np.mean(deviations):.5f} on {part} rows")
    return f"With the true function known, 2 x 1.96 x sd(y - f) of these data sets is {' and '.join(lengths)}."


def _wilcoxon_claim(results: Results) -> Claim:
    text = f"sim2: ours better than svm_l, svm_r and lm in all 54 cells at p < {SIGNIFICANT}"
    cells = {(number.data_set, number.metric.removeprefix("p_value_")) for number in printed("sim2")}
    found = {cell: results.p_value("sim2", cell[0], "ours", cell[1], least=LEAST_PAIRS) for cell in sorted(cells)}
    run = {cell: p_value for cell, p_value in found.items() if p_value is not None}
    if not run:
        return Claim(text, NOT_RUN, None)
    good = sum(p_value < SIGNIFICANT for p_value in run.values())
    holds = None if len(run) < len(found) and good == len(run) else good == len(found)
    return Claim(text, f"{good} of {len(run)} that have {LEAST_PAIRS} repeats of both{_exceptions(run)}", holds)


def _exceptions(p_values: dict[tuple[str, str], float]) -> str:
    failed = [f"{name} against {rival} (p = {p:.2g})" for (name, rival), p in p_values.items() if p >= SIGNIFICANT]
    return f"; not on {', '.join(failed)}" if failed else ""


def claim_table(found: Sequence[Claim]) -> Table:
    """One line for each claim."""
    rows = [[claim.text, claim.found, VERDICTS[claim.holds], claim.remark] for claim in found]
    header = ["what should hold", "found", "holds", "remark"]
    return Table("claims", "What should hold, and whether it does.", header, rows)


REQUIRED_REPEATS: dict[tuple[str, int], tuple[str, ...]] = {
    ("sim1", 100): tuple(name for name in STUDIES["sim1"].methods if name not in SLOW),
    ("sim1", 20): tuple(name for name in STUDIES["sim1"].methods if name in SLOW),
    ("sim2", 20): tuple(STUDIES["sim2"].methods),
    ("sim3", 20): tuple(STUDIES["sim3"].methods),
    ("sim4", 10): tuple(STUDIES["sim4"].methods),
    ("abalone", 100): ("ours",),
    ("abalone", 20): tuple(name for name in STUDIES["abalone"].methods if name in (*SLOW, "xgb")),
    ("wine", 100): ("ours",),
    ("wine", 20): tuple(name for name in STUDIES["wine"].methods if name in (*SLOW, "xgb")),
}
"""Study and repeats -> methods that must have so many on every data set."""


def repeats_table(results: Results) -> Table:
    """Whether there are as many repeats as there should be."""
    rows = []
    for (study, required), methods in REQUIRED_REPEATS.items():
        for method in methods:
            done = [len(results.values(study, data_set, method, "test_rmse")) for data_set in STUDIES[study].data_sets]
            least, most = min(done), max(done)
            found = str(least) if least == most else f"{least} to {most}"
            verdict = VERDICTS[least >= required if most else None]
            rows.append([study, names.method_name(study, method), str(required), found, verdict])
    caption = "Repeats that there should be on every data set of a study."
    return Table("repeats", caption, ["study", "method", "required", "found", "holds"], rows)

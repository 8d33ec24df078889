"""What should hold of the results, and whether it does."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hyperplanes.experiments.reproduction.paper import printed
from hyperplanes.experiments.reproduction.results import Results, Summary, summarise
from hyperplanes.experiments.reproduction.tables import NOT_RUN, SIGNIFICANT, Table, show

PAPER = "paper-L1000-R100"


class Claim(NamedTuple):
    """A statement about numbers."""

    text: str
    """What should hold."""
    found: str
    """What was found."""
    holds: bool | None
    """None where it was not run."""


def claims(results: Results) -> list[Claim]:
    """All of them, with what was found."""
    sim1, sim4 = ("sim1", "p2m2"), ("sim4", "p2m2")

    def judge(text: str, summary: Summary | None, test: Callable[[float], bool]) -> Claim:
        return Claim(text, show(summary), None if summary is None else test(summary.mean))

    def ratio(method: str) -> Summary | None:
        return summarise(results.time_ratios(*sim4, method, "xgb").values())

    return [
        judge(
            "sim1: mean test RMSE of ours at most 0.1005", results.summary(*sim1, "ours", "test_rmse"), at_most(0.1005)
        ),
        judge(
            "sim1: mean test RMSE of the paper's sampler within 0.002 of the paper's 0.101",
            results.summary(*sim1, PAPER, "test_rmse"),
            between(0.099, 0.103),
        ),
        _wilcoxon_claim(results),
        judge(
            "sim4: 95% intervals of ours cover 0.94 to 0.96 of the responses",
            results.summary(*sim4, "ours", "test_covered"),
            between(0.94, 0.96),
        ),
        judge(
            "sim4: 95% intervals of ours cover 0.92 to 0.98 of the true function",
            results.summary(*sim4, "ours", "test_function_covered"),
            between(0.92, 0.98),
        ),
        judge("sim4: their mean length at most 0.394", results.summary(*sim4, "ours", "test_length"), at_most(0.394)),
        judge("sim4: seconds of ours at most a fifth of 1000 bootstraps of XGBoost", ratio("ours"), at_most(0.2)),
        judge("sim4: the same where ours is told |P|, as the paper's is", ratio("ours-told"), at_most(0.2)),
    ]


def at_most(bound: float) -> Callable[[float], bool]:
    """Whether a number is no more than the bound."""
    return lambda value: value <= bound


def between(low: float, high: float) -> Callable[[float], bool]:
    """Whether a number is in the closed interval."""
    return lambda value: low <= value <= high


def _wilcoxon_claim(results: Results) -> Claim:
    text = f"sim2: ours better than svm_l, svm_r and lm in all 54 cells at p < {SIGNIFICANT}"
    cells = {(number.data_set, number.metric.removeprefix("p_value_")) for number in printed("sim2")}
    found = {cell: results.p_value("sim2", cell[0], "ours", cell[1]) for cell in sorted(cells)}
    run = {cell: p_value for cell, p_value in found.items() if p_value is not None}
    if not run:
        return Claim(text, NOT_RUN, None)
    good = sum(p_value < SIGNIFICANT for p_value in run.values())
    holds = None if len(run) < len(found) and good == len(run) else good == len(found)
    return Claim(text, f"{good} of {len(run)} that were run{_exceptions(run)}", holds)


def _exceptions(p_values: dict[tuple[str, str], float]) -> str:
    failed = [f"{name} against {rival} (p = {p:.2g})" for (name, rival), p in p_values.items() if p >= SIGNIFICANT]
    return f"; not on {', '.join(failed)}" if failed else ""


def claim_table(found: Sequence[Claim]) -> Table:
    """One line for each claim."""
    words = {True: "yes", False: "**no**", None: NOT_RUN}
    rows = [[claim.text, claim.found, words[claim.holds]] for claim in found]
    return Table("claims", "What should hold, and whether it does.", ["what should hold", "found", "holds"], rows)

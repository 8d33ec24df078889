"""The numbers that the paper prints, beside those found here."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from hyperplanes.experiments.reproduction import names
from hyperplanes.experiments.reproduction.markup import (
    COMMAND,
    NOT_RUN,
    NOTHING,
    Table,
    digits_of,
    show,
    show_p_value,
    show_parts,
)
from hyperplanes.experiments.reproduction.paper import Printed, printed
from hyperplanes.experiments.reproduction.results import Results, whole_of
from hyperplanes.experiments.reproduction.studies import STUDIES

PROGRAM = "hyperplanes reproduce"
NOT_COMPARED = "not on the machine of the whole"
"""Of seconds that cannot be compared."""


class Counterpart(NamedTuple):
    """What of ours is nearest to the paper's method."""

    title: str
    """Of its column."""
    of: Callable[[str], str]
    """From the paper's method to ours."""


SAME_SIZES = Counterpart("ours, the same L and R", lambda method: method.replace("paper-", "ours-", 1))
COUNTERPARTS = {
    "sim3": Counterpart(
        "ours, the same decomposition",
        {"paper-whole": "ours-whole", **{f"paper-decmp{n}": f"ours-decmp{n}-paper" for n in (1, 2)}}.__getitem__,
    ),
    "sim4": Counterpart("ours, told |P|", lambda method: "ours-told"),
}
"""Where it is not the one with the same L and R."""


def beside_paper(results: Results, study: str, *, digits: int | None = None) -> Table:
    """Every number that the paper prints of a study, and ours for it."""
    counterpart = COUNTERPARTS.get(study, SAME_SIZES)

    def kind(number: Printed) -> tuple[str, str]:
        return number.method, names.of_both_parts(number.metric)

    rows = [_beside(results, list(group), counterpart, digits) for _, group in groupby(printed(study), kind)]
    caption = (
        "Training / test where there are both: mean (standard deviation over repeats) [repeats]. The rival is that of "
        "the row, or where the row is the paper's own method the one with the smallest test RMSE."
    )
    ours = names.method_name(study, STUDIES[study].ours)
    header = ["row of the paper", "score", "paper", "its sampler here", counterpart.title, ours, "rival", COMMAND]
    return Table(f"{study}-beside-paper", caption, header, rows)


def _beside(results: Results, numbers: Sequence[Printed], counterpart: Counterpart, digits: int | None) -> list[str]:
    """One row: the numbers are those of training and test, or one of which there are not both."""
    study, data_set, method = numbers[0].study, numbers[0].data_set, numbers[0].method
    metrics = [number.metric for number in numbers]
    of_jobs = metrics == ["job_ratio"]
    own, alike = (None, None) if names.is_rival(method) else (method, counterpart.of(method))
    rival = method if names.is_rival(method) else best_rival(results, study, data_set)
    shown = [own, alike, *((None, None) if of_jobs else (STUDIES[study].ours, rival))]

    def score(name: str | None) -> str:
        if name is None:
            return NOTHING
        if of_jobs and _has_other_machines(results, study, data_set, name):
            return NOT_COMPARED
        found = show_parts(
            [results.summary(study, data_set, name, metric) for metric in metrics],
            digits_of(metrics[-1]) if digits is None else digits,
        )
        return f"{names.method_name(study, name)}: {found}" if name == rival != method else found

    needed = [name for name in shown if name is not None]
    command = command_for(study, [*needed, *(whole_of(name) for name in needed if of_jobs)])
    label = names.method_name(study, method).replace("paper's sampler", "pois")
    text = " / ".join(number.text for number in numbers)
    return [label, names.METRICS[metrics[-1]].removeprefix("test "), text, *map(score, shown), command]


def _has_other_machines(results: Results, study: str, data_set: str, method: str) -> bool:
    """Whether there are seconds of jobs, but none on a machine that those of the whole are from."""
    seconds, ratios = (results.values(study, data_set, method, metric) for metric in ("job_seconds", "job_ratio"))
    return bool(seconds) and not ratios


def command_for(study: str, methods: Sequence[str], *options: str) -> str:
    """What computes the cells of these methods."""
    chosen = ",".join(dict.fromkeys(map(names.unstopped, methods)))
    return f"`{' '.join([PROGRAM, study, *options])} --methods {chosen}`"


def best_rival(results: Results, study: str, data_set: str) -> str | None:
    """The rival with the smallest mean test RMSE."""
    found = []
    for method in results.methods(study, data_set):
        summary = results.summary(study, data_set, method, "test_rmse")
        if names.is_rival(method) and summary is not None:
            found.append((summary.mean, method))
    return min(found)[1] if found else None


def wilcoxon_table(results: Results) -> Table:
    """The paper's table of p-values, for its sampler here and for ours."""
    rows = []
    for number in printed("sim2"):
        rival = number.metric.removeprefix("p_value_")
        paper, ours = (results.p_value("sim2", number.data_set, name, rival) for name in (number.method, "ours"))
        errors = [results.summary("sim2", number.data_set, name, "test_rmse") for name in ("ours", rival)]
        command = command_for("sim2", [number.method, "ours", rival], "--sets", number.data_set)
        p, m = number.data_set.removeprefix("p").split("m")
        p_values = [number.mean, show_p_value(paper), show_p_value(ours)]
        rows.append([m, p, rival, *p_values, *map(show, errors), command])
    caption = (
        "P-values of Wilcoxon's signed-rank test that pois (in the paper, by its sampler here, and ours) has a smaller "
        "test RMSE than the rival. The paper's stars are its own: it names three levels but for which number of stars."
    )
    header = ["|P|", "p", "rival", "paper", "its sampler here", "ours", "test RMSE of ours", "of the rival", COMMAND]
    return Table("sim2-wilcoxon", caption, header, rows)


def distance_from_paper(results: Results, study: str, data_set: str, method: str) -> str:
    """How far the scores of a rival are from the paper's, in words."""
    found = []
    for number in printed(study):
        summary = results.summary(study, data_set, method, number.metric)
        if number.method == method and number.metric != "seconds" and summary is not None:
            ours = f"{summary.mean:.{digits_of(number.metric)}f}"
            found.append(f"{names.METRICS[number.metric]} {ours} where the paper has {number.mean}")
    return f"{names.method_name(study, method)}: {', '.join(found) or NOT_RUN}."

"""Tables of the results, the paper's numbers beside ours, in Markdown and in LaTeX."""

from collections.abc import Sequence
from typing import NamedTuple

from hyperplanes.experiments.reproduction import names
from hyperplanes.experiments.reproduction.paper import Printed, printed
from hyperplanes.experiments.reproduction.results import Results, Summary, summarise
from hyperplanes.experiments.reproduction.studies import COLUMNS, PLANES, STUDIES

NOT_RUN = "not run"
NOTHING = ""
WILCOXON_RIVALS = ("svm_l", "svm_r", "lm")
SIGNIFICANT = 0.001
COMMAND = "hyperplanes reproduce"
TIMED = ("sim3", "sim4", "cpus")
"""Studies whose seconds are those of warm fits."""


class Table(NamedTuple):
    """Text in rows and columns."""

    name: str
    """Of its files."""
    caption: str
    """One sentence or two."""
    header: Sequence[str]
    """Of the columns."""
    rows: Sequence[Sequence[str]]
    """Of text."""

    def as_markdown(self) -> str:
        """With the caption above."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        body = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
        return f"{self.caption}\n\n{body}\n"

    def as_latex(self) -> str:
        """A table of its own."""
        lines = [" & ".join(_latex(cell) for cell in line) + r" \\" for line in [self.header, *self.rows]]
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{_latex(self.caption)}}}",
                rf"\label{{tab:{self.name}}}",
                rf"\begin{{tabular}}{{{'l' * len(self.header)}}}",
                r"\hline",
                lines[0],
                r"\hline",
                *lines[1:],
                r"\hline",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )


LATEX = {"\\": r"\textbackslash{}", "`": "", **{sign: f"\\{sign}" for sign in "&%$#_{}"}, "<": "$<$", ">": "$>$"}
LATEX |= {"|": r"$|$", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def _latex(text: str) -> str:
    return "".join(LATEX.get(sign, sign) for sign in text)


def show(summary: Summary | None, digits: int = 4) -> str:
    """Mean, standard deviation and repeats."""
    if summary is None:
        return NOT_RUN
    return f"{summary.mean:.{digits}f} ({summary.sd:.{digits}f}) [{summary.n}]"


def show_p_value(p_value: float | None) -> str:
    """Two significant digits."""
    return NOT_RUN if p_value is None else f"{p_value:.2g}"


def digits_of(metric: str) -> int:
    """Decimals of a score."""
    return names.DIGITS.get(metric, 4)


def beside_paper(results: Results, study: str, *, digits: int | None = None) -> Table:
    """Every number that the paper prints of a study, and ours for it."""
    rows = []
    for number in printed(study):
        places = digits_of(number.metric) if digits is None else digits
        rows.append(_beside(results, number, places))
    caption = (
        "Mean (standard deviation over repeats) [repeats]. The rival is that of the row, or where the row is the "
        "paper's own method the one with the smallest test RMSE."
    )
    header = ["row of the paper", "score", "paper", "its sampler here", "ours, the same L and R", "ours", "rival"]
    return Table(f"{study}-beside-paper", caption, [*header, "command"], rows)


def _beside(results: Results, number: Printed, digits: int) -> list[str]:
    place, metric = (number.study, number.data_set), number.metric

    def shown(method: str) -> str:
        return show(results.summary(*place, method, metric), digits)

    alike = number.method.replace("paper-", "ours-", 1)
    if names.is_rival(number.method):
        columns, methods = [NOTHING, NOTHING, shown("ours"), shown(number.method)], [names.unstopped(number.method)]
    elif alike in STUDIES[number.study].methods:
        columns, methods = [shown(number.method), shown(alike)], [number.method, alike]
        columns += [shown("ours"), best_rival(results, *place, metric, digits)]
    else:
        columns, methods = [shown(number.method), NOTHING], [number.method]
        columns += [shown("ours"), best_rival(results, *place, metric, digits)]
    if metric == "job_ratio":
        columns[2:] = [NOTHING, NOTHING]
    label = names.method_name(number.method).replace("paper's sampler", "pois")
    command = f"`{COMMAND} {number.study} --methods {','.join([*methods, 'ours'])}`"
    return [label, names.METRICS[metric], number.text, *columns, command]


def best_rival(results: Results, study: str, data_set: str, metric: str, digits: int = 4) -> str:
    """A score of the rival with the smallest mean test RMSE, by name."""
    found = []
    for method in results.methods(study, data_set):
        summary = results.summary(study, data_set, method, "test_rmse")
        if names.is_rival(method) and summary is not None:
            found.append((summary.mean, method))
    if not found:
        return NOT_RUN
    _, method = min(found)
    shown = results.summary(study, data_set, method, metric)
    return NOTHING if shown is None else f"{names.method_name(method)}: {show(shown, digits)}"


def all_methods(results: Results, study: str, data_set: str) -> Table:
    """Every method of a data set, with every score that some method has, and whether ours is better."""
    methods = results.methods(study, data_set)
    known = [metric for metric in names.METRICS if metric != "seconds" or study in TIMED]
    metrics = [metric for metric in known if any(results.values(study, data_set, name, metric) for name in methods)]
    rows = []
    for method in methods:
        summaries = [results.summary(study, data_set, method, metric) for metric in metrics]
        shown = [NOTHING if one is None else show(one, digits_of(m)) for one, m in zip(summaries, metrics, strict=True)]
        p_value = results.p_value(study, data_set, "ours", method) if method != "ours" else None
        rows.append([names.method_name(method), *shown, NOTHING if p_value is None else show_p_value(p_value)])
    caption = (
        "All methods: mean (standard deviation over repeats) [repeats], and the p-value of Wilcoxon's signed-rank test "
        "that ours has a smaller test RMSE on the repeats that both have."
    )
    header = ["method", *(names.METRICS[metric] for metric in metrics), "ours better: p"]
    return Table(f"{study}-all-methods", caption, header, rows)


def wilcoxon_table(results: Results) -> Table:
    """The paper's table of p-values, for its sampler here and for ours."""
    rows = []
    for number in printed("sim2"):
        rival = number.metric.removeprefix("p_value_")
        paper, ours = (results.p_value("sim2", number.data_set, name, rival) for name in (number.method, "ours"))
        errors = [results.summary("sim2", number.data_set, name, "test_rmse") for name in ("ours", rival)]
        command = f"`{COMMAND} sim2 --sets {number.data_set} --methods {number.method},ours,{rival}`"
        p, m = number.data_set.removeprefix("p").split("m")
        p_values = [number.mean, show_p_value(paper), show_p_value(ours)]
        rows.append([m, p, rival, *p_values, *map(show, errors), command])
    caption = (
        "P-values of Wilcoxon's signed-rank test that pois (in the paper, by its sampler here, and ours) has a smaller "
        "test RMSE than the rival. The paper's stars are its own: it names three levels but for which number of stars."
    )
    header = ["|P|", "p", "rival", "paper", "its sampler here", "ours", "test RMSE of ours", "of the rival", "command"]
    return Table("sim2-wilcoxon", caption, header, rows)


def curve_table(results: Results, metric: str) -> Table:
    """Means by number of columns and hyperplanes, of all methods."""
    methods = list(dict.fromkeys(m for name in results.data_sets("sim2") for m in results.methods("sim2", name)))
    rows = []
    for m in PLANES:
        for p in COLUMNS:
            summaries = [results.summary("sim2", f"p{p}m{m}", method, metric) for method in methods]
            rows.append([str(m), str(p), *(show(summary) for summary in summaries)])
    header = ["|P|", "p", *map(names.method_name, methods)]
    return Table(f"sim2-{metric.replace('_', '-')}", f"Mean {names.METRICS[metric]}.", header, rows)


def cpu_table(results: Results) -> Table:
    """Seconds of a fit by number of CPUs."""
    data_sets = results.data_sets("cpus")
    methods = list(dict.fromkeys(method for name in data_sets for method in results.methods("cpus", name)))
    rows = []
    for name in data_sets:
        cells = [name.removeprefix("cpus")]
        for method in methods:
            cells.append(show(results.summary("cpus", name, method, "seconds"), 2))
            cells.append(show(summarise(_speed_ups(results, name, method)), 2))
        rows.append(cells)
    columns = [text for method in methods for text in (f"{names.method_name(method)}, seconds", "times faster")]
    caption = "Seconds of a warm fit (p = 20, |P| = 5) by number of threads, and how many times faster than one."
    return Table("cpus-seconds", caption, ["CPUs", *columns], rows)


def _speed_ups(results: Results, data_set: str, method: str) -> list[float]:
    one, many = (results.values("cpus", name, method, "seconds") for name in ("cpus1", data_set))
    return [one[number] / many[number] for number in sorted(one.keys() & many.keys())]

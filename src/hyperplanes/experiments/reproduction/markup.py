"""Tables of text in Markdown and in LaTeX, and how numbers are written in them."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from hyperplanes.experiments.reproduction import names
from hyperplanes.experiments.reproduction.results import Summary

NOT_RUN = "not run"
NOTHING = ""
COMMAND = "command"
"""Header of the column that Markdown alone has."""
VERDICTS = {True: "yes", False: "**no**", None: NOT_RUN}
"""Whether something holds, or was not run."""


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
        """A table of its own, without commands."""
        kept = [number for number, title in enumerate(self.header) if title != COMMAND]
        chosen = [[line[number] for number in kept] for line in [self.header, *self.rows]]
        lines = [" & ".join(_latex(cell) for cell in line) + r" \\" for line in chosen]
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{_latex(self.caption)}}}",
                rf"\label{{tab:{self.name}}}",
                rf"\begin{{tabular}}{{{'l' * len(kept)}}}",
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
    escaped = "".join(LATEX.get(sign, sign) for sign in text)
    return re.sub(r"\*\*([^*]+)\*\*", r"\\textbf{\1}", escaped)


def show(summary: Summary | None, digits: int = 4) -> str:
    """Mean, standard deviation and repeats."""
    return show_parts([summary], digits)


def show_parts(summaries: Sequence[Summary | None], digits: int = 4) -> str:
    """Mean and standard deviation of each, of training and test as a rule, and repeats."""
    run = [summary for summary in summaries if summary is not None]
    if not run:
        return NOT_RUN
    shown = [f"{summary.mean:.{digits}f} ({summary.sd:.{digits}f})" for summary in run]
    return f"{' / '.join(shown)} [{run[0].n}]"


def show_score(summary: Summary | None, metric: str) -> str:
    """As its name asks for; nothing where there is none."""
    if summary is None:
        return NOTHING
    if metric in names.WITHOUT_SPREAD:
        return f"{summary.mean:.{digits_of(metric)}f} [{summary.n}]"
    return show(summary, digits_of(metric))


def show_p_value(p_value: float | None) -> str:
    """Two significant digits."""
    return NOT_RUN if p_value is None else f"{p_value:.2g}"


def digits_of(metric: str) -> int:
    """Decimals of a score."""
    return names.DIGITS.get(metric, 4)

"""The numbers that the paper prints, as it prints them."""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Printed(NamedTuple):
    """One number of the paper, a mean with its standard deviation, or a p-value."""

    table: str
    """Label of the table in the paper's source, or where in the text."""
    study: str
    """Ours for it."""
    data_set: str
    """Of the study."""
    method: str
    """Our name for it: what the paper calls pois is its own sampler."""
    metric: str
    """Name of the score."""
    mean: str
    """As printed."""
    sd: str
    """As printed, or nothing."""

    @property
    def text(self) -> str:
        """As in a table."""
        return f"{self.mean} ({self.sd})" if self.sd else self.mean


@cache
def printed_numbers() -> tuple[Printed, ...]:
    """All of them, in the order of the studies."""
    text = (files("hyperplanes.experiments") / "data" / "paper.csv").read_text(encoding="utf-8")
    return tuple(Printed(*row) for row in list(csv.reader(text.splitlines()))[1:])


def printed(study: str) -> list[Printed]:
    """Those of one study."""
    return [number for number in printed_numbers() if number.study == study]

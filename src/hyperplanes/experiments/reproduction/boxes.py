"""Box plots of scores over repeats, method by method."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hyperplanes.experiments.reproduction import names
from hyperplanes.experiments.reproduction.results import Results

OURS_COLOR = "#d7191c"
PAPER_COLOR = "#1f5fa8"
RIVAL_COLOR = "0.45"
LINE_COLORS = {"ours": OURS_COLOR, "paper": PAPER_COLOR}
PARTS = (("train", "-", -0.2), ("test", ":", 0.2))
"""Of the rows: their name, style of line, and how far from the middle."""


def color_of(method: str, otherwise: str = RIVAL_COLOR) -> str:
    """One colour for ours, one for the paper's sampler."""
    return LINE_COLORS.get(method.partition("-")[0], otherwise)


def draw_parts(
    panel: Any, results: Results, study: str, data_set: str, methods: Sequence[str], metric: str = "rmse"
) -> None:
    """Boxes of training and test rows side by side."""
    known = [name for name in methods if results.values(study, data_set, name, f"test_{metric}")]
    for part, style, shift in PARTS:
        values = [list(results.values(study, data_set, name, f"{part}_{metric}").values()) for name in known]
        _draw(panel, values, known, np.arange(len(known)) + shift, style, 0.32)
        panel.plot([], [], style, color="black", label=part)
    _label(panel, study, known)
    panel.legend(fontsize="small")


def draw_plain(panel: Any, study: str, values: Mapping[str, Sequence[float]]) -> None:
    """A box for each method that has values."""
    known = [name for name, found in values.items() if found]
    _draw(panel, [values[name] for name in known], known, np.arange(len(known)), "-", 0.5)
    _label(panel, study, known)


def _draw(
    panel: Any, values: Sequence[Sequence[float]], methods: Sequence[str], places: Any, style: str, width: float
) -> None:
    for place, found, method in zip(places, values, methods, strict=True):
        lines = {"color": color_of(method), "linestyle": style}
        parts = {f"{part}props": lines for part in ("box", "whisker", "cap", "median")}
        panel.boxplot([found], positions=[place], widths=width, flierprops={"marker": ".", "markersize": 2}, **parts)


def _label(panel: Any, study: str, methods: Sequence[str]) -> None:
    labels = [names.method_name(study, name).replace(", ", "\n", 1) for name in methods]
    panel.set_xticks(range(len(methods)), labels, rotation=35, ha="right", rotation_mode="anchor", fontsize="small")
    panel.set_xlim(-0.6, max(len(methods), 1) - 0.4)

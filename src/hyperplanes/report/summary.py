"""The data in brief."""

from typing import Any, NamedTuple

import numpy as np

from hyperplanes.estimators.columns import texts_of
from hyperplanes.estimators.numerals import readable
from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.tables import read_unfilled
from hyperplanes.plotting.inputs import Column, Model, columns_of

MOST_SHOWN = 5
"""Categories that are named."""
NOTHING = "nothing but missing values"


class ColumnSummary(NamedTuple):
    """A column in words."""

    name: str
    """What the user calls it."""
    kind: str
    """"number" or "category"."""
    values: str
    """Range and median, or the most frequent categories."""
    n_missing: int
    """Rows without a value."""


def summarise_inputs(model: Model, X: Any) -> list[ColumnSummary]:
    """Each column of a table that the model was fitted to."""
    numbers = read_unfilled(model, X, model.columns_)
    return [
        _summarise_numbers(column, numbers[:, column.numbers[0]])
        if column.categories is None
        else _summarise_texts(column, texts_of(X, k))
        for k, column in enumerate(columns_of(model))
    ]


def summarise_response(y: Any, name: str, *, of_classes: bool) -> ColumnSummary:
    """The response, or the labels."""
    if of_classes:
        labels, counts = np.unique(np.asarray(y), return_counts=True)
        return ColumnSummary(name, "class", _frequent([str(label) for label in labels], counts), 0)
    return ColumnSummary(name, "response", _range(np.asarray(y, dtype=np.float64)), 0)


def _summarise_numbers(column: Column, values: Floats) -> ColumnSummary:
    missing = np.isnan(values)
    return ColumnSummary(column.name, "number", _range(values[~missing]), int(missing.sum()))


def _summarise_texts(column: Column, texts: list[str | None]) -> ColumnSummary:
    there = [text for text in texts if text is not None]
    names, counts = np.unique(np.array(there, dtype=object), return_counts=True)
    values = _frequent(names, counts) if there else NOTHING
    return ColumnSummary(column.name, "category", values, len(texts) - len(there))


def _range(values: Floats) -> str:
    if not len(values):
        return NOTHING
    low, middle, high = values.min(), 2 * np.median(values / 2), values.max()  # halves, whose sums do not overflow
    low_end, median, high_end = (readable(value) for value in (low, middle, high))
    return f"constant: {low_end}" if low == high else f"{low_end} to {high_end}, median {median}"


def _frequent(names: Any, counts: Any) -> str:
    order = np.argsort(-np.asarray(counts), kind="stable")
    shown = ", ".join(f"{names[k]} ({counts[k]:,.0f})" for k in order[:MOST_SHOWN])
    return shown + (f" and {len(order) - MOST_SHOWN} more" if len(order) > MOST_SHOWN else "")

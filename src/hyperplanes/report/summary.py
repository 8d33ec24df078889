"""The data in brief."""

from typing import Any, NamedTuple

import numpy as np

from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.tables import read_unfilled
from hyperplanes.plotting.inputs import Column, Model, columns_of

MOST_SHOWN = 5
"""Categories that are named."""


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
    return [_summarise(column, numbers[:, list(column.numbers)]) for column in columns_of(model)]


def summarise_response(y: Any, name: str, *, of_classes: bool) -> ColumnSummary:
    """The response, or the labels."""
    if of_classes:
        labels, counts = np.unique(np.asarray(y), return_counts=True)
        return ColumnSummary(name, "class", _frequent([str(label) for label in labels], counts), 0)
    return ColumnSummary(name, "response", _range(np.asarray(y, dtype=np.float64)), 0)


def _summarise(column: Column, values: Floats) -> ColumnSummary:
    if column.categories is None:
        missing = np.isnan(values[:, 0])
        return ColumnSummary(column.name, "number", _range(values[~missing, 0]), int(missing.sum()))
    counts = values.sum(axis=0)
    if len(column.categories) == 2:
        counts = np.array([len(values) - counts[0], counts[0]])
    return ColumnSummary(column.name, "category", _frequent(column.categories, counts), 0)


def _range(values: Floats) -> str:
    if not len(values):
        return "nothing but missing values"
    low, middle, high = values.min(), np.median(values), values.max()
    return f"constant: {low:.4g}" if low == high else f"{low:.4g} to {high:.4g}, median {middle:.4g}"


def _frequent(names: Any, counts: Any) -> str:
    order = np.argsort(-np.asarray(counts), kind="stable")
    shown = ", ".join(f"{names[k]} ({counts[k]:,.0f})" for k in order[:MOST_SHOWN])
    return shown + (f" and {len(order) - MOST_SHOWN} more" if len(order) > MOST_SHOWN else "")

"""Labels of classes: all of them text, or numbers, or truth values."""

from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hyperplanes.estimators.columns import is_missing

Labels: TypeAlias = NDArray[Any]

KINDS = "biufUO"
"""Of arrays that may hold labels: truth values, numbers, text, objects."""
LARGEST = 2**53
"""Up to which every whole number is a float."""


def read_labels(labels: Labels) -> Labels:
    """Labels (n,) that can be sorted and saved; an error names the first row that has none, or one of another kind."""
    if labels.dtype.kind not in KINDS:
        raise ValueError(f"y must hold text, numbers or truth values, got values of type {labels.dtype}")
    if labels.dtype.kind == "O" and len(labels):
        labels = _of_one_kind(labels)
    if labels.dtype.kind == "f" and np.abs(labels).max(initial=0) > LARGEST:
        raise ValueError(f"labels that are numbers must be at most 2**53 in size, got {np.abs(labels).max():g}")
    return labels


def _of_one_kind(labels: Labels) -> Labels:
    """An array of text, or of numbers."""
    first = _kind(labels[0], 0)
    for row, label in enumerate(labels):
        if _kind(label, row) != first:
            raise ValueError(
                f"y must hold labels of one kind, got {first} ({labels[0]!r} in row 0) and {_kind(label, row)} "
                f"({label!r} in row {row})"
            )
    if first == "text":
        return labels
    return np.array(labels.tolist(), dtype=None if all(abs(label) <= LARGEST for label in labels) else np.float64)


def _kind(label: Any, row: int) -> str:
    if is_missing(label):
        raise ValueError(f"y must have a label in every row, got {label!r} in row {row}: remove such rows")
    if isinstance(label, str):
        return "text"
    if isinstance(label, bool | np.bool_):
        return "truth values"
    if isinstance(label, Real):
        return "numbers"
    raise ValueError(f"y must hold text, numbers or truth values, got {label!r} in row {row}")

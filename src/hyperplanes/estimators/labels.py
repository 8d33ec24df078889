"""Labels of classes: all of them text, or numbers, or truth values; and how often their rows count."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from hyperplanes.estimators.columns import NUMBERS, is_missing
from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.tables import WEIGHTS

Labels: TypeAlias = NDArray[Any]

KINDS = "biufUO"
"""Of arrays that may hold labels: truth values, numbers, text, objects."""
LARGEST = 2**53
"""Up to which every whole number is a float."""


def read_labels(labels: Labels, what: str = "y", rows: Sequence[int] | None = None) -> Labels:
    """Labels (n,) that can be sorted and saved; an error names the first row that has none, or one of another kind.

    Parameters
    ----------
    labels : (n,)
        As the user gave them.
    what, rows : str and sequence of int, optional
        What holds them, and in which rows; by default y, and those from 0 on.
    """
    if labels.dtype.kind not in KINDS:
        raise ValueError(f"{what} must hold text, numbers or truth values, got values of type {labels.dtype}")
    rows = range(len(labels)) if rows is None else rows
    if labels.dtype.kind == "O" and len(labels):
        return _of_one_kind(labels, what, rows)
    if labels.dtype.kind == "f":
        _refuse_large(labels, what, rows)
    return labels


def class_weights(class_weight: Any, classes: Labels, counts: Floats) -> Floats:
    """How often rows of each class count, with what scikit-learn takes for that and how many rows there are of each."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        weights = counts.sum() / (len(counts) * counts)
    else:
        weights = compute_class_weight(class_weight, classes=classes, y=classes)
    for label, weight in zip(classes.tolist(), weights, strict=True):
        if not WEIGHTS[0] <= weight <= WEIGHTS[1]:
            raise ValueError(
                f"class_weight must be between {WEIGHTS[0]:g} and {WEIGHTS[1]:g}, got {weight:g} of class {label!r}: "
                "remove rows that do not count"
            )
    return np.asarray(weights, dtype=np.float64)


def _of_one_kind(labels: Labels, what: str, rows: Sequence[int]) -> Labels:
    """An array of text, or of numbers."""
    if all(type(label) is str for label in labels):
        return labels
    first = _kind(labels[0], what, rows[0])
    for row, label in zip(rows, labels, strict=True):
        if _kind(label, what, row) != first:
            raise ValueError(
                f"{what} must hold labels of one kind, got {first} ({labels[0]!r} in row {rows[0]}) and "
                f"{_kind(label, what, row)} ({label!r} in row {row})"
            )
    if first == "text":
        return labels
    found = np.array(labels.tolist())
    if found.dtype.kind in "biu":
        return found
    _refuse_large(labels, what, rows)
    return found.astype(np.float64)


def _refuse_large(labels: Labels, what: str, rows: Sequence[int]) -> None:
    """Refuse numbers that floats cannot tell from their neighbours."""
    for row in np.flatnonzero(np.abs(labels) > LARGEST)[:1]:
        raise ValueError(
            f"labels that are numbers must be at most 2**53 in size, got {float(labels[row]):g} in row {rows[row]} of "
            f"{what}"
        )


def _kind(label: Any, what: str, row: int) -> str:
    if is_missing(label):
        raise ValueError(f"{what} must have a label in every row, got {label!r} in row {row}: remove such rows")
    if isinstance(label, str):
        return "text"
    if isinstance(label, bool | np.bool_):
        return "truth values"
    if isinstance(label, NUMBERS):
        return "numbers"
    raise ValueError(f"{what} must hold text, numbers or truth values, got {label!r} in row {row}")

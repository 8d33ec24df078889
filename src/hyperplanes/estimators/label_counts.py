"""Labels of classes, in the columns of a data set that is read a chunk at a time."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.tables import WEIGHTS

MOST_CLASSES = 1000
"""More are likely a mistake: every class has a network of its own."""


class LabelCounts(NamedTuple):
    """Labels of a column, and how many rows have them."""

    labels: NDArray[Any]
    """(n,), each only once: text, truth values or whole numbers."""
    counts: Floats
    """(n,)."""

    def numbers_of(self, column: Any, first_row: int) -> Floats:
        """Numbers of the classes in a pandas series, where labels are sorted."""
        labels, codes = _read_labels(column, first_row)
        return np.searchsorted(self.labels, labels.astype(self.labels.dtype))[codes].astype(np.float64)

    def weights(self, class_weight: Any) -> Floats:
        """How often rows of each class count, with what scikit-learn takes for that."""
        if class_weight == "balanced":
            weights = self.counts.sum() / (len(self.counts) * self.counts)
        else:
            weights = compute_class_weight(class_weight, classes=self.labels, y=self.labels)
        for label, weight in zip(self.labels.tolist(), weights, strict=True):
            if not WEIGHTS[0] <= weight <= WEIGHTS[1]:
                raise ValueError(
                    f"class_weight must be between {WEIGHTS[0]:g} and {WEIGHTS[1]:g} for a data set, got {weight:g} of "
                    f"class {label!r}: remove rows that do not count"
                )
        return np.asarray(weights, dtype=np.float64)


def count_labels(column: Any, first_row: int) -> LabelCounts:
    """Labels of one chunk, in any order; an error names a row that has none."""
    labels, codes = _read_labels(column, first_row)
    return LabelCounts(labels, np.asarray(np.bincount(codes), dtype=np.float64))


def add_up(found: Sequence[LabelCounts], target: str) -> LabelCounts:
    """Labels of all chunks, sorted."""
    labels, which = np.unique(np.concatenate([each.labels for each in found]), return_inverse=True)
    if len(labels) < 2:
        raise ValueError(f"column {target!r} must hold two classes or more, got one class: {labels.tolist()}")
    _refuse_many(labels, target)
    counts = np.bincount(which, weights=np.concatenate([each.counts for each in found]))
    return LabelCounts(labels, np.asarray(counts, dtype=np.float64))


def _read_labels(column: Any, first_row: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Different labels in a pandas series, and which of them each row has."""
    codes, found = column.factorize()
    if (codes < 0).any():
        row = first_row + int(np.argmax(codes < 0))
        raise ValueError(f"column {column.name!r} must hold labels, got none in row {row}: remove such rows")
    _refuse_many(found, column.name)
    labels = np.asarray(found)
    labels = np.array(labels.tolist()) if labels.dtype == object else labels
    if labels.dtype.kind not in "biufU":
        raise ValueError(
            f"column {column.name!r} must hold text, numbers or truth values as labels, got values of type "
            f"{column.dtype}"
        )
    if labels.dtype.kind == "f" and not (whole := np.isfinite(labels) & (labels == np.floor(labels))).all():
        row = int(np.argmin(whole[codes]))
        raise ValueError(
            f"numbers in column {column.name!r} must be whole to be labels, got {labels[codes[row]]} in row "
            f"{first_row + row}"
        )
    return labels, codes


def _refuse_many(labels: Any, target: Any) -> None:
    if len(labels) > MOST_CLASSES:
        raise ValueError(f"column {target!r} holds more than {MOST_CLASSES} different labels: is it the right one?")

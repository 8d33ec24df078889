"""Labels of classes, in the columns of a data set that is read a chunk at a time."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hyperplanes.estimators.labels import Labels, read_labels
from hyperplanes.estimators.scaling import Floats
from hyperplanes.inference.subdomains import Indices

MOST_CLASSES = 1000
"""More are likely a mistake: every class has a network of its own."""


class LabelCounts(NamedTuple):
    """Labels of a column, and how many rows have them."""

    labels: Labels
    """(n,), each only once: text, truth values or whole numbers."""
    counts: Floats
    """(n,)."""
    rows: Indices
    """(n,): the first that has each."""

    def numbers_of(self, column: Any, first_row: int) -> Floats:
        """Numbers of the classes in a pandas series, where labels are sorted."""
        labels, codes, _ = _read_labels(column, first_row)
        return np.searchsorted(self.labels, labels.astype(self.labels.dtype))[codes].astype(np.float64)


def count_labels(column: Any, first_row: int) -> LabelCounts:
    """Labels of one chunk, in any order; an error names a row that has none."""
    labels, codes, rows = _read_labels(column, first_row)
    return LabelCounts(labels, np.asarray(np.bincount(codes), dtype=np.float64), rows)


def add_up(found: Sequence[LabelCounts], target: str) -> LabelCounts:
    """Labels of all chunks, sorted; an error names one of another kind than those of the chunks before."""
    rows = np.concatenate([each.rows for each in found])
    objects = np.concatenate([each.labels.astype(object) for each in found])
    read = read_labels(objects, f"column {target!r}", rows.tolist())
    labels, firsts, which = np.unique(read, return_index=True, return_inverse=True)
    if len(labels) < 2:
        raise ValueError(f"column {target!r} must hold two classes or more, got one class: {labels.tolist()}")
    _refuse_many(labels, target)
    counts = np.bincount(which, weights=np.concatenate([each.counts for each in found]))
    return LabelCounts(labels, np.asarray(counts, dtype=np.float64), rows[firsts])


def _read_labels(column: Any, first_row: int) -> tuple[Labels, Indices, Indices]:
    """Different labels in a pandas series, which of them each row has, and the first row of each."""
    try:
        codes, found = column.factorize()
    except TypeError as error:  # of what has no hash
        raise ValueError(f"column {column.name!r} must hold text, numbers or truth values, got {error}") from error
    if (codes < 0).any():
        row = first_row + int(np.argmax(codes < 0))
        raise ValueError(f"column {column.name!r} must hold labels, got none in row {row}: remove such rows")
    _refuse_many(found, column.name)
    _, firsts = np.unique(codes, return_index=True)
    rows = range(first_row, first_row + len(column))
    labels = read_labels(np.asarray(column), f"column {column.name!r}", rows)[firsts]
    if labels.dtype.kind == "f" and not (whole := labels == np.floor(labels)).all():
        k = int(np.argmin(whole))
        raise ValueError(
            f"numbers in column {column.name!r} must be whole to be labels, got {labels[k]} in row {rows[firsts[k]]}"
        )
    return labels, codes, first_row + firsts


def _refuse_many(labels: Any, target: Any) -> None:
    if len(labels) > MOST_CLASSES:
        raise ValueError(f"column {target!r} holds more than {MOST_CLASSES} different labels: is it the right one?")

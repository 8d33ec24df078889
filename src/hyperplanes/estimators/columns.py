"""Columns as people have them: text becomes columns of 0 and 1, and missing values are filled in and marked."""

from collections.abc import Iterable, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hyperplanes.estimators.scaling import Floats

Categories: TypeAlias = tuple[tuple[str, ...] | None, ...]

MOST_CATEGORIES = 100
MISSING = "missing"
NEITHER = 0.5
"""Stands, in the one column of two categories, for any other text."""
OF_TEXT = ("str", "large_string", "category", "categorical", "dictionary", "enum", "utf8")
"""How the types of data frame columns begin that hold text or categories, in lower case."""
TIMES = (date, time, timedelta)
NUMBERS = (Real, Decimal, np.bool_)
NESTED = (list, dict, np.ndarray)


class Columns(NamedTuple):
    """What was learned of the columns of a training table."""

    categories: Categories
    """Of each column of a data frame that holds text, in the order of its columns of 0 and 1; None for numbers. Empty
    where no column holds text."""
    medians: Floats
    """Of each column of numbers, once text has become numbers: they stand for missing values."""
    has_missing: NDArray[np.bool_]
    """Which of those columns had missing values, and get a column that marks them."""

    def fill(self, numbers: Floats) -> Floats:
        """Fill missing values in, and append a column of 0 and 1 for each column that had some in training."""
        missing = np.isnan(numbers)
        filled = np.where(missing, self.medians, numbers)
        return np.column_stack([filled, missing[:, self.has_missing]]) if self.has_missing.any() else filled

    def names(self, features: Sequence[str]) -> list[str]:
        """Names of the columns of numbers, of a table whose columns have these names."""
        found: list[str] = []
        for feature, known in zip(features, self.categories or len(features) * (None,), strict=True):
            texts = () if known is None else known[1:] if len(known) == 2 else known
            found += [feature] if known is None else [f"{feature}={text}" for text in texts]
        return found + [f"{found[k]} missing" for k in np.flatnonzero(self.has_missing)]


def may_hold_text(table: Any) -> dict[int, str]:
    """Positions of the columns of a data frame whose types allow text, and these types; none of an array."""
    if not hasattr(table, "columns") or not hasattr(table, "dtypes"):
        return {}
    kinds = [str(kind).lower() for kind in table.dtypes]
    return {k: kind for k, kind in enumerate(kinds) if kind.startswith((*OF_TEXT, "object"))}


def text_columns(table: Any) -> list[int]:
    """Positions of the columns of a data frame that hold text or categories; none for an array."""
    return [k for k, kind in may_hold_text(table).items() if kind != "object" or _has_text(table, k)]


def learn_categories(chunks: Iterable[tuple[Any, NDArray[np.bool_]]]) -> Categories:
    """Categories of each column of a data frame, for `Columns`, in the rows that count.

    The rows come in one chunk or more. A column of objects that is text in one of them is text in all.
    """
    names: Any = ()
    textual: set[int] = set()
    texts: dict[int, set[str]] = {}
    for table, counted in chunks:
        textual.update(text_columns(table))
        for k in may_hold_text(table):
            names = table.columns
            if len(texts.setdefault(k, set())) <= MOST_CATEGORIES:
                texts[k] |= _texts(table, k, counted)
    if not textual:
        return ()
    return tuple(_categories(name, texts[k]) if k in textual else None for k, name in enumerate(names))


def learn_columns(numbers: Floats, row_weights: Floats, categories: Categories) -> Columns:
    """Medians and missing values of the columns (n, q) of a training table in which text has become numbers."""
    missing = np.isnan(numbers)
    medians = np.zeros(numbers.shape[1])
    for k in np.flatnonzero(~missing.all(axis=0)):
        there = ~missing[:, k]
        medians[k] = _median(numbers[there, k], row_weights[there])
    return Columns(categories, medians, np.asarray(missing.any(axis=0)))


def _median(values: Floats, row_weights: Floats) -> float:
    """Median of values that count as often as their weights say."""
    if np.all(row_weights == row_weights[0]):
        middle = (len(values) - 1) // 2, len(values) // 2
        return float(np.sum(0.5 * np.partition(values, middle)[list(middle)]))
    order = np.argsort(values, kind="stable")
    totals = np.cumsum(row_weights[order])
    at = (np.searchsorted(totals, 0.5 * totals[-1], side=side) for side in ("left", "right"))
    low, high = (float(values[order[min(k, len(order) - 1)]]) for k in at)
    return 0.5 * low + 0.5 * high


def spread_text(table: Any, categories: Categories) -> Floats:
    """Numbers of a data frame: text becomes a column of 0 and 1 for each category, or one where there are two.

    A category that was not in training is none of the known ones: all its columns are 0, or `NEITHER` of two.
    """
    if not hasattr(table, "columns"):
        raise TypeError("X must be a data frame, as in fit: some of its columns hold text")
    parts = []
    for k, known in enumerate(categories):
        if known is None:
            values = _column(table, k)
            parts.append(np.array([np.nan if is_missing(value) else value for value in values], dtype=np.float64))
            continue
        texts = np.array([MISSING if text is None else text for text in texts_of(table, k)], dtype=object)
        same = texts[:, None] == np.array(known, dtype=object)
        parts.append(np.where(same.any(axis=1), same[:, 1], NEITHER) if len(known) == 2 else same.astype(np.float64))
    return np.column_stack(parts)


def texts_of(table: Any, k: int) -> list[str | None]:
    """The texts of a column of a data frame, None where they are missing."""
    return [None if is_missing(value) else str(value) for value in _column(table, k)]


def _has_text(table: Any, k: int) -> bool:
    """Whether a column of objects holds other things than numbers."""
    values = [value for value in _column(table, k) if not is_missing(value)]
    if any(isinstance(value, TIMES) for value in values):
        raise ValueError(
            f"column {table.columns[k]!r} holds dates or times: turn them into numbers of a unit you choose"
        )
    if any(isinstance(value, NESTED) for value in values):
        raise ValueError(
            f"column {table.columns[k]!r} holds lists or records: give each of their entries a column of its own"
        )
    return not all_numbers(values)


def _texts(table: Any, k: int, counted: NDArray[np.bool_]) -> set[str]:
    kept = [value for value, counts in zip(_column(table, k), counted, strict=True) if counts]
    return {MISSING if is_missing(value) else str(value) for value in kept}


def _categories(name: Any, texts: set[str]) -> tuple[str, ...]:
    if len(texts) > MOST_CATEGORIES:
        raise ValueError(
            f"column {name!r} holds {len(texts)} different texts, more than {MOST_CATEGORIES}: "
            "drop it, group them, or turn it into numbers"
        )
    return tuple(sorted(texts))


def _column(table: Any, k: int) -> list[Any]:
    column = table.iloc[:, k] if hasattr(table, "iloc") else table[table.columns[k]]
    values: list[Any] = column.to_list()
    return values


def all_numbers(values: Iterable[Any]) -> bool:
    """Whether values are numbers, decimal ones and truth values included, or missing."""
    return all(is_missing(value) or isinstance(value, NUMBERS) for value in values)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or what pandas writes for a missing one: none of them equals itself."""
    if isinstance(value, NESTED):
        return False
    same = value == value
    return value is None or not (isinstance(same, bool | np.bool_) and bool(same))

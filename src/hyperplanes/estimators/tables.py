"""Reading what the user hands over: arrays and data frames in, plain float64 arrays out, or a clear error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_array, check_X_y, validate_data

from hyperplanes.estimators.columns import Categories, Columns, learn_categories, learn_columns, spread_text
from hyperplanes.estimators.scaling import Floats

Table: TypeAlias = Any
"""Whatever scikit-learn reads as numbers: an array, nested lists, a pandas or polars data frame or series."""

FEWEST_ROWS = 2
WEIGHTS = (1e-12, 1e12)
"""Least and most that a row may count which counts at all: sums of more or less would be rounded away."""
LARGEST_RESPONSE = 1e250
"""Predictions far from the rows should not overflow either."""
NOT_NUMBERS = ("could not convert string to float", "float() argument must be")
"""How numpy begins to complain of text and of other objects."""
TIMES = ("date", "time", "duration", "period")
"""How the types of columns that hold dates or times begin; scikit-learn takes some for numbers in an unknown unit."""
NESTED = ("list", "array", "struct", "map", "large_list", "fixed_size_list")
"""The same of columns that hold several values in a row."""
COLUMN_ATTRIBUTES = ("n_features_in_", "feature_names_in_")


class TrainingTable(NamedTuple):
    """Training rows, in the user's units, each only once."""

    inputs: Floats
    """Shape (n, q): numbers, without missing values."""
    response: Floats
    """Shape (n,)."""
    row_weights: Floats
    """Shape (n,): how often each row counts, positive."""
    columns: Columns
    """How the user's columns became numbers."""
    column_attributes: dict[str, Any]
    """``n_features_in_`` and, where the columns have names, ``feature_names_in_``."""


def read_training_table(estimator: BaseEstimator, X: Table, y: Table, sample_weight: Table | None) -> TrainingTable:
    """Check training data without touching the estimator.

    Copies of a row are merged into one that counts as often: a weight of 2 is the same as the row twice, to the last
    bit, and the order of the rows does not matter.

    Parameters
    ----------
    estimator : BaseEstimator
        Whose settings and tags apply; left as it is, so that a failed or interrupted fit changes nothing.
    X, y, sample_weight : array-like
        As given to ``fit``.

    Returns
    -------
    TrainingTable
        Finite numbers.

    Raises
    ------
    ValueError
        For data that are neither finite numbers nor text, too few rows or mismatched lengths.
    """
    reader = clone(estimator)
    weights = np.ones(_num_samples(X))
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    counted = weights > 0
    categories = learn_categories([(X, counted)])
    numbers, response = read_numbers(reader, X, y, categories, reset=True, ensure_min_samples=FEWEST_ROWS)
    if np.count_nonzero(counted) < FEWEST_ROWS:
        raise ValueError(f"sample_weight must be positive for at least {FEWEST_ROWS} rows")
    least, most = weights[counted].min(), weights[counted].max()
    if least < WEIGHTS[0] or most > WEIGHTS[1]:
        raise ValueError(
            f"sample_weight must be 0, or between {WEIGHTS[0]:g} and {WEIGHTS[1]:g}, got {least:g} to {most:g}: "
            "it says how often each row counts"
        )
    columns = learn_columns(numbers[counted], weights[counted], categories)
    rows = np.column_stack([columns.fill(numbers[counted]), response[counted]])
    return TrainingTable(*merge_copies(rows, weights[counted]), columns, column_attributes(reader))


def merge_copies(rows: Floats, row_weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Sort rows of inputs and response, each only once: inputs, response, and how often each row counts."""
    order = np.argsort(rows[:, 0], kind="stable")
    first = rows[order, 0]
    alike = np.append(False, first[1:] == first[:-1])
    tied = np.flatnonzero(alike | np.append(alike[1:], False))  # most columns of numbers have few, or none
    order[tied] = order[tied][np.lexsort(rows[order[tied]].T[::-1])]
    ordered = rows[order]
    alike[alike] = np.all(ordered[alike] == ordered[np.flatnonzero(alike) - 1], axis=1)
    counts = np.bincount(np.cumsum(~alike) - 1, weights=row_weights[order])
    return ordered[~alike, :-1], ordered[~alike, -1], np.asarray(counts, dtype=np.float64)


def weights_of(response: Floats, class_weights: Floats | None) -> Floats:
    """How often rows count: once, or as often as their class, where the response is the number of one."""
    return np.ones(len(response)) if class_weights is None else class_weights[response.astype(np.intp)]


def column_attributes(reader: BaseEstimator) -> dict[str, Any]:
    """What scikit-learn has an estimator remember of the columns that it has read."""
    return {name: value for name, value in vars(reader).items() if name in COLUMN_ATTRIBUTES}


def read_inputs(estimator: BaseEstimator, X: Table, columns: Columns) -> Floats:
    """Check new inputs against the columns that the estimator was fitted on."""
    return columns.fill(read_unfilled(estimator, X, columns))


def read_unfilled(estimator: BaseEstimator, X: Table, columns: Columns) -> Floats:
    """The same, NaN where values are missing."""
    _refuse_types(X)
    with _numbers_expected():
        return _as_numbers(estimator, X, columns.categories, reset=False)


def read_labelled_table(estimator: BaseEstimator, X: Table, y: Table, columns: Columns) -> tuple[Floats, Floats]:
    """Check new inputs and their responses against the columns that the estimator was fitted on."""
    numbers, response = read_numbers(estimator, X, y, columns.categories, reset=False)
    return columns.fill(numbers), response


def read_numbers(
    estimator: BaseEstimator, X: Table, y: Table, categories: Categories, **checks: Any
) -> tuple[Floats, Floats]:
    """Check inputs and responses: text becomes numbers, and what is missing stays NaN."""
    _refuse_types(X)
    with _numbers_expected():
        numbers = _as_numbers(estimator, X, categories, **checks)
        numbers, response = check_X_y(
            numbers, y, dtype=np.float64, y_numeric=True, ensure_all_finite="allow-nan", estimator=estimator
        )
    if response.dtype.kind not in "biuf":
        raise ValueError(f"y must hold numbers, got values of type {response.dtype}")
    if np.abs(response).max(initial=0) > LARGEST_RESPONSE:
        raise ValueError(f"y must be at most {LARGEST_RESPONSE:g} in size, got {np.abs(response).max():g}: rescale it")
    return numbers, np.asarray(response, dtype=np.float64)


def _as_numbers(estimator: BaseEstimator, X: Table, categories: Categories, *, reset: bool, **checks: Any) -> Floats:
    """Numbers of a table, NaN where they are missing."""
    checks = {"dtype": np.float64, "ensure_all_finite": "allow-nan", **checks}
    numbers: Floats
    if categories:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        numbers = check_array(spread_text(X, categories), estimator=estimator, **checks)
    else:
        numbers = validate_data(estimator, X, reset=reset, **checks)
    return numbers


def _refuse_types(X: Table) -> None:
    types = np.ravel(np.array(getattr(X, "dtypes", getattr(X, "dtype", None)), dtype=object))
    for k, kind in enumerate(map(str, types)):
        if kind.lower().startswith(TIMES + NESTED):
            where = f" in column {X.columns[k]!r}" if hasattr(X, "columns") else ""
            raise ValueError(_numbers_only(f"type {kind}{where}"))


@contextmanager
def _numbers_expected() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError) as error:
        if not str(error).startswith(NOT_NUMBERS):
            raise
        got = "text" if isinstance(error, ValueError) else "objects"
        raise type(error)(_numbers_only(f"{got} ({error})")) from error


def _numbers_only(got: str) -> str:
    return (
        f"an array of inputs and y must hold numbers only, got {got}. Give columns of text in a data frame, turn "
        "dates and times into numbers of a unit you choose, and give entries of lists columns of their own."
    )

"""Reading what the user hands over: arrays and data frames in, plain float64 arrays out, or a clear error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from hyperplanes.estimators.scaling import Floats

Table: TypeAlias = Any
"""Whatever scikit-learn reads as numbers: an array, nested lists, a pandas or polars data frame or series."""

FEWEST_ROWS = 2
NOT_NUMBERS = ("could not convert string to float", "float() argument must be")
"""How numpy begins to complain of text and of other objects."""
TIMES = ("date", "time", "duration", "period")
"""How the types of columns that hold dates or times begin; scikit-learn takes some for numbers in an unknown unit."""
COLUMN_ATTRIBUTES = ("n_features_in_", "feature_names_in_")


class TrainingTable(NamedTuple):
    """Training rows, in the user's units."""

    inputs: Floats
    """Shape (n, p)."""
    response: Floats
    """Shape (n,)."""
    column_attributes: dict[str, Any]
    """``n_features_in_`` and, where the columns have names, ``feature_names_in_``."""


def read_training_table(estimator: BaseEstimator, X: Table, y: Table) -> TrainingTable:
    """Check training data without touching the estimator.

    Parameters
    ----------
    estimator : BaseEstimator
        Whose settings and tags apply; left as it is, so that a failed or interrupted fit changes nothing.
    X, y : array-like
        As given to ``fit``.

    Returns
    -------
    TrainingTable
        Finite numbers.

    Raises
    ------
    ValueError
        For data that are not finite numbers, too few rows or mismatched lengths.
    """
    reader = clone(estimator)
    inputs, response = _read(reader, X, y, reset=True, ensure_min_samples=FEWEST_ROWS)
    columns = {name: value for name, value in vars(reader).items() if name in COLUMN_ATTRIBUTES}
    return TrainingTable(inputs, response, columns)


def read_inputs(estimator: BaseEstimator, X: Table) -> Floats:
    """Check new inputs against the columns that the estimator was fitted on."""
    _refuse_times(X)
    with _numbers_expected():
        inputs: Floats = validate_data(estimator, X, reset=False, dtype=np.float64)
    return inputs


def read_labelled_table(estimator: BaseEstimator, X: Table, y: Table) -> tuple[Floats, Floats]:
    """Check new inputs and their responses against the columns that the estimator was fitted on."""
    return _read(estimator, X, y, reset=False)


def _read(estimator: BaseEstimator, X: Table, y: Table, **checks: Any) -> tuple[Floats, Floats]:
    _refuse_times(X)
    with _numbers_expected():
        inputs, response = validate_data(estimator, X, y, dtype=np.float64, y_numeric=True, **checks)
    if response.dtype.kind not in "biuf":
        raise ValueError(f"y must hold numbers, got values of type {response.dtype}")
    return inputs, np.asarray(response, dtype=np.float64)


def _refuse_times(X: Table) -> None:
    types = np.ravel(np.array(getattr(X, "dtypes", getattr(X, "dtype", None)), dtype=object))
    for kind in map(str, types):
        if kind.lower().startswith(TIMES):
            raise ValueError(_numbers_only(f"type {kind}"))


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
        f"X and y must hold numbers only, got {got}. Encode text columns first, for instance with "
        "sklearn.preprocessing.OneHotEncoder, and turn dates and times into numbers of a unit you choose."
    )

"""From constructor arguments to the settings of the inference, checked once."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from hyperplanes.model import Prior

TARGETS = ("response", "mean")
GIB = 2**30

MOST_HYPERPLANES = 20
ROWS_PER_PARAMETER = 2


def usual_n_hyperplanes(n_rows: int, n_columns: int) -> int:
    """Return the number of hyperplanes that ``n_hyperplanes="auto"`` stands for.

    One hyperplane and its coefficient are ``n_columns + 1`` free parameters. The rule allows one parameter for each
    two rows, but never fewer than 1 nor more than 20 hyperplanes.

    Parameters
    ----------
    n_rows : int
        Training rows.
    n_columns : int
        Input columns.

    Returns
    -------
    int
        Between 1 and 20.
    """
    supported = n_rows // (ROWS_PER_PARAMETER * (n_columns + 1))
    return min(max(supported, 1), MOST_HYPERPLANES)


def read_n_hyperplanes(value: Any, n_rows: int, n_columns: int) -> int:
    """Return the number of hyperplanes that the setting stands for with so many rows and columns."""
    if isinstance(value, str) and value == "auto":
        return usual_n_hyperplanes(n_rows, n_columns)
    if isinstance(value, str):
        raise ValueError(f'n_hyperplanes must be an integer or "auto", got {value!r}')
    return integer("n_hyperplanes", value)


def integer(name: str, value: Any) -> int:
    """Return the value as an int, or raise an error that names the setting."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name} must be an integer, got {value!r}")
    return int(value)


def positive_integer(name: str, value: Any) -> int:
    """Return the value as an int of at least 1, or raise an error that names the setting."""
    if integer(name, value) < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return int(value)


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return the value, or raise an error that names the known choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def flag(name: str, value: Any) -> bool:
    """Return the value as a bool, or raise an error that names the setting."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def read_prior(value: Any) -> Prior:
    """Return the prior that the setting stands for."""
    if value is not None and not isinstance(value, Prior):
        raise TypeError(f"prior must be a hyperplanes.Prior or None, got {type(value).__name__}")
    return Prior() if value is None else value


def n_threads(n_jobs: Any) -> int:
    """Return the number of threads that ``n_jobs`` stands for on this machine."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be a number of threads, -1 for all cores or None, got {n_jobs!r}")
    return int(effective_n_jobs(n_jobs))


def tails(coverage: Any) -> tuple[float, float]:
    """Return the probabilities of both ends of a central interval."""
    if not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
        raise ValueError(f"coverage must be strictly between 0 and 1, got {coverage!r}")
    low, high = 0.5 - float(coverage) / 2, 0.5 + float(coverage) / 2
    if high == 1:
        raise ValueError(f"coverage must be at most 1 - 2**-52, where float64 still holds both tails, got {coverage!r}")
    return low, high


def n_bytes(name: str, value: Any) -> int:
    """Return a budget in GiB as bytes, or raise an error that names the setting."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < float("inf"):
        raise ValueError(f"{name} must be a positive number of GiB, got {value!r}")
    return max(int(float(value) * GIB), 1)

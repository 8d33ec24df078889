"""From constructor arguments to the settings of the inference, checked once."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import cpu_count, effective_n_jobs

from hyperplanes.model import Prior, paper_prior

TARGETS = ("response", "mean")
GIB = 2**30

N_HYPERPLANES_OF_THE_PAPER = 10


def read_n_hyperplanes(value: Any, sampler: str) -> int | None:
    """Return the number of hyperplanes that the setting stands for, None where it is unknown."""
    if isinstance(value, str) and value == "auto":
        return N_HYPERPLANES_OF_THE_PAPER if sampler == "paper" else None
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


def one_of(name: str, value: Any, choices: tuple[str | None, ...]) -> str:
    """Return the value, or raise an error that names the known choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def flag(name: str, value: Any) -> bool:
    """Return the value as a bool, or raise an error that names the setting."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def read_prior(value: Any, sampler: str, n_columns: int) -> Prior:
    """Return the prior that the setting stands for."""
    if value is None:
        return paper_prior(n_columns) if sampler == "paper" else Prior()
    if not isinstance(value, Prior):
        raise TypeError(f"prior must be a hyperplanes.Prior or None, got {type(value).__name__}")
    value.check()
    return value


def read_device(value: Any) -> str | None:
    """Return the device that the setting names, which has to be where the fit runs, not here."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f'device must be a name such as "cpu" or "gpu:0", or None, got {value!r}')
    return value


def n_workers(n_jobs: Any) -> int:
    """Return the number of workers that ``n_jobs`` stands for where joblib runs them."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be a number of threads, -1 for all cores or None, got {n_jobs!r}")
    return int(effective_n_jobs(n_jobs))


def n_threads(n_jobs: Any) -> int:
    """Return the number of threads that ``n_jobs`` stands for on this machine, whatever else joblib runs on."""
    return min(n_workers(n_jobs), int(cpu_count()))


def tails(coverage: Any) -> tuple[float, float]:
    """Return the probabilities of both ends of a central interval."""
    if not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
        raise ValueError(f"coverage must be strictly between 0 and 1, got {coverage!r}")
    low, high = 0.5 - float(coverage) / 2, 0.5 + float(coverage) / 2
    if high == 1:
        raise ValueError(f"coverage must be at most 1 - 2**-52, where float64 still holds both tails, got {coverage!r}")
    return low, high


def share(name: str, value: Any, most: float) -> float:
    """Return a number between 0 and `most`, or raise an error that names the setting."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= most:
        raise ValueError(f"{name} must be between 0 and {most}, got {value!r}")
    return float(value)


def seconds(name: str, value: Any) -> float:
    """Return a number of seconds, or raise an error that names the setting."""
    return _positive_number(name, value, "seconds")


def n_bytes(name: str, value: Any) -> int:
    """Return a budget in GiB as bytes, or raise an error that names the setting."""
    return max(int(_positive_number(name, value, "GiB") * GIB), 1)


def _positive_number(name: str, value: Any, unit: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < float("inf"):
        raise ValueError(f"{name} must be a positive number of {unit}, got {value!r}")
    return float(value)

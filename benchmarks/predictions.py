"""What a method of the benchmarks says of the test rows."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

COVERAGE = 0.95
TAILS = [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]


class Prediction(NamedTuple):
    """What a method says of the test rows."""

    mean: Floats
    """Predicted mean."""
    function: Floats
    """95% intervals of the function, (n, 2)."""
    response: Floats
    """95% intervals of a new response, (n, 2)."""
    details: dict[str, Any]
    """What else the method reports. `seconds`, where it is there, replaces the time of the whole call."""
    path: tuple[tuple[float, Floats], ...] = ()
    """Means that less time would have given: (seconds, mean) in increasing order."""


def from_draws(functions: Floats, responses: Floats, **details: Any) -> Prediction:
    """Summarise draws of the function and of new responses, both (n_draws, n)."""
    function, response = (np.quantile(draws, TAILS, axis=0).T for draws in (functions, responses))
    return Prediction(functions.mean(axis=0), function, response, details)

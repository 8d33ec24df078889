"""Between the user's units and the model's, in which inputs and response have mean 0 and standard deviation 1."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDING = 8 * np.finfo(np.float64).eps
"""A spread below this fraction of the largest value is rounding error, not variation."""

FAR_AWAY = 1e30
"""Scaled values stop here: far enough to clip nothing real, near enough for predictions to stay finite in float32."""


BEND = 2.5
"""Standard deviations from the mean beyond which an input is compressed, so that outliers have no leverage."""


class Scaler(NamedTuple):
    """A map: model units = bent((user's units - center_) / scale_)."""

    center_: Floats
    """Value that becomes 0; shape (p,) for inputs, () for a response."""
    scale_: Floats
    """Length that becomes 1, same shape; infinity for a constant column, which becomes 0 whatever comes later."""
    bend_: float = np.inf
    """Where scaled values begin to grow like their logarithm."""

    def to_model(self, values: Floats) -> Floats:
        """Map from the user's units into the model's."""
        with np.errstate(over="ignore"):  # halves, because the difference of two huge numbers overflows
            scaled = (0.5 * values - 0.5 * self.center_) / (0.5 * self.scale_)
        if np.isinf(self.bend_):
            return np.clip(scaled, -FAR_AWAY, FAR_AWAY)
        size = np.clip(np.abs(scaled) / self.bend_, 1.0, FAR_AWAY)
        return np.where(size > 1, np.sign(scaled) * self.bend_ * (1 + np.log(size)), scaled)

    def to_user(self, values: Floats) -> Floats:
        """Map from the model's units back into the user's."""
        if np.isfinite(self.bend_):
            size = np.abs(values) / self.bend_
            stretched = np.sign(values) * self.bend_ * np.exp(np.minimum(size - 1, np.log(FAR_AWAY)))
            values = np.where(size > 1, stretched, values)
        constant = np.isinf(self.scale_)
        return np.where(constant, self.center_, self.center_ + np.where(constant, 0.0, self.scale_) * values)


UNSCALED = Scaler(center_=np.zeros(()), scale_=np.ones(()))
"""For a response that is the number of a class."""


def range_scaler(inputs: Floats) -> Scaler:
    """Scale each column from its smallest and largest value to -1 and 1, as the paper does.

    Parameters
    ----------
    inputs : ndarray of shape (n, p)
        Finite values in the user's units.

    Returns
    -------
    Scaler
        With an infinite scale for columns that are constant up to rounding.
    """
    middle, half_range = _middle_and_half_range(inputs)
    return Scaler(center_=middle, scale_=half_range)


def input_scaler(inputs: Floats, row_weights: Floats) -> Scaler:
    """Scale each column to mean 0 and standard deviation 1; a column of two values from those to -1 and 1.

    Parameters
    ----------
    inputs : ndarray of shape (n, p)
        Finite values in the user's units.
    row_weights : ndarray of shape (n,)
        How often each row counts.

    Returns
    -------
    Scaler
        With an infinite scale for columns that are constant up to rounding, and bent beyond `BEND`.
    """
    middle, half_range = _middle_and_half_range(inputs)
    unit = np.where(np.isinf(half_range), 0.0, (0.5 * inputs - 0.5 * middle) / (0.5 * half_range))
    mean = np.average(unit, axis=0, weights=row_weights)
    spread = np.sqrt(np.average((unit - mean) ** 2, axis=0, weights=row_weights))
    of_two_values = np.all(np.abs(unit) > 1 - ROUNDING, axis=0)
    mean, spread = np.where(of_two_values, 0.0, mean), np.where(of_two_values | np.isinf(half_range), 1.0, spread)
    finite = np.where(np.isinf(half_range), 0.0, half_range)
    return Scaler(center_=middle + mean * finite, scale_=spread * half_range, bend_=BEND)


def _middle_and_half_range(values: Floats) -> tuple[Floats, Floats]:
    """Of each column or of a response; the half range is infinite for those that are constant up to rounding."""
    low, high = 0.5 * values.min(axis=0), 0.5 * values.max(axis=0)
    half_range = high - low
    rounding = np.maximum(ROUNDING * np.maximum(np.abs(low), np.abs(high)), np.finfo(np.float64).tiny)
    constant = half_range <= rounding
    return low + high, np.where(constant, np.inf, half_range)


def response_scaler(response: Floats, row_weights: Floats) -> Scaler:
    """Scale a response to mean 0 and standard deviation 1.

    Parameters
    ----------
    response : ndarray of shape (n,)
        Finite values in the user's units.
    row_weights : ndarray of shape (n,)
        How often each row counts.

    Returns
    -------
    Scaler
        With the size of rounding errors as scale for a response that is constant up to them.
    """
    if is_constant(response):
        middle, _ = _middle_and_half_range(response)
        rounding = max(ROUNDING * np.abs(response).max(), np.finfo(np.float64).tiny)
        return Scaler(center_=np.asarray(middle), scale_=np.asarray(rounding))
    exponent = np.frexp(np.abs(response).max())[1]
    unit = np.ldexp(response, -exponent)  # an exact division that keeps sums and squares from overflowing
    mean = np.average(unit, weights=row_weights)
    spread = np.sqrt(np.average((unit - mean) ** 2, weights=row_weights))
    return Scaler(center_=np.asarray(np.ldexp(mean, exponent)), scale_=np.asarray(np.ldexp(spread, exponent)))


def is_constant(response: Floats) -> bool:
    """Whether a response has no variation beyond rounding."""
    return bool(np.isinf(_middle_and_half_range(response)[1]))

"""Between the user's units and the model's: inputs in [-1, 1], response with mean 0 and standard deviation 1."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDING = 8 * np.finfo(np.float64).eps
"""A spread below this fraction of the largest value is rounding error, not variation."""

FAR_AWAY = 1e30
"""Scaled values stop here: far enough to clip nothing real, near enough for predictions to stay finite in float32."""


class Scaler(NamedTuple):
    """An affine map: model units = (user's units - center_) / scale_."""

    center_: Floats
    """Value that becomes 0; shape (p,) for inputs, () for a response."""
    scale_: Floats
    """Length that becomes 1, same shape; infinity for a constant column, which becomes 0 whatever comes later."""

    def to_model(self, values: Floats) -> Floats:
        """Map from the user's units into the model's; values outside the training range land outside [-1, 1]."""
        with np.errstate(over="ignore"):  # halves, because the difference of two huge numbers overflows
            scaled = (0.5 * values - 0.5 * self.center_) / (0.5 * self.scale_)
        return np.clip(scaled, -FAR_AWAY, FAR_AWAY)

    def to_user(self, values: Floats) -> Floats:
        """Map from the model's units back into the user's."""
        return self.center_ + self.scale_ * values


def input_scaler(inputs: Floats) -> Scaler:
    """Scale each column from its smallest and largest value to -1 and 1.

    Parameters
    ----------
    inputs : ndarray of shape (n, p)
        Finite values in the user's units.

    Returns
    -------
    Scaler
        With an infinite scale for columns that are constant up to rounding.
    """
    low, high = 0.5 * inputs.min(axis=0), 0.5 * inputs.max(axis=0)
    half_range = high - low
    constant = half_range <= ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return Scaler(center_=low + high, scale_=np.where(constant, np.inf, half_range))


def response_scaler(response: Floats) -> Scaler:
    """Scale a response to mean 0 and standard deviation 1.

    Parameters
    ----------
    response : ndarray of shape (n,)
        Finite values in the user's units.

    Returns
    -------
    Scaler
        With the size of rounding errors as scale for a response that is constant up to them.
    """
    if is_constant(response):
        middle = 0.5 * response.min() + 0.5 * response.max()
        rounding = max(ROUNDING * np.abs(response).max(), np.finfo(np.float64).tiny)
        return Scaler(center_=np.asarray(middle), scale_=np.asarray(rounding))
    exponent = np.frexp(np.abs(response).max())[1]
    unit = np.ldexp(response, -exponent)  # an exact division that keeps sums and squares from overflowing
    mean = unit.mean()
    spread = np.sqrt(np.mean((unit - mean) ** 2))
    return Scaler(center_=np.asarray(np.ldexp(mean, exponent)), scale_=np.asarray(np.ldexp(spread, exponent)))


def is_constant(response: Floats) -> bool:
    """Whether a response has no variation beyond rounding."""
    half_range = 0.5 * response.max() - 0.5 * response.min()
    return bool(half_range <= ROUNDING * np.abs(response).max())

"""Resampling schemes, taken from BlackJAX."""

from collections.abc import Callable

import jax
import numpy as np
from blackjax.smc import resampling as blackjax_resampling
from numpy.typing import NDArray

from hyperplanes.smc.weights import Floats

RESAMPLERS: dict[str, Callable[..., jax.Array]] = {
    "multinomial": blackjax_resampling.multinomial,
    "residual": blackjax_resampling.residual,
    "stratified": blackjax_resampling.stratified,
    "systematic": blackjax_resampling.systematic,
}


def resample(key: jax.Array, log_weights: Floats, scheme: str) -> NDArray[np.int64]:
    """Indices of the particles that survive, as many as there are weights."""
    if scheme not in RESAMPLERS:
        raise ValueError(f"scheme must be one of {sorted(RESAMPLERS)}, got {scheme!r}")
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    return np.asarray(_JITTED[scheme](key, weights, num_samples=len(weights)), dtype=np.int64)


_JITTED = {name: jax.jit(scheme, static_argnames="num_samples") for name, scheme in RESAMPLERS.items()}

"""Resampling schemes, taken from BlackJAX."""

from collections.abc import Callable
from functools import cache, partial

import jax
import numpy as np
from numpy.typing import NDArray

from hyperplanes.programs import QUICK_TO_COMPILE
from hyperplanes.smc.weights import Floats

RESAMPLERS = ("multinomial", "systematic")


def resample(key: jax.Array, log_weights: Floats, scheme: str) -> NDArray[np.int64]:
    """Indices of the particles that survive, as many as there are weights."""
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    return np.asarray(_resample(key, weights, scheme), dtype=np.int64)


@partial(jax.jit, static_argnums=2, compiler_options=QUICK_TO_COMPILE)
def _resample(key: jax.Array, weights: jax.Array, scheme: str) -> jax.Array:
    return resampler(scheme)(key, weights, num_samples=len(weights))


@cache
def resampler(scheme: str) -> Callable[..., jax.Array]:
    """A scheme as a function of key, weights and number of samples."""
    if scheme not in RESAMPLERS:
        raise ValueError(f"scheme must be one of {sorted(RESAMPLERS)}, got {scheme!r}")
    # At the top this import would claim the accelerator of whoever imports the library.
    from blackjax.smc import resampling

    scheme_of_blackjax: Callable[..., jax.Array] = getattr(resampling, scheme)
    return scheme_of_blackjax

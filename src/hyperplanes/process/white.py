"""Hyperplanes that hit a ball as images of Gaussian white noise.

With u ~ N(0, I) in p dimensions and t ~ N(0, 1), the hyperplane with normal u / |u| and offset radius * Phi(t) has the
distribution of the process given one hyperplane. Moves that preserve white noise preserve that distribution.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import erfinv, ndtr
from jax.typing import ArrayLike, DTypeLike

from hyperplanes.process.hyperplanes import Hyperplanes, unit_vectors

HIGHEST_NORMAL = 8.0


def uniforms(key: Array, shape: tuple[int, ...], dtype: DTypeLike = float) -> Array:
    """Uniform numbers that are never 0 or 1.

    A move asks for all its random numbers in one call: generating them is a loop of its own in every compiled program,
    so that calls, not numbers, cost time.
    """
    bits = jax.random.bits(key, shape, dtype=jnp.uint32)
    resolution = 32 if jnp.dtype(dtype).itemsize == 8 else 22
    return ((bits >> (32 - resolution)).astype(dtype) + 0.5) * 2.0**-resolution


def normal_quantiles(probabilities: Array) -> Array:
    """Standard normal numbers from uniform ones."""
    return jnp.sqrt(2.0).astype(probabilities.dtype) * erfinv(2 * probabilities - 1)


def from_white(white: Array, radius: ArrayLike) -> Hyperplanes:
    """Map white noise (..., m, p + 1) to hyperplanes: the direction, then the quantile of the offset."""
    offsets = jnp.asarray(radius, white.dtype) * ndtr(white[..., -1])
    return Hyperplanes(unit_vectors(white[..., :-1]), offsets)


def to_white(hyperplanes: Hyperplanes, radius: ArrayLike, lengths: ArrayLike) -> Array:
    """Inverse of `from_white` for directions of given lengths (..., m); white noise has chi-distributed ones."""
    quantiles = normal_quantiles(hyperplanes.offsets / jnp.asarray(radius, hyperplanes.offsets.dtype))
    bounded = jnp.clip(quantiles, -HIGHEST_NORMAL, HIGHEST_NORMAL)
    return jnp.concatenate([hyperplanes.normals * jnp.asarray(lengths)[..., None], bounded[..., None]], axis=-1)

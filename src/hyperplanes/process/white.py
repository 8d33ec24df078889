"""Hyperplanes that hit a ball or an ellipsoid as images of Gaussian white noise.

With u ~ N(0, I) in p dimensions and t ~ N(0, 1), the hyperplane with normal u / |u| and offset radius * Phi(t) has the
distribution of the process on a ball given one hyperplane. On an ellipsoid the offset is uniform among those that hit
it, and where a hyperplane attends to some columns more than to others, u is stretched along them. Moves that preserve
white noise preserve that distribution.
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


def support(normals: Array, reach: ArrayLike) -> Array:
    """Largest <x, n> over a window: a ball of radius `reach`, or the ellipsoid {R'z, |z| <= 1} of `reach` R (p, p)."""
    size = jnp.asarray(reach, normals.dtype)
    largest: Array = jnp.linalg.norm(size * normals if size.ndim == 0 else normals @ size.T, axis=-1)
    return largest


def from_white(white: Array, reach: ArrayLike, lowest: ArrayLike = 0.0, scales: ArrayLike = 1.0) -> Hyperplanes:
    """Map white noise (..., m, p + 1) to hyperplanes: the direction, then the quantile of the offset.

    Parameters
    ----------
    white : (..., m, p + 1)
        Standard normal numbers.
    reach : float or (p, p)
        Of the window, see `support`.
    lowest : float
        Offsets are uniform between `lowest` and 1 in units of `support`: 0 for hyperplanes that face away from the
        centre of the window, -1 for those that face both ways.
    scales : (..., m, p)
        Factors of the columns of the directions; where they are equal, directions are uniform.
    """
    normals = unit_vectors(white[..., :-1] * jnp.asarray(scales, white.dtype))
    low = jnp.asarray(lowest, white.dtype)
    return Hyperplanes(normals, support(normals, reach) * (low + (1 - low) * ndtr(white[..., -1])))


def to_white(
    hyperplanes: Hyperplanes,
    reach: ArrayLike,
    lengths: ArrayLike,
    lowest: ArrayLike = 0.0,
    scales: ArrayLike = 1.0,
) -> Array:
    """Inverse of `from_white` for directions of given lengths (..., m); white noise has chi-distributed ones."""
    normals, offsets = hyperplanes
    low = jnp.asarray(lowest, offsets.dtype)
    shares = (offsets / support(normals, reach) - low) / (1 - low)
    quantiles = normal_quantiles(jnp.clip(shares, 0, 1))  # rounding may take them beyond
    bounded = jnp.clip(quantiles, -HIGHEST_NORMAL, HIGHEST_NORMAL)
    directions = unit_vectors(normals / jnp.asarray(scales, normals.dtype))
    return jnp.concatenate([directions * jnp.asarray(lengths)[..., None], bounded[..., None]], axis=-1)

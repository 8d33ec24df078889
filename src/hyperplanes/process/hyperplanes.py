"""Sets of hyperplanes {x : <x, n> = mu} and the points that stand for them.

A hyperplane is a pair (mu, n) with n on the unit sphere. The pairs (mu, n) and (-mu, -n) are the same set of inputs, so
that a pair with mu >= 0 stands for each hyperplane; read as polar coordinates, it is the point mu * n, the foot of the
perpendicular from the origin. The paper's map T takes that point to its hyperplane. T is one-to-one but for hyperplanes
through the origin, which the process draws with probability zero.

Inside jit sizes are fixed. A realisation of the process has a random size, for each of which JAX would compile anew:
what asks questions of hyperplanes therefore uses operators only and answers NumPy arrays (see `to_numpy`) in NumPy.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike


class Hyperplanes(NamedTuple):
    """A set of hyperplanes <x, n> = mu; leading axes, if any, are many sets of the same size."""

    normals: Array
    """Unit vectors n, shape (..., m, p). The side that they point to is where relu(<x, n> - mu) is positive."""

    offsets: Array
    """Signed distances mu of the hyperplanes from the origin along their normals, shape (..., m)."""


def from_points(points: ArrayLike) -> Hyperplanes:
    """Map T: the hyperplane through each point, orthogonal to the line from the origin to the point.

    Parameters
    ----------
    points
        Feet mu * n, shape (..., m, p). The origin stands for no single hyperplane; its normal is the first axis.
    """
    points = jnp.asarray(points, dtype=jnp.result_type(points, jnp.float32))
    return Hyperplanes(unit_vectors(points), jnp.linalg.norm(points, axis=-1))


def to_points(hyperplanes: Hyperplanes) -> Array:
    """Inverse of T: the point of each hyperplane nearest to the origin, shape (..., m, p), whichever way it faces."""
    return hyperplanes.offsets[..., None] * hyperplanes.normals


def canonical(hyperplanes: Hyperplanes) -> Hyperplanes:
    """Turn hyperplanes so that their offsets are not negative: (n, mu) and (-n, -mu) are the same set of inputs.

    They are not the same hidden unit: relu(<x, n> - mu) is positive on one side only. A hyperplane through the origin,
    which has probability zero, stays as it is.
    """
    normals, offsets = hyperplanes
    signs = 1 - 2 * (offsets < 0).astype(normals.dtype)
    return Hyperplanes(signs[..., None] * normals, abs(offsets))


def translate(hyperplanes: Hyperplanes, shift: ArrayLike) -> Hyperplanes:
    """Move hyperplanes by the vector `shift` of shape (p,). Offsets may become negative: see `canonical`."""
    normals, offsets = hyperplanes
    return Hyperplanes(normals, offsets + normals @ _like(normals, shift))


def signed_distances(hyperplanes: Hyperplanes, inputs: ArrayLike) -> Array:
    """Signed distance <x, n> - mu of each input (n, p) to each hyperplane, shape (..., n, m)."""
    normals, offsets = hyperplanes
    return _like(normals, inputs) @ normals.mT - offsets[..., None, :]


def sides(hyperplanes: Hyperplanes, inputs: ArrayLike) -> Array:
    """Whether each input (n, p) lies strictly on the side that the normal points to, shape (..., n, m)."""
    return signed_distances(hyperplanes, inputs) > 0


def unit_vectors(vectors: Array) -> Array:
    """Vectors of shape (..., p) divided by their lengths; the zero vector becomes the first axis."""
    lengths = jnp.linalg.norm(vectors, axis=-1, keepdims=True)
    first_axis = jnp.arange(vectors.shape[-1]) == 0
    return jnp.where(lengths > 0, vectors / jnp.where(lengths > 0, lengths, 1), first_axis)


def to_numpy(hyperplanes: Hyperplanes) -> Hyperplanes:
    """Copy hyperplanes to NumPy arrays, for work on sets of many different sizes."""
    copied: Hyperplanes = jax.tree.map(np.asarray, hyperplanes)
    return copied


def _like(array: Array, values: ArrayLike) -> Array:
    """Values as the kind of array, NumPy or JAX, and the float width of `array`."""
    kind = np if isinstance(array, np.ndarray) else jnp
    converted: Array = kind.asarray(values, dtype=array.dtype)
    return converted


def select(hyperplanes: Hyperplanes, chosen: ArrayLike) -> Hyperplanes:
    """Pick hyperplanes of one set (m, p) by a mask or by indices."""
    if hyperplanes.normals.ndim != 2:
        raise ValueError(f"normals must have shape (m, p) to pick from one set, got {hyperplanes.normals.shape}")
    normals, offsets = to_numpy(hyperplanes)
    index = np.asarray(chosen)
    return Hyperplanes(jnp.asarray(normals[index]), jnp.asarray(offsets[index]))

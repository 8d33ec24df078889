"""Cells of the parameter domain: disjoint sets of points (mu, n), for Proposition 3.

Proposition 3 asks for disjoint sets of *points* (mu, n). Disjoint cells of input space will not do: a hyperplane is an
unbounded set of inputs and can hit many cells, so its one point (mu, n) would belong to several of them. The numbers of
hyperplanes that hit two cells are positively correlated: their covariance is the intensity times the measure of the
hyperplanes that hit both. Only on the line, p = 1, do disjoint intervals of inputs share no hyperplane. The cells here
are shells of mu and sectors of n, in the canonical form mu >= 0, and every hyperplane lies in exactly one of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from hyperplanes.process.hyperplanes import Hyperplanes, canonical


class Cell(Protocol):
    """A set of points (mu, n) whose offsets form an interval [low, high) for each normal."""

    def contains(self, normals: Array, offsets: Array) -> Array:
        """Which points (mu, n), offsets (...) and normals (..., p), lie in the cell."""
        ...

    def clip(self, normals: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Cut the interval of offsets [low, high) of each normal (..., p) to the cell; low >= high means empty."""
        ...


@dataclass(frozen=True)
class Shell:
    """Hyperplanes whose distance from the origin lies in [low, high)."""

    low: float
    """Smallest distance."""

    high: float
    """Largest distance, itself outside the shell; may be infinite."""

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high:
            raise ValueError(f"low and high must satisfy 0 <= low < high, got {self.low} and {self.high}")

    def contains(self, normals: Array, offsets: Array) -> Array:
        """Compare the offsets with the edges."""
        return (self.low <= offsets) & (offsets < self.high)

    def clip(self, normals: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Cut the interval to [low, high) of the shell."""
        return jnp.maximum(low, self.low), jnp.minimum(high, self.high)


@dataclass(frozen=True, eq=False)
class Sector:
    """Hyperplanes whose normal is nearer to one direction than to all others."""

    directions: NDArray[np.float64]
    """Unit vectors of all sectors of the partition, shape (k, p)."""

    number: int
    """Row of the direction of this sector."""

    def __post_init__(self) -> None:
        if not 0 <= self.number < len(self.directions):
            raise ValueError(f"number must be from 0 to {len(self.directions) - 1}, got {self.number}")

    def contains(self, normals: Array, offsets: Array) -> Array:
        """Compare the scalar products with all directions."""
        return (normals @ self.directions.T.astype(normals.dtype)).argmax(axis=-1) == self.number

    def clip(self, normals: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Keep the interval if the normal lies in the sector, else empty it."""
        return low, jnp.where(self.contains(normals, low), high, low)


def shells(edges: Sequence[float]) -> tuple[Shell, ...]:
    """Partition by distance: [0, edges[0]), [edges[0], edges[1]), ..., [edges[-1], infinity)."""
    bounds = [0.0, *(float(edge) for edge in edges), math.inf]
    if any(not low < high for low, high in pairwise(bounds)):
        raise ValueError(f"edges must be positive, finite and increasing, got {list(edges)}")
    return tuple(Shell(low, high) for low, high in pairwise(bounds))


def sectors(directions: ArrayLike) -> tuple[Sector, ...]:
    """Partition by normal: each belongs to the nearest of the directions, shape (k, p), of any positive length."""
    vectors = np.array(directions, dtype=np.float64)
    if vectors.ndim != 2 or vectors.size == 0:
        raise ValueError(f"directions must have shape (k, p) and at least one entry, got shape {vectors.shape}")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ValueError(f"directions must be finite and not zero, got lengths {lengths[:, 0].tolist()}")
    unit = vectors / lengths
    return tuple(Sector(unit, number) for number in range(len(unit)))


def lies_in(hyperplanes: Hyperplanes, cells: Sequence[Cell]) -> Array:
    """Which hyperplanes lie in all of the cells, shape (..., m), whichever way they face."""
    normals, offsets = canonical(hyperplanes)
    inside = offsets >= 0
    for cell in cells:
        inside = inside & cell.contains(normals, offsets)
    return inside

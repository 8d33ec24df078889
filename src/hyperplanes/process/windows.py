"""Windows: compact convex sets of inputs. A hyperplane process is restricted to the hyperplanes that hit its window.

All that a window has to know is its support function h(n) = max <x, n> over the inputs x in it. The hyperplane (n, mu)
hits the window exactly if -h(-n) <= mu <= h(n). A window may lie anywhere; it need not contain the origin.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import ConvexHull as QuickHull
from scipy.spatial import QhullError

from hyperplanes.process.hyperplanes import Hyperplanes

Vector = NDArray[np.float64]

LARGEST_HULL_DIMENSION = 4
"""The number of facets, and with it the time to find the extreme points, explodes in higher dimensions."""

SUPPORT_BLOCK = 2**24
"""Scalar products that the support of a hull holds in memory at a time."""


class Window(Protocol):
    """A compact convex set of inputs."""

    @property
    def dimension(self) -> int:
        """Number of inputs p."""
        ...

    @property
    def radius(self) -> float:
        """Radius of the smallest ball around the origin that holds the window."""
        ...

    def support(self, normals: Array) -> Array:
        """Largest <x, n> over the window for unit normals n of shape (..., p)."""
        ...


@dataclass(frozen=True)
class Ball:
    """The ball around the origin. The paper's domain is the ball of radius sqrt(p), which holds [-1, 1]^p."""

    radius: float
    """Radius l: the process on the ball has its offsets in (0, l)."""

    dimension: int
    """Number of inputs p."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.radius) and self.radius > 0):
            raise ValueError(f"radius must be positive and finite, got {self.radius}")
        if self.dimension < 1:
            raise ValueError(f"dimension must be at least 1, got {self.dimension}")

    def support(self, normals: Array) -> Array:
        """Return the radius, whatever the normal."""
        return 0 * normals[..., 0] + float(self.radius)


@dataclass(frozen=True, eq=False)
class Box:
    """The box of inputs with low <= x <= high in every column. Sides of length zero are allowed."""

    low: Vector
    """Smallest input in each column, shape (p,); anything array-like is converted."""

    high: Vector
    """Largest input in each column, shape (p,); anything array-like is converted."""

    def __post_init__(self) -> None:
        low, high = _finite("low", self.low, n_axes=1), _finite("high", self.high, n_axes=1)
        if low.shape != high.shape:
            raise ValueError(f"low and high must have the same length, got {low.size} and {high.size}")
        if (low > high).any():
            column = int(np.argmax(low > high))
            raise ValueError(f"low must be at most high, got {low[column]} > {high[column]} in column {column}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def dimension(self) -> int:
        """Number of inputs p."""
        return self.low.size

    @property
    def radius(self) -> float:
        """Distance of the farthest corner from the origin."""
        return float(np.linalg.norm(np.maximum(np.abs(self.low), np.abs(self.high))))

    def support(self, normals: Array) -> Array:
        """Scalar product with the centre plus the absolute normal times half the sides."""
        centre = ((self.high + self.low) / 2).astype(normals.dtype)
        half_sides = ((self.high - self.low) / 2).astype(normals.dtype)
        return normals @ centre + abs(normals) @ half_sides


@dataclass(frozen=True, eq=False)
class ConvexHull:
    """The convex hull of data: a hyperplane hits it exactly if the data do not all lie strictly on one side of it."""

    points: Vector
    """Data rows, shape (n, p); anything array-like is converted. Only the extreme points are kept if their flat has at
    most `LARGEST_HULL_DIMENSION` dimensions, otherwise all distinct ones."""

    def __post_init__(self) -> None:
        points = np.unique(_finite("points", self.points, n_axes=2), axis=0)
        object.__setattr__(self, "points", _frozen(points[_extreme(coordinates_in_flat(points))]))

    @property
    def dimension(self) -> int:
        """Number of inputs p."""
        return int(self.points.shape[1])

    @property
    def radius(self) -> float:
        """Distance of the farthest point from the origin."""
        return float(np.linalg.norm(self.points, axis=1).max())

    def support(self, normals: Array) -> Array:
        """Largest scalar product with a point, in blocks that fit the memory."""
        points = self.points.astype(normals.dtype)
        block = max(1, SUPPORT_BLOCK // len(points))
        if math.prod(normals.shape[:-1]) <= block:
            return (normals @ points.T).max(axis=-1)
        flat: Array = jax.lax.map(
            lambda n: (points @ n).max(), jnp.reshape(normals, (-1, self.dimension)), batch_size=block
        )
        return flat.reshape(normals.shape[:-1])


def hits(hyperplanes: Hyperplanes, window: Window) -> Array:
    """Which hyperplanes hit the window, shape (..., m)."""
    normals, offsets = hyperplanes
    if normals.shape[-1] != window.dimension:
        raise ValueError(f"normals must have the {window.dimension} columns of the window, got {normals.shape[-1]}")
    return (-window.support(-normals) <= offsets) & (offsets <= window.support(normals))


def n_hits(hyperplanes: Hyperplanes, window: Window) -> Array:
    """Count the hyperplanes of each set that hit the window, shape (...)."""
    return hits(hyperplanes, window).sum(axis=-1)


def coordinates_in_flat(points: Vector) -> Vector:
    """Coordinates (n, d) of points (n, p) in the smallest flat that holds them; d = 0 if all points are the same."""
    centred = points - points.mean(axis=0)
    left, lengths, _ = np.linalg.svd(centred, full_matrices=False)
    resolution = np.finfo(np.float64).eps * max(points.shape)
    spanned = lengths > resolution * max(float(lengths.max()), float(np.abs(points).max()))
    return np.asarray((left * lengths)[:, spanned])


def _extreme(coordinates: Vector) -> NDArray[np.intp]:
    """Rows of the extreme points of coordinates (n, d) that span d dimensions, or of all points if d is too large."""
    n_points, dimension = coordinates.shape
    if dimension == 0:
        return np.array([0])
    if dimension == 1:
        return np.array([coordinates.argmin(), coordinates.argmax()])
    if dimension <= LARGEST_HULL_DIMENSION:
        try:
            return np.asarray(QuickHull(coordinates).vertices, dtype=np.intp)
        except QhullError:  # nearly flat data: the hull of all points is the same set
            pass
    return np.arange(n_points)


def _finite(name: str, values: ArrayLike, n_axes: int) -> Vector:
    array = np.array(values, dtype=np.float64)
    if array.ndim != n_axes or array.size == 0:
        shape = "(p,)" if n_axes == 1 else "(n, p)"
        raise ValueError(f"{name} must have shape {shape} and at least one entry, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}")
    return _frozen(array)


def _frozen(array: Vector) -> Vector:
    array.flags.writeable = False
    return array

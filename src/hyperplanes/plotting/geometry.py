"""The part of the plane that a picture shows, and the straight lines through it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Rectangle(NamedTuple):
    """The part of the plane that is drawn."""

    low: Floats
    """Its lower left corner, (2,)."""
    high: Floats
    """Its upper right corner, (2,)."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing between the corners."""
        return bool(np.any(self.low >= self.high))

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom, top: matplotlib's order."""
        return (float(self.low[0]), float(self.high[0]), float(self.low[1]), float(self.high[1]))


class Slice(NamedTuple):
    """A straight cut through the rectangle along one column."""

    column: int
    """The column that varies."""
    at: float
    """The value of the other column."""

    def points(self, rectangle: Rectangle, n_points: int) -> Floats:
        """Return evenly spaced points of the cut, (n_points, 2)."""
        points = np.full((n_points, 2), self.at)
        points[:, self.column] = np.linspace(rectangle.low[self.column], rectangle.high[self.column], n_points)
        return points


def clip_lines(normals: ArrayLike, offsets: ArrayLike, rectangle: Rectangle) -> Floats:
    """Cut the lines <x, n> = mu to a rectangle.

    Parameters
    ----------
    normals : array-like, (n_lines, 2)
        Of any length; those of length 0 are no lines and are left out.
    offsets : array-like, (n_lines,)
    rectangle : Rectangle

    Returns
    -------
    array, (n_inside, 2, 2)
        Both ends of each line that crosses the rectangle, in the order given; lines that miss it are left out.
    """
    unit, distance = _unit_lines(np.asarray(normals, dtype=np.float64), np.asarray(offsets, dtype=np.float64))
    direction = np.column_stack([-unit[:, 1], unit[:, 0]])
    foot = unit * distance[:, None]
    # Liang-Barsky: the line is inside column k between two values of its parameter; keep what both columns allow.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        first, second = (rectangle.low - foot) / direction, (rectangle.high - foot) / direction
    parallel = direction == 0.0
    inside = (rectangle.low <= foot) & (foot <= rectangle.high)
    start = np.where(parallel, np.where(inside, -np.inf, np.inf), np.minimum(first, second)).max(axis=1)
    stop = np.where(parallel, np.inf, np.maximum(first, second)).min(axis=1)
    crosses = start < stop
    ends = np.stack([start, stop], axis=1)[crosses]
    segments: Floats = foot[crosses][:, None, :] + ends[:, :, None] * direction[crosses][:, None, :]
    return segments


def _unit_lines(normals: Floats, offsets: Floats) -> tuple[Floats, Floats]:
    length = np.linalg.norm(normals, axis=1)
    lines = (length > 0.0) & np.isfinite(length) & np.isfinite(offsets)
    return normals[lines] / length[lines, None], offsets[lines] / length[lines]


def cell_centres(rectangle: Rectangle, n_grid: int) -> Floats:
    """Return the centres of an n_grid x n_grid grid of cells, the first column varying fastest."""
    share = (np.arange(n_grid) + 0.5) / n_grid
    first, second = (low + share * (high - low) for low, high in zip(rectangle.low, rectangle.high, strict=True))
    return np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)

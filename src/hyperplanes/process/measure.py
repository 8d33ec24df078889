"""The invariant measure of hyperplanes, Eq. (lambdaM): normals uniform on the sphere, offsets Lebesgue on mu >= 0.

The measure of the hyperplanes that hit a convex window is E_n[h(n)], half the window's mean width, wherever the window
lies: for a normal n the offsets mu >= 0 that hit it form an interval of length max(h(n), 0) - max(-h(-n), 0), and the
mean of that over n and -n is the mean of h. Translating a window adds <shift, n> to h(n), which is zero on average.
"""

import math
from collections.abc import Iterator, Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray
from scipy.spatial import ConvexHull as QuickHull
from scipy.special import gammaln, ndtri
from scipy.stats import qmc

from hyperplanes.process.cells import Cell
from hyperplanes.process.windows import Ball, Box, ConvexHull, Window, coordinates_in_flat

BATCH = 2**12
"""Quasi-random normals of one batch; each counts twice, as n and as -n."""

N_BATCHES = (8, 64)
"""Fewest and most batches of a numerical measure."""


def mean_absolute_component(dimension: int) -> float:
    """E|n_1| for n uniform on the sphere of R^p: Gamma(p/2) / (sqrt(pi) Gamma((p+1)/2))."""
    return math.exp(gammaln(dimension / 2) - gammaln((dimension + 1) / 2)) / math.sqrt(math.pi)


def measure(window: Window, cells: Sequence[Cell] = (), tolerance: float = 1e-4) -> float:
    """Measure of the hyperplanes that hit the window and lie in all of the cells.

    Parameters
    ----------
    window
        Exact for `Ball`, for `Box`, and for `ConvexHull` if its points lie on a point, a line or a plane.
    cells
        Cells of the parameter domain; with any, the measure is numerical.
    tolerance
        Relative standard error at which the numerical measure, by randomised quasi-Monte Carlo with fixed seeds, stops;
        it stops at the latest after 2^18 pairs of normals.
    """
    if not tolerance > 0:
        raise ValueError(f"tolerance must be positive, got {tolerance}")
    exact = None if cells else _exact(window)
    return _numerical(window, cells, tolerance) if exact is None else exact


def _exact(window: Window) -> float | None:
    if isinstance(window, Ball):
        return float(window.radius)
    if isinstance(window, Box):
        return mean_absolute_component(window.dimension) * float((window.high - window.low).sum()) / 2
    if isinstance(window, ConvexHull):
        return _exact_hull(window)
    return None


def _exact_hull(window: ConvexHull) -> float | None:
    """Half the mean width of a hull in its own flat, times the mean shrinking of a normal that is projected onto it."""
    coordinates = coordinates_in_flat(window.points)
    flat_dimension = coordinates.shape[1]
    if flat_dimension == 0:
        return 0.0
    shrinking = mean_absolute_component(window.dimension) / mean_absolute_component(flat_dimension)
    if flat_dimension == 1:
        return shrinking * float(np.ptp(coordinates)) / 2
    if flat_dimension == 2:  # Cauchy: the mean width is the perimeter over pi; QuickHull's area is the perimeter here
        return shrinking * float(QuickHull(coordinates).area) / (2 * math.pi)
    return None


def _numerical(window: Window, cells: Sequence[Cell], tolerance: float) -> float:
    means: list[float] = []
    for normals in _normal_batches(window.dimension):
        lengths = _lengths(window, cells, jnp.asarray(np.concatenate([normals, -normals])))
        means.append(float(np.asarray(lengths, dtype=np.float64).mean()))
        error = np.std(means) / math.sqrt(max(len(means) - 1, 1))
        if len(means) >= N_BATCHES[0] and error <= tolerance * np.mean(means):
            break
    return float(np.mean(means))


def _lengths(window: Window, cells: Sequence[Cell], normals: Array) -> Array:
    """Length of the interval of offsets mu >= 0 that hit the window and lie in the cells, for each normal."""
    low, high = jnp.maximum(-window.support(-normals), 0), jnp.maximum(window.support(normals), 0)
    for cell in cells:
        low, high = cell.clip(normals, low, high)
    return jnp.maximum(high - low, 0)


def _normal_batches(dimension: int) -> Iterator[NDArray[np.float64]]:
    """Sobol points in the unit cube, shifted at random for each batch, then mapped to the sphere."""
    cube = qmc.Sobol(dimension, scramble=False).random(BATCH)
    for seed in range(N_BATCHES[1]):
        shifted = (cube + np.random.default_rng(seed).random(dimension)) % 1
        gaussian = ndtri(np.clip(shifted, 1e-12, 1 - 1e-12))
        yield gaussian / np.linalg.norm(gaussian, axis=1, keepdims=True)

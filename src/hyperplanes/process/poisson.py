"""The Poisson hyperplane process: a Poisson number of hyperplanes, drawn from the invariant measure on a window."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike, DTypeLike

from hyperplanes.process.cells import Cell, lies_in
from hyperplanes.process.hyperplanes import Hyperplanes, select, to_numpy, unit_vectors
from hyperplanes.process.measure import measure
from hyperplanes.process.windows import Window, hits

BLOCK = 2**12
"""Hyperplanes that a process of random size draws at a time."""


class Realisations(NamedTuple):
    """Independent realisations of a process, one after the other."""

    hyperplanes: Hyperplanes
    """All hyperplanes of all realisations in one set."""

    owners: Array
    """Number of the realisation that each hyperplane belongs to, ascending, shape (m,)."""

    n_realisations: int
    """Number of realisations, the empty ones included."""

    def counts(self, chosen: ArrayLike | None = None) -> Array:
        """Count the hyperplanes of each realisation, shape (n_realisations,); those chosen by a mask (m,) if given."""
        owners = np.asarray(self.owners)
        kept = owners if chosen is None else owners[np.asarray(chosen, dtype=bool)]
        return jnp.asarray(np.bincount(kept, minlength=self.n_realisations))


def draw_in_ball(
    key: Array, n_hyperplanes: int, dimension: int, radius: ArrayLike, dtype: DTypeLike = float
) -> Hyperplanes:
    """Draw a fixed number of hyperplanes that hit the ball around the origin; for use inside jit and vmap.

    Given its number of points, a Poisson process is that many independent draws from its normalised intensity: normals
    uniform on the sphere, offsets Uniform(0, radius).
    """
    key_normals, key_offsets = jax.random.split(key)
    normals = unit_vectors(jax.random.normal(key_normals, (n_hyperplanes, dimension), dtype))
    offsets = jax.random.uniform(key_offsets, (n_hyperplanes,), dtype) * jnp.asarray(radius, normals.dtype)
    return Hyperplanes(normals, offsets)


@dataclass(frozen=True, eq=False)
class HyperplaneProcess:
    """Poisson process of the hyperplanes that hit a window, homogeneous, isotropic and translation invariant."""

    window: Window
    """Convex set of inputs that the hyperplanes hit."""

    intensity: float
    """Mean number of hyperplanes for each unit of `measure`; on a ball, for each unit of its radius."""

    cells: tuple[Cell, ...] = ()
    """Cells of the parameter domain that the process is restricted to as well; none for the whole process."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.intensity) and self.intensity > 0):
            raise ValueError(f"intensity must be positive and finite, got {self.intensity}")

    @cached_property
    def mean_count(self) -> float:
        """Expected number of hyperplanes: intensity times measure."""
        return self.intensity * measure(self.window, self.cells)

    def contains(self, hyperplanes: Hyperplanes) -> Array:
        """Which hyperplanes the process could have drawn, shape (..., m)."""
        inside = hits(hyperplanes, self.window)
        return inside & lies_in(hyperplanes, self.cells) if self.cells else inside

    def sample(self, key: Array, dtype: DTypeLike = float) -> Hyperplanes:
        """Draw one realisation; its number of hyperplanes is random, so that this cannot be traced by jit."""
        return self.sample_many(key, 1, dtype).hyperplanes

    def sample_many(self, key: Array, n_realisations: int, dtype: DTypeLike = float) -> Realisations:
        """Draw independent realisations: of the ball around the origin that holds the window, then restricted.

        The restriction is exact by Proposition 2. It discards few hyperplanes unless the window is far from the origin
        compared with its size; `translate` then brings realisations of a centred window to the place.
        """
        if n_realisations < 1:
            raise ValueError(f"n_realisations must be at least 1, got {n_realisations}")
        key_counts, key_hyperplanes = jax.random.split(key)
        mean_in_ball = self.intensity * self.window.radius
        counts = np.asarray(jax.random.poisson(key_counts, mean_in_ball, (n_realisations,)))
        in_ball = _draw_in_blocks(key_hyperplanes, int(counts.sum()), self.window, dtype)
        kept = np.asarray(self.contains(in_ball))
        owners = np.repeat(np.arange(n_realisations), counts)[kept]
        return Realisations(select(in_ball, kept), jnp.asarray(owners), n_realisations)


def _draw_in_blocks(key: Array, n_hyperplanes: int, window: Window, dtype: DTypeLike) -> Hyperplanes:
    """Draw in the bounding ball as NumPy arrays, in blocks of one size, so that one program serves all numbers."""
    blocks = [
        to_numpy(_draw_block(jax.random.fold_in(key, block), BLOCK, window.dimension, window.radius, dtype=dtype))
        for block in range(max(1, -(-n_hyperplanes // BLOCK)))
    ]
    drawn: Hyperplanes = jax.tree.map(lambda *fields: np.concatenate(fields)[:n_hyperplanes], *blocks)
    return drawn


_draw_block = jax.jit(draw_in_ball, static_argnames=("n_hyperplanes", "dimension", "dtype"))

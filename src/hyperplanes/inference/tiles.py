"""Run a function of one particle over all particles: vectorised in tiles, tiles shared out between threads.

A tile is small enough for its features to stay in a core's cache on a CPU, and as large as the memory budget allows on
an accelerator. Its size depends on the shape of the problem alone and every particle has a key of its own, so that the
number of threads and the memory budget do not change the result on a CPU.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from hyperplanes.model import Data

CACHE_BYTES = 2**21
LARGEST_TILE = 32
COMPILER_OPTIONS = {"xla_backend_optimization_level": 1}
"""Compiles in two thirds of the time; the work is in matrix products, which run as fast."""


def tile_size(data: Data, n_hyperplanes: int, n_particles: int, memory_budget: int) -> int:
    """Particles in a tile."""
    row_bytes = (n_hyperplanes + 2) * data.inputs.dtype.itemsize
    if jax.default_backend() == "cpu":
        fits = CACHE_BYTES // (row_bytes * data.inputs.shape[-1])
        return min(max(1, fits), LARGEST_TILE, n_particles)
    return min(max(1, memory_budget // (4 * row_bytes * data.response.size)), n_particles)


def map_particles(
    function: Callable[..., Any], per_particle: tuple[Any, ...], shared: tuple[Any, ...], *, tile: int, n_threads: int
) -> Any:
    """Apply `function(*per_particle, *shared)` to every particle.

    Parameters
    ----------
    function : callable
        A function of one particle that JAX can trace; it is compiled once for each function and shape.
    per_particle : tuple of pytrees
        Leaves have a leading axis of length n_particles.
    shared : tuple of pytrees
        The same for every particle.
    tile, n_threads : int
        Particles in a tile; threads over which the tiles are dealt out.
    """
    n_particles = len(jax.tree.leaves(per_particle)[0])
    tiles = _deal_out(per_particle, tile)

    def run(one_tile: Any) -> Any:
        with jax.enable_x64(True):  # a thread starts with JAX's defaults
            return jax.tree.map(lambda leaf: leaf.block_until_ready(), _run_tile(function, one_tile, shared))

    if n_threads == 1:
        return _collect([run(one_tile) for one_tile in tiles], n_particles)
    with ThreadPoolExecutor(n_threads) as threads:
        return _collect(list(threads.map(run, tiles)), n_particles)


@partial(jax.jit, static_argnums=0, compiler_options=COMPILER_OPTIONS)
def _run_tile(function: Callable[..., Any], one_tile: tuple[Any, ...], shared: tuple[Any, ...]) -> Any:
    return jax.vmap(lambda one: function(*one, *shared))(one_tile)


@partial(jax.jit, static_argnums=1)
def _deal_out(per_particle: Any, tile: int) -> list[Any]:
    """Tiles of equal size; the last particle is repeated to fill the last one up."""
    n_particles = len(jax.tree.leaves(per_particle)[0])
    n_tiles = -(-n_particles // tile)
    indices = jnp.minimum(jnp.arange(n_tiles * tile), n_particles - 1).reshape(n_tiles, tile)
    tiled = jax.tree.map(lambda leaf: leaf[indices], per_particle)
    return [jax.tree.map(lambda leaf, at=at: leaf[at], tiled) for at in range(n_tiles)]


@partial(jax.jit, static_argnums=1)
def _collect(tiles: list[Any], n_particles: int) -> Any:
    """Undo `_deal_out`."""
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves)[:n_particles], *tiles)

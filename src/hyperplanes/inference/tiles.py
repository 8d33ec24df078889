"""Run a function of one particle over all particles: vectorised in tiles, tiles in a loop, loops in threads.

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
    n_parts = min(n_threads, -(-n_particles // tile))
    parts = _deal_out(per_particle, tile, n_parts)

    def run(part: Any) -> Any:
        with jax.enable_x64(True):  # a thread starts with JAX's defaults
            results = _run_tiles(function, part, shared)
            return jax.tree.map(lambda leaf: leaf.block_until_ready(), results)

    if n_parts == 1:
        return _collect([run(parts[0])], n_particles)
    with ThreadPoolExecutor(n_parts) as threads:
        return _collect(list(threads.map(run, parts)), n_particles)


@partial(jax.jit, static_argnums=0, compiler_options=COMPILER_OPTIONS)
def _run_tiles(function: Callable[..., Any], per_particle: Any, shared: Any) -> Any:
    return jax.lax.map(jax.vmap(lambda one: function(*one, *shared)), per_particle)


@partial(jax.jit, static_argnums=(1, 2))
def _deal_out(per_particle: Any, tile: int, n_parts: int) -> list[Any]:
    """Equal parts of whole tiles, leaves (tiles, tile, ...); the last particle is repeated to fill them up."""
    n_particles = len(jax.tree.leaves(per_particle)[0])
    n_tiles = -(-n_particles // (tile * n_parts))
    indices = jnp.minimum(jnp.arange(n_parts * n_tiles * tile), n_particles - 1).reshape(n_parts, n_tiles, tile)
    return [jax.tree.map(lambda leaf, part=part: leaf[part], per_particle) for part in indices]


@partial(jax.jit, static_argnums=1)
def _collect(parts: list[Any], n_particles: int) -> Any:
    """Undo `_deal_out`."""
    return jax.tree.map(
        lambda *leaves: jnp.concatenate([leaf.reshape(-1, *leaf.shape[2:]) for leaf in leaves])[:n_particles], *parts
    )

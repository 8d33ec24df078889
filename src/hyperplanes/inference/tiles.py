"""Run a function of one particle over all particles: vectorised in tiles, batches of a few tiles shared out.

On a CPU a tile is small enough for its features to stay in the cache where they can, on an accelerator as large as the
memory budget allows. Every particle has a key of its own, so that the number of threads does not change the result,
nor, on a CPU, the memory budget, which only holds threads back.
"""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hyperplanes.inference.devices import computing_on, find_devices
from hyperplanes.inference.settings import Settings
from hyperplanes.model import Data
from hyperplanes.model.hardware import on_cpu
from hyperplanes.programs import COMPILER_OPTIONS, QUICK_TO_COMPILE

CACHE_BYTES = 2**21
LARGEST_TILE_BYTES = 2**26
SMALLEST_TILE = 4
"""Loops over units cost the same for one particle as for several; fewer only where features are very large."""
LARGEST_TILE = 32
FEWEST_BATCHES = 8
"""Batches that the tiles are dealt out in where there are as many, whatever the number of threads."""
MOST_TILES = 8
"""Tiles in a batch: a call costs a fifth of a millisecond, and time in one call grows faster than its tiles."""


def tile_size(data: Data, n_hyperplanes: int, n_particles: int, memory_budget: int, n_devices: int = 1) -> int:
    """Particles in a tile. On a CPU it depends on the shape of the problem alone, so that the result does too.

    Of the sizes that suit the cache it is one that shares the particles out evenly among two or four threads. An
    accelerator has as many as its memory budget allows, but no more than its share.
    """
    features = feature_bytes(data, n_hyperplanes)
    if not on_cpu():
        return min(max(1, memory_budget // (4 * features)), -(-n_particles // n_devices))
    smallest = SMALLEST_TILE if features * SMALLEST_TILE <= LARGEST_TILE_BYTES else 1
    largest = min(max(smallest, CACHE_BYTES // features), LARGEST_TILE, n_particles)
    return min(range(largest, largest // 2, -1), key=lambda tile: tile * 4 * -(-n_particles // (4 * tile)))


def affordable_threads(data: Data, n_hyperplanes: int, tile: int, n_threads: int, memory_budget: int) -> int:
    """Threads that hold no more than the budget at once: as many as asked for, at least one."""
    a_thread = 2 * tile * feature_bytes(data, n_hyperplanes)
    return max(1, min(n_threads, memory_budget // a_thread))


def feature_bytes(data: Data, n_hyperplanes: int) -> int:
    """Bytes of the features of one particle on all rows."""
    return (n_hyperplanes + 2) * data.inputs.dtype.itemsize * data.response.size


def map_with_features(
    function: Callable[..., Any],
    per_particle: tuple[Any, ...],
    shared: tuple[Any, ...],
    *,
    n_places: int,
    data: Data,
    settings: Settings,
) -> Any:
    """`map_particles` for functions that need the features: in tiles that suit their size, within the memory budget."""
    n_particles = len(jax.tree.leaves(per_particle)[0])
    devices = find_devices(settings.device)
    tile = tile_size(data, n_places, n_particles, settings.memory_budget, len(devices))
    n_threads = len(devices)
    if on_cpu():
        n_threads = affordable_threads(data, n_places, tile, settings.n_threads, settings.memory_budget)
    return map_particles(function, per_particle, shared, tile=tile, n_threads=n_threads, devices=devices)


def compile_ahead(
    function: Callable[..., Any],
    per_particle: tuple[Any, ...],
    shared: tuple[Any, ...],
    *,
    n_places: int,
    data: Data,
    settings: Settings,
) -> None:
    """Start to compile what `map_with_features` will run, in a thread of its own, and return at once.

    XLA compiles without Python's lock, so that other programs are traced, compiled and run meanwhile. Arguments are
    those of `map_with_features`; of arrays of each particle the shapes suffice. Accelerators that share the work have a
    program each, which is left to when they need it.
    """
    devices = find_devices(settings.device)
    if len(devices) > 1:
        return
    tile = tile_size(data, n_places, len(jax.tree.leaves(per_particle)[0]), settings.memory_budget)
    dealt = jax.eval_shape(_deal_out, per_particle, tile)

    def compile_program() -> None:
        with computing_on(devices[0]):
            _run_batch.lower(function, 0, dealt, shared).compile()

    program = _name_program(function, dealt, shared)
    if program not in _being_compiled:
        thread = ThreadPoolExecutor(1)
        _being_compiled[program] = thread.submit(compile_program)
        thread.shutdown(wait=False)


_being_compiled: dict[Hashable, Future[None]] = {}
"""Who needs a program that is being compiled waits for it instead of compiling it again."""


def _name_program(function: Callable[..., Any], dealt: Any, shared: Any) -> Hashable:
    """What programs differ by."""
    return function, tuple(
        (np.shape(leaf), str(getattr(leaf, "dtype", ""))) for leaf in jax.tree.leaves((dealt, shared))
    )


def map_particles(
    function: Callable[..., Any],
    per_particle: tuple[Any, ...],
    shared: tuple[Any, ...],
    *,
    tile: int,
    n_threads: int,
    devices: Sequence[jax.Device],
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
        Particles in a tile; threads over which the tiles are dealt out, one for each accelerator.
    devices : sequence of jax.Device
        Over which the tiles are dealt out. The result is on the first of them.
    """
    n_particles = len(jax.tree.leaves(per_particle)[0])
    dealt = _deal_out(per_particle, tile)
    arguments = [(dealt, shared)] if len(devices) == 1 else [jax.device_put((dealt, shared), on) for on in devices]

    program = _name_program(function, dealt, shared)
    if (compilation := _being_compiled.get(program)) is not None:
        wait([compilation])  # where it failed, the call below says why
        _being_compiled.pop(program, None)

    def run(batch: int) -> Any:
        number = batch % len(devices)
        with computing_on(devices[number]):
            done = _run_batch(function, batch, *arguments[number])
            return jax.tree.map(lambda leaf: leaf.block_until_ready(), done)

    batches = range(len(jax.tree.leaves(dealt)[0]))
    if n_threads == 1:
        done = [run(batch) for batch in batches]
    else:
        with ThreadPoolExecutor(n_threads) as threads:
            done = list(threads.map(run, batches))
    return _collect(done if len(devices) == 1 else jax.device_put(done, devices[0]), n_particles)


@partial(jax.jit, static_argnums=0, compiler_options=COMPILER_OPTIONS)
def _run_batch(function: Callable[..., Any], batch: int, dealt: tuple[Any, ...], shared: tuple[Any, ...]) -> Any:
    return jax.lax.map(jax.vmap(lambda one: function(*one, *shared)), jax.tree.map(lambda leaf: leaf[batch], dealt))


@partial(jax.jit, static_argnums=1, compiler_options=QUICK_TO_COMPILE)
def _deal_out(per_particle: Any, tile: int) -> Any:
    """Leaves (batches, tiles, tile, ...) from (n_particles, ...); the last particle is repeated to fill them up."""
    n_particles = len(jax.tree.leaves(per_particle)[0])
    n_tiles = -(-n_particles // tile)
    a_batch = min(-(-n_tiles // FEWEST_BATCHES), MOST_TILES)
    n_batches = -(-n_tiles // a_batch)
    missing = n_batches * a_batch * tile - n_particles

    def deal(leaf: jax.Array) -> jax.Array:
        filled = jnp.concatenate([leaf, jnp.repeat(leaf[-1:], missing, axis=0)])
        return filled.reshape(n_batches, a_batch, tile, *leaf.shape[1:])

    return jax.tree.map(deal, per_particle)


@partial(jax.jit, static_argnums=1, compiler_options=QUICK_TO_COMPILE)
def _collect(batches: list[Any], n_particles: int) -> Any:
    """Undo `_deal_out`."""

    def join(*leaves: jax.Array) -> jax.Array:
        return jnp.concatenate([leaf.reshape(-1, *leaf.shape[2:]) for leaf in leaves])[:n_particles]

    return jax.tree.map(join, *batches)

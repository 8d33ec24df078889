import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hyperplanes.inference.settings import Settings
from hyperplanes.inference.tiles import (
    CACHE_BYTES,
    LARGEST_TILE,
    LARGEST_TILE_BYTES,
    SMALLEST_TILE,
    affordable_threads,
    compile_ahead,
    map_particles,
    map_with_features,
    tile_size,
)
from hyperplanes.model import Data


def scale_and_shift(one: tuple[jax.Array, jax.Array], factor: jax.Array, shift: jax.Array):
    vector, number = one
    return {"vector": factor * vector + number, "number": number - shift}


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
@pytest.mark.parametrize(("n_particles", "tile"), [(1, 1), (10, 3), (12, 4), (5, 8)])
def test_every_particle_is_mapped_once_and_in_order(n_particles, tile, n_threads, rng):
    vectors, numbers = rng.normal(size=(n_particles, 2)), np.arange(float(n_particles))
    with jax.enable_x64(True):
        shared = (jnp.float64(3.0), jnp.float64(0.5))
        options = {"tile": tile, "n_threads": n_threads, "devices": jax.local_devices()}
        mapped = map_particles(scale_and_shift, ((jnp.asarray(vectors), jnp.asarray(numbers)),), shared, **options)
    np.testing.assert_allclose(mapped["vector"], 3 * vectors + np.arange(n_particles)[:, None], rtol=1e-14)
    np.testing.assert_array_equal(mapped["number"], np.arange(n_particles) - 0.5)
    assert mapped["vector"].dtype == np.float64


@pytest.mark.parametrize("ahead", [True, False])
def test_what_was_compiled_ahead_is_not_compiled_again(ahead, caplog):
    """A program of its own each time; the thread that compiles ahead does not log it."""
    values, factor = jnp.arange(6.0), np.float32(2.0)
    rest = {"n_places": 3, "data": blocks_of(1, 64), "settings": Settings(n_hyperplanes=1, n_particles=6)}

    def scale(one: jax.Array, factor: jax.Array) -> jax.Array:
        return factor * one

    if ahead:
        compile_ahead(scale, (jax.ShapeDtypeStruct(values.shape, values.dtype),), (factor,), **rest)
    with jax.log_compiles():
        mapped = map_with_features(scale, (values,), (factor,), **rest)
    np.testing.assert_array_equal(mapped, 2 * np.arange(6))
    compiled = any("_run_batch" in record.getMessage() and "XLA" in record.getMessage() for record in caplog.records)
    assert compiled is not ahead


def test_what_fails_ahead_is_tried_again():
    """Where the memory of two compilations at once was too much, say."""
    rest = {"n_places": 3, "data": blocks_of(1, 64), "settings": Settings(n_hyperplanes=1, n_particles=6)}
    main = threading.current_thread()

    def fail_elsewhere(one: jax.Array) -> jax.Array:
        if threading.current_thread() is not main:
            raise MemoryError
        return 2 * one

    values = jnp.arange(6.0)
    compile_ahead(fail_elsewhere, (jax.ShapeDtypeStruct(values.shape, values.dtype),), (), **rest)
    np.testing.assert_array_equal(map_with_features(fail_elsewhere, (values,), (), **rest), 2 * np.arange(6))


def blocks_of(n_blocks: int, block: int) -> Data:
    """Shapes are all that matters."""
    inputs, response = np.zeros((n_blocks, 4, block), np.float32), np.zeros((n_blocks, block), np.float32)
    return Data(inputs, response, *[np.zeros(())] * (len(Data._fields) - 2))


@pytest.mark.parametrize(("n_blocks", "block", "n_hyperplanes"), [(1, 64, 1), (1, 4096, 10), (300, 4096, 50)])
def test_a_tile_fits_the_cache_and_the_memory_budget_does_not_change_it(n_blocks, block, n_hyperplanes):
    data = blocks_of(n_blocks, block)
    sizes = {tile_size(data, n_hyperplanes, 1000, budget) for budget in (1, 10**6, 10**12)}
    assert len(sizes) == 1
    size = sizes.pop()
    bytes_a_particle = (n_hyperplanes + 2) * 4 * block * n_blocks
    assert 1 <= size <= LARGEST_TILE
    assert size <= SMALLEST_TILE or size * bytes_a_particle <= CACHE_BYTES
    assert size == 1 or size * bytes_a_particle <= LARGEST_TILE_BYTES


@pytest.mark.parametrize("budget", [1, 2**21 - 1, 2**21, 10 * 2**20, 2**30, 2**40])
@pytest.mark.parametrize("n_devices", [1, 3])
def test_an_accelerator_has_as_large_a_tile_as_its_memory_budget_allows(budget, n_devices, monkeypatch):
    """Four times the features: those of a tile, and what moves make of them."""
    monkeypatch.setattr("hyperplanes.inference.tiles.on_cpu", lambda: False)
    data, share = blocks_of(2, 4096), -(-1000 // n_devices)
    tile = tile_size(data, 14, 1000, budget, n_devices)
    assert 1 <= tile <= share
    assert tile == 1 or 4 * tile * 2**19 <= budget
    assert tile == share or 4 * (tile + 1) * 2**19 > budget


@pytest.mark.parametrize(("budget", "n_threads"), [(1, 1), (5 * 2**20, 1), (13 * 2**20, 3), (2**30, 8)])
def test_threads_are_held_back_so_that_their_features_fit_the_budget(budget, n_threads):
    data = blocks_of(2, 4096)  # with 14 hyperplanes a particle has 2^19 bytes of features
    assert affordable_threads(data, 14, tile=4, n_threads=8, memory_budget=budget) == n_threads


@pytest.mark.parametrize(("n_particles", "size"), [(1, 1), (200, 25), (256, 32), (1000, 25)])
def test_tiles_share_the_particles_out_evenly_among_threads(n_particles, size):
    """Of the sizes above half the largest, the largest of those that leave the least to fill up."""
    assert tile_size(blocks_of(1, 64), 1, n_particles, 2**30) == size

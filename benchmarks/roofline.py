"""How far a round of moves is from what the machine can do.

Counts the multiplications of one round of moves of one particle (see the table of costs in docs/method.md), times
rounds on one core, or on the accelerator with all particles at once, and compares the rate with that of two matrix
products: a large one, which is limited by arithmetic, and one of features that fit the cache with vectors, which is
limited by how fast they can be read. Says also how fast memory beyond the cache is. Prints JSON, and a table on stderr.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hyperplanes.experiments.simulate import simulate
from hyperplanes.inference.tiles import tile_size
from hyperplanes.model import Data, draw_prior, make_data, paper_prior
from hyperplanes.model.features import EXACT
from hyperplanes.moves import State, collapsed_round, make_state
from hyperplanes.moves.candidates import N_CANDIDATES, N_GUESSES, N_REFINEMENTS
from hyperplanes.moves.langevin import STEPS_A_VISIT
from hyperplanes.moves.rounds import UNITS_A_CANDIDATE
from hyperplanes.programs import COMPILER_OPTIONS
from sampler import CASES

EXPONENT = 0.1
ON_CPU = jax.default_backend() == "cpu"


def multiplications(n_rows: int, n_columns: int, n_hyperplanes: int) -> int:
    """Of one round of moves of one particle, in passes over the rows."""
    p, m = n_columns, n_hyperplanes
    look, gradient, vacate = p + m + 4, m + 2 * (p + 1), m + 1
    opening, closing = m * (p + 1) + (m + 2) ** 2, (m + 2) ** 2
    choice = vacate + (N_CANDIDATES + 1) * look + 2 * N_REFINEMENTS * N_GUESSES * (p + 1) + p + 1
    visits = m * (vacate + (STEPS_A_VISIT + 1) * (look + gradient))
    return n_rows * (opening + -(-m // UNITS_A_CANDIDATE) * choice + visits + closing)


def best_seconds(run: Callable[[], Any], n_repeats: int = 7) -> float:
    jax.block_until_ready(run())
    seconds = []
    for _ in range(n_repeats):
        start = time.perf_counter()
        jax.block_until_ready(run())
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def rate_of_product(size: int, n_vectors: int) -> float:
    """Billions of multiplications a second of (size, size) times (size, n_vectors), repeated so that calls vanish."""
    left = jnp.ones((size, size), jnp.float32) / size

    @jax.jit
    def repeat(right: jax.Array) -> jax.Array:
        found: jax.Array = jax.lax.fori_loop(0, 50, lambda _, right: jnp.matmul(left, right, precision=EXACT), right)
        return found

    right = jnp.ones((size, n_vectors), jnp.float32)
    return 50e-9 * size**2 * n_vectors / best_seconds(lambda: repeat(right))


def rate_of_memory(size: int = 2**28) -> float:
    """Billions of bytes a second, read and written, where each number of a large array is changed once."""
    change = jax.jit(lambda numbers: numbers + 1)
    numbers = jnp.zeros(size, jnp.float32)
    return 2e-9 * numbers.nbytes / best_seconds(lambda: change(numbers))


def rate_of_round(case: str, n_particles: int) -> dict[str, Any]:
    n_columns, n_hyperplanes = CASES[case]
    simulation = simulate(1, n_rows=3750, n_columns=n_columns, n_hyperplanes=n_hyperplanes)
    with jax.enable_x64(True):
        data, prior = make_data(simulation.X, simulation.y), paper_prior(n_columns)
        tile = tile_size(data, n_hyperplanes, n_particles, 2**36)
        keys = jax.random.split(jax.random.key(0), tile)

        def start(key: jax.Array) -> State:
            return make_state(draw_prior(key, prior, n_hyperplanes, n_columns, np.float32), data)

        def rounds(keys: jax.Array, states: State, data: Data) -> tuple[State, jax.Array]:
            move = jax.vmap(lambda key, state: collapsed_round(key, state, jnp.float64(EXPONENT), data, prior))
            return move(keys, states)

        states = jax.jit(jax.vmap(start))(keys)
        run = jax.jit(rounds, compiler_options=COMPILER_OPTIONS if ON_CPU else None)
        seconds = best_seconds(lambda: run(keys, states, data)) / tile
    n_multiplications = multiplications(data.response.size, n_columns, n_hyperplanes)
    return {
        "case": case,
        "microseconds": 1e6 * seconds,
        "multiplications": n_multiplications,
        "rate": 1e-9 * n_multiplications / seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--particles", type=int, default=200)
    options = parser.parse_args()
    arithmetic, reading = rate_of_product(2048, 2048), rate_of_product(400, 1)
    kind, memory = jax.devices()[0].device_kind, rate_of_memory()
    report = {"device": kind, "arithmetic": arithmetic, "reading": reading, "memory": memory, "rounds": []}
    print(f"10^9 multiplications a second: {arithmetic:.0f} large, {reading:.1f} with a vector", file=sys.stderr)
    print(f"10^9 bytes of memory a second: {memory:.0f}", file=sys.stderr)
    for case in options.cases:
        found = rate_of_round(case, options.particles)
        found |= {"of_arithmetic": found["rate"] / arithmetic, "of_reading": found["rate"] / reading}
        report["rounds"].append(found)
        print("  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{v}" for k, v in found.items()), file=sys.stderr)
    json.dump(report, sys.stdout, indent=2)


if __name__ == "__main__":
    main()

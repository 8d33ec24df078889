"""Microseconds of one core for a round of moves of a classifier with one particle, and for its parts.

Prints JSON. 2000 rows of 10 columns, networks of ten hyperplanes in 16 places, particles in tiles of eight.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"  # before JAX is imported

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import make_friedman1

from hyperplanes.inference.fit import lay_out
from hyperplanes.model import Data, Prior, make_data
from hyperplanes.model.likelihoods import Bernoulli, Multinomial, Unknowns, draw_unknowns, functions_of
from hyperplanes.moves import Visits, collapsed_round, compound_round
from hyperplanes.programs import COMPILER_OPTIONS

N_ROWS, N_COLUMNS, N_HYPERPLANES, N_PLACES, TILE, N_REPEATS = 2000, 10, 10, 16, 8, 7
Likelihood = Bernoulli | Multinomial


def make_table(n_classes: int) -> tuple[Data, Prior]:
    X, y = make_friedman1(N_ROWS, n_features=N_COLUMNS, random_state=1)
    X = 2 * X - 1
    center, prior = lay_out(X, np.ones(N_ROWS), Prior())
    return make_data(X - center, np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))), prior


def draw(key: jax.Array, likelihood: Likelihood, prior: Prior) -> Unknowns:
    """From the prior, with coefficients of half the size and some of the places taken."""
    unknowns = draw_unknowns(key, likelihood, prior, N_PLACES, N_COLUMNS, np.float32, unknown_number=False)
    outputs, taken = unknowns.outputs, jnp.arange(N_PLACES) < N_HYPERPLANES
    return unknowns._replace(
        outputs=outputs._replace(
            normals=jnp.where(taken[:, None], outputs.normals, 0),
            offsets=jnp.where(taken, outputs.offsets, 0),
            coefficients=jnp.where(jnp.append(True, taken), 0.5 * outputs.coefficients, 0),
        )
    )


def microseconds(function: Callable[..., Any], *arguments: Any) -> float:
    """Of one core for one particle, the least of some runs."""
    compiled = jax.jit(jax.vmap(function), compiler_options=COMPILER_OPTIONS)
    jax.block_until_ready(compiled(*arguments))
    found = []
    for _ in range(N_REPEATS):
        start = time.process_time()
        jax.block_until_ready(compiled(*arguments))
        found.append(time.process_time() - start)
    return round(1e6 * min(found) / TILE)


def measure(n_classes: int) -> dict[str, float]:
    data, prior = make_table(n_classes)
    likelihood = Bernoulli() if n_classes == 2 else Multinomial(n_classes)
    keys, one = jax.random.split(jax.random.key(1), TILE), jnp.float64(1.0)
    particles = jax.vmap(lambda key: draw(key, likelihood, prior))(keys)

    def auxiliaries(key: jax.Array, unknowns: Unknowns) -> list[Data]:
        functions = functions_of(unknowns, data)
        each = range(likelihood.n_outputs)
        return [likelihood.given_auxiliaries(key, unknowns, functions, output, data, one) for output in each]

    def of_visits(n_visits: int) -> Callable[..., Any]:
        one_round = partial(compound_round, likelihood=likelihood, one_round=collapsed_round, unknown_number=True)
        shared = one, data, prior, prior, Visits(n_visits, 0), jnp.zeros_like(data.response)
        return lambda key, unknowns: one_round(key, unknowns, *shared)

    return {
        "round": microseconds(of_visits(N_HYPERPLANES), keys, particles),
        "round without visits": microseconds(of_visits(0), keys, particles),
        "functions and auxiliary variables": microseconds(auxiliaries, keys, particles),
        "functions": microseconds(lambda unknowns: functions_of(unknowns, data), particles),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", type=int, default=3)
    options = parser.parse_args()
    with jax.enable_x64(True):
        json.dump(measure(options.classes), sys.stdout, indent=2)


if __name__ == "__main__":
    main()

"""Rounds of moves of every likelihood leave the target at any exponent invariant.

With a few rows, draws from the prior weighted by the likelihood to the exponent stand for the target: resampled, they
are where chains start and what they are compared with in the end.
"""

from dataclasses import replace
from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from joint import COMPILER_OPTIONS, UNKNOWN_NUMBER, function_values

from hyperplanes.model import Data, Particle, Prior, draw_prior, is_present, make_data
from hyperplanes.model.likelihoods import Bernoulli, Likelihood, Multinomial, Student, Unknowns, Varying
from hyperplanes.moves import Visits, collapsed_round, compound_round, superposed_round
from hyperplanes.programs import QUICK_TO_COMPILE
from p_values import LEVEL, same_distribution_p_value

N_PRIOR = 100_000
N_CHAINS = 5_000
N_ROUNDS = 6
N_PLACES = 3
PRIOR = replace(UNKNOWN_NUMBER.prior, noise_shape=4.0, noise_scale=4.0)
ROW_WEIGHTS = np.array([0.5, 1.3, 0.7, 1.0])
SPREAD_PRIOR = Prior(
    coefficient_mean=-0.2,
    coefficient_variance=0.5,
    coefficient_shape=4.0,
    intercept_variance=0.4,
    reach=0.9,
    number_mean=1.5,
    number_shape=2.0,
    inattention=0.2,
)
LIKELIHOODS: dict[str, Likelihood] = {
    "bernoulli": Bernoulli(),
    "multinomial": Multinomial(3),
    "student": Student(),
    "varying": Varying(),
}
PRIORS = {"no line": PRIOR, "a line": replace(PRIOR, linear_variance=(0.5, 0.3))}


QUICK = [
    *((name, 1.0, 1, "no line") for name in LIKELIHOODS),
    ("varying", 0.0, 1, "no line"),
    ("bernoulli", 1.0, 1, "a line"),
    ("varying", 0.3, 1, "a line"),
]
"""Cases of a few seconds each, the prior among them."""


def draw_unknowns(key: jax.Array, name: str, prior: Prior) -> Unknowns:
    likelihood = LIKELIHOODS[name]
    key_outputs, key_spread, key_degrees = jax.random.split(key, 3)

    def network(key: jax.Array, prior: Prior, known_noise: bool) -> Particle:
        drawn = draw_prior(key, prior, N_PLACES, 2, np.float64, unknown_number=True)
        return drawn._replace(noise_variance=jnp.ones(())) if known_noise else drawn

    outputs = jax.vmap(lambda key: network(key, prior, not likelihood.unknown_noise))(
        jax.random.split(key_outputs, likelihood.n_outputs)
    )
    return Unknowns(
        outputs,
        degrees=2.0 + jax.random.gamma(key_degrees, 2.0) / 0.1 if name == "student" else jnp.array(jnp.inf),
        spread=network(key_spread, SPREAD_PRIOR, True) if name == "varying" else None,
    )


def make_rows(name: str) -> Data:
    """Rows without padding."""
    response = {"bernoulli": np.array([1, 0, 1, 1.0]), "multinomial": np.array([2, 0, 1, 2.0])}.get(
        name, np.array([1.0, -0.4, 2.0, 0.3])
    )
    data = make_data(UNKNOWN_NUMBER.inputs, response, ROW_WEIGHTS, dtype=np.float64)
    return data._replace(inputs=data.inputs[..., :4], response=data.response[..., :4])


@partial(jax.jit, static_argnames="name", compiler_options=QUICK_TO_COMPILE)
def draw_many(key: jax.Array, data: Data, prior: Prior, name: str) -> tuple[Unknowns, jax.Array]:
    drawn = jax.vmap(lambda key: draw_unknowns(key, name, prior))(jax.random.split(key, N_PRIOR))
    return drawn, jax.lax.map(lambda one: LIKELIHOODS[name].log_likelihood(one, data), drawn, batch_size=1000)


def draw_target(seed: int, exponent: float, data: Data, prior: Prior, name: str) -> tuple[Unknowns, float]:
    """Draws, and how many independent ones they are worth."""
    drawn, log_likelihoods = draw_many(jax.random.key(seed), data, prior, name)
    weights = np.exp(exponent * (np.asarray(log_likelihoods) - np.max(log_likelihoods)))
    weights /= weights.sum()
    chosen = np.random.default_rng(seed).choice(N_PRIOR, size=N_CHAINS, p=weights)
    return jax.tree.map(lambda leaf: leaf[chosen], drawn), 1 / np.sum(weights**2)


@partial(jax.jit, static_argnames=("name", "n_parts"), compiler_options=COMPILER_OPTIONS)
def run(
    key: jax.Array, start: Unknowns, exponent: jax.Array, data: Data, prior: Prior, *, name: str, n_parts: int
) -> tuple[Unknowns, jax.Array]:
    one_round = collapsed_round if n_parts == 1 else partial(superposed_round, n_parts=n_parts)
    reference = jnp.full(data.response.shape, -0.3)

    def once(unknowns: Unknowns, key: jax.Array) -> tuple[Unknowns, jax.Array]:
        def of_one(key: jax.Array, one: Unknowns) -> tuple[Unknowns, jax.Array]:
            shared = (exponent, data, prior, SPREAD_PRIOR, Visits(2, 2), reference)
            options = {"likelihood": LIKELIHOODS[name], "one_round": one_round, "unknown_number": True}
            return compound_round(key, one, *shared, **options)

        moved, accepted = jax.vmap(of_one)(jax.random.split(key, N_CHAINS), unknowns)
        return moved, accepted.mean(axis=0)

    return jax.lax.scan(once, start, jax.random.split(key, N_ROUNDS))


@partial(jax.jit, compiler_options=QUICK_TO_COMPILE)
def summaries(unknowns: Unknowns) -> jax.Array:
    new_inputs = UNKNOWN_NUMBER.new_inputs

    def of_network(network: Particle) -> jax.Array:
        new = function_values(network, new_inputs)
        seen = network.attends & is_present(network.normals)[:, None]
        scales = [jnp.log(network.noise_variance), jnp.log(network.coefficient_variance), jnp.log(network.intensity)]
        counts = [is_present(network.normals).sum(), seen.sum(), seen[0, 0] * jnp.abs(network.normals[0, 0])]
        squashed = jnp.tanh(0.5 * new)
        return jnp.concatenate(
            [squashed, jnp.stack([*scales, *counts, squashed[0] * squashed[1]]), network.offsets, network.normals[0]]
        )

    def of_one(one: Unknowns) -> jax.Array:
        networks = jax.vmap(of_network)(one.outputs)
        found = [networks.ravel(), (networks[0, :3] * networks[-1, :3])]
        if one.spread is not None:
            spread = of_network(one.spread)
            found += [spread, networks[0, :3] * spread[:3]]
        return jnp.concatenate([*found, 1 / jnp.sqrt(one.degrees)[None]])

    return jax.vmap(of_one)(unknowns)


CASES = [
    pytest.param(
        *case,
        marks=() if case in QUICK else pytest.mark.long,
        id="-".join(map(str, case)).removesuffix("-no line"),
    )
    for case in [
        *product(LIKELIHOODS, (0.0, 0.3, 1.0), (1, 3), ["no line"]),
        *product(LIKELIHOODS, (0.3,), (1,), ["a line"]),  # wide draws from the prior stand for no more than that
        ("bernoulli", 1.0, 1, "a line"),
    ]
]


@pytest.mark.parametrize(("name", "exponent", "n_parts", "line"), CASES)
def test_round_leaves_the_target_invariant(name, exponent, n_parts, line, seed):
    data, prior = make_rows(name), PRIORS[line]
    (start, n_first), (exact, n_second) = (draw_target(seed + k, exponent, data, prior, name) for k in range(2))
    assert min(n_first, n_second) > 0.2 * N_CHAINS
    end, accepted = run(jax.random.key(seed), start, jnp.float64(exponent), data, prior, name=name, n_parts=n_parts)
    assert same_distribution_p_value(np.asarray(summaries(end)), np.asarray(summaries(exact))) > LEVEL
    of_outputs, *of_spread = accepted.mean(axis=0)
    most = 0.99 if exponent > 0 else 1.0  # no row counts, none is active: choices among candidates are counted instead
    assert 0.05 < of_outputs <= most
    assert len(of_spread) == (name == "varying")
    assert all(0.05 < each <= 1 for each in of_spread)

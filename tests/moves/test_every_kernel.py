"""Claims about every kernel; a new kernel is a new line in `KERNELS`."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from joint import (
    COMPILER_OPTIONS,
    LINEAR_TERM,
    LINEAR_TERM_WITH_ONE_SCALE,
    OFTEN_DEAD,
    THREE_UNITS,
    UNKNOWN_NUMBER,
    alternate,
    draw_joint,
    draw_prior_many,
    summaries,
    summaries_of_unknowns,
)

from hyperplanes.inference.samplers import paper_step
from hyperplanes.model import Data, Particle, Prior, cross_products
from hyperplanes.moves import (
    Move,
    State,
    collapsed_round,
    make_state,
    redraw_given_coefficients,
    refresh_output_layer,
    superposed_round,
    sweep_output_layer,
)
from hyperplanes.moves.candidates import candidate_draws, choose_candidate
from hyperplanes.moves.langevin import langevin_draws, langevin_one
from hyperplanes.moves.rounds import alone
from p_values import LEVEL, same_distribution_p_value

N_CHAINS = 10_000
N_ROUNDS = 8
ONE_AT_A_TIME = 24
"""Rounds of a kernel that moves one hyperplane at a time."""


KERNELS: dict[str, Move] = {
    "sweep_output_layer": sweep_output_layer,
    "refresh_output_layer": refresh_output_layer,
    "redraw_given_coefficients": redraw_given_coefficients,
    "choose_candidate": alone(choose_candidate, candidate_draws),
    "langevin_one": alone(langevin_one, langevin_draws),
    "paper_step": paper_step,
    "collapsed_round": collapsed_round,
    "choose_or_leave_empty": alone(
        partial(choose_candidate, unknown_number=True), candidate_draws, unknown_number=True
    ),
    "round_of_unknown_number": partial(collapsed_round, unknown_number=True),
    "superposed_round": partial(superposed_round, n_parts=3),
    "superposed_round_of_unknown_number": partial(superposed_round, n_parts=2, unknown_number=True),
}
OUTPUT_LAYER_ONLY = ["sweep_output_layer", "refresh_output_layer"]
WHOLE = ["paper_step", "collapsed_round"]
CASES = {
    "three units": THREE_UNITS,
    "often dead": OFTEN_DEAD,
    "unknown number": UNKNOWN_NUMBER,
    "linear term": LINEAR_TERM,
    "linear term with one scale": LINEAR_TERM_WITH_ONE_SCALE,
}
OF_UNKNOWN_NUMBER = ["choose_or_leave_empty", "round_of_unknown_number", "superposed_round_of_unknown_number"]
ROUNDS = dict.fromkeys(KERNELS, N_ROUNDS) | dict.fromkeys(
    ["redraw_given_coefficients", "choose_candidate", "paper_step", "choose_or_leave_empty"], ONE_AT_A_TIME
)
PAIRS = [
    *(("three units", name) for name in KERNELS if name not in OF_UNKNOWN_NUMBER),
    *(("often dead", name) for name in ("redraw_given_coefficients", "choose_candidate", "langevin_one")),
    *(("unknown number", name) for name in OF_UNKNOWN_NUMBER),
    *(("linear term", name) for name in ("choose_or_leave_empty", "round_of_unknown_number")),
    *(("linear term with one scale", name) for name in ("refresh_output_layer", "langevin_one")),
]


@pytest.mark.parametrize("exponent", [*(pytest.param(few, marks=pytest.mark.long) for few in (0.1, 0.5)), 1.0])
@pytest.mark.parametrize(("case", "name"), PAIRS)
def test_kernel_leaves_the_joint_distribution_invariant(case, name, exponent, seed):
    joint = CASES[case]
    start = draw_joint(seed, exponent, N_CHAINS, joint)
    *end, accepted = alternate(
        jax.random.key(seed), *start, exponent, kernel=KERNELS[name], case=joint, n_rounds=ROUNDS[name]
    )
    moved = np.asarray(summaries(*end, joint))
    exact = np.asarray(summaries(*draw_joint(seed + 1, exponent, 2 * N_CHAINS, joint), joint))
    assert same_distribution_p_value(moved, exact) > LEVEL
    assert accepted == 1 if name in OUTPUT_LAYER_ONLY else 0.05 < accepted < 0.98


@pytest.mark.parametrize(("case", "name"), PAIRS)
def test_kernel_leaves_the_prior_invariant_at_exponent_zero(case, name, seed):
    """Whatever the response."""
    joint = CASES[case]
    start = draw_prior_many(jax.random.key(seed), N_CHAINS, joint)
    responses = jnp.asarray(np.random.default_rng(seed).normal(3.0, 2.0, size=(N_CHAINS, len(joint.inputs))))
    options = {"kernel": KERNELS[name], "case": joint, "n_rounds": ROUNDS[name]}
    end, _, accepted = alternate(jax.random.key(seed), start, responses, 0.0, **options)
    prior = draw_prior_many(jax.random.key(seed + 1), 2 * N_CHAINS, joint)
    found, expected = (np.asarray(summaries_of_unknowns(each, joint)) for each in (end, prior))
    assert same_distribution_p_value(found, expected) > LEVEL
    if name in [*OUTPUT_LAYER_ONLY, "redraw_given_coefficients", "paper_step"]:
        assert accepted == 1


@partial(jax.jit, static_argnames="kernel", compiler_options=COMPILER_OPTIONS)
def run_from(key: jax.Array, state: State, exponent: float, data: Data, prior: Prior, *, kernel: Move):
    def one(state: State, key: jax.Array) -> tuple[State, jax.Array]:
        return kernel(key, state, exponent, data, prior)

    return jax.lax.scan(one, state, jax.random.split(key, 60))


def first_of(particles: Particle, dtype: type = np.float64) -> Particle:
    first = jax.tree.map(lambda leaf: leaf[0], particles)
    return first._replace(normals=first.normals.astype(dtype), offsets=first.offsets.astype(dtype))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 3e-6), (np.float64, 1e-13)])
@pytest.mark.parametrize("name", WHOLE)
def test_kept_products_stay_those_of_the_hyperplanes(name, dtype, tolerance, seed):
    particles, responses = draw_joint(seed, 0.1, 1, THREE_UNITS)
    data = THREE_UNITS.make_rows(responses[0], dtype)
    start = make_state(first_of(particles, dtype), data)
    end, accepted = run_from(jax.random.key(seed), start, 0.1, data, THREE_UNITS.prior, kernel=KERNELS[name])
    assert accepted.sum() > 0
    fresh = cross_products(data, end.particle.normals, end.particle.offsets)
    lengths = np.sqrt(np.diag(fresh))
    assert np.all(np.abs(end.products - fresh) <= tolerance * np.outer(lengths, lengths))
    assert not np.any(end.particle.offsets == start.particle.offsets)
    np.testing.assert_allclose(np.linalg.norm(end.particle.normals, axis=1), 1, rtol=10 * np.finfo(dtype).eps)
    assert [leaf.dtype for leaf in jax.tree.leaves(end)] == [leaf.dtype for leaf in jax.tree.leaves(start)]


REACH = THREE_UNITS.prior.reach
FIRST_UNIT = jnp.zeros(3, int)
AWKWARD = {
    "dead units": lambda particle: particle._replace(normals=jnp.array([[0.0, 1], [-0.6, 0.8], [0, 1]])),
    "identical units": lambda particle: particle._replace(
        normals=particle.normals[FIRST_UNIT], offsets=particle.offsets[FIRST_UNIT]
    ),
    "units through the origin": lambda particle: particle._replace(offsets=particle.offsets * 0),
    "units at the reach": lambda particle: particle._replace(offsets=particle.offsets * 0 + REACH),
    "hardly any noise": lambda particle: particle._replace(noise_variance=particle.noise_variance * 1e-12),
    "much noise": lambda particle: particle._replace(noise_variance=particle.noise_variance * 1e12),
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("case", AWKWARD)
def test_awkward_particles_yield_finite_numbers(name, case, seed):
    particles, responses = draw_joint(seed, 1.0, 1, THREE_UNITS)
    particle = first_of(particles)
    if case == "dead units":
        particle = particle._replace(offsets=jnp.full(3, 0.89))
    data = THREE_UNITS.make_rows(responses[0])
    start = make_state(AWKWARD[case](particle), data)
    if case == "dead units":
        np.testing.assert_array_equal(np.diag(start.products)[1:-1], 0)
    end, accepted = run_from(jax.random.key(seed), start, 1.0, data, THREE_UNITS.prior, kernel=KERNELS[name])
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves((end, accepted)))
    assert np.all((end.particle.offsets >= 0) & (end.particle.offsets <= REACH))


@pytest.mark.parametrize("name", WHOLE)
def test_duplicate_rows_yield_finite_numbers(name, seed):
    particle = first_of(draw_prior_many(jax.random.key(seed), 1, THREE_UNITS), np.float32)
    data = THREE_UNITS.make_rows(jnp.full(4, -0.7), np.float32)
    data = data._replace(inputs=jnp.repeat(data.inputs[..., :1], 4, axis=-1))
    end, _ = run_from(
        jax.random.key(seed), make_state(particle, data), 1.0, data, THREE_UNITS.prior, kernel=KERNELS[name]
    )
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(end))

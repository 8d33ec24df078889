from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from joint import COMPILER_OPTIONS, THREE_UNITS, draw_joint

import closed_form
from hyperplanes.model import Data, Prior, make_data, paper_prior
from hyperplanes.moves import State, langevin, make_state
from hyperplanes.moves.workspace import open_workspace, vacate
from hyperplanes.process import from_white

PLAIN = replace(paper_prior(2), coefficient_mean=0.5, coefficient_variance=0.9, reach=0.9)
TILTED = np.array([[0.8, 0.3], [-0.2, 1.3]])
CASES = {
    "ball": (PLAIN, np.ones(2)),
    "ellipsoid": (replace(PLAIN, reach=TILTED, lowest_offset=-1.0, intercept_variance=0.4), np.array([1.0, 0.3])),
}
"""Priors, and scales of the columns of the hyperplane that moves."""


@partial(jax.jit, compiler_options=COMPILER_OPTIONS)
def look_around(
    white: jax.Array, scales: jax.Array, unit: int, state: State, exponent: float, data: Data, prior: Prior
) -> langevin.Local:
    work = open_workspace(state.particle, data)
    return langevin._look_around(white, scales, vacate(unit, work, exponent, data, prior), work, data, prior)


def log_target(
    white: np.ndarray, scales: np.ndarray, unit: int, problem: closed_form.Problem, exponent: float, prior: Prior
) -> float:
    """Log evidence plus log prior in the coordinates in which the prior is white noise, densely."""
    plane = from_white(jnp.asarray(white), prior.reach, prior.lowest_offset, scales)
    normals, offsets = problem.normals.copy(), problem.offsets.copy()
    normals[unit], offsets[unit] = plane
    moved = problem._replace(normals=normals, offsets=offsets)
    variances = np.full(len(offsets) + 1, prior.coefficient_variance)
    variances[0] = prior.intercept_variance or prior.coefficient_variance
    evidence = closed_form.log_evidence(moved, exponent, prior.coefficient_mean, variances)
    return evidence - 0.5 * white @ white


@pytest.mark.parametrize("exponent", [0.1, 1.0])
@pytest.mark.parametrize("unit", [0, 2])
@pytest.mark.parametrize("case", CASES)
def test_gradient_is_the_derivative_of_the_evidence_and_the_prior(case, unit, exponent, seed):
    prior, scales = CASES[case]
    problem = closed_form.make_problem(seed, 30)
    data = make_data(problem.inputs, problem.response, problem.row_weights, dtype=np.float64)
    particle = jax.tree.map(lambda leaf: leaf[0], draw_joint(seed, 1.0, 1, THREE_UNITS)[0])._replace(
        normals=jnp.asarray(problem.normals),
        offsets=jnp.asarray(problem.offsets),
        noise_variance=jnp.float64(problem.noise_variance),
    )
    white = np.array([1.3, -0.4, -0.6])
    args = (jnp.asarray(white), jnp.asarray(scales), unit, make_state(particle, data))
    local = look_around(*args, exponent, data, prior)
    dense = partial(log_target, scales=scales, unit=unit, problem=problem, exponent=exponent, prior=prior)
    np.testing.assert_allclose(local.log_evidence - 0.5 * white @ white, dense(white), rtol=1e-10)
    steps = 1e-6 * np.eye(3)
    expected = [(dense(white + step) - dense(white - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(local.gradient, expected, rtol=1e-5, atol=1e-6)


def test_an_active_unit_is_chosen_and_each_as_often():
    products = jnp.diag(jnp.array([9.0, 0.0, 0.4, 2.0, 0.0, 0.1, 9.0]))  # units 1, 2 and 4 are active
    draws = (jnp.arange(300) + 0.5) / 300
    units = np.asarray(jax.vmap(langevin._choose_active, (0, None))(draws, products))
    np.testing.assert_array_equal(np.bincount(units, minlength=5), [0, 100, 100, 0, 100])
    dead = products.at[jnp.arange(1, 6), jnp.arange(1, 6)].set(0)
    assert np.all(np.asarray(jax.vmap(langevin._choose_active, (0, None))(draws, dead)) == 0)

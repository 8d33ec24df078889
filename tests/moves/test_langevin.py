from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from joint import COMPILER_OPTIONS, THREE_UNITS, draw_joint

import closed_form
from hyperplanes.model import Data, Prior, make_data
from hyperplanes.moves import State, langevin, make_state
from hyperplanes.moves.workspace import open_workspace, vacate
from hyperplanes.process import from_white


@partial(jax.jit, compiler_options=COMPILER_OPTIONS)
def look_around(white: jax.Array, unit: int, state: State, exponent: float, data: Data, prior: Prior) -> langevin.Local:
    work = open_workspace(state, data)
    return langevin._look_around(white, vacate(unit, work, exponent, data, prior), work, data, prior)


def log_target(
    white: np.ndarray, unit: int, axes: np.ndarray, problem: closed_form.Problem, exponent: float, prior: Prior
) -> float:
    """Log evidence plus log prior in the coordinates in which the prior is white noise, densely."""
    plane = from_white(jnp.append(axes @ white[:-1], white[-1]), prior.reach)
    normals, offsets = problem.normals.copy(), problem.offsets.copy()
    normals[unit], offsets[unit] = plane
    moved = problem._replace(normals=normals, offsets=offsets)
    evidence = closed_form.log_evidence(moved, exponent, prior.coefficient_mean, prior.coefficient_variance)
    return evidence - 0.5 * white @ white


@pytest.mark.parametrize("exponent", [0.1, 1.0])
@pytest.mark.parametrize("unit", [0, 2])
def test_gradient_is_the_derivative_of_the_evidence_and_the_prior(unit, exponent, seed):
    prior = Prior(coefficient_mean=0.5, coefficient_variance=0.9, reach=0.9)
    problem = closed_form.make_problem(seed, 30)
    args = (problem.inputs, problem.response, problem.row_weights)
    data = make_data(*args, dtype=np.float64)
    particle = jax.tree.map(lambda leaf: leaf[0], draw_joint(seed, 1.0, 1, THREE_UNITS)[0])._replace(
        normals=jnp.asarray(problem.normals),
        offsets=jnp.asarray(problem.offsets),
        noise_variance=jnp.float64(problem.noise_variance),
    )
    white = np.array([1.3, -0.4, -0.6])
    local = look_around(jnp.asarray(white), unit, make_state(particle, data), exponent, data, prior)
    dense = partial(log_target, unit=unit, axes=np.asarray(data.axes), problem=problem, exponent=exponent, prior=prior)
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

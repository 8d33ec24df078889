"""The linear term: permanent hyperplanes that all rows are beyond, against a linear model from its definition."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import closed_form
from closed_form import Problem, make_problem
from hyperplanes.model import Particle, Prior, draw_prior, gaussian, is_present, make_data, of_process, spread_prior
from hyperplanes.model.features import cross_products
from hyperplanes.model.prior import FAR, draw_scales, lay_out_linear_term
from p_values import LEVEL, same_distribution_p_value

N_DRAWS = 20_000
SLOPES = (1.3, 0.6)
PRIOR = Prior(
    coefficient_mean=0.6,
    coefficient_variance=1.7,
    coefficient_shape=2.5,
    intercept_variance=0.4,
    reach=1.2,
    number_mean=2.2,
    number_shape=1.6,
    inattention=0.2,
)
LINEAR = replace(PRIOR, linear_variance=SLOPES)
PRIORS = {"level of its own": LINEAR, "level like the others": replace(LINEAR, intercept_variance=0.0)}

log_evidence = jax.jit(gaussian.log_evidence)


@partial(jax.jit, static_argnames=("n_places", "unknown_number"))
def draw_on_device(keys: jax.Array, prior: Prior, n_places: int, unknown_number: bool) -> Particle:
    return jax.vmap(lambda key: draw_prior(key, prior, n_places, 2, np.float64, unknown_number=unknown_number))(keys)


def draw_many(key: jax.Array, prior: Prior, n_places: int = 4, unknown_number: bool = True) -> Particle:
    return jax.tree.map(np.asarray, draw_on_device(jax.random.split(key, N_DRAWS), prior, n_places, unknown_number))


def values_of(particle: Particle, inputs: np.ndarray) -> np.ndarray:
    hidden = np.maximum(inputs @ np.swapaxes(particle.normals, -1, -2) - particle.offsets[:, None], 0)
    return particle.coefficients[:, :1] + np.einsum("knj,kj->kn", hidden, particle.coefficients[:, 1:])


def with_linear_term(problem: Problem) -> Problem:
    """The slopes of both columns before the other hyperplanes."""
    return problem._replace(
        normals=np.concatenate([np.eye(2), problem.normals]),
        offsets=np.concatenate([[-FAR, -FAR], problem.offsets]),
    )


def joint_prior(n_hyperplanes: int, prior: Prior) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of (intercept, slopes, coefficients), where level = intercept + FAR sum(slopes) is free."""
    level = prior.intercept_variance or prior.coefficient_variance
    free = np.diag([level, *SLOPES, *n_hyperplanes * [prior.coefficient_variance]])
    to_coefficients = np.eye(len(free))
    to_coefficients[0, 1:3] = -FAR
    mean = np.array([prior.coefficient_mean, 0, 0, *n_hyperplanes * [prior.coefficient_mean]])
    return to_coefficients @ mean, to_coefficients @ free @ to_coefficients.T


def exact_evidence(problem: Problem, exponent: float, prior: Prior) -> float:
    """From the Gaussian distribution of the rows; columns themselves stand for the linear term."""
    units = closed_form.features(problem.inputs, problem.normals[2:], problem.offsets[2:])
    Z = np.column_stack([units[:, :1], problem.inputs, units[:, 1:]])
    n_units = Z.shape[1] - 3
    variances = [prior.intercept_variance or prior.coefficient_variance, *SLOPES]
    variances += n_units * [prior.coefficient_variance]
    means = np.array([prior.coefficient_mean, 0, 0, *n_units * [prior.coefficient_mean]])
    powers = exponent * problem.row_weights
    noise = problem.noise_variance / powers
    constant = 0.5 * ((1 - powers) * np.log(2 * np.pi * problem.noise_variance) - np.log(powers)).sum()
    marginal = stats.multivariate_normal(Z @ means, np.diag(noise) + (Z * variances) @ Z.T)
    return float(marginal.logpdf(problem.response) + constant)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("n_hyperplanes", [0, 3])
@pytest.mark.parametrize("exponent", [0.1, 1.0])
def test_evidence_is_that_of_a_linear_model_with_hyperplanes(prior, n_hyperplanes, exponent, seed):
    """So is the path, given some rows too, and what a unit that joins the rest finds."""
    problem = with_linear_term(make_problem(seed, n_hyperplanes=n_hyperplanes))
    data = make_data(problem.inputs, problem.response, problem.row_weights, dtype=np.float64)
    products = cross_products(data, jnp.asarray(problem.normals), jnp.asarray(problem.offsets))
    noise = problem.noise_variance
    expected = exact_evidence(problem, exponent, prior)
    assert log_evidence(data, products, noise, exponent, prior) == pytest.approx(expected, rel=1e-8)
    some, spread = np.asarray(products)[None], [prior.coefficient_variance]
    path = gaussian.evidence_path(data, 0 * some, some, [noise], spread, prior)
    assert path([exponent])[0, 0] == pytest.approx(expected, rel=1e-8)
    rest = gaussian.evidence_path(data, exponent * some, some, [noise], spread, prior)([1 - exponent])[0, 0]
    assert expected + rest == pytest.approx(exact_evidence(problem, 1.0, prior), rel=1e-7, abs=1e-7)
    assert not gaussian.is_singular(some, [noise], spread, prior).any()
    for unit in range(2, 2 + n_hyperplanes):
        others = gaussian.leave_out(jnp.array(unit), data, products, noise, exponent, prior)
        row = products[unit + 1]
        along = row[-1] - row[:-1] @ others.mean
        joined = gaussian.join(row[unit + 1], row[:-1], along, others, noise, exponent, prior)
        assert joined.log_evidence == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_conditional_posterior_is_that_of_the_correlated_prior(prior, seed):
    problem = with_linear_term(make_problem(seed))
    data = make_data(problem.inputs, problem.response, problem.row_weights, dtype=np.float64)
    products = cross_products(data, jnp.asarray(problem.normals), jnp.asarray(problem.offsets))
    conditional = gaussian.condition(products, problem.noise_variance, 0.4, prior)
    Z = closed_form.features(problem.inputs, problem.normals, problem.offsets)
    mean, covariance = joint_prior(3, prior)
    gain = covariance @ Z.T
    gain = gain @ np.linalg.inv(Z @ gain + np.diag(problem.noise_variance / (0.4 * problem.row_weights)))
    expected = mean + gain @ (problem.response - Z @ mean)
    np.testing.assert_allclose(gaussian.conditional_mean(conditional), expected, rtol=1e-7, atol=1e-7)
    found = conditional.root.T @ conditional.root
    np.testing.assert_allclose(found, covariance - gain @ Z @ covariance, rtol=1e-6, atol=1e-6)


def test_the_function_is_that_of_the_process_plus_a_line(key):
    """Level and slopes are independent: far from zero the function varies as a line does."""
    with_term, without = draw_many(key, LINEAR), draw_many(jax.random.fold_in(key, 1), PRIOR)
    inputs = np.array([[0.0, 0.0], [0.9, -0.4], [-0.7, 0.2]])
    line = np.random.default_rng(5).normal(size=(N_DRAWS, 2)) * np.sqrt(SLOPES) @ inputs.T
    assert same_distribution_p_value(values_of(with_term, inputs), values_of(without, inputs) + line) > LEVEL
    mean, covariance = joint_prior(0, LINEAR)
    found = with_term.coefficients[:, :3]
    white = np.linalg.solve(np.linalg.cholesky(covariance), (found - mean).T)
    assert min(stats.kstest(each, stats.norm.cdf).pvalue for each in white) > LEVEL


def test_permanent_places_are_not_of_the_process(key):
    """They take no part in the number of hyperplanes, nor in attention, and are always taken."""
    particle = draw_many(key, LINEAR)
    assert particle.normals.shape == (N_DRAWS, 6, 2)
    np.testing.assert_array_equal(particle.normals[:, :2], np.broadcast_to(np.eye(2), (N_DRAWS, 2, 2)))
    assert np.all(particle.offsets[:, :2] == -FAR)
    assert not particle.attends[:, :2].any()
    present = np.asarray(is_present(particle.normals))
    counted = np.asarray(jax.vmap(lambda normals: of_process(normals, LINEAR))(particle.normals))
    np.testing.assert_array_equal(counted[:, 2:], present[:, 2:])
    assert not counted[:, :2].any()
    masses = stats.nbinom(1.6, 1.6 / 3.8).pmf(np.arange(5))
    counts = np.bincount(counted.sum(axis=1), minlength=5)
    assert stats.chisquare(counts, N_DRAWS * masses / masses.sum()).pvalue > LEVEL


@pytest.mark.parametrize("intercept_variance", [0.0, 0.9])
def test_slopes_say_nothing_of_the_scale_of_the_coefficients(intercept_variance, key):
    prior = replace(LINEAR, intercept_variance=intercept_variance)
    slopes, level = np.array([1.5, -2.0]), 2.4
    coefficients = jnp.array([level - FAR * slopes.sum(), *slopes, 1.1, 0.0])
    present = jnp.array([False, False, True, False])
    squares = 0.5**2 + (0.0 if intercept_variance else 1.8**2)
    n_counted = 1 if intercept_variance else 2
    draw = jax.jit(jax.vmap(lambda key: draw_scales(key, coefficients, present, jnp.array(2.0), prior, False)))
    intensity, variance = draw(jax.random.split(key, N_DRAWS))
    assert np.all(np.asarray(intensity) == 1)
    total = stats.invgamma(2.5 + n_counted / 2, scale=2.5 * 1.7 + 2 * squares / 2)
    assert stats.kstest(np.asarray(variance), total.cdf).pvalue > LEVEL


def test_a_slope_for_each_column_once_it_is_laid_out():
    assert lay_out_linear_term(Prior(), 3) == Prior()
    laid_out = lay_out_linear_term(Prior(linear_variance=2), 3)
    assert laid_out.linear_variance == (2.0, 2.0, 2.0)
    assert lay_out_linear_term(laid_out, 3) is laid_out
    assert (Prior().n_permanent, Prior(linear_variance=2).n_permanent, laid_out.n_permanent) == (0, 0, 3)
    assert spread_prior(laid_out).n_permanent == 0
    assert len(jax.tree.leaves(Prior())) == len(jax.tree.leaves(laid_out))


def test_slopes_are_independent_of_everything_else_that_is_drawn(key):
    particle = draw_many(key, LINEAR, 2, False)
    directions = particle.normals[:, 2:].reshape(N_DRAWS, -1)
    level = particle.coefficients[:, 0] + FAR * particle.coefficients[:, 1:3].sum(axis=1)
    rest = [particle.offsets[:, 2:], particle.coefficients[:, 3:], particle.noise_variance, level]
    columns = np.column_stack([particle.coefficients[:, 1:3], directions, *rest, particle.coefficient_variance])
    p_values = stats.spearmanr(columns).pvalue[:2, 2:]
    assert p_values.min() * p_values.size > LEVEL

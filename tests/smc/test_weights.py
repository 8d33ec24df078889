import jax.numpy as jnp
import numpy as np
import pytest
from blackjax.smc import ess as blackjax_ess
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hyperplanes.smc import conditional_ess, ess, log_mean_exp, normalise

LOG_WEIGHTS = arrays(float, st.integers(1, 12), elements=st.floats(-600, 600))


@given(LOG_WEIGHTS)
def test_normalised_weights_sum_to_one_and_keep_their_ratios(log_weights):
    normalised = normalise(log_weights)
    np.testing.assert_allclose(np.exp(normalised).sum(), 1)
    np.testing.assert_allclose(np.diff(normalised), np.diff(log_weights), atol=1e-10)


@given(LOG_WEIGHTS)
def test_effective_sample_size_is_between_one_and_the_number_of_particles(log_weights):
    assert 1 - 1e-9 <= ess(log_weights) <= len(log_weights) * (1 + 1e-9)
    np.testing.assert_allclose(ess(log_weights + 123.0), ess(log_weights), rtol=1e-9)


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(*[arrays(float, n, elements=st.floats(-300, 300))] * 2)))
def test_conditional_effective_sample_size_is_between_zero_and_the_number_of_particles(pair):
    log_weights, increments = normalise(pair[0]), pair[1]
    n_particles = len(log_weights)
    assert 0 <= conditional_ess(log_weights, increments) <= n_particles * (1 + 1e-9)
    equal = np.full(n_particles, -np.log(n_particles))
    np.testing.assert_allclose(conditional_ess(equal, increments), ess(increments), rtol=1e-9)


@given(st.integers(1, 12), st.floats(-700, 700))
def test_equal_weights_and_increments_lose_nothing(n_particles, increment):
    equal = np.full(n_particles, -np.log(n_particles))
    np.testing.assert_allclose(ess(equal), n_particles)
    np.testing.assert_allclose(conditional_ess(equal, np.full(n_particles, increment)), n_particles)


def test_effective_sample_size_follows_its_formula(rng):
    weights = rng.gamma(0.5, size=(3, 6))
    weights[1, 2] = 0
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    np.testing.assert_allclose(ess(log_weights), weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1))
    for row in range(3):
        np.testing.assert_allclose(ess(log_weights[row]), blackjax_ess.ess(jnp.asarray(log_weights[row])), rtol=1e-9)


def test_conditional_effective_sample_size_follows_its_formula(rng):
    weights, increments = rng.dirichlet(np.full(6, 0.6)), rng.gamma(0.5, size=(4, 6))
    expected = 6 * (increments @ weights) ** 2 / (increments**2 @ weights)
    np.testing.assert_allclose(conditional_ess(np.log(weights), np.log(increments)), expected)


def test_a_constant_increment_costs_nothing_whatever_the_weights(rng):
    log_weights = normalise(rng.normal(0, 5, size=7))
    np.testing.assert_allclose(conditional_ess(log_weights, np.full(7, -2.5)), 7)
    assert ess(log_weights) < 6


def test_log_mean_exp_is_the_weighted_mean_of_the_increments(rng):
    weights, increments = rng.dirichlet(np.full(6, 0.6)), rng.gamma(0.5, size=(4, 6))
    np.testing.assert_allclose(log_mean_exp(np.log(weights), np.log(increments)), np.log(increments @ weights))
    np.testing.assert_allclose(log_mean_exp(np.log(weights), np.full(6, -5000.0)), -5000.0)


def test_a_particle_without_weight_counts_for_nothing():
    log_weights = np.array([0.0, -np.inf, np.log(3.0)])
    assert ess(log_weights) == pytest.approx(16 / 10)
    assert conditional_ess(normalise(log_weights), np.array([0.3, 99.0, 0.3])) == pytest.approx(3)


def test_large_logs_do_not_cancel(rng):
    """Squares of weights would lose the digits that tell the particles apart."""
    far = np.round(rng.normal(0, 3, size=50)) - 3e15
    near = far - far.max()
    assert ess(far) == pytest.approx(ess(near), rel=1e-12)
    equal = np.full(50, -np.log(50))
    assert conditional_ess(equal, far) == pytest.approx(conditional_ess(equal, near), rel=1e-12)
    np.testing.assert_allclose(np.exp(normalise(far)).sum(), 1, rtol=1e-12)


def test_nothing_is_effective_where_no_particle_has_weight():
    equal, lost = np.full(4, -np.log(4)), np.array([[-np.inf] * 4, [-np.inf, 2.0, -np.inf, -np.inf]])
    np.testing.assert_allclose(ess(lost), [0, 1])
    np.testing.assert_allclose(conditional_ess(equal, lost), [0, 1])

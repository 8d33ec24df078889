import jax
import numpy as np
import pytest
import quadrature
from scipy import stats

import closed_form
from hyperplanes.inference import run_chain
from p_values import LEVEL

N_ITERATIONS = 40_000
N_BATCHES = 40


def run_small(seed: int, n_iterations: int, **options):
    return run_chain(
        jax.random.key(seed),
        quadrature.INPUTS,
        quadrature.RESPONSE,
        prior=quadrature.PRIOR,
        n_iterations=n_iterations,
        **{"n_hyperplanes": 1} | options,
    )


@pytest.mark.parametrize("exponent", [0.3, 1.0])
def test_long_run_averages_agree_with_numerical_integration(exponent, seed):
    exact = quadrature.integrate(exponent)
    chain = run_small(seed, N_ITERATIONS, exponent=exponent)
    batches = quadrature.statistics_of(*chain.particles[:4]).reshape(N_BATCHES, -1, len(exact.means)).mean(axis=1)
    p_values = stats.ttest_1samp(batches[1:], exact.means).pvalue
    assert p_values.min() * len(p_values) > LEVEL
    assert np.all(batches[:, :4].std(axis=0) < 0.3 * exact.scales)  # the batches agree, so that the test has power


def test_the_trace_is_the_log_likelihood_of_each_draw(seed):
    chain = run_small(seed, N_ITERATIONS)
    rows = {"inputs": quadrature.INPUTS, "response": quadrature.RESPONSE, "row_weights": np.ones(10)}
    fields = ("normals", "offsets", "coefficients", "noise_variance")
    for index in (0, 1, 777, N_ITERATIONS - 1):
        particle = {name: getattr(chain.particles, name)[index] for name in fields}
        expected = closed_form.log_likelihood(closed_form.Problem(**rows, **particle))
        assert chain.log_likelihood[index] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_acceptance_is_the_share_of_changed_hyperplanes(seed):
    chain = run_small(seed, N_ITERATIONS)
    changed = np.diff(chain.particles.offsets[:, 0]) != 0
    np.testing.assert_array_equal(changed, chain.accepted[1:] == 1)
    assert chain.acceptance == pytest.approx(chain.accepted.mean())
    assert 0.05 < chain.acceptance < 0.95


def test_the_same_key_gives_the_same_chain_and_another_key_another(seed):
    first, again, other = (run_small(number, N_ITERATIONS) for number in (seed, seed, seed + 1))
    np.testing.assert_array_equal(first.log_likelihood, again.log_likelihood)
    assert not np.any(first.log_likelihood == other.log_likelihood)


@pytest.mark.parametrize("name", ["n_hyperplanes", "n_iterations"])
def test_bad_sizes_are_errors_that_name_the_value(name, seed):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        run_small(seed, **{"n_iterations": 5} | {name: 0})

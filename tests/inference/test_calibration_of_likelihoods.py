"""Simulation-based calibration of fits with every likelihood; `benchmarks/calibration_of_likelihoods.py` is longer."""

import jax
import numpy as np
import pytest

from hyperplanes.experiments.calibration import uniform_p_values
from hyperplanes.experiments.calibration_of_likelihoods import (
    LIKELIHOODS,
    draw_from_prior,
    draw_response,
    log_likelihood,
    rank_of_truth,
    ranks_among,
)
from p_values import LEVEL

N_TRUTHS = 200
N_PRIOR = 10_000
N_DRAWS = 300


def smallest_p_value(found: list[dict[str, float]]) -> float:
    """Corrected for the number of p-values."""
    each = [
        value
        for statistic in found[0]
        for value in uniform_p_values(np.array([ranks[statistic] for ranks in found]), n_bins=10).values()
    ]
    return min(1.0, len(each) * min(each))


@pytest.mark.long
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_ranks_of_truths_are_uniform(name, seed):
    assert smallest_p_value([rank_of_truth(name, seed + truth) for truth in range(N_TRUTHS)]) > LEVEL


@pytest.mark.long
@pytest.mark.parametrize("name", ["student", "varying"])
def test_fits_to_a_wrong_exponent_fail(name, seed):
    """Draws from the prior cannot stand for these fits: too few of them would have any weight."""
    found = [rank_of_truth(name, seed + truth, exponent=1.6) for truth in range(N_TRUTHS // 2)]
    assert smallest_p_value(found) < LEVEL


@pytest.mark.parametrize("exponent", [1.0, 1.6])
@pytest.mark.parametrize("name", ["bernoulli", "multinomial"])
def test_only_the_right_exponent_passes(name, exponent, seed):
    """Draws from the prior, weighed by the likelihood to an exponent, in place of a fit."""
    rng, (key_truths, key_prior) = np.random.default_rng(seed), jax.random.split(jax.random.key(seed))
    truths, prior = draw_from_prior(key_truths, name, N_TRUTHS), draw_from_prior(key_prior, name, N_PRIOR)
    found = []
    for number in range(N_TRUTHS):
        truth = truths.of(np.array([number]))
        response = draw_response(rng, name, truth)
        log_weights = exponent * log_likelihood(name, prior, response)
        weights = np.exp(log_weights - log_weights.max())
        draws = prior.of(rng.choice(N_PRIOR, size=N_DRAWS, p=weights / weights.sum()))
        found.append(ranks_among(rng, name, truth, response, draws, np.full(N_DRAWS, 1 / N_DRAWS)))
    assert (smallest_p_value(found) > LEVEL) == (exponent == 1.0)

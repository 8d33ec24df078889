"""The number of hyperplanes as an unknown, against the evidences of given numbers by plain Monte Carlo."""

from dataclasses import replace
from functools import partial

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from hyperplanes.inference import Settings, fit
from hyperplanes.inference.fit import FIRST_PLACES
from hyperplanes.model import Data, Prior, cross_products, draw_prior, gaussian, is_present, make_data, paper_prior
from hyperplanes.programs import COMPILER_OPTIONS
from p_values import LEVEL

N_PRIOR_DRAWS = 100_000
N_PARTICLES = 1000
N_RUNS = 8
LARGEST = 5
"""Larger numbers have hardly any posterior mass."""
NUMBER = {"number_mean": 1.5, "number_shape": 2.0}
PRIORS = {
    "plain": replace(paper_prior(2), coefficient_variance=1.5, noise_shape=6.0, noise_scale=0.6, reach=1.2, **NUMBER),
    "all unknown": Prior(
        coefficient_variance=2.0,
        coefficient_shape=3.0,
        noise_shape=6.0,
        noise_scale=0.6,
        reach=1.2,
        inattention=0.2,
        **NUMBER,
    ),
}


def make_rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    inputs = rng.uniform(-1, 1, size=(12, 2))
    response = 1.2 * np.maximum(inputs @ [0.8, 0.6] - 0.1, 0) + 0.3 * rng.normal(size=12)
    return inputs, response, rng.uniform(0.5, 2, size=12)


@partial(jax.jit, compiler_options=COMPILER_OPTIONS)
def weigh_prior_draws(keys: jax.Array, data: Data, prior: Prior) -> tuple[jax.Array, jax.Array]:
    """Numbers of hyperplanes and log evidences of draws from the prior."""

    def one(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        particle = draw_prior(key, prior, FIRST_PLACES, 2, np.float64, unknown_number=True)
        products = cross_products(data, particle.normals, particle.offsets)
        log_evidence = gaussian.log_evidence(data, products, particle.noise_variance, 1.0, prior.given(particle))
        return is_present(particle.normals).sum(), log_evidence

    numbers, log_evidences = jax.lax.map(one, keys, batch_size=2000)
    return numbers, log_evidences


@pytest.mark.parametrize("name", [pytest.param("plain", marks=pytest.mark.long), "all unknown"])
def test_posterior_of_the_number_agrees_with_the_evidence_of_each(name, key, seed):
    """So does the evidence of all."""
    prior, rows = PRIORS[name], make_rows()
    with jax.enable_x64(True):
        data = make_data(*rows, dtype=np.float64)
        draws = weigh_prior_draws(jax.random.split(key, N_PRIOR_DRAWS), data, prior)
    numbers, log_evidences = map(np.asarray, draws)
    weights = np.exp(log_evidences - logsumexp(log_evidences))
    is_number = numbers[:, None] == np.arange(LARGEST + 1)
    expected = weights @ is_number
    expected_error = np.sqrt(weights**2 @ (is_number - expected) ** 2)
    assert np.all(expected_error < 0.015)

    settings = Settings(None, n_particles=N_PARTICLES)
    runs = [fit(jax.random.key(seed + run), *rows, prior=prior, settings=settings) for run in range(N_RUNS)]
    shares = np.array(
        [np.bincount(run.n_hyperplanes, np.exp(run.log_weights), FIRST_PLACES + 1)[: LARGEST + 1] for run in runs]
    )
    errors = np.hypot(shares.std(axis=0, ddof=1) / np.sqrt(N_RUNS), expected_error)
    p_values = 2 * stats.t(N_RUNS - 1).sf(np.abs(shares.mean(axis=0) - expected) / errors)
    assert p_values.min() * len(p_values) > LEVEL
    np.testing.assert_allclose(shares.mean(axis=0), expected, atol=0.04)
    evidence = logsumexp([run.log_evidence for run in runs]) - np.log(N_RUNS)
    assert evidence == pytest.approx(logsumexp(log_evidences) - np.log(N_PRIOR_DRAWS), abs=0.12)


@pytest.mark.long
def test_posterior_of_the_number_agrees_with_the_evidences_of_fits_with_given_numbers(seed):
    """Where the scale of coefficients is known: otherwise it depends on the intensity, and that on the number."""
    prior, rows, numbers = PRIORS["plain"], make_rows(), np.arange(1, 4)

    def evidence(number: int | None) -> tuple[float, float]:
        settings = Settings(number, n_particles=N_PARTICLES)
        found = [fit(jax.random.key(seed + run), *rows, prior=prior, settings=settings) for run in range(N_RUNS)]
        logs = np.array([run.log_evidence for run in found])
        return float(logsumexp(logs) - np.log(N_RUNS)), float(logs.std(ddof=1) / np.sqrt(N_RUNS))

    with jax.enable_x64(True):
        log_prior = np.asarray(prior.log_number(FIRST_PLACES))[numbers]
    logs, errors = np.array([evidence(int(number)) for number in numbers]).T
    runs = [
        fit(jax.random.key(seed + run), *rows, prior=prior, settings=Settings(None, n_particles=N_PARTICLES))
        for run in range(N_RUNS)
    ]
    shares = np.array(
        [np.bincount(run.n_hyperplanes, np.exp(run.log_weights), FIRST_PLACES + 1)[numbers] for run in runs]
    )
    found = np.log(shares.mean(axis=0))
    found_errors = shares.std(axis=0, ddof=1) / np.sqrt(N_RUNS) / shares.mean(axis=0)
    differences = (found - found[0]) - (log_prior + logs - log_prior[0] - logs[0])
    bounds = np.sqrt(errors**2 + errors[0] ** 2 + found_errors**2 + found_errors[0] ** 2)
    assert np.all(np.abs(differences[1:]) < 5 * bounds[1:])
    assert np.all(bounds < 0.1)


def test_without_information_the_number_has_its_prior(seed):
    inputs = np.linspace([-1, 0.5], [1, -0.3], 4)
    prior = Prior(noise_shape=50.0, noise_scale=50.0 * 1e6, reach=1.0, number_mean=4.0, number_shape=3.0)
    settings = Settings(None, n_particles=N_PARTICLES)
    runs = [fit(jax.random.key(seed + run), inputs, np.zeros(4), prior=prior, settings=settings) for run in range(4)]
    shares = np.mean(
        [np.bincount(run.n_hyperplanes, np.exp(run.log_weights), FIRST_PLACES + 1) for run in runs], axis=0
    )
    expected = stats.nbinom(3.0, 3.0 / 7.0).pmf(np.arange(FIRST_PLACES + 1))
    assert expected.sum() > 0.995  # there are places enough
    assert np.abs(shares - expected).sum() / 2 < 0.04

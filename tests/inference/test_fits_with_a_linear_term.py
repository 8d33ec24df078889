"""Fits with a linear term, against linear regression by quadrature."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from some_particles import functions_of

from hyperplanes.inference import Posterior, Settings, fit
from hyperplanes.inference.compound import with_room as with_room_for_all
from hyperplanes.inference.fit import FIRST_PLACES, draw_states, without_empty_places
from hyperplanes.inference.samplers import with_room
from hyperplanes.model import Prior, gaussian, make_data
from hyperplanes.model.likelihoods import Varying
from hyperplanes.model.prior import FAR
from hyperplanes.moves import make_state

N_PARTICLES = 1000
NEW_INPUTS = np.array([[0.0, 0.0], [1.5, -0.7], [-2.0, 0.9]])
NEGLIGIBLE = Prior(
    coefficient_variance=1e-10,
    coefficient_shape=0.0,
    intercept_variance=0.5,
    linear_variance=1.4,
    noise_shape=3.0,
    noise_scale=0.3,
    reach=1.5,
)
"""Of a linear regression: hyperplanes have hardly any coefficient."""
LAID_OUT = replace(NEGLIGIBLE, linear_variance=(1.4, 1.4), number_mean=1000.0, number_shape=100.0)


def make_rows(n_rows: int = 25) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    inputs = rng.normal(size=(n_rows, 2))
    response = 0.4 + inputs @ [1.1, -0.6] + 0.5 * rng.normal(size=n_rows)
    return inputs, response, rng.uniform(0.5, 2, size=n_rows)


def regress(inputs: np.ndarray, response: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Log evidence, and posterior means of the line at new inputs, summed over a grid of log sigma^2."""
    prior, log_noise = NEGLIGIBLE, np.linspace(-5, 3, 400)
    variances = np.array([prior.intercept_variance, prior.linear_variance, prior.linear_variance])
    Z, new = (np.column_stack([np.ones(len(each)), each]) for each in (inputs, NEW_INPUTS))
    density = stats.invgamma(prior.noise_shape, scale=prior.noise_scale).logpdf(np.exp(log_noise)) + log_noise
    log_masses, means = density + np.log(log_noise[1] - log_noise[0]), []
    for k, noise in enumerate(np.exp(log_noise)):
        covariance = np.diag(noise / weights) + (Z * variances) @ Z.T
        constant = 0.5 * ((1 - weights) * np.log(2 * np.pi * noise) - np.log(weights)).sum()
        log_masses[k] += constant + stats.multivariate_normal(np.zeros(len(Z)), covariance).logpdf(response)
        means.append((new * variances) @ Z.T @ np.linalg.solve(covariance, response))
    log_evidence = logsumexp(log_masses)
    return float(log_evidence), np.exp(log_masses - log_evidence) @ np.array(means)


@pytest.mark.parametrize("n_hyperplanes", [1, None])
def test_with_negligible_hyperplanes_it_is_linear_regression(n_hyperplanes, seed):
    rows = make_rows()
    evidence, means = regress(*rows)
    settings = Settings(n_hyperplanes, n_particles=N_PARTICLES)
    posterior = fit(jax.random.key(seed), *rows, prior=NEGLIGIBLE, settings=settings)
    places = 0.0 if n_hyperplanes else stats.nbinom(1.0, 1.0 / 21.0).logcdf(FIRST_PLACES)  # of a number up to them
    assert posterior.log_evidence == pytest.approx(evidence + places, abs=4 * posterior.log_evidence_error + 0.02)
    assert posterior.log_evidence_error < 0.2
    found = np.exp(posterior.log_weights) @ functions_of(posterior, NEW_INPUTS)
    np.testing.assert_allclose(found, means, atol=0.04)
    np.testing.assert_array_equal(posterior.offsets[:, :2], -FAR)
    np.testing.assert_array_equal(posterior.normals[:, :2], np.broadcast_to(np.eye(2), (N_PARTICLES, 2, 2)))
    assert posterior.n_permanent == 2
    assert np.all(posterior.n_active <= posterior.n_hyperplanes)
    assert n_hyperplanes is None or np.all(posterior.n_hyperplanes == 1)


def test_without_information_the_number_has_its_prior_beside_a_linear_term(seed):
    inputs = np.linspace([-1, 0.5], [1, -0.3], 4)
    number = {"number_mean": 4.0, "number_shape": 3.0}
    prior = Prior(noise_shape=50.0, noise_scale=50.0 * 1e6, reach=1.0, linear_variance=1.0, **number)
    settings = Settings(None, n_particles=N_PARTICLES)
    runs = [fit(jax.random.key(seed + run), inputs, np.zeros(4), prior=prior, settings=settings) for run in range(4)]
    shares = np.mean(
        [np.bincount(run.n_hyperplanes, np.exp(run.log_weights), FIRST_PLACES + 1) for run in runs], axis=0
    )
    expected = stats.nbinom(3.0, 3.0 / 7.0).pmf(np.arange(FIRST_PLACES + 1))
    assert np.abs(shares - expected).sum() / 2 < 0.04


def test_more_room_leaves_permanent_places_the_first(key):
    inputs, response, weights = make_rows()
    settings = Settings(None, n_particles=30)
    with jax.enable_x64(True):
        data = make_data(inputs, response, weights, dtype=np.float64)
        states = draw_states(key, data, LAID_OUT, settings)
        wider = with_room(states, 2)
        assert wider.particle.offsets.shape == (30, 2 + 2 * FIRST_PLACES)
        anew = jax.vmap(make_state, (0, None))(wider.particle, data)
        np.testing.assert_allclose(wider.products, anew.products, rtol=1e-12, atol=1e-12)
        evidences = [
            gaussian.evidence_path(
                data,
                0 * each.products,
                each.products,
                each.particle.noise_variance,
                each.particle.coefficient_variance,
                LAID_OUT,
            )([0.3, 1.0])
            for each in (states, wider)
        ]
        np.testing.assert_allclose(*evidences, rtol=1e-10)
        assert with_room(draw_states(key, data, replace(LAID_OUT, number_mean=1.0), settings), 2).products.shape[1] == (
            2 + FIRST_PLACES + 2
        )
        few = without_empty_places(wider.particle)
        np.testing.assert_array_equal(few.offsets[:, :2], -FAR)
        np.testing.assert_allclose(
            functions_of(few, NEW_INPUTS), functions_of(wider.particle, NEW_INPUTS), rtol=1e-10, atol=1e-10
        )
        unknowns = draw_states(key, data, LAID_OUT, settings, Varying())
        assert unknowns.spread.offsets.shape == (30, FIRST_PLACES)
        assert with_room_for_all(unknowns, 2).outputs.offsets.shape == (30, 1, 2 + 2 * FIRST_PLACES)


def test_particles_without_hyperplanes_beside_the_line_are_not_alike(seed):
    """A genealogy that has collapsed is one where hyperplanes are alike."""
    prior = replace(NEGLIGIBLE, number_mean=0.01)
    posterior = fit(jax.random.key(seed), *make_rows(), prior=prior, settings=Settings(None, n_particles=40))
    assert np.sum(posterior.n_hyperplanes == 0) > 30
    assert posterior.n_distinct == 40
    assert posterior._replace(n_permanent=0).n_distinct < 10


def test_noise_that_varies_has_no_linear_term_of_its_own(seed):
    posterior: Posterior = fit(
        jax.random.key(seed),
        *make_rows(),
        prior=replace(NEGLIGIBLE, coefficient_variance=1.0),
        settings=Settings(2, n_particles=40),
        likelihood=Varying(),
    )
    assert posterior.n_permanent == 2
    assert posterior.spread is not None
    assert posterior.spread.n_permanent == 0
    means = np.exp(posterior.log_weights) @ functions_of(posterior, NEW_INPUTS)
    np.testing.assert_allclose(means, regress(*make_rows())[1], atol=0.4)  # where the noise is the same everywhere


def test_hyperplanes_that_are_moved_in_parts_have_no_linear_term():
    with pytest.raises(ValueError, match=r"prior\.linear_variance must be 0 where hyperplanes are moved in parts"):
        fit(jax.random.key(0), *make_rows(), prior=NEGLIGIBLE, settings=Settings(None, n_parts=2))

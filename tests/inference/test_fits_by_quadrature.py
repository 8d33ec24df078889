"""Fits of every likelihood against quadrature over the prior, for one hyperplane in one column."""

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.special import log_softmax, logsumexp, ndtri

from hyperplanes.inference import Settings, fit
from hyperplanes.model import Prior, spread_prior
from hyperplanes.model.likelihoods import Bernoulli, Multinomial, Student, Varying
from hyperplanes.model.likelihoods.student import DEGREES_RATE, DEGREES_SHAPE, FEWEST_DEGREES
from hyperplanes.model.likelihoods.varying import LARGEST_SPREAD
from hyperplanes.model.prediction import function_values

N_POINTS = 2**19
INPUTS = np.array([-0.9, -0.4, 0.0, 0.2, 0.6, 0.9])
NEW = np.array([-0.7, 0.8])
PRIOR = Prior(
    coefficient_variance=1.5,
    coefficient_shape=0.0,
    intercept_variance=0.8,
    noise_shape=3.0,
    noise_scale=1.0,
    reach=1.0,
    inattention=1.0,
)
RESPONSES = {
    "bernoulli": np.array([1, 1, 0, 0, 0, 1.0]),
    "multinomial": np.array([0, 0, 1, 2, 2, 2.0]),
    "student": np.array([0.3, 0.1, -0.2, 2.5, 0.9, 1.0]),
    "varying": np.array([0.1, 0.1, -0.1, 0.4, 1.5, -0.6]),
}
LIKELIHOODS = {"bernoulli": Bernoulli(), "multinomial": Multinomial(3), "student": Student(), "varying": Varying()}


def network_of(points: np.ndarray, prior: Prior, at: np.ndarray) -> np.ndarray:
    """Functions (n_points, n) of one hyperplane from uniform numbers (n_points, 4); a fifth is of their scale."""
    sign, offset = np.where(points[:, 0] < 0.5, -1.0, 1.0)[:, None], 2 * points[:, 1:2] - 1
    intercept = np.sqrt(prior.intercept_variance) * ndtri(points[:, 2:3])
    variance = prior.coefficient_variance
    if prior.coefficient_shape > 0:
        shape = prior.coefficient_shape
        variance = stats.invgamma(shape, scale=shape * variance).ppf(points[:, 4:5])
    slope = np.sqrt(variance) * ndtri(points[:, 3:4])
    return intercept + slope * np.maximum(sign * at - offset, 0)


def quadrature(name: str) -> tuple[float, np.ndarray]:
    """Log evidence and posterior mean of the first function at new inputs, by a Sobol sequence through the prior."""
    n_dimensions = {"multinomial": 12, "student": 6, "varying": 9}.get(name, 4)
    points = np.clip(stats.qmc.Sobol(n_dimensions, seed=1).random(N_POINTS), 1e-12, 1 - 1e-12)
    at, response = np.append(INPUTS, NEW), RESPONSES[name]
    first = network_of(points, PRIOR, at)
    f = first[:, : len(INPUTS)]
    if name == "bernoulli":
        terms = -np.logaddexp(0, np.where(response > 0.5, -f, f))
    elif name == "multinomial":
        others = [network_of(points[:, k : k + 4], PRIOR, INPUTS) for k in (4, 8)]
        shares = log_softmax(np.stack([f, *others], axis=1), axis=1)
        terms = shares[:, response.astype(int), np.arange(len(INPUTS))]
    elif name == "student":
        variance = stats.invgamma(PRIOR.noise_shape, scale=PRIOR.noise_scale).ppf(points[:, 4:5])
        degrees = FEWEST_DEGREES + stats.gamma(DEGREES_SHAPE, scale=1 / DEGREES_RATE).ppf(points[:, 5:6])
        terms = stats.t.logpdf(response, degrees, f, np.sqrt(variance))
    else:
        spread = network_of(points[:, 4:], spread_prior(PRIOR), INPUTS)
        terms = stats.norm.logpdf(response, f, np.exp(np.clip(spread, -LARGEST_SPREAD, LARGEST_SPREAD)))
    log_likelihoods = terms.sum(axis=1)
    log_evidence = logsumexp(log_likelihoods) - np.log(N_POINTS)
    return float(log_evidence), np.exp(log_likelihoods - logsumexp(log_likelihoods)) @ first[:, len(INPUTS) :]


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_evidence_and_mean_agree_with_quadrature(name, seed):
    log_evidence, mean = quadrature(name)
    posterior = fit(
        jax.random.key(seed),
        INPUTS[:, None],
        RESPONSES[name],
        prior=PRIOR,
        settings=Settings(n_hyperplanes=1, n_particles=3000, n_threads=2),
        likelihood=LIKELIHOODS[name],
    )
    assert posterior.log_evidence == pytest.approx(log_evidence, abs=max(0.06, 4 * posterior.log_evidence_error))
    values = np.concatenate(list(function_values(posterior, NEW[:, None], 2**30)), axis=1)
    np.testing.assert_allclose(np.exp(posterior.log_weights) @ values, mean, atol=0.06)

"""Simulation-based calibration of fits with every likelihood.

Unknowns are drawn from the prior and a response given them; then the truth is a draw from the posterior, and its rank
among posterior draws is uniform, for any function of unknowns and response.
"""

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.special import log_expit, log_softmax

from hyperplanes.inference import Posterior, Settings, fit
from hyperplanes.model import Prior
from hyperplanes.model.likelihoods import Bernoulli, Likelihood, Multinomial, Student, Varying, draw_unknowns
from hyperplanes.model.prediction import function_values
from p_values import LEVEL

N_REPLICATES = 200
N_PARTICLES = 120
INPUTS = np.random.default_rng(0).uniform(-1, 1, size=(16, 2))
NEW = np.array([[0.7, 0.5], [-0.6, 0.2], [0.1, -0.9]])
PRIOR = Prior(
    coefficient_variance=2.0,
    coefficient_shape=3.0,
    intercept_variance=0.5,
    noise_shape=4.0,
    noise_scale=1.5,
    reach=1.2,
    inattention=0.2,
)
LIKELIHOODS = {"bernoulli": Bernoulli(), "multinomial": Multinomial(3), "student": Student(), "varying": Varying()}
SETTINGS = Settings(n_hyperplanes=2, n_particles=N_PARTICLES, n_threads=2)


class Functions:
    """Draws of networks at some inputs: (n_draws, n)."""

    def __init__(self, networks: list[object], spread: object | None, degrees: np.ndarray, noise: np.ndarray) -> None:
        self._networks, self._spread, self.degrees, self.noise = networks, spread, degrees, noise

    @classmethod
    def of_posterior(cls, posterior: Posterior) -> "Functions":
        degrees = np.full(N_PARTICLES, np.inf) if posterior.degrees is None else posterior.degrees
        return cls([posterior, *posterior.others], posterior.spread, degrees, posterior.noise_variance)

    def outputs(self, inputs: np.ndarray) -> list[np.ndarray]:
        return [np.concatenate(list(function_values(each, inputs, 2**30)), axis=1) for each in self._networks]

    def spreads(self, inputs: np.ndarray) -> np.ndarray | None:
        if self._spread is None:
            return None
        found = np.concatenate(list(function_values(self._spread, inputs, 2**30)), axis=1)
        return np.exp(np.clip(found, -11, 11))


def draw_truth(seed: int, likelihood: Likelihood) -> Functions:
    """One draw from the prior, with a leading axis."""
    drawn = draw_unknowns(jax.random.key(seed), likelihood, PRIOR, 2, 2, np.float64, unknown_number=False)
    drawn = jax.tree.map(lambda leaf: np.asarray(leaf)[None], drawn)
    networks = [jax.tree.map(lambda leaf, k=k: leaf[:, k], drawn.outputs) for k in range(likelihood.n_outputs)]
    return Functions(networks, drawn.spread, drawn.degrees, networks[0].noise_variance)


def log_likelihood(name: str, draws: Functions, response: np.ndarray) -> np.ndarray:
    """Of all rows, for each draw."""
    outputs = draws.outputs(INPUTS)
    if name == "bernoulli":
        return log_expit(np.where(response > 0.5, outputs[0], -outputs[0])).sum(axis=1)
    if name == "multinomial":
        shares = log_softmax(np.stack(outputs, axis=1), axis=1)
        return shares[:, response.astype(int), np.arange(len(response))].sum(axis=1)
    if name == "student":
        return stats.t.logpdf(response, draws.degrees[:, None], outputs[0], np.sqrt(draws.noise)[:, None]).sum(axis=1)
    return stats.norm.logpdf(response, outputs[0], draws.spreads(INPUTS)).sum(axis=1)


def draw_response(name: str, truth: Functions, rng: np.random.Generator) -> np.ndarray:
    outputs = truth.outputs(INPUTS)
    first = outputs[0][0]
    if name == "bernoulli":
        return (rng.uniform(size=len(first)) < np.exp(log_expit(first))).astype(float)
    if name == "multinomial":
        shares = np.exp(log_softmax(np.stack([each[0] for each in outputs]), axis=0))
        return np.sum(np.cumsum(shares, axis=0) < rng.uniform(size=len(first)), axis=0).clip(max=2).astype(float)
    if name == "student":
        return first + np.sqrt(truth.noise[0]) * rng.standard_t(truth.degrees[0], size=len(first))
    return first + truth.spreads(INPUTS)[0] * rng.standard_normal(len(first))


def statistics(name: str, draws: Functions, response: np.ndarray) -> np.ndarray:
    """(n_draws, n_statistics)."""
    outputs = draws.outputs(NEW)
    found = [
        log_likelihood(name, draws, response)[:, None],
        *(each - np.mean(outputs, axis=0) for each in outputs[1:]),
        outputs[0],
    ]
    if name == "student":
        found += [draws.degrees[:, None], draws.noise[:, None]]
    if name == "varying":
        found.append(draws.spreads(NEW))
    return np.column_stack(found)


@pytest.mark.long
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_ranks_of_truths_are_uniform(name, seed):
    rng, likelihood, ranks = np.random.default_rng(seed), LIKELIHOODS[name], []
    for replicate in range(N_REPLICATES):
        with jax.enable_x64(True):
            truth = draw_truth(int(rng.integers(2**31)), likelihood)
            response = draw_response(name, truth, rng)
            expected = statistics(name, truth, response)
        posterior = fit(
            jax.random.key(replicate), INPUTS, response, prior=PRIOR, settings=SETTINGS, likelihood=likelihood
        )
        found = statistics(name, Functions.of_posterior(posterior), response)
        ranks.append(np.exp(posterior.log_weights) @ (found < expected))
    p_values = [stats.kstest(column, stats.uniform.cdf).pvalue for column in np.array(ranks).T]
    assert min(p_values) * len(p_values) > LEVEL

"""Simulation-based calibration of fits with every likelihood, one truth at a time: see `calibration`."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import log_expit, log_softmax

from hyperplanes.experiments.calibration import Floats, ranks
from hyperplanes.inference import Posterior, Settings, fit
from hyperplanes.model import Prior
from hyperplanes.model.likelihoods import Bernoulli, Likelihood, Multinomial, Student, Varying, draw_unknowns
from hyperplanes.model.likelihoods.varying import LARGEST_SPREAD
from hyperplanes.model.prediction import function_values
from hyperplanes.programs import QUICK_TO_COMPILE

LIKELIHOODS: dict[str, Likelihood] = {
    "bernoulli": Bernoulli(),
    "multinomial": Multinomial(3),
    "student": Student(),
    "varying": Varying(),
}
N_HYPERPLANES = 2
INPUTS = np.random.default_rng(0).uniform(-1, 1, size=(24, 2))
NEW_INPUTS = np.array([[0.7, 0.5], [-0.6, 0.2], [0.1, -0.9]])
PRIOR = Prior(
    coefficient_variance=10.0,
    coefficient_shape=3.0,
    intercept_variance=1.0,
    noise_shape=4.0,
    noise_scale=1.5,
    reach=1.2,
    inattention=0.2,
)
PRIORS = {"narrow": PRIOR, "wide": replace(PRIOR, coefficient_shape=0.5, intercept_variance=10.0)}
"""Wide is as wide as that of fits by default; the spread of noise has the same in both."""
SETTINGS = Settings(n_hyperplanes=N_HYPERPLANES)
MAX_BYTES = 2**30


class Draws(NamedTuple):
    """Of everything that is unknown, as what it does at the inputs and then at the new ones."""

    outputs: Floats
    """(n_outputs, n_draws, n)."""
    deviations: Floats | None
    """(n_draws, n): standard deviation of the noise, where it varies."""
    degrees: Floats
    """(n_draws,) degrees of freedom."""
    noise_variance: Floats
    """(n_draws,)."""

    def of(self, which: NDArray[np.int64]) -> "Draws":
        """Some of the draws."""
        some = None if self.deviations is None else self.deviations[which]
        return Draws(self.outputs[:, which], some, self.degrees[which], self.noise_variance[which])


def rank_of_truth(name: str, seed: int, prior: Prior = PRIOR, exponent: float = 1.0) -> dict[str, float]:
    """Ranks of one truth among the particles of a fit to a response that was drawn given it.

    Parameters
    ----------
    name : str
        Of a likelihood in `LIKELIHOODS`.
    seed : int
        Of truth, response and fit.
    prior : Prior, optional
        Of truth and fit.
    exponent : float, optional
        Of the likelihood that is fitted; another than 1 is a mistake that the ranks should show.
    """
    key_truth, key_response, key_fit = jax.random.split(jax.random.key(seed), 3)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key_response)))
    truth = draw_from_prior(key_truth, name, 1, prior)
    response = draw_response(rng, name, truth)
    powers = np.full(len(INPUTS), exponent)
    posterior = fit(key_fit, INPUTS, response, powers, prior=prior, settings=SETTINGS, likelihood=LIKELIHOODS[name])
    return ranks_among(rng, name, truth, response, draws_of_posterior(posterior), np.exp(posterior.log_weights))


def draw_from_prior(key: jax.Array, name: str, n_draws: int, prior: Prior = PRIOR) -> Draws:
    """Independent draws from the prior."""
    with jax.enable_x64(True):
        drawn = _draw_unknowns(jax.random.split(key, n_draws), prior, name)
        n_outputs = LIKELIHOODS[name].n_outputs
        networks = [jax.tree.map(lambda leaf, k=k: np.asarray(leaf[:, k]), drawn.outputs) for k in range(n_outputs)]
        return _make_draws(networks, drawn.spread, np.asarray(drawn.degrees), networks[0].noise_variance)


@partial(jax.jit, static_argnames="name", compiler_options=QUICK_TO_COMPILE)
def _draw_unknowns(keys: jax.Array, prior: Prior, name: str) -> Any:
    shapes = N_HYPERPLANES, INPUTS.shape[1], np.float64
    return jax.vmap(lambda key: draw_unknowns(key, LIKELIHOODS[name], prior, *shapes, unknown_number=False))(keys)


def draws_of_posterior(posterior: Posterior) -> Draws:
    """The particles of a fit."""
    degrees = np.full(len(posterior.log_weights), np.inf) if posterior.degrees is None else posterior.degrees
    return _make_draws([posterior, *posterior.others], posterior.spread, degrees, posterior.noise_variance)


def _make_draws(networks: Sequence[Any], spread: Any, degrees: Floats, noise_variance: Floats) -> Draws:
    def values(network: Any) -> Floats:
        rows = np.concatenate([INPUTS, NEW_INPUTS])
        return np.concatenate(list(function_values(network, rows, MAX_BYTES)), axis=1)

    deviations = None if spread is None else np.exp(np.clip(values(spread), -LARGEST_SPREAD, LARGEST_SPREAD))
    return Draws(np.stack([values(network) for network in networks]), deviations, degrees, noise_variance)


def draw_response(rng: np.random.Generator, name: str, truth: Draws) -> Floats:
    """Draw a response at the inputs given the first of some draws."""
    n_rows = len(INPUTS)
    outputs = truth.outputs[:, 0, :n_rows]
    if name == "bernoulli":
        return np.asarray(np.log(rng.uniform(size=n_rows)) < log_expit(outputs[0]), dtype=np.float64)
    if name == "multinomial":
        return np.asarray(np.argmax(outputs + rng.gumbel(size=outputs.shape), axis=0), dtype=np.float64)
    if name == "student":
        return np.asarray(outputs[0] + np.sqrt(truth.noise_variance[0]) * rng.standard_t(truth.degrees[0], n_rows))
    assert truth.deviations is not None
    return np.asarray(outputs[0] + truth.deviations[0, :n_rows] * rng.standard_normal(n_rows))


def log_likelihood(name: str, draws: Draws, response: Floats) -> Floats:
    """Of all rows, for each draw: (n_draws,)."""
    n_rows = len(INPUTS)
    outputs = draws.outputs[:, :, :n_rows]
    if name == "bernoulli":
        terms = log_expit(np.where(response > 0.5, outputs[0], -outputs[0]))
    elif name == "multinomial":
        terms = np.moveaxis(log_softmax(outputs, axis=0), 0, 1)[:, response.astype(int), np.arange(n_rows)]
    elif name == "student":
        terms = stats.t.logpdf(response, draws.degrees[:, None], outputs[0], np.sqrt(draws.noise_variance)[:, None])
    else:
        assert draws.deviations is not None
        terms = stats.norm.logpdf(response, outputs[0], draws.deviations[:, :n_rows])
    return np.asarray(terms.sum(axis=1))


def statistics(name: str, draws: Draws, response: Floats) -> dict[str, Floats]:
    """Functions of unknowns and response whose ranks are calibrated, (n_draws,) each."""
    n_rows = len(INPUTS)
    new = draws.outputs[:, :, n_rows:]
    if name == "multinomial":
        new = new - new.mean(axis=0)  # what all have in common says nothing
    found = {"log likelihood": log_likelihood(name, draws, response)}
    for k, output in enumerate(new):
        found |= {f"f{k + 1}(x{i + 1})": output[:, i] for i in range(len(NEW_INPUTS))}
    found["f1(x1) f1(x2)"] = new[0, :, 0] * new[0, :, 1]
    if name == "student":
        found |= {"degrees": draws.degrees, "sigma^2": draws.noise_variance}
    if draws.deviations is not None:
        found |= {f"sigma(x{i + 1})": draws.deviations[:, n_rows + i] for i in range(len(NEW_INPUTS))}
    return found


def ranks_among(
    rng: np.random.Generator, name: str, truth: Draws, response: Floats, draws: Draws, weights: Floats
) -> dict[str, float]:
    """Rank of a truth among weighted draws, for each of the `statistics`; uniform where they are of the posterior."""
    own, others = (statistics(name, each, response) for each in (truth, draws))
    values = np.column_stack(list(others.values()))
    found = ranks(rng, np.column_stack(list(own.values())), values[None], weights[None])
    return dict(zip(own, found[0].tolist(), strict=True))

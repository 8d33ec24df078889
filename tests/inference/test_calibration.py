"""Simulation-based calibration in short; `make calibration` is the long version."""

from dataclasses import replace
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hyperplanes.experiments.calibration import (
    HYPERPLANES,
    STATISTICS,
    TWO_UNITS,
    UNKNOWN_NUMBER,
    Case,
    Procedure,
    calibrate,
    chain_ends,
    fits,
    ranks,
    uniform_p_values,
)
from hyperplanes.inference import Settings
from hyperplanes.inference.samplers import paper_step
from hyperplanes.model import Data, Prior, draw_prior, gaussian
from hyperplanes.moves import State, collapsed_round, make_state, sweep_output_layer
from p_values import LEVEL

N_TRUTHS = 200
N_FITS = 60
SAMPLERS = {
    "auto": Settings(n_hyperplanes=2, n_particles=100),
    "paper": Settings(n_hyperplanes=2, n_particles=100, sampler="paper", n_steps=20),
    "unknown number": Settings(n_hyperplanes=None, n_particles=100),
}
CASES = {"unknown number": UNKNOWN_NUMBER}
"""Of samplers for which it is not two units."""
KERNELS = {"paper_step": chain_ends(paper_step, 120), "collapsed_round": chain_ends(collapsed_round, 20)}


def smallest_p_value(found: dict[str, np.ndarray], n_bins: int) -> float:
    """Corrected for the number of p-values."""
    each = [value for ranks in found.values() for value in uniform_p_values(ranks, n_bins).values()]
    return min(1.0, len(each) * min(each))


def calibrated(procedure: Procedure, seed: int, n_replicates: int, n_bins: int = 20, case: Case = TWO_UNITS) -> float:
    return smallest_p_value(calibrate(jax.random.key(seed), procedure, case, n_replicates), n_bins)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name == "unknown number")) for name in SAMPLERS]
)
def test_sampler_is_calibrated(name, seed):
    assert calibrated(fits(SAMPLERS[name]), seed, N_FITS, n_bins=10, case=CASES.get(name, TWO_UNITS)) > LEVEL


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_is_calibrated(name, seed):
    assert calibrated(KERNELS[name], seed, N_TRUTHS) > LEVEL


def test_too_few_steps_are_found_out(seed):
    hasty = replace(SAMPLERS["paper"], n_steps=1)
    assert calibrated(fits(hasty), seed, N_FITS, n_bins=10) < LEVEL


def wrong_exponent(key: jax.Array, state: State, exponent: jax.Array, data: Data, prior: Prior):
    return sweep_output_layer(key, state, 0.8 * exponent, data, prior)


def without_hastings(key: jax.Array, state: State, exponent: jax.Array, data: Data, prior: Prior):
    """Redraw a hyperplane nearer to the origin than the prior does, and accept it as if it came from the prior."""
    keys = jax.random.split(key, 4)
    state, accepted = sweep_output_layer(keys[0], state, exponent, data, prior)
    particle = state.particle
    m, p = particle.normals.shape
    fresh = draw_prior(keys[1], prior, m, p, particle.normals.dtype)
    moved = jnp.arange(m) == jax.random.randint(keys[2], (), 0, m)
    normals = jnp.where(moved[:, None], fresh.normals, particle.normals)
    offsets = jnp.where(moved, fresh.offsets**3 / prior.reach**2, particle.offsets)
    proposal = make_state(particle._replace(normals=normals, offsets=offsets), data)
    fall = gaussian.squared_error(state.products, particle.coefficients) - gaussian.squared_error(
        proposal.products, particle.coefficients
    )
    chosen = jnp.log(jax.random.uniform(keys[3])) < 0.5 * exponent * fall / particle.noise_variance
    return jax.tree.map(lambda new, old: jnp.where(chosen, new, old), proposal, state), accepted


WRONG: dict[str, tuple[Procedure, int]] = {
    "exponent 0.8": (chain_ends(wrong_exponent, 10, HYPERPLANES), 1000),
    "without Hastings": (chain_ends(without_hastings, 50), N_TRUTHS),
    "not ergodic": (chain_ends(sweep_output_layer, 10), N_TRUTHS),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_kernel_is_found_out(name, seed):
    procedure, n_truths = WRONG[name]
    assert calibrated(procedure, seed, n_truths) < LEVEL


def test_what_a_kernel_never_changes_is_left_out(seed):
    found = calibrate(jax.random.key(seed), chain_ends(sweep_output_layer, 1, HYPERPLANES), TWO_UNITS, N_TRUTHS)
    assert list(found) == [name for name in STATISTICS if name != "active rows"]


def conjugate(rng: np.random.Generator, n_replicates: int, n_draws: int, inflation: float = 1.0):
    """Truth and posterior draws of theta ~ N(0, 1) given y ~ N(theta, 1): N(y / 2, 1 / 2)."""
    truth = rng.normal(size=(n_replicates, 1))
    response = truth + rng.normal(size=truth.shape)
    noise = rng.normal(size=(n_replicates, n_draws, 1))
    return truth, response[:, None] / 2 + np.sqrt(inflation / 2) * noise


@pytest.mark.parametrize("n_draws", [1, 7, 200])
@pytest.mark.parametrize("digits", [0, 15])
def test_ranks_of_exact_draws_are_uniform_whatever_their_number_and_ties(digits, n_draws, rng):
    truth, draws = (np.round(each, digits) for each in conjugate(rng, 5000, n_draws))
    found = ranks(rng, truth, draws, np.full(draws.shape[:2], 1 / n_draws))
    assert smallest_p_value({"theta": found[:, 0]}, n_bins=20) > LEVEL


@pytest.mark.parametrize("inflation", [0.7, 1.4])
def test_draws_from_too_wide_or_narrow_a_posterior_are_found_out(inflation, rng):
    truth, draws = conjugate(rng, 2000, 50, inflation)
    found = ranks(rng, truth, draws, np.full(draws.shape[:2], 1 / 50))
    assert smallest_p_value({"theta": found[:, 0]}, n_bins=20) < LEVEL


@pytest.mark.parametrize(("truth", "low", "high"), [(0.0, 0, 0.25), (2.0, 0.1, 0.1 + 0.5 + 0.25), (9.0, 1, 1.25)])
def test_a_rank_is_the_weight_below_and_a_random_part_of_ties(truth, low, high):
    """With four draws the truth weighs 1/4, and all together 1.25."""
    draws, weights = np.array([[[1.0], [2.0], [2.0], [5.0]]]), np.array([[0.1, 0.2, 0.3, 0.4]])
    for part, expected in ((0.0, low), (1.0, high)):
        always = SimpleNamespace(uniform=lambda size, part=part: np.full(size, part))
        assert ranks(always, [[truth]], draws, weights)[0, 0] == pytest.approx(expected / 1.25)

"""Simulation-based calibration of samplers and of single moves.

Draw unknowns from the prior and a response given them; then the truth is itself a draw from the posterior given that
response, and its rank among posterior draws is uniform, for any function of unknowns and response (Cook, Gelman & Rubin
2006; Talts et al. 2018). Functions of the response too, such as the log likelihood, see errors that functions of the
unknowns alone cannot (Modrak et al. 2023).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from hyperplanes.inference import Settings, fit
from hyperplanes.model import Data, Particle, Prior, draw_prior, make_data, paper_prior, with_places
from hyperplanes.moves import Move, State, make_state
from hyperplanes.programs import COMPILER_OPTIONS, QUICK_TO_COMPILE

Floats = NDArray[np.float64]

N_BINS = 20
MOST_HYPERPLANES = 16
"""Of a truth whose number of hyperplanes is unknown: as many as `fit` has places for at first."""
N_CHAINS = 19
"""Chains for each truth: as many ranks as bins."""


@dataclass(frozen=True, eq=False)
class Case:
    """A regression whose truth and response are drawn again and again."""

    inputs: Floats
    """(n, p)."""
    new_inputs: Floats
    """Where the function is judged, (3, p)."""
    n_hyperplanes: int | None
    """Number of hidden units m, None where it is unknown."""
    prior: Prior
    """Hyperparameters."""

    @property
    def n_places(self) -> int:
        """For hyperplanes."""
        return MOST_HYPERPLANES if self.n_hyperplanes is None else self.n_hyperplanes


class Truths(NamedTuple):
    """What was drawn; leaves have a leading axis of length n_replicates."""

    particles: Particle
    """From the prior."""
    responses: jax.Array
    """Given the particles, (n_replicates, n)."""


class Draws(NamedTuple):
    """What a sampler makes of the responses."""

    particles: Particle
    """Leaves have leading axes (n_replicates, n_draws)."""
    weights: Floats
    """(n_replicates, n_draws), each row sums to 1."""


Procedure = Callable[[jax.Array, Truths, Case], Draws]
"""What is calibrated: from (key, truths, case) to draws. Of the truths it may use what it is said to know."""


def calibrate(key: jax.Array, procedure: Procedure, case: Case, n_replicates: int) -> dict[str, Floats]:
    """Ranks in (0, 1) of as many truths, for each of the `STATISTICS`; uniform where the procedure is right.

    Statistics in which no draw ever differs from its truth are left out: they say nothing.

    Parameters
    ----------
    key : jax.Array
        Random key.
    procedure : Procedure
        See `chain_ends` and `fits`.
    case : Case
        What to draw truths for.
    n_replicates : int
        Number of truths.
    """
    with jax.enable_x64(True):
        key_truth, key_draws, key_ranks = jax.random.split(key, 3)
        truths = draw_truths(key_truth, case, n_replicates)
        particles, weights = procedure(key_draws, truths, case)
        alone: Particle = jax.tree.map(lambda leaf: leaf[:, None], truths.particles)
        truth, draws = (np.asarray(_statistics(each, truths.responses, case)) for each in (alone, particles))
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key_ranks)))
        found = ranks(rng, truth[:, 0], draws, weights)
    says_something = np.any(draws != truth, axis=(0, 1))
    return {name: found[:, i] for i, name in enumerate(STATISTICS) if says_something[i]}


def draw_truths(key: jax.Array, case: Case, n_replicates: int) -> Truths:
    """Draw unknowns from the prior and a response given each."""
    key_particles, key_noise = jax.random.split(key)
    particles = _draw_prior(key_particles, case, (n_replicates,))
    means = jax.vmap(lambda particle: _function(particle, case.inputs)[0])(particles)
    noise = jax.random.normal(key_noise, means.shape)
    return Truths(particles, means + jnp.sqrt(particles.noise_variance)[:, None] * noise)


def ranks(rng: np.random.Generator, truth: ArrayLike, draws: ArrayLike, weights: ArrayLike) -> Floats:
    """Rank of each truth among weighted draws, in (0, 1): (n_replicates, n_statistics).

    The truth counts as one draw more, of average weight, and ties are broken at random: among independent draws of
    equal weight the rank is exactly uniform, whatever their number and however often values repeat.

    Parameters
    ----------
    rng : numpy Generator
        Breaks ties.
    truth : (n_replicates, n_statistics)
        Statistics of the truths.
    draws : (n_replicates, n_draws, n_statistics)
        Statistics of the draws.
    weights : (n_replicates, n_draws)
        Of the draws; each row sums to 1.
    """
    values, own, shares = np.asarray(draws), np.asarray(truth)[:, None], np.asarray(weights)[:, :, None]
    below, level = (np.sum(shares * each, axis=1) for each in (values < own, values == own))
    average = 1 / values.shape[1]
    return np.asarray((below + rng.uniform(size=below.shape) * (level + average)) / (1 + average))


def uniform_p_values(found: Floats, n_bins: int = N_BINS) -> dict[str, float]:
    """P-values of ranks being uniform: chi-square over bins, and Kolmogorov-Smirnov."""
    counts, _ = np.histogram(found, n_bins, (0, 1))
    return {
        "chi-square": float(stats.chisquare(counts).pvalue),
        "Kolmogorov-Smirnov": float(stats.kstest(found, stats.uniform.cdf).pvalue),
    }


def fits(settings: Settings) -> Procedure:
    """Calibrate a sampler: the weighted particles of one fit for each response.

    Particles of one fit depend on each other and differ in weight. With n effective ones among many the variance of
    ranks is a share 2 / n too large, since their distribution function strays by F (1 - F) / n; resampling draws from
    them first would not help. Take hundreds.
    """

    def procedure(key: jax.Array, truths: Truths, case: Case) -> Draws:
        keys, responses = jax.random.split(key, len(truths.responses)), np.asarray(truths.responses)
        results = [
            fit(key, case.inputs, response, prior=case.prior, settings=settings)
            for key, response in zip(keys, responses, strict=True)
        ]
        most = max(result.offsets.shape[1] for result in results)
        drawn = [Particle(*(jnp.asarray(getattr(result, name)) for name in Particle._fields)) for result in results]
        particles = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(with_places(each, most) for each in drawn))
        return Draws(particles, np.exp([result.log_weights for result in results]))

    return procedure


def chain_ends(move: Move, n_iterations: int, known: tuple[str, ...] = ()) -> Procedure:
    """Calibrate a move: the ends of independent chains that start from the prior.

    They are independent, so that ranks are exactly uniform once the chains have converged. (Those of the truth within
    one chain that starts at it need not be: the moves are not reversible.)

    Parameters
    ----------
    move : Move
        Leaves the posterior invariant, and gets everywhere from anywhere, given what is known.
    n_iterations : int
        Length of a chain.
    known : names of fields of `Particle`
        What the move never changes. It starts at the truth, so that the posterior of the rest given it is calibrated.
    """

    def procedure(key: jax.Array, truths: Truths, case: Case) -> Draws:
        key_start, key_chains = jax.random.split(key)
        shape = (len(truths.responses), N_CHAINS)
        fixed = {name: jnp.repeat(getattr(truths.particles, name)[:, None], N_CHAINS, axis=1) for name in known}
        starts = _draw_prior(key_start, case, shape)._replace(**fixed)
        rows = [make_data(case.inputs, response) for response in np.asarray(truths.responses)]
        data: Data = jax.tree.map(lambda *leaves: np.stack(leaves), *rows)
        prior = case.prior
        ends = _run_chains(move, jax.random.split(key_chains, shape), starts, n_iterations, data, prior)
        return Draws(ends, np.full(shape, 1 / N_CHAINS))

    return procedure


@partial(jax.jit, static_argnums=0, compiler_options=COMPILER_OPTIONS)
def _run_chains(move: Move, keys: jax.Array, starts: Particle, n_iterations: int, data: Data, prior: Prior) -> Particle:
    def run(key: jax.Array, start: Particle, rows: Data) -> Particle:
        def iterate(i: int, state: State) -> State:
            return move(jax.random.fold_in(key, i), state, jnp.float64(1.0), rows, prior)[0]

        end: State = jax.lax.fori_loop(0, n_iterations, iterate, make_state(start, rows))
        return end.particle

    ends: Particle = jax.vmap(jax.vmap(run, (0, 0, None)))(keys, starts, data)
    return ends


@partial(jax.jit, static_argnums=(1, 2), compiler_options=QUICK_TO_COMPILE)
def _draw_prior(key: jax.Array, case: Case, shape: tuple[int, ...]) -> Particle:
    n_columns = case.inputs.shape[1]
    prior = case.prior
    keys = jax.random.split(key, int(np.prod(shape)))
    unknown = case.n_hyperplanes is None

    def draw(key: jax.Array) -> Particle:
        return draw_prior(key, prior, case.n_places, n_columns, np.float32, unknown_number=unknown)

    flat = jax.vmap(draw)(keys)
    particles: Particle = jax.tree.map(lambda leaf: leaf.reshape(*shape, *leaf.shape[1:]), flat)
    return particles


def _function(particle: Particle, inputs: Floats) -> tuple[jax.Array, jax.Array]:
    """Value of the function and number of active units at some rows, from the definition."""
    hidden = jnp.maximum(inputs @ particle.normals.T.astype(float) - particle.offsets, 0)
    return particle.coefficients[0] + hidden @ particle.coefficients[1:], jnp.sum(hidden > 0, axis=1)


STATISTICS = ("f(x1)", "f(x2)", "f(x3)", "f(x1) f(x2)", "sigma^2", "log likelihood", "active rows")
"""Functions of unknowns and response whose ranks are calibrated. The last counts rows, once for each active unit."""


@partial(jax.jit, static_argnames="case")
def _statistics(particles: Particle, responses: jax.Array, case: Case) -> jax.Array:
    """(n_replicates, n_draws, n_statistics) for particles with leading axes (n_replicates, n_draws)."""

    def one(particle: Particle, response: jax.Array) -> jax.Array:
        new, (fitted, n_active) = _function(particle, case.new_inputs)[0], _function(particle, case.inputs)
        noise = particle.noise_variance
        log_likelihood = -0.5 * (len(response) * jnp.log(noise) + jnp.sum((response - fitted) ** 2) / noise)
        return jnp.stack([*new, new[0] * new[1], noise, log_likelihood, n_active.sum().astype(float)])

    over_draws = jax.vmap(one, (0, None))
    values: jax.Array = jax.lax.map(lambda item: over_draws(*item), (particles, responses))
    return values


PRIOR = replace(paper_prior(2), coefficient_mean=0.5, coefficient_variance=1.0, noise_shape=3.0, noise_scale=0.3)
NEW_INPUTS = np.array([[0.8, 0.6], [-0.5, 0.3], [0.2, -0.9]])
SCATTERED = np.random.default_rng(3).uniform(-1, 1, size=(20, 2))
CORNERS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])

TWO_UNITS = Case(SCATTERED, NEW_INPUTS, n_hyperplanes=2, prior=PRIOR)
"""Either unit is often active on no row."""
ALWAYS_ACTIVE = Case(np.vstack([CORNERS, SCATTERED[4:]]), NEW_INPUTS, n_hyperplanes=2, prior=replace(PRIOR, reach=0.9))
"""Every unit is active at a corner: Langevin moves, which keep units active, get everywhere."""

UNKNOWN_NUMBER = Case(
    SCATTERED,
    NEW_INPUTS,
    n_hyperplanes=None,
    prior=Prior(noise_shape=3.0, noise_scale=0.3, reach=1.2, number_mean=2.0, number_shape=2.0, inattention=0.1),
)
"""The form of the default prior: hyperplanes of unknown number face both ways and attend to some columns."""

HYPERPLANES = ("normals", "offsets")
OUTPUT_LAYER = ("coefficients", "noise_variance")
"""Fields of `Particle`, for moves that never change them."""

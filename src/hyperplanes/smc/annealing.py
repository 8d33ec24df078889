"""Annealed sequential Monte Carlo: weigh, resample, move (Algorithm 2 of the paper, in the right order)."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from hyperplanes.programs import QUICK_TO_COMPILE, fold_in, split
from hyperplanes.smc.genealogy import Indices
from hyperplanes.smc.lag import measure_lag
from hyperplanes.smc.resampling import resample
from hyperplanes.smc.schedules import LogIncrements, Schedule
from hyperplanes.smc.weights import Floats, ess, log_mean_exp, normalise

Path = Callable[[Any, float], LogIncrements]
"""From particles and an exponent to the log increments of the tempered likelihoods from there: what is costly is done
once for all further exponents."""

Move = Callable[[jax.Array, Any, float], tuple[Any, float]]
"""From (key, particles, exponent) to the moved particles and the share of proposals that were accepted."""


NO_PARTICLE = (
    "no particle has a likelihood that is a number {}: check prior for values that are extreme for a standardised "
    "response, and report the data if it is not"
)


class Population(NamedTuple):
    """Weighted particles that represent the target at one exponent."""

    particles: Any
    """A pytree whose leaves have a leading axis of length n_particles."""
    log_weights: Floats
    """Normalised log weights, shape (n_particles,)."""
    exponent: float
    """0 at the prior, 1 at the posterior."""
    log_evidence: float
    """Log of the mean tempered likelihood under the prior, estimated so far."""
    first_ancestors: Indices
    """Index of the prior draw that each particle descends from, shape (n_particles,)."""


class Step(NamedTuple):
    """What one step of annealing did."""

    exponent: float
    """Exponent after the step."""
    ess: float
    """Effective sample size after weighing, before any resampling."""
    weights: Floats
    """Normalised weights after weighing, before any resampling."""
    ancestors: Indices | None
    """Index of each particle's parent, None where the step did not resample."""
    acceptance: float
    """Share of the proposals that the move accepted."""
    log_evidence: float
    """Estimated so far."""
    n_ancestors: int
    """Prior draws with living descendants. Once it is small, the effective sample size says nothing."""
    n_failed: int
    """Particles that lost their weight because their likelihood was not a number."""
    lag: float
    """What the log evidence lacks because particles lag behind the exponent, as far as this step tells."""
    lag_variance: float
    """Of the lag, by the chance of the moves."""


def step(
    key: jax.Array,
    population: Population,
    path: Path,
    move: Move,
    *,
    schedule: Schedule,
    scheme: str = "systematic",
    resample_below: float = 0.5,
    n_taken: int = 0,
) -> tuple[Population, Step]:
    """Take one step: weigh with the particles as they are, resample, then move at the new exponent.

    Parameters
    ----------
    key : jax.Array
        Random key.
    population : Population
        Particles at the exponent before.
    path, move
        The target, see `Path` and `Move`. `move` has to leave the target at its exponent invariant. A particle whose
        likelihood is not a number, or that is not one itself after the last move, gets no weight and its place goes to
        another; where that is all of them, it is a FloatingPointError.
    schedule : Schedule
        Chooses the next exponent.
    scheme : str
        One of `RESAMPLERS`.
    resample_below : float
        Resample where the effective sample size falls below this share of the particles; 1 resamples at every step.
    n_taken : int
        Steps taken before.
    """
    particles, log_weights, start, log_evidence, first_ancestors = population
    key_resample, key_move = split(key)
    from_here = path(particles, start)

    def log_increments(exponents: Floats) -> Floats:
        increments = from_here(exponents)
        return np.where(np.isnan(increments), -np.inf, increments)

    exponent = schedule.next_exponent(start, log_weights, log_increments, n_taken)
    increments = log_increments(np.array([exponent]))[0]
    n_failed = int(np.sum(np.isneginf(increments) & np.isfinite(log_weights)))
    gained = float(log_mean_exp(log_weights, increments))
    if not np.isfinite(gained):
        raise FloatingPointError(NO_PARTICLE.format(f"beyond exponent {start:.3g}"))
    log_evidence += gained
    log_weights = normalise(log_weights + increments)
    n_effective, weights, ancestors = float(ess(log_weights)), np.exp(log_weights), None
    if n_failed or resample_below >= 1.0 or n_effective < resample_below * len(log_weights):
        ancestors = resample(key_resample, log_weights, scheme)
        particles = _select(particles, ancestors)
        first_ancestors, increments = first_ancestors[ancestors], increments[ancestors]
        log_weights = np.full(len(log_weights), -np.log(len(log_weights)))
    particles, acceptance = move(key_move, particles, exponent)
    increments_moved = path(particles, start)(np.array([exponent]))[0]
    lag = measure_lag(increments, increments_moved, np.exp(log_weights), n_taken)
    if exponent >= 1.0:  # nobody weighs what comes of the last move
        particles, log_weights, n_lost = _without_nan(particles, log_weights)
        n_failed += n_lost
    n_ancestors = len(np.unique(first_ancestors))
    info = Step(exponent, n_effective, weights, ancestors, acceptance, log_evidence, n_ancestors, n_failed, *lag)
    return Population(particles, log_weights, exponent, log_evidence, first_ancestors), info


def begin(particles: Any) -> Population:
    """Independent draws from the prior, whose leading axis counts them, as a population of equal weights."""
    n_particles = len(jax.tree.leaves(particles)[0])
    return Population(particles, np.full(n_particles, -np.log(n_particles)), 0.0, 0.0, np.arange(n_particles))


def anneal(
    key: jax.Array,
    population: Population,
    path: Path,
    move: Move,
    *,
    n_taken: int = 0,
    **options: Any,
) -> Iterator[tuple[Population, Step]]:
    """Anneal a population to exponent 1, yielding every step.

    Parameters
    ----------
    key : jax.Array
        Random key.
    population : Population
        Where to start, see `begin`. One at exponent 1 of a first target is, at exponent 0, one of a second target that
        goes on from it.
    n_taken : int
        Steps taken before with the same key.
    path, move, **options
        See `step`.
    """
    while population.exponent < 1.0:
        key_step = fold_in(key, n_taken)
        population, info = step(key_step, population, path, move, n_taken=n_taken, **options)
        n_taken += 1
        yield population, info


def _without_nan(particles: Any, log_weights: Floats) -> tuple[Any, Floats, int]:
    """Particles that are not numbers lose their weight to the others, and the heaviest one stands in their place."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(particles) if np.issubdtype(leaf.dtype, np.inexact)]
    lost = np.any([np.isnan(leaf).reshape(len(leaf), -1).any(axis=1) for leaf in leaves], axis=0)
    if not lost.any():
        return particles, log_weights, 0
    kept = np.where(lost, -np.inf, log_weights)
    if not np.isfinite(kept).any():
        raise FloatingPointError(NO_PARTICLE.format("after the last move"))
    heaviest = int(np.argmax(kept))
    return _select(particles, np.where(lost, heaviest, np.arange(len(lost)))), normalise(kept), int(lost.sum())


@partial(jax.jit, compiler_options=QUICK_TO_COMPILE)
def _select(particles: Any, indices: Indices) -> Any:
    return jax.tree.map(lambda leaf: leaf[indices], particles)

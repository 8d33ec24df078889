"""Samplers: which unknowns are carried, how they are weighed, which moves they make.

A sampler is assembled from a target for `smc` (a path of tempered likelihoods and a move) and annealing options.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from hyperplanes import smc
from hyperplanes.inference.settings import Settings
from hyperplanes.inference.stages import Stage, with_products
from hyperplanes.inference.tiles import compile_ahead, map_with_features
from hyperplanes.model import Data, Particle, Prior, gaussian, lift, relu_features, with_places
from hyperplanes.model.features import EXACT
from hyperplanes.moves import (
    State,
    collapsed_round,
    redraw_given_coefficients,
    superposed_round,
    sweep_output_layer,
)
from hyperplanes.programs import COMPILER_OPTIONS, split, split_among

SHARE = 0.65
"""Conditional effective share of the particles in one step, see docs/method.md."""
PAPER_SHARE = 0.5
"""The same for the paper's sampler, which says nothing of it."""
MOST_ROUNDS = 3
HURRIED = 1.5
"""How many times longer than usual steps are where there is time for one round only."""
FORGOTTEN = 0.7
"""Rounds of moves are repeated until the functions correlate less than this with what they were before the step."""
FUNCTIONS = 4
"""As large as a feature each: what a superposition holds beside the features of one part."""
N_PROBES = 64
FULL = 0.8
"""Share of the places for hyperplanes that may be taken on average before there will be more."""


@dataclass(frozen=True)
class Sampler:
    """A target and the way to anneal it."""

    path: smc.Path
    """Tempered likelihoods of the particles."""
    move: smc.Move
    """Moves of the particles."""
    schedule: smc.Schedule
    """Exponents."""
    scheme: str
    """Resampling scheme."""
    resample_below: float
    """Share of effective particles below which to resample."""

    def anneal(
        self, key: jax.Array, population: smc.Population, n_taken: int
    ) -> Iterator[tuple[smc.Population, smc.Step]]:
        """Anneal particles, yielding every step."""
        options = {"schedule": self.schedule, "scheme": self.scheme, "resample_below": self.resample_below}
        return smc.anneal(key, population, self.path, self.move, n_taken=n_taken, **options)


def paper_step(key: jax.Array, state: State, exponent: jax.Array, data: Data, prior: Prior) -> tuple[State, jax.Array]:
    """One iteration of the paper's Algorithm 1: sigma^2, each coefficient, then one hyperplane redrawn."""
    key_output, key_redraw = jax.random.split(key)
    state, _ = sweep_output_layer(key_output, state, exponent, data, prior)
    return redraw_given_coefficients(key_redraw, state, exponent, data, prior)


def paper_sampler(stage: Stage, prior: Prior, settings: Settings) -> Sampler:
    """Algorithm 2 of the paper, weighing before the move: see docs/method.md for what was corrected."""
    data = stage.rows

    def path(states: State, exponent: float) -> smc.LogIncrements:
        log_likelihoods = np.asarray(_log_likelihoods(states, data))
        return lambda exponents: (exponents - exponent)[:, None] * log_likelihoods

    def move(key: jax.Array, states: State, exponent: float) -> tuple[State, float]:
        return _move_all(paper_step, key, states, (np.float64(exponent), data, prior), data, settings)

    return Sampler(path, move, make_schedule(stage, settings, PAPER_SHARE), scheme="multinomial", resample_below=1.0)


def collapsed_sampler(stage: Stage, prior: Prior, settings: Settings) -> Sampler:
    """Anneal (hyperplanes, sigma^2) with the coefficients integrated out, at exponents that adapt."""
    unknown_number = settings.n_hyperplanes is None
    one_round = make_numbered_round(settings.n_parts, unknown_number)
    schedule = make_schedule(stage, settings, SHARE)

    def path(states: State, exponent: float) -> smc.LogIncrements:
        return stage.path(states, exponent, prior, settings)

    def move(key: jax.Array, states: State, exponent: float) -> tuple[State, float]:
        if unknown_number:
            states = with_room(states, prior.n_permanent)
        data, exponent = stage.at(exponent)
        if stage.n_known:
            states = with_products(states, data, settings)  # those of the last step had other weights of rows
        shared = (np.float64(exponent), data, prior, _mean_active(states, prior.n_permanent))

        def once(key: jax.Array, states: State) -> tuple[State, float]:
            return _move_all(one_round, key, states, shared, data, settings)

        def values(states: State) -> tuple[jax.Array]:
            return (_function_values(states, exponent, data, prior),)

        return move_until_forgotten(once, values, key, states, schedule)

    return Sampler(path, move, schedule, scheme="systematic", resample_below=0.75)


def compile_round_ahead(keys: jax.Array, states: State, stage: Stage, prior: Prior, settings: Settings) -> None:
    """Start to compile what `collapsed_sampler` will move such states with, of which the shapes suffice.

    It takes longer than all else that a first fit compiles, and needs nothing of what that computes.
    """
    one_round = make_numbered_round(settings.n_parts, settings.n_hyperplanes is None)
    shared, at_once = (np.float64(1.0), stage.rows, prior, 1), _places_at_once(states, settings)
    compile_ahead(one_round, (keys, states), shared, n_places=at_once, data=stage.rows, settings=settings)


def move_until_forgotten(
    once: Callable[[jax.Array, Any], tuple[Any, float]],
    values: Callable[[Any], Sequence[ArrayLike]],
    key: jax.Array,
    states: Any,
    schedule: smc.Schedule,
) -> tuple[Any, float]:
    """Make rounds until all functions, of each of which there are some values, have forgotten where they were."""
    before, shares = values(states), []
    for key_round in split(key, MOST_ROUNDS)[: 1 if schedule.hurry > HURRIED else MOST_ROUNDS]:
        states, accepted = once(key_round, states)
        shares.append(accepted)
        if all(correlation(*pair) < FORGOTTEN for pair in zip(before, values(states), strict=True)):
            break
    return states, float(np.mean(shares))


def make_schedule(stage: Stage, settings: Settings, share: float) -> smc.Schedule:
    """Exponents as the settings say; where they adapt, for a conditional effective share of the particles."""
    if settings.n_steps is not None:
        return smc.FixedSchedule(settings.n_steps)
    if stage.seconds is not None:
        return smc.TimedSchedule(stage.seconds, share, stage.hurry, stage.progress)
    return smc.AdaptiveSchedule(share)


def _move_all(
    step: Callable[..., tuple[State, jax.Array]],
    key: jax.Array,
    states: State,
    shared: tuple[Any, ...],
    data: Data,
    settings: Settings,
) -> tuple[State, float]:
    """Make a move of one particle with all."""
    keys = split_among(key, len(states.products))
    at_once = _places_at_once(states, settings)
    states, accepted = map_with_features(step, (keys, states), shared, n_places=at_once, data=data, settings=settings)
    return states, float(np.asarray(accepted).mean())


def _places_at_once(states: State, settings: Settings) -> int:
    """How many features a move holds."""
    return states.particle.offsets.shape[1] // settings.n_parts + (FUNCTIONS if settings.n_parts > 1 else 0)


def make_round(n_parts: int) -> Callable[..., tuple[State, jax.Array]]:
    """A round of moves of all hyperplanes together, or of one part after the other."""
    return collapsed_round if n_parts == 1 else partial(superposed_round, n_parts=n_parts)


@cache
def make_numbered_round(n_parts: int, unknown_number: bool) -> Callable[..., tuple[State, jax.Array]]:
    """The same one for the same arguments, so that it is compiled once."""
    return partial(make_round(n_parts), unknown_number=unknown_number)


def with_room(states: State, n_permanent: int = 0) -> State:
    """Double the places for hyperplanes, but for the permanent ones, where too many of them are taken."""
    particle, products = states
    n_places = particle.offsets.shape[1]
    wider_particle = with_more_places(particle, n_permanent)
    if wider_particle is particle:
        return states

    n_more = n_places - n_permanent
    wider = jnp.pad(products, [(0, 0), (0, n_more), (0, n_more)])
    total = n_places + n_more + 2
    order = jnp.append(jnp.delete(jnp.arange(total), n_places + 1), n_places + 1)  # the response comes last
    return State(wider_particle, wider[:, order][:, :, order])


def with_more_places(particle: Particle, n_permanent: int = 0) -> Particle:
    """Twice as many places, but for the permanent ones, where more than `FULL` of them are taken on average."""
    n_places = particle.offsets.shape[-1]
    taken = np.any(np.asarray(particle.normals)[..., n_permanent:, :], axis=-1)
    return with_places(particle, 2 * n_places - n_permanent) if taken.mean() > FULL else particle


def _mean_active(states: State, n_permanent: int) -> int:
    """Mean number of hyperplanes with an active row, at least 1."""
    diagonals = np.diagonal(np.asarray(states.products), axis1=1, axis2=2)[:, n_permanent + 1 : -1]
    return max(1, int(np.ceil(np.mean(np.sum(diagonals > 0, axis=1)))))


@partial(jax.jit, compiler_options=COMPILER_OPTIONS)
def _function_values(states: State, exponent: jax.Array | float, data: Data, prior: Prior) -> jax.Array:
    """Functions of the particles at some rows, with the coefficients at their mean: (n_particles, N_PROBES).

    Like the rows they are scaled by the root of the row's weight, and zero where there is no row.
    """
    inputs = data.inputs[0, :, :N_PROBES]

    def one(state: State) -> jax.Array:
        particle, products = state
        known = prior.given(particle)
        conditional = gaussian.condition(products, particle.noise_variance, exponent, known)
        mean = gaussian.conditional_mean(conditional)
        features = relu_features(lift(particle.normals, particle.offsets), inputs)
        return mean[0] * inputs[-1] + jnp.matmul(mean[1:], features, precision=EXACT)

    return jax.vmap(one)(states)


def correlation(before: ArrayLike, after: ArrayLike) -> float:
    """Correlation over particles of values (n_particles, k), pooled over their columns; 0 where they do not vary.

    Particles with values that are not finite do not count; without any others nothing is known to have moved: 1.
    """
    pair = np.asarray(before), np.asarray(after)
    finite = np.all(np.isfinite(pair), axis=(0, 2))
    if not finite.any():
        return 1.0
    first, second = (values[finite] - values[finite].mean(axis=0) for values in pair)
    spread = np.sqrt(np.sum(first**2) * np.sum(second**2))
    return float(np.sum(first * second) / spread) if spread > 0 else 0.0


@partial(jax.jit, compiler_options=COMPILER_OPTIONS)
def _log_likelihoods(states: State, data: Data) -> jax.Array:
    def one(state: State) -> jax.Array:
        particle, products = state
        return gaussian.log_likelihood(data, products, particle.coefficients, particle.noise_variance)

    return jax.vmap(one)(states)


SAMPLERS: dict[str, Callable[[Stage, Prior, Settings], Sampler]] = {
    "auto": collapsed_sampler,
    "paper": paper_sampler,
}

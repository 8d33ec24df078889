"""Choose a hyperplane anew among many candidates, with the coefficients integrated out.

A weak unit is missed where no proposal ever comes near it. Here one unit is left out, and candidates for its place are
drawn half from the prior and half around guesses from the residuals that the others leave. The unit and the candidates
are weighed by the target over the density that candidates are drawn from, and one is chosen in proportion (iterated
sampling importance resampling): the choice leaves the target invariant and needs no rejection. Guesses depend on the
other units and on random numbers, never on the unit itself.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from hyperplanes.model import Data, Prior, lift, relu_features
from hyperplanes.model.features import EXACT
from hyperplanes.moves.workspace import TINY, Vacancy, Workspace, feature_and_row, occupy, survey, vacate
from hyperplanes.process import Hyperplanes, normal_quantiles, unit_vectors

N_CANDIDATES = 16
N_GUESSES = 8
N_REFINEMENTS = 2
SPREAD = 0.75
"""Normals are drawn around a guess d as the direction of d + SPREAD / sqrt(p) xi, xi ~ N(0, I)."""
FARTHEST = 2.5
"""Offsets of guesses are at most as many standard deviations of the inputs: beyond, hardly any row is active."""
MARGIN = 0.5
"""Offsets are drawn within as many standard deviations around that of a guess."""
N_COSINES = 1025
N_LENGTHS = 4000

Function = TypeVar("Function", bound=Callable[..., object])


class Guesses(NamedTuple):
    """Hyperplanes on which the residuals seem to depend, and a range of offsets around each."""

    normals: jax.Array
    """(N_GUESSES, p)."""
    low: jax.Array
    """(N_GUESSES,)."""
    high: jax.Array
    """(N_GUESSES,)."""


def candidate_draws(n_columns: int) -> int:
    """Uniform numbers that `choose_candidate` needs."""
    return 2 + 2 * N_GUESSES + N_CANDIDATES * (n_columns + 2)


def choose_candidate(
    draws: jax.Array, work: Workspace, exponent: jax.Array, data: Data, prior: Prior
) -> tuple[Workspace, jax.Array]:
    """Choose the hyperplane of one unit, picked at random, anew."""
    particle = work.particle
    m, p = particle.normals.shape
    for_guesses, for_candidates = draws[2 : 2 + 2 * N_GUESSES], draws[2 + 2 * N_GUESSES :]
    unit = (draws[0] * m).astype(int)
    vacancy = vacate(unit, work, exponent, data, prior)
    guesses = _guess(for_guesses.reshape(2, N_GUESSES), vacancy, data, prior)
    fresh = _draw(for_candidates.reshape(N_CANDIDATES, p + 2), guesses, prior)
    old = Hyperplanes(particle.normals[unit].astype(float), particle.offsets[unit].astype(float))
    planes = Hyperplanes(*(jnp.concatenate([one[None], many]) for one, many in zip(old, fresh, strict=True)))
    log_evidences = one_at_a_time_on_a_cpu(survey)(planes, vacancy, work.features, data, prior)
    log_weights = log_evidences - _log_density(planes, guesses, prior)
    log_weights = jnp.where(jnp.isnan(log_weights), -jnp.inf, log_weights)
    totals = jnp.cumsum(jnp.exp(log_weights - log_weights.max()))
    chosen = jnp.searchsorted(totals, draws[1] * totals[-1], side="right")
    moved = (chosen > 0) & jnp.isfinite(totals[-1])
    plane = Hyperplanes(planes.normals[chosen], planes.offsets[chosen])
    feature, row = feature_and_row(plane, vacancy, work.features, data)
    return occupy(plane, row, feature, moved, vacancy, work), moved.astype(float)


def one_at_a_time_on_a_cpu(function: Function) -> Function:
    """Make `vmap` loop over a function that is large enough alone and would drive the others' data from the cache."""
    sequential: Function = jax.custom_batching.sequential_vmap(function)  # type: ignore[no-untyped-call]  # not typed in JAX
    return sequential if jax.default_backend() == "cpu" else function


def _refine(normals: jax.Array, offsets: jax.Array, inputs: jax.Array, residuals: jax.Array) -> jax.Array:
    """Turn normals into the direction in which the residuals slope on their active side."""
    features = relu_features(lift(normals, offsets), inputs)
    sign = jnp.where(jnp.matmul(features, residuals, precision=EXACT) < 0, -1, 1)
    slopes = jnp.matmul(jnp.where(features > 0, residuals, 0), inputs[:-1].T, precision=EXACT)
    lengths = jnp.linalg.norm(slopes, axis=1, keepdims=True)
    return jnp.where(lengths > TINY, sign[:, None] * slopes / jnp.maximum(lengths, TINY), normals)


def _guess(draws: jax.Array, vacancy: Vacancy, data: Data, prior: Prior) -> Guesses:
    """Start from rows with large residuals, then follow the slope of the residuals on the active side.

    The first block of rows stands for all.
    """
    inputs, residuals = data.inputs[0], vacancy.residuals[0]
    shares = jnp.cumsum(residuals**4)
    rows = jnp.searchsorted(shares, draws[0].astype(shares.dtype) * shares[-1])
    starts = inputs[:-1, jnp.minimum(rows, len(shares) - 1)].T
    spread = jnp.sqrt(jnp.mean(data.spreads**2))
    offsets = FARTHEST * spread * draws[1]

    normals = unit_vectors(starts + TINY)
    refine = one_at_a_time_on_a_cpu(_refine)
    for _ in range(N_REFINEMENTS):
        normals = refine(normals, offsets.astype(normals.dtype), inputs, residuals)
    low = jnp.clip(offsets - MARGIN * spread, 0.0, 0.9 * prior.reach)
    return Guesses(
        normals.astype(float), low, jnp.clip(offsets + MARGIN * spread, low + 0.1 * prior.reach, prior.reach)
    )


def _draw(draws: jax.Array, guesses: Guesses, prior: Prior) -> Hyperplanes:
    """Each candidate from the prior or around one of the guesses, with equal chances."""
    p = guesses.normals.shape[1]
    noise = normal_quantiles(draws[:, :p])
    which = (2 * N_GUESSES * draws[:, p]).astype(int)
    guessed = which < N_GUESSES
    which = jnp.minimum(which, N_GUESSES - 1)
    around = guesses.normals[which] + SPREAD / np.sqrt(p) * noise
    low, high = jnp.where(guessed, guesses.low[which], 0.0), jnp.where(guessed, guesses.high[which], prior.reach)
    normals = unit_vectors(jnp.where(guessed[:, None], around, noise))
    return Hyperplanes(normals, low + (high - low) * draws[:, p + 1])


def _log_density(planes: Hyperplanes, guesses: Guesses, prior: Prior) -> jax.Array:
    """Log of the density that candidates are drawn from over that of the prior."""
    cosines, log_density = directional_density(guesses.normals.shape[1])
    by_normal = jnp.interp(planes.normals @ guesses.normals.T, cosines, log_density)
    offsets = planes.offsets[:, None]
    inside = (offsets >= guesses.low) & (offsets <= guesses.high)
    by_offset = jnp.where(inside, prior.reach / (guesses.high - guesses.low), 0.0)
    return jnp.log(0.5 + 0.5 * jnp.mean(jnp.exp(by_normal) * by_offset, axis=1))


@cache
def directional_density(n_columns: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log density of the direction of d + s xi over that of a uniform direction, as a table by its cosine with d.

    With M(a) the integral of r^(p - 1) exp(a r - r^2 / 2) over r > 0 it is log M(cosine / s) - log M(0) - 1 / (2 s^2).
    """
    s = SPREAD / np.sqrt(n_columns)
    cosines = np.linspace(-1, 1, N_COSINES)
    lengths = (1 / s + np.sqrt(n_columns) + 12) * (np.arange(N_LENGTHS) + 0.5) / N_LENGTHS
    log_radial = (n_columns - 1) * np.log(lengths) - 0.5 * lengths**2
    log_integrals = logsumexp(log_radial + np.append(cosines, 0.0)[:, None] / s * lengths, axis=1)
    return cosines, log_integrals[:-1] - log_integrals[-1] - 0.5 / s**2

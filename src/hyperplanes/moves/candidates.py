"""Choose a hyperplane anew among many candidates, with the coefficients integrated out.

A weak unit is missed where no proposal ever comes near it. Here one unit is left out, and candidates for its place are
drawn by thirds from the prior, around guesses from the residuals that the others leave, and with attention to one or
two columns alone, preferably those on which the residuals depend. The unit and the candidates are weighed by the target
over the density that candidates are drawn from, and one is chosen in proportion (iterated sampling importance
resampling): the choice leaves the target invariant and needs no rejection. What candidates are drawn from depends on
the other units and on random numbers, never on the unit itself. Where the number of hyperplanes is unknown, that the
place stays empty is one choice more: birth and death are no moves of their own.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from hyperplanes.model import Data, Prior, is_present, lift, of_process
from hyperplanes.model.features import EXACT
from hyperplanes.model.hardware import on_cpu
from hyperplanes.model.prior import attention
from hyperplanes.moves.workspace import TINY, Vacancy, Workspace, feature_and_row, occupy, survey, vacate
from hyperplanes.process import Hyperplanes, normal_quantiles, support, unit_vectors

N_CANDIDATES = 16
N_GUESSES = 8
N_REFINEMENTS = 2
SPREAD = 0.75
"""Directions are drawn around a guess d as that of d + SPREAD / sqrt(p) xi, xi ~ N(0, I)."""
FARTHEST = 2.5
"""Offsets of guesses are at most as many standard deviations of the inputs: beyond, hardly any row is active."""
MARGIN = 0.5
"""Offsets are drawn within as many standard deviations around that of a guess."""
NARROWEST = 0.1
"""Least share of all offsets that are drawn around a guess."""
N_COSINES = 1025
N_LENGTHS = 4000

Function = TypeVar("Function", bound=Callable[..., object])


class Guesses(NamedTuple):
    """Hyperplanes on which the residuals seem to depend, and a range of offsets around each."""

    slopes: jax.Array
    """(N_GUESSES, p)."""
    low: jax.Array
    """(N_GUESSES,), in units of the largest offset."""
    high: jax.Array
    """(N_GUESSES,), as well."""


class Candidates(NamedTuple):
    """Hyperplanes and the columns that they attend to."""

    planes: Hyperplanes
    """(N_CANDIDATES, p) and (N_CANDIDATES,)."""
    attends: jax.Array
    """(N_CANDIDATES, p)."""


def candidate_draws(n_columns: int) -> int:
    """Uniform numbers that `choose_candidate` needs."""
    return 3 + 2 * N_GUESSES + N_CANDIDATES * (2 * n_columns + 4)


def choose_candidate(
    draws: jax.Array, work: Workspace, exponent: jax.Array, data: Data, prior: Prior, *, unknown_number: bool = False
) -> tuple[Workspace, jax.Array]:
    """Choose the hyperplane of one place, picked at random, anew; where their number is unknown, or none.

    With pi the target and q the density of candidates x_1, ..., x_N, of which the hyperplane that is there is one, the
    choice is x_k with probability proportional to pi(x_k) / (N q(x_k)) and none with pi(none).
    """
    particle = work.particle
    m, p = particle.normals.shape
    n_own = m - prior.n_permanent
    for_guesses, for_candidates = draws[3 : 3 + 2 * N_GUESSES], draws[3 + 2 * N_GUESSES :]
    unit = (draws[0] * n_own).astype(int)
    unit = unit + prior.n_permanent if prior.n_permanent else unit
    vacancy = vacate(unit, work, exponent, data, prior)
    others = of_process(particle.normals, prior) & (jnp.arange(m) != unit)
    n_others = others.sum() + work.elsewhere.n_hyperplanes
    shares = attention(others @ particle.attends.astype(float) + work.elsewhere.n_attending, n_others)
    guesses = _guess(for_guesses.reshape(2, N_GUESSES), vacancy, shares, data, prior)
    columns = _screen(draws[2], vacancy, data, prior)
    fresh = _draw(for_candidates.reshape(N_CANDIDATES, 2 * p + 4), guesses, columns, shares, prior)
    old = jax.tree.map(lambda leaf: leaf[unit], (particle.normals, particle.offsets, particle.attends))
    was_there = is_present(old[0])
    candidates = jax.tree.map(
        lambda one, many: jnp.concatenate([jnp.where(was_there, one.astype(many.dtype), many[0])[None], many[1:]]),
        Candidates(Hyperplanes(*old[:2]), old[2]),
        fresh,
    )
    log_evidences = one_at_a_time_on_a_cpu(survey)(candidates.planes, vacancy, work.features, data, prior)
    log_weights = log_evidences - _log_density(candidates, guesses, columns, shares, prior)
    log_weights = jnp.where(jnp.isnan(log_weights), -jnp.inf, log_weights)
    if unknown_number:
        candidates = jax.tree.map(_with_none, candidates)
        n_places = n_own + work.elsewhere.n_places
        log_odds = jnp.log(particle.intensity / (n_places - n_others))  # of a place to be taken, among labelled ones
        none = vacancy.rest.log_evidence + jnp.log(N_CANDIDATES) - log_odds
        log_weights = jnp.append(log_weights, none)
    totals = jnp.cumsum(jnp.exp(log_weights - log_weights.max()))
    chosen = jnp.searchsorted(totals, draws[1] * totals[-1], side="right", method="compare_all")
    plane, attends = jax.tree.map(lambda leaf: leaf[chosen], candidates)
    moved = jnp.where(was_there, chosen > 0, is_present(plane.normals)) & jnp.isfinite(totals[-1])
    feature, row = feature_and_row(plane, vacancy, work.features, data)
    work = occupy(plane, row, feature, moved, vacancy, work)
    attends = jnp.where((jnp.arange(m) == unit)[:, None] & moved, attends, particle.attends)
    return work._replace(particle=work.particle._replace(attends=attends)), moved.astype(float)


def _with_none(many: jax.Array) -> jax.Array:
    """Append what stands for no hyperplane: without a normal it has no feature."""
    return jnp.concatenate([many, jnp.zeros_like(many[:1])])


def one_at_a_time_on_a_cpu(function: Function) -> Function:
    """Make `vmap` loop over a function that is large enough alone and would drive the others' data from the cache."""
    sequential: Function = jax.custom_batching.sequential_vmap(function)  # type: ignore[no-untyped-call]  # not typed in JAX
    return sequential if on_cpu() else function


def _refine(normals: jax.Array, offsets: jax.Array, inputs: jax.Array, residuals: jax.Array) -> jax.Array:
    """Direction in which the residuals slope on the active side of hyperplanes."""
    planes = lift(normals, offsets)
    is_active = jnp.matmul(planes, inputs, precision=EXACT) > 0
    slopes = jnp.matmul(jnp.where(is_active, residuals, 0), inputs.T, precision=EXACT)
    sign = jnp.where(jnp.sum(planes * slopes, axis=1) < 0, -1, 1)  # of the sum of features times residuals
    return sign[:, None] * slopes[:, :-1]


def _guess(draws: jax.Array, vacancy: Vacancy, shares: jax.Array, data: Data, prior: Prior) -> Guesses:
    """Start from rows with large residuals, then follow the slope of the residuals on the active side.

    The first block of rows stands for all. Columns count as much as the squares of their scales do on average.
    """
    inputs, residuals = data.inputs[0], vacancy.residuals[0]
    usual = (shares + (1 - shares) * prior.inattention**2).astype(inputs.dtype)
    sums = jnp.cumsum(residuals**4)
    rows = jnp.searchsorted(sums, draws[0].astype(sums.dtype) * sums[-1])
    slopes = inputs[:-1, jnp.minimum(rows, len(sums) - 1)].T + TINY
    low = prior.lowest_offset
    quantiles = low + (1 - low) * draws[1]

    for _ in range(N_REFINEMENTS):
        normals = unit_vectors(usual * slopes)
        offsets = quantiles * _farthest(normals, data, prior)
        refined = _refine(normals, offsets.astype(normals.dtype), inputs, residuals)
        lengths = jnp.linalg.norm(usual * refined, axis=1, keepdims=True)
        slopes = jnp.where(lengths > TINY, refined / jnp.maximum(lengths, TINY), slopes)
    normals = unit_vectors((usual * slopes).astype(float))
    share = _farthest(normals, data, prior) / support(normals, prior.reach)
    margin = MARGIN / FARTHEST * share
    least = jnp.clip(quantiles * share - margin, low, 1 - NARROWEST * (1 - low))
    most = jnp.clip(quantiles * share + margin, least + NARROWEST * (1 - low), 1.0)
    return Guesses(slopes.astype(float), least, most)


def _screen(draw: jax.Array, vacancy: Vacancy, data: Data, prior: Prior) -> jax.Array:
    """Probabilities (p,) of the columns that candidates attend to alone: half of it goes to all of them alike.

    The other half goes by what a unit along the column would explain of the residuals, at one offset for all columns,
    on either side. The first block of rows stands for all.
    """
    inputs, residuals = data.inputs[0], vacancy.residuals[0]
    low = prior.lowest_offset
    deviations = jnp.sqrt(jnp.diagonal(data.covariance))
    offsets = (FARTHEST * (low + (1 - low) * draw) * deviations).astype(inputs.dtype)

    def explained(sign: int) -> jax.Array:
        features = jnp.maximum(sign * inputs[:-1] - offsets[:, None] * inputs[-1], 0)
        along = jnp.matmul(features, jnp.stack([residuals, inputs[-1]]).T, precision=EXACT)
        n_rows = jnp.sum(inputs[-1] ** 2)
        across = along[:, 0] - along[:, 1] * jnp.sum(residuals * inputs[-1]) / n_rows
        square = jnp.sum(features**2, axis=1) - along[:, 1] ** 2 / n_rows
        return jnp.where(square > TINY, across * (across / jnp.maximum(square, TINY)), 0.0)

    gains = jnp.maximum(explained(1), explained(-1)).astype(float)
    total = gains.sum()
    found = jnp.where(total > 0, gains / jnp.maximum(total, TINY), 1 / len(gains))
    return 0.5 / len(gains) + 0.5 * found


def _farthest(normals: jax.Array, data: Data, prior: Prior) -> jax.Array:
    """Offset beyond which hardly any row is active, or no hyperplane is."""
    deviations = jnp.sqrt(jnp.sum(normals * (normals @ data.covariance.astype(normals.dtype)), axis=1))
    return jnp.minimum(FARTHEST * deviations, support(normals, prior.reach))


def _draw(draws: jax.Array, guesses: Guesses, columns: jax.Array, shares: jax.Array, prior: Prior) -> Candidates:
    """Each candidate from the prior, around one of the guesses or with one or two columns, with equal chances."""
    p = len(shares)
    noise, which = normal_quantiles(draws[:, :p]), 3 * draws[:, 2 * p]
    guessed, few = which < 1, which > 2
    guess = jnp.minimum((N_GUESSES * which).astype(int), N_GUESSES - 1)
    totals = jnp.cumsum(columns)
    picks = draws[:, 2 * p + 1 : 2 * p + 3] * totals[-1]
    chosen = jnp.searchsorted(totals, picks, side="right", method="compare_all")
    chosen = chosen.at[:, 1].set(jnp.where(which > 2.5, chosen[:, 0], chosen[:, 1]))
    attends = jnp.where(few[:, None], jax.nn.one_hot(chosen, p).any(axis=1), draws[:, p : 2 * p] < shares)
    scales = prior.scales(attends)
    around = unit_vectors(scales * guesses.slopes[guess]) + SPREAD / np.sqrt(p) * noise
    normals = unit_vectors(scales * jnp.where(guessed[:, None], around, noise))
    low = jnp.where(guessed, guesses.low[guess], prior.lowest_offset)
    high = jnp.where(guessed, guesses.high[guess], 1.0)
    offsets = support(normals, prior.reach) * (low + (high - low) * draws[:, 2 * p + 3])
    return Candidates(Hyperplanes(normals, offsets), attends)


def _log_density(
    candidates: Candidates, guesses: Guesses, columns: jax.Array, shares: jax.Array, prior: Prior
) -> jax.Array:
    """Log of the density that candidates are drawn from over that of the prior."""
    (normals, offsets), attends = candidates
    p, scales = len(shares), prior.scales(attends)
    guessed = unit_vectors(scales[:, None] * guesses.slopes)
    cosines = jnp.einsum("kp,kgp->kg", unit_vectors(normals / scales), guessed)
    by_direction = jnp.exp(jnp.interp(cosines, *directional_density(p)))
    quantiles = (offsets / support(normals, prior.reach))[:, None]
    inside = (quantiles >= guesses.low) & (quantiles <= guesses.high)
    by_offset = jnp.where(inside, (1 - prior.lowest_offset) / (guesses.high - guesses.low), 0.0)
    n_columns, once, twice = attends.sum(axis=1), attends @ columns, attends @ columns**2
    few = jnp.where(n_columns == 1, 0.5 * (once + twice), jnp.where(n_columns == 2, 0.5 * (once**2 - twice), 0.0))
    log_shares = jnp.where(attends, jnp.log(shares), jnp.log1p(-shares)).sum(axis=1)
    return jnp.log((1 + jnp.mean(by_direction * by_offset, axis=1) + few * jnp.exp(-log_shares)) / 3)


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

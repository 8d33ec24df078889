"""Langevin moves of one hyperplane, shaped by the curvature of the linear model that it is on its active rows.

A step needs two passes over the data, n (3 p + 2 m + 6) multiplications, for the evidence and its exact gradient.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from hyperplanes.model import Data, Prior
from hyperplanes.model.features import EXACT
from hyperplanes.moves.curvature import Curvature, by_coordinates, colour, curvature, log_density, n_tilts, solve
from hyperplanes.moves.state import choose
from hyperplanes.moves.workspace import Look, Vacancy, Workspace, look, occupy, vacate
from hyperplanes.process import Hyperplanes, from_white, normal_quantiles, to_white

STEPS_A_VISIT = 4
SMALLEST_STEP = 0.2
"""Step sizes are log-uniform between this and 1."""


class Local(NamedTuple):
    """The target around one hyperplane, in the coordinates in which its prior is white noise."""

    white: jax.Array
    """Position, shape (p + 1,)."""
    feature: jax.Array
    """Feature of the hyperplane on every row, shape (n_blocks, block)."""
    row: jax.Array
    """Its row of the cross products, shape (m + 2,)."""
    log_evidence: jax.Array
    """Log evidence at the exponent."""
    gradient: jax.Array
    """Of log evidence plus log prior, shape (p + 1,)."""
    curvature: Curvature
    """Shape of the proposals."""
    is_active: jax.Array
    """Whether any row is beyond it."""


def langevin_draws(n_columns: int) -> int:
    """Uniform numbers that `langevin_one` needs."""
    return 1 + n_columns + STEPS_A_VISIT * _step_draws(n_columns)


def _step_draws(n_columns: int) -> int:
    return n_columns + 3 + n_tilts(n_columns)


def langevin_one(
    draws: jax.Array, work: Workspace, exponent: jax.Array, data: Data, prior: Prior
) -> tuple[Workspace, jax.Array]:
    """Take a few steps with one of the hyperplanes that are active on some row.

    Steps that would leave it without an active row are rejected: the set to choose from stays the same, and the choice
    cancels.
    """
    particle, p = work.particle, data.n_columns
    unit = _choose_active(draws[0], work.products, prior.n_permanent)
    vacancy = vacate(unit, work, exponent, data, prior)
    old = Hyperplanes(particle.normals[unit].astype(float), particle.offsets[unit].astype(float))
    length = jnp.linalg.norm(normal_quantiles(draws[1 : p + 1]))
    scales = prior.scales(particle.attends[unit])
    start = to_white(old, prior.reach, length, prior.lowest_offset, scales)

    def step(local: Local, item: tuple[jax.Array, jax.Array]) -> tuple[Local, jax.Array]:
        looks_only, draws = item
        size = SMALLEST_STEP ** draws[1]
        white = jnp.where(looks_only, start, _propose(local, size, normal_quantiles(draws[2:])))
        proposal = _look_around(white, scales, vacancy, work, data, prior)
        stays_active = proposal.is_active & (work.products[unit + 1, unit + 1] > 0)
        accepted = (jnp.log(draws[0]) < _log_ratio(local, proposal, size)) & stays_active
        return choose(accepted | looks_only, proposal, local), accepted & ~looks_only

    # The first pass only looks around at the start, so that what looks around is compiled once.
    looks_only = jnp.arange(STEPS_A_VISIT + 1) == 0
    steps = draws[p + 1 :].reshape(STEPS_A_VISIT, _step_draws(p))
    local, accepted = jax.lax.scan(step, _nowhere(vacancy, data), (looks_only, jnp.concatenate([steps[:1], steps])))
    hyperplane = from_white(local.white, prior.reach, prior.lowest_offset, scales)
    work = occupy(hyperplane, local.row, local.feature, accepted.any(), vacancy, work)
    return work, accepted.sum() / STEPS_A_VISIT


def _nowhere(vacancy: Vacancy, data: Data) -> Local:
    size = data.inputs.shape[1]
    return Local(
        jnp.ones(size),
        vacancy.feature,
        vacancy.row,
        jnp.array(0.0),
        jnp.zeros(size),
        Curvature(jnp.ones(size), jnp.zeros((n_tilts(size - 1), size)), jnp.eye(n_tilts(size - 1))),
        jnp.array(False),
    )


def _choose_active(draw: jax.Array, products: jax.Array, n_permanent: int = 0) -> jax.Array:
    """One of the units with an active row, each as likely; the first unit where there is none. None is permanent."""
    active = jnp.cumsum(jnp.diagonal(products)[n_permanent + 1 : -1] > 0)
    chosen = jnp.searchsorted(active, draw * active[-1], side="right", method="compare_all") * (active[-1] > 0)
    return chosen + n_permanent if n_permanent else chosen


def _propose(local: Local, size: jax.Array, noise: jax.Array) -> jax.Array:
    """Step of an Ornstein-Uhlenbeck process that has forgotten the share `size` of where it was.

    It is exact, and always accepted, where the target is Gaussian with precision M; a step of size 1 is an independent
    draw then.
    """
    return _drift(local, size) + jnp.sqrt(size * (2 - size)) * colour(local.curvature, noise)


def _drift(local: Local, size: jax.Array) -> jax.Array:
    return local.white + size * solve(local.curvature, local.gradient)


def _log_ratio(local: Local, proposal: Local, size: jax.Array) -> jax.Array:
    """Log of the Metropolis-Hastings ratio."""
    by_prior = 0.5 * (local.white @ local.white - proposal.white @ proposal.white)
    spread = jnp.sqrt(size * (2 - size))
    forth = log_density(local.curvature, (proposal.white - _drift(local, size)) / spread)
    back = log_density(proposal.curvature, (local.white - _drift(proposal, size)) / spread)
    return proposal.log_evidence - local.log_evidence + by_prior + back - forth


def _look_around(
    white: jax.Array, scales: jax.Array, vacancy: Vacancy, work: Workspace, data: Data, prior: Prior
) -> Local:
    """Evaluate the target around one hyperplane in the vacant place."""
    plane = from_white(white, prior.reach, prior.lowest_offset, scales)
    seen = look(plane, vacancy, work.features, data, prior)
    pull, moments = _sum_over_active(seen, vacancy, work.features, data)
    strength = vacancy.exponent / vacancy.noise_variance * (seen.joined.mean**2 + seen.joined.variance)
    return Local(
        white,
        seen.feature,
        seen.row,
        seen.joined.log_evidence,
        by_coordinates(pull, white, scales, prior) - white,
        curvature(white, scales, moments, strength, data, prior),
        moments[-1] > 0,
    )


def _sum_over_active(seen: Look, vacancy: Vacancy, features: jax.Array, data: Data) -> tuple[jax.Array, jax.Array]:
    """Sums over the active rows: derivative of the log evidence by the lifted hyperplane, and moments, (p + 1,) each.

    Row i pulls at its feature z_i with strength phi / sigma^2 (w r_i - (w^2 + v) (z_i - shadow_i)), where the unit's
    coefficient has mean w and variance v, r are the residuals without it and its shadow is the regression of its
    feature on those of the others.
    """
    mean, variance, shadow, _ = seen.joined
    scale = vacancy.exponent / vacancy.noise_variance
    pulls = (scale * mean).astype(features.dtype), (scale * (mean**2 + variance)).astype(features.dtype)
    shadow = shadow.astype(features.dtype)

    def add_block(total: jax.Array, block: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
        inputs, features, residuals, feature = block
        cast = shadow[0] * inputs[-1] + jnp.matmul(shadow[1:], features, precision=EXACT)
        by_feature = pulls[0] * residuals - pulls[1] * (feature - cast)
        is_active = feature > 0
        pull, moments = (
            jnp.matmul(inputs, jnp.where(is_active, row, 0), precision=EXACT) for row in (by_feature, inputs[-1])
        )
        return total + jnp.stack([pull, moments]).astype(jnp.float64), None

    start = jnp.zeros((2, data.inputs.shape[1]), dtype=jnp.float64)
    pull, moments = jax.lax.scan(add_block, start, (data.inputs, features, vacancy.residuals, seen.feature))[0]
    return pull, moments

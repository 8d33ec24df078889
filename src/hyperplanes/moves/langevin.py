"""Langevin moves of one hyperplane with the curvature of the linear model that it is on its active rows.

On the rows where a unit fires it is linear in (n, -mu), so that the evidence has a known Gauss-Newton curvature there.
The gradient is exact and needs two passes over the data, 4 n (p + m + 3) operations. The curvature only shapes the
proposal; it is computed from the first rows, which stand for all because rows are shuffled: 2 n' (p + 1)^2 operations
for n' rows.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.stats import norm

from hyperplanes.model import Data, Prior, gaussian, with_row
from hyperplanes.model.features import EXACT
from hyperplanes.model.linear_algebra import inverse_root, log_determinant
from hyperplanes.moves.state import choose
from hyperplanes.moves.workspace import Workspace, feature_of, move_unit, products_with
from hyperplanes.process import Hyperplanes, from_white, normal_quantiles, to_white

STEPS_A_VISIT = 2
LOG_STEP_SIZES = (-1.2, 0.4)
"""Step sizes are log-uniform between these bounds; 1 is a full Newton step with its noise."""
CURVATURE_ROWS = 512


class Local(NamedTuple):
    """The target around one hyperplane, in the coordinates in which its prior is white noise."""

    white: jax.Array
    """Position, shape (p + 1,)."""
    feature: jax.Array
    """Feature of the hyperplane on every row, shape (n_blocks, block)."""
    products: jax.Array
    """Cross products of all features, shape (m + 2, m + 2)."""
    log_evidence: jax.Array
    """Log evidence at the exponent."""
    gradient: jax.Array
    """Of log evidence plus log prior, shape (p + 1,)."""
    precision: jax.Array
    """Curvature M: prior plus Gauss-Newton, shape (p + 1, p + 1)."""
    root: jax.Array
    """Inverse root of the curvature, shape (p + 1, p + 1)."""


def langevin_draws(n_columns: int) -> int:
    """Uniform numbers that `langevin_one` needs."""
    return 1 + n_columns + STEPS_A_VISIT * (n_columns + 3)


def langevin_one(
    draws: jax.Array, work: Workspace, exponent: jax.Array, data: Data, prior: Prior
) -> tuple[Workspace, jax.Array]:
    """Take a few steps with one of the hyperplanes that are active on some row.

    Steps that would leave it without an active row are rejected: the set to choose from stays the same, and the choice
    cancels.
    """
    particle, p = work.particle, data.n_columns
    unit = _choose_active(draws[0], work.products)
    old = Hyperplanes(particle.normals[unit].astype(float), particle.offsets[unit].astype(float))
    start = to_white(old, prior.reach, jnp.linalg.norm(normal_quantiles(draws[1 : p + 1])))
    rest = gaussian.leave_out(unit, work.products, particle.noise_variance, exponent, prior)

    def step(local: Local, item: tuple[jax.Array, jax.Array]) -> tuple[Local, jax.Array]:
        looks_only, draws = item
        size = step_size(draws[1])
        white = jnp.where(looks_only, start, _drift(local, size) + size * normal_quantiles(draws[2:]) @ local.root)
        proposal = _look_around(white, unit, rest, work, exponent, data, prior)
        stays_active = (proposal.products[unit + 1, unit + 1] > 0) & (work.products[unit + 1, unit + 1] > 0)
        accepted = (jnp.log(draws[0]) < _log_ratio(local, proposal, size)) & stays_active
        return choose(accepted | looks_only, proposal, local), accepted & ~looks_only

    # The first pass only looks around at the start, so that what looks around is compiled once.
    looks_only = jnp.arange(STEPS_A_VISIT + 1) == 0
    steps = draws[p + 1 :].reshape(STEPS_A_VISIT, p + 3)
    local, accepted = jax.lax.scan(step, _nowhere(work, data), (looks_only, jnp.concatenate([steps[:1], steps])))
    moved = from_white(local.white, prior.reach)
    work = move_unit(work, unit, moved, local.products, local.log_evidence, local.feature, accepted.any())
    return work, accepted.sum() / STEPS_A_VISIT


def step_size(draw: jax.Array) -> jax.Array:
    """A step size from a uniform number: no single size suits all units and exponents."""
    low, high = LOG_STEP_SIZES
    return jnp.exp(low + (high - low) * draw)


def _nowhere(work: Workspace, data: Data) -> Local:
    size = data.inputs.shape[1]
    feature = jnp.zeros(data.response.shape, dtype=data.inputs.dtype)
    return Local(
        jnp.ones(size), feature, work.products, work.log_evidence, jnp.zeros(size), jnp.eye(size), jnp.eye(size)
    )


def _choose_active(draw: jax.Array, products: jax.Array) -> jax.Array:
    """One of the units with an active row, each as likely; the first unit where there is none."""
    active = jnp.cumsum(jnp.diagonal(products)[1:-1] > 0)
    return jnp.searchsorted(active, draw * active[-1], side="right") * (active[-1] > 0)


def _drift(local: Local, size: jax.Array) -> jax.Array:
    return local.white + 0.5 * size**2 * (local.root @ local.gradient) @ local.root


def _log_ratio(local: Local, proposal: Local, size: jax.Array) -> jax.Array:
    """Log of the Metropolis-Hastings ratio for proposals from N(v + e^2/2 M^-1 gradient, e^2 M^-1)."""
    by_prior = 0.5 * (local.white @ local.white - proposal.white @ proposal.white)
    forth, back = _log_density(proposal.white, local, size), _log_density(local.white, proposal, size)
    return proposal.log_evidence - local.log_evidence + by_prior + back - forth


def _log_density(white: jax.Array, origin: Local, size: jax.Array) -> jax.Array:
    """Log density of proposing `white` from `origin`, up to a constant."""
    distance = (white - _drift(origin, size)) / size
    return 0.5 * log_determinant(origin.root) - 0.5 * distance @ origin.precision @ distance


def _look_around(
    white: jax.Array,
    unit: jax.Array,
    rest: gaussian.Rest,
    work: Workspace,
    exponent: jax.Array,
    data: Data,
    prior: Prior,
) -> Local:
    """Evaluate the target around one hyperplane."""
    noise_variance = work.particle.noise_variance
    hyperplane = from_white(white, prior.reach)
    feature = feature_of(hyperplane, data)
    products = with_row(work.products, unit, products_with(feature, unit, work.features, data))
    mean, covariance, evidence = gaussian.join(unit, rest, data, products, noise_variance, exponent, prior)
    scale, own = exponent / noise_variance, mean[unit + 1]
    pull = scale * jnp.append(-own * mean - covariance, own)
    slope = _jacobian(white, hyperplane.normals, prior)
    strength = scale * (own**2 + covariance[unit + 1])
    precision = jnp.eye(len(white)) + strength * slope @ _curvature(feature, data) @ slope.T
    gradient = slope @ _gradient(pull, feature, unit, work.features, data) - white
    return Local(white, feature, products, evidence, gradient, precision, inverse_root(precision))


def _gradient(pull: jax.Array, feature: jax.Array, unit: jax.Array, features: jax.Array, data: Data) -> jax.Array:
    """Derivative of the log evidence by the lifted hyperplane, shape (p + 1,).

    Row i pulls at its feature with strength sum_k pull_k (1, z, y)_ik.
    """
    pull = pull.astype(feature.dtype)
    own, others = pull[unit + 1], pull[1:-1].at[unit].set(0)

    def add_block(total: jax.Array, block: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
        inputs, features, response, feature = block
        by_feature = (
            pull[0] * inputs[-1] + jnp.matmul(others, features, precision=EXACT) + own * feature + pull[-1] * response
        )
        by_plane = jnp.matmul(inputs, jnp.where(feature > 0, by_feature, 0), precision=EXACT)
        return total + by_plane.astype(jnp.float64), None

    start = jnp.zeros(data.inputs.shape[1], dtype=jnp.float64)
    return jax.lax.scan(add_block, start, (data.inputs, features, data.response, feature))[0]


def _curvature(feature: jax.Array, data: Data) -> jax.Array:
    """Products X1 X1' of the active inputs X1, shape (p + 1, p + 1), from the first rows.

    They are shrunk towards those of all inputs, times the share of rows that are active, the more the fewer of the
    first rows are active.
    """
    n_first = min(CURVATURE_ROWS, data.inputs.shape[-1])
    inputs, is_active = data.inputs[0, :, :n_first], feature[0, :n_first] > 0
    first = jnp.matmul(jnp.where(is_active, inputs, 0), inputs.T, precision=EXACT).astype(jnp.float64)
    shrinkage = len(first) / (jnp.sum(is_active) + len(first))
    scaled = first * data.n_rows / jnp.sum(inputs[-1] > 0)
    share = jnp.sum(feature > 0) / data.n_rows
    return (1 - shrinkage) * scaled + shrinkage * share * data.input_products


def _jacobian(white: jax.Array, normal: jax.Array, prior: Prior) -> jax.Array:
    """Derivative of the lifted hyperplane by its white coordinates, transposed: (p + 1, p + 1)."""
    p = len(normal)
    turn = (jnp.eye(p) - jnp.outer(normal, normal)) / jnp.linalg.norm(white[:-1])
    shift = -prior.reach * norm.pdf(white[-1])
    return jnp.zeros((p + 1, p + 1)).at[:p, :p].set(turn).at[p, p].set(shift)

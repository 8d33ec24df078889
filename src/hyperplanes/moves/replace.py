"""Replace one hyperplane by one near or far, with the coefficients integrated out."""

import jax
import jax.numpy as jnp

from hyperplanes.model import Data, Prior, gaussian, with_row
from hyperplanes.moves.workspace import Workspace, feature_of, move_unit, products_with
from hyperplanes.process import Hyperplanes, from_white, normal_quantiles, to_white

GLOBAL_SHARE = 0.5
DECADES = 2.5
"""Local moves have a step b of 1 down to this many decades less, drawn anew for every proposal."""


def replace_draws(n_columns: int) -> int:
    """Uniform numbers that `replace_one` needs."""
    return 4 + 2 * n_columns + 1


def replace_one(
    draws: jax.Array, work: Workspace, exponent: jax.Array, data: Data, prior: Prior
) -> tuple[Workspace, jax.Array]:
    """Try to replace a hyperplane chosen at random.

    Proposals preserve the prior: v' = sqrt(1 - b^2) v + b xi in the coordinates in which it is white noise
    (preconditioned Crank-Nicolson). Half of them are fresh draws, b = 1; the others have b log-uniform. The length of a
    normal's white vector is drawn anew each time, since only its direction is kept.
    """
    particle = work.particle
    m, p = particle.normals.shape
    unit = (draws[1] * m).astype(int)
    step = jnp.where(draws[2] < GLOBAL_SHARE, 1.0, 10 ** (-DECADES * draws[3]))
    white = normal_quantiles(draws[4:])
    old = Hyperplanes(particle.normals[unit].astype(float), particle.offsets[unit].astype(float))
    start = to_white(old, prior.reach, jnp.linalg.norm(white[p + 1 :]))
    fresh = from_white(jnp.sqrt(1 - step**2) * start + step * white[: p + 1], prior.reach)
    feature = feature_of(fresh, data)
    products = with_row(work.products, unit, products_with(feature, unit, work.features, data))
    evidence = gaussian.log_evidence(data, products, particle.noise_variance, exponent, prior)
    accepted = jnp.log(draws[0]) < evidence - work.log_evidence
    return move_unit(work, unit, fresh, products, evidence, feature, accepted), accepted.astype(float)

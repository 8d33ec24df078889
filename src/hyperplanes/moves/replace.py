"""Replace one hyperplane at a time, near or far, with the coefficients integrated out."""

import jax
import jax.numpy as jnp

from hyperplanes.model import Data, Prior, gaussian, replaced_row, with_row
from hyperplanes.moves.state import State, choose
from hyperplanes.process import Hyperplanes, from_white, normal_quantiles, to_white, uniforms

GLOBAL_SHARE = 0.5
DECADES = 2.5
"""Local moves have a reach of 1 down to this many decades less, drawn anew for every proposal."""


def replace(key: jax.Array, state: State, exponent: jax.Array, data: Data, prior: Prior) -> tuple[State, jax.Array]:
    """Try to replace as many hyperplanes, chosen at random, as there are.

    Proposals preserve the prior: v' = sqrt(1 - b^2) v + b xi in the coordinates in which it is white noise
    (preconditioned Crank-Nicolson). Half of them are fresh draws, b = 1; the others have b log-uniform. The length of a
    normal's white vector is drawn anew each time, since only its direction is kept.
    """
    m, p = state.particle.normals.shape
    draws = uniforms(key, (m, 2 * (p + 1) + p + 4))

    def one(carry: tuple[State, jax.Array], draw: jax.Array) -> tuple[tuple[State, jax.Array], jax.Array]:
        state, evidence = carry
        proposal, proposed = _propose(draw, state, exponent, data, prior)
        accepted = jnp.log(draw[0]) < proposed - evidence
        return (choose(accepted, proposal, state), jnp.where(accepted, proposed, evidence)), accepted

    evidence = gaussian.log_evidence(data, state.products, state.particle.noise_variance, exponent, prior)
    (state, _), accepted = jax.lax.scan(one, (state, evidence), draws)
    return state, accepted.mean(dtype=float)


def _propose(draw: jax.Array, state: State, exponent: jax.Array, data: Data, prior: Prior) -> tuple[State, jax.Array]:
    particle, products = state
    m, p = particle.normals.shape
    unit = (draw[1] * m).astype(int)
    reach = jnp.where(draw[2] < GLOBAL_SHARE, 1.0, 10 ** (-DECADES * draw[3]))
    white = normal_quantiles(draw[4:])
    old = Hyperplanes(particle.normals[unit].astype(float), particle.offsets[unit].astype(float))
    length = jnp.linalg.norm(white[p + 1 : 2 * p + 1])
    start = to_white(old, prior.reach, length)
    fresh = from_white(jnp.sqrt(1 - reach**2) * start + reach * white[: p + 1], prior.reach)
    normals = particle.normals.at[unit].set(fresh.normals.astype(particle.normals.dtype))
    offsets = particle.offsets.at[unit].set(fresh.offsets.astype(particle.offsets.dtype))
    proposed = with_row(products, unit, replaced_row(data, normals, offsets, unit))
    evidence = gaussian.log_evidence(data, proposed, particle.noise_variance, exponent, prior)
    return State(particle._replace(normals=normals, offsets=offsets), proposed), evidence

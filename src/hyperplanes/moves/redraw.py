"""Replace one hyperplane by a fresh draw from the prior, with the coefficients held fixed."""

import jax
import jax.numpy as jnp

from hyperplanes.model import Data, Prior, gaussian, replaced_row, with_row
from hyperplanes.moves.state import State, choose
from hyperplanes.process import from_white, normal_quantiles, uniforms


def redraw_given_coefficients(
    key: jax.Array, state: State, exponent: jax.Array, data: Data, prior: Prior
) -> tuple[State, jax.Array]:
    """Redraw one hyperplane (Algorithm 1 of the paper, the step for P)."""
    particle, products = state
    m, p = particle.normals.shape
    draws = uniforms(key, (p + 3,))
    unit = (draws[0] * m).astype(int)
    fresh = from_white(normal_quantiles(draws[2:]), prior.reach, prior.lowest_offset)
    normals = particle.normals.at[unit].set(fresh.normals.astype(particle.normals.dtype))
    offsets = particle.offsets.at[unit].set(fresh.offsets.astype(particle.offsets.dtype))
    proposed = with_row(products, unit, replaced_row(data, normals, offsets, unit))
    fall = gaussian.squared_error(products, particle.coefficients) - gaussian.squared_error(
        proposed, particle.coefficients
    )
    accepted = jnp.log(draws[1]) < 0.5 * exponent * fall / particle.noise_variance
    moved = State(particle._replace(normals=normals, offsets=offsets), proposed)
    return choose(accepted, moved, state), accepted.astype(float)

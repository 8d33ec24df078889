"""Exact draws of the output layer given the hyperplanes."""

import jax
import jax.numpy as jnp

from hyperplanes.model import Data, Particle, Prior, gaussian, is_present, of_process
from hyperplanes.model.prior import draw_attention, draw_scales
from hyperplanes.moves.state import State


def sweep_output_layer(
    key: jax.Array, state: State, exponent: jax.Array, data: Data, prior: Prior
) -> tuple[State, jax.Array]:
    """Draw sigma^2, then each coefficient given the others, as Algorithm 1 of the paper does."""
    key_noise, key_coefficients = jax.random.split(key)
    particle, products = state
    noise_variance = gaussian.draw_noise_variance(key_noise, data, products, particle.coefficients, exponent, prior)
    coefficients = gaussian.sweep_coefficients(
        key_coefficients, products, particle.coefficients, noise_variance, exponent, prior
    )
    return State(particle._replace(coefficients=coefficients, noise_variance=noise_variance), products), jnp.array(1.0)


def draw_output_layer(key: jax.Array, state: State, exponent: jax.Array, prior: Prior) -> Particle:
    """Draw all coefficients at once given everything else. Places that no hyperplane takes have none."""
    particle, products = state
    conditional = gaussian.condition(products, particle.noise_variance, exponent, prior.given(particle))
    drawn = gaussian.draw_coefficients(key, conditional)
    return particle._replace(coefficients=jnp.where(jnp.append(True, is_present(particle.normals)), drawn, 0.0))


def refresh_output_layer(
    key: jax.Array,
    state: State,
    exponent: jax.Array,
    data: Data,
    prior: Prior,
    *,
    unknown_number: bool = False,
    unknown_noise: bool = True,
) -> tuple[State, jax.Array]:
    """Draw all coefficients at once given the scales, then all scales given them and the hyperplanes.

    Samplers that integrate the coefficients out move hyperplanes and variances only; for them this is an exact update
    of the variances with the coefficients as auxiliary variables.
    """
    key_coefficients, key_noise, key_scales, key_attends = jax.random.split(key, 4)
    particle, products = draw_output_layer(key_coefficients, state, exponent, prior), state.products
    if unknown_noise:
        noise = gaussian.draw_noise_variance(key_noise, data, products, particle.coefficients, exponent, prior)
        particle = particle._replace(noise_variance=noise)
    particle = draw_hyperparameters(key_scales, key_attends, particle, prior, unknown_number=unknown_number)
    return State(particle, products), jnp.array(1.0)


def draw_hyperparameters(
    key_scales: jax.Array, key_attends: jax.Array, particle: Particle, prior: Prior, *, unknown_number: bool
) -> Particle:
    """Draw the variance of the coefficients, the intensity and the attention, given coefficients and hyperplanes."""
    present = of_process(particle.normals, prior)
    intensity, variance = draw_scales(
        key_scales, particle.coefficients, present, particle.intensity, prior, unknown_number
    )
    attends = draw_attention(key_attends, particle, prior)
    return particle._replace(coefficient_variance=variance, intensity=intensity, attends=attends)

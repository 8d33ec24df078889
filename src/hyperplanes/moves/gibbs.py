"""Exact draws of the output layer given the hyperplanes."""

import jax
import jax.numpy as jnp

from hyperplanes.model import Data, Prior, gaussian
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


def refresh_output_layer(
    key: jax.Array, state: State, exponent: jax.Array, data: Data, prior: Prior
) -> tuple[State, jax.Array]:
    """Draw all coefficients at once given sigma^2, then sigma^2 given them.

    Samplers that integrate the coefficients out move (hyperplanes, sigma^2) only; for them this is an exact update of
    sigma^2 with the coefficients as auxiliary variables.
    """
    key_coefficients, key_noise = jax.random.split(key)
    particle, products = state
    conditional = gaussian.condition(products, particle.noise_variance, exponent, prior)
    coefficients = gaussian.draw_coefficients(key_coefficients, conditional)
    noise_variance = gaussian.draw_noise_variance(key_noise, data, products, coefficients, exponent, prior)
    return State(particle._replace(coefficients=coefficients, noise_variance=noise_variance), products), jnp.array(1.0)

"""Gaussian noise: likelihood to any exponent, its conditional posteriors, and the evidence without the coefficients.

Every function takes the cross products of (1, features, response), see `features.cross_products`, and the number of
rows through `Data`; no pass over the data is made here. The target at exponent phi is prior * likelihood^phi.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

from hyperplanes.model.data import Data
from hyperplanes.model.prior import Prior, draw_inverse_gamma

LOG_TWO_PI = 1.8378770664093453


def squared_error(products: jax.Array, coefficients: jax.Array) -> jax.Array:
    """Sum of squared residuals y'y - 2 w'Z'y + w'Z'Zw, never negative."""
    contrast = jnp.append(-coefficients, 1.0)
    return jnp.maximum(contrast @ products @ contrast, 0.0)


def log_likelihood(data: Data, products: jax.Array, coefficients: jax.Array, noise_variance: jax.Array) -> jax.Array:
    """Log likelihood of the response given everything."""
    error = squared_error(products, coefficients)
    return -0.5 * (data.n_rows * (LOG_TWO_PI + jnp.log(noise_variance)) - data.log_row_weights + error / noise_variance)


class Conditional(NamedTuple):
    """The Gaussian posterior of the coefficients given hyperplanes and noise, at one exponent."""

    factor: jax.Array
    """Lower Cholesky factor of the precision A = phi Z'Z / sigma^2 + I / s0^2, shape (m + 1, m + 1)."""
    whitened: jax.Array
    """factor^-1 b with b = phi Z'y / sigma^2 + mu0 / s0^2, shape (m + 1,)."""


def condition(products: jax.Array, noise_variance: jax.Array, exponent: jax.Array | float, prior: Prior) -> Conditional:
    """Condition the coefficients on the data (Eq. for w of the paper, jointly and tempered)."""
    scaled = products[:-1] * (exponent / noise_variance)
    precision = scaled[:, :-1] + jnp.eye(len(scaled)) / prior.coefficient_variance
    target = scaled[:, -1] + prior.coefficient_mean / prior.coefficient_variance
    factor = jnp.linalg.cholesky(precision)
    return Conditional(factor, solve_triangular(factor, target, lower=True))


def conditional_mean(conditional: Conditional) -> jax.Array:
    """Posterior mean of the coefficients."""
    return solve_triangular(conditional.factor, conditional.whitened, lower=True, trans="T")


def draw_coefficients(key: jax.Array, conditional: Conditional) -> jax.Array:
    """Draw all coefficients at once from their conditional posterior."""
    white = jax.random.normal(key, conditional.whitened.shape, dtype=jnp.float64)
    return solve_triangular(conditional.factor, conditional.whitened + white, lower=True, trans="T")


def sweep_coefficients(
    key: jax.Array,
    products: jax.Array,
    coefficients: jax.Array,
    noise_variance: jax.Array,
    exponent: jax.Array | float,
    prior: Prior,
) -> jax.Array:
    """Draw the coefficients one after the other, each given the rest (the paper's c_j and d_j, tempered)."""
    white = jax.random.normal(key, coefficients.shape, dtype=jnp.float64)
    scaled = products[:-1] * (exponent / noise_variance)

    def draw_one(j: jax.Array, current: jax.Array) -> jax.Array:
        precision = scaled[j, j] + 1 / prior.coefficient_variance
        rest = scaled[j, :-1] @ current - scaled[j, j] * current[j]
        mean = (scaled[j, -1] - rest + prior.coefficient_mean / prior.coefficient_variance) / precision
        return current.at[j].set(mean + white[j] / jnp.sqrt(precision))

    drawn: jax.Array = jax.lax.fori_loop(0, len(coefficients), draw_one, coefficients)
    return drawn


def draw_noise_variance(
    key: jax.Array,
    data: Data,
    products: jax.Array,
    coefficients: jax.Array,
    exponent: jax.Array | float,
    prior: Prior,
) -> jax.Array:
    """Draw sigma^2 ~ IG(a0 + phi n / 2, b0 + phi SSE / 2) (Eq. for sigma^2 of the paper, tempered)."""
    shape = prior.noise_shape + 0.5 * exponent * data.n_rows
    return draw_inverse_gamma(key, shape, prior.noise_scale + 0.5 * exponent * squared_error(products, coefficients))


def log_evidence(
    data: Data, products: jax.Array, noise_variance: jax.Array, exponent: jax.Array | float, prior: Prior
) -> jax.Array:
    """Log of the tempered likelihood with the coefficients integrated out; zero at exponent 0."""
    conditional = condition(products, noise_variance, exponent, prior)
    return evidence_given(data, products, noise_variance, exponent, prior, conditional)


def evidence_given(
    data: Data,
    products: jax.Array,
    noise_variance: jax.Array,
    exponent: jax.Array | float,
    prior: Prior,
    conditional: Conditional,
) -> jax.Array:
    """`log_evidence` where the conditional posterior of the coefficients is at hand."""
    factor, whitened = conditional
    scale = jnp.log(prior.coefficient_variance) + prior.coefficient_mean**2 / prior.coefficient_variance
    return (
        _data_terms(data, products, noise_variance, exponent)
        + 0.5 * whitened @ whitened
        - jnp.log(jnp.diagonal(factor)).sum()
        - 0.5 * len(whitened) * scale
    )


def evidence_path(
    data: Data, products: jax.Array, noise_variance: jax.Array, prior: Prior
) -> Callable[[jax.Array], jax.Array]:
    """`log_evidence` as a function of the exponent alone: one eigendecomposition, then m + 1 operations an exponent."""
    values, vectors = jnp.linalg.eigh(products[:-1, :-1])
    values = jnp.maximum(values, 0.0) / noise_variance
    moment = products[:-1, -1] @ vectors / noise_variance
    start = vectors.sum(axis=0) * prior.coefficient_mean / prior.coefficient_variance

    def at(exponent: jax.Array) -> jax.Array:
        precision = exponent * values + 1 / prior.coefficient_variance
        target = exponent * moment + start
        return _data_terms(data, products, noise_variance, exponent) + 0.5 * jnp.sum(
            target**2 / precision
            - start**2 * prior.coefficient_variance
            - jnp.log(precision * prior.coefficient_variance)
        )

    return at


def _data_terms(data: Data, products: jax.Array, noise_variance: jax.Array, exponent: jax.Array | float) -> jax.Array:
    normaliser = data.n_rows * (LOG_TWO_PI + jnp.log(noise_variance)) - data.log_row_weights
    return -0.5 * exponent * (normaliser + products[-1, -1] / noise_variance)

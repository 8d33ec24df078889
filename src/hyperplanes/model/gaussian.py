"""Gaussian noise: likelihood to any exponent, its conditional posteriors, and the evidence without the coefficients.

Every function takes the cross products of (1, features, response), see `features.cross_products`, and the number of
rows through `Data`; no pass over the data is made here. The target at exponent phi is prior * likelihood^phi.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from hyperplanes.model.data import Data
from hyperplanes.model.linear_algebra import inverse_root, log_determinant
from hyperplanes.model.prior import Prior, draw_inverse_gamma
from hyperplanes.process import normal_quantiles, uniforms

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

    root: jax.Array
    """Inverse root W of the precision A = phi Z'Z / sigma^2 + I / s0^2, shape (m + 1, m + 1): A^-1 = W'W."""
    whitened: jax.Array
    """W b with b = phi Z'y / sigma^2 + mu0 / s0^2, shape (m + 1,)."""


def condition(products: jax.Array, noise_variance: jax.Array, exponent: jax.Array | float, prior: Prior) -> Conditional:
    """Condition the coefficients on the data (Eq. for w of the paper, jointly and tempered)."""
    precision, target = _precision_and_target(products, noise_variance, exponent, prior)
    root = inverse_root(precision)
    return Conditional(root, root @ target)


def conditional_mean(conditional: Conditional) -> jax.Array:
    """Posterior mean of the coefficients."""
    return conditional.whitened @ conditional.root


def draw_coefficients(key: jax.Array, conditional: Conditional) -> jax.Array:
    """Draw all coefficients at once from their conditional posterior."""
    white = normal_quantiles(uniforms(key, conditional.whitened.shape))
    return (conditional.whitened + white) @ conditional.root


def sweep_coefficients(
    key: jax.Array,
    products: jax.Array,
    coefficients: jax.Array,
    noise_variance: jax.Array,
    exponent: jax.Array | float,
    prior: Prior,
) -> jax.Array:
    """Draw the coefficients one after the other, each given the rest (the paper's c_j and d_j, tempered)."""
    white = normal_quantiles(uniforms(key, coefficients.shape))
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
    root, whitened = condition(products, noise_variance, exponent, prior)
    return _evidence(data, products, noise_variance, exponent, prior, log_determinant(root), whitened @ whitened)


class Rest(NamedTuple):
    """The coefficients of all units but one, integrated out; what one unit more would change costs m^2 operations."""

    covariance: jax.Array
    """Inverse precision of the others, zero in the row and column of the unit, shape (m + 1, m + 1)."""
    mean: jax.Array
    """Posterior mean of the others, zero for the unit, shape (m + 1,)."""
    log_determinant: jax.Array
    """Of the precision of the others."""
    square: jax.Array
    """b'A^-1 b of the others."""


class Joined(NamedTuple):
    """The conditional posterior once the unit has joined the rest."""

    mean: jax.Array
    """Of all coefficients, shape (m + 1,)."""
    covariance: jax.Array
    """Of the unit's coefficient with all, shape (m + 1,)."""
    log_evidence: jax.Array
    """As `log_evidence`."""


def leave_out(
    unit: jax.Array, products: jax.Array, noise_variance: jax.Array, exponent: jax.Array | float, prior: Prior
) -> Rest:
    """Condition the coefficients of all units but one."""
    precision, target = _precision_and_target(products, noise_variance, exponent, prior)
    others = jnp.arange(len(target)) != unit + 1
    decoupled = jnp.where(others[:, None] & others, precision, jnp.eye(len(target)))
    root = inverse_root(decoupled)
    whitened = root @ jnp.where(others, target, 0.0)
    covariance = jnp.where(others[:, None] & others, root.T @ root, 0.0)
    return Rest(covariance, whitened @ root, log_determinant(root), whitened @ whitened)


def join(
    unit: jax.Array,
    rest: Rest,
    data: Data,
    products: jax.Array,
    noise_variance: jax.Array,
    exponent: jax.Array | float,
    prior: Prior,
) -> Joined:
    """Let a unit join the rest, by the Schur complement of the others in the precision of all."""
    row = products[unit + 1] * (exponent / noise_variance)
    across = row[:-1].at[unit + 1].set(0.0)
    spread = rest.covariance @ across
    ridge = 1 / prior.coefficient_variance
    complement = jnp.maximum(row[unit + 1] + ridge - across @ spread, ridge)
    own = (row[-1] + prior.coefficient_mean * ridge - across @ rest.mean) / complement
    log_determinant = rest.log_determinant + jnp.log(complement)
    square = rest.square + own**2 * complement
    return Joined(
        mean=(rest.mean - spread * own).at[unit + 1].set(own),
        covariance=(-spread / complement).at[unit + 1].set(1 / complement),
        log_evidence=_evidence(data, products, noise_variance, exponent, prior, log_determinant, square),
    )


def _precision_and_target(
    products: jax.Array, noise_variance: jax.Array, exponent: jax.Array | float, prior: Prior
) -> tuple[jax.Array, jax.Array]:
    """Precision A and target b of the coefficients."""
    scaled = products[:-1] * (exponent / noise_variance)
    ridge = 1 / prior.coefficient_variance
    return scaled[:, :-1] + ridge * jnp.eye(len(scaled)), scaled[:, -1] + prior.coefficient_mean * ridge


def _evidence(
    data: Data,
    products: jax.Array,
    noise_variance: jax.Array,
    exponent: jax.Array | float,
    prior: Prior,
    log_determinant: jax.Array,
    square: jax.Array,
) -> jax.Array:
    scale = jnp.log(prior.coefficient_variance) + prior.coefficient_mean**2 / prior.coefficient_variance
    return _data_terms(data, products, noise_variance, exponent) + 0.5 * (
        square - log_determinant - (products.shape[0] - 1) * scale
    )


def evidence_path(
    data: Data, products: ArrayLike, noise_variance: ArrayLike, prior: Prior
) -> Callable[[ArrayLike], NDArray[np.float64]]:
    """`log_evidence` of many particles as a function of the exponent: one eigendecomposition, then m + 1 operations.

    On the host: products (n_particles, m + 2, m + 2) and noise variances (n_particles,) give, for exponents (k,), log
    evidences (k, n_particles).
    """
    matrices, noise = np.asarray(products), np.asarray(noise_variance)
    values, vectors = np.linalg.eigh(matrices[:, :-1, :-1])
    values = np.maximum(values, 0.0) / noise[:, None]
    moment = np.einsum("lij,li->lj", vectors, matrices[:, :-1, -1]) / noise[:, None]
    start = vectors.sum(axis=1) * prior.coefficient_mean / prior.coefficient_variance
    n_rows, log_row_weights = float(data.n_rows), float(data.log_row_weights)
    slope = -0.5 * (n_rows * (LOG_TWO_PI + np.log(noise)) - log_row_weights + matrices[:, -1, -1] / noise)

    def at(exponents: ArrayLike) -> NDArray[np.float64]:
        powers = np.asarray(exponents, dtype=np.float64)[:, None, None]
        precision = powers * values + 1 / prior.coefficient_variance
        terms = (powers * moment + start) ** 2 / precision - start**2 * prior.coefficient_variance
        terms -= np.log(precision * prior.coefficient_variance)
        return np.asarray(powers[:, :, 0] * slope + 0.5 * terms.sum(axis=-1))

    return at


def _data_terms(data: Data, products: jax.Array, noise_variance: jax.Array, exponent: jax.Array | float) -> jax.Array:
    normaliser = data.n_rows * (LOG_TWO_PI + jnp.log(noise_variance)) - data.log_row_weights
    return -0.5 * exponent * (normaliser + products[-1, -1] / noise_variance)

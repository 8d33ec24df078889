"""Gaussian noise: likelihood to any exponent, its conditional posteriors, and the evidence without the coefficients.

Every function takes the cross products of (1, features, response), see `features.cross_products`, and the number of
rows through `Data`; no pass over the data is made here. The target at exponent phi is prior * likelihood^phi.

Z'Z stands for the cross products of constant and features with a diagonal that is larger by the share `ROUNDING`, here
and in every formula, so that weights and all moves have the same target.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from hyperplanes.model.data import Data
from hyperplanes.model.linear_algebra import inverse_root, log_determinant
from hyperplanes.model.prior import Prior, coefficient_means, coefficient_variances, draw_inverse_gamma, levels
from hyperplanes.process import normal_quantiles, uniforms

LOG_TWO_PI = 1.8378770664093453
ROUNDING = 1e-13
"""Mean square of the errors that features are taken to have, as a share of their own: more than twenty times that of
one rounding to float32. The expected sum of squared residuals under such errors has this share more of the diagonal of
Z'Z, which is positive definite in float64 then however alike features are."""


def squared_error(products: jax.Array, coefficients: jax.Array) -> jax.Array:
    """Sum of squared residuals y'y - 2 w'Z'y + w'Z'Zw, never negative."""
    contrast = jnp.append(-coefficients, 1.0)
    return jnp.maximum(contrast @ products @ contrast, 0.0) + _rounding(products) @ coefficients**2


def log_likelihood(data: Data, products: jax.Array, coefficients: jax.Array, noise_variance: jax.Array) -> jax.Array:
    """Log likelihood of the response given everything."""
    error = squared_error(products, coefficients)
    return -0.5 * (data.n_rows * (LOG_TWO_PI + jnp.log(noise_variance)) + error / noise_variance)


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
    scaled = _with_rounding(products)[:-1] * (exponent / noise_variance)

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
    gain = 0.5 * (whitened @ whitened - log_determinant(root) - _log_spreads(len(whitened) - 1, prior).sum())
    return _data_terms(data, products, noise_variance, exponent) + gain


class Rest(NamedTuple):
    """The coefficients of all units but one, integrated out; what one unit more would change costs m^2 operations."""

    root: jax.Array
    """Inverse root of the precision of the others, zero in the row and column of the unit, shape (m + 1, m + 1). With
    the inverse itself a unit like another would be judged by rounding errors."""
    mean: jax.Array
    """Posterior mean of the others, zero for the unit, shape (m + 1,)."""
    log_evidence: jax.Array
    """Log evidence without the unit."""


class Joined(NamedTuple):
    """The conditional posterior once a unit has joined the rest."""

    mean: jax.Array
    """Of the unit's coefficient."""
    variance: jax.Array
    """Of the unit's coefficient."""
    shadow: jax.Array
    """Coefficients of the regression of the unit's feature on the others, zero for the unit, shape (m + 1,). While the
    unit's coefficient is w, the others' mean is that of the rest less w times this."""
    log_evidence: jax.Array
    """As `log_evidence`."""


def leave_out(
    unit: jax.Array,
    data: Data,
    products: jax.Array,
    noise_variance: jax.Array,
    exponent: jax.Array | float,
    prior: Prior,
) -> Rest:
    """Condition the coefficients of all units but one."""
    precision, target = _precision_and_target(products, noise_variance, exponent, prior)
    others = jnp.arange(len(target)) != unit + 1
    pairs = others[:, None] & others
    root = inverse_root(jnp.where(pairs, precision, jnp.eye(len(target))))
    whitened = root @ jnp.where(others, target, 0.0)
    spread = jnp.where(others, _log_spreads(len(target) - 1, prior), 0.0).sum()
    gain = 0.5 * (whitened @ whitened - log_determinant(root) - spread)
    return Rest(
        root=jnp.where(pairs, root, 0.0),
        mean=jnp.where(others, whitened @ root, 0.0),
        log_evidence=_data_terms(data, products, noise_variance, exponent) + gain,
    )


def join(
    square: jax.Array,
    across: jax.Array,
    along: jax.Array,
    rest: Rest,
    noise_variance: jax.Array,
    exponent: jax.Array | float,
    prior: Prior,
) -> Joined:
    """Let a unit join the rest, by the Schur complement of the others in the precision of all.

    Parameters
    ----------
    square, across, along : jax.Array
        Products of the unit's feature with itself; with the constant and the features of the others, (m + 1,), in which
        the unit's own entry does not matter; and with the residuals at the mean of the rest. With the residuals in
        place of the response the gain of a unit errs less.
    rest, noise_variance, exponent, prior
        The others and the target.
    """
    scale, ridge = exponent / noise_variance, 1 / prior.coefficient_variance
    half = scale * rest.root @ across
    least = ridge + ROUNDING * scale * square
    precision = jnp.maximum(scale * square + least - half @ half, least)
    mean = (scale * along + prior.coefficient_mean * ridge) / precision
    gain = 0.5 * (mean**2 * precision - jnp.log(precision) - _log_spreads(prior.n_permanent + 1, prior)[-1])
    return Joined(mean, 1 / precision, half @ rest.root, rest.log_evidence + gain)


def _precision_and_target(
    products: jax.Array, noise_variance: jax.Array, exponent: jax.Array | float, prior: Prior
) -> tuple[jax.Array, jax.Array]:
    """Precision A and target b of the coefficients."""
    scaled = _with_rounding(products)[:-1] * (exponent / noise_variance)
    n_places = len(scaled) - 1
    ridge = 1 / coefficient_variances(n_places, prior)
    precision = scaled[:, :-1] + jnp.diag(ridge)
    target = scaled[:, -1] + coefficient_means(n_places, prior) * ridge
    if prior.n_permanent:
        tie, pull = _tie(n_places, prior)
        precision, target = precision + ridge[0] * tie, target + ridge[0] * prior.coefficient_mean * pull
    return precision, target


def _tie(n_places: int, prior: Prior) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What ties slopes to the intercept: the prior of the level adds so much to precision and target, per ridge."""
    level = levels(n_places, prior)
    of_intercept = np.arange(len(level)) == 0
    return np.outer(level, level) - np.outer(of_intercept, of_intercept), level - of_intercept


def _rounding(products: jax.Array) -> jax.Array:
    """What the diagonal of Z'Z has more than the cross products of constant and features: (m + 1,)."""
    diagonal: jax.Array = jnp.diagonal(products)[:-1]
    return ROUNDING * diagonal


def _with_rounding(products: jax.Array) -> jax.Array:
    """Cross products with Z'Z in its place."""
    return products + jnp.diag(jnp.append(_rounding(products), 0.0))


def evidence_path(
    data: Data,
    known: ArrayLike,
    joining: ArrayLike,
    noise_variance: ArrayLike,
    coefficient_variance: ArrayLike,
    prior: Prior,
) -> Callable[[ArrayLike], NDArray[np.float64]]:
    """Log evidence of rows that join others, given those, as a function of the exponent of the joining ones.

    Two eigendecompositions for each of many particles, then m + 1 operations an exponent. The posterior N(mu, A^-1) of
    the coefficients given the known rows is their prior once others join. In terms of white coefficients,
    w = mu + A^(-1/2) u, features become Z A^(-1/2) and responses y - Z mu. Nothing large cancels, so that steps of any
    size are weighed well however little noise there is.

    Parameters
    ----------
    data : Data
        The rows that join.
    known, joining : (n_particles, m + 2, m + 2)
        Cross products of both. Where all rows have had some exponent already, the known ones are that share of them.
    noise_variance, coefficient_variance : (n_particles,)
        Of each particle.
    prior : Prior
        Of the coefficients.

    Returns
    -------
    callable
        From exponents (k,) to log evidences (k, n_particles), on the host.
    """
    noise = np.asarray(noise_variance)
    both = [_with_rounding_on_host(np.asarray(products)) for products in (known, joining)]
    correlations, sizes, pull = _correlations(both[0], noise, coefficient_variance, prior)
    values, vectors = np.linalg.eigh(correlations)
    root = vectors / sizes[:, :, None] / np.sqrt(np.maximum(values, ROUNDING))[:, None]
    target = both[0][:, :-1, -1] / noise[:, None] + pull
    mean = (root @ (np.swapaxes(root, 1, 2) @ target[:, :, None]))[:, :, 0]
    maps = np.zeros_like(both[1])
    maps[:, :-1, :-1], maps[:, :-1, -1], maps[:, -1, -1] = root, -mean, 1.0
    white = np.swapaxes(maps, 1, 2) @ both[1] @ maps / noise[:, None, None]
    values, vectors = np.linalg.eigh(white[:, :-1, :-1])
    values = np.maximum(values, 0.0)
    moment = np.einsum("lij,li->lj", vectors, white[:, :-1, -1])
    slope = -0.5 * (float(data.n_rows) * (LOG_TWO_PI + np.log(noise)) + np.maximum(white[:, -1, -1], 0.0))

    def at(exponents: ArrayLike) -> NDArray[np.float64]:
        powers = np.asarray(exponents, dtype=np.float64)[:, None, None]
        terms = (powers * moment) ** 2 / (1 + powers * values) - np.log1p(powers * values)
        return np.asarray(powers[:, :, 0] * slope + 0.5 * terms.sum(axis=-1))

    return at


def _with_rounding_on_host(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """`_with_rounding` of many particles."""
    factors = np.ones(products.shape[-1])
    factors[:-1] += ROUNDING
    return np.where(np.eye(len(factors), dtype=bool), products * factors, products)


def _own_scales(n_coefficients: int, spread: NDArray[np.float64], prior: Prior) -> NDArray[np.float64]:
    """Factors (n_particles, m + 1) of the columns with which all coefficients have the same variance."""
    factors = np.ones((len(spread), n_coefficients))
    if prior.intercept_variance > 0:
        factors[:, :1] = np.sqrt(prior.intercept_variance / spread)
    if prior.n_permanent:
        factors[:, 1 : prior.n_permanent + 1] = np.sqrt(np.asarray(prior.linear_variance) / spread)
    return factors


def is_singular(
    products: ArrayLike, noise_variance: ArrayLike, coefficient_variance: ArrayLike, prior: Prior
) -> NDArray[np.bool_]:
    """Whether the precision of each particle's coefficients is too near singular for float64, but for `ROUNDING`.

    On the host: products (n_particles, m + 2, m + 2), variances of noise and coefficients (n_particles,).
    """
    correlations, _, _ = _correlations(np.asarray(products), noise_variance, coefficient_variance, prior)
    return np.asarray(np.linalg.eigvalsh(correlations)[:, 0] < correlations.shape[1] * ROUNDING)


def _correlations(
    products: NDArray[np.float64], noise_variance: ArrayLike, coefficient_variance: ArrayLike, prior: Prior
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Precisions of coefficients (n_particles, m + 1, m + 1) over the sizes of both, the sizes, and the prior's pull.

    The pull is what the prior adds to the target: its precision times its mean, (n_particles, m + 1).
    """
    spread = np.asarray(coefficient_variance)[:, None]
    n_places = products.shape[1] - 2
    ridge = 1 / (spread * _own_scales(n_places + 1, spread, prior) ** 2)
    pull = np.asarray(coefficient_means(n_places, prior)) * ridge
    precision = products[:, :-1, :-1] / np.asarray(noise_variance)[:, None, None]
    precision = precision + ridge[:, :, None] * np.eye(precision.shape[1])
    if prior.n_permanent:
        tie, by_level = _tie(n_places, prior)
        precision = precision + ridge[:, :1, None] * tie
        pull = pull + ridge[:, :1] * prior.coefficient_mean * by_level
    sizes = np.sqrt(np.diagonal(precision, axis1=1, axis2=2))
    return precision / sizes[:, :, None] / sizes[:, None], sizes, pull


def _data_terms(data: Data, products: jax.Array, noise_variance: jax.Array, exponent: jax.Array | float) -> jax.Array:
    normaliser = data.n_rows * (LOG_TWO_PI + jnp.log(noise_variance))
    return -0.5 * exponent * (normaliser + products[-1, -1] / noise_variance)


def _log_spreads(n_places: int, prior: Prior) -> jax.Array:
    """What the prior of each coefficient takes from twice the log evidence: (n_places + 1,)."""
    variances = coefficient_variances(n_places, prior)
    return jnp.log(variances) + coefficient_means(n_places, prior) ** 2 / variances

"""Gaussian noise whose log standard deviation is a network of its own: the spread g."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp

from hyperplanes.model.data import Data
from hyperplanes.model.gaussian import LOG_TWO_PI
from hyperplanes.model.likelihoods.rows import gaussian_rows, responses, row_weights, values
from hyperplanes.model.likelihoods.unknowns import Unknowns, output_of, spread_of
from hyperplanes.model.prior import Prior

LARGEST_SPREAD = 11.0
"""Log standard deviations are held within plus and minus this, as `prior.LOG_VARIANCES` holds the noise of others."""

LARGEST_RATIO = 100.0
"""Of a squared error to its mean: larger ones pull no more in `rows_around`."""

SMALLEST_SQUARE = 1e-37
"""Squared errors below it count as this."""

SHIFT_VARIANCE = 10.0
"""Shifts of a reference are held back as by a normal prior with this variance."""
N_NEWTON = 20


@dataclass(frozen=True)
class Varying:
    """The response is f + exp(g) times white noise."""

    unknown_noise: ClassVar[bool] = False
    n_outputs: ClassVar[int] = 1
    has_spread: ClassVar[bool] = True

    def draw_degrees(self, key: jax.Array) -> jax.Array:
        """There are none."""
        return jnp.array(jnp.inf, dtype=float)

    def log_likelihood(self, unknowns: Unknowns, data: Data) -> jax.Array:
        """Log likelihood of all rows."""
        return log_likelihood_of_spread(values(spread_of(unknowns), data), squared_errors(unknowns, data), data)

    def given_auxiliaries(
        self,
        key: jax.Array,
        unknowns: Unknowns,
        functions: jax.Array,
        output: jax.Array | int,
        data: Data,
        exponent: jax.Array,
    ) -> Data:
        """Rows given the spread."""
        precisions = row_weights(data) * jnp.exp(-2 * bounded(values(spread_of(unknowns), data)))
        precisions = exponent.astype(precisions.dtype) * precisions
        return gaussian_rows(data, precisions, precisions * responses(data), exponent * data.n_rows)

    def draw_shape(self, key: jax.Array, unknowns: Unknowns, data: Data, exponent: jax.Array, prior: Prior) -> Unknowns:
        """There is nothing to draw: the spread has moves of its own."""
        return unknowns


def squared_errors(unknowns: Unknowns, data: Data) -> jax.Array:
    """Of each row, (n_blocks, block)."""
    return (responses(data) - values(output_of(unknowns, 0), data)) ** 2


def log_likelihood_of_spread(spread: jax.Array, squares: jax.Array, data: Data) -> jax.Array:
    """Log likelihood of all rows given their spread and squared errors, both (n_blocks, block)."""
    held = bounded(spread)
    terms = row_weights(data) * (held + 0.5 * squares * jnp.exp(-2 * held))
    return -0.5 * LOG_TWO_PI * data.n_rows - jnp.sum(terms, dtype=jnp.float64)


def shifted(reference: jax.Array, squares: jax.Array, data: Data, exponent: jax.Array) -> jax.Array:
    """A reference, shifted to the level that the squared errors have: a mode, by Newton's method.

    Particles differ in their errors by orders of magnitude where noise is low and the function is found by and by.
    """
    counts = row_weights(data)
    n_rows = exponent * jnp.sum(counts)
    log_squares = jnp.log(jnp.maximum(squares, SMALLEST_SQUARE)) - 2 * bounded(reference)
    log_total = jnp.log(exponent) + logsumexp(log_squares, b=counts)

    def step(_: int, shift: jax.Array) -> jax.Array:
        pull = jnp.exp(jnp.minimum(log_total - 2 * shift, 50.0))
        gradient, curvature = pull - n_rows - shift / SHIFT_VARIANCE, 2 * pull + 1 / SHIFT_VARIANCE
        return shift + jnp.clip(gradient / curvature, -1.0, 1.0)

    shift: jax.Array = jax.lax.fori_loop(0, N_NEWTON, step, jnp.zeros_like(n_rows))
    return reference + shift.astype(reference.dtype)


def rows_around(reference: jax.Array, squares: jax.Array, data: Data, exponent: jax.Array) -> Data:
    """Gaussian rows whose likelihood to exponent 1 is about that of the spread, to an exponent, around a reference.

    Where the squared errors e^2 are as large as the reference says, e^2 exp(-2 g) has mean 1, and the log likelihood of
    a row, -g - e^2 exp(-2 g) / 2, has the curvature 2.
    """
    around = bounded(reference)
    precisions = 2 * exponent.astype(around.dtype) * row_weights(data)
    targets = precisions * (around + 0.5 * (jnp.minimum(squares * jnp.exp(-2 * around), LARGEST_RATIO) - 1))
    return gaussian_rows(data, precisions, targets, exponent * data.n_rows)


def bounded(spread: jax.Array) -> jax.Array:
    """Spread within its bounds."""
    return jnp.clip(spread, -LARGEST_SPREAD, LARGEST_SPREAD)

"""Noise with heavy tails: Student's t distribution with unknown degrees of freedom."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from hyperplanes.model.data import Data
from hyperplanes.model.likelihoods.polya_gamma import draw_gammas
from hyperplanes.model.likelihoods.rows import gaussian_rows, responses, row_weights
from hyperplanes.model.likelihoods.unknowns import Unknowns, functions_of, output_of, with_output
from hyperplanes.model.prior import LOG_VARIANCES, Prior
from hyperplanes.process import normal_quantiles, uniforms

FEWEST_DEGREES = 2.0
"""So that noise has a variance."""
DEGREES_SHAPE = 2.0
DEGREES_RATE = 0.1
"""Degrees of freedom beyond the fewest have the gamma prior that Juárez & Steel (2010) give to all of them."""
LEAST_MORE = 1e-12
"""What rounding leaves of the degrees beyond the fewest is positive."""
N_WALKS = 4
LONGEST_STEP = 0.8
"""Standard deviation of the log of the degrees of freedom in the longest of the steps of a random walk, and twice that
of the log of the noise variance; each is half as long as the one before."""


@dataclass(frozen=True)
class Student:
    """The response is f + sigma t, t with nu degrees of freedom."""

    unknown_noise: ClassVar[bool] = True
    n_outputs: ClassVar[int] = 1
    has_spread: ClassVar[bool] = False

    def draw_degrees(self, key: jax.Array) -> jax.Array:
        """Draw the degrees of freedom from their prior."""
        return FEWEST_DEGREES + draw_gammas(key, jnp.full(1, DEGREES_SHAPE))[0] / DEGREES_RATE

    def log_likelihood(self, unknowns: Unknowns, data: Data) -> jax.Array:
        """Log likelihood of all rows."""
        functions = functions_of(unknowns, data)
        return self._log_density(unknowns.degrees, *_standardised(unknowns, functions[0], data), data)

    def given_auxiliaries(
        self,
        key: jax.Array,
        unknowns: Unknowns,
        functions: jax.Array,
        output: jax.Array | int,
        data: Data,
        exponent: jax.Array,
    ) -> Data:
        """Rows given precisions: (1 + u)^-a is the mean of exp(-lambda u) over lambda ~ Gamma(a)."""
        squares, _ = _standardised(unknowns, functions[0], data)
        degrees, counts = unknowns.degrees, (exponent * row_weights(data)).astype(squares.dtype)
        shapes = 0.5 * (degrees + 1).astype(squares.dtype) * jnp.maximum(counts, 1e-30)
        precisions = 2 * draw_gammas(key, shapes) / (degrees.astype(squares.dtype) + squares)
        precisions = jnp.where(counts > 0, precisions, 0)
        return gaussian_rows(data, precisions, precisions * responses(data), exponent * data.n_rows)

    def draw_shape(self, key: jax.Array, unknowns: Unknowns, data: Data, exponent: jax.Array, prior: Prior) -> Unknowns:
        """Move degrees of freedom and noise variance, with the precisions of rows integrated out."""
        network = output_of(unknowns, 0)
        squares, noise_variance = _standardised(unknowns, functions_of(unknowns, data)[0], data)

        def log_target(position: jax.Array) -> jax.Array:
            """Of the logarithms of the degrees beyond the fewest, and of the noise variance over what it was."""
            more, factor = jnp.exp(position)
            variance = factor * noise_variance
            density = self._log_density(FEWEST_DEGREES + more, squares / factor.astype(squares.dtype), variance, data)
            of_degrees = DEGREES_SHAPE * position[0] - DEGREES_RATE * more
            of_variance = -prior.noise_shape * position[1] - prior.noise_scale / variance
            return jnp.asarray(exponent * density + of_degrees + of_variance)

        draws = uniforms(key, (2, 2 * N_WALKS))
        sizes = LONGEST_STEP * 0.5 ** jnp.arange(N_WALKS)
        steps = jnp.concatenate(
            [jnp.outer(sizes, jnp.array([1.0, 0.0])), jnp.outer(0.5 * sizes, jnp.array([0.0, 1.0]))]
        )
        more = jnp.maximum(unknowns.degrees - FEWEST_DEGREES, LEAST_MORE)
        current = jnp.stack([jnp.log(more), jnp.zeros_like(more)])

        def walk(
            state: tuple[jax.Array, jax.Array], item: tuple[jax.Array, jax.Array, jax.Array]
        ) -> tuple[tuple[jax.Array, jax.Array], None]:
            (current, found), (step, white, height) = state, item
            there = log_target(current + white * step)
            accepted = jnp.log(height) < there - found
            return (jnp.where(accepted, current + white * step, current), jnp.where(accepted, there, found)), None

        items = (steps, normal_quantiles(draws[0]), draws[1])
        (current, _), _ = jax.lax.scan(walk, (current, log_target(current)), items)
        variance = noise_variance * jnp.exp(current[1])
        network = network._replace(noise_variance=jnp.clip(variance, *np.exp(LOG_VARIANCES)))
        return with_output(unknowns, 0, network)._replace(degrees=FEWEST_DEGREES + jnp.exp(current[0]))

    @staticmethod
    def _log_density(degrees: jax.Array, squares: jax.Array, noise_variance: jax.Array, data: Data) -> jax.Array:
        constant = gammaln(0.5 * (degrees + 1)) - gammaln(0.5 * degrees) - 0.5 * jnp.log(jnp.pi * degrees)
        tails = jnp.sum(row_weights(data) * jnp.log1p(squares / degrees), dtype=jnp.float64)
        return data.n_rows * (constant - 0.5 * jnp.log(noise_variance)) - 0.5 * (degrees + 1) * tails


def _standardised(unknowns: Unknowns, function: jax.Array, data: Data) -> tuple[jax.Array, jax.Array]:
    """Squares of the errors of each row over the noise variance, and that variance."""
    noise_variance = unknowns.outputs.noise_variance[0]
    errors = responses(data) - function
    return errors**2 / noise_variance.astype(errors.dtype), noise_variance

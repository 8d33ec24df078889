"""Classes: a logistic likelihood for two, a multinomial one, whose outputs compete, for more."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from hyperplanes.model.data import Data
from hyperplanes.model.likelihoods.polya_gamma import draw_polya_gamma
from hyperplanes.model.likelihoods.rows import gaussian_rows, responses, row_weights, values
from hyperplanes.model.likelihoods.unknowns import Unknowns, functions_of, output_of
from hyperplanes.model.prior import Prior

LARGEST_RESPONSE = 1e3
"""In units of its standard deviation. A row with a smaller precision than that tells next to nothing, and the sum of
squares of larger ones would drown the evidence in rounding errors."""


@dataclass(frozen=True)
class Bernoulli:
    """The response is 1 with probability 1 / (1 + exp(-f)), otherwise 0."""

    unknown_noise: ClassVar[bool] = False
    n_outputs: ClassVar[int] = 1
    has_spread: ClassVar[bool] = False

    def draw_degrees(self, key: jax.Array) -> jax.Array:
        """There are none."""
        return jnp.array(jnp.inf, dtype=float)

    def log_likelihood(self, unknowns: Unknowns, data: Data) -> jax.Array:
        """Log likelihood of all rows."""
        log_odds = values(output_of(unknowns, 0), data)
        signed = jnp.where(responses(data) > 0.5, log_odds, -log_odds)
        return jnp.sum(row_weights(data) * jax.nn.log_sigmoid(signed), dtype=jnp.float64)

    def given_auxiliaries(
        self,
        key: jax.Array,
        unknowns: Unknowns,
        functions: jax.Array,
        output: jax.Array | int,
        data: Data,
        exponent: jax.Array,
    ) -> Data:
        """Rows given Pólya-Gamma variables."""
        return _logistic_rows(key, functions[output], 0.0, responses(data), data, exponent)

    def draw_shape(self, key: jax.Array, unknowns: Unknowns, data: Data, exponent: jax.Array, prior: Prior) -> Unknowns:
        """There is nothing to draw."""
        return unknowns


@dataclass(frozen=True)
class Multinomial:
    """The response is k = 0, 1, ... with probability proportional to exp(f_k)."""

    n_outputs: int
    """Number of classes."""
    unknown_noise: ClassVar[bool] = False
    has_spread: ClassVar[bool] = False

    def draw_degrees(self, key: jax.Array) -> jax.Array:
        """There are none."""
        return jnp.array(jnp.inf, dtype=float)

    def log_likelihood(self, unknowns: Unknowns, data: Data) -> jax.Array:
        """Log likelihood of all rows."""
        log_odds = functions_of(unknowns, data)
        chosen = jnp.take_along_axis(log_odds, _classes(data)[None], axis=0)[0]
        return jnp.sum(row_weights(data) * (chosen - jax.nn.logsumexp(log_odds, axis=0)), dtype=jnp.float64)

    def given_auxiliaries(
        self,
        key: jax.Array,
        unknowns: Unknowns,
        functions: jax.Array,
        output: jax.Array | int,
        data: Data,
        exponent: jax.Array,
    ) -> Data:
        """Rows given Pólya-Gamma variables: against all others together a class is one of two."""
        is_other = jnp.arange(len(functions)) != output
        others = jax.nn.logsumexp(jnp.where(is_other[:, None, None], functions, -jnp.inf), axis=0)
        is_class = (_classes(data) == output).astype(functions.dtype)
        return _logistic_rows(key, functions[output] - others, others, is_class, data, exponent)

    def draw_shape(self, key: jax.Array, unknowns: Unknowns, data: Data, exponent: jax.Array, prior: Prior) -> Unknowns:
        """There is nothing to draw."""
        return unknowns


def _classes(data: Data) -> jax.Array:
    return jnp.rint(responses(data)).astype(int)


def _logistic_rows(
    key: jax.Array,
    log_odds: jax.Array,
    shift: jax.Array | float,
    is_one: jax.Array,
    data: Data,
    exponent: jax.Array,
) -> Data:
    """Rows of f, whose log odds are f - shift, given Pólya-Gamma variables."""
    counts = (exponent * row_weights(data)).astype(log_odds.dtype)
    precisions = draw_polya_gamma(key, jnp.maximum(counts, 1e-30), log_odds)
    pulls = counts * (is_one - 0.5)
    precisions = jnp.where(counts > 0, jnp.maximum(precisions, (pulls / LARGEST_RESPONSE) ** 2), 0)
    return gaussian_rows(data, precisions, pulls + precisions * shift, exponent * data.n_rows)

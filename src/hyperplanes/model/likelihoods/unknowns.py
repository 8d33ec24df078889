"""Everything that is unknown where noise is not constant and Gaussian, and what the sampler sees of a likelihood."""

from collections.abc import Hashable
from typing import NamedTuple, Protocol, cast

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from hyperplanes.model.data import Data
from hyperplanes.model.likelihoods.rows import values
from hyperplanes.model.prior import Particle, Prior, draw_prior, spread_prior


class Unknowns(NamedTuple):
    """One draw. Leading axes count particles."""

    outputs: Particle
    """(..., n_outputs): the networks of the response, one for each output."""
    degrees: jax.Array
    """(...,) degrees of freedom of the noise; infinite where its tails are not heavy."""
    spread: Particle | None = None
    """The network of the log standard deviation of the noise, where it varies."""


class Likelihood(Hashable, Protocol):
    """Distribution of the response given the networks, for one particle.

    A likelihood draws auxiliary variables given which it is Gaussian in one output, so that the coefficients of that
    can be integrated out.
    """

    @property
    def n_outputs(self) -> int:
        """Number of networks, without that of the spread."""

    @property
    def has_spread(self) -> bool:
        """Whether the noise has a network of its own."""

    @property
    def unknown_noise(self) -> bool:
        """Whether there is a noise variance to draw; otherwise it is 1."""

    def draw_degrees(self, key: jax.Array) -> jax.Array:
        """Draw the degrees of freedom of the noise from their prior."""

    def log_likelihood(self, unknowns: Unknowns, data: Data) -> jax.Array:
        """Log likelihood of all rows."""

    def given_auxiliaries(
        self,
        key: jax.Array,
        unknowns: Unknowns,
        functions: jax.Array,
        output: jax.Array | int,
        data: Data,
        exponent: jax.Array,
    ) -> Data:
        """Rows for which `gaussian` with exponent 1 is the likelihood to an exponent in one output, given the rest.

        `functions` are those of the unknowns, see `functions_of`.
        """

    def draw_shape(self, key: jax.Array, unknowns: Unknowns, data: Data, exponent: jax.Array, prior: Prior) -> Unknowns:
        """Draw what else the noise has, with auxiliary variables integrated out."""


def draw_unknowns(
    key: jax.Array,
    likelihood: Likelihood,
    prior: Prior,
    n_places: int,
    n_columns: int,
    dtype: DTypeLike,
    *,
    unknown_number: bool,
) -> Unknowns:
    """Draw one particle from the prior, see `draw_prior`."""
    key_outputs, key_spread, key_degrees = jax.random.split(key, 3)

    def network(key: jax.Array, prior: Prior, unknown_noise: bool) -> Particle:
        drawn = draw_prior(key, prior, n_places, n_columns, dtype, unknown_number=unknown_number)
        return drawn if unknown_noise else drawn._replace(noise_variance=jnp.ones_like(drawn.noise_variance))

    keys = jax.random.split(key_outputs, likelihood.n_outputs)
    return Unknowns(
        outputs=jax.vmap(lambda key: network(key, prior, likelihood.unknown_noise))(keys),
        degrees=likelihood.draw_degrees(key_degrees),
        spread=network(key_spread, spread_prior(prior), False) if likelihood.has_spread else None,
    )


def spread_of(unknowns: Unknowns) -> Particle:
    """The network of the spread, where there is one."""
    return cast(Particle, unknowns.spread)


def functions_of(unknowns: Unknowns, data: Data) -> jax.Array:
    """All outputs of one particle at each row, (n_outputs, n_blocks, block); 0 for rows that do not count."""
    found: jax.Array = jax.lax.map(lambda network: values(network, data), unknowns.outputs)
    return found


def output_of(unknowns: Unknowns, output: jax.Array | int) -> Particle:
    """One of the networks of one particle."""
    network: Particle = jax.tree.map(lambda leaf: leaf[output], unknowns.outputs)
    return network


def with_output(unknowns: Unknowns, output: jax.Array | int, network: Particle) -> Unknowns:
    """One of the networks of one particle replaced."""
    outputs = jax.tree.map(lambda all_, one: all_.at[output].set(one), unknowns.outputs, network)
    return unknowns._replace(outputs=outputs)

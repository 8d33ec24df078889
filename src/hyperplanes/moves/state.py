"""What a move carries along."""

from typing import NamedTuple, Protocol, TypeVar

import jax
import jax.numpy as jnp

from hyperplanes.model import Data, Particle, Prior, cross_products

Chosen = TypeVar("Chosen")


class State(NamedTuple):
    """A particle and what is known of it."""

    particle: Particle
    """The draw itself."""
    products: jax.Array
    """`cross_products` of its features: a function of the hyperplanes and the data, kept because it is costly."""


class Move(Protocol):
    """One Markov move of one particle."""

    def __call__(
        self, key: jax.Array, state: State, exponent: jax.Array, data: Data, prior: Prior
    ) -> tuple[State, jax.Array]:
        """Return the new state and the share of proposals accepted."""
        ...


def make_state(particle: Particle, data: Data) -> State:
    """Compute what is kept beside a particle."""
    return State(particle, cross_products(data, particle.normals, particle.offsets))


def choose(accepted: jax.Array, proposal: Chosen, current: Chosen) -> Chosen:
    """Return the proposal where accepted, else what is there."""
    chosen: Chosen = jax.tree.map(lambda new, old: jnp.where(accepted, new, old), proposal, current)
    return chosen

"""Many moves of one particle in a row, with its features at hand.

Features cost n m (p + 1) operations; a move changes one of them. They are too large to keep for all particles, so a
round of moves computes them once, changes them as it goes and drops them.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from hyperplanes.model import Data, Particle, Prior, gaussian, lift, relu_features
from hyperplanes.model.features import wide_product
from hyperplanes.moves.state import State
from hyperplanes.process import Hyperplanes


class Workspace(NamedTuple):
    """A state with its features."""

    particle: Particle
    """The draw itself."""
    products: jax.Array
    """Cross products of constant, features and response, (m + 2, m + 2)."""
    log_evidence: jax.Array
    """Log evidence at the exponent of the moves."""
    features: jax.Array
    """(n_blocks, m, block)."""


def open_workspace(state: State, exponent: jax.Array, data: Data, prior: Prior) -> Workspace:
    """Compute the evidence and the features of a state."""
    particle, products = state
    planes = lift(particle.normals, particle.offsets)
    evidence = gaussian.log_evidence(data, products, particle.noise_variance, exponent, prior)
    return Workspace(
        particle, products, evidence, jax.lax.map(lambda inputs: relu_features(planes, inputs), data.inputs)
    )


def close_workspace(work: Workspace) -> State:
    """Drop the features."""
    return State(work.particle, work.products)


def feature_of(hyperplane: Hyperplanes, data: Data) -> jax.Array:
    """Feature of one hyperplane on every row: (n_blocks, block)."""
    plane = lift(*hyperplane).astype(data.inputs.dtype)
    feature: jax.Array = jax.lax.map(lambda inputs: relu_features(plane, inputs), data.inputs)
    return feature


def products_with(feature: jax.Array, unit: jax.Array, features: jax.Array, data: Data) -> jax.Array:
    """Row `unit` + 1 of the cross products if that unit had the given feature: float64, shape (m + 2,)."""

    def add_block(total: jax.Array, block: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
        inputs, features, response, feature = block
        row = jnp.concatenate(
            [
                wide_product(inputs[-1:], feature),
                wide_product(features, feature).at[unit].set(wide_product(feature, feature)),
                wide_product(response[None], feature),
            ]
        )
        return total + row, None

    start = jnp.zeros(features.shape[1] + 2, dtype=jnp.float64)
    return jax.lax.scan(add_block, start, (data.inputs, features, data.response, feature))[0]


def move_unit(
    work: Workspace,
    unit: jax.Array,
    hyperplane: Hyperplanes,
    products: jax.Array,
    log_evidence: jax.Array,
    feature: jax.Array,
    accepted: jax.Array,
) -> Workspace:
    """Put a hyperplane in the place of a unit where accepted."""
    particle = work.particle
    dtype = particle.normals.dtype
    normal = jnp.where(accepted, hyperplane.normals.astype(dtype), particle.normals[unit])
    offset = jnp.where(accepted, hyperplane.offsets.astype(dtype), particle.offsets[unit])
    return Workspace(
        particle._replace(normals=particle.normals.at[unit].set(normal), offsets=particle.offsets.at[unit].set(offset)),
        jnp.where(accepted, products, work.products),
        jnp.where(accepted, log_evidence, work.log_evidence),
        work.features.at[:, unit].set(jnp.where(accepted, feature, work.features[:, unit])),
    )

"""Many moves of one particle in a row, with its features at hand.

Features cost n m (p + 1) operations; a move changes one of them. They are too large to keep for all particles, so a
round of moves computes them once, changes them as it goes and drops them.

A move leaves one unit out (`vacate`), looks at hyperplanes that could take its place (`look`), and puts one there
(`occupy`). Looks are in float32, like the features; at the end of the round products are computed anew in float64.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from hyperplanes.model import Data, Particle, Prior, gaussian, lift, relu_features, with_row
from hyperplanes.model.features import EXACT, sum_products
from hyperplanes.moves.state import State
from hyperplanes.process import Hyperplanes


class Workspace(NamedTuple):
    """A state with its features."""

    particle: Particle
    """The draw itself."""
    products: jax.Array
    """Cross products of constant, features and response, (m + 2, m + 2)."""
    features: jax.Array
    """(n_blocks, m, block)."""


class Vacancy(NamedTuple):
    """The place of a unit that is left out."""

    unit: jax.Array
    """Which."""
    rest: gaussian.Rest
    """The coefficients of the others."""
    residuals: jax.Array
    """Of the response at the mean of the others, (n_blocks, block)."""
    noise_variance: jax.Array
    """sigma^2."""
    exponent: jax.Array
    """Of the target."""


class Look(NamedTuple):
    """What hyperplanes would do in the vacant place; leading axes count them."""

    features: jax.Array
    """On every row, (n_blocks, ..., block)."""
    row: jax.Array
    """Their row of the cross products, (..., m + 2)."""
    joined: gaussian.Joined
    """The conditional posterior with them."""


def open_workspace(state: State, data: Data) -> Workspace:
    """Compute the features of a state."""
    particle, products = state
    planes = lift(particle.normals, particle.offsets)
    return Workspace(particle, products, jax.lax.map(lambda inputs: relu_features(planes, inputs), data.inputs))


def close_workspace(work: Workspace, data: Data) -> State:
    """Compute the cross products of the features in float64, then drop the features."""
    return State(work.particle, sum_products(data, work.features))


def feature_of(hyperplane: Hyperplanes, data: Data) -> jax.Array:
    """Feature of one hyperplane on every row: (n_blocks, block)."""
    plane = lift(*hyperplane).astype(data.inputs.dtype)
    feature: jax.Array = jax.lax.map(lambda inputs: relu_features(plane, inputs), data.inputs)
    return feature


def vacate(unit: jax.Array, work: Workspace, exponent: jax.Array, data: Data, prior: Prior) -> Vacancy:
    """Leave a unit out. Cost: 2 m^3 + n m multiplications."""
    noise_variance = work.particle.noise_variance
    rest = gaussian.leave_out(unit, data, work.products, noise_variance, exponent, prior)
    mean = rest.mean.astype(work.features.dtype)

    def residuals(block: tuple[jax.Array, ...]) -> jax.Array:
        inputs, features, response = block
        return response - mean[0] * inputs[-1] - jnp.matmul(mean[1:], features, precision=EXACT)

    return Vacancy(
        unit, rest, jax.lax.map(residuals, (data.inputs, work.features, data.response)), noise_variance, exponent
    )


def look(hyperplanes: Hyperplanes, vacancy: Vacancy, features: jax.Array, data: Data, prior: Prior) -> Look:
    """See what each of some hyperplanes (...,) would do in the vacant place among `features` (n_blocks, m, block).

    Cost: n (p + m + 4) multiplications each.
    """
    planes = lift(*hyperplanes).astype(data.inputs.dtype)

    def inner(new: jax.Array, rows: jax.Array) -> jax.Array:
        return jax.lax.dot_general(new, rows, (((new.ndim - 1,), (1,)), ((), ())), precision=EXACT)

    def add_block(total: jax.Array, block: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        inputs, features, residuals = block
        new = relu_features(planes, inputs)
        once, twice = inner(new, jnp.stack([inputs[-1], residuals])), jnp.sum(new * new, axis=-1, keepdims=True)
        sums = jnp.concatenate([once[..., :1], inner(new, features), once[..., 1:], twice], axis=-1)
        return total + sums.astype(jnp.float64), new

    start = jnp.zeros((*planes.shape[:-1], features.shape[1] + 3), dtype=jnp.float64)
    sums, new_features = jax.lax.scan(add_block, start, (data.inputs, features, vacancy.residuals))

    def join(sums: jax.Array) -> tuple[jax.Array, gaussian.Joined]:
        across, along, square = sums[:-2].at[vacancy.unit + 1].set(sums[-1]), sums[-2], sums[-1]
        row = jnp.append(across, along + across @ vacancy.rest.mean)
        return row, gaussian.join(square, across, along, vacancy.rest, vacancy.noise_variance, vacancy.exponent, prior)

    return Look(new_features, *(jax.vmap(join)(sums) if sums.ndim > 1 else join(sums)))


def occupy(
    hyperplane: Hyperplanes, row: jax.Array, feature: jax.Array, moved: jax.Array, vacancy: Vacancy, work: Workspace
) -> Workspace:
    """Put a hyperplane with its row of the cross products and its feature in the vacant place where `moved`."""
    particle, unit = work.particle, vacancy.unit
    dtype = particle.normals.dtype
    normal = jnp.where(moved, hyperplane.normals.astype(dtype), particle.normals[unit])
    offset = jnp.where(moved, hyperplane.offsets.astype(dtype), particle.offsets[unit])
    return Workspace(
        particle._replace(normals=particle.normals.at[unit].set(normal), offsets=particle.offsets.at[unit].set(offset)),
        with_row(work.products, unit, jnp.where(moved, row, work.products[unit + 1])),
        work.features.at[:, unit].set(jnp.where(moved, feature, work.features[:, unit])),
    )

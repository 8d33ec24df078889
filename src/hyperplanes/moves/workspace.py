"""Many moves of one particle in a row, with its features at hand.

Features cost n m (p + 1) operations; a move changes one of them. They are too large to keep for all particles, so a
round of moves computes them once, changes them as it goes and drops them.

A move leaves one unit out (`vacate`), looks at hyperplanes that could take its place (`look` near the one that left,
`survey` anywhere), and puts one there (`occupy`). Cross products are sums in float64 of features in float32: float32
sums over thousands of rows spoil the evidence where the noise is small. A look sums in float32, which is faster, but
only what changes from the feature that was there: that is little where the noise is small. Every round starts and ends
with cross products anew.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from hyperplanes.model import Data, Particle, Prior, design_of, gaussian, lift, relu_features, with_row
from hyperplanes.model.features import EXACT, add_up, products_of
from hyperplanes.moves.state import State
from hyperplanes.process import Hyperplanes

TINY = 1e-30
"""A unit with an active row has a positive sum of squares, whatever rounding does."""


class Elsewhere(NamedTuple):
    """Hyperplanes that are not in the workspace, whose coefficients are known and their functions taken off."""

    n_attending: jax.Array | float
    """(p,) how many attend to each column."""
    n_hyperplanes: jax.Array | int
    """How many there are."""
    n_places: int
    """How many there could be."""


NONE_ELSEWHERE = Elsewhere(0.0, 0, 0)


class Workspace(NamedTuple):
    """A state with its features."""

    particle: Particle
    """The draw itself."""
    products: jax.Array
    """Cross products of constant, features and response, (m + 2, m + 2)."""
    features: jax.Array
    """(n_blocks, m, block)."""
    elsewhere: Elsewhere
    """Hyperplanes of other parts of a superposition."""


class Vacancy(NamedTuple):
    """The place of a unit that is left out."""

    unit: jax.Array
    """Which."""
    feature: jax.Array
    """Its feature on every row, (n_blocks, block)."""
    row: jax.Array
    """Its row of the cross products, (m + 2,)."""
    rest: gaussian.Rest
    """The coefficients of the others."""
    residuals: jax.Array
    """Of the response at the mean of the others, (n_blocks, block)."""
    noise_variance: jax.Array
    """sigma^2."""
    exponent: jax.Array
    """Of the target."""


class Look(NamedTuple):
    """What a hyperplane would do in the vacant place."""

    feature: jax.Array
    """On every row, (n_blocks, block)."""
    row: jax.Array
    """Its row of the cross products, (m + 2,)."""
    joined: gaussian.Joined
    """The conditional posterior with it."""


def open_workspace(particle: Particle, data: Data, elsewhere: Elsewhere = NONE_ELSEWHERE) -> Workspace:
    """Compute the features of a particle, and the cross products of these very features.

    The same feature computed in another way differs in the last bit; products of both would not be semidefinite.
    """
    planes = lift(particle.normals, particle.offsets)
    features = jax.lax.map(lambda inputs: relu_features(planes, inputs), data.inputs)
    return Workspace(particle, _products(features, data), features, elsewhere)


def close_workspace(work: Workspace, data: Data) -> State:
    """Drop the features, and keep their cross products, summed anew: weights need them in float64.

    Cost: n (m + 2)^2 multiplications in float64.
    """
    return State(work.particle, _products(work.features, data))


def _products(features: jax.Array, data: Data) -> jax.Array:
    """Cross products of features (n_blocks, m, block) that are at hand."""
    return add_up(products_of, data.inputs, features, data.response)


def feature_and_row(
    hyperplane: Hyperplanes, vacancy: Vacancy, features: jax.Array, data: Data
) -> tuple[jax.Array, jax.Array]:
    """Feature of one hyperplane on every row, (n_blocks, block), and its row of the cross products."""
    plane = lift(*hyperplane).astype(data.inputs.dtype)

    def row_of(inputs: jax.Array, features: jax.Array, response: jax.Array, new: jax.Array) -> jax.Array:
        wide = new.astype(jnp.float64)
        return jnp.append(design_of(inputs, features, response) @ wide, wide @ wide)

    feature = jax.lax.map(lambda inputs: relu_features(plane, inputs), data.inputs)
    sums = add_up(row_of, data.inputs, features, data.response, feature)
    return feature, jnp.where(_is_place(vacancy), sums[-1], sums[:-1])


def _is_place(vacancy: Vacancy) -> jax.Array:
    """Where the entry of the vacant place is in a row of the cross products: (m + 2,)."""
    return jnp.arange(len(vacancy.row)) == vacancy.unit + 1


def vacate(unit: jax.Array, work: Workspace, exponent: jax.Array, data: Data, prior: Prior) -> Vacancy:
    """Leave a unit out. Cost: 2 m^3 + n m multiplications."""
    noise_variance = work.particle.noise_variance
    rest = gaussian.leave_out(unit, data, work.products, noise_variance, exponent, prior)
    mean = rest.mean.astype(work.features.dtype)

    def residuals(block: tuple[jax.Array, ...]) -> jax.Array:
        inputs, features, response = block
        return response - mean[0] * inputs[-1] - jnp.matmul(mean[1:], features, precision=EXACT)

    at_mean = jax.lax.map(residuals, (data.inputs, work.features, data.response))
    return Vacancy(unit, work.features[:, unit], work.products[unit + 1], rest, at_mean, noise_variance, exponent)


def look(hyperplane: Hyperplanes, vacancy: Vacancy, features: jax.Array, data: Data, prior: Prior) -> Look:
    """See what a hyperplane would do in the vacant place among `features`.

    Cost: n (p + m + 4) multiplications.
    """
    plane = lift(*hyperplane).astype(data.inputs.dtype)

    def add_block(total: jax.Array, block: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        inputs, features, residuals, former = block
        new = relu_features(plane, inputs)
        change = new - former
        once = jnp.matmul(jnp.stack([inputs[-1], residuals]), change, precision=EXACT)
        square = jnp.sum(change * change, keepdims=True)
        sums = jnp.concatenate([once[:1], jnp.matmul(features, change, precision=EXACT), once[1:], square])
        return total + sums.astype(jnp.float64), new

    start = jnp.zeros(features.shape[1] + 3, dtype=jnp.float64)
    changes, feature = jax.lax.scan(add_block, start, (data.inputs, features, vacancy.residuals, vacancy.feature))
    place = vacancy.unit + 1
    square = jnp.maximum(vacancy.row[place] + 2 * changes[place] + changes[-1], TINY)
    row = jnp.where(_is_place(vacancy), square, vacancy.row + jnp.append(changes[:-2], 0.0))
    along = vacancy.row[-1] - vacancy.row[:-1] @ vacancy.rest.mean + changes[-2]
    row = jnp.append(row[:-1], along + row[:-1] @ vacancy.rest.mean)
    return Look(feature, row, _join(row, along, vacancy, prior))


def survey(hyperplanes: Hyperplanes, vacancy: Vacancy, features: jax.Array, data: Data, prior: Prior) -> jax.Array:
    """Log evidences with hyperplanes (k,) from anywhere in the vacant place.

    Cost: n (p + m + 4) multiplications each.
    """
    planes = lift(*hyperplanes).astype(data.inputs.dtype)

    def rows_of(inputs: jax.Array, features: jax.Array, response: jax.Array) -> jax.Array:
        new = relu_features(planes, inputs).astype(jnp.float64)
        once = new @ design_of(inputs, features, response).T
        return jnp.concatenate([once, jnp.sum(new * new, axis=1, keepdims=True)], axis=1)

    sums = add_up(rows_of, data.inputs, features, data.response)
    rows = jnp.where(_is_place(vacancy), sums[:, -1:], sums[:, :-1])

    def log_evidence(row: jax.Array) -> jax.Array:
        return _join(row, row[-1] - row[:-1] @ vacancy.rest.mean, vacancy, prior).log_evidence

    return jax.vmap(log_evidence)(rows)


def _join(row: jax.Array, along: jax.Array, vacancy: Vacancy, prior: Prior) -> gaussian.Joined:
    """Let a unit with a row of the cross products and a product with the residuals join the rest."""
    square, across = row[vacancy.unit + 1], row[:-1]
    return gaussian.join(square, across, along, vacancy.rest, vacancy.noise_variance, vacancy.exponent, prior)


def occupy(
    hyperplane: Hyperplanes, row: jax.Array, feature: jax.Array, moved: jax.Array, vacancy: Vacancy, work: Workspace
) -> Workspace:
    """Put a hyperplane with its row of the cross products and its feature in the vacant place where `moved`."""
    particle, unit = work.particle, vacancy.unit
    dtype = particle.normals.dtype
    changes = (jnp.arange(len(particle.offsets)) == unit) & moved
    normals = jnp.where(changes[:, None], hyperplane.normals.astype(dtype), particle.normals)
    offsets = jnp.where(changes, hyperplane.offsets.astype(dtype), particle.offsets)
    return work._replace(
        particle=particle._replace(normals=normals, offsets=offsets),
        products=with_row(work.products, unit, jnp.where(moved, row, vacancy.row)),
        features=work.features.at[:, unit].set(jnp.where(moved, feature, vacancy.feature)),
    )

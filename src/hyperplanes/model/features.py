"""ReLU features of rows and their cross products."""

import jax
import jax.numpy as jnp

from hyperplanes.model.data import Data

EXACT = jax.lax.Precision.HIGHEST
"""Accelerators round float32 products to fewer bits unless told not to."""


def lift(normals: jax.Array, offsets: jax.Array) -> jax.Array:
    """Hyperplanes as vectors (n, -mu) of the space in which every row has a trailing 1: shape (..., p + 1)."""
    return jnp.concatenate([normals, -offsets[..., None]], axis=-1)


def relu_features(planes: jax.Array, inputs: jax.Array) -> jax.Array:
    """relu(<x, n> - mu) for lifted hyperplanes (..., m, p + 1) and columns of rows (p + 1, rows): (..., m, rows)."""
    return jnp.maximum(jnp.matmul(planes, inputs, precision=EXACT), 0)


def design_of(inputs: jax.Array, features: jax.Array, response: jax.Array) -> jax.Array:
    """Constant, features (m, rows) and response of a block of rows: (m + 2, rows).

    In float64, because float32 sums over thousands of rows spoil the evidence where the noise is small.
    """
    return jnp.concatenate([inputs[-1:], features, response[None]]).astype(jnp.float64)


def cross_products(data: Data, normals: jax.Array, offsets: jax.Array) -> jax.Array:
    """All inner products of (1, features, response) over the rows: float64, shape (m + 2, m + 2).

    It holds Z'Z, Z'y and y'y, everything that the likelihood needs. Cost: n m (p + m) multiplications.
    """
    return products_and_features(data, normals, offsets)[0]


def products_and_features(data: Data, normals: jax.Array, offsets: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`cross_products`, and the features that they are of: (n_blocks, m, block)."""
    planes = lift(normals, offsets)

    def add_block(total: jax.Array, block: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        inputs, response = block
        features = relu_features(planes, inputs)
        design = design_of(inputs, features, response)
        return total + design @ design.T, features

    start = jnp.zeros((len(planes) + 2, len(planes) + 2), dtype=jnp.float64)
    products, features = jax.lax.scan(add_block, start, (data.inputs, data.response))
    return products, features


def replaced_row(data: Data, normals: jax.Array, offsets: jax.Array, unit: jax.Array) -> jax.Array:
    """Row `unit` + 1 of the cross products alone: float64, shape (m + 2,). Cost: n m (p + 2) multiplications."""
    planes = lift(normals, offsets)

    def add_block(total: jax.Array, block: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        inputs, response = block
        design = design_of(inputs, relu_features(planes, inputs), response)
        return total + design @ design[unit + 1], None

    total, _ = jax.lax.scan(add_block, jnp.zeros(len(planes) + 2, dtype=jnp.float64), (data.inputs, data.response))
    return total


def with_row(products: jax.Array, unit: jax.Array, row: jax.Array) -> jax.Array:
    """Cross products with row and column `unit` + 1 replaced."""
    return products.at[unit + 1].set(row).at[:, unit + 1].set(row)

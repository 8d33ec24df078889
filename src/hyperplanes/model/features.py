"""ReLU features of rows and their cross products, the only passes over the data."""

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


def wide_product(left: jax.Array, right: jax.Array) -> jax.Array:
    """Matrix product in float64. Float32 sums over thousands of rows spoil the evidence where the noise is small."""
    return jnp.matmul(left.astype(jnp.float64), right.astype(jnp.float64), precision=EXACT)


def cross_products(data: Data, normals: jax.Array, offsets: jax.Array) -> jax.Array:
    """All inner products of (1, features, response) over the rows: float64, shape (m + 2, m + 2).

    It holds Z'Z, Z'y and y'y, everything that the likelihood needs. Cost: n m (p + m) multiplications.
    """
    planes = lift(normals, offsets)

    def add_block(total: jax.Array, block: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        inputs, response = block
        return total + _block_products(inputs, relu_features(planes, inputs), response), None

    return jax.lax.scan(add_block, _no_products(len(planes)), (data.inputs, data.response))[0]


def sum_products(data: Data, features: jax.Array) -> jax.Array:
    """`cross_products` of features that are at hand, (n_blocks, m, block)."""

    def add_block(total: jax.Array, block: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
        inputs, features, response = block
        return total + _block_products(inputs, features, response), None

    return jax.lax.scan(add_block, _no_products(features.shape[1]), (data.inputs, features, data.response))[0]


def _no_products(n_hyperplanes: int) -> jax.Array:
    return jnp.zeros((n_hyperplanes + 2, n_hyperplanes + 2), dtype=jnp.float64)


def _block_products(inputs: jax.Array, features: jax.Array, response: jax.Array) -> jax.Array:
    rows = jnp.concatenate([inputs[-1:], features, response[None]])
    return wide_product(rows, rows.T)


def replaced_row(data: Data, normals: jax.Array, offsets: jax.Array, unit: jax.Array) -> jax.Array:
    """Row `unit` + 1 of the cross products alone: float64, shape (m + 2,). Cost: n m (p + 2) multiplications."""
    planes = lift(normals, offsets)

    def add_block(total: jax.Array, block: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        inputs, response = block
        features = relu_features(planes, inputs)
        rows = jnp.concatenate([inputs[-1:], features, response[None]])
        return total + wide_product(rows, features[unit]), None

    total, _ = jax.lax.scan(add_block, jnp.zeros(planes.shape[0] + 2, dtype=jnp.float64), (data.inputs, data.response))
    return total


def with_row(products: jax.Array, unit: jax.Array, row: jax.Array) -> jax.Array:
    """Cross products with row and column `unit` + 1 replaced."""
    return products.at[unit + 1].set(row).at[:, unit + 1].set(row)

"""ReLU features of rows and their cross products."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from hyperplanes.model.data import Data
from hyperplanes.model.hardware import on_cpu

LONGEST_PIECE = 512
"""Rows of which copies in float64 are made at once on a CPU."""
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


def add_up(terms: Callable[..., jax.Array], *rows: jax.Array) -> jax.Array:
    """Sum of `terms(*piece)` over pieces of rows.

    On a CPU a piece is so short that what is made of it, in float64 as a rule, stays in the cache.

    Parameters
    ----------
    terms : callable
        From arrays (..., piece) to an array, the same shape for every piece.
    *rows : (n_blocks, ..., block)
        Rows in blocks.
    """
    n_blocks, length = rows[0].shape[0], rows[0].shape[-1]
    piece = piece_length(length)
    a_block = length // piece

    def piece_of(leaf: jax.Array, k: jax.Array | int) -> jax.Array:
        start = [k // a_block, *[0] * (leaf.ndim - 2), k % a_block * piece]
        return jax.lax.dynamic_slice(leaf, start, (1, *leaf.shape[1:-1], piece))[0]

    def add_piece(k: jax.Array, total: jax.Array) -> jax.Array:
        return total + terms(*(piece_of(leaf, k) for leaf in rows))

    shape = jax.eval_shape(lambda: terms(*(piece_of(leaf, 0) for leaf in rows)))
    total: jax.Array = jax.lax.fori_loop(0, n_blocks * a_block, add_piece, jnp.zeros(shape.shape, shape.dtype))
    return total


def piece_length(length: int) -> int:
    """Rows of a piece of a block: the most that divide it, up to `LONGEST_PIECE` on a CPU."""
    if not on_cpu():
        return length
    return next(length // n for n in range(-(-length // LONGEST_PIECE), length + 1) if length % n == 0)


def cross_products(data: Data, normals: jax.Array, offsets: jax.Array) -> jax.Array:
    """All inner products of (1, features, response) over the rows: float64, shape (m + 2, m + 2).

    It holds Z'Z, Z'y and y'y, everything that the likelihood needs. Cost: n m (p + m) multiplications.
    """
    planes = lift(normals, offsets)
    return add_up(
        lambda inputs, response: products_of(inputs, relu_features(planes, inputs), response),
        data.inputs,
        data.response,
    )


def products_of(inputs: jax.Array, features: jax.Array, response: jax.Array) -> jax.Array:
    """Cross products of some rows whose features (m, rows) are known."""
    design = design_of(inputs, features, response)
    return design @ design.T


def replaced_row(data: Data, normals: jax.Array, offsets: jax.Array, unit: jax.Array) -> jax.Array:
    """Row `unit` + 1 of the cross products alone: float64, shape (m + 2,). Cost: n m (p + 2) multiplications."""
    planes = lift(normals, offsets)

    def row_of(inputs: jax.Array, response: jax.Array) -> jax.Array:
        design = design_of(inputs, relu_features(planes, inputs), response)
        return design @ design[unit + 1]

    return add_up(row_of, data.inputs, data.response)


def with_row(products: jax.Array, unit: jax.Array, row: jax.Array) -> jax.Array:
    """Cross products with row and column `unit` + 1 replaced."""
    is_unit = jnp.arange(len(row)) == unit + 1
    return jnp.where(is_unit, row[:, None], jnp.where(is_unit[:, None], row, products))

"""Small positive definite matrices, one for each of many particles.

Plain JAX instead of LAPACK: inside compiled programs LAPACK calls on batches wait for the thread pool that runs the
program itself, and programs in two threads can then wait for each other forever.
"""

import jax
import jax.numpy as jnp

SMALLEST_PIVOT = 1e-14
"""Relative to the diagonal: a matrix that is singular in float64 is treated as if it had a ridge of this size."""
LARGEST_BLOCK = 24
"""Matrices of this size are eliminated row by row; larger ones run faster in halves."""


def inverse_root(matrix: jax.Array) -> jax.Array:
    """Lower triangular W with W A W' = I, so that A^-1 = W'W and log|A| = -2 sum log diag W. Shape (n, n).

    2 n^3 multiplications, for large matrices n^3 in products of blocks.
    """
    return _root_above(matrix, SMALLEST_PIVOT * jnp.diagonal(matrix))


def _root_above(matrix: jax.Array, floor: jax.Array) -> jax.Array:
    """`inverse_root` with pivots no smaller than `floor`."""
    n = len(matrix)
    if n <= LARGEST_BLOCK:
        return _eliminate(matrix, floor)
    half = n // 2
    first = _root_above(matrix[:half, :half], floor[:half])
    across = matrix[half:, :half] @ first.T
    second = _root_above(matrix[half:, half:] - across @ across.T, floor[half:])
    return jnp.block([[first, jnp.zeros((half, n - half))], [-second @ (across @ first), second]])


def _eliminate(matrix: jax.Array, floor: jax.Array) -> jax.Array:
    """Gaussian elimination of (A, I) without pivoting, which is stable for positive definite matrices."""
    n = len(matrix)

    def eliminate(k: jax.Array, rows: jax.Array) -> jax.Array:
        # The row stands in for the column, from which rounding makes it differ: only a symmetric remainder is stable.
        column = jnp.where(jnp.arange(n) > k, rows[k, :n], 0.0)
        return rows - jnp.outer(column / jnp.maximum(rows[k, k], floor[k]), rows[k])

    rows: jax.Array = jax.lax.fori_loop(0, n, eliminate, jnp.concatenate([matrix, jnp.eye(n)], axis=1))
    return rows[:, n:] / jnp.sqrt(jnp.maximum(jnp.diagonal(rows), floor))[:, None]


def log_determinant(root: jax.Array) -> jax.Array:
    """Log determinant of a matrix from its inverse root."""
    return -2 * jnp.log(jnp.diagonal(root)).sum()

"""Small positive definite matrices, one for each of many particles.

Plain JAX instead of LAPACK: inside compiled programs LAPACK calls on batches wait for the thread pool that runs the
program itself, and programs in two threads can then wait for each other forever.
"""

import jax
import jax.numpy as jnp

SMALLEST_PIVOT = 1e-14
"""Relative to the diagonal: a matrix that is singular in float64 is treated as if it had a ridge of this size."""


def inverse_root(matrix: jax.Array) -> jax.Array:
    """Lower triangular W with W A W' = I, so that A^-1 = W'W and log|A| = -2 sum log diag W. Shape (n, n).

    Gaussian elimination of (A, I) without pivoting, which is stable for positive definite matrices; 2 n^3
    multiplications.
    """
    n = len(matrix)
    floor = SMALLEST_PIVOT * jnp.diagonal(matrix)

    def eliminate(k: jax.Array, rows: jax.Array) -> jax.Array:
        # The row stands in for the column, from which rounding makes it differ: only a symmetric remainder is stable.
        column = jnp.where(jnp.arange(n) > k, rows[k, :n], 0.0)
        return rows - jnp.outer(column / jnp.maximum(rows[k, k], floor[k]), rows[k])

    rows: jax.Array = jax.lax.fori_loop(0, n, eliminate, jnp.concatenate([matrix, jnp.eye(n)], axis=1))
    pivots = jnp.maximum(jnp.diagonal(rows), floor)
    return rows[:, n:] / jnp.sqrt(pivots)[:, None]


def log_determinant(root: jax.Array) -> jax.Array:
    """Log determinant of a matrix from its inverse root."""
    return -2 * jnp.log(jnp.diagonal(root)).sum()

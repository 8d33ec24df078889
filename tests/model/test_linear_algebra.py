import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperplanes.model.linear_algebra import inverse_root, log_determinant

root_of = jax.jit(inverse_root)


def random_matrix(seed: int, size: int, log_condition: float) -> np.ndarray:
    """Positive definite, not diagonal, with entries of very different sizes."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(size, size)))[0]
    matrix = turn * np.exp(log_condition * rng.uniform(size=size)) @ turn.T
    return (matrix + matrix.T) / 2


@given(st.integers(0, 2**31), st.sampled_from([1, 2, 6, 60]), st.floats(0, 12))
@settings(max_examples=40)
def test_inverse_root_is_lower_triangular_and_whitens(seed, size, log_condition):
    with jax.enable_x64(True):
        matrix = random_matrix(seed, size, log_condition)
        root = np.asarray(root_of(jnp.asarray(matrix)))
    np.testing.assert_array_equal(root, np.tril(root))
    np.testing.assert_allclose(root @ matrix @ root.T, np.eye(size), atol=1e-8)
    expected = np.linalg.inv(matrix)
    np.testing.assert_allclose(root.T @ root, expected, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_allclose(log_determinant(root), np.linalg.slogdet(matrix)[1], atol=1e-8)


@pytest.mark.parametrize("size", [2, 5, 60])
def test_a_singular_matrix_has_a_finite_inverse_root(size, rng):
    vector = rng.normal(size=size)
    assert np.all(np.isfinite(root_of(jnp.asarray(np.outer(vector, vector)))))

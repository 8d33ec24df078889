import jax
import jax.numpy as jnp
import numpy as np
import pytest

import closed_form
from closed_form import Problem, make_problem
from hyperplanes.model import cross_products, lift, make_data, relu_features, replaced_row, with_row
from hyperplanes.model.data import block_shape
from hyperplanes.model.features import LONGEST_PIECE, piece_length

PIECES = [*range(1, 5000, 7), 4096, 4097, 8192, 8193, 100_003]
"""Rows of data sets."""
TOLERANCE = {np.float64: 1e-13, np.float32: 2e-6}
"""Of a product, relative to the lengths of its two vectors."""
SHAPES = [(5, 1, 1), (130, 3, 4), (5000, 2, 3)]
"""Rows, columns, hyperplanes; the last needs two blocks."""


def dense_products(problem: Problem) -> np.ndarray:
    Z = closed_form.features(problem.inputs, problem.normals, problem.offsets)
    rows = np.column_stack([Z, problem.response]) * np.sqrt(problem.row_weights)[:, None]
    return rows.T @ rows


def assert_products_equal(actual: jax.Array, expected: np.ndarray, dtype: type) -> None:
    lengths = np.sqrt(np.diag(expected))
    assert actual.dtype == np.float64
    assert np.all(np.abs(np.asarray(actual) - expected) <= TOLERANCE[dtype] * np.outer(lengths, lengths))


def test_blocks_of_all_sizes_are_cut_into_few_pieces_that_fit():
    for n_rows in PIECES:
        _, block = block_shape(n_rows)
        piece = piece_length(block)
        assert block % piece == 0
        assert min(block, LONGEST_PIECE) / 2 <= piece <= LONGEST_PIECE


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_cross_products_are_those_of_the_dense_matrix(shape, dtype, seed):
    problem = make_problem(seed, *shape)
    data = make_data(problem.inputs, problem.response, problem.row_weights, dtype=dtype)
    planes = [jnp.asarray(array, dtype=dtype) for array in (problem.normals, problem.offsets)]
    assert_products_equal(cross_products(data, *planes), dense_products(problem), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_replaced_row_is_the_row_of_the_new_set(shape, dtype, seed):
    problem = make_problem(seed, *shape)
    fresh = make_problem(seed + 1, *shape)
    data = make_data(problem.inputs, problem.response, problem.row_weights, dtype=dtype)
    before = cross_products(data, jnp.asarray(problem.normals, dtype), jnp.asarray(problem.offsets, dtype))
    for unit in range(shape[2]):
        normals, offsets = problem.normals.copy(), problem.offsets.copy()
        normals[unit], offsets[unit] = fresh.normals[unit], fresh.offsets[unit]
        row = replaced_row(data, jnp.asarray(normals, dtype), jnp.asarray(offsets, dtype), jnp.array(unit))
        expected = dense_products(problem._replace(normals=normals, offsets=offsets))
        assert_products_equal(with_row(before, jnp.array(unit), row), expected, dtype)


def test_with_row_changes_one_row_and_its_column_only(rng):
    products = rng.normal(size=(5, 5))
    row = rng.normal(size=5)
    changed = np.asarray(with_row(jnp.asarray(products), jnp.array(2), jnp.asarray(row)))
    np.testing.assert_array_equal(changed[3], row)
    np.testing.assert_array_equal(changed[:, 3], row)
    others = [0, 1, 2, 4]
    np.testing.assert_array_equal(changed[np.ix_(others, others)], products[np.ix_(others, others)])


def test_a_row_of_integer_weight_counts_as_often_as_repeated(seed):
    problem = make_problem(seed, 6)
    counts = np.array([1, 3, 2, 5, 1, 4])
    planes = (jnp.asarray(problem.normals), jnp.asarray(problem.offsets))
    weighted = make_data(problem.inputs, problem.response, counts, dtype=np.float64)
    repeated = make_data(problem.inputs.repeat(counts, 0), problem.response.repeat(counts), dtype=np.float64)
    np.testing.assert_allclose(cross_products(weighted, *planes), cross_products(repeated, *planes), rtol=1e-13)


def test_a_unit_that_no_row_reaches_has_no_products(seed):
    problem = make_problem(seed, 40)
    data = make_data(problem.inputs, problem.response, problem.row_weights)
    offsets = jnp.asarray(problem.offsets, np.float32).at[1].set(1.42)
    products = np.asarray(cross_products(data, jnp.asarray(problem.normals, np.float32), offsets))
    np.testing.assert_array_equal(products[2], 0)
    np.testing.assert_array_equal(products[:, 2], 0)
    assert np.all(products[[0, 4], [0, 4]] > 0)


def test_features_of_lifted_hyperplanes_are_relus(seed):
    problem = make_problem(seed, 8, 3, 4)
    inputs = np.column_stack([problem.inputs, np.ones(8)]).T
    actual = relu_features(lift(jnp.asarray(problem.normals), jnp.asarray(problem.offsets)), jnp.asarray(inputs))
    expected = closed_form.features(problem.inputs, problem.normals, problem.offsets)[:, 1:].T
    np.testing.assert_allclose(actual, expected, atol=1e-15)
    assert np.any(expected == 0)
    assert np.any(expected > 0)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from closed_form import make_problem
from hyperplanes.model import Data, make_data
from hyperplanes.model.data import LARGEST_BLOCK, N_FACTORS, SMALLEST_BLOCK, block_shape
from p_values import LEVEL


def flat_rows(data: Data) -> np.ndarray:
    """Inputs, constant and response of every row, padding included."""
    inputs = np.moveaxis(np.asarray(data.inputs), 1, 2).reshape(-1, data.inputs.shape[1])
    return np.column_stack([inputs, np.asarray(data.response).ravel()])


@given(st.integers(0, 10**7))
def test_blocks_hold_all_rows_with_little_padding(n_rows):
    n_blocks, length = block_shape(n_rows)
    assert n_blocks * length >= n_rows
    assert SMALLEST_BLOCK <= length <= LARGEST_BLOCK
    assert n_blocks == max(1, -(-n_rows // LARGEST_BLOCK))
    if n_rows >= SMALLEST_BLOCK:
        assert n_blocks * length - n_rows <= n_blocks * length / 8


@given(st.integers(SMALLEST_BLOCK, LARGEST_BLOCK - 1))
def test_more_rows_in_one_block_never_need_a_shorter_block(n_rows):
    assert block_shape(n_rows)[1] <= block_shape(n_rows + 1)[1]


@pytest.mark.parametrize("octave", [256, 512, 1024, 2048])
def test_there_are_eight_block_lengths_an_octave(octave):
    lengths = {block_shape(n_rows)[1] for n_rows in range(octave + 1, 2 * octave + 1)}
    assert len(lengths) == 8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [3, 64, 100, 5001])
def test_rows_are_scaled_by_the_root_of_their_weight_and_padded_with_zeros(dtype, n_rows, seed):
    problem = make_problem(seed, n_rows)
    data = make_data(problem.inputs, problem.response, problem.row_weights, dtype=dtype)
    n_blocks, length = block_shape(n_rows)
    assert data.inputs.shape == (n_blocks, 3, length)
    assert data.response.shape == (n_blocks, length)
    assert data.inputs.dtype == data.response.dtype == dtype
    assert data.n_columns == 2
    rows = np.column_stack([problem.inputs, np.ones(n_rows), problem.response])
    expected = rows * np.sqrt(problem.row_weights)[:, None]
    found = flat_rows(data)[:n_rows]
    in_order = found[np.argsort(found[:, 0])]
    np.testing.assert_allclose(in_order, expected[np.argsort(expected[:, 0])], rtol=2 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(flat_rows(data)[n_rows:], 0)


def test_rows_are_shuffled_always_alike_so_that_the_first_stand_for_all():
    inputs = np.linspace(-1, 1, 4000)[:, None]
    first, again = (make_data(inputs, inputs[:, 0]) for _ in range(2))
    np.testing.assert_array_equal(first.response, again.response)
    some = np.asarray(first.response)[0, :400]
    assert stats.kstest(some, stats.uniform(-1, 2).cdf).pvalue > LEVEL
    np.testing.assert_array_equal(first.inputs[0, 0], first.response[0])  # input and response stay together


def test_covariance_is_that_of_the_weighted_rows(seed):
    problem = make_problem(seed, 200, 3)
    data = make_data(problem.inputs, problem.response, problem.row_weights)
    expected = np.cov(problem.inputs.T, aweights=problem.row_weights, bias=True)
    np.testing.assert_allclose(data.covariance, expected, rtol=1e-12, atol=1e-15)
    assert data.covariance.dtype == data.factors.dtype == data.noise.dtype == np.float64


@pytest.mark.parametrize("n_columns", [1, N_FACTORS, N_FACTORS + 4])
def test_factors_are_the_main_axes_and_noise_fills_the_variances_up(n_columns, seed):
    problem = make_problem(seed, 200, n_columns)
    data = make_data(problem.inputs, problem.response, problem.row_weights)
    factors, covariance = np.asarray(data.factors), np.asarray(data.covariance)
    n_factors = min(N_FACTORS, n_columns)
    assert factors.shape == (n_factors, n_columns)
    largest = np.linalg.eigvalsh(covariance)[-n_factors:]
    np.testing.assert_allclose(factors @ factors.T, np.diag(largest), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(factors @ covariance, largest[:, None] * factors, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(np.sum(factors**2, axis=0) + data.noise, np.diag(covariance), rtol=1e-10)
    assert np.all(np.asarray(data.noise) >= 0)


@pytest.mark.parametrize("n_rows", [0, 1])
def test_without_variation_there_are_neither_factors_nor_noise(n_rows):
    data = make_data(np.ones((n_rows, 3)), np.ones(n_rows))
    for leaf in (data.covariance, data.factors, data.noise):
        np.testing.assert_allclose(leaf, 0, atol=1e-12)


def test_rows_are_counted_as_often_as_their_weights_say(seed):
    problem = make_problem(seed, 11)
    data = make_data(problem.inputs, problem.response, problem.row_weights)
    np.testing.assert_allclose(data.n_rows, problem.row_weights.sum(), rtol=1e-14)
    assert data.n_rows.dtype == np.float64
    assert make_data(problem.inputs, problem.response).n_rows == 11


def test_features_are_float32_unless_asked_otherwise(seed):
    problem = make_problem(seed)
    assert make_data(problem.inputs, problem.response).inputs.dtype == np.float32


def test_no_weights_means_weights_of_one(seed):
    problem = make_problem(seed)
    without, ones = (make_data(problem.inputs, problem.response, weights) for weights in (None, np.ones(7)))
    for first, second in zip(without, ones, strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_row_of_weight_zero_is_no_row(seed):
    problem = make_problem(seed, 9)
    weights = problem.row_weights * ~np.isin(np.arange(9), [0, 4, 8])
    kept = weights > 0
    dropped = make_data(problem.inputs, problem.response, weights)
    removed = make_data(problem.inputs[kept], problem.response[kept], weights[kept])
    np.testing.assert_allclose(dropped.n_rows, weights.sum(), rtol=1e-14)
    for first, second in zip(dropped, removed, strict=True):
        np.testing.assert_array_equal(first, second)

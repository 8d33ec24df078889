import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from hyperplanes.estimators.scaling import input_scaler, is_constant, response_scaler

finite = st.floats(-1e300, 1e300, allow_subnormal=False)
tables = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=finite)
vectors = arrays(np.float64, array_shapes(min_dims=1, max_dims=1, max_side=12), elements=finite)


@given(tables)
def test_every_table_lands_in_the_cube(inputs):
    scaled = input_scaler(inputs).to_model(inputs)
    assert np.isfinite(scaled).all()
    assert (np.abs(scaled) <= 1 + 1e-9).all()


@given(vectors)
def test_every_response_is_standardised_and_comes_back(response):
    scaler = response_scaler(response)
    scaled = scaler.to_model(response)
    assert np.isfinite(scaled).all()
    if not is_constant(response):
        assert np.mean(scaled) == pytest.approx(0, abs=1e-1)
        assert np.std(scaled) == pytest.approx(1, rel=1e-1)
    np.testing.assert_allclose(scaler.to_user(scaled), response, rtol=1e-9, atol=1e-9 * np.abs(response).max())


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_columns_reach_both_ends_whatever_their_unit(unit):
    inputs = unit * np.array([[1.0, -3.0], [2.0, 5.0], [4.0, 0.0]])
    scaled = input_scaler(inputs).to_model(inputs)
    np.testing.assert_allclose(scaled, [[-1, -1], [-1 / 3, 1], [1, -1 / 4]], atol=1e-14)


@pytest.mark.parametrize("value", [0.0, 3.7, 1e12, -1e-12])
def test_constant_column_is_zero_for_new_values_too(value):
    scaler = input_scaler(np.full((5, 1), value))
    assert (scaler.to_model(np.array([[value], [value + 5.0], [-1e300]])) == 0).all()


def test_rounding_noise_counts_as_constant():
    assert is_constant(np.array([0.3, 0.1 + 0.2]))
    assert np.isinf(input_scaler(np.array([[0.3], [0.1 + 0.2]])).scale_).all()
    assert not is_constant(1e12 + np.array([0.0, 1.0]))


def test_new_values_are_not_clipped():
    scaler = input_scaler(np.array([[0.0], [10.0]]))
    np.testing.assert_allclose(scaler.to_model(np.array([[30.0], [-10.0]])), [[5.0], [-3.0]])


def test_new_values_stay_finite_however_far_away():
    scaler = input_scaler(np.array([[0.0], [1e-300]]))
    assert np.isfinite(scaler.to_model(np.array([[1.7e308], [-1.7e308]]))).all()


@pytest.mark.parametrize("value", [0.0, 1e-320, 1e-12, 1e12 / 3, -1.7e308])
def test_constant_response_is_zero_on_the_scale_of_rounding(value):
    scaler = response_scaler(np.full(4, value))
    assert 0 < scaler.scale_ <= max(1e-14 * abs(value), 1e-300)
    assert (scaler.to_model(np.full(4, value)) == 0).all()

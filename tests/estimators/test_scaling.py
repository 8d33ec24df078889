import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from hyperplanes.estimators import Scaler
from hyperplanes.estimators.scaling import BEND, input_scaler, is_constant, range_scaler, response_scaler

# Differences between numbers that are next to zero are subnormal, and have no digits left.
finite = st.floats(-1e300, 1e300).map(lambda value: 0.0 if abs(value) < 1e-280 else value)
tables = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=finite)
vectors = arrays(np.float64, array_shapes(min_dims=1, max_dims=1, max_side=12), elements=finite)
seeds = st.integers(0, 2**32 - 1)


def draw_weights(seed: int, n_rows: int) -> np.ndarray:
    """Positive weights of four orders of magnitude."""
    return 10.0 ** np.random.default_rng(seed).uniform(-2, 2, size=n_rows)


def varied_columns(inputs: np.ndarray) -> np.ndarray:
    """Which columns are not constant."""
    return np.isfinite(range_scaler(inputs).scale_)


@given(tables)
def test_every_table_lands_in_the_papers_cube(inputs):
    scaled = range_scaler(inputs).to_model(inputs)
    assert np.isfinite(scaled).all()
    assert (np.abs(scaled) <= 1 + 1e-9).all()


@given(tables, seeds)
def test_every_table_becomes_finite_numbers_of_moderate_size(inputs, seed):
    scaled = input_scaler(inputs, draw_weights(seed, len(inputs))).to_model(inputs)
    assert np.isfinite(scaled).all()
    assert (np.abs(scaled) < 14).all()  # a share of 1 / 50,000 of the weight is 224 deviations away, before the bend


@given(tables, seeds, arrays(np.float64, (4, 1), elements=st.floats(-100, 100)))
def test_inputs_come_back_from_the_units_of_the_model(inputs, seed, steps):
    inputs = inputs[:, varied_columns(inputs)]
    assume(inputs.size)
    scaler = input_scaler(inputs, draw_weights(seed, len(inputs)))
    sizes = np.abs(inputs).max(axis=0)
    new = np.clip(scaler.center_ + steps * scaler.scale_, -1e300, 1e300)
    for values in (inputs, new):
        back = scaler.to_user(scaler.to_model(values))
        assert (np.abs(back - values) <= 1e-9 * np.maximum(sizes, np.abs(values))).all()


@given(arrays(np.float64, (5, 2), elements=st.floats(-30, 30)))
def test_units_of_the_model_come_back_from_the_users(values):
    scaler = Scaler(np.array([3.0, -1e4]), np.array([1e-3, 1e5]), BEND)
    np.testing.assert_allclose(scaler.to_model(scaler.to_user(values)), values, rtol=1e-9, atol=1e-9)


@given(tables, seeds)
def test_inputs_keep_their_order(inputs, seed):
    inputs = np.sort(inputs, axis=0)
    scaled = input_scaler(inputs, draw_weights(seed, len(inputs))).to_model(inputs)
    assert (np.diff(scaled, axis=0) >= 0).all()


@pytest.mark.parametrize("unit", [1e-300, 1e-12, 1.0, 1e12, 1e300])
def test_columns_have_weighted_mean_0_and_deviation_1_whatever_their_unit(unit):
    inputs, weights = np.array([[1.0, -3.0], [2.0, 5.0], [4.0, 0.0], [2.5, 1.0]]), np.array([1.0, 2.0, 0.5, 3.0])
    scaled = input_scaler(unit * inputs, weights).to_model(unit * inputs)
    np.testing.assert_allclose(np.average(scaled, axis=0, weights=weights), 0, atol=1e-12)
    np.testing.assert_allclose(np.average(scaled**2, axis=0, weights=weights), 1, rtol=1e-12)


@pytest.mark.parametrize("make_scaler", [input_scaler, response_scaler])
def test_weight_is_the_same_as_repeated_rows(make_scaler):
    values, counts = np.array([1.0, 2.0, 4.0, 2.5, 17.0]), np.array([1, 3, 2, 4, 1])
    table = values[:, None] if make_scaler is input_scaler else values
    weighted = make_scaler(table, counts.astype(float))
    repeated = make_scaler(np.repeat(table, counts, axis=0), np.ones(counts.sum()))
    np.testing.assert_allclose(weighted.center_, repeated.center_, rtol=1e-14)
    np.testing.assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-14)


@pytest.mark.parametrize("values", [(0.0, 1.0), (-7.0, 1e12), (3.0, 3.0 + 1e-9)])
@pytest.mark.parametrize("n_first", [1, 3, 99])
def test_columns_of_two_values_become_minus_1_and_1_however_rare_one_is(values, n_first):
    column = np.array([values[0]] * n_first + [values[1]] * (100 - n_first))
    scaled = input_scaler(column[:, None], np.linspace(0.1, 5.0, 100)).to_model(column[:, None])
    np.testing.assert_allclose(scaled[:, 0], np.where(np.arange(100) < n_first, -1, 1), rtol=1e-5)


def test_bend_compresses_far_values_and_no_others():
    scaler = Scaler(np.array(10.0), np.array(2.0), BEND)
    near = np.array([-2.5, -1.0, 0.0, 0.25, 2.5])
    np.testing.assert_array_equal(scaler.to_model(10.0 + 2.0 * near), near)
    far = BEND * np.exp([1.0, 2.0])
    np.testing.assert_allclose(scaler.to_model(10.0 + 2.0 * far), [2 * BEND, 3 * BEND])
    np.testing.assert_allclose(scaler.to_model(10.0 - 2.0 * far), [-2 * BEND, -3 * BEND])


@pytest.mark.parametrize("side", [-1, 1])
def test_bend_has_no_kink(side):
    inside, at, outside = Scaler(np.array(0.0), np.array(1.0), BEND).to_model(
        side * (BEND + np.array([-1e-6, 0, 1e-6]))
    )
    assert outside - at == pytest.approx(at - inside, rel=1e-5)


def test_outlier_gets_no_leverage(rng):
    inputs = np.append(rng.normal(size=99), 1e6)[:, None]
    scaler = input_scaler(inputs, np.ones(100))
    straight = scaler._replace(bend_=np.inf).to_model(inputs)
    scaled = scaler.to_model(inputs)
    assert straight[-1] == pytest.approx(np.sqrt(99), rel=1e-3)
    assert scaled[-1] == pytest.approx(BEND * (1 + np.log(np.sqrt(99) / BEND)), rel=1e-3)
    np.testing.assert_array_equal(scaled[:-1], straight[:-1])


@given(vectors, seeds)
def test_every_response_is_standardised_and_comes_back(response, seed):
    weights = draw_weights(seed, len(response))
    scaler = response_scaler(response, weights)
    scaled = scaler.to_model(response)
    assert np.isfinite(scaled).all()
    if not is_constant(response):
        mean = np.average(scaled, weights=weights)
        assert mean == pytest.approx(0, abs=1e-1)
        assert np.average((scaled - mean) ** 2, weights=weights) == pytest.approx(1, rel=1e-1)
    np.testing.assert_allclose(scaler.to_user(scaled), response, rtol=1e-9, atol=1e-9 * np.abs(response).max())


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_columns_reach_both_ends_of_the_papers_cube_whatever_their_unit(unit):
    inputs = unit * np.array([[1.0, -3.0], [2.0, 5.0], [4.0, 0.0]])
    scaled = range_scaler(inputs).to_model(inputs)
    np.testing.assert_allclose(scaled, [[-1, -1], [-1 / 3, 1], [1, -1 / 4]], atol=1e-14)


@pytest.mark.parametrize("value", [0.0, 3.7, 1e12, -1e-12])
def test_constant_column_is_zero_for_new_values_too(value):
    inputs = np.full((5, 1), value)
    for scaler in (range_scaler(inputs), input_scaler(inputs, np.arange(1.0, 6.0))):
        assert (scaler.to_model(np.array([[value], [value + 5.0], [-1e300]])) == 0).all()


def test_rounding_noise_counts_as_constant():
    inputs = np.array([[0.3], [0.1 + 0.2]])
    assert is_constant(inputs[:, 0])
    assert np.isinf(range_scaler(inputs).scale_).all()
    assert np.isinf(input_scaler(inputs, np.ones(2)).scale_).all()
    assert not is_constant(1e12 + np.array([0.0, 1.0]))


def test_new_values_beyond_the_papers_cube_are_not_clipped():
    scaler = range_scaler(np.array([[0.0], [10.0]]))
    np.testing.assert_allclose(scaler.to_model(np.array([[30.0], [-10.0]])), [[5.0], [-3.0]])


def test_new_values_stay_finite_however_far_away():
    inputs = np.array([[0.0], [1e-300], [1e-301]])
    for scaler in (range_scaler(inputs), input_scaler(inputs, np.ones(3))):
        assert np.isfinite(scaler.to_model(np.array([[1.7e308], [-1.7e308]]))).all()


@pytest.mark.parametrize("value", [0.0, 1e-320, 1e-12, 1e12 / 3, -1.7e308])
def test_constant_response_is_zero_on_the_scale_of_rounding(value):
    scaler = response_scaler(np.full(4, value), np.array([1.0, 2.0, 0.5, 1.0]))
    assert 0 < scaler.scale_ <= max(1e-14 * abs(value), 1e-300)
    assert (scaler.to_model(np.full(4, value)) == 0).all()

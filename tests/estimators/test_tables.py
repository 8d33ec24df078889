"""Data as people have them: a clear error or a correct fit."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from hyperplanes.estimators import HyperplanesWarning

NEW_DATA_METHODS = ["predict", "predict_interval", "sample"]


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_input_is_refused(example, make_regressor, fitted, bad):
    X = example.X.copy()
    X[3, 1] = bad
    with pytest.raises(ValueError, match="Input X contains infinity"):
        make_regressor().fit(X, example.y)
    with pytest.raises(ValueError, match="Input X contains infinity"):
        fitted.predict(X)
    with pytest.raises(ValueError, match="Input X contains infinity"):
        fitted.log_predictive_density(X, example.y)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_response_that_is_not_finite_is_refused(example, make_regressor, fitted, bad):
    y = example.y.copy()
    y[5] = bad
    with pytest.raises(ValueError, match=r"Input y contains (NaN|infinity)"):
        make_regressor().fit(example.X, y)
    with pytest.raises(ValueError, match=r"Input y contains (NaN|infinity)"):
        fitted.log_predictive_density(example.X, y)


@pytest.mark.parametrize("shape", [(0, 2), (5, 0)])
def test_empty_table_is_refused(make_regressor, shape):
    with pytest.raises(ValueError, match=r"Found array with 0 (sample|feature)\(s\)"):
        make_regressor().fit(np.ones(shape), np.ones(shape[0]))


def test_one_row_is_refused(make_regressor):
    with pytest.raises(ValueError, match=r"1 sample\(s\) .* minimum of 2 is required"):
        make_regressor().fit([[1.0, 2.0]], [3.0])


def test_two_rows_are_enough(make_regressor):
    with pytest.warns(HyperplanesWarning, match="2 hyperplanes in 2 columns have 6 parameters, more than 2 rows"):
        model = make_regressor().fit([[1.0, 5.0], [2.0, 3.0]], [3.0, 4.0])
    assert np.isfinite(model.predict([[1.5, 4.0]])).all()


def test_different_lengths_are_refused(example, make_regressor):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make_regressor().fit(example.X, example.y[:-1])


def test_constant_columns_change_nothing_at_predict(example, make_regressor):
    X = np.column_stack([example.X[:, 0], np.full(len(example.X), 1e6)])
    model = make_regressor().fit(X, example.y)
    assert model.score(X, example.y) > 0.9
    moved = X + np.array([0, 123.0])
    np.testing.assert_array_equal(model.predict(moved), model.predict(X))


def test_only_constant_columns_predict_the_mean(example, make_regressor):
    model = make_regressor().fit(np.ones_like(example.X), example.y)
    np.testing.assert_allclose(model.predict(np.ones_like(example.X)), example.y.mean(), atol=0.3 * example.y.std())


@pytest.mark.parametrize("value", [0.0, 5.0, -1e12, 1e-12])
def test_constant_target_is_predicted_with_a_warning(example, make_regressor, value):
    with pytest.warns(HyperplanesWarning, match="y is constant"):
        model = make_regressor().fit(example.X, np.full(len(example.X), value))
    np.testing.assert_allclose(model.predict(example.X_new), value, rtol=1e-14, atol=1e-300)
    low, high = model.predict_interval(example.X_new).T
    assert ((low <= value) & (value <= high)).all()
    np.testing.assert_allclose(high - low, 0, atol=max(1e-13 * abs(value), 1e-300))
    assert np.isfinite([model.log_evidence_, *model.log_predictive_density(example.X_new, example.X_new[:, 0])]).all()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::hyperplanes.estimators.HyperplanesWarning")
def test_more_columns_than_rows_fit(make_rows, make_regressor):
    X, y, X_new = make_rows(n_rows=10, n_columns=25)
    model = make_regressor().fit(X, y)
    mean, std = model.predict(X_new, return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()


@pytest.mark.parametrize("method", NEW_DATA_METHODS)
def test_wrong_number_of_columns_is_refused(fitted, example, method):
    with pytest.raises(ValueError, match="X has 3 features, but HyperplaneProcessRegressor is expecting 2 features"):
        getattr(fitted, method)(np.ones((4, 3)))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_column_names_are_kept_and_checked(example, make_regressor, frame):
    model = make_regressor().fit(frame({"width": example.X[:, 0], "height": example.X[:, 1]}), pd.Series(example.y))
    assert list(model.feature_names_in_) == ["width", "height"]
    new = frame({"width": example.X_new[:, 0], "height": example.X_new[:, 1]})
    np.testing.assert_array_equal(model.predict(new), make_regressor().fit(*example[:2]).predict(example.X_new))
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*depth"):
        model.predict(frame({"width": example.X_new[:, 0], "depth": example.X_new[:, 1]}))
    with pytest.raises(ValueError, match=r"(?s)feature names.*same order"):
        model.predict(new[["height", "width"]])
    with pytest.raises(ValueError, match=r"(?s)feature names.*missing.*height"):
        model.predict(new[["width"]])


def test_refit_without_names_forgets_them(example, make_regressor):
    model = make_regressor().fit(pd.DataFrame(example.X, columns=["a", "b"]), example.y)
    model.fit(example.X, example.y)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("kind", [object, "U3"])
def test_array_of_text_is_refused_with_advice(example, make_regressor, kind):
    table = np.array([["0.5", "red"]] * len(example.X), dtype=kind)
    with pytest.raises(
        ValueError, match=r"must hold numbers only, got text .*'red'.*Give columns of text in a data frame"
    ):
        make_regressor().fit(table, example.y)


def test_text_where_there_were_numbers_is_refused(fitted):
    with pytest.raises(ValueError, match=r"must hold numbers only, got text .*'red'"):
        fitted.predict(pd.DataFrame([[0.1, "red"], [0.2, "blue"]]))


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"day": pd.date_range("2020", periods=60)}),
        pd.DataFrame({"size": 1.0, "day": pd.date_range("2020", periods=60, tz="UTC")}),
        pd.DataFrame({"delay": pd.to_timedelta(np.arange(60), unit="h")}),
        pl.DataFrame({"size": np.ones(60), "day": [date(2020, 1, 1)] * 60}),
        pd.DataFrame({"text": ["a", "b"] * 30, "day": pd.date_range("2020", periods=60)}),
        pl.DataFrame({"text": ["a", "b"] * 30, "delay": [timedelta(hours=1)] * 60}),
        np.full((60, 1), "2020-01-01", dtype="datetime64[D]"),
        np.full((60, 1), date(2020, 1, 1)),
    ],
)
def test_dates_and_times_are_refused_with_advice(example, make_regressor, table):
    with pytest.raises((ValueError, TypeError), match=r"(?i)hold numbers only, got .*(date|time).*turn dates"):
        make_regressor().fit(table, example.y)


@pytest.mark.parametrize("kind", [object, str])
def test_text_in_the_target_is_refused(example, make_regressor, kind):
    y = np.array(["low"] * len(example.X), dtype=kind)
    for table in (example.X, pd.DataFrame({"text": ["a", "b"] * 30})):
        with pytest.raises(ValueError, match="y must hold numbers"):
            make_regressor().fit(table, y)


@pytest.mark.parametrize("input_unit", [1e-12, 1e12])
@pytest.mark.parametrize("response_unit", [1e-12, 1e12])
def test_huge_and_tiny_units_change_only_the_units(example, make_regressor, fitted, input_unit, response_unit):
    model = make_regressor().fit(input_unit * example.X, response_unit * example.y)
    mean, std = model.predict(input_unit * example.X_new, return_std=True)
    expected_mean, expected_std = fitted.predict(example.X_new, return_std=True)
    np.testing.assert_allclose(mean / response_unit, expected_mean, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(std / response_unit, expected_std, rtol=1e-5)


def test_duplicate_rows_fit_and_narrow_the_posterior(example, make_regressor, fitted):
    model = make_regressor().fit(np.repeat(example.X, 8, axis=0), np.repeat(example.y, 8))
    width = np.diff(model.predict_interval(example.X_new, target="mean")).mean()
    assert np.isfinite(model.predict(example.X_new)).all()
    assert 0 < width < np.diff(fitted.predict_interval(example.X_new, target="mean")).mean()


@pytest.mark.parametrize("method", NEW_DATA_METHODS)
def test_unfitted_estimator_says_so(example, make_regressor, method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(make_regressor(), method)(example.X_new)


def test_integer_list_and_float32_tables_give_the_same_fit(make_regressor):
    X, y = [[i % 5, i // 5] for i in range(25)], [i % 7 for i in range(25)]
    expected = make_regressor().fit(np.array(X, dtype=np.float64), y).predict(X)
    np.testing.assert_array_equal(make_regressor().fit(X, y).predict(X), expected)
    np.testing.assert_array_equal(make_regressor().fit(np.array(X, dtype=np.float32), y).predict(X), expected)


def test_far_away_rows_get_finite_answers(fitted):
    mean, std = fitted.predict([[1e300, -1e300], [1e9, 0.0]], return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()

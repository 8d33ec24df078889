import numpy as np
import pytest
from scipy import stats

from hyperplanes.experiments.forecasts import Forecast, Rows, forecast_of_predictive, judge
from hyperplanes.experiments.predictive import Predictive


def test_a_bare_prediction_has_an_error_and_nothing_else():
    rows = Rows(np.zeros((2, 1)), np.array([1.0, 2.0]))
    assert judge(Forecast(np.array([1.0, 4.0])), rows) == {"rmse": pytest.approx(np.sqrt(2))}


def test_scores_of_everything_that_is_known():
    rows = Rows(np.zeros((2, 1)), np.array([0.0, 1.0]), np.array([0.0, 3.0]))
    forecast = Forecast(
        mean=np.array([0.0, 2.0]),
        response=np.array([[-1.0, 1.0], [2.0, 3.0]]),
        function=np.array([[1.0, 2.0], [2.0, 3.0]]),
        draws=np.array([[0.0, 2.0]]),
        log_density=np.array([-1.0, -3.0]),
    )
    expected = {"rmse": np.sqrt(0.5), "to_truth": np.sqrt(0.5), "covered": 0.5, "length": 1.5}
    expected |= {"function_covered": 0.5, "function_length": 1.0, "crps": 0.5, "lpd": -2.0}
    assert judge(forecast, rows) == pytest.approx(expected)


def test_some_rows_of_a_forecast_and_of_rows(rng):
    which = np.array([True, False, True])
    draws = rng.standard_normal((5, 3))
    forecast = Forecast(np.arange(3.0), None, np.arange(6.0).reshape(3, 2), draws, None).some(which)
    np.testing.assert_array_equal(forecast.mean, [0, 2])
    np.testing.assert_array_equal(forecast.function, [[0, 1], [4, 5]])
    np.testing.assert_array_equal(forecast.draws, draws[:, [0, 2]])
    assert forecast.response is forecast.log_density is None
    rows = Rows(np.arange(3.0)[:, None], np.arange(3.0)).some(which)
    np.testing.assert_array_equal(rows.y, [0, 2])
    assert rows.f is None


def test_a_mixture_becomes_intervals_and_densities():
    rows = Rows(np.zeros((1, 1)), np.array([1.5]))
    single = forecast_of_predictive(Predictive(np.array([[1.0]]), np.array([[2.0]])), rows, 0)
    assert single.function is None
    np.testing.assert_allclose(single.response, [[1 - 3.92, 1 + 3.92]], atol=0.5)
    np.testing.assert_allclose(single.log_density, stats.norm(1, 2).logpdf(1.5))
    several = forecast_of_predictive(Predictive(np.linspace(0, 1, 1001)[:, None], np.array([[1e-9]])), rows, 0)
    np.testing.assert_allclose(several.function, [[0.025, 0.975]])
    np.testing.assert_allclose(several.response, [[0.025, 0.975]], atol=2e-3)

"""What a method says of rows whose responses are known, and how good that is."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperplanes.estimators import HyperplaneProcessRegressor
from hyperplanes.experiments.metrics import coverage, crps, mean_width, rmse
from hyperplanes.experiments.predictive import Floats, Predictive

COVERAGE = 0.95
TAILS = (0.5 - COVERAGE / 2, 0.5 + COVERAGE / 2)
N_DRAWS = 1000


class Rows(NamedTuple):
    """Rows to fit or to judge by."""

    X: Floats
    """Inputs, (n, p)."""
    y: Floats
    """Responses, (n,)."""
    f: Floats | None = None
    """True function values, (n,), where they are known."""

    def some(self, which: NDArray[np.bool_]) -> "Rows":
        """Return some of the rows."""
        return Rows(self.X[which], self.y[which], None if self.f is None else self.f[which])


class Forecast(NamedTuple):
    """What a method says of rows. None where it says nothing of the kind."""

    mean: Floats
    """Predictions, (n,)."""
    response: Floats | None = None
    """95% intervals of the responses, (n, 2)."""
    function: Floats | None = None
    """95% intervals of the function, (n, 2)."""
    draws: Floats | None = None
    """Draws of responses, (n_draws, n)."""
    log_density: Floats | None = None
    """Log predictive density of the responses, (n,)."""

    def some(self, which: NDArray[np.bool_]) -> "Forecast":
        """Return what it says of some of the rows."""
        return Forecast(
            self.mean[which],
            None if self.response is None else self.response[which],
            None if self.function is None else self.function[which],
            None if self.draws is None else self.draws[:, which],
            None if self.log_density is None else self.log_density[which],
        )


def forecast_of_predictive(predictive: Predictive, rows: Rows, seed: int) -> Forecast:
    """From a mixture: its components are draws of the function where there are several."""
    draws = predictive.draw(np.random.default_rng(seed), N_DRAWS)
    several = len(predictive.means) > 1
    return Forecast(
        predictive.mean(),
        np.quantile(draws, TAILS, axis=0).T,
        np.quantile(predictive.means, TAILS, axis=0).T if several else None,
        draws,
        predictive.log_density(rows.y),
    )


def forecast_of_model(model: HyperplaneProcessRegressor, rows: Rows, seed: int) -> Forecast:
    """From ours, fitted."""
    return Forecast(
        model.predict(rows.X),
        model.predict_interval(rows.X, COVERAGE),
        model.predict_interval(rows.X, COVERAGE, target="mean"),
        model.sample(rows.X, N_DRAWS, random_state=seed).T,
        model.log_predictive_density(rows.X, rows.y),
    )


def judge(forecast: Forecast, rows: Rows) -> dict[str, float]:
    """Scores by name: those that the forecast and what is known of the rows allow."""
    scores = {"rmse": rmse(rows.y, forecast.mean)}
    if rows.f is not None:
        scores["to_truth"] = rmse(rows.f, forecast.mean)
    if forecast.response is not None:
        scores["covered"] = coverage(rows.y, forecast.response)
        scores["length"] = mean_width(forecast.response)
    if forecast.function is not None and rows.f is not None:
        scores["function_covered"] = coverage(rows.f, forecast.function)
        scores["function_length"] = mean_width(forecast.function)
    if forecast.draws is not None:
        scores["crps"] = crps(rows.y, forecast.draws)
    if forecast.log_density is not None:
        scores["lpd"] = float(np.mean(forecast.log_density))
    return scores

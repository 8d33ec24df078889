"""Fits of data that break careless numerics: whatever comes out is finite, ordered and about right."""

import jax
import numpy as np
import pytest

from hyperplanes.estimators import HyperplaneProcessRegressor
from hyperplanes.inference import Posterior, Settings, fit
from hyperplanes.model import Prior, prediction

pytestmark = pytest.mark.filterwarnings("ignore::hyperplanes.estimators.HyperplanesWarning")

N_ROWS = 60
MOST_STEPS = 300


def rows_in(n_columns: int = 2, n_rows: int = N_ROWS) -> np.ndarray:
    return np.random.default_rng(11).uniform(-1, 1, size=(n_rows, n_columns))


def kinked(X: np.ndarray) -> np.ndarray:
    """What two hyperplanes hold exactly, and depend on the first and the last column."""
    return 3.0 * np.maximum(X[:, 0] - 0.2, 0) - 2.0 * np.maximum(-X[:, -1] - 0.3, 0)


def noise(scale: float, n_rows: int = N_ROWS) -> np.ndarray:
    return scale * np.random.default_rng(12).standard_normal(n_rows)


def assert_finite(posterior: Posterior) -> None:
    """No number of a posterior is infinite or none at all."""
    for name, values in (posterior._asdict() | posterior.trace._asdict()).items():
        assert name == "trace" or values is None or np.isfinite(values).all(), name
    assert (posterior.noise_variance > 0).all()
    assert posterior.log_evidence_error >= 0
    lengths = np.linalg.norm(posterior.normals, axis=-1)
    np.testing.assert_allclose(lengths[lengths != 0], 1, atol=1e-5)
    assert np.exp(posterior.log_weights).sum() == pytest.approx(1)


def assert_sound(model: HyperplaneProcessRegressor, X: np.ndarray, y: np.ndarray) -> None:
    """No NaN, no infinity, no negative variance, no ends of intervals in the wrong order, no endless annealing."""
    assert_finite(model.posterior_)
    assert np.isfinite(model.log_evidence_)
    trace = model.posterior_.trace
    assert (np.diff(trace.exponent, prepend=0.0) > 0).all()
    assert trace.exponent[-1] == 1
    assert len(trace.exponent) < MOST_STEPS
    assert ((trace.acceptance >= 0) & (trace.acceptance <= 1)).all()
    assert np.isfinite(model.log_predictive_density(X, y)).all()
    for inputs in (X, 5.0 * X - 1.0):
        mean, std = model.predict(inputs, return_std=True)
        assert np.isfinite(mean).all()
        assert np.isfinite(std).all()
        assert (std > 0).all()
        assert np.isfinite(model.sample(inputs, n_draws=3, random_state=0)).all()
        for target in ("response", "mean"):
            (a, d), (b, c) = (model.predict_interval(inputs, coverage, target).T for coverage in (0.99, 0.5))
            assert np.isfinite([a, b, c, d]).all()
            slack = 1e-9 * (np.abs(a) + np.abs(d))
            assert ((a <= b + slack) & (b <= c) & (c <= d + slack)).all()


def relative_error(model: HyperplaneProcessRegressor, X: np.ndarray, truth: np.ndarray) -> float:
    """Root mean squared error in standard deviations of the truth."""
    return float(np.sqrt(np.mean((model.predict(X) - truth) ** 2)) / np.std(truth))


def with_column(X: np.ndarray, values: np.ndarray | float) -> np.ndarray:
    """The first column, and another as the second."""
    return np.column_stack([X[:, 0], np.broadcast_to(values, len(X))])


X = rows_in()
ONE = with_column(X, -X[:, 0])  # both columns say the same
BINARY = (X > 0).astype(float)
FUNCTIONS = {
    # inputs, function, noise, largest error
    "kinked": (X, kinked(X), 0.1, 0.1),
    "constant column": (with_column(X, 7.0), 3.0 * np.maximum(X[:, 0] - 0.2, 0), 0.1, 0.1),
    "column of rounding errors": (with_column(X, 7.0 + 1e-15 * X[:, 1]), np.maximum(X[:, 0] - 0.2, 0), 0.03, 0.1),
    "duplicated column": (with_column(X, X[:, 0]), np.maximum(X[:, 0] - 0.2, 0), 0.03, 0.1),
    "collinear column": (with_column(X, 1 - 3 * X[:, 0]), np.maximum(X[:, 0] - 0.2, 0), 0.03, 0.1),
    "nearly collinear column": (with_column(X, X[:, 0] + 1e-9 * X[:, 1]), np.maximum(X[:, 0] - 0.2, 0), 0.03, 0.1),
    "duplicated rows": (X[np.arange(N_ROWS) // 6], kinked(X[np.arange(N_ROWS) // 6]), 0.1, 0.1),
    "binary columns": (BINARY, BINARY @ [2.0, -1.0], 0.1, 0.1),
    "kinked, no noise": (X, kinked(X), 0.0, 0.01),
    "linear, no noise": (X, X @ [1.0, -2.0] + 3.0, 0.0, 0.01),
    "collinear column, no noise": (ONE, kinked(ONE), 0.0, 0.01),
    "binary columns, no noise": (BINARY, BINARY @ [2.0, -1.0], 0.0, 0.01),
}


@pytest.mark.parametrize("case", FUNCTIONS)
def test_function_is_found(case, make_regressor):
    inputs, function, scale, largest_error = FUNCTIONS[case]
    y = function + noise(scale)
    model = make_regressor(n_jobs=1).fit(inputs, y)
    assert_sound(model, inputs, y)
    assert relative_error(model, inputs, function) < largest_error
    floor, std = model.diagnostics_.noise_floor, model.diagnostics_.noise_std
    assert std == pytest.approx(scale, rel=0.3) if scale else 0.8 * floor < std < 1.5 * floor


@pytest.mark.parametrize("case", ["kinked, no noise", "collinear column", "binary columns"])
def test_papers_sampler_is_sound_too(case, make_regressor):
    inputs, function, scale, _ = FUNCTIONS[case]
    y = function + noise(scale)
    model = make_regressor(n_jobs=1, sampler="paper").fit(inputs, y)
    assert_sound(model, inputs, y)
    assert relative_error(model, inputs, function) < 0.6


@pytest.mark.parametrize("case", ["kinked, no noise", "collinear column", "duplicated rows"])
def test_unknown_number_of_hyperplanes_is_sound_too(case):
    inputs, function, scale, largest_error = FUNCTIONS[case]
    y = function + noise(scale)
    model = HyperplaneProcessRegressor(random_state=0).fit(inputs, y)
    assert_sound(model, inputs, y)
    assert relative_error(model, inputs, function) < 2 * largest_error


@pytest.mark.parametrize(("noise_scale", "largest_error"), [(1e-4, 1e-3), (1e-8, 2e-4)])
def test_prior_that_allows_hardly_any_noise(noise_scale, largest_error, make_regressor):
    """An exact function is found exactly: the noise falls to where float32 sums over rows would be noise themselves."""
    y = X @ [1.0, -2.0] + 3.0
    model = make_regressor(n_jobs=1, prior=Prior(noise_scale=noise_scale)).fit(X, y)
    assert_sound(model, X, y)
    assert relative_error(model, X, y) < largest_error
    assert model.diagnostics_.noise_std < 4 * largest_error * np.std(y)


@pytest.mark.parametrize("noise_scale", [1e-7, 1e-10])
@pytest.mark.parametrize("n_hyperplanes", [4, "auto"])
def test_exact_function_of_more_rows_and_hardly_any_noise(noise_scale, n_hyperplanes):
    """Units that are active on all rows are linear, and more of them than columns are alike but for rounding."""
    inputs = np.random.default_rng(0).uniform(-1, 1, size=(250, 2))
    y = inputs @ [1.0, -2.0]
    prior = Prior(noise_scale=noise_scale)
    model = HyperplaneProcessRegressor(n_hyperplanes, n_particles=50, n_jobs=1, random_state=0, prior=prior)
    model.fit(inputs, y)
    assert_sound(model, inputs, y)
    assert len(model.posterior_.trace.exponent) < 100
    assert model.diagnostics_.lowest_ess > 20
    assert relative_error(model, inputs, y) < 1e-5
    assert 0.8 < model.diagnostics_.noise_std / model.diagnostics_.noise_floor < 1.3
    assert model.posterior_.coefficient_variance.max() < 1e5


def test_moves_are_accepted_where_many_rows_show_hardly_any_noise(make_regressor):
    rng = np.random.default_rng(2)
    inputs = rng.uniform(-1, 1, size=(20_000, 2))
    y = kinked(inputs) + 1e-3 * rng.normal(size=len(inputs))
    model = make_regressor(prior=Prior(noise_shape=1.0, noise_scale=1e-6)).fit(inputs, y)
    assert model.diagnostics_.late_acceptance > 0.7
    assert model.diagnostics_.noise_std == pytest.approx(1e-3, rel=0.1)


@pytest.mark.parametrize(("factor", "shift"), [(1e-12, 0.0), (1e12, 0.0), (1.0, 1e9), (1e-200, 0.0), (1e200, -1e203)])
def test_units_of_the_response_do_not_matter(factor, shift, example, make_regressor, fitted):
    y = factor * example.y + shift
    model = make_regressor(n_jobs=1).fit(example.X, y)
    assert_sound(model, example.X, y)
    mean, std = model.predict(example.X_new, return_std=True)
    expected_mean, expected_std = fitted.predict(example.X_new, return_std=True)
    np.testing.assert_allclose((mean - shift) / factor, expected_mean, atol=1e-4)
    np.testing.assert_allclose(std / factor, expected_std, rtol=1e-4)
    assert model.log_evidence_ == pytest.approx(fitted.log_evidence_ - len(y) * np.log(factor), rel=1e-6, abs=1e-2)


@pytest.mark.parametrize("constant", [0.0, 3.3, -1e12, 1e-300])
def test_constant_response_is_predicted_to_rounding(constant, make_regressor):
    y = np.full(N_ROWS, constant)
    model = make_regressor(n_jobs=1).fit(X, y)
    assert_sound(model, X, y)
    np.testing.assert_allclose(model.predict(X), constant, rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(model.predict_interval(X), constant, rtol=1e-13, atol=1e-300)


def test_identical_rows_show_the_mean_and_the_spread_of_the_response(make_regressor):
    inputs, y = np.repeat(X[:1], N_ROWS, axis=0), noise(2.0) + 5.0
    model = make_regressor(n_jobs=1).fit(inputs, y)
    assert_sound(model, inputs, y)
    mean, std = model.predict(inputs, return_std=True)
    np.testing.assert_allclose(mean, y.mean(), atol=y.std() / np.sqrt(N_ROWS))
    np.testing.assert_allclose(std, y.std(), rtol=0.1)


@pytest.mark.parametrize("n_first", [1, 200])
def test_two_distinct_rows_and_many_units(n_first):
    """Features of twelve units have rank two, and the same rounding errors on every row."""
    inputs = np.where(np.arange(400)[:, None] < n_first, np.ones(3), -np.ones(3))
    y = 20.0 * inputs[:, 0]
    model = HyperplaneProcessRegressor(12, n_particles=16, n_jobs=1, random_state=0).fit(inputs, y)
    assert_sound(model, inputs, y)
    assert relative_error(model, inputs, y) < 0.03
    deviations = np.sqrt(model.posterior_.coefficient_variance)[:, None]
    assert np.abs(model.posterior_.coefficients / deviations).max() < 8  # none that all but cancel


@pytest.mark.parametrize("far", [1e9, 1e300])
def test_outlier_in_the_inputs_does_no_harm_to_the_scale_of_predictions(far, make_regressor):
    """All other rows become one point, so that their mean and spread is all that can be found."""
    inputs = X.copy()
    inputs[0] = [far, -far]
    y = kinked(X)
    model = make_regressor(n_jobs=1).fit(inputs, y)
    assert_sound(model, inputs, y)
    mean, std = model.predict(inputs[1:], return_std=True)
    np.testing.assert_allclose(mean, y[1:].mean(), atol=0.3 * y.std())
    np.testing.assert_allclose(std, y.std(), rtol=0.2)


def test_outlier_in_the_response_is_noise(make_regressor):
    y = np.where(np.arange(N_ROWS) == 0, 1e10, kinked(X))
    model = make_regressor(n_jobs=1).fit(X, y)
    assert_sound(model, X, y)
    assert relative_error(model, X, y) < 1.05
    assert model.diagnostics_.noise_std == pytest.approx(y.std(), rel=0.3)


@pytest.mark.parametrize("n_rows", [2, 3])
def test_fewest_rows(n_rows, make_regressor):
    y = np.array([1.0, 4.0, 2.0])[:n_rows]
    model = make_regressor(n_jobs=1).fit(X[:n_rows], y)
    assert_sound(model, X[:n_rows], y)
    assert relative_error(model, X[:n_rows], y) < 0.5
    assert (np.abs(model.predict(X) - y.mean()) < 10 * y.std()).all()


def test_one_row_is_refused(make_regressor):
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        make_regressor().fit(X[:1], [1.0])


def test_200_columns_and_fewer_rows():
    inputs = rows_in(200)
    y = kinked(inputs)
    model = HyperplaneProcessRegressor(2, n_particles=4, n_steps=3, n_jobs=1, random_state=0).fit(inputs, y)
    assert_sound(model, inputs, y)
    assert relative_error(model, inputs, y) < 1.1
    assert 0.1 * y.std() < model.diagnostics_.noise_std < 1.5 * y.std()


def test_200_hyperplanes():
    """More units than rows, most of them dead or all but collinear with others."""
    y = kinked(X)
    model = HyperplaneProcessRegressor(200, n_particles=2, n_steps=1, n_jobs=1, random_state=0).fit(X, y)
    assert_sound(model, X, y)
    assert relative_error(model, X, y) < 0.3
    assert np.abs(model.posterior_.coefficients).max() < 25  # none that all but cancel


def test_million_rows():
    """Few particles and steps: sums over the rows are the matter here, not the posterior."""
    inputs = rows_in(2, 10**6)
    y = kinked(inputs) + noise(0.1, len(inputs))
    model = HyperplaneProcessRegressor(2, n_particles=4, n_steps=3, n_jobs=1, random_state=0).fit(inputs, y)
    assert_sound(model, inputs[:1000], y[:1000])
    assert relative_error(model, inputs[:1000], kinked(inputs[:1000])) < 0.7
    scaled, response = model.input_scaler_.to_model(inputs), model.response_scaler_.to_model(y)
    posterior = model.posterior_
    for particle in range(4):
        hidden = np.maximum(scaled @ posterior.normals[particle].T - posterior.offsets[particle], 0)
        residuals = response - posterior.coefficients[particle] @ np.column_stack([np.ones(len(y)), hidden]).T
        assert posterior.noise_variance[particle] == pytest.approx(np.mean(residuals**2), rel=0.01)  # 7 deviations


def fit_weighted(inputs: np.ndarray, response: np.ndarray, row_weights: np.ndarray) -> Posterior:
    settings = Settings(n_hyperplanes=2, n_particles=40)
    return fit(jax.random.key(0), inputs, response, row_weights, prior=Prior(), settings=settings)


@pytest.mark.parametrize("log_range", [0.0, pytest.param(6.0, marks=pytest.mark.long)])
def test_repeated_rows_with_row_weights(log_range):
    """Each row three times with a third of its weight; weights of many orders of magnitude."""
    copies = np.arange(N_ROWS) // 3
    weights = 10.0 ** np.linspace(-log_range, log_range, N_ROWS)[::-1][copies] / 3
    function = kinked(X[copies]) / kinked(X).std()
    posterior = fit_weighted(X[copies], function, weights)
    assert_finite(posterior)
    values, variances = prediction.moments(posterior, X[copies], max_bytes=2**20)
    assert (variances >= 0).all()
    assert np.sqrt(np.average((values - function) ** 2, weights=weights)) < 0.05


def test_rows_of_weight_zero_are_as_if_they_were_not_there():
    function = kinked(X)
    expected = fit_weighted(X, function, np.ones(N_ROWS))
    inputs, response = np.concatenate([X, np.full((4, 2), 1e30)]), np.append(function, [1e30, -1e30, 0.0, 1.0])
    actual = fit_weighted(inputs, response, np.append(np.ones(N_ROWS), np.zeros(4)))
    assert actual.log_evidence == expected.log_evidence
    np.testing.assert_array_equal(actual.coefficients, expected.coefficients)

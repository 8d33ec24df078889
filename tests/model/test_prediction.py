import tracemalloc
from typing import NamedTuple

import numpy as np
import pytest
from scipy import optimize, stats

import closed_form
from closed_form import make_problem
from hyperplanes.model import prediction
from p_values import LEVEL, mean_p_value

LARGE = 2**30
N_ROWS = 11


class Particles(NamedTuple):
    normals: np.ndarray
    offsets: np.ndarray
    coefficients: np.ndarray
    noise_variance: np.ndarray
    log_weights: np.ndarray
    degrees: np.ndarray | None = None
    spread: "Particles | None" = None


def make_particles(rng: np.random.Generator, n_particles: int = 9, dtype: type = np.float64) -> Particles:
    """Particles of very different weights; one has none."""
    problems = [make_problem(seed, 3) for seed in rng.integers(2**31, size=n_particles)]
    weights = rng.gamma(0.7, size=n_particles)
    weights[2] = 0.0
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights / weights.sum())
    return Particles(
        np.array([problem.normals for problem in problems], dtype=dtype),
        np.array([problem.offsets for problem in problems], dtype=dtype),
        np.array([problem.coefficients for problem in problems]),
        rng.uniform(0.05, 0.9, size=n_particles),
        log_weights,
    )


def make_noisy(rng: np.random.Generator, noise: str) -> Particles:
    """Particles with noise that is constant, varies or has heavy tails."""
    particles = make_particles(rng)
    if noise == "student":
        return particles._replace(degrees=rng.uniform(2.5, 30, size=9))
    if noise == "varying":
        ones, spread = np.ones_like(particles.noise_variance), make_particles(rng)
        return particles._replace(noise_variance=ones, spread=spread._replace(coefficients=0.4 * spread.coefficients))
    return particles


def noise_of(particles: Particles, inputs: np.ndarray) -> tuple[np.ndarray, object]:
    """Scales (n_particles, n), and the distribution of noise of scale 1."""
    if particles.spread is not None:
        return np.exp(function_values(particles.spread, inputs)), stats.norm()
    scales = np.sqrt(particles.noise_variance)[:, None] + np.zeros(len(inputs))
    return scales, stats.norm() if particles.degrees is None else stats.t(particles.degrees[:, None])


NOISES = pytest.mark.parametrize("noise", ["constant", "varying", "student"])


def make_inputs(rng: np.random.Generator, n_rows: int = N_ROWS) -> np.ndarray:
    return rng.uniform(-1, 1, size=(n_rows, 2))


def function_values(particles: Particles, inputs: np.ndarray) -> np.ndarray:
    """(n_particles, n) of float64."""
    draws = zip(particles.normals, particles.offsets, particles.coefficients, strict=True)
    return np.array([closed_form.features(inputs, normals, offsets) @ output for normals, offsets, output in draws])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_mean_is_the_weighted_average_of_functions(dtype, tolerance, rng):
    particles, inputs = make_particles(rng, dtype=dtype), make_inputs(rng)
    mean = prediction.mean(particles, inputs, max_bytes=LARGE)
    expected = np.average(function_values(particles, inputs), axis=0, weights=np.exp(particles.log_weights))
    np.testing.assert_allclose(mean, expected, rtol=tolerance, atol=tolerance)
    assert mean.dtype == np.float64


@NOISES
def test_variance_is_that_of_functions_and_of_noise(noise, rng):
    particles, inputs = make_noisy(rng, noise), make_inputs(rng)
    _, variance = prediction.moments(particles, inputs, max_bytes=LARGE)
    values, weights = function_values(particles, inputs), np.exp(particles.log_weights)
    scales, standard = noise_of(particles, inputs)
    of_function = np.average((values - weights @ values) ** 2, axis=0, weights=weights)
    np.testing.assert_allclose(variance, of_function + weights @ (scales**2 * standard.var()), rtol=1e-10)


def test_the_mean_alone_is_the_first_moment(rng):
    particles, inputs = make_particles(rng), make_inputs(rng)
    mean = prediction.mean(particles, inputs, max_bytes=LARGE)
    np.testing.assert_array_equal(mean, prediction.moments(particles, inputs, max_bytes=LARGE)[0])


@NOISES
def test_quantiles_of_a_response_are_those_of_the_mixture(noise, rng):
    particles, inputs = make_noisy(rng, noise), make_inputs(rng, 5)
    levels = [0.001, 0.025, 0.4, 0.975]
    actual = prediction.quantiles(particles, inputs, levels, target="response", max_bytes=LARGE)
    values, weights = function_values(particles, inputs), np.exp(particles.log_weights)
    scales, standard = noise_of(particles, inputs)

    def excess(x: float, row: int, level: float) -> float:
        return float(weights @ standard.cdf((x - values) / scales)[:, row] - level)

    expected = [[optimize.brentq(excess, -500, 500, args=(row, level)) for level in levels] for row in range(5)]
    np.testing.assert_allclose(actual, expected, rtol=1e-7, atol=1e-8)


@NOISES
def test_cumulative_probabilities_of_quantiles_are_their_levels(noise, rng):
    particles, inputs = make_noisy(rng, noise), make_inputs(rng, 300)
    levels = rng.uniform(0.001, 0.999, size=300)
    quantiles = prediction.quantiles(particles, inputs, levels[:3], target="response", max_bytes=LARGE)
    for level, responses in zip(levels, quantiles.T, strict=False):
        found = prediction.cumulative_probability(particles, inputs, responses, max_bytes=5000)
        np.testing.assert_allclose(found, level, atol=1e-8)
    far = prediction.cumulative_probability(particles, inputs, np.full(300, 1e9), max_bytes=LARGE)
    np.testing.assert_allclose(far, 1, atol=1e-12)
    assert (far <= 1).all()


def test_quantiles_of_the_function_interpolate_between_particles(rng):
    particles, inputs = make_particles(rng), make_inputs(rng)
    values, weights = function_values(particles, inputs), np.exp(particles.log_weights)
    levels = [0.0, 0.03, 0.35, 0.8, 1.0]
    actual = prediction.quantiles(particles, inputs, levels, target="mean", max_bytes=LARGE)
    for row in range(N_ROWS):
        order = sorted(range(len(weights)), key=lambda index, row=row: values[index, row])
        below, positions = 0.0, []
        for index in order:
            positions.append(below + weights[index] / 2)
            below += weights[index]
        np.testing.assert_allclose(actual[row], np.interp(levels, positions, values[order, row]), rtol=1e-10)


def test_quantiles_of_the_function_with_equal_weights_are_the_usual_ones(rng):
    particles, inputs = make_particles(rng), make_inputs(rng)
    particles = particles._replace(log_weights=np.full(9, -np.log(9)))
    levels = [0.1, 0.25, 0.77]
    actual = prediction.quantiles(particles, inputs, levels, target="mean", max_bytes=LARGE)
    expected = np.quantile(function_values(particles, inputs), levels, axis=0, method="hazen").T
    np.testing.assert_allclose(actual, expected, rtol=1e-10)


@NOISES
def test_log_density_is_that_of_the_mixture(noise, rng):
    particles, inputs = make_noisy(rng, noise), make_inputs(rng)
    response = rng.normal(1.0, 2.0, size=N_ROWS)
    actual = prediction.log_density(particles, inputs, response, max_bytes=LARGE)
    values, (scales, standard) = function_values(particles, inputs), noise_of(particles, inputs)
    densities = np.exp(particles.log_weights) @ (standard.pdf((response - values) / scales) / scales)
    np.testing.assert_allclose(actual, np.log(densities), rtol=1e-9)


def test_log_density_far_away_does_not_underflow(rng):
    particles, inputs = make_particles(rng), make_inputs(rng, 1)
    actual = prediction.log_density(particles, inputs, [1e4], max_bytes=LARGE)
    widest = particles.noise_variance[np.exp(particles.log_weights) > 0].max()
    np.testing.assert_allclose(actual, -0.5 * 1e8 / widest, rtol=1e-2)


def test_draws_of_the_function_are_functions_of_particles_as_often_as_they_weigh(rng):
    particles, inputs = make_particles(rng), make_inputs(rng)
    draws = prediction.draw(rng, particles, inputs, 20_000, target="mean", max_bytes=LARGE)
    values, weights = function_values(particles, inputs), np.exp(particles.log_weights)
    assert draws.shape == (N_ROWS, 20_000)
    nearest = np.abs(draws[0][None] - values[:, :1]).argmin(axis=0)
    np.testing.assert_allclose(draws, values[nearest].T, rtol=1e-9, atol=1e-12)  # one particle at all rows
    counts, possible = np.bincount(nearest, minlength=9), weights > 0
    assert counts[~possible].sum() == 0
    assert stats.chisquare(counts[possible], 20_000 * weights[possible]).pvalue > LEVEL


@NOISES
def test_draws_of_a_response_have_the_mixture_distribution(noise, rng):
    particles, inputs = make_noisy(rng, noise), make_inputs(rng, 3)
    draws = prediction.draw(rng, particles, inputs, 20_000, target="response", max_bytes=LARGE)
    values, weights = function_values(particles, inputs), np.exp(particles.log_weights)
    scales, standard = noise_of(particles, inputs)
    for row in range(3):
        ordered = np.sort(draws[row])[:, None, None]
        mixture = np.array([weights @ standard.cdf((x - values) / scales)[:, row] for x in ordered[::20]])
        assert np.abs(mixture - (np.arange(20_000)[::20] + 0.5) / 20_000).max() < 1.95 / np.sqrt(20_000) + 1e-3
    mean = weights @ values
    covariance = weights @ ((values[:, 0] - mean[0]) * (values[:, 1] - mean[1]))  # noise is independent between rows
    assert mean_p_value((draws[0] - mean[0]) * (draws[1] - mean[1]), covariance) > LEVEL


@pytest.mark.parametrize("max_bytes", [1, 3000, 20_000])
def test_a_small_memory_budget_changes_nothing(max_bytes, seed):
    rng = np.random.default_rng(seed)
    particles, inputs, response = make_particles(rng), make_inputs(rng, 150), rng.normal(size=150)

    def predict(max_bytes: int) -> list[np.ndarray]:
        return [
            *prediction.moments(particles, inputs, max_bytes=max_bytes),
            prediction.quantiles(particles, inputs, [0.1, 0.6], target="response", max_bytes=max_bytes),
            prediction.quantiles(particles, inputs, [0.1, 0.6], target="mean", max_bytes=max_bytes),
            prediction.log_density(particles, inputs, response, max_bytes=max_bytes),
            prediction.draw(np.random.default_rng(0), particles, inputs, 4, target="mean", max_bytes=max_bytes),
            prediction.draw(np.random.default_rng(0), particles, inputs, 4, target="response", max_bytes=max_bytes),
        ]

    for small, large in zip(predict(max_bytes), predict(LARGE), strict=True):
        np.testing.assert_array_equal(small, large)


@pytest.mark.parametrize("max_bytes", [1, 3000, 20_000, LARGE])
def test_no_block_of_function_values_exceeds_the_budget(max_bytes, rng):
    particles, inputs = make_particles(rng), make_inputs(rng, 150)
    sizes = [values.shape[1] for values in prediction.function_values(particles, inputs, max_bytes)]
    assert sum(sizes) == 150
    assert max(sizes) == 1 or max(sizes) * 9 * 8 * prediction.ROW_COPIES <= max_bytes


@pytest.mark.parametrize("function", ["moments", "response", "mean", "log_density"])
def test_predictions_of_many_rows_stay_within_the_budget(function, rng):
    particles, inputs = make_particles(rng, 2000), make_inputs(rng, 500)
    max_bytes = 4 * 2**20  # one array of all particles and rows has 8 million bytes

    def predict() -> None:
        if function == "moments":
            prediction.moments(particles, inputs, max_bytes=max_bytes)
        elif function == "log_density":
            prediction.log_density(particles, inputs, inputs[:, 0], max_bytes=max_bytes)
        else:
            prediction.quantiles(particles, inputs, [0.3], target=function, max_bytes=max_bytes)

    predict()  # compiles
    tracemalloc.start()
    predict()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < max_bytes + 2**20


def test_quantiles_of_a_mixture_that_is_nearly_gaussian_take_few_steps(rng, monkeypatch):
    """A Newton step that no longer moves ends the search, instead of a bisection from afar."""
    calls = []
    average = prediction.average
    monkeypatch.setattr(prediction, "average", lambda *args: calls.append(1) or average(*args))
    values, scales = rng.normal(size=128) + 0.01 * rng.normal(size=(200, 128)), rng.uniform(0.098, 0.102, size=200)
    gaussian = np.full((200, 1), np.inf)
    mixture = prediction.Mixture(values, scales[:, None], gaussian, np.full(200, 1 / 200))
    found = prediction.quantiles_of(mixture, [0.025], target="response")[:, 0]
    mixed = stats.norm(values, scales[:, None]).cdf(found).mean(axis=0)
    np.testing.assert_allclose(mixed, 0.025, rtol=1e-8)
    assert len(calls) <= 15

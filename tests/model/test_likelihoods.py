"""Likelihoods agree with SciPy, and the auxiliary variables that make them Gaussian average out to them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import log_softmax

from hyperplanes.model import Data, Particle, Prior, draw_prior, make_data
from hyperplanes.model.likelihoods import (
    Bernoulli,
    Multinomial,
    Student,
    Unknowns,
    Varying,
    functions_of,
    output_of,
    with_output,
)
from hyperplanes.model.likelihoods.polya_gamma import (
    N_TERMS,
    draw_gammas,
    draw_polya_gamma,
    mean_of_one,
    ratios_of_others,
)
from hyperplanes.model.likelihoods.rows import responses, row_weights, values
from hyperplanes.model.likelihoods.varying import SHIFT_VARIANCE, rows_around, shifted
from p_values import LEVEL, mean_p_value

N_ROWS = 7
N_DRAWS = 40_000
LIKELIHOODS = {"bernoulli": Bernoulli(), "multinomial": Multinomial(3), "student": Student(), "varying": Varying()}


def make_network(seed: int) -> Particle:
    drawn = draw_prior(jax.random.key(seed), Prior(reach=1.0, coefficient_variance=0.5), 3, 2, np.float64)
    return drawn._replace(noise_variance=jnp.array(0.6))


def make_unknowns(rng: np.random.Generator, name: str) -> Unknowns:
    first, *others = (make_network(seed) for seed in rng.integers(2**31, size=4))
    outputs = jax.tree.map(lambda *leaves: jnp.stack(leaves[: LIKELIHOODS[name].n_outputs]), first, *others[:2])
    degrees = jnp.array(3.7 if name == "student" else np.inf)
    return Unknowns(outputs, degrees, others[-1] if name == "varying" else None)


def make_rows(rng: np.random.Generator, name: str) -> tuple[Data, np.ndarray, np.ndarray, np.ndarray]:
    """Data, and inputs, responses and weights in its order."""
    inputs, weights = rng.uniform(-1, 1, size=(N_ROWS, 2)), rng.uniform(0.3, 2.5, size=N_ROWS)
    response = {"bernoulli": rng.integers(2, size=N_ROWS), "multinomial": rng.integers(3, size=N_ROWS)}.get(
        name, rng.normal(size=N_ROWS)
    )
    data = make_data(inputs, response, weights, dtype=np.float64)
    found = np.asarray(row_weights(data))[0, :N_ROWS]
    rows = np.asarray(data.inputs)[0, :-1, :N_ROWS].T / np.sqrt(found)[:, None]
    return data, rows, np.asarray(responses(data))[0, :N_ROWS], found


def function_of(network: Particle, inputs: np.ndarray) -> np.ndarray:
    hidden = np.maximum(inputs @ np.asarray(network.normals).T - np.asarray(network.offsets), 0)
    return np.asarray(network.coefficients[0] + hidden @ network.coefficients[1:])


def expected_terms(name: str, unknowns: Unknowns, inputs: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Log likelihood of each row."""
    functions = [function_of(output_of(unknowns, k), inputs) for k in range(LIKELIHOODS[name].n_outputs)]
    if name == "bernoulli":
        return stats.bernoulli(1 / (1 + np.exp(-functions[0]))).logpmf(response.round().astype(int))
    if name == "multinomial":
        shares = log_softmax(np.column_stack(functions), axis=1)
        return np.take_along_axis(shares, response.round().astype(int)[:, None], axis=1)[:, 0]
    if name == "student":
        return stats.t(3.7, functions[0], np.sqrt(0.6)).logpdf(response)
    return stats.norm(functions[0], np.exp(function_of(unknowns.spread, inputs))).logpdf(response)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_log_likelihood_is_the_weighted_sum_over_rows(name, rng):
    unknowns, (data, inputs, response, weights) = make_unknowns(rng, name), make_rows(rng, name)
    found = LIKELIHOODS[name].log_likelihood(unknowns, data)
    assert found == pytest.approx(weights @ expected_terms(name, unknowns, inputs, response), rel=1e-9)


@pytest.mark.parametrize("exponent", [0.2, 1.0])
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_gaussian_rows_average_out_to_the_likelihood(name, exponent, rng, seed):
    """L(f')^phi / L(f)^phi is the mean of the ratio of Gaussian likelihoods over auxiliary variables drawn at f."""
    unknowns, (data, inputs, response, weights) = make_unknowns(rng, name), make_rows(rng, name)
    likelihood, output = LIKELIHOODS[name], LIKELIHOODS[name].n_outputs - 1
    network = output_of(unknowns, output)
    other = network._replace(coefficients=network.coefficients + jnp.asarray(rng.normal(0, 0.4, size=4)))
    variance = network.noise_variance if likelihood.unknown_noise else 1.0
    functions = functions_of(unknowns, data)

    def log_ratio(key: jax.Array) -> jax.Array:
        rows = likelihood.given_auxiliaries(key, unknowns, functions, output, data, jnp.float64(exponent))

        def log_gaussian(network: Particle) -> jax.Array:
            scaled = values(network, rows) * rows.inputs[:, -1]
            return -0.5 * jnp.sum((rows.response - scaled) ** 2) / variance

        return log_gaussian(other) - log_gaussian(network)

    ratios = np.exp(jax.jit(jax.vmap(log_ratio))(jax.random.split(jax.random.key(seed), N_DRAWS)))
    before, after = (
        exponent * weights @ expected_terms(name, each, inputs, response)
        for each in (unknowns, with_output(unknowns, output, other))
    )
    if name == "varying":
        np.testing.assert_allclose(ratios, np.exp(after - before), rtol=1e-9)
    else:
        assert mean_p_value(ratios / np.exp(after - before), 1.0) > LEVEL


def test_rows_around_a_reference_have_the_gradient_and_the_mean_curvature_of_the_spread(rng):
    data, _, _, weights = make_rows(rng, "varying")
    reference = jnp.asarray(rng.normal(0, 0.3, size=data.response.shape))
    squares = jnp.asarray(rng.chisquare(1, size=data.response.shape)) * jnp.exp(2 * reference)
    rows = rows_around(reference, squares, data, jnp.float64(0.7))
    scaled = reference * rows.inputs[:, -1]
    gradient = ((rows.response - scaled) * rows.inputs[:, -1])[0, :N_ROWS]
    expected = 0.7 * weights * (np.asarray(squares * jnp.exp(-2 * reference))[0, :N_ROWS] - 1)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(rows.inputs[0, -1, :N_ROWS] ** 2, 1.4 * weights)


@pytest.mark.parametrize("level", [-9.0, 0.0, 6.0])
@pytest.mark.parametrize("exponent", [1e-3, 1.0])
def test_a_reference_is_shifted_to_the_level_of_the_errors(rng, level, exponent):
    data, _, _, weights = make_rows(rng, "varying")
    reference = jnp.asarray(rng.normal(0, 0.3, size=data.response.shape))
    squares = jnp.asarray(rng.chisquare(1, size=data.response.shape)) * jnp.exp(2 * (reference + level))
    ratios = np.asarray(squares * jnp.exp(-2 * reference))[0, :N_ROWS]

    def misfit(shift: float) -> float:
        return exponent * weights @ (shift + 0.5 * ratios * np.exp(-2 * shift)) + 0.5 * shift**2 / SHIFT_VARIANCE

    found = shifted(reference, squares, data, jnp.float64(exponent)) - reference
    best = optimize.minimize_scalar(misfit, bounds=(-12, 12), method="bounded", options={"xatol": 1e-9}).x
    np.testing.assert_allclose(found, best, atol=1e-6)


def test_without_a_likelihood_a_reference_stays(rng):
    data, _, _, _ = make_rows(rng, "varying")
    reference = jnp.ones(data.response.shape)
    np.testing.assert_array_equal(shifted(reference, jnp.zeros_like(reference), data, jnp.float64(0.0)), reference)


@pytest.mark.parametrize("shape", [0.02, 0.7, 1.0, 4.5])
def test_gammas_have_their_distribution(shape, seed):
    drawn = np.asarray(draw_gammas(jax.random.key(seed), jnp.full(N_DRAWS, shape)))
    assert stats.kstest(drawn, stats.gamma(shape).cdf).pvalue > LEVEL


@pytest.mark.parametrize("tilt", [0.0, 0.3, 2.0, 9.0])
@pytest.mark.parametrize("shape", [0.05, 0.6, 1.0, 3.2])
def test_polya_gamma_variables_have_their_laplace_transform(shape, tilt, seed):
    drawn = np.asarray(draw_polya_gamma(jax.random.key(seed), jnp.full(N_DRAWS, shape), jnp.full(N_DRAWS, tilt)))
    for at in np.array([0.5, 5.0, 50.0]) / max(shape, 1.0):  # of larger ones the rarest draws would decide
        expected = (np.cosh(tilt / 2) / np.cosh(np.sqrt((tilt**2 / 2 + at) / 2))) ** shape
        assert mean_p_value(np.exp(-at * drawn), expected) > LEVEL


def test_gammas_of_shapes_that_are_no_numbers_end():
    drawn = np.asarray(draw_gammas(jax.random.key(0), jnp.array([np.nan, 1.0, np.inf])))
    assert np.isfinite(drawn[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mean_of_polya_gamma_variables(dtype):
    tilts = np.array([0.0, 1e-3, 0.2, 0.49, 0.51, 1.0, 5.0, 60.0, 3e3])
    wide = np.maximum(tilts, 1e-4)
    np.testing.assert_allclose(mean_of_one(jnp.asarray(tilts, dtype)), np.tanh(wide / 2) / (2 * wide), rtol=3e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_the_terms_that_are_not_drawn(dtype):
    lifted = np.array([0.0, 1e-3, 0.04, 0.7, 3.0, 20.0, 300.0, 5e3])
    terms = 1 / ((np.arange(N_TERMS, 500_000) + 0.5) ** 2 + lifted[:, None])
    first, second, third = ((terms**power).sum(axis=1) for power in (1, 2, 3))
    found = ratios_of_others(jnp.asarray(lifted, dtype))
    np.testing.assert_allclose(found[0], second / first, rtol=2e-4)
    np.testing.assert_allclose(found[1], third / second, rtol=2e-5)

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy import stats

import closed_form
from closed_form import Problem, make_problem
from hyperplanes.model import Data, Prior, cross_products, gaussian, make_data, paper_prior, with_row
from p_values import LEVEL, standard_normal_p_value

EXPONENTS = [0.1, 0.5, 1.0]
PRIOR = replace(paper_prior(2), coefficient_mean=0.6, coefficient_variance=1.7, noise_shape=2.5, noise_scale=0.8)
PRIORS = {"plain": PRIOR, "intercept of its own": replace(PRIOR, intercept_variance=0.4)}
N_DRAWS = 20_000

log_evidence = jax.jit(gaussian.log_evidence)
log_likelihood = jax.jit(gaussian.log_likelihood)
condition = jax.jit(gaussian.condition)
draw_coefficients = jax.jit(jax.vmap(gaussian.draw_coefficients, (0, None)))
draw_noise_variance = jax.jit(jax.vmap(gaussian.draw_noise_variance, (0, None, None, None, None, None)))
products_of = jax.jit(cross_products)


def evidence_path(
    data: Data, products: jax.Array, noise_variance: float, exponents: ArrayLike, prior: Prior
) -> np.ndarray:
    """The path of one particle among two."""
    both, noise = np.stack([products + np.eye(len(products)), products]), np.array([1.0, noise_variance])
    spread = np.array([3.0, prior.coefficient_variance])
    return gaussian.evidence_path(data, 0 * both, both, noise, spread, prior)(np.atleast_1d(exponents))[:, 1]


@partial(jax.jit, static_argnames="n_sweeps")
def sweep_often(
    keys: jax.Array, products: jax.Array, starts: jax.Array, noise_variance: float, exponent: float, n_sweeps: int
) -> jax.Array:
    def run(key: jax.Array, start: jax.Array) -> jax.Array:
        def sweep(current: jax.Array, key: jax.Array) -> tuple[jax.Array, None]:
            return gaussian.sweep_coefficients(key, products, current, noise_variance, exponent, PRIOR), None

        return jax.lax.scan(sweep, start, jax.random.split(key, n_sweeps))[0]

    return jax.vmap(run)(keys, starts)


@jax.jit
def join_rest(
    unit: int, before: jax.Array, data: Data, products: jax.Array, noise_variance: float, exponent: float, prior: Prior
) -> tuple[gaussian.Rest, gaussian.Joined]:
    """Leave a unit out of some products, and let it join with others."""
    rest = gaussian.leave_out(unit, data, before, noise_variance, exponent, prior)
    row = products[unit + 1]
    along = row[-1] - row[:-1] @ rest.mean
    return rest, gaussian.join(row[unit + 1], row[:-1], along, rest, noise_variance, exponent, prior)


def lay_out(problem: Problem, dtype: type = np.float64) -> tuple[Data, jax.Array]:
    data = make_data(problem.inputs, problem.response, problem.row_weights, dtype=dtype)
    return data, products_of(data, jnp.asarray(problem.normals, dtype), jnp.asarray(problem.offsets, dtype))


def moments_of(prior: Prior) -> tuple[float, np.ndarray]:
    """Mean and variances of an intercept and three coefficients."""
    variances = np.full(4, prior.coefficient_variance)
    variances[0] = prior.intercept_variance or prior.coefficient_variance
    return prior.coefficient_mean, variances


def whiten(draws: jax.Array, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    return np.linalg.solve(np.linalg.cholesky(covariance), (np.asarray(draws) - mean).T).T


def dead_unit(problem: Problem) -> Problem:
    """No row reaches the second unit."""
    return problem._replace(offsets=np.where(np.arange(len(problem.offsets)) == 1, 1.5, problem.offsets))


def identical_units(problem: Problem) -> Problem:
    order = [0, 0, 2]
    return problem._replace(normals=problem.normals[order], offsets=problem.offsets[order])


CASES = {
    "plain": lambda problem: problem,
    "dead unit": dead_unit,
    "identical units": identical_units,
    "equal rows": lambda problem: problem._replace(inputs=problem.inputs[[0] * 7]),
    "no noise": lambda problem: problem._replace(noise_variance=1e-5),
}


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_evidence_with_hyperplanes_fixed_is_the_dense_gaussian(case, exponent, prior, seed):
    problem = CASES[case](make_problem(seed))
    data, products = lay_out(problem)
    expected = closed_form.log_evidence(problem, exponent, *moments_of(prior))
    direct = log_evidence(data, products, problem.noise_variance, exponent, prior)
    path = evidence_path(data, products, problem.noise_variance, exponent, prior)
    np.testing.assert_allclose(direct, expected, rtol=1e-8)
    np.testing.assert_allclose(path, [expected], rtol=1e-8)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_evidence_is_the_integral_of_the_tempered_likelihood(exponent, seed):
    """By Monte Carlo over the prior of the coefficients, which shares nothing with either formula."""
    problem = make_problem(seed, 5, 1, 1)
    data, products = lay_out(problem)
    mean, scale = PRIOR.coefficient_mean, np.sqrt(PRIOR.coefficient_variance)
    draws = mean + scale * np.random.default_rng(seed).standard_normal((400_000, 2))
    values = draws @ closed_form.features(problem.inputs, problem.normals, problem.offsets).T
    densities = stats.norm(values, np.sqrt(problem.noise_variance)).logpdf(problem.response)
    likelihoods = np.exp(exponent * densities @ problem.row_weights)
    evidence = np.exp(log_evidence(data, products, problem.noise_variance, exponent, PRIOR))
    assert abs(likelihoods.mean() - evidence) < 4 * likelihoods.std() / np.sqrt(len(draws))


def test_evidence_from_float32_features_agrees_to_their_accuracy(seed):
    problem = make_problem(seed, 200)
    data, products = lay_out(problem, np.float32)
    expected = closed_form.log_evidence(problem, 0.5, PRIOR.coefficient_mean, PRIOR.coefficient_variance)
    actual = log_evidence(data, products, problem.noise_variance, 0.5, PRIOR)
    assert actual.dtype == np.float64
    np.testing.assert_allclose(actual, expected, atol=1e-3)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("case", CASES)
def test_evidence_path_follows_the_evidence_at_every_exponent(case, prior, seed):
    problem = CASES[case](make_problem(seed))
    data, products = lay_out(problem)
    exponents = np.array([0.0, 1e-14, 1e-9, 1e-4, 0.01, 0.2, 0.3, 0.77, 0.999, 1.0])
    direct = [log_evidence(data, products, problem.noise_variance, exponent, prior) for exponent in exponents]
    path = evidence_path(data, products, problem.noise_variance, exponents, prior)
    np.testing.assert_allclose(path, direct, rtol=1e-7, atol=1e-13)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("start", [1e-6, 0.3, 0.999])
def test_evidence_path_goes_on_from_an_exponent_that_has_been_reached(case, prior, start, seed):
    problem = CASES[case](make_problem(seed))
    data, products = lay_out(problem)
    exponents = np.append(start, start + (1 - start) * np.array([1e-3, 0.2, 1.0]))
    direct = np.array([log_evidence(data, products, problem.noise_variance, each, prior) for each in exponents])
    scales = np.array([problem.noise_variance]), np.array([prior.coefficient_variance])
    path = gaussian.evidence_path(data, start * products[None], products[None], *scales, prior)(exponents - start)
    np.testing.assert_allclose(path[:, 0], direct - direct[0], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("exponent", [1e-3, 0.1, 0.9])
@pytest.mark.parametrize("spread", [1.0, 1e3, 1e6, 1e12, 1e40])
def test_weights_have_the_target_of_the_moves_where_units_are_alike_and_noise_is_tiny(exponent, spread, rng):
    """Three units that are linear on all rows of two columns, and one that none reaches: rounding errors say nothing.

    Steps of the moves are judged by `log_evidence`. A step can gain no more than a perfect fit.
    """
    inputs, noise_variance = rng.uniform(-1, 1, size=(250, 2)), 1e-9
    response = inputs @ [1.0, -2.0]
    data, prior = make_data(inputs, response / response.std()), replace(PRIOR, coefficient_mean=0.0)
    angles = np.array([0.3, 1.9, 4.0, 1.0])
    normals = jnp.asarray(np.column_stack([np.cos(angles), np.sin(angles)]), jnp.float32)
    products = products_of(data, normals, jnp.asarray([-1.7, -1.6, -2.0, 1.8], jnp.float32))
    given = replace(prior, coefficient_variance=spread)
    ends = np.array([exponent, 1.1 * exponent])
    first, last = (float(log_evidence(data, products, noise_variance, end, given)) for end in ends)
    scales = np.array([noise_variance]), np.array([spread])
    gain = gaussian.evidence_path(data, exponent * products[None], products[None], *scales, prior)(np.diff(ends))
    np.testing.assert_allclose(gain[0, 0], last - first, atol=0.05)
    assert gain[0, 0] <= -0.5 * 250 * np.log(2 * np.pi * noise_variance) * np.diff(ends)


@given(st.integers(0, 2**31), st.floats(-3, 3), st.floats(1e-3, 1e4), st.floats(1e-6, 1e3))
@settings(max_examples=30)
def test_evidence_is_zero_at_exponent_zero(seed, mean, variance, noise_variance):
    with jax.enable_x64(True):
        problem = make_problem(seed)
        data, products = lay_out(problem)
        prior = replace(PRIOR, coefficient_mean=mean, coefficient_variance=variance)
        scale = 1 + mean**2 / variance
        assert abs(evidence_path(data, products, noise_variance, 0.0, prior)[0]) < 1e-13 * scale
        assert abs(log_evidence(data, products, noise_variance, 0.0, prior)) < 1e-13 * scale


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_conditional_of_the_coefficients_has_the_closed_form_moments(exponent, prior, seed):
    problem = make_problem(seed)
    _, products = lay_out(problem)
    conditional = condition(products, problem.noise_variance, exponent, prior)
    mean, covariance = closed_form.conditional_moments(problem, exponent, *moments_of(prior))
    np.testing.assert_allclose(gaussian.conditional_mean(conditional), mean, rtol=1e-10)
    np.testing.assert_allclose(conditional.root.T @ conditional.root, covariance, rtol=1e-9)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("exponent", [0.0, *EXPONENTS])
def test_a_unit_that_joins_the_rest_gives_the_conditional_of_all(exponent, case, prior, seed):
    """Whatever the unit was when the others were conditioned."""
    problem = CASES[case](make_problem(seed))
    data, products = lay_out(problem)
    mean, covariance = closed_form.conditional_moments(problem, max(exponent, 1e-14), *moments_of(prior))
    for unit in range(3):
        other = jnp.asarray(np.random.default_rng(seed).normal(size=5))
        before = with_row(products, unit, other.at[unit + 1].set(9.0))
        rest, joined = join_rest(unit, before, data, products, problem.noise_variance, exponent, prior)
        means = (rest.mean - joined.shadow * joined.mean).at[unit + 1].set(joined.mean)
        np.testing.assert_allclose(means, mean, rtol=1e-6, atol=1e-8)
        covariances = (-joined.shadow * joined.variance).at[unit + 1].set(joined.variance)
        np.testing.assert_allclose(covariances, covariance[unit + 1], rtol=1e-6, atol=1e-8)
        expected = log_evidence(data, products, problem.noise_variance, exponent, prior)
        np.testing.assert_allclose(joined.log_evidence, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("exponent", [0.0, *EXPONENTS])
def test_drawn_coefficients_have_their_conditional_distribution(exponent, key, seed):
    problem = make_problem(seed)
    _, products = lay_out(problem)
    conditional = condition(products, problem.noise_variance, exponent, PRIOR)
    draws = draw_coefficients(jax.random.split(key, N_DRAWS), conditional)
    moments = (problem, max(exponent, 1e-12), PRIOR.coefficient_mean, PRIOR.coefficient_variance)
    mean, covariance = closed_form.conditional_moments(*moments)
    assert standard_normal_p_value(whiten(draws, mean, covariance)) > LEVEL


@pytest.mark.parametrize("n_sweeps", [1, 100])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_sweeping_coefficients_keeps_and_reaches_their_conditional(exponent, n_sweeps, key, rng, seed):
    """One sweep from exact draws keeps the distribution; many sweeps from zero reach it."""
    problem = make_problem(seed)
    _, products = lay_out(problem)
    moments = (problem, exponent, PRIOR.coefficient_mean, PRIOR.coefficient_variance)
    mean, covariance = closed_form.conditional_moments(*moments)
    exact = mean + rng.standard_normal((N_DRAWS, 4)) @ np.linalg.cholesky(covariance).T
    start = exact if n_sweeps == 1 else np.zeros_like(exact)

    keys = jax.random.split(key, N_DRAWS)
    swept = sweep_often(keys, products, start, problem.noise_variance, exponent, n_sweeps)
    assert standard_normal_p_value(whiten(swept, mean, covariance)) > LEVEL
    assert np.all(np.asarray(swept) != start)


@pytest.mark.parametrize("exponent", [0.0, *EXPONENTS])
def test_drawn_noise_variance_is_inverse_gamma(exponent, key, seed):
    problem = make_problem(seed)
    data, products = lay_out(problem)
    draws = draw_noise_variance(
        jax.random.split(key, N_DRAWS), data, products, jnp.asarray(problem.coefficients), exponent, PRIOR
    )
    values = closed_form.features(problem.inputs, problem.normals, problem.offsets) @ problem.coefficients
    error = (problem.row_weights * (problem.response - values) ** 2).sum()
    n_rows = problem.row_weights.sum()
    shape, scale = PRIOR.noise_shape + exponent * n_rows / 2, PRIOR.noise_scale + exponent * error / 2
    assert stats.kstest(np.asarray(draws), stats.invgamma(shape, scale=scale).cdf).pvalue > LEVEL


def test_log_likelihood_is_that_of_independent_rows(seed):
    problem = make_problem(seed)
    data, products = lay_out(problem)
    actual = log_likelihood(data, products, jnp.asarray(problem.coefficients), problem.noise_variance)
    np.testing.assert_allclose(actual, closed_form.log_likelihood(problem), rtol=1e-12)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_a_row_of_integer_weight_is_as_many_copies_of_it(exponent, key, seed):
    problem = make_problem(seed)
    counts = np.array([1, 4, 2, 1, 3, 1, 2])
    inputs, response = problem.inputs.repeat(counts, 0), problem.response.repeat(counts)
    coefficients, variance, found = jnp.asarray(problem.coefficients), problem.noise_variance, []
    for rows in (
        problem._replace(row_weights=counts),
        problem._replace(inputs=inputs, response=response, row_weights=np.ones(14)),
    ):
        data, products = lay_out(rows)
        noise = draw_noise_variance(jax.random.split(key, 3), data, products, coefficients, exponent, PRIOR)
        values = [
            log_likelihood(data, products, coefficients, variance),
            log_evidence(data, products, variance, exponent, PRIOR),
            *evidence_path(data, products, variance, exponent, PRIOR),
        ]
        found.append([*values, *noise])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10)


def test_every_particle_has_its_own_variance_of_coefficients_on_the_path(seed):
    problem = make_problem(seed)
    data, products = lay_out(problem)
    spreads, exponents = np.array([0.2, 1.7, 40.0]), [0.3, 1.0]
    for prior in PRIORS.values():
        three = np.stack([products] * 3)
        path = gaussian.evidence_path(data, 0 * three, three, np.full(3, 0.37), spreads, prior)(exponents)
        priors = [replace(prior, coefficient_variance=spread) for spread in spreads]
        expected = [[log_evidence(data, products, 0.37, exponent, each) for each in priors] for exponent in exponents]
        np.testing.assert_allclose(path, expected, rtol=1e-10)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_an_empty_place_changes_no_evidence(prior, seed):
    """A place that no hyperplane takes has no feature, and its coefficient integrates to one."""
    problem = make_problem(seed)
    data, products = lay_out(problem)
    wider = jnp.pad(products, 1)[jnp.ix_(*[jnp.array([1, 2, 0, 3, 4, 5])] * 2)]  # the second of four places is empty
    for exponent in EXPONENTS:
        expected = log_evidence(data, products, problem.noise_variance, exponent, prior)
        found = log_evidence(data, wider, problem.noise_variance, exponent, prior)
        path = evidence_path(data, wider, problem.noise_variance, exponent, prior)
        np.testing.assert_allclose([found, *path], float(expected), rtol=1e-10)


def test_squared_error_of_a_perfect_fit_is_never_negative(seed):
    problem = make_problem(seed, 50)
    values = closed_form.features(problem.inputs, problem.normals, problem.offsets) @ problem.coefficients
    _, products = lay_out(problem._replace(response=1e6 * values))
    coefficients = jnp.asarray(1e6 * problem.coefficients) * (1 + 1e-15 * jnp.arange(-20, 20)[:, None])
    errors = jax.vmap(gaussian.squared_error, (None, 0))(products, coefficients)
    assert np.all(np.asarray(errors) >= 0)


def test_float32_features_keep_the_evidence_where_the_noise_is_small(rng):
    """Sums over rows in float32 would not."""
    n_rows, noise = 3750, 1e-3
    X, normals, offsets = rng.uniform(-1, 1, (n_rows, 2)), np.array([[0.6, 0.8], [-0.28, 0.96]]), np.array([0.2, 0.5])
    f = np.maximum(X @ normals.T - offsets, 0) @ np.array([3.0, -4.0])
    y = (f - f.mean()) / f.std() + noise * rng.standard_normal(n_rows)
    prior = paper_prior(2)

    def evidence(dtype: type) -> float:
        data = make_data(X, y, dtype=dtype)
        products = cross_products(data, jnp.asarray(normals, dtype), jnp.asarray(offsets, dtype))
        return float(gaussian.log_evidence(data, products, jnp.float64(noise**2), 1.0, prior))

    with jax.enable_x64(True):
        assert abs(evidence(np.float32) - evidence(np.float64)) < 0.5


@pytest.mark.parametrize(("offsets", "singular"), [([0.1, 0.1], True), ([0.1, 0.5], False)])
def test_units_that_are_alike_are_singular_where_there_is_hardly_any_noise(offsets, singular, rng):
    inputs = rng.uniform(-1, 1, size=(300, 1))
    data, spread = make_data(inputs, inputs[:, 0]), np.array([10.0])
    products = cross_products(data, jnp.ones((2, 1), jnp.float32), jnp.asarray(offsets, jnp.float32))[None]
    assert gaussian.is_singular(products, np.array([1e-13]), spread, paper_prior(1)) == [singular]
    assert gaussian.is_singular(products, np.array([1e-2]), spread, paper_prior(1)) == [False]

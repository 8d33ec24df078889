from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from hyperplanes.model import Particle, Prior, draw_prior, is_present, paper_prior
from hyperplanes.model.prior import (
    USUAL_ATTENTION,
    attention,
    draw_attention,
    draw_inverse_gamma,
    draw_scales,
)
from p_values import LEVEL, mean_p_value

N_DRAWS = 20_000
QUICK_TO_COMPILE = {"xla_backend_optimization_level": 0}
PRIOR = replace(paper_prior(2), coefficient_mean=-0.7, coefficient_variance=2.3, noise_shape=3.0, noise_scale=0.4)
UNKNOWN_SCALES = replace(
    PRIOR, coefficient_shape=2.5, intercept_variance=0.9, number_mean=2.2, number_shape=1.6, inattention=0.2
)


@partial(jax.jit, static_argnums=(2, 3, 4), compiler_options=QUICK_TO_COMPILE)
def draw_on_device(
    keys: jax.Array, prior: Prior, n_places: int, n_columns: int, unknown_number: bool = False
) -> Particle:
    def draw(key: jax.Array) -> Particle:
        return draw_prior(key, prior, n_places, n_columns, np.float64, unknown_number=unknown_number)

    return jax.vmap(draw)(keys)


def draw_many(key: jax.Array, prior: Prior, *shape: int | bool) -> Particle:
    return jax.tree.map(np.asarray, draw_on_device(jax.random.split(key, N_DRAWS), prior, *shape))


@jax.jit
def draw_inverse_gammas(keys: jax.Array, shape: jax.Array, scale: jax.Array) -> jax.Array:
    return jax.vmap(draw_inverse_gamma, (0, None, None))(keys, shape, scale)


@pytest.mark.parametrize("shape", [0.3, 1.0, 50.0, 2000.0])
@pytest.mark.parametrize("scale", [0.02, 7.0])
def test_inverse_gamma_draws_have_their_distribution(shape, scale, key):
    draws = np.asarray(draw_inverse_gammas(jax.random.split(key, 40_000), shape, scale))
    assert stats.kstest(draws, stats.invgamma(shape, scale=scale).cdf).pvalue > LEVEL
    assert mean_p_value(np.log(draws), np.log(scale) - stats.loggamma(shape).mean()) > LEVEL


@pytest.mark.parametrize("n_columns", [1, 2, 5])
@pytest.mark.parametrize(("reach", "lowest"), [(1.7, 0.0), (0.4, -1.0), (2.0, 0.3)])
def test_hyperplanes_are_isotropic_with_offsets_uniform_up_to_the_reach(n_columns, reach, lowest, key):
    particle = draw_many(key, replace(PRIOR, reach=reach, lowest_offset=lowest), 2, n_columns)
    np.testing.assert_allclose(np.linalg.norm(particle.normals, axis=-1), 1, rtol=1e-12)
    for unit in range(2):
        uniform = stats.uniform(lowest * reach, (1 - lowest) * reach)
        assert stats.kstest(particle.offsets[:, unit], uniform.cdf).pvalue > LEVEL
        if n_columns == 1:
            assert mean_p_value(particle.normals[:, unit, 0], 0) > LEVEL
            continue
        direction = np.arange(1.0, n_columns + 1) / np.linalg.norm(np.arange(1.0, n_columns + 1))
        component = stats.beta((n_columns - 1) / 2, (n_columns - 1) / 2, loc=-1, scale=2)
        for values in (particle.normals[:, unit] @ direction, particle.normals[:, unit, -1]):
            assert stats.kstest(values, component.cdf).pvalue > LEVEL


def test_coefficients_and_noise_have_their_prior(key):
    particle = draw_many(key, PRIOR, 2, 2)
    assert particle.coefficients.shape == (N_DRAWS, 3)
    for column in particle.coefficients.T:
        assert stats.kstest(column, stats.norm(-0.7, np.sqrt(2.3)).cdf).pvalue > LEVEL
    assert stats.kstest(particle.noise_variance, stats.invgamma(3.0, scale=0.4).cdf).pvalue > LEVEL
    assert np.all(particle.coefficient_variance == 2.3)
    assert np.all(particle.intensity == 2)


def test_the_function_varies_as_much_whatever_the_number_of_hyperplanes(key):
    """The sum of m coefficients has variance IG(a, a v), so that each is t distributed with scale sqrt(v / m)."""
    for n_hyperplanes in (1, 2):
        particle = draw_many(key, UNKNOWN_SCALES, n_hyperplanes, 2)
        total = stats.invgamma(2.5, scale=2.5 * 2.3)
        assert stats.kstest(n_hyperplanes * particle.coefficient_variance, total.cdf).pvalue > LEVEL
        intercept, *units = particle.coefficients.T
        assert stats.kstest(intercept, stats.norm(-0.7, np.sqrt(0.9)).cdf).pvalue > LEVEL
        for unit in units:
            assert stats.kstest(unit, stats.t(5.0, -0.7, np.sqrt(2.3 / n_hyperplanes)).cdf).pvalue > LEVEL


def test_everything_in_a_particle_is_independent(key):
    particle = draw_many(key, PRIOR, 2, 2)
    angles = np.arctan2(particle.normals[..., 1], particle.normals[..., 0])
    columns = np.column_stack([angles, particle.offsets, particle.coefficients, particle.noise_variance])
    p_values = stats.spearmanr(columns).pvalue[np.triu_indices(columns.shape[1], 1)]
    assert p_values.min() * len(p_values) > LEVEL


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hyperplanes_have_the_width_asked_for_and_the_rest_is_float64(dtype, key):
    particle = jax.eval_shape(lambda key: draw_prior(key, UNKNOWN_SCALES, 4, 3, dtype, unknown_number=True), key)
    assert particle.normals.shape == particle.attends.shape == (4, 3)
    assert particle.normals.dtype == particle.offsets.dtype == dtype
    rest = (particle.coefficients, particle.noise_variance, particle.coefficient_variance, particle.intensity)
    assert [leaf.dtype for leaf in rest] == [np.float64] * 4
    assert particle.attends.dtype == bool


@pytest.mark.parametrize("largest", [0, 5, 60])
def test_the_number_of_hyperplanes_is_negative_binomial(largest):
    expected = stats.nbinom(1.6, 1.6 / (1.6 + 2.2)).logpmf(np.arange(largest + 1))
    np.testing.assert_allclose(UNKNOWN_SCALES.log_number(largest), expected, rtol=1e-10)


def test_an_unknown_number_has_its_prior_up_to_the_number_of_places_in_any_of_them(key):
    n_places = 5
    particle = draw_many(key, UNKNOWN_SCALES, n_places, 2, True)
    present = np.asarray(is_present(particle.normals))
    numbers = present.sum(axis=1)
    masses = stats.nbinom(1.6, 1.6 / 3.8).pmf(np.arange(n_places + 1))
    counts = np.bincount(numbers, minlength=n_places + 1)
    assert stats.chisquare(counts, N_DRAWS * masses / masses.sum()).pvalue > LEVEL
    pairs = present[numbers == 2] @ 2 ** np.arange(n_places)
    found = np.bincount(pairs, minlength=2**n_places)
    assert np.count_nonzero(found) == 10
    assert stats.chisquare(found[found > 0]).pvalue > LEVEL


def test_places_that_are_not_taken_hold_nothing(key):
    particle = draw_many(key, UNKNOWN_SCALES, 5, 2, True)
    present = np.asarray(is_present(particle.normals))
    np.testing.assert_allclose(np.linalg.norm(particle.normals, axis=-1), present, rtol=1e-12)
    np.testing.assert_array_equal(particle.offsets != 0, present)
    np.testing.assert_array_equal(particle.coefficients[:, 1:] != 0, present)
    assert np.all(particle.coefficients[:, 0] != 0)


def test_the_intensity_is_gamma_given_the_number_and_sets_the_scale_of_the_coefficients(key):
    particle = draw_many(key, UNKNOWN_SCALES, 5, 2, True)
    numbers = np.asarray(is_present(particle.normals)).sum(axis=1)
    given_number = stats.gamma(1.6 + numbers, scale=1 / (1.6 / 2.2 + 1))
    assert stats.kstest(given_number.cdf(particle.intensity), stats.uniform.cdf).pvalue > LEVEL
    total = particle.intensity * particle.coefficient_variance
    assert stats.kstest(total, stats.invgamma(2.5, scale=2.5 * 2.3).cdf).pvalue > LEVEL
    taken = np.asarray(is_present(particle.normals))
    white = (particle.coefficients[:, 1:] + 0.7) / np.sqrt(particle.coefficient_variance)[:, None]
    assert stats.kstest(white[taken], stats.norm.cdf).pvalue > LEVEL


@pytest.mark.parametrize("intercept_variance", [0.0, 0.9])
def test_scales_given_coefficients_are_conjugate(intercept_variance, key):
    prior = replace(UNKNOWN_SCALES, intercept_variance=intercept_variance)
    present, coefficients = jnp.array([True, False, True]), jnp.array([1.1, -0.4, 0.0, 2.0])
    squares = 0.3**2 + 2.7**2 + (0.0 if intercept_variance else 1.8**2)
    n_counted = 2 if intercept_variance else 3
    keys = jax.random.split(key, N_DRAWS)
    intensity, variance = jax.jit(
        jax.vmap(lambda key: draw_scales(key, coefficients, present, jnp.array(2.0), prior, False))
    )(keys)
    assert np.all(np.asarray(intensity) == 2)
    total = stats.invgamma(2.5 + n_counted / 2, scale=2.5 * 2.3 + 2 * squares / 2)
    assert stats.kstest(2 * np.asarray(variance), total.cdf).pvalue > LEVEL


@pytest.mark.parametrize(("n_columns", "shapes"), [(3, (0.5, 0.5)), (12, (0.5, 1.5)), (40, (0.2, 2.0))])
def test_the_share_of_hyperplanes_that_attend_to_a_column_is_beta(n_columns, shapes, key):
    """The number of those that attend is beta-binomial, and on average they attend to four columns or half of them."""
    n_places = 6
    attends = draw_many(key, UNKNOWN_SCALES, n_places, n_columns).attends
    numbers = attends.sum(axis=1)
    masses = stats.betabinom(n_places, *shapes).pmf(np.arange(n_places + 1))
    for column in (0, n_columns - 1):
        counts = np.bincount(numbers[:, column], minlength=n_places + 1)
        assert stats.chisquare(counts, N_DRAWS * masses).pvalue > LEVEL
    columns = stats.spearmanr(numbers[:, 0], numbers[:, 1]).pvalue
    assert columns > LEVEL
    usual = min(n_columns / 2, n_columns * USUAL_ATTENTION / (USUAL_ATTENTION + n_columns))
    assert mean_p_value(attends.sum(axis=2)[:, 0], usual) > LEVEL


def test_the_probability_of_attending_is_the_share_among_the_others_and_the_prior(rng):
    """Polya's urn: what the next draw from a beta-binomial is, given the draws before."""
    n_columns, n_others = 24, 5
    urn = stats.betabinom(n_others + 1, 1 / 3, 2.0), stats.betabinom(n_others, 1 / 3, 2.0)
    n_attending = np.arange(n_others + 1)
    expected = urn[0].pmf(n_attending + 1) * (n_attending + 1) / (n_others + 1) / urn[1].pmf(n_attending)
    found = attention(jnp.asarray(rng.permutation(np.resize(n_attending, n_columns))), jnp.array(n_others))
    assert found.shape == (n_columns,)
    np.testing.assert_allclose(np.unique(np.round(found, 12)), expected, rtol=1e-9)


def test_directions_stay_isotropic_where_all_columns_are_alike(key):
    """With an inattention of 1, whatever a hyperplane attends to."""
    particle = draw_many(key, PRIOR, 6, 3)
    component = stats.uniform(-1, 2)  # of a uniform direction in three dimensions
    for attends in (True, False):
        chosen = particle.normals[:, 0][particle.attends[:, 0, 1] == attends]
        assert len(chosen) > N_DRAWS / 3
        assert stats.kstest(chosen[:, 1], component.cdf).pvalue > LEVEL


def test_directions_that_attend_to_one_column_lie_near_it(key):
    """The squares of the other components, over that of the column, have an F distribution up to the inattention."""
    particle = draw_many(key, UNKNOWN_SCALES, 6, 3)
    normals, attends = particle.normals[:, 0], particle.attends[:, 0]
    for column in (0, 2):
        alone = normals[attends[:, column] & (attends.sum(axis=1) == 1)]
        along = alone[:, column] ** 2
        ratio = (1 - along) / 2 / along / UNKNOWN_SCALES.inattention**2
        assert len(alone) > 500
        assert stats.kstest(ratio, stats.f(2, 1).cdf).pvalue > LEVEL
        assert np.median(np.abs(alone[:, column])) > 0.85


def test_scales_are_one_where_a_hyperplane_attends_and_the_inattention_elsewhere():
    np.testing.assert_array_equal(UNKNOWN_SCALES.scales(jnp.array([True, False])), [1.0, 0.2])


@partial(jax.jit, static_argnums=2, compiler_options=QUICK_TO_COMPILE)
def draw_attention_often(keys: jax.Array, particles: Particle, n_sweeps: int, prior: Prior) -> jax.Array:
    def run(key: jax.Array, particle: Particle) -> jax.Array:
        def sweep(attends: jax.Array, key: jax.Array) -> tuple[jax.Array, None]:
            return draw_attention(key, particle._replace(attends=attends), prior), None

        return jax.lax.scan(sweep, particle.attends, jax.random.split(key, n_sweeps))[0]

    return jax.vmap(run)(keys, particles)


@pytest.mark.parametrize("inattention", [0.2, 1.0])
def test_drawing_attention_leaves_the_prior_invariant(inattention, key):
    n_places, prior = 6, replace(UNKNOWN_SCALES, inattention=inattention)
    before = draw_many(key, prior, n_places, 3)
    keys = jax.random.split(jax.random.fold_in(key, 1), N_DRAWS)
    attends = np.asarray(draw_attention_often(keys, before, 3, prior))
    assert 0.1 < np.mean(attends != before.attends) < 0.6
    masses = stats.betabinom(n_places, 0.5, 0.5).pmf(np.arange(n_places + 1))
    for column in range(3):
        counts = np.bincount(attends.sum(axis=1)[:, column], minlength=n_places + 1)
        assert stats.chisquare(counts, N_DRAWS * masses).pvalue > LEVEL
    fresh = draw_many(jax.random.fold_in(key, 2), prior, n_places, 3)
    for unit in (0, n_places - 1):
        for column in range(3):
            found = before.normals[:, unit, column][attends[:, unit, column]]
            expected = fresh.normals[:, unit, column][fresh.attends[:, unit, column]]
            assert stats.ks_2samp(found, expected, method="asymp").pvalue > LEVEL


def test_drawn_attention_is_what_the_hyperplanes_speak_for(key):
    """Of one hyperplane in two columns: by the density |S|^(-1/2) (n' S^-1 n)^(-1) of its normal under each choice."""
    prior, normal = replace(UNKNOWN_SCALES, inattention=0.3), np.array([0.6, -0.8])
    choices = np.array([[False, False], [True, False], [False, True], [True, True]])
    scales = np.where(choices, 1.0, 0.3)
    masses = 1 / scales.prod(axis=1) / np.sum((normal / scales) ** 2, axis=1)  # a priori each choice is as likely
    start = draw_many(key, prior, 1, 2)._replace(normals=np.full((N_DRAWS, 1, 2), normal))
    keys = jax.random.split(jax.random.fold_in(key, 1), N_DRAWS)
    attends = np.asarray(draw_attention_often(keys, start, 40, prior))[:, 0]
    counts = np.bincount(attends @ [1, 2], minlength=4)
    assert stats.chisquare(counts, N_DRAWS * masses / masses.sum()).pvalue > LEVEL


def test_places_that_are_not_taken_neither_attend_nor_count(key):
    """A hyperplane among empty places attends as if it were alone."""
    prior = replace(UNKNOWN_SCALES, inattention=1.0)
    particle = draw_many(key, prior, 2, 2)
    one_of_two = particle.normals * np.array([0, 1])[:, None]
    particle = particle._replace(normals=one_of_two, attends=np.full_like(particle.attends, True))
    keys = jax.random.split(jax.random.fold_in(key, 1), N_DRAWS)
    attends = np.asarray(draw_attention_often(keys, particle, 1, prior))
    assert not attends[:, 0].any()
    assert mean_p_value(attends[:, 1, 0], 0.5) > LEVEL


def test_the_variance_of_a_particles_coefficients_takes_the_place_of_its_prior(key):
    particle = jax.tree.map(lambda leaf: leaf[0], draw_many(key, UNKNOWN_SCALES, 2, 2))
    assert UNKNOWN_SCALES.given(particle) == replace(UNKNOWN_SCALES, coefficient_variance=particle.coefficient_variance)


@pytest.mark.parametrize("n_columns", [1, 7])
def test_the_papers_prior_is_plain_and_reaches_around_the_cube(n_columns):
    prior = paper_prior(n_columns)
    prior.check()
    assert prior.is_plain
    assert prior.reach == pytest.approx(np.sqrt(n_columns))
    assert (prior.coefficient_variance, prior.lowest_offset) == (10.0, 0.0)


@pytest.mark.parametrize(
    "change",
    [
        {"coefficient_shape": 1.0},
        {"intercept_variance": 1.0},
        {"linear_variance": 1.0},
        {"inattention": 0.5},
        {"reach": 0.0},
    ],
)
def test_a_prior_with_more_unknowns_or_a_window_from_the_data_is_not_plain(change):
    assert not replace(paper_prior(2), **change).is_plain


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"coefficient_variance": 0.0}, ValueError, r"prior\.coefficient_variance must be positive, got 0"),
        ({"coefficient_shape": -1.0}, ValueError, r"prior\.coefficient_shape must not be negative, got -1"),
        ({"intercept_variance": -2.0}, ValueError, r"prior\.intercept_variance must not be negative, got -2"),
        ({"linear_variance": -0.5}, ValueError, r"prior\.linear_variance must not be negative, got -0.5"),
        ({"linear_variance": np.nan}, ValueError, r"prior\.linear_variance must be finite, got nan"),
        ({"noise_shape": -1.0}, ValueError, r"prior\.noise_shape must be positive, got -1"),
        ({"noise_scale": np.inf}, ValueError, r"prior\.noise_scale must be finite, got inf"),
        ({"coefficient_mean": np.nan}, ValueError, r"prior\.coefficient_mean must be finite, got nan"),
        ({"reach": -0.5}, ValueError, r"prior\.reach must not be negative, got -0.5"),
        ({"lowest_offset": -1.1}, ValueError, r"prior\.lowest_offset must be at least -1 and less than 1, got -1.1"),
        ({"lowest_offset": 1.0}, ValueError, r"prior\.lowest_offset must be at least -1 and less than 1, got 1"),
        ({"number_mean": 0.0}, ValueError, r"prior\.number_mean must be positive, got 0"),
        ({"number_shape": -3.0}, ValueError, r"prior\.number_shape must be positive, got -3"),
        ({"inattention": 0.0}, ValueError, r"prior\.inattention must be positive, got 0"),
        ({"inattention": 1.5}, ValueError, r"prior\.inattention must be at most 1, got 1.5"),
        ({"noise_scale": "much"}, TypeError, r"prior\.noise_scale must be a number, got 'much'"),
        ({"noise_shape": True}, TypeError, r"prior\.noise_shape must be a number, got True"),
    ],
)
def test_a_bad_prior_is_an_error_that_names_the_value(values, error, message):
    with pytest.raises(error, match=message):
        Prior(**values).check()


@pytest.mark.parametrize(
    "values",
    [{}, {"coefficient_mean": -2.0}, {"coefficient_shape": 0}, {"intercept_variance": 0.0}, {"noise_shape": 3}],
)
def test_what_makes_sense_is_no_error(values):
    Prior(**values).check()

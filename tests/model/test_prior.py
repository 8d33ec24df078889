from functools import partial

import jax
import numpy as np
import pytest
from scipy import stats

from hyperplanes.model import Particle, Prior, draw_prior
from hyperplanes.model.prior import draw_inverse_gamma
from p_values import LEVEL, mean_p_value

N_DRAWS = 20_000
PRIOR = Prior(coefficient_mean=-0.7, coefficient_variance=2.3, noise_shape=3.0, noise_scale=0.4)


@partial(jax.jit, static_argnums=(2, 3))
def draw_on_device(keys: jax.Array, prior: Prior, n_hyperplanes: int, n_columns: int) -> Particle:
    return jax.vmap(lambda key: draw_prior(key, prior, n_hyperplanes, n_columns, np.float64))(keys)


def draw_many(key: jax.Array, prior: Prior, n_hyperplanes: int, n_columns: int) -> Particle:
    return jax.tree.map(np.asarray, draw_on_device(jax.random.split(key, N_DRAWS), prior, n_hyperplanes, n_columns))


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
@pytest.mark.parametrize("reach", [0.0, 0.4])
def test_hyperplanes_are_isotropic_with_offsets_uniform_up_to_the_reach(n_columns, reach, key):
    prior = Prior(reach=reach).resolved(n_columns)
    particle = draw_many(key, prior, 2, n_columns)
    np.testing.assert_allclose(np.linalg.norm(particle.normals, axis=-1), 1, rtol=1e-12)
    for unit in range(2):
        uniform = stats.uniform(0, reach or np.sqrt(n_columns))
        assert stats.kstest(particle.offsets[:, unit], uniform.cdf).pvalue > LEVEL
        if n_columns == 1:
            assert mean_p_value(particle.normals[:, unit, 0], 0) > LEVEL
            continue
        direction = np.arange(1.0, n_columns + 1) / np.linalg.norm(np.arange(1.0, n_columns + 1))
        component = stats.beta((n_columns - 1) / 2, (n_columns - 1) / 2, loc=-1, scale=2)
        for values in (particle.normals[:, unit] @ direction, particle.normals[:, unit, -1]):
            assert stats.kstest(values, component.cdf).pvalue > LEVEL


def test_coefficients_and_noise_have_their_prior(key):
    particle = draw_many(key, PRIOR.resolved(2), 2, 2)
    assert particle.coefficients.shape == (N_DRAWS, 3)
    for column in particle.coefficients.T:
        assert stats.kstest(column, stats.norm(-0.7, np.sqrt(2.3)).cdf).pvalue > LEVEL
    assert stats.kstest(particle.noise_variance, stats.invgamma(3.0, scale=0.4).cdf).pvalue > LEVEL


def test_everything_in_a_particle_is_independent(key):
    particle = draw_many(key, PRIOR.resolved(2), 2, 2)
    angles = np.arctan2(particle.normals[..., 1], particle.normals[..., 0])
    columns = np.column_stack([angles, particle.offsets, particle.coefficients, particle.noise_variance])
    p_values = stats.spearmanr(columns).pvalue[np.triu_indices(columns.shape[1], 1)]
    assert p_values.min() * len(p_values) > LEVEL


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hyperplanes_have_the_width_asked_for_and_the_rest_is_float64(dtype, key):
    particle = jax.eval_shape(lambda key: draw_prior(key, PRIOR.resolved(3), 4, 3, dtype), key)
    assert particle.normals.shape == (4, 3)
    assert particle.normals.dtype == particle.offsets.dtype == dtype
    assert particle.coefficients.dtype == particle.noise_variance.dtype == np.float64


def test_reach_is_the_radius_of_the_ball_around_the_cube_unless_given():
    assert Prior().resolved(7).reach == pytest.approx(np.sqrt(7))
    assert Prior(reach=0.25).resolved(7).reach == 0.25


def test_resolving_keeps_every_other_value():
    assert PRIOR.resolved(4) == Prior(-0.7, 2.3, 3.0, 0.4, 2.0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"coefficient_variance": 0.0}, r"prior\.coefficient_variance must be positive, got 0"),
        ({"noise_shape": -1.0}, r"prior\.noise_shape must be positive, got -1"),
        ({"noise_scale": np.inf}, r"prior\.noise_scale must be finite, got inf"),
        ({"coefficient_mean": np.nan}, r"prior\.coefficient_mean must be finite, got nan"),
        ({"reach": -0.5}, r"prior\.reach must be positive, got -0.5"),
    ],
)
def test_a_bad_prior_is_an_error_that_names_the_value(values, message):
    with pytest.raises(ValueError, match=message):
        Prior(**values).resolved(2)


def test_a_negative_coefficient_mean_is_no_error():
    assert Prior(coefficient_mean=-2.0).resolved(2).coefficient_mean == -2.0

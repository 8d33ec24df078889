from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from hyperplanes.model import make_data, paper_prior
from hyperplanes.model.data import N_FACTORS
from hyperplanes.model.linear_algebra import inverse_root
from hyperplanes.moves.curvature import Curvature, by_coordinates, colour, curvature, log_density, n_tilts, solve
from hyperplanes.process import from_white

PRIOR = replace(paper_prior(3), reach=1.4)
TILTED = np.array([[1.9, 0.3, -0.2], [-0.4, 1.1, 0.5], [0.1, -0.3, 0.6]])
PRIORS = {"ball": PRIOR, "ellipsoid": replace(PRIOR, reach=TILTED, lowest_offset=-1.0)}
SCALES = np.array([1.0, 0.3, 0.7])
N_TILTS = 3


def dense(found: Curvature) -> np.ndarray:
    roots, tilts = np.asarray(found.roots), np.asarray(found.tilts)
    return np.diag(roots) @ (np.eye(len(roots)) + tilts.T @ tilts) @ np.diag(roots)


@pytest.fixture(params=[0.0, 1e-9, 1.0, 30.0])
def example(request, rng) -> Curvature:
    """Without tilts, with hardly any, and with much."""
    tilts = request.param * jnp.asarray(rng.normal(size=(N_TILTS, 4)))
    inner = inverse_root(jnp.eye(N_TILTS) + tilts @ tilts.T)
    return Curvature(jnp.asarray(rng.uniform(0.5, 5, 4)), tilts, inner)


def test_solving_inverts_the_matrix(example, rng):
    gradient = rng.normal(size=4)
    np.testing.assert_allclose(solve(example, gradient), np.linalg.solve(dense(example), gradient), rtol=1e-8)


def test_coloured_noise_has_the_inverse_as_covariance(example):
    root = np.column_stack([colour(example, unit) for unit in np.eye(4 + N_TILTS)])
    np.testing.assert_allclose(root @ root.T @ dense(example), np.eye(4), atol=1e-9)


def test_density_is_that_of_the_normal_distribution(example, rng):
    first, second = rng.normal(size=(2, 4))
    normal = stats.multivariate_normal(cov=np.linalg.inv(dense(example)), allow_singular=True)
    expected = normal.logpdf(first) + 0.5 * 4 * np.log(2 * np.pi)
    np.testing.assert_allclose(log_density(example, first), expected, rtol=1e-8)
    difference = log_density(example, first) - log_density(example, second)
    np.testing.assert_allclose(difference, normal.logpdf(first) - normal.logpdf(second), rtol=1e-6)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("scales", [np.ones(3), SCALES], ids=["alike", "stretched"])
def test_derivatives_by_white_numbers_are_finite_differences_of_the_hyperplane(scales, prior, rng):
    white, by_plane = np.array([0.9, -0.7, 0.4, 0.3]), rng.normal(size=4)

    def value(moved: np.ndarray) -> float:
        normal, offset = from_white(jnp.asarray(moved), prior.reach, prior.lowest_offset, scales)
        return float(by_plane @ np.append(normal, -offset))

    expected = [(value(white + step) - value(white - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    found = by_coordinates(jnp.asarray(by_plane), jnp.asarray(white), jnp.asarray(scales), prior)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n_columns", [1, 3, 6])
def test_factors_and_centroid_make_the_dense_matrix(n_columns, rng):
    """I + strength * mass (J'CJ + ss'), with C the covariance of factors and noise and s the slope at the centroid."""
    inputs = rng.normal(size=(300, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    data, prior = make_data(inputs, inputs[:, 0]), replace(PRIOR, lowest_offset=-1.0)
    white, scales = rng.normal(size=n_columns + 1), rng.uniform(0.1, 1, size=n_columns)
    mass, strength = 120.0, 0.3
    moments = np.append(mass * rng.normal(size=n_columns), mass)
    args = [jnp.asarray(each) for each in (white, scales, moments, strength)]
    found = curvature(*args, data, prior)
    assert found.tilts.shape == (n_tilts(n_columns), n_columns + 1)
    factors = np.asarray(data.factors)
    covariance = np.diag(data.noise) + factors.T @ factors
    if n_columns <= N_FACTORS:
        np.testing.assert_allclose(covariance, np.cov(inputs.T, bias=True).reshape(n_columns, -1), rtol=1e-9)
    shrunk = scales / np.linalg.norm(scales * white[:-1])
    expected = np.eye(n_columns + 1)
    expected[:-1, :-1] += strength * mass * covariance * np.outer(shrunk, shrunk)
    shift = np.asarray(by_coordinates(jnp.asarray(moments / mass), *args[:2], prior))
    expected += strength * mass * np.outer(shift, shift)
    np.testing.assert_allclose(dense(found), expected, rtol=1e-9, atol=1e-9)
    root = np.column_stack([colour(found, unit) for unit in np.eye(n_columns + 1 + n_tilts(n_columns))])
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(expected), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("scales", [np.ones(3), SCALES], ids=["alike", "stretched"])
def test_where_active_rows_are_spread_like_all_it_is_the_gauss_newton_matrix(scales, prior, rng):
    """Half of the rows are active; each has a twin on the other side with the same distance from the normal's line."""
    white = np.array([0.9, 0.0, 0.0, 0.1])
    plane = from_white(jnp.asarray(white), prior.reach, prior.lowest_offset, scales)
    sides = rng.uniform(-1, 1, size=(400, 2))
    sides = np.vstack([sides, -sides])
    far, near = np.full((800, 1), 2.9), np.full((800, 1), -2.9)
    rows = np.vstack([np.hstack([far, sides]), np.hstack([near, sides])])
    data = make_data(rows, rows[:, 0])
    active = rows[rows @ np.asarray(plane.normals) > float(plane.offsets)]
    assert len(active) == 800
    strength, moments = 7.0, np.append(active.sum(axis=0), len(active))
    args = [jnp.asarray(each) for each in (white, scales, moments, strength)]
    found = dense(curvature(*args, data, prior))

    def feature(moved: np.ndarray) -> np.ndarray:
        turned = from_white(jnp.asarray(moved), prior.reach, prior.lowest_offset, scales)
        return active @ np.asarray(turned.normals) - float(turned.offsets)

    steps = 1e-6 * np.eye(4)
    slopes = np.column_stack([(feature(white + step) - feature(white - step)) / 2e-6 for step in steps])
    sideways = np.eye(4)[1:]  # the length of the direction, along the first axis, has no effect
    expected = sideways @ (np.eye(4) + strength * slopes.T @ slopes) @ sideways.T
    np.testing.assert_allclose(sideways @ found @ sideways.T, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())

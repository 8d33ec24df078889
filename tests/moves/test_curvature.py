import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from hyperplanes.model import Prior, make_data
from hyperplanes.moves.curvature import Curvature, colour, curvature, log_density, solve
from hyperplanes.process import from_white

PRIOR = Prior(reach=1.4)


def dense(found: Curvature) -> np.ndarray:
    roots, tilt = np.asarray(found.roots), np.asarray(found.tilt)
    return np.diag(roots) @ (np.eye(len(roots)) + np.outer(tilt, tilt)) @ np.diag(roots)


@pytest.fixture(params=[0.0, 1e-9, 1.0, 30.0])
def example(request, rng) -> Curvature:
    """Without tilt, with hardly any, and with much."""
    return Curvature(jnp.asarray(rng.uniform(0.5, 5, 4)), request.param * jnp.asarray(rng.normal(size=4)))


def test_solving_inverts_the_matrix(example, rng):
    gradient = rng.normal(size=4)
    np.testing.assert_allclose(solve(example, gradient), np.linalg.solve(dense(example), gradient), rtol=1e-9)


def test_coloured_noise_has_the_inverse_as_covariance(example):
    root = np.column_stack([colour(example, unit) for unit in np.eye(4)])
    np.testing.assert_allclose(root @ root.T @ dense(example), np.eye(4), atol=1e-9)


def test_density_is_that_of_the_normal_distribution(example, rng):
    first, second = rng.normal(size=(2, 4))
    normal = stats.multivariate_normal(cov=np.linalg.inv(dense(example)), allow_singular=True)
    expected = normal.logpdf(first) + 0.5 * 4 * np.log(2 * np.pi)
    np.testing.assert_allclose(log_density(example, first), expected, rtol=1e-8)
    difference = log_density(example, first) - log_density(example, second)
    np.testing.assert_allclose(difference, normal.logpdf(first) - normal.logpdf(second), rtol=1e-6)


def test_where_active_rows_are_spread_like_all_it_is_the_gauss_newton_matrix(rng):
    """Half of the rows are active; each has a twin on the other side with the same distance from the normal's line."""
    white = np.array([0.9, 0.0, 0.0, -1.5])
    plane = from_white(jnp.asarray(white), PRIOR.reach)
    sides = rng.uniform(-1, 1, size=(400, 2))
    far, near = np.full((400, 1), 0.9), np.full((400, 1), -0.9)
    rows = np.vstack([np.hstack([far, sides]), np.hstack([near, sides])])
    data = make_data(rows, rows[:, 0])
    active = rows[rows @ np.asarray(plane.normals) > float(plane.offsets)]
    assert len(active) == 400
    axes, strength = np.asarray(data.axes), 7.0
    moments = np.append(active.sum(axis=0) @ axes, len(active))
    along = np.append(axes.T @ white[:-1], white[-1])
    found = dense(curvature(jnp.asarray(along), jnp.asarray(moments), jnp.asarray(strength), data, PRIOR))

    def feature(turned: np.ndarray) -> np.ndarray:
        moved = from_white(jnp.append(axes @ turned[:-1], turned[-1]), PRIOR.reach)
        return active @ np.asarray(moved.normals) - float(moved.offsets)

    steps = 1e-6 * np.eye(4)
    slopes = np.column_stack([(feature(along + step) - feature(along - step)) / 2e-6 for step in steps])
    sideways = np.linalg.svd(np.append(along[:-1], 0.0)[None])[2][1:]  # the length of the normal has no effect
    expected = sideways @ (np.eye(4) + strength * slopes.T @ slopes) @ sideways.T
    np.testing.assert_allclose(sideways @ found @ sideways.T, expected, rtol=1e-4, atol=1e-3 * np.abs(expected).max())

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from hyperplanes.process import from_white, support, to_white
from p_values import LEVEL

TILTED = np.array([[1.3, 0.4, -0.2], [-0.5, 0.7, 0.1], [0.2, -0.3, 2.1]])
"""Neither symmetric nor diagonal, so that a transpose would be noticed."""
REACHES = {"ball": 1.7, "ellipsoid": TILTED}


def normals_of(rng: np.random.Generator, n_hyperplanes: int, n_columns: int) -> np.ndarray:
    directions = rng.normal(size=(n_hyperplanes, n_columns))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def test_support_of_a_ball_is_its_radius(rng):
    np.testing.assert_allclose(support(jnp.asarray(normals_of(rng, 20, 3)), 1.7), 1.7, rtol=1e-12)


def test_support_of_an_ellipsoid_is_the_largest_product_with_its_points(rng):
    """Of {R'z, |z| <= 1}: by a fine grid of all z in two dimensions, where the error is that of the grid squared."""
    reach, normals = TILTED[:2, :2], normals_of(rng, 20, 2)
    angles = np.linspace(0, 2 * np.pi, 20_001)
    points = np.column_stack([np.cos(angles), np.sin(angles)]) @ reach
    found = np.asarray(support(jnp.asarray(normals), reach))
    np.testing.assert_allclose(found, (points @ normals.T).max(axis=0), rtol=1e-6)


def test_no_point_of_an_ellipsoid_lies_beyond_its_support_and_some_come_near(rng):
    normals = normals_of(rng, 20, 3)
    points = normals_of(rng, 20_000, 3) @ TILTED
    found = np.asarray(support(jnp.asarray(normals), TILTED))
    shares = (points @ normals.T).max(axis=0) / found
    assert np.all(shares <= 1)
    assert np.all(shares > 0.98)


def test_a_ball_is_an_ellipsoid_with_equal_axes(rng):
    normals = jnp.asarray(normals_of(rng, 20, 3))
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    np.testing.assert_allclose(support(normals, 0.6 * rotation), support(normals, 0.6), rtol=1e-12)


@pytest.mark.parametrize("lowest", [0.0, -1.0])
@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("stretched", [False, True])
def test_hyperplanes_and_white_noise_are_mapped_back_and_forth(stretched, reach, lowest, rng):
    white = rng.normal(size=(50, 4))
    scales = rng.uniform(0.05, 2.0, size=(50, 3)) if stretched else 1.0
    planes = from_white(jnp.asarray(white), REACHES[reach], lowest, scales)
    lengths = np.linalg.norm(white[:, :-1], axis=1)
    back = to_white(planes, REACHES[reach], lengths, lowest, scales)
    np.testing.assert_allclose(back, white, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(from_white(back, REACHES[reach], lowest, scales).offsets, planes.offsets, rtol=1e-9)


def test_scales_stretch_the_directions(rng):
    white, scales = rng.normal(size=(6, 4)), rng.uniform(0.05, 2.0, size=(6, 3))
    found = from_white(jnp.asarray(white), 1.0, 0.0, scales).normals
    stretched = white[:, :-1] * scales
    np.testing.assert_allclose(found, stretched / np.linalg.norm(stretched, axis=1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("lowest", [0.0, -1.0, 0.4])
@pytest.mark.parametrize("reach", REACHES)
def test_offsets_are_uniform_up_to_the_support(reach, lowest, rng):
    planes = from_white(jnp.asarray(rng.normal(size=(10_000, 4))), REACHES[reach], lowest)
    shares = planes.offsets / support(planes.normals, REACHES[reach])
    assert stats.kstest(np.asarray(shares), stats.uniform(lowest, 1 - lowest).cdf).pvalue > LEVEL


@pytest.mark.parametrize("side", [-1, 1])
def test_offsets_at_the_end_of_the_window_have_bounded_white_numbers(side):
    planes = from_white(jnp.array([[0.3, -0.4, 0.5, side * 40.0]]), TILTED, -1.0)
    white = np.asarray(to_white(planes, TILTED, jnp.ones(1), -1.0))
    assert np.all(np.isfinite(white))
    assert side * white[0, -1] > 5

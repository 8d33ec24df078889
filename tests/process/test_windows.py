import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from goodness_of_fit import isotropic
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperplanes.process import (
    Ball,
    Box,
    ConvexHull,
    Hyperplanes,
    hits,
    n_hits,
    restrict,
    translate,
)
from hyperplanes.process import windows as windows_module

PROPERTY = settings(max_examples=15, deadline=None, derandomize=True)
WINDOWS = {
    "ball": Ball(1.5, 3),
    "box": Box([-1, -2, 0.5], [1, -1, 3]),
    "far box": Box([4, 5, 6], [4.5, 7, 6]),
    "hull": ConvexHull(np.random.default_rng(0).normal(size=(40, 3)) + np.array([1, 0, 2])),
}


def on_both_sides(hyperplanes, points):
    distances = points @ hyperplanes.normals.T - hyperplanes.offsets
    return (distances.min(axis=-2) <= 0) & (distances.max(axis=-2) >= 0)


@PROPERTY
@given(st.integers(0, 2**31 - 1), st.sampled_from([1, 2, 3, 6]), st.floats(0, 5))
def test_a_hyperplane_hits_the_hull_exactly_if_points_lie_on_both_sides(seed, dimension, distance):
    points = np.random.default_rng(seed).normal(size=(50, dimension)) + distance
    hull = ConvexHull(points)
    hyperplanes = isotropic(seed, 200, dimension, 1.2 * hull.radius)
    np.testing.assert_array_equal(hits(hyperplanes, hull), on_both_sides(hyperplanes, points))


@PROPERTY
@given(st.integers(0, 2**31 - 1), st.sampled_from([1, 2, 3, 6]), st.floats(0, 5))
def test_a_hyperplane_hits_the_box_exactly_if_corners_lie_on_both_sides(seed, dimension, distance):
    low = np.random.default_rng(seed).normal(size=dimension) + distance
    high = low + np.arange(1, dimension + 1)
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
    hyperplanes = isotropic(seed, 200, dimension, 1.2 * Box(low, high).radius)
    np.testing.assert_array_equal(hits(hyperplanes, Box(low, high)), on_both_sides(hyperplanes, corners))


def test_a_hyperplane_hits_the_ball_exactly_if_it_is_near_the_origin():
    hyperplanes = isotropic(0, 200, 4, 3.0)
    np.testing.assert_array_equal(hits(hyperplanes, Ball(1.3, 4)), abs(hyperplanes.offsets) <= 1.3)


@pytest.mark.parametrize("name", WINDOWS)
def test_hits_do_not_depend_on_the_way_a_hyperplane_faces(name):
    hyperplanes = isotropic(1, 200, 3, 8.0)
    turned = Hyperplanes(-hyperplanes.normals, -hyperplanes.offsets)
    inside = hits(hyperplanes, WINDOWS[name])
    np.testing.assert_array_equal(inside, hits(turned, WINDOWS[name]))
    assert 0 < inside.sum() < inside.size


@pytest.mark.parametrize("name", WINDOWS)
def test_the_ball_of_the_windows_radius_holds_it_and_no_smaller_one_does(name):
    window = WINDOWS[name]
    normals = isotropic(2, 20000, 3).normals
    largest = float(window.support(normals).max())
    assert 0.97 * window.radius < largest <= window.radius * (1 + 1e-6)


def test_a_translated_window_is_hit_by_the_translated_hyperplanes():
    shift = np.array([2.0, -7.0, 1.0])
    hyperplanes = isotropic(3, 200, 3, 4.0)
    box, moved = Box([-1, -2, 0.5], [1, -1, 3]), Box([1, -9, 1.5], [3, -8, 4])
    np.testing.assert_array_equal(hits(hyperplanes, box), hits(translate(hyperplanes, shift), moved))


def test_hull_keeps_the_extreme_points_only():
    corners = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    inner = np.random.default_rng(0).uniform(0.1, 0.9, size=(100, 3))
    hull = ConvexHull(np.concatenate([inner, corners, corners]))
    np.testing.assert_array_equal(np.unique(hull.points, axis=0), corners)


@pytest.mark.parametrize("span", [0, 1, 2, 3])
@pytest.mark.parametrize("dimension", [3, 8])
def test_hull_of_points_in_a_flat_has_the_support_of_the_points(span, dimension):
    rng = np.random.default_rng(span)
    points = rng.normal(size=(30, span)) @ rng.normal(size=(span, dimension)) + rng.normal(size=dimension)
    hull = ConvexHull(points)
    normals = isotropic(0, 100, dimension).normals
    np.testing.assert_allclose(hull.support(normals), (normals @ points.T).max(axis=1), atol=1e-12)
    assert len(hull.points) <= 30 if span else len(hull.points) == 1


@pytest.mark.parametrize(
    "points",
    [
        np.ones((5, 2)),
        [[1.0, 2.0]],
        [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]],
        np.random.default_rng(0).normal(size=(3, 10)),
        np.random.default_rng(0).normal(size=(50, 3)) * [1, 1e-14, 1e-15],
        np.random.default_rng(0).normal(size=(50, 3)) * [1e8, 1e-8, 1],
        np.random.default_rng(0).integers(0, 2, size=(50, 3)),
    ],
)
def test_hull_accepts_degenerate_data(points):
    normals = isotropic(0, 20, np.shape(points)[1]).normals
    expected = (np.asarray(normals) @ np.asarray(points).T).max(axis=1)
    scale = np.abs(points).max()
    np.testing.assert_allclose(ConvexHull(points).support(normals), expected, rtol=1e-5, atol=1e-6 * scale)


def test_support_of_a_hull_does_not_depend_on_the_block_size(monkeypatch):
    hull = ConvexHull(np.random.default_rng(0).normal(size=(60, 6)))
    normals = isotropic(0, 28, 6).normals.reshape(4, 7, 6)
    expected = hull.support(normals)
    monkeypatch.setattr(windows_module, "SUPPORT_BLOCK", 300)
    np.testing.assert_allclose(hull.support(normals), expected, rtol=1e-6)


def test_hits_work_in_jit_and_on_many_sets():
    many = Hyperplanes(*(jnp.reshape(field, (5, 6, *field.shape[1:])) for field in isotropic(0, 30, 3, 4.0)))
    for window in WINDOWS.values():
        counts = jax.jit(lambda sets, window=window: n_hits(sets, window))(many)
        alone = [len(restrict(Hyperplanes(*one), window).offsets) for one in zip(*many, strict=True)]
        np.testing.assert_array_equal(counts, alone)


def test_a_window_cannot_be_changed_through_the_array_that_it_was_made_from():
    low = np.zeros(2)
    box = Box(low, [1.0, 1.0])
    low[0] = 9
    assert box.low[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        box.low[0] = 9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ball(0, 2), "radius must be positive and finite, got 0"),
        (lambda: Ball(float("inf"), 2), "radius must be positive and finite, got inf"),
        (lambda: Ball(1, 0), "dimension must be at least 1, got 0"),
        (lambda: Box([0, 2], [1, 1]), "low must be at most high, got 2.0 > 1.0 in column 1"),
        (lambda: Box([0, 0], [1]), "low and high must have the same length, got 2 and 1"),
        (lambda: Box([0, np.nan], [1, 1]), "low must be finite, got nan"),
        (lambda: Box(0, 1), r"low must have shape \(p,\) and at least one entry, got shape \(\)"),
        (lambda: ConvexHull([1.0, 2.0]), r"points must have shape \(n, p\) and at least one entry, got shape \(2,\)"),
        (lambda: ConvexHull(np.zeros((0, 2))), r"points must have shape \(n, p\) and at least one entry, got shape"),
        (lambda: ConvexHull([[1.0, np.inf]]), "points must be finite, got inf"),
        (
            lambda: hits(isotropic(0, 200, 3, 1.0), Ball(1, 2)),
            "normals must have the 2 columns of the window, got 3",
        ),
    ],
)
def test_errors_say_what_was_expected_and_got(make, message):
    with pytest.raises(ValueError, match=message):
        make()

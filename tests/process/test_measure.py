import itertools
import math

import numpy as np
import pytest
from goodness_of_fit import ALPHA, isotropic, two_sided
from scipy import stats

from hyperplanes.process import (
    Ball,
    Box,
    ConvexHull,
    mean_absolute_component,
    measure,
    n_hits,
    sectors,
    shells,
)


def corners(low, high):
    return np.array(list(itertools.product(*zip(low, high, strict=True))), dtype=float)


class Opaque:
    """A window of which nothing but the interface is known, so that its measure is numerical."""

    def __init__(self, window):
        self.dimension, self.radius, self.support = window.dimension, window.radius, window.support


def rotation(seed, dimension):
    return stats.special_ortho_group(dimension, seed=seed).rvs() if dimension > 1 else np.eye(1)


@pytest.mark.parametrize(("dimension", "expected"), [(1, 1), (2, 2 / math.pi), (3, 0.5), (4, 4 / (3 * math.pi))])
def test_mean_absolute_component_has_its_known_values(dimension, expected):
    assert mean_absolute_component(dimension) == pytest.approx(expected, rel=1e-12)


def test_mean_absolute_component_is_finite_in_high_dimension():
    assert mean_absolute_component(10**6) == pytest.approx(math.sqrt(2 / math.pi) * 1e-3, rel=1e-5)


def test_measure_of_a_ball_is_its_radius():
    assert measure(Ball(2.5, 7)) == 2.5


@pytest.mark.parametrize(
    "window",
    [
        Box([-1, -2, -0.5], [1, 0.5, 3]),
        Box([3, -1], [4, 1.5]),
        Box([2.0], [5.0]),
        Box([1] * 10, [1.5] * 10),
        ConvexHull(np.random.default_rng(0).normal(size=(30, 2)) + np.array([2, 0])),
        ConvexHull(np.random.default_rng(0).normal(size=(30, 3)) + np.array([2, 0, 1])),
        ConvexHull(np.random.default_rng(0).normal(size=(30, 6))),
    ],
)
def test_measure_is_the_radius_times_the_share_of_hyperplanes_in_the_ball_that_hit(window):
    n_draws = 2**18
    hyperplanes = isotropic(1, n_draws, window.dimension, window.radius)
    share = measure(window) / window.radius
    assert two_sided(stats.binom(n_draws, share), int(n_hits(hyperplanes, window))) > ALPHA


@pytest.mark.parametrize(
    "window",
    [
        Ball(2.0, 4),
        Box([-1, -2, -0.5], [1, 0.5, 3]),
        Box([5, 5], [6, 8]),
        Box([2.0], [5.0]),
        Box([1] * 40, [1.5] * 40),
        ConvexHull(np.random.default_rng(0).normal(size=(30, 2)) + np.array([2, 0])),
    ],
)
def test_numerical_measure_agrees_with_the_exact_one(window):
    assert measure(Opaque(window)) == pytest.approx(measure(window), rel=5e-4)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_hull_of_the_corners_has_the_measure_of_the_box(dimension):
    low, high = np.arange(dimension) - 1.0, np.arange(dimension) + np.arange(1, dimension + 1)
    expected = measure(Box(low, high))
    assert measure(ConvexHull(corners(low, high))) == pytest.approx(expected, rel=1e-9 if dimension < 3 else 5e-4)


@pytest.mark.parametrize("dimension", [2, 3, 5])
@pytest.mark.parametrize("span", [0, 1, 2])
def test_hull_of_a_rotated_flat_box_has_the_measure_of_the_box(span, dimension):
    low, high = np.zeros(dimension), np.zeros(dimension)
    high[:span] = [2.0, 3.0][:span]
    points = corners(low, high) @ rotation(0, dimension).T + np.arange(dimension)
    assert measure(ConvexHull(points)) == pytest.approx(measure(Box(low, high)), rel=1e-9)


def test_measure_does_not_change_when_the_window_is_moved_or_rotated():
    points = np.random.default_rng(1).normal(size=(20, 3)) * [1, 2, 3]
    expected = measure(ConvexHull(points))
    assert measure(ConvexHull(points + np.array([5, -3, 1]))) == pytest.approx(expected, rel=1e-3)
    assert measure(ConvexHull(points @ rotation(2, 3).T)) == pytest.approx(expected, rel=1e-3)


def test_measure_of_a_larger_window_is_larger():
    points = np.random.default_rng(1).normal(size=(20, 3))
    hull, box = ConvexHull(points), Box(points.min(axis=0), points.max(axis=0))
    assert measure(hull) < measure(box) < measure(Ball(box.radius, 3))


@pytest.mark.parametrize("window", [Ball(2.0, 3), Box([1, 0, -1], [2, 2, 4])])
def test_measures_of_the_cells_of_a_partition_sum_to_the_measure(window):
    partitions = [shells([0.5, 1.5]), sectors(np.random.default_rng(0).normal(size=(4, 3)))]
    for partition in partitions:
        assert sum(measure(window, (cell,)) for cell in partition) == pytest.approx(measure(window), rel=2e-3)
    crossed = sum(measure(window, pair) for pair in itertools.product(*partitions))
    assert crossed == pytest.approx(measure(window), rel=2e-3)


def test_measure_of_a_shell_of_a_ball_is_its_thickness():
    assert [measure(Ball(2.0, 3), (cell,)) for cell in shells([0.5, 1.75])] == pytest.approx(
        [0.5, 1.25, 0.25], rel=1e-5
    )
    assert measure(Ball(2.0, 3), shells([3.0])[1:]) == 0


def test_measure_of_a_sector_of_a_ball_is_its_share_of_the_sphere():
    angles = np.array([0.0, 0.5, 2.0])  # the sectors end half-way between their directions: at 0.25, 1.25 and 1 + pi
    widths = np.array([0.25 - (1 - math.pi), 1.25 - 0.25, 1 + math.pi - 1.25])
    parts = sectors(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    assert [measure(Ball(2.0, 2), (part,)) for part in parts] == pytest.approx(2 * widths / (2 * math.pi), rel=2e-3)


def test_tolerance_must_be_positive():
    with pytest.raises(ValueError, match="tolerance must be positive, got 0"):
        measure(Ball(1, 1), tolerance=0)

import numpy as np
import pytest

from hyperplanes.experiments import coverage, mean_width, rmse


def test_rmse_by_hand():
    assert rmse([1.0, 2.0, 3.0], [1.0, 4.0, 0.0]) == pytest.approx(np.sqrt(13 / 3))


def test_coverage_counts_each_side_and_the_ends():
    interval = [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    assert coverage([-0.1, 0.0, 1.0, 1.1], interval) == 0.5


def test_mean_width_by_hand():
    assert mean_width([[0.0, 1.0], [2.0, 5.0]]) == 2.0


def test_shapes_that_would_broadcast_are_refused():
    with pytest.raises(ValueError, match="same shape"):
        rmse(np.zeros(3), np.zeros((3, 1)))
    with pytest.raises(ValueError, match="same shape"):
        coverage(np.zeros(1), np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"shape \(n_rows, 2\), got \(2, 3\)"):
        mean_width(np.zeros((2, 3)))

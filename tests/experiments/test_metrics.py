import numpy as np
import pytest
from scipy import stats

from hyperplanes.experiments import coverage, crps, mean_width, rmse
from hyperplanes.experiments.metrics import brier_score, calibration_error, log_loss, reliability


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


def test_crps_of_many_normal_draws_is_that_of_the_normal_distribution(rng):
    truth = np.array([-1.5, 0.0, 0.3, 2.0])
    draws = rng.normal(size=(200_000, 4))
    expected = truth * (2 * stats.norm.cdf(truth) - 1) + 2 * stats.norm.pdf(truth) - 1 / np.sqrt(np.pi)
    for row in range(4):
        assert crps(truth[[row]], draws[:, [row]]) == pytest.approx(expected[row], abs=0.01)
    assert crps(truth, draws) == pytest.approx(expected.mean(), abs=0.01)


def test_crps_of_one_draw_is_its_absolute_error():
    assert crps([1.0, 4.0], [[3.0, 3.0]]) == pytest.approx(1.5)


def test_crps_of_draws_of_other_rows_is_refused():
    with pytest.raises(ValueError, match="same shape"):
        crps([1.0, 2.0], [[1.0], [2.0]])


def test_scores_of_probabilities_by_hand():
    classes, shares = [0, 1, 1], [[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]
    assert log_loss(classes, shares) == pytest.approx(-np.mean(np.log([0.8, 0.7, 0.4])))
    assert brier_score(classes, shares) == pytest.approx(np.mean([2 * 0.04, 2 * 0.09, 2 * 0.36]))


def test_calibration_error_by_hand():
    shares = [[0.65, 0.35], [0.62, 0.38], [0.05, 0.95], [1.0, 0.0]]
    sums = reliability([0, 1, 1, 0], shares)
    np.testing.assert_allclose(sums[[6, 9]], [[2, 1.27, 1], [2, 1.95, 2]])
    assert sums[:, 0].sum() == 4
    assert calibration_error(sums) == pytest.approx((0.27 + 0.05) / 4)
    assert calibration_error(sums + sums) == pytest.approx((0.27 + 0.05) / 4)


def test_scores_want_a_class_for_every_row():
    with pytest.raises(ValueError, match="one for each row"):
        log_loss([0, 1], [[0.5, 0.5]])

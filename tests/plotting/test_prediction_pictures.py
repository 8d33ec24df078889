import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import small_fits
from hyperplanes.plotting import plot_calibration, plot_observed, plot_pit, plot_residuals
from hyperplanes.plotting.checks import (
    CHANCE,
    FEWEST_IN_BIN,
    Labels,
    Responses,
    chance_of_bars,
    chance_of_shares,
    draw_coverage,
    draw_observed,
    draw_pit,
    draw_residuals,
    labels_of,
    reliability_of,
    responses_of,
)


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def even_responses(n_rows: int = 2000, power: float = 1.0) -> Responses:
    """Standard uniform predictive distributions, and responses at even steps, or crowded at one end."""
    observed = ((np.arange(n_rows) + 0.5) / n_rows) ** power
    interval = np.tile([0.05, 0.95], (n_rows, 1))
    return Responses(observed, np.full(n_rows, 0.5), interval, 0.9, observed)


def test_coverage_of_calibrated_predictions_is_the_diagonal(ax):
    assert draw_coverage(even_responses(), ax) is ax
    drawn = ax.lines[1]
    np.testing.assert_allclose(drawn.get_ydata(), drawn.get_xdata(), atol=1e-3)


def test_coverage_of_too_narrow_intervals_is_below_the_diagonal(ax):
    draw_coverage(even_responses(power=3.0), ax)
    drawn = ax.lines[1]
    assert (drawn.get_ydata() < drawn.get_xdata())[3:-1].all()


def test_coverage_agrees_with_intervals_of_the_model():
    fit = small_fits.plain()
    for coverage in (0.5, 0.9):
        found = responses_of(fit.model, fit.X, fit.y, coverage)
        assert found.covered(coverage) == pytest.approx(1 - found.outside.mean(), abs=1e-12)


@pytest.mark.parametrize("n_bins", [5, 20])
def test_bars_of_the_transform_have_mean_one(ax, n_bins):
    draw_pit(even_responses(), ax, n_bins=n_bins)
    heights = [bar.get_height() for bar in ax.patches if hasattr(bar, "get_height") and bar.get_width() < 0.9]
    np.testing.assert_allclose(heights, np.ones(n_bins), atol=1e-9)


def test_residuals_outside_their_interval_are_marked_and_many_points_are_pixels(ax):
    responses = even_responses()
    draw_residuals(responses, ax)
    inside, outside = ax.collections[1:3]
    assert (len(inside.get_offsets()), len(outside.get_offsets())) == (1800, 200)
    assert (np.abs(outside.get_offsets()[:, 1]) > 0.45 - 1e-12).all()
    assert inside.get_rasterized()
    assert outside.get_rasterized()
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((-0.45, 0.45))


def test_intervals_of_responses_move_with_the_prediction(ax):
    mean = np.linspace(0, 10, 200)
    responses = Responses(mean, mean, mean[:, None] + [-1.0, 2.0], 0.9, np.full(200, 0.5))
    draw_observed(responses, ax)
    x, y = ax.collections[0].get_paths()[0].vertices.T
    assert set(np.round(y - x, 6)) == {-1.0, 2.0}
    assert not ax.collections[1].get_rasterized()


@pytest.mark.parametrize("plot", [plot_calibration, plot_pit, plot_residuals, plot_observed])
def test_pictures_of_a_regression_draw_on_the_axes_given_or_the_current_ones(ax, plot):
    fit = small_fits.plain()
    assert plot(fit.model, fit.X, fit.y, ax) is ax
    ax.clear()
    plt.sca(ax)
    assert plot(fit.model, fit.X, fit.y) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert ax.get_legend().get_texts()


@pytest.mark.parametrize("plot", [plot_residuals, plot_observed])
def test_wider_intervals_leave_fewer_rows_outside(ax, plot):
    fit, shares = small_fits.plain(), []
    for coverage in (0.3, 0.99):
        ax.clear()
        plot(fit.model, fit.X, fit.y, ax, coverage=coverage)
        shares.append(len(ax.collections[2].get_offsets()))
    assert shares[0] > shares[1]


def test_bins_of_the_transform_can_be_chosen(ax):
    fit = small_fits.plain()
    plot_pit(fit.model, fit.X, fit.y, ax, n_bins=4)
    assert sum(bar.get_width() == 0.25 for bar in ax.patches if hasattr(bar, "get_width")) == 4


@pytest.mark.parametrize("plot", [plot_calibration, plot_observed])
@pytest.mark.parametrize("fit", [small_fits.two_classes, small_fits.three_classes])
def test_pictures_of_a_classifier(ax, plot, fit):
    model, X, y = fit()
    assert plot(model, X, y, ax) is ax
    assert ax.get_xlim() == (0, 1)


@pytest.mark.parametrize("plot", [plot_pit, plot_residuals])
def test_pictures_of_responses_need_a_regression(ax, plot):
    with pytest.raises(ValueError, match="needs a regression, got HyperplaneProcessClassifier"):
        plot(*small_fits.two_classes(), ax)


def test_labels_need_a_classifier():
    with pytest.raises(ValueError, match="needs a classifier"):
        labels_of(*small_fits.plain())


def test_labels_that_were_not_in_training_are_named():
    model, X, _ = small_fits.two_classes()
    with pytest.raises(ValueError, match=r"not in training: 'new'"):
        labels_of(model, X[:3], ["_low", "new", "_low"])


def test_reliability_compares_shares_with_probabilities():
    rng = np.random.default_rng(0)
    shares = rng.uniform(size=20_000)
    labels = Labels(("a", "b"), (rng.uniform(size=20_000) < shares).astype(int), np.column_stack([1 - shares, shares]))
    found = reliability_of(labels)
    assert found.n_rows.tolist() == 10 * [2000]
    np.testing.assert_allclose(found.predicted, np.arange(0.05, 1, 0.1), atol=0.02)
    inside = (found.interval[:, 0] <= found.predicted) & (found.predicted <= found.interval[:, 1])
    assert inside.all()
    assert (np.diff(found.interval, axis=1) < 0.1).all()
    first = reliability_of(labels, "a")
    np.testing.assert_allclose(first.predicted[::-1], 1 - found.predicted)


def test_intervals_of_shares_are_exact_for_all_groups_together():
    """Clopper and Pearson, with Bonferroni's correction: at either end the binomial tail is that of one group."""
    labels = Labels(("a", "b"), np.repeat([0, 1, 0], [30, 10, 60]), np.column_stack(2 * [np.linspace(0.3, 0.6, 100)]))
    found = reliability_of(labels, n_bins=2)
    counts, tail = np.round(found.share * found.n_rows), (1 - CHANCE) / 4
    assert counts.tolist() == [10, 0]
    assert stats.binom.sf(9, 50, found.interval[0, 0]) == pytest.approx(tail)
    assert stats.binom.cdf(10, 50, found.interval[0, 1]) == pytest.approx(tail)
    assert found.interval[1, 0] == 0
    assert (1 - found.interval[1, 1]) ** 50 == pytest.approx(tail)


def test_shares_of_one_and_zero_are_not_cut(ax):
    plot_calibration(*small_fits.two_classes(), ax)
    assert ax.lines[1].get_ydata().min() == 0
    assert not ax.lines[1].get_clip_on()


def test_bands_of_chance_hold_a_calibrated_model():
    """Rarely left: that is what makes leaving them a reason for the report."""
    rng = np.random.default_rng(0)
    counts = rng.multinomial(400, np.full(20, 1 / 20), size=2000) / 400
    low, high = chance_of_bars(400, 20)
    assert np.mean(np.any((counts < low) | (counts > high), axis=1)) < 0.004
    shares = rng.binomial(400, 0.8, size=20_000) / 400
    low, high = chance_of_shares(400, 0.8)
    assert np.mean((shares < low) | (shares > high)) < 0.002
    assert high - low < 0.14


@given(n_rows=st.integers(1, 60), n_bins=st.integers(1, 30))
def test_reliability_of_few_rows_has_few_bins(n_rows, n_bins):
    labels = Labels(("a", "b", "c"), np.zeros(n_rows, dtype=int), np.full((n_rows, 3), 1 / 3))
    found = reliability_of(labels, "b", n_bins)
    assert found.n_rows.sum() == n_rows
    assert len(found.share) == max(1, min(n_bins, n_rows // FEWEST_IN_BIN))
    assert np.isfinite(found.interval).all()


def test_unknown_class_is_refused(ax):
    with pytest.raises(ValueError, match=r"label must be one of '0', '1', '2', got '7'"):
        plot_calibration(*small_fits.three_classes(), ax, label=7)


def test_calibration_of_one_class_names_it(ax):
    plot_calibration(*small_fits.three_classes(), ax, label=2, n_bins=3)
    assert ax.get_xlabel() == "predicted probability of 2"
    assert len(ax.lines[1].get_xdata()) == 3

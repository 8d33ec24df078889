import builtins
import warnings
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperplanes.estimators import HyperplaneProcessRegressor, Scaler
from hyperplanes.estimators.columns import Columns
from hyperplanes.experiments import simulate
from hyperplanes.inference import Subdomains
from hyperplanes.plotting import (
    Rectangle,
    check_picture_path,
    clip_lines,
    new_figure,
    plot_fit,
    plot_hyperplanes,
    plot_slice,
    plot_surface,
)
from one_shape import SHAPE

RECTANGLE = Rectangle(np.array([-1.0, 2.0]), np.array([3.0, 2.5]))


class FakeModel:
    """Posterior mean x1 + 10 x2 in units that differ by column, and three particles of which one has no weight."""

    posterior_ = SimpleNamespace(
        normals=np.array([[[0.6, 0.8], [1.0, 0.0]], [[0.0, 1.0], [-0.8, 0.6]], [[0.0, -1.0], [0.0, -1.0]]]),
        offsets=np.array([[0.1, 0.5], [0.25, 0.0], [0.75, 0.75]]),
        log_weights=np.log([0.75, 0.25, 1e-300]),
        others=(),
    )
    input_scaler_ = Scaler(np.array([100.0, -3.0]), np.array([20.0, 0.5]))
    input_range_ = np.array([[80.0, -3.5], [120.0, -2.5]])
    n_features_in_ = 2
    columns_ = Columns((), np.zeros(2), np.zeros(2, dtype=bool))
    subdomains_ = Subdomains(np.zeros(0, dtype=int), np.zeros(0), np.zeros((0, 2), dtype=int), np.zeros(0))

    @property
    def parts_(self):
        return (SimpleNamespace(posterior=self.posterior_, input_scaler=self.input_scaler_),) * self.subdomains_.n_parts

    def predict(self, X):
        return X[:, 0] + 10.0 * X[:, 1]

    def predict_interval(self, X, *, coverage, target):
        half = {"response": 3.0, "mean": 1.0}[target] * coverage * (X[:, 0] - 70.0)
        return np.column_stack([self.predict(X) - half, self.predict(X) + half])


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


@given(
    angle=st.floats(0, 2 * np.pi),
    length=st.floats(1e-3, 1e3),
    share=st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 0.99)),
)
def test_clipped_line_lies_on_the_line_and_ends_on_the_border(angle, length, share):
    through = RECTANGLE.low + np.array(share) * (RECTANGLE.high - RECTANGLE.low)
    normal = length * np.array([np.cos(angle), np.sin(angle)])
    (ends,) = clip_lines([normal], [normal @ through], RECTANGLE)
    np.testing.assert_allclose(ends @ normal, normal @ through, rtol=1e-9, atol=1e-9 * length)
    gap = np.minimum(np.abs(ends - RECTANGLE.low), np.abs(ends - RECTANGLE.high)).min(axis=1)
    np.testing.assert_allclose(gap, 0.0, atol=1e-9)
    assert (ends >= RECTANGLE.low - 1e-9).all()
    assert (ends <= RECTANGLE.high + 1e-9).all()


def test_lines_along_the_axes_are_clipped():
    ends = clip_lines([[1.0, 0.0], [0.0, 2.0]], [0.5, 4.5], RECTANGLE)
    np.testing.assert_allclose(np.sort(ends[0], axis=0), [[0.5, 2.0], [0.5, 2.5]])
    np.testing.assert_allclose(np.sort(ends[1], axis=0), [[-1.0, 2.25], [3.0, 2.25]])


def test_lines_that_miss_or_are_no_lines_are_left_out():
    normals = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.0, 0.0], [np.nan, 1.0]]
    assert clip_lines(normals, [3.5, 1.9, 10.0, 1.0, 1.0], RECTANGLE).shape == (0, 2, 2)


def test_lines_of_a_part_end_where_its_box_does(ax):
    whole, model = FakeModel(), FakeModel()
    model.subdomains_ = Subdomains(np.array([0]), np.array([95.0]), np.array([[~0, ~1]]), np.zeros(1))
    for number, chosen in enumerate((whole, model)):
        plot_hyperplanes(chosen, ax, n_sets=4)
        assert len(ax.collections) == number + 1
    of_whole, of_parts = (collection.get_segments() for collection in ax.collections)
    sides = [line[:, 0].min() >= 95 - 1e-9 or line[:, 0].max() <= 95 + 1e-9 for line in of_parts]
    assert all(sides)
    assert len(of_parts) > len(of_whole)  # a line that crosses the border is drawn by either part


@pytest.mark.parametrize("bend", [np.inf, 0.3])
def test_posterior_lines_are_drawn_in_the_units_of_the_user(ax, bend):
    """Straight where inputs are only scaled, and bent where far ones are compressed."""
    model = FakeModel()
    model.input_scaler_ = model.input_scaler_._replace(bend_=bend)
    assert plot_hyperplanes(model, ax, n_sets=40) is ax
    lines = np.array(ax.collections[0].get_segments())
    low, high = model.input_range_
    assert ((lines >= low - 1e-9) & (lines <= high + 1e-9)).all()
    border = np.minimum(np.abs(lines - low), np.abs(lines - high)).min(axis=2)
    np.testing.assert_allclose(border[:, [0, -1]], 0, atol=1e-9)
    normals, offsets = model.posterior_.normals.reshape(-1, 2), model.posterior_.offsets.ravel()
    on_line = np.abs(model.input_scaler_.to_model(lines) @ normals.T - offsets).max(axis=1) < 1e-9
    # 30 of 40 sets are the first particle and 10 the second; the third has no weight.
    np.testing.assert_array_equal(on_line.sum(axis=0), [30, 30, 10, 10, 0, 0])
    slanted = lines[on_line[:, 0]]
    turns = np.diff(np.arctan2(*np.moveaxis(np.diff(slanted / model.input_scaler_.scale_, axis=1), 2, 0)), axis=1)
    assert (np.abs(turns).max() > 1e-3) == np.isfinite(bend)


def test_places_without_a_hyperplane_are_not_drawn(ax):
    model = FakeModel()
    normals = model.posterior_.normals.copy()
    normals[0, 1] = 0
    model.posterior_ = SimpleNamespace(**vars(model.posterior_) | {"normals": normals})
    plot_hyperplanes(model, ax, n_sets=40)
    assert len(ax.collections[0].get_segments()) == 30 + 2 * 10


def test_surface_is_the_prediction_the_right_way_up(ax):
    plot_surface(FakeModel(), ax, n_grid=10)
    (picture,) = ax.images
    assert picture.get_extent() == [80.0, 120.0, -3.5, -2.5]
    assert picture.origin == "lower"
    values = picture.get_array()
    assert values[0, 0] == pytest.approx(82.0 - 34.5)
    assert values[0, 9] == pytest.approx(118.0 - 34.5)
    assert values[9, 0] == pytest.approx(82.0 - 25.5)


def test_uncertainty_is_half_the_interval_of_the_function(ax):
    plot_surface(FakeModel(), ax, n_grid=10, uncertainty=True, coverage=0.5)
    np.testing.assert_allclose(ax.images[0].get_array()[:, 0], 0.5 * 12.0)


def test_bounds_choose_what_is_drawn(ax):
    plot_surface(FakeModel(), ax, n_grid=5, bounds=[(90.0, 95.0), (-3.1, -3.0)])
    assert ax.images[0].get_extent() == [90.0, 95.0, -3.1, -3.0]


def test_slice_shows_mean_bands_truth_and_only_near_data(ax):
    X = np.array([[90.0, -2.8], [95.0, -2.81], [95.0, -3.0]])
    truth = SimpleNamespace(function=lambda points: points[:, 1])
    plot_slice(FakeModel(), ax, column=0, at=-2.8, data=(X, np.array([1.0, 2.0, 3.0])), truth=truth)
    labels = ax.get_legend_handles_labels()[1]
    assert labels == [
        "95% of new responses",
        "95% band of the function",
        "data near the cut",
        "predicted mean",
        "true function",
    ]
    np.testing.assert_array_equal(ax.collections[2].get_offsets(), [[90.0, 1.0], [95.0, 2.0]])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), ax.lines[0].get_xdata() - 28.0)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), -2.8)


def test_slice_along_the_second_input_holds_the_first_in_its_middle(ax):
    plot_slice(FakeModel(), ax, column=1)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 100.0 + 10.0 * ax.lines[0].get_xdata())
    assert ax.get_xlabel() == "x2"


@pytest.mark.parametrize("plot", [plot_hyperplanes, plot_surface, plot_slice])
def test_without_ax_the_current_one_is_used(plot, ax):
    plt.sca(ax)
    assert plot(FakeModel()) is ax


def test_names_of_columns_label_the_axes(ax):
    model = FakeModel()
    model.feature_names_in_ = np.array(["age", "height"], dtype=object)
    plot_surface(model, ax, n_grid=4)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "height")


def test_fit_of_a_real_model_on_named_columns_is_drawn_without_warnings(tmp_path):
    pandas = pytest.importorskip("pandas")
    data = simulate(5, n_rows=150, touching=True)
    X = pandas.DataFrame(data.X, columns=["left", "right"])
    model = HyperplaneProcessRegressor(**SHAPE, random_state=0).fit(X, data.y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = plot_fit(model, X, data.y, truth=data, figure=new_figure())
        figure.savefig(tmp_path / "fit.png")
    assert plt.imread(tmp_path / "fit.png").shape[1] == 1200
    assert len(figure.axes) == 6


def test_fit_without_truth_or_figure_makes_a_pyplot_figure():
    X = np.random.default_rng(0).uniform([80.0, -3.5], [120.0, -2.5], (50, 2))
    figure = plot_fit(FakeModel(), X, X[:, 0])
    assert plt.gcf() is figure
    assert "true function" not in [text.get_text() for text in figure.legends[0].get_texts()]
    plt.close(figure)


def test_models_of_other_than_two_inputs_are_refused(ax):
    model = FakeModel()
    model.n_features_in_ = 3
    with pytest.raises(ValueError, match="model of 2 inputs, both of numbers, got one of 3"):
        plot_surface(model, ax)


def test_inputs_of_text_or_missing_values_are_refused_before_anything_is_read(ax):
    text, missing = FakeModel(), FakeModel()
    text.columns_ = text.columns_._replace(categories=(None, ("a", "b")))
    missing.input_range_ = np.array([[0.0] * 3, [1.0] * 3])
    for model in (text, missing):
        with pytest.raises(ValueError, match="got one with text or missing values"):
            plot_fit(model, [["1", "a"]], ["x"])
        with pytest.raises(ValueError, match="got one with text or missing values"):
            plot_hyperplanes(model, ax)


def test_lines_are_fainter_the_more_there_are(ax):
    """Of however many particles: it is lines that cover the map."""
    few, many = FakeModel(), FakeModel()
    posterior = vars(FakeModel.posterior_)
    repeated = {name: np.repeat(posterior[name], 9, axis=1) for name in ("normals", "offsets")}
    many.posterior_ = SimpleNamespace(**posterior | repeated)
    for model in (few, many):
        plot_hyperplanes(model, ax, n_sets=40)
    first, second = (collection.get_alpha() for collection in ax.collections)
    few_lines, many_lines = (len(collection.get_segments()) for collection in ax.collections)
    assert many_lines == 9 * few_lines
    assert first == pytest.approx(20 / few_lines)
    assert second == pytest.approx(1 / np.sqrt(many_lines))
    assert second < first / 6


def test_hyperplanes_alone_have_names_on_their_axes(ax):
    plot_hyperplanes(FakeModel(), ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x1", "x2")


@pytest.fixture
def model_of_a_constant_input():
    model = FakeModel()
    model.input_scaler_ = Scaler(np.zeros(2), np.array([1.0, np.inf]))
    model.input_range_ = np.array([[-1.0, 0.0], [1.0, 0.0]])
    return model


def test_constant_input_needs_bounds(model_of_a_constant_input, ax):
    with pytest.raises(ValueError, match="constant input needs bounds"):
        plot_surface(model_of_a_constant_input, ax)
    plot_surface(model_of_a_constant_input, ax, bounds=[(-1, 1), (-2, 1)])
    assert ax.images[0].get_extent() == [-1, 1, -2, 1]


def test_lines_do_not_depend_on_a_constant_input(model_of_a_constant_input, ax):
    plot_hyperplanes(model_of_a_constant_input, ax, bounds=[(-1, 1), (-2, 1)], n_sets=40)
    lines = ax.collections[0].get_segments()
    ends = np.array([np.sort(line[[0, -1]], axis=0) for line in lines]).reshape(-1, 4)
    places, counts = np.unique(np.round(ends, 6), axis=0, return_counts=True)
    np.testing.assert_allclose(places, [[0, -2, 0, 1], [1 / 6, -2, 1 / 6, 1], [0.5, -2, 0.5, 1]], atol=1e-5)
    np.testing.assert_array_equal(counts, [10, 30, 30])


@pytest.mark.parametrize(
    ("name", "error"),
    [("demo", ValueError), ("demo.doc", ValueError), ("none/demo.png", FileNotFoundError), ("dir.png", OSError)],
)
def test_pictures_that_could_not_be_written_are_refused_early(tmp_path, name, error):
    (tmp_path / "dir.png").mkdir()
    with pytest.raises(error, match="picture"):
        check_picture_path(tmp_path / name)


def test_missing_matplotlib_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match=r'pip install "hyperplanes\[plot\]"'):
        plot_surface(FakeModel())
    with pytest.raises(ImportError, match=r'pip install "hyperplanes\[plot\]"'):
        new_figure()

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest

import small_fits
from hyperplanes.plotting import importance_of, plot_importance, plot_partial_dependence
from hyperplanes.plotting.curves import curves_of, draw_importance
from hyperplanes.plotting.inputs import columns_of, numbers_of

QUICK = {"n_rows": 12, "n_draws": 20, "n_points": 5}


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


@pytest.mark.parametrize(("column", "value"), [("size", -0.7), ("age", 3.0), ("kind", 1)])
def test_changing_a_column_of_numbers_is_changing_the_column_of_the_table(column, value):
    model, X, _ = small_fits.plain()
    numbers = numbers_of(model, X)
    changed = numbers.column(column).with_value(numbers.rows, value)
    table = X.assign(**{column: "abc"[value] if column == "kind" else value})
    np.testing.assert_array_equal(numbers.model.predict(changed), model.predict(table))


def test_columns_know_their_numbers_and_marks():
    size, age, kind = columns_of(small_fits.plain().model)
    assert (size.numbers, size.mark, size.categories) == ((0,), (5,), None)
    assert (age.numbers, age.mark) == ((1,), ())
    assert (kind.numbers, kind.categories) == ((2, 3, 4), ("a", "b", "c"))


def test_partial_dependence_is_the_average_of_predictions():
    model, X, _ = small_fits.plain()
    curves = curves_of(model, X, "age", n_rows=len(X), n_draws=4000, n_points=4)
    for place, mean, individual in zip(curves.places, curves.mean[:, 0], curves.individual, strict=True):
        expected = model.predict(X.assign(age=place))
        assert mean == pytest.approx(expected.mean(), abs=0.05)
        np.testing.assert_allclose(individual[:, 0], expected, atol=0.2)
    assert (curves.band[:, 0, 0] <= curves.mean[:, 0]).all()
    assert (curves.mean[:, 0] <= curves.band[:, 0, 1]).all()


def test_wider_bands_hold_narrower_ones():
    model, X, _ = small_fits.plain()
    narrow, wide = (curves_of(model, X, "age", coverage=coverage, **QUICK).band for coverage in (0.5, 0.9))
    assert (wide[..., 0] <= narrow[..., 0]).all()
    assert (wide[..., 1] >= narrow[..., 1]).all()


@pytest.mark.parametrize("which", [1, -2, "age"])
def test_columns_are_found_by_position_and_name(ax, which):
    model, X, _ = small_fits.plain()
    assert plot_partial_dependence(model, X, which, ax, n_individual=3, **QUICK) is ax
    assert ax.get_xlabel() == "age"
    assert [line.get_label() for line in ax.lines[:1]] == ["single rows"]
    labels = ax.get_legend_handles_labels()[1]
    assert labels == ["single rows", "95% band", "average prediction"]
    np.testing.assert_allclose(ax.lines[3].get_ydata(), curves_of(model, X, 1, **QUICK).mean[:, 0])


@pytest.mark.parametrize("which", ["agee", 3, -4])
def test_columns_that_are_not_there_are_refused(ax, which):
    model, X, _ = small_fits.plain()
    with pytest.raises(ValueError, match="column must be"):
        plot_partial_dependence(model, X, which, ax, **QUICK)


def test_categories_are_drawn_as_points(ax):
    model, X, _ = small_fits.plain()
    plt.sca(ax)
    plot_partial_dependence(model, X, "kind", n_individual=0, coverage=0.8, **QUICK)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c"]
    assert len(ax.containers) == 1


def test_probabilities_of_classes_add_up_to_one(ax):
    model, X, _ = small_fits.three_classes()
    curves = curves_of(model, X, 0, **QUICK)
    np.testing.assert_allclose(curves.mean.sum(axis=1), 1)
    plot_partial_dependence(model, X, 0, ax, **QUICK)
    assert ax.get_legend_handles_labels()[1] == ["class 0", "class 1", "class 2"]
    ax.clear()
    plot_partial_dependence(model, X, 0, ax, label=2, seed=0, **QUICK)
    np.testing.assert_allclose(ax.lines[12].get_ydata(), curves.mean[:, 2])
    with pytest.raises(ValueError, match="label must be one of"):
        plot_partial_dependence(model, X, 0, ax, label="x", **QUICK)


def test_labels_and_names_are_drawn_letter_by_letter(ax):
    model, X, _ = small_fits.varying()
    plot_partial_dependence(model, X, small_fits.FORMULA, ax, **QUICK)
    ax.figure.canvas.draw()
    assert ax.get_xlabel().replace(r"\$", "$") == small_fits.FORMULA
    model, X, _ = small_fits.two_classes()
    ax.clear()
    plot_partial_dependence(model, X, 0, ax, label="_low", **QUICK)
    assert "class _low" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_importance_finds_what_the_response_depends_on():
    model, X, _ = small_fits.plain()
    found = importance_of(model, X)
    assert found.names[-1] == "size"
    assert [columns_of(model)[k].name for k in found.columns] == list(found.names)
    assert (np.diff(found.mean) <= 0).all()
    assert ((found.interval[:, 0] <= found.mean) & (found.mean <= found.interval[:, 1])).all()
    again = importance_of(model, X)
    np.testing.assert_array_equal(again.mean, found.mean)


def test_a_column_without_variation_has_no_importance():
    model, X, _ = small_fits.plain()
    found = importance_of(model, X.assign(age=4.0), n_rows=30, n_draws=10, coverage=0.5)
    assert found.mean[found.names.index("age")] == 0
    assert found.mean[found.names.index("kind")] > 0


def test_importance_of_classes_is_probability_that_moves(ax):
    model, X, _ = small_fits.three_classes()
    found = importance_of(model, X)
    assert found.names[0] == "x1"
    assert (found.mean <= 1).all()
    assert plot_importance(model, X, ax, n_shown=1, n_rows=20, n_draws=10, coverage=0.8, seed=3) is ax
    assert len(ax.patches) == 1
    assert ax.get_xlabel() == "probability moved"


def test_names_and_large_numbers_leave_each_other_room(tmp_path):
    model, X, _ = small_fits.plain()
    found = importance_of(model, X, n_rows=20, n_draws=10)
    figure, ax = plt.subplots(figsize=(4, 3.2), layout="constrained")
    large = found._replace(names=("a name that is rather long", "b", "c"), mean=1e4 * found.mean)
    draw_importance(large._replace(interval=1e4 * found.interval), ax)
    figure.savefig(tmp_path / "small.png")
    shown = [label for label in ax.get_xticklabels() if label.get_position()[0] <= ax.get_xlim()[1]]
    boxes = [label.get_window_extent() for label in shown]
    assert len(boxes) >= 2
    assert all(first.x1 < second.x0 for first, second in pairwise(boxes))
    assert any("," in label.get_text() for label in shown)
    plt.close(figure)


def test_marks_of_deciles_are_above_the_axis(ax):
    model, X, _ = small_fits.plain()
    plot_partial_dependence(model, X, "age", ax, n_individual=0, **QUICK)
    marks = ax.lines[-1]
    assert marks.get_marker() == "|"
    ax.figure.canvas.draw()
    height = marks.get_transform().transform((0, marks.get_ydata()[0]))[1] - ax.bbox.y0
    assert height > 0.5 * marks.get_markersize() * ax.figure.dpi / 72


def test_importance_of_a_regression_is_drawn_largest_first(ax):
    model, X, _ = small_fits.plain()
    plt.sca(ax)
    plot_importance(model, X)
    found = importance_of(model, X)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(found.names)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], found.mean)
    assert ax.get_ylim()[0] > ax.get_ylim()[1]

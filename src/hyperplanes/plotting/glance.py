"""A fit of two inputs at a glance: the data, the hyperplanes found, the doubt left and a cut through it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hyperplanes.plotting.canvas import FIGURE_STYLE, plain, pyplot
from hyperplanes.plotting.geometry import Floats, Rectangle, Slice, cell_centres, clip_lines
from hyperplanes.plotting.inputs import Model
from hyperplanes.plotting.maps import plot_hyperplanes, plot_slice, plot_surface
from hyperplanes.plotting.plane import (
    TRUTH_COLOR,
    UNCERTAINTY_LABEL,
    Output,
    Truth,
    add_lines,
    input_names,
    label_square,
    mean_at,
    output_of,
    rectangle_of,
    require_plane,
    value_map,
)


class Frame(NamedTuple):
    """What the panels of one picture share."""

    rectangle: Rectangle
    """The part of the plane that is drawn."""
    colors: Mapping[str, Any]
    """Ends of the scale of y, as matplotlib's `vmin` and `vmax`."""
    cut: Slice
    """The cut through the surface."""
    truth: Truth | None
    """The known answer, if there is one."""
    output: Output
    """What is predicted."""

    @property
    def bounds(self) -> Floats:
        """Smallest and largest value of each input, (2, 2)."""
        return np.column_stack(self.rectangle)


def plot_fit(
    model: Model, X: ArrayLike, y: ArrayLike, *, label: Any = None, truth: Truth | None = None, figure: Any = None
) -> Any:
    """Draw a fit of two inputs at a glance: the data, the hyperplanes found, the doubt left and a cut through it.

    Of a classifier: the probability of a class.

    Parameters
    ----------
    model : fitted estimator with two inputs
    X, y : array-like
        The data fitted, (n_rows, 2) and (n_rows,).
    label : class, optional
        Of a classifier: the class whose probability is drawn. By default the second of two; several need it.
    truth : object with `normals`, `offsets` and `function(X)`, optional
        The known answer of simulated data.
    figure : matplotlib Figure, optional
        An empty one to draw on; a new one of pyplot's by default.

    Returns
    -------
    matplotlib Figure
    """
    require_plane(model)
    output = output_of(model, label)
    X, values = np.asarray(X, dtype=np.float64), output.values(model, y)
    frame = _frame(model, X, values, output, truth)
    figure = pyplot().figure(**FIGURE_STYLE) if figure is None else figure
    axes = figure.subplot_mosaic([["data", "fit", "doubt"], ["cut", "cut", "cut"]], height_ratios=[1.0, 0.75])
    _draw_data(axes["data"], model, X, values, frame)
    _draw_found(axes["fit"], model, frame)
    _draw_doubt(axes["doubt"], model, frame)
    _draw_cut(axes["cut"], model, X, y, frame)
    _add_colour_bars(figure, axes, output)
    return figure


def _add_colour_bars(figure: Any, axes: Mapping[str, Any], output: Output) -> None:
    bars: dict[str, Any] = {"location": "bottom", "pad": 0.02}
    values, doubt = axes["fit"].images[-1], axes["doubt"].images[-1]
    figure.colorbar(values, ax=[axes["data"], axes["fit"]], label=output.name, extend=output.extend, aspect=40, **bars)
    bar = figure.colorbar(doubt, ax=axes["doubt"], label=UNCERTAINTY_LABEL, aspect=20, **bars)
    bar.ax.locator_params(axis="x", nbins=5)


def _draw_data(ax: Any, model: Model, X: Floats, y: Floats, frame: Frame) -> None:
    ax.scatter(*X.T, c=y, s=7, linewidths=0, cmap=value_map(), rasterized=True, **frame.colors)
    label_square(ax, model, frame.rectangle)
    _draw_truth(ax, frame, linewidth=2.4)
    of_class = f"{y.sum():,.0f} of {len(y):,} rows are\n{plain(frame.output.label)} (yellow)"
    what = f"{len(y):,} noisy rows" if frame.output.number is None else of_class
    ax.set_title(f"The data: {what}" + ("\nred: lines where the truth bends" if frame.truth else ""))


def _draw_found(ax: Any, model: Model, frame: Frame) -> None:
    plot_surface(model, ax, label=frame.output.label, bounds=frame.bounds, **frame.colors)
    plot_hyperplanes(model, ax, bounds=frame.bounds)
    _draw_truth(ax, frame, linewidth=1.2, linestyle=(0, (4, 4)))
    what = "mean" if frame.output.number is None else "probability"
    ax.set_title(f"The fit: predicted {what} and\nposterior lines where it bends (black)")


def _draw_doubt(ax: Any, model: Model, frame: Frame) -> None:
    plot_surface(model, ax, uncertainty=True, label=frame.output.label, bounds=frame.bounds)
    (ax.axhline if frame.cut.column == 0 else ax.axvline)(frame.cut.at, color="black", linewidth=1.2, linestyle=":")
    what = "function" if frame.output.number is None else "probability"
    ax.set_title(f"The doubt: half-width of the\n95% band of the {what}")


def _draw_cut(ax: Any, model: Model, X: Floats, y: ArrayLike, frame: Frame) -> None:
    cut = frame.cut
    shown = {"truth": frame.truth, "bounds": frame.bounds, "label": frame.output.label}
    plot_slice(model, ax, column=cut.column, at=cut.at, data=(X, y), **shown)
    other = input_names(model)[1 - cut.column]
    ax.set_title(f"A cut through the surface along the dotted line, {other} = {cut.at:.2f}")
    ax.figure.legend(*ax.get_legend_handles_labels(), ncols=5, frameon=False, loc="outside lower center")


def _draw_truth(ax: Any, frame: Frame, **style: Any) -> None:
    if frame.truth is not None:
        settings = {"color": TRUTH_COLOR, "zorder": 4, **style}
        lines = clip_lines(frame.truth.normals, frame.truth.offsets, frame.rectangle)
        add_lines(ax, lines, frame.rectangle, settings)


def _frame(model: Model, X: Floats, y: Floats, output: Output, truth: Truth | None) -> Frame:
    rectangle = rectangle_of(model, np.column_stack([X.min(axis=0), X.max(axis=0)]))
    low, high = np.quantile(y, [0.005, 0.995]) if output.number is None else (0.0, 1.0)
    cut = _telling_slice(model, rectangle, output)
    return Frame(rectangle, {"vmin": float(low), "vmax": float(high)}, cut, truth, output)


def _telling_slice(model: Model, rectangle: Rectangle, output: Output, n_grid: int = 61) -> Slice:
    """Return the axis-parallel cut along which the prediction bends most, away from the edges."""
    surface = mean_at(model, cell_centres(rectangle, n_grid), output).reshape(n_grid, n_grid)
    inner = slice(n_grid // 10, n_grid - n_grid // 10)
    bends = [np.abs(np.diff(rows, 2)).sum(axis=1)[inner] for rows in (surface, surface.T)]
    column = int(np.argmax([bend.max() for bend in bends]))
    share = (inner.start + int(np.argmax(bends[column])) + 0.5) / n_grid
    other = 1 - column
    return Slice(column, float(rectangle.low[other] + share * (rectangle.high[other] - rectangle.low[other])))

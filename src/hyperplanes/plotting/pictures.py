"""Pictures of a fitted model with two inputs, in the user's units.

Every function draws on the `ax` it is given, or on pyplot's current one, and returns it. matplotlib is imported on
first use: `pip install "hyperplanes[plot]"`.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from hyperplanes.estimators import HyperplaneProcessClassifier, Part
from hyperplanes.estimators.draws import positions
from hyperplanes.model.prediction import Functions
from hyperplanes.plotting.canvas import MAIN, SOFT, axes, plain, pyplot
from hyperplanes.plotting.checks import class_numbers
from hyperplanes.plotting.geometry import Floats, Rectangle, Slice, cell_centres, clip_lines
from hyperplanes.plotting.inputs import Model

VALUE_MAP = ("viridis", 0.3, 1.0)
"""Colours of responses and predictions: perceptually even and safe for colour-blind readers. The dark end is left
out so that dark lines stay visible everywhere."""
UNCERTAINTY_MAP = "YlOrBr"
"""Colours of widths, which must not be mistaken for values."""
UNCERTAINTY_LABEL = "± around the predicted mean"
N_POINTS = 33
"""Of the line that a hyperplane is drawn as."""
HYPERPLANE_COLOR = "black"
TRUTH_COLOR = "#d7191c"
FUNCTION_BAND_COLOR = MAIN
RESPONSE_BAND_COLOR = SOFT


class Truth(Protocol):
    """A known answer, in the user's units."""

    @property
    def normals(self) -> Floats:
        """Normals of the true hyperplanes, (n_hyperplanes, 2)."""

    @property
    def offsets(self) -> Floats:
        """Offsets of the true hyperplanes, (n_hyperplanes,)."""

    def function(self, X: Floats) -> Floats:
        """Return the true function, (n_rows,)."""


class Output(NamedTuple):
    """What a picture shows of a model: the response, or the probability of a class."""

    name: str
    """For the axes."""
    label: Any = None
    """The class, if it is one."""
    number: int | None = None
    """Its position among the classes."""

    @property
    def extend(self) -> str:
        """At which ends a colour bar has values beyond it, as matplotlib says it."""
        return "both" if self.number is None else "neither"

    def values(self, model: Model, y: ArrayLike) -> Floats:
        """Responses as numbers: 1 for the class and 0 for others, where it is one."""
        if self.number is None:
            return np.asarray(y, dtype=np.float64)
        labels: Any = getattr(model, "classes_", None)
        return np.asarray(positions(labels, np.asarray(y)) == self.number, dtype=np.float64)


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


def plot_hyperplanes(
    model: Model,
    ax: Any = None,
    *,
    n_sets: int = 200,
    bounds: ArrayLike | None = None,
    **style: Any,
) -> Any:
    """Draw posterior hyperplanes as translucent lines: the darker the bundle, the surer the place.

    Parameters
    ----------
    model : fitted estimator with two inputs
    ax : matplotlib Axes, optional
        The current one by default.
    n_sets : int
        How many particles to draw, taken evenly from the weighted posterior.
    bounds : array-like, (2, 2), optional
        Smallest and largest value to draw of each input. By default those of the data fitted.
    **style
        Further settings of matplotlib's LineCollection.

    Returns
    -------
    matplotlib Axes
    """
    rectangle = _rectangle(model, bounds)
    lines = _posterior_lines(model, n_sets, rectangle)
    settings = {"color": HYPERPLANE_COLOR, "alpha": _line_opacity(len(lines)), "linewidth": 0.6, "zorder": 3, **style}
    return _label_square(_add_lines(axes(ax), lines, rectangle, settings), model, rectangle)


def plot_surface(
    model: Model,
    ax: Any = None,
    *,
    uncertainty: bool = False,
    label: Any = None,
    coverage: float = 0.95,
    n_grid: int = 80,
    bounds: ArrayLike | None = None,
    **style: Any,
) -> Any:
    """Draw the predicted mean function of two inputs, or how uncertain it is, as a coloured map.

    Of a classifier: the predicted probability of a class, or how uncertain that is.

    Parameters
    ----------
    model : fitted estimator with two inputs
    ax : matplotlib Axes, optional
        The current one by default. The picture drawn is `ax.images[-1]`, for a colour bar.
    uncertainty : bool
        Draw the half-width of the function's interval, the "plus or minus", in place of the mean.
    label : class, optional
        Of a classifier: the class whose probability is drawn. By default the second of two; several need it.
    coverage : float
        Of that interval.
    n_grid : int
        Cells per input.
    bounds : array-like, (2, 2), optional
        Smallest and largest value to draw of each input. By default those of the data fitted.
    **style
        Further settings of `ax.imshow`.

    Returns
    -------
    matplotlib Axes
    """
    rectangle = _rectangle(model, bounds)
    cells = cell_centres(rectangle, n_grid)
    settings: dict[str, Any] = {"cmap": UNCERTAINTY_MAP if uncertainty else _value_map()}
    output = _output_of(model, label)
    values = _half_width(_interval(model, cells, coverage, output)) if uncertainty else _mean(model, cells, output)
    if uncertainty:
        settings |= {"vmin": 0.0}
    elif output.number is not None:
        settings |= {"vmin": 0.0, "vmax": 1.0}
    ax = axes(ax)
    picture = values.reshape(n_grid, n_grid)
    settings = {"interpolation": "bilinear", "aspect": "auto", **settings, **style}
    ax.imshow(picture, origin="lower", extent=rectangle.extent, **settings)
    return _label_square(ax, model, rectangle)


def plot_slice(
    model: Model,
    ax: Any = None,
    *,
    column: int = 0,
    at: float | None = None,
    label: Any = None,
    data: tuple[ArrayLike, ArrayLike] | None = None,
    truth: Truth | None = None,
    coverage: float = 0.95,
    bounds: ArrayLike | None = None,
    n_points: int = 200,
) -> Any:
    """Draw a cut through the surface with the intervals of the function and of a new response.

    Of a classifier: the probability of a class with its interval.

    Parameters
    ----------
    model : fitted estimator with two inputs
    ax : matplotlib Axes, optional
        The current one by default.
    column : int
        The input along which to cut.
    at : float, optional
        The value of the other input. Its middle by default.
    label : class, optional
        Of a classifier: the class whose probability is drawn. By default the second of two; several need it.
    data : (X, y), optional
        Rows to show where they lie within a fortieth of the range of the cut. Those of a class are at 1, others at 0.
    truth : object with `function(X)`, optional
        The true function, or probability, drawn as a line.
    coverage : float
        Of the intervals.
    bounds : array-like, (2, 2), optional
        Smallest and largest value to draw of each input. By default those of the data fitted.
    n_points : int
        Points along the cut.

    Returns
    -------
    matplotlib Axes
    """
    rectangle = _rectangle(model, bounds)
    middle = float((rectangle.low[1 - column] + rectangle.high[1 - column]) / 2.0)
    cut = Slice(column, middle if at is None else at)
    ax = axes(ax)
    points = cut.points(rectangle, n_points)
    place = points[:, column]
    output = _output_of(model, label)
    for band, color, name in _bands(model, points, coverage, output):
        ax.fill_between(place, *band.T, color=color, alpha=0.55, linewidth=0, label=name)
    if data is not None:
        _scatter_near(ax, cut, rectangle, np.asarray(data[0], dtype=np.float64), output.values(model, data[1]))
    ax.plot(place, _mean(model, points, output), color=FUNCTION_BAND_COLOR, linewidth=1.6, label="predicted mean")
    if truth is not None:
        ax.plot(place, truth.function(points), color=TRUTH_COLOR, linewidth=1.4, linestyle="--", label="true function")
    ax.set_xlim(place[0], place[-1])
    ax.set_xlabel(_input_names(model)[column])
    ax.set_ylabel(output.name)
    return ax


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
    _require_plane(model)
    output = _output_of(model, label)
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


FIGURE_STYLE: Mapping[str, Any] = {"figsize": (10.0, 7.4), "dpi": 120, "layout": "constrained"}
"""Size of the picture of a fit: 1200 pixels wide."""


def new_figure() -> Any:
    """Return an empty figure that pyplot does not know of, to draw on and save without a window."""
    pyplot()
    from matplotlib.figure import Figure

    return Figure(**FIGURE_STYLE)


def check_picture_path(path: Path) -> None:
    """Raise an error now if a picture could not be written to `path` later, after a long fit."""
    formats = sorted(new_figure().canvas.get_supported_filetypes())
    if path.suffix.lower().lstrip(".") not in formats:
        raise ValueError(f"the picture's name must end in one of .{', .'.join(formats)}, got {str(path)!r}")
    if path.is_dir():
        raise IsADirectoryError(f"the picture must be a file, got the folder {str(path)!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder of the picture does not exist: {str(path.parent)!r}")


def _draw_data(ax: Any, model: Model, X: Floats, y: Floats, frame: Frame) -> None:
    ax.scatter(*X.T, c=y, s=7, linewidths=0, cmap=_value_map(), rasterized=True, **frame.colors)
    _label_square(ax, model, frame.rectangle)
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
    other = _input_names(model)[1 - cut.column]
    ax.set_title(f"A cut through the surface along the dotted line, {other} = {cut.at:.2f}")
    ax.figure.legend(*ax.get_legend_handles_labels(), ncols=5, frameon=False, loc="outside lower center")


def _draw_truth(ax: Any, frame: Frame, **style: Any) -> None:
    if frame.truth is not None:
        settings = {"color": TRUTH_COLOR, "zorder": 4, **style}
        lines = clip_lines(frame.truth.normals, frame.truth.offsets, frame.rectangle)
        _add_lines(ax, lines, frame.rectangle, settings)


def _frame(model: Model, X: Floats, y: Floats, output: Output, truth: Truth | None) -> Frame:
    rectangle = _rectangle(model, np.column_stack([X.min(axis=0), X.max(axis=0)]))
    low, high = np.quantile(y, [0.005, 0.995]) if output.number is None else (0.0, 1.0)
    cut = _telling_slice(model, rectangle, output)
    return Frame(rectangle, {"vmin": float(low), "vmax": float(high)}, cut, truth, output)


def _telling_slice(model: Model, rectangle: Rectangle, output: Output, n_grid: int = 61) -> Slice:
    """Return the axis-parallel cut along which the prediction bends most, away from the edges."""
    surface = _mean(model, cell_centres(rectangle, n_grid), output).reshape(n_grid, n_grid)
    inner = slice(n_grid // 10, n_grid - n_grid // 10)
    bends = [np.abs(np.diff(rows, 2)).sum(axis=1)[inner] for rows in (surface, surface.T)]
    column = int(np.argmax([bend.max() for bend in bends]))
    share = (inner.start + int(np.argmax(bends[column])) + 0.5) / n_grid
    other = 1 - column
    return Slice(column, float(rectangle.low[other] + share * (rectangle.high[other] - rectangle.low[other])))


def _output_of(model: Model, label: Any) -> Output:
    if not isinstance(model, HyperplaneProcessClassifier):
        return Output("y")
    chosen = class_numbers(tuple(map(str, model.classes_)), label)
    if len(chosen) > 1:
        raise ValueError("this picture is of one class: say which with label")
    found = model.classes_[chosen[0]]
    return Output(f"probability of {plain(found)}", found, chosen[0])


def _half_width(interval: Floats) -> Floats:
    return np.asarray((interval[:, 1] - interval[:, 0]) / 2.0)


def _mean(model: Model, points: Floats, output: Output) -> Floats:
    with _nameless():
        if isinstance(model, HyperplaneProcessClassifier):
            return np.asarray(model.predict_proba(points)[:, output.number])
        return np.asarray(model.predict(points))


def _interval(model: Model, points: Floats, coverage: float, output: Output, target: str = "mean") -> Floats:
    with _nameless():
        if isinstance(model, HyperplaneProcessClassifier):
            return np.asarray(model.predict_interval(points, coverage=coverage)[:, output.number])
        return np.asarray(model.predict_interval(points, coverage=coverage, target=target))


def _bands(model: Model, points: Floats, coverage: float, output: Output) -> Iterator[tuple[Floats, str, str]]:
    """Intervals (n, 2) along a cut, the widest first, with their colours and names."""
    percent = f"{100 * coverage:g}%"
    if output.number is None:
        found = _interval(model, points, coverage, output, "response")
        yield found, RESPONSE_BAND_COLOR, f"{percent} of new responses"
    what = "function" if output.number is None else "probability"
    yield _interval(model, points, coverage, output), FUNCTION_BAND_COLOR, f"{percent} band of the {what}"


@contextmanager
def _nameless() -> Iterator[None]:
    """Let a model that was fitted on named columns predict on a plain grid without scikit-learn's warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def _posterior_lines(model: Model, n_sets: int, rectangle: Rectangle) -> Floats:
    """Return the hyperplanes of evenly weighted particles as lines (k, N_POINTS, 2) in the user's units.

    They are straight in the model's units, and bent where it compresses outlying inputs. Those of a part end where its
    box does.
    """
    boxes = [Rectangle(*box) for box in model.subdomains_.boxes(rectangle.low, rectangle.high)]
    seen = [_part_lines(part, n_sets, box) for part, box in zip(model.parts_, boxes, strict=True) if not box.is_empty]
    return np.concatenate(seen)


def _part_lines(part: Part, n_sets: int, box: Rectangle) -> Floats:
    """Of all networks of the posterior, where there are several classes."""
    posterior, scaler = part.posterior, part.input_scaler
    networks: tuple[Functions, ...] = (posterior, *posterior.others)
    total = np.cumsum(np.exp(np.asarray(posterior.log_weights)))
    chosen = np.searchsorted(total, (np.arange(n_sets) + 0.5) / n_sets * total[-1])
    normals = np.concatenate([np.asarray(each.normals)[chosen].reshape(-1, 2) for each in networks])
    offsets = np.concatenate([np.asarray(each.offsets)[chosen].ravel() for each in networks])
    constant = np.isinf(scaler.scale_)  # an input without effect, drawn as it is
    low, high = (np.where(constant, corner, scaler.to_model(corner)) for corner in box)
    ends = clip_lines(np.where(constant, 0.0, normals), offsets, Rectangle(low, high))
    points = ends[:, :1] + np.linspace(0, 1, N_POINTS)[:, None] * (ends[:, 1:] - ends[:, :1])
    return np.where(constant, points, scaler.to_user(points))


def _add_lines(ax: Any, lines: Floats, rectangle: Rectangle, settings: Mapping[str, Any]) -> Any:
    pyplot()
    from matplotlib.collections import LineCollection

    ax.add_collection(LineCollection(list(lines), **settings), autolim=False)
    ax.set(xlim=rectangle.extent[:2], ylim=rectangle.extent[2:])
    return ax


def _line_opacity(n_lines: int) -> float:
    """The fainter the more lines there are, of however many particles: what lies behind them stays visible."""
    number = max(n_lines, 1)
    return float(min(max(20.0 / number, number**-0.5), 1.0))


def _scatter_near(ax: Any, cut: Slice, rectangle: Rectangle, X: Floats, y: Floats) -> None:
    other = 1 - cut.column
    reach = (rectangle.high[other] - rectangle.low[other]) / 40.0
    near = np.abs(X[:, other] - cut.at) <= reach
    ax.scatter(X[near, cut.column], y[near], s=9, color="0.35", linewidths=0, label="data near the cut")


def is_of_the_plane(model: Model) -> bool:
    """Whether a model has two inputs, both of numbers that are never missing."""
    return bool(model.n_features_in_ == 2 and model.input_range_.shape[1] == 2 and not model.columns_.categories)


def _require_plane(model: Model) -> None:
    if not is_of_the_plane(model):
        found = f"one of {model.n_features_in_}" if model.n_features_in_ != 2 else "one with text or missing values"
        raise ValueError(f"this picture needs a model of 2 inputs, both of numbers, got {found}")


def _rectangle(model: Model, bounds: ArrayLike | None) -> Rectangle:
    _require_plane(model)
    fitted = model.input_range_.T
    limits = fitted if bounds is None else np.asarray(bounds, dtype=float)
    if limits.shape != (2, 2) or not np.isfinite(limits).all() or (limits[:, 0] >= limits[:, 1]).any():
        raise ValueError(
            "bounds must be a finite (low, high) of each of 2 inputs with low < high, "
            f"got {limits.tolist()}: a constant input needs bounds of its own"
        )
    return Rectangle(*limits.T)


def _input_names(model: Model) -> Sequence[str]:
    return [plain(name) for name in getattr(model, "feature_names_in_", ("x1", "x2"))]


def _label_square(ax: Any, model: Model, rectangle: Rectangle) -> Any:
    first, second = _input_names(model)
    ax.set(xlim=rectangle.extent[:2], ylim=rectangle.extent[2:], xlabel=first, ylabel=second, box_aspect=1.0)
    ax.locator_params(nbins=5)
    return ax


def _value_map() -> Any:
    maps = pyplot()
    from matplotlib.colors import ListedColormap

    name, low, high = VALUE_MAP
    return ListedColormap(maps.get_cmap(name)(np.linspace(low, high, 256)))

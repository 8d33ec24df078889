"""Maps of a fitted model with two inputs, and cuts through them, in the user's units.

Every function draws on the `ax` it is given, or on pyplot's current one, and returns it. matplotlib is imported on
first use: `pip install "hyperplanes[plot]"`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hyperplanes.estimators import Part
from hyperplanes.model.prediction import Functions
from hyperplanes.plotting.canvas import MAIN, SOFT, axes
from hyperplanes.plotting.geometry import Floats, Rectangle, Slice, cell_centres, clip_lines
from hyperplanes.plotting.inputs import Model
from hyperplanes.plotting.plane import (
    TRUTH_COLOR,
    UNCERTAINTY_MAP,
    Output,
    Truth,
    add_lines,
    input_names,
    interval_at,
    label_square,
    mean_at,
    output_of,
    rectangle_of,
    value_map,
)

N_POINTS = 33
"""Of the line that a hyperplane is drawn as."""

HYPERPLANE_COLOR = "black"

FUNCTION_BAND_COLOR = MAIN

RESPONSE_BAND_COLOR = SOFT


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
    rectangle = rectangle_of(model, bounds)
    lines = _posterior_lines(model, n_sets, rectangle)
    settings = {"color": HYPERPLANE_COLOR, "alpha": _line_opacity(len(lines)), "linewidth": 0.6, "zorder": 3, **style}
    return label_square(add_lines(axes(ax), lines, rectangle, settings), model, rectangle)


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
    rectangle = rectangle_of(model, bounds)
    cells = cell_centres(rectangle, n_grid)
    settings: dict[str, Any] = {"cmap": UNCERTAINTY_MAP if uncertainty else value_map()}
    output = output_of(model, label)
    values = _half_width(interval_at(model, cells, coverage, output)) if uncertainty else mean_at(model, cells, output)
    if uncertainty:
        settings |= {"vmin": 0.0}
    elif output.number is not None:
        settings |= {"vmin": 0.0, "vmax": 1.0}
    ax = axes(ax)
    picture = values.reshape(n_grid, n_grid)
    settings = {"interpolation": "bilinear", "aspect": "auto", **settings, **style}
    ax.imshow(picture, origin="lower", extent=rectangle.extent, **settings)
    return label_square(ax, model, rectangle)


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
    rectangle = rectangle_of(model, bounds)
    middle = float((rectangle.low[1 - column] + rectangle.high[1 - column]) / 2.0)
    cut = Slice(column, middle if at is None else at)
    ax = axes(ax)
    points = cut.points(rectangle, n_points)
    place = points[:, column]
    output = output_of(model, label)
    for band, color, name in _bands(model, points, coverage, output):
        ax.fill_between(place, *band.T, color=color, alpha=0.55, linewidth=0, label=name)
    if data is not None:
        _scatter_near(ax, cut, rectangle, np.asarray(data[0], dtype=np.float64), output.values(model, data[1]))
    ax.plot(place, mean_at(model, points, output), color=FUNCTION_BAND_COLOR, linewidth=1.6, label="predicted mean")
    if truth is not None:
        ax.plot(place, truth.function(points), color=TRUTH_COLOR, linewidth=1.4, linestyle="--", label="true function")
    ax.set_xlim(place[0], place[-1])
    ax.set_xlabel(input_names(model)[column])
    ax.set_ylabel(output.name)
    return ax


def _half_width(interval: Floats) -> Floats:
    return np.asarray((interval[:, 1] - interval[:, 0]) / 2.0)


def _bands(model: Model, points: Floats, coverage: float, output: Output) -> Iterator[tuple[Floats, str, str]]:
    """Intervals (n, 2) along a cut, the widest first, with their colours and names."""
    percent = f"{100 * coverage:g}%"
    if output.number is None:
        found = interval_at(model, points, coverage, output, "response")
        yield found, RESPONSE_BAND_COLOR, f"{percent} of new responses"
    what = "function" if output.number is None else "probability"
    yield interval_at(model, points, coverage, output), FUNCTION_BAND_COLOR, f"{percent} band of the {what}"


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


def _line_opacity(n_lines: int) -> float:
    """The fainter the more lines there are, of however many particles: what lies behind them stays visible."""
    number = max(n_lines, 1)
    return float(min(max(20.0 / number, number**-0.5), 1.0))


def _scatter_near(ax: Any, cut: Slice, rectangle: Rectangle, X: Floats, y: Floats) -> None:
    other = 1 - cut.column
    reach = (rectangle.high[other] - rectangle.low[other]) / 40.0
    near = np.abs(X[:, other] - cut.at) <= reach
    ax.scatter(X[near, cut.column], y[near], s=9, color="0.35", linewidths=0, label="data near the cut")

"""Predictions against what was observed: residuals, calibration, and the probability integral transform."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.utils.validation import check_consistent_length, column_or_1d

from hyperplanes.estimators import HyperplaneProcessClassifier, HyperplaneProcessRegressor
from hyperplanes.estimators.draws import positions
from hyperplanes.estimators.scaling import Floats
from hyperplanes.plotting.canvas import ACCENT, MAIN, MANY_POINTS, MUTED, SOFT, axes, legend_above, plain, point_size
from hyperplanes.plotting.inputs import Model

LEVELS = np.linspace(0.02, 0.98, 49)
"""Probabilities of the intervals whose coverage is drawn."""
CHANCE = 0.999
"""Of the bands in which a calibrated model would be. It is near 1 so that leaving a band means something: the report
judges by the same bands."""
N_BINS = 10
FEWEST_IN_BIN = 20


class Responses(NamedTuple):
    """What a regression says of rows whose responses are known."""

    observed: Floats
    """(n,)."""
    mean: Floats
    """(n,) predicted."""
    interval: Floats
    """(n, 2) of a new response."""
    coverage: float
    """Of that interval."""
    transform: Floats
    """(n,) probability that a new response is at most the observed one."""

    @property
    def outside(self) -> NDArray[np.bool_]:
        """(n,) whether the response is outside its interval."""
        return np.asarray((self.observed < self.interval[:, 0]) | (self.observed > self.interval[:, 1]))

    def covered(self, level: float) -> float:
        """Share of responses inside their central interval of any probability."""
        return float(np.mean(np.abs(2 * self.transform - 1) <= level))


class Labels(NamedTuple):
    """What a classifier says of rows whose labels are known."""

    classes: tuple[str, ...]
    """Names of the classes."""
    observed: NDArray[np.intp]
    """(n,) numbers of the classes."""
    probabilities: Floats
    """(n, n_classes)."""


class Reliability(NamedTuple):
    """Predicted probabilities in bins of about as many rows."""

    predicted: Floats
    """(n_bins,) mean of each bin."""
    share: Floats
    """(n_bins,) share of its rows that are of the class."""
    interval: Floats
    """(n_bins, 2) of that share; those of all bins hold together with a probability of at least `CHANCE`."""
    n_rows: NDArray[np.intp]
    """(n_bins,)."""


def responses_of(model: HyperplaneProcessRegressor, X: Any, y: Any, coverage: float = 0.95) -> Responses:
    """Compute what pictures of a regression's predictions need."""
    _require(model, HyperplaneProcessRegressor, "regression")
    observed = np.asarray(column_or_1d(y), dtype=np.float64)
    transform = model.cumulative_probability(X, observed)
    return Responses(observed, model.predict(X), model.predict_interval(X, coverage), coverage, transform)


def labels_of(model: HyperplaneProcessClassifier, X: Any, y: Any) -> Labels:
    """Compute what pictures of a classifier's predictions need."""
    _require(model, HyperplaneProcessClassifier, "classifier")
    labels = column_or_1d(y)
    check_consistent_length(X, labels)
    numbers = positions(model.classes_, labels)
    return Labels(tuple(map(str, model.classes_)), numbers, model.predict_proba(X))


def reliability_of(labels: Labels, label: Any = None, n_bins: int = N_BINS) -> Reliability:
    """Compute what `plot_calibration` draws for a classifier."""
    outputs = class_numbers(labels.classes, label)
    predicted = labels.probabilities[:, outputs].ravel()
    hits = (labels.observed[:, None] == np.array(outputs)).ravel()
    n_bins = max(1, min(n_bins, len(predicted) // FEWEST_IN_BIN))
    bins = np.array_split(np.argsort(predicted, kind="stable"), n_bins)
    counts, sizes = np.array([hits[rows].sum() for rows in bins]), np.array([len(rows) for rows in bins])
    tail = (1 - CHANCE) / (2 * n_bins)
    low, high = stats.beta.ppf(tail, counts, sizes - counts + 1), stats.beta.isf(tail, counts + 1, sizes - counts)
    interval = np.column_stack([np.where(counts == 0, 0.0, low), np.where(counts == sizes, 1.0, high)])
    mean = np.array([predicted[rows].mean() for rows in bins])
    return Reliability(mean, counts / sizes, interval, sizes)


def chance_of_shares(n_rows: int, level: Any) -> tuple[Any, Any]:
    """Between which shares of rows that many are, by chance alone, where each is with this probability."""
    low, high = stats.binom.interval(CHANCE, n_rows, level)
    return low / n_rows, high / n_rows


def chance_of_bars(n_rows: int, n_bins: int) -> tuple[float, float]:
    """Between which shares of rows all bars of a histogram of even numbers are, by chance alone."""
    low, high = stats.binom.interval(1 - (1 - CHANCE) / n_bins, n_rows, 1 / n_bins)
    return float(low / n_rows), float(high / n_rows)


def class_numbers(classes: tuple[str, ...], label: Any = None) -> list[int]:
    """Positions of a class, or by default of the second of two and of all of several."""
    if label is None:
        return [1] if len(classes) == 2 else list(range(len(classes)))
    if str(label) not in classes:
        raise ValueError(f"label must be one of {', '.join(map(repr, classes))}, got {str(label)!r}")
    return [classes.index(str(label))]


def plot_calibration(model: Model, X: Any, y: Any, ax: Any = None, *, label: Any = None, n_bins: int = N_BINS) -> Any:
    """Draw whether probabilities mean what they say.

    Of a regression: the share of responses inside central intervals against the probability of these. Of a classifier:
    the share of rows of a class against its predicted probability.

    Parameters
    ----------
    model : fitted estimator
    X, y : array-like
        Rows, best held out, and their responses or labels.
    ax : matplotlib Axes, optional
        The current one by default.
    label : class, optional
        Of a classifier: the class that is drawn. By default the second of two, and all of several together.
    n_bins : int
        Of the predicted probabilities of a classifier.

    Returns
    -------
    matplotlib Axes
    """
    if isinstance(model, HyperplaneProcessClassifier):
        return draw_reliability(labels_of(model, X, y), ax, label=label, n_bins=n_bins)
    return draw_coverage(responses_of(model, X, y), ax)


def plot_pit(model: HyperplaneProcessRegressor, X: Any, y: Any, ax: Any = None, *, n_bins: int = 20) -> Any:
    """Draw the probability integral transform of a regression: flat where predictive distributions are right.

    Parameters
    ----------
    model : fitted regressor
    X, y : array-like
        Rows, best held out, and their responses.
    ax : matplotlib Axes, optional
        The current one by default.
    n_bins : int
        Of the histogram.

    Returns
    -------
    matplotlib Axes
    """
    return draw_pit(responses_of(model, X, y), ax, n_bins=n_bins)


def plot_residuals(model: HyperplaneProcessRegressor, X: Any, y: Any, ax: Any = None, *, coverage: float = 0.95) -> Any:
    """Draw what is left of the responses against the predictions, with the intervals of new responses.

    Parameters
    ----------
    model : fitted regressor
    X, y : array-like
        Rows and their responses.
    ax : matplotlib Axes, optional
        The current one by default.
    coverage : float
        Of the intervals. Rows outside their own are marked; the band shows the typical one at each prediction.

    Returns
    -------
    matplotlib Axes
    """
    return draw_residuals(responses_of(model, X, y, coverage), ax)


def plot_observed(model: Model, X: Any, y: Any, ax: Any = None, *, coverage: float = 0.95) -> Any:
    """Draw responses against predictions; of a classifier the predicted probabilities of the class of each row.

    Parameters
    ----------
    model : fitted estimator
    X, y : array-like
        Rows and their responses or labels.
    ax : matplotlib Axes, optional
        The current one by default.
    coverage : float
        Of the intervals of a regression.

    Returns
    -------
    matplotlib Axes
    """
    if isinstance(model, HyperplaneProcessClassifier):
        return draw_separation(labels_of(model, X, y), ax)
    return draw_observed(responses_of(model, X, y, coverage), ax)


def draw_coverage(responses: Responses, ax: Any = None) -> Any:
    """Draw the coverage of central intervals of predictions that were made before."""
    ax = axes(ax)
    n_rows = len(responses.observed)
    low, high = chance_of_shares(n_rows, LEVELS)
    ax.fill_between(LEVELS, low, high, color=SOFT, alpha=0.8, linewidth=0, label="by chance alone")
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle="--", label="calibrated")
    ax.plot(LEVELS, [responses.covered(level) for level in LEVELS], color=MAIN, linewidth=2, label="this fit")
    return _finish_square(ax, "probability of the interval", "share of rows inside")


def draw_reliability(labels: Labels, ax: Any = None, *, label: Any = None, n_bins: int = N_BINS) -> Any:
    """Draw the reliability of predictions that were made before."""
    ax = axes(ax)
    found = reliability_of(labels, label, n_bins)
    outputs = class_numbers(labels.classes, label)
    ends = np.abs(found.interval.T - found.share)
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle="--", label="calibrated")
    drawn = ax.errorbar(
        found.predicted,
        found.share,
        yerr=ends,
        fmt="o-",
        color=MAIN,
        markersize=5,
        linewidth=1.4,
        capsize=3,
        label="this fit",
    )
    for artist in drawn.get_children():
        artist.set_clip_on(False)  # shares of 0 and 1 are on the border
    what = f"of {plain(labels.classes[outputs[0]])}" if len(outputs) == 1 else "of a class"
    return _finish_square(ax, f"predicted probability {what}", "share of rows of that class")


def draw_pit(responses: Responses, ax: Any = None, *, n_bins: int = 20) -> Any:
    """Draw the probability integral transform of predictions that were made before."""
    ax = axes(ax)
    n_rows = len(responses.observed)
    expected = n_rows / n_bins
    low, high = chance_of_bars(n_rows, n_bins)
    ax.axhspan(low * n_bins, high * n_bins, color=SOFT, alpha=0.8, linewidth=0, label="by chance alone")
    shares, edges = np.histogram(responses.transform, bins=n_bins, range=(0, 1))
    ax.bar(
        edges[:-1],
        shares / expected,
        width=1 / n_bins,
        align="edge",
        color=MAIN,
        alpha=0.75,
        linewidth=0.5,
        edgecolor=SOFT,
        label="this fit",
    )
    ax.axhline(1, color=MUTED, linewidth=1, linestyle="--")
    ax.set(xlim=(0, 1), xlabel="predictive probability of less than the response", ylabel="relative frequency")
    legend_above(ax)
    return ax


def draw_residuals(responses: Responses, ax: Any = None) -> Any:
    """Draw the residuals of predictions that were made before."""
    ax = axes(ax)
    _draw_band(ax, responses, around=0.0)
    ax.axhline(0, color=MUTED, linewidth=1, linestyle="--")
    _scatter_in_and_out(ax, responses, responses.mean, responses.observed - responses.mean)
    ax.set(xlabel="prediction", ylabel="response minus prediction")
    ax.locator_params(axis="x", nbins=6)
    legend_above(ax)
    return ax


def draw_observed(responses: Responses, ax: Any = None) -> Any:
    """Draw responses against predictions that were made before."""
    ax = axes(ax)
    _draw_band(ax, responses, around=1.0)
    _scatter_in_and_out(ax, responses, responses.mean, responses.observed)
    ends = [responses.mean.min(), responses.mean.max()]
    ax.plot(ends, ends, color=MUTED, linewidth=1, linestyle="--")
    ax.set(xlabel="prediction", ylabel="response")
    ax.locator_params(axis="x", nbins=6)
    legend_above(ax)
    return ax


def draw_separation(labels: Labels, ax: Any = None) -> Any:
    """Draw how probable a classifier held the class that each row is of."""
    ax = axes(ax)
    own = labels.probabilities[np.arange(len(labels.observed)), labels.observed]
    right = np.argmax(labels.probabilities, axis=1) == labels.observed
    settings = {"bins": 20, "range": (0, 1), "stacked": True, "alpha": 0.85}
    ax.hist([own[right], own[~right]], color=[MAIN, ACCENT], label=["most probable", "another was"], **settings)
    ax.set(xlim=(0, 1), xlabel="predicted probability of the row's own class", ylabel="rows")
    legend_above(ax)
    return ax


def _scatter_in_and_out(ax: Any, responses: Responses, x: Floats, y: Floats) -> None:
    outside = responses.outside
    style = {"s": point_size(len(x)), "rasterized": len(x) > MANY_POINTS, "linewidths": 0}
    alpha = 0.65 if len(x) <= 500 else 0.4
    ax.scatter(x[~outside], y[~outside], color=MAIN, alpha=alpha, label="inside", **style)
    ax.scatter(x[outside], y[outside], color=ACCENT, alpha=0.9, label=f"outside ({np.mean(outside):.1%})", **style)


def _draw_band(ax: Any, responses: Responses, *, around: float) -> None:
    """Medians of intervals over neighbouring predictions, around so many times the prediction."""
    at, ends = responses.mean, responses.interval - responses.mean[:, None]
    order = np.argsort(at, kind="stable")
    bins = np.array_split(order, max(1, min(25, len(order) // FEWEST_IN_BIN)))
    place = np.array([at[order[0]], *(np.median(at[rows]) for rows in bins), at[order[-1]]])
    low, high = (np.pad([np.median(ends[rows, k]) for rows in bins], 1, mode="edge") + around * place for k in (0, 1))
    label = f"{100 * responses.coverage:g}% interval"
    ax.fill_between(place, low, high, color=SOFT, alpha=0.8, linewidth=0, label=label)


def _finish_square(ax: Any, xlabel: str, ylabel: str) -> Any:
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel=xlabel, ylabel=ylabel)
    legend_above(ax)
    return ax


def _require(model: Model, kind: type, name: str) -> None:
    if not isinstance(model, kind):
        raise ValueError(f"this picture needs a {name}, got {type(model).__name__}")

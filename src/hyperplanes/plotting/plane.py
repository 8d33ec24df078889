"""What pictures of models with two inputs share: the rectangle, what is predicted there, and how it is shown."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from hyperplanes.estimators import HyperplaneProcessClassifier
from hyperplanes.estimators.draws import positions
from hyperplanes.plotting.canvas import plain, pyplot
from hyperplanes.plotting.checks import class_numbers
from hyperplanes.plotting.geometry import Floats, Rectangle
from hyperplanes.plotting.inputs import Model

VALUE_MAP = ("viridis", 0.3, 1.0)
"""Colours of responses and predictions: perceptually even and safe for colour-blind readers. The dark end is left
out so that dark lines stay visible everywhere."""

UNCERTAINTY_MAP = "YlOrBr"
"""Colours of widths, which must not be mistaken for values."""

UNCERTAINTY_LABEL = "± around the predicted mean"

TRUTH_COLOR = "#d7191c"


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


def output_of(model: Model, label: Any) -> Output:
    """What to show: the response, or the probability of a class, the second of two where none is named."""
    if not isinstance(model, HyperplaneProcessClassifier):
        return Output("y")
    chosen = class_numbers(tuple(map(str, model.classes_)), label)
    if len(chosen) > 1:
        raise ValueError("this picture is of one class: say which with label")
    found = model.classes_[chosen[0]]
    return Output(f"probability of {plain(found)}", found, chosen[0])


def mean_at(model: Model, points: Floats, output: Output) -> Floats:
    """Predicted mean, or probability, at points (n, 2)."""
    with _nameless():
        if isinstance(model, HyperplaneProcessClassifier):
            return np.asarray(model.predict_proba(points)[:, output.number])
        return np.asarray(model.predict(points))


def interval_at(model: Model, points: Floats, coverage: float, output: Output, target: str = "mean") -> Floats:
    """Its interval, or that of new responses, (n, 2)."""
    with _nameless():
        if isinstance(model, HyperplaneProcessClassifier):
            return np.asarray(model.predict_interval(points, coverage=coverage)[:, output.number])
        return np.asarray(model.predict_interval(points, coverage=coverage, target=target))


@contextmanager
def _nameless() -> Iterator[None]:
    """Let a model that was fitted on named columns predict on a plain grid without scikit-learn's warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def is_of_the_plane(model: Model) -> bool:
    """Whether a model has two inputs, both of numbers that are never missing."""
    return bool(model.n_features_in_ == 2 and model.input_range_.shape[1] == 2 and not model.columns_.categories)


def require_plane(model: Model) -> None:
    """Raise an error unless `is_of_the_plane`."""
    if not is_of_the_plane(model):
        found = f"one of {model.n_features_in_}" if model.n_features_in_ != 2 else "one with text or missing values"
        raise ValueError(f"this picture needs a model of 2 inputs, both of numbers, got {found}")


def rectangle_of(model: Model, bounds: ArrayLike | None) -> Rectangle:
    """The bounds, checked; by default those of the rows that were fitted."""
    require_plane(model)
    fitted = model.input_range_.T
    limits = fitted if bounds is None else np.asarray(bounds, dtype=float)
    if limits.shape != (2, 2) or not np.isfinite(limits).all() or (limits[:, 0] >= limits[:, 1]).any():
        raise ValueError(
            "bounds must be a finite (low, high) of each of 2 inputs with low < high, "
            f"got {limits.tolist()}: a constant input needs bounds of its own"
        )
    return Rectangle(*limits.T)


def input_names(model: Model) -> Sequence[str]:
    """Names of both inputs."""
    return [plain(name) for name in getattr(model, "feature_names_in_", ("x1", "x2"))]


def label_square(ax: Any, model: Model, rectangle: Rectangle) -> Any:
    """Make axes a square that shows a rectangle, with the names of the inputs."""
    first, second = input_names(model)
    ax.set(xlim=rectangle.extent[:2], ylim=rectangle.extent[2:], xlabel=first, ylabel=second, box_aspect=1.0)
    ax.locator_params(nbins=5)
    return ax


def add_lines(ax: Any, lines: Floats, rectangle: Rectangle, settings: Mapping[str, Any]) -> Any:
    """Draw lines (k, n_points, 2) within a rectangle."""
    pyplot()
    from matplotlib.collections import LineCollection

    ax.add_collection(LineCollection(list(lines), **settings), autolim=False)
    ax.set(xlim=rectangle.extent[:2], ylim=rectangle.extent[2:])
    return ax


def value_map() -> Any:
    """Colours of `VALUE_MAP`."""
    maps = pyplot()
    from matplotlib.colors import ListedColormap

    name, low, high = VALUE_MAP
    return ListedColormap(maps.get_cmap(name)(np.linspace(low, high, 256)))

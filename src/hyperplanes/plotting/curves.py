"""How predictions depend on one input: partial dependence, individual curves, and what a column is worth."""

from typing import Any, NamedTuple

import numpy as np

from hyperplanes.estimators.numerals import readable
from hyperplanes.estimators.scaling import Floats
from hyperplanes.estimators.settings import tails
from hyperplanes.plotting.canvas import MAIN, MUTED, SERIES, SOFT, axes, legend_above, plain
from hyperplanes.plotting.checks import class_numbers
from hyperplanes.plotting.inputs import Column, Model, numbers_of

N_ROWS, N_DRAWS, N_POINTS = 100, 200, 25
FEWEST_BARS = 5
"""For which there is room; fewer are no thicker."""
EDGE = 0.01
"""Share of rows at either end of a column where no curve is drawn."""


class Curves(NamedTuple):
    """Predictions while one column varies and the others keep the values of some rows."""

    column: Column
    """The column that varies."""
    places: Floats
    """(n_places,) its values, or the positions of its categories."""
    labels: tuple[str, ...]
    """Of the outputs: classes, or one empty text for a regression."""
    mean: Floats
    """(n_places, n_outputs) posterior mean of the average over rows: the partial dependence."""
    band: Floats
    """(n_places, n_outputs, 2) both ends of its interval."""
    individual: Floats
    """(n_places, n_rows, n_outputs) posterior mean for each row."""
    deciles: Floats
    """Of the column, where it holds numbers."""


class Importance(NamedTuple):
    """How much predictions change when a column is shuffled among rows, the most important column first."""

    names: tuple[str, ...]
    """Of the columns."""
    columns: tuple[int, ...]
    """Their positions in the table."""
    mean: Floats
    """(n_columns,) posterior mean: root mean square change of a prediction; of classes, the mean probability moved."""
    interval: Floats
    """(n_columns, 2) both ends of its interval."""


def curves_of(
    model: Model,
    X: Any,
    column: int | str,
    *,
    coverage: float = 0.95,
    n_rows: int = N_ROWS,
    n_draws: int = N_DRAWS,
    n_points: int = N_POINTS,
    seed: int = 0,
) -> Curves:
    """Compute what `plot_partial_dependence` draws."""
    numbers = numbers_of(model, X)
    chosen, rows = numbers.column(column), numbers.some_rows(n_rows, seed)
    places, deciles = _places(chosen, numbers.rows, n_points)
    changed = np.concatenate([chosen.with_value(rows, place) for place in places])
    draws = numbers.draws(changed, n_draws, seed).reshape(len(places), len(rows), n_draws, -1)
    averages = draws.mean(axis=1)
    band = np.moveaxis(np.quantile(averages, tails(coverage), axis=1), 0, -1)
    labels = tuple(str(label) for label in getattr(model, "classes_", ("",)))
    return Curves(chosen, places, labels, averages.mean(axis=1), band, draws.mean(axis=2), deciles)


def importance_of(
    model: Model, X: Any, *, coverage: float = 0.95, n_rows: int = 200, n_draws: int = 100, seed: int = 0
) -> Importance:
    """Shuffle each column among some rows, and see how much predictions change.

    Parameters
    ----------
    model : fitted estimator
    X : array-like or data frame
        Rows like those it was fitted to.
    coverage : float
        Of the intervals.
    n_rows, n_draws : int
        Rows, and draws of the function, to use.
    seed : int
        Of their choice and of the shuffling.

    Returns
    -------
    Importance
        Of each column of `X`.
    """
    numbers = numbers_of(model, X)
    rows = numbers.some_rows(n_rows, seed)
    shuffled = _shifted(rows, np.random.default_rng(seed))
    tables = [rows]
    for column in numbers.columns:
        tables.append(rows.copy())
        tables[-1][:, column.all_numbers] = shuffled[:, column.all_numbers]
    draws = numbers.draws(np.concatenate(tables), n_draws, seed).reshape(len(tables), len(rows), n_draws, -1)
    changes = _change(draws[1:], draws[:1])
    order = np.argsort(-changes.mean(axis=1), kind="stable")
    names = tuple(numbers.columns[k].name for k in order)
    positions = tuple(int(k) for k in order)
    return Importance(
        names, positions, changes.mean(axis=1)[order], np.quantile(changes, tails(coverage), axis=1).T[order]
    )


def plot_partial_dependence(
    model: Model,
    X: Any,
    column: int | str,
    ax: Any = None,
    *,
    label: Any = None,
    coverage: float = 0.95,
    n_individual: int = 30,
    n_rows: int = N_ROWS,
    n_draws: int = N_DRAWS,
    n_points: int = N_POINTS,
    seed: int = 0,
) -> Any:
    """Draw how the prediction depends on one input, averaged over rows, with the posterior band of that average.

    Parameters
    ----------
    model : fitted estimator
    X : array-like or data frame
        Rows to average over, such as those it was fitted to.
    column : int or str
        Position or name of the input.
    ax : matplotlib Axes, optional
        The current one by default.
    label : class, optional
        Of a classifier: the class whose probability is drawn. By default the second of two, and all of several.
    coverage : float
        Of the band.
    n_individual : int
        Rows whose own curves are drawn behind, where one output is drawn.
    n_rows, n_draws, n_points : int
        Rows to average over, draws of the function and points along the input.
    seed : int
        Of the choice of rows and draws.

    Returns
    -------
    matplotlib Axes
    """
    effort = {"n_rows": n_rows, "n_draws": n_draws, "n_points": n_points, "seed": seed}
    curves = curves_of(model, X, column, coverage=coverage, **effort)
    return draw_curves(curves, ax, label=label, coverage=coverage, n_individual=n_individual)


def plot_importance(
    model: Model,
    X: Any,
    ax: Any = None,
    *,
    coverage: float = 0.95,
    n_shown: int = 12,
    n_rows: int = 200,
    n_draws: int = 100,
    seed: int = 0,
) -> Any:
    """Draw how much predictions change when each column is shuffled among rows.

    Parameters
    ----------
    model, X, coverage, n_rows, n_draws, seed
        As of `importance_of`.
    ax : matplotlib Axes, optional
        The current one by default.
    n_shown : int
        Most columns to show, the most important ones.

    Returns
    -------
    matplotlib Axes
    """
    found = importance_of(model, X, coverage=coverage, n_rows=n_rows, n_draws=n_draws, seed=seed)
    return draw_importance(found, ax, n_shown=n_shown, of_classes=hasattr(model, "classes_"))


def draw_curves(
    curves: Curves, ax: Any = None, *, label: Any = None, coverage: float = 0.95, n_individual: int = 30
) -> Any:
    """Draw curves that were computed before."""
    ax = axes(ax)
    shown = class_numbers(curves.labels, label)
    for color, output in zip(SERIES * len(shown), shown, strict=False):
        name = f"class {plain(curves.labels[output])}" if curves.labels[output] else "average prediction"
        if len(shown) == 1:
            _draw_individual(ax, curves, output, n_individual)
        _draw_average(ax, curves, output, color, name, f"{100 * coverage:g}% band")
    _label_places(ax, curves)
    ax.set_ylabel("prediction" if curves.labels == ("",) else "probability")
    if curves.labels != ("",):
        ax.set_ylim(-0.02, 1.02)
    legend_above(ax)
    return ax


def draw_importance(found: Importance, ax: Any = None, *, n_shown: int = 12, of_classes: bool = False) -> Any:
    """Draw importance that was computed before."""
    ax = axes(ax)
    n_shown = min(n_shown, len(found.names))
    places, mean = np.arange(n_shown), found.mean[:n_shown]
    spread = np.abs(found.interval[:n_shown].T - mean)
    ax.barh(places, mean, height=0.62, color=MAIN, alpha=0.85)
    ax.errorbar(mean, places, xerr=spread, fmt="none", ecolor=MUTED, elinewidth=1.4, capsize=3)
    ax.set_yticks(places, [plain(name) for name in found.names[:n_shown]])
    ax.set_ylim(max(n_shown, FEWEST_BARS) - 0.4, -0.6)
    ax.set_xlim(left=0)
    ax.locator_params(axis="x", nbins=4)  # long names leave little room
    ax.xaxis.set_major_formatter(lambda value, _: readable(value))
    ax.set_xlabel("probability moved" if of_classes else "change of the prediction")
    return ax


def _places(column: Column, rows: Floats, n_points: int) -> tuple[Floats, Floats]:
    if column.categories is not None:
        return np.arange(len(column.categories), dtype=np.float64), np.zeros(0)
    present = rows[np.all(rows[:, list(column.mark)] == 0, axis=1)] if column.mark else rows
    values = (present if len(present) else rows)[:, column.numbers[0]]
    low, high = np.quantile(values, [EDGE, 1 - EDGE])
    distinct = np.unique(values)
    places = distinct if len(distinct) <= n_points else np.linspace(low, high, n_points)
    return places, np.quantile(values, np.linspace(0.1, 0.9, 9))


def _shifted(rows: Floats, rng: np.random.Generator) -> Floats:
    """Each row another one: a shuffling that leaves none in its place."""
    order = rng.permutation(len(rows))
    changed = np.empty_like(rows)
    changed[order] = rows[np.roll(order, 1)]
    return changed


def _change(changed: Floats, before: Floats) -> Floats:
    """Size of a change for each table and draw: (n_tables, n_draws)."""
    gaps = changed - before
    if gaps.shape[-1] > 1:
        return np.asarray(0.5 * np.abs(gaps).sum(axis=-1).mean(axis=1))
    largest = max(float(np.abs(gaps).max()), np.finfo(np.float64).tiny)
    return np.asarray(largest * np.sqrt(np.mean((gaps[..., 0] / largest) ** 2, axis=1)))


def _draw_individual(ax: Any, curves: Curves, output: int, n_individual: int) -> None:
    several = curves.individual[:, :n_individual, output]
    style = {"color": MUTED, "linewidth": 0.6, "alpha": 0.35, "zorder": 1}
    if several.shape[1]:
        lines = ax.plot(curves.places, several, **style)
        lines[0].set_label("single rows")


def _draw_average(ax: Any, curves: Curves, output: int, color: str, name: str, band: str) -> None:
    low, high = curves.band[:, output].T
    mean = curves.mean[:, output]
    if curves.column.categories is None:
        shade, alpha = (SOFT, 0.8) if len(curves.labels) <= 2 else (color, 0.2)
        band_label = {"label": band} if len(curves.labels) <= 2 else {}
        ax.fill_between(curves.places, low, high, color=shade, alpha=alpha, linewidth=0, zorder=2, **band_label)
        ax.plot(curves.places, mean, color=color, linewidth=1.8, label=name, zorder=3)
    else:
        ends = np.abs(np.stack([low, high]) - mean)
        ax.errorbar(curves.places, mean, yerr=ends, fmt="o", color=color, capsize=4, markersize=5, label=name, zorder=3)


def _label_places(ax: Any, curves: Curves) -> None:
    column = curves.column
    ax.set_xlabel(plain(column.name))
    if column.categories is None:
        ax.locator_params(axis="x", nbins=6)
        ax.plot(
            curves.deciles,
            np.full(len(curves.deciles), 0.03),  # above the axis: its ticks are below
            "|",
            color=MUTED,
            markersize=6,
            transform=ax.get_xaxis_transform(),
            zorder=4,
        )
        return
    many = len(column.categories) > 5
    names = [plain(text, 12) for text in column.categories]
    ax.set_xticks(curves.places, names, rotation=45 if many else 0, ha="right" if many else "center")
    ax.margins(x=0.1)

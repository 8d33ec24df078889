"""Pictures of the report: drawings in the page itself, in colours of the page, with words for those who cannot see."""

import re
import warnings
from collections.abc import Callable, Iterator
from html import escape
from io import StringIO
from typing import Any, NamedTuple

import numpy as np

from hyperplanes.estimators.numerals import readable
from hyperplanes.plotting import (
    Importance,
    plot_annealing,
    plot_hyperplanes,
    plot_number,
    plot_prior_and_posterior,
    plot_surface,
    unknowns_of,
)
from hyperplanes.plotting.canvas import INK, MUTED, SERIES, SOFT, plain, pyplot
from hyperplanes.plotting.checks import (
    Labels,
    Responses,
    draw_coverage,
    draw_observed,
    draw_pit,
    draw_reliability,
    draw_residuals,
    draw_separation,
    reliability_of,
)
from hyperplanes.plotting.curves import Curves, draw_curves, draw_importance
from hyperplanes.plotting.inference import UNKNOWNS, prior_and_posterior
from hyperplanes.plotting.inputs import Model, column_names
from hyperplanes.plotting.plane import UNCERTAINTY_LABEL

SIZE = (4.5, 3.2)
"""Inches: small, so that letters stay readable on a phone."""
COLORS = {INK: "ink", MUTED: "muted", SOFT: "soft"} | {color: f"series{k}" for k, color in enumerate(SERIES)}
"""Colours of pictures, and what they are called in the style of the page, which has others for the dark."""
STYLE = {
    "svg.fonttype": "none",
    "font.size": 10.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.dpi": 150,
    "axes.formatter.useoffset": False,
}


class Figure(NamedTuple):
    """A picture for the page."""

    title: str
    """A heading."""
    svg: str
    """The drawing."""
    alt: str
    """What it shows, in words."""
    caption: str
    """How to read it."""


def render(draw: Callable[[Any], Any], *, salt: str) -> str:
    """Draw on new axes and return the drawing as SVG for a page of HTML."""
    matplotlib = pyplot().matplotlib
    from matplotlib.figure import Figure as Canvas

    written = StringIO()
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": salt}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Canvas(figsize=SIZE, layout="constrained")
        draw(figure.subplots())
        figure.savefig(written, format="svg")
    return _for_the_page(written.getvalue())


def predictions(checked: Responses | Labels) -> Iterator[Figure]:
    """Predictions against what was observed."""
    return _of_responses(checked) if isinstance(checked, Responses) else _of_labels(checked)


def importance(found: Importance, *, of_classes: bool) -> Figure:
    """Which inputs matter."""
    shown = zip(found.names[:5], found.mean, strict=False)
    words = "; ".join(f"{name} {readable(mean, 3)}" for name, mean in shown)
    return Figure(
        "Importance of inputs",
        render(lambda ax: draw_importance(found, ax, of_classes=of_classes), salt="importance"),
        f"Bars of how much predictions change when a column is shuffled among rows, largest first: {words}.",
        "How much predictions change when a column is shuffled among rows; whiskers are 95% posterior intervals. "
        "Columns that tell the same share their importance.",
    )


def dependence(curves: Curves) -> Figure:
    """How predictions depend on an input."""
    column, output = curves.column, 1 if len(curves.labels) == 2 else 0
    mean = curves.mean[:, output]
    low, high = int(np.argmin(mean)), int(np.argmax(mean))
    places = [readable(curves.places[k], 3) if column.categories is None else column.categories[k] for k in (low, high)]
    what = f"the probability of {curves.labels[output]}" if curves.labels[output] else "the average prediction"
    return Figure(
        f"Dependence on {column.name}",
        render(lambda ax: draw_curves(curves, ax), salt=f"dependence {column.numbers}"),
        f"As {column.name} varies, {what} is lowest, {readable(mean[low], 3)}, at {places[0]} and highest, "
        f"{readable(mean[high], 3)}, at {places[1]}.",
        "The prediction while this input varies and all others stay as they are, averaged over rows."
        + (" Marks at the bottom are deciles of the data." if column.categories is None else ""),
    )


def surfaces(model: Model) -> Iterator[Figure]:
    """What a model of two inputs predicts, where it bends and how sure it is."""
    names = " and ".join(column_names(model))
    for label in _classes_to_show(model):
        which = "prediction" if label is None else f"probability of {label}"
        chosen = {} if label is None else {"label": label}

        def draw(ax: Any, chosen: dict[str, Any] = chosen, which: str = which) -> None:
            plot_hyperplanes(model, plot_surface(model, ax, n_grid=60, **chosen), n_sets=100, rasterized=True)
            ax.figure.colorbar(ax.images[-1], ax=ax, label=plain(which))

        def draw_doubt(ax: Any, chosen: dict[str, Any] = chosen) -> None:
            plot_surface(model, ax, uncertainty=True, n_grid=60, **chosen)
            ax.figure.colorbar(ax.images[-1], ax=ax, label=UNCERTAINTY_LABEL)

        yield Figure(
            f"Map of the {which}",
            render(draw, salt=f"map {which}"),
            f"Coloured map of the {which} over {names}, with posterior hyperplanes as thin black lines.",
            "Colours are predictions; black lines are where the function may bend, the darker the surer.",
        )
        yield Figure(
            f"Uncertainty of the {which}",
            render(draw_doubt, salt=f"doubt {which}"),
            f"Coloured map over {names} of half the width of the 95% interval of the {which}.",
            "Plus or minus: half the width of the 95% interval, without noise. Dark regions have few rows, or bends "
            "whose place is uncertain.",
        )


def fit_itself(model: Model) -> Iterator[Figure]:
    """How the fit came about."""
    number = model.n_hyperplanes_
    yield Figure(
        "Number of hyperplanes",
        render(lambda ax: plot_number(model, ax), salt="number"),
        f"Posterior probabilities of the number of hyperplanes: mean {readable(number.mean, 3)}, 95% from "
        f"{number.low} to {number.high}.",
        "Hidden units that the data support. Those beyond which there is no row do not count.",
    )
    trace = model.parts_[0].posterior.trace
    of_part = "" if len(model.parts_) == 1 else f" Of the first of {len(model.parts_)} parts."
    yield Figure(
        "The way from prior to posterior",
        render(lambda ax: plot_annealing(model, ax), salt="annealing"),
        f"Annealing in {len(trace.exponent)} steps: the exponent rises to 1 while, at the end, "
        f"{trace.acceptance[-1]:.0%} of proposals are accepted and {trace.n_ancestors[-1]:.0f} first particles have "
        "descendants.",
        "Healthy runs keep about half of the particles effective and go on accepting proposals to the end." + of_part,
    )
    for unknown in unknowns_of(model):
        draws = prior_and_posterior(model, unknown)
        before, after = np.median(draws.prior), np.average(draws.posterior, weights=draws.weights)

        def draw(ax: Any, unknown: str = unknown) -> None:
            plot_prior_and_posterior(model, unknown, ax)

        yield Figure(
            f"Prior and posterior: {UNKNOWNS[unknown]}",
            render(draw, salt=f"prior {unknown}"),
            f"Densities of the {UNKNOWNS[unknown]}: prior median {readable(before, 3)}, posterior mean "
            f"{readable(after, 3)}.",
            "What the data added: where both curves agree, the data say little." + of_part,
        )


def _of_responses(responses: Responses) -> Iterator[Figure]:
    share, n_rows = responses.covered(responses.coverage), len(responses.observed)
    percent = f"{responses.coverage:.0%}"
    correlation = _correlation(responses.observed, responses.mean)
    yield Figure(
        "Responses against predictions",
        render(lambda ax: draw_observed(responses, ax), salt="observed"),
        f"Scatter of {n_rows:,} responses against predictions, correlation {correlation:.2f}; {share:.1%} are inside "
        f"their {percent} interval.",
        "Points should lie around the dashed line, most of them in the band.",
    )
    residuals = responses.observed - responses.mean
    yield Figure(
        "What predictions leave over",
        render(lambda ax: draw_residuals(responses, ax), salt="residuals"),
        f"Scatter of responses minus predictions against predictions: mean {readable(residuals.mean(), 3)}, from "
        f"{readable(residuals.min(), 3)} to {readable(residuals.max(), 3)}.",
        "No trend, and a band as wide as the points, is what a good fit looks like.",
    )
    levels = ", ".join(f"{level:.0%} intervals hold {responses.covered(level):.0%}" for level in (0.5, 0.8, 0.95))
    yield Figure(
        "Do intervals hold what they promise?",
        render(lambda ax: draw_coverage(responses, ax), salt="coverage"),
        f"Share of rows inside central intervals against their probability: {levels}.",
        "Below the dashed line intervals are too narrow, above it too wide. A calibrated model leaves the band, at a "
        "given probability, in 1 of 1000 cases.",
    )
    ends = np.mean(responses.transform < 0.05) + np.mean(responses.transform > 0.95)
    yield Figure(
        "Shape of the predictive distribution",
        render(lambda ax: draw_pit(responses, ax), salt="pit"),
        f"Histogram of the probability integral transform; {ends:.1%} of rows are in its outermost tenth, where 10% "
        "are expected.",
        "Flat is right. A hump means that predictions are too cautious, a bowl too bold, a slope that they are biased. "
        "Bars of a calibrated model leave the band in 1 of 1000 cases.",
    )


def _of_labels(labels: Labels) -> Iterator[Figure]:
    found = reliability_of(labels)
    pairs = ", ".join(
        f"{predicted:.2f} predicted and {share:.2f} observed"
        for predicted, share in zip(found.predicted[[0, -1]], found.share[[0, -1]], strict=True)
    )
    yield Figure(
        "Do probabilities hold what they promise?",
        render(lambda ax: draw_reliability(labels, ax), salt="reliability"),
        f"Share of rows of a class against its predicted probability in {len(found.share)} groups; first and last: "
        f"{pairs}.",
        "Whiskers should reach the dashed line; of a calibrated model one of them fails to in 1 of 1000 cases.",
    )
    right = float(np.mean(np.argmax(labels.probabilities, axis=1) == labels.observed))
    yield Figure(
        "How sure it is of the right class",
        render(lambda ax: draw_separation(labels, ax), salt="separation"),
        f"Histogram of the predicted probability of each row's own class; {right:.1%} of rows have their own class as "
        "the most probable one.",
        "Rows far to the right are certain and right, those far to the left certain and wrong.",
    )


def _correlation(first: Any, second: Any) -> float:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first / np.abs(first).max(), second / np.abs(second).max())[0, 1])


def _classes_to_show(model: Model) -> list[Any]:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return [None]
    return [classes[1]] if len(classes) == 2 else list(classes[:4])


def _for_the_page(svg: str) -> str:
    """A drawing without what belongs to a file of its own, in colours that the page chooses."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r'(<g) id="[^"]*"', r"\1", svg)
    svg = re.sub(r'^<svg[^>]*?(viewBox="[^"]*")[^>]*>', r"<svg \1>", svg, count=1)
    for color, name in COLORS.items():
        svg = re.sub(rf"((?:fill|stroke): ?){color}", rf"\1var(--{name})", svg)
    return svg.strip()


def figure_html(figure: Figure, level: int, *, pixels: bool = False) -> str:
    """A picture with its heading and caption; where points are pixels, they are brightened in the dark."""
    drawing = figure.svg.replace("<svg ", f'<svg role="img" aria-label="{escape(figure.alt)}" ', 1)
    kind = ' class="points"' if pixels else ""
    title, caption = escape(figure.title), escape(figure.caption)
    return f"<figure{kind}><h{level}>{title}</h{level}>{drawing}<figcaption>{caption}</figcaption></figure>"

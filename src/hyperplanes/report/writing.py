"""Putting the report together."""

import platform
from collections.abc import Iterable, Iterator
from html import escape
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _num_samples, check_consistent_length, check_is_fitted

from hyperplanes.estimators import HyperplaneProcessClassifier
from hyperplanes.estimators.numerals import readable
from hyperplanes.files import replaced_file
from hyperplanes.files.container import File
from hyperplanes.plotting.canvas import pyplot
from hyperplanes.plotting.checks import Labels, Responses, labels_of, responses_of
from hyperplanes.plotting.curves import Importance, curves_of, importance_of
from hyperplanes.plotting.inputs import Model, chosen_rows, column_names
from hyperplanes.plotting.plane import is_of_the_plane
from hyperplanes.report import figures
from hyperplanes.report.page import bullets, facts, folded, page, paragraph, table
from hyperplanes.report.scores import Score, scores_of
from hyperplanes.report.summary import summarise_inputs, summarise_response
from hyperplanes.report.verdict import FITTED, GIVEN, HELD_OUT, Verdict, judge

MOST_ROWS = 5000
"""Rows by which predictions are judged; of more, so many are chosen at random."""
MOST_CURVES = 6
"""Inputs whose curves are shown, the most important ones."""
MATTERS = 0.05
"""Inputs that matter less than this share of the most important one have no curves."""
VERSIONS = ("hyperplanes", "numpy", "scipy", "jax", "scikit-learn", "matplotlib")
ON_NUMBERS = {
    "n_particles": "draws that stand for the posterior",
    "n_steps": "steps from prior to posterior",
    "ess": "draws that the weights leave at the end",
    "lowest_ess": "the fewest on the way",
    "n_distinct": "different sets of hyperplanes among them; few mean that intervals are too narrow",
    "n_ancestors": "first draws with descendants; few mean that the evidence is uncertain",
    "acceptance": "share of proposals accepted",
    "late_acceptance": "the same in the last quarter; 0 means that the fit got stuck",
    "noise_std": "standard deviation of the noise, in units of the response",
    "noise_floor": "the least noise that the prior allows",
    "n_failed": "draws lost to numbers that overflowed",
    "n_singular": "draws whose coefficients cannot be told apart",
}
"""Numbers of the diagnostics, and what they mean."""
ADVICE = {
    FITTED: " That flatters them: rows that were held out (X_test and y_test; --test on the command line) would judge "
    "them fairly.",
    GIVEN: " The model was fitted to another number of rows, as their weights count. If these were held out, give them "
    "as such (X_test and y_test; --test on the command line) beside the others; if they were fitted, that flatters the "
    "predictions.",
}
"""On rows that are not known to be held out."""


class _Findings(NamedTuple):
    """All that the page says and shows."""

    model: Model
    X: Any
    y: Any
    whose: str
    """The rows that predictions are judged by: held out, fitted or given."""
    checked: Responses | Labels
    n_available: int
    """Rows that predictions could have been judged by."""
    scores: list[Score]
    verdict: Verdict
    importance: Importance

    @property
    def of_classes(self) -> bool:
        return isinstance(self.checked, Labels)

    @property
    def n_checked(self) -> int:
        return len(self.checked.observed)


def write_report(
    model: Model,
    file: File,
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    title: str | None = None,
) -> None:
    """Write a report on a fit as one page of HTML; see `HyperplaneProcess.report`."""
    check_is_fitted(model)
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test belong together: give both or neither")
    check_consistent_length(X, y)
    pyplot()  # an error now if there is none, not after the predictions
    findings = _find(model, X, y, X_test, y_test)
    content = _page(findings, title or f"Report on a fit of {_name_of(y)}").encode("utf-8", "replace")
    if hasattr(file, "write"):
        file.write(content)
        return
    with replaced_file(file) as opened:
        opened.write(content)


def _find(model: Model, X: Any, y: Any, X_test: Any, y_test: Any) -> _Findings:
    judged_X, judged_y = (X, y) if X_test is None else (X_test, y_test)
    as_many = _num_samples(X) == _n_fitted(model)
    whose = HELD_OUT if X_test is not None else FITTED if as_many else GIVEN
    check_consistent_length(judged_X, judged_y)
    n_available = _num_samples(judged_X)
    rows = chosen_rows(n_available, MOST_ROWS, seed=0)
    some_X, some_y = _take(judged_X, rows), np.asarray(judged_y)[rows]
    checked = (
        labels_of(model, some_X, some_y)
        if isinstance(model, HyperplaneProcessClassifier)
        else responses_of(model, some_X, some_y)
    )
    density = float(np.mean(model.log_predictive_density(some_X, some_y)))
    return _Findings(
        model=model,
        X=X,
        y=y,
        whose=whose,
        checked=checked,
        n_available=n_available,
        scores=scores_of(checked, density),
        verdict=judge(model.diagnostics_, checked, whose),
        importance=importance_of(model, _take(X, chosen_rows(_num_samples(X), MOST_ROWS, seed=1))),
    )


def _page(found: _Findings, title: str) -> str:
    sections = [
        ("Can it be trusted?", _on_trust(found)),
        ("The data", _on_data(found)),
        ("How well it predicts", _on_predictions(found)),
        ("Which inputs matter", _on_inputs(found)),
        *([("The whole function", _pictures(figures.surfaces(found.model)))] if _has_surface(found.model) else []),
        ("Inside the fit", _pictures(figures.fit_itself(found.model))),
        ("Settings and versions", _on_settings(found.model)),
    ]
    kind = "classification" if found.of_classes else f"regression with {_noise_in_words(found.model)} noise"
    lead = f"Bayesian {kind}, by hyperplanes {version('hyperplanes')}."
    footer = "This page holds everything it shows: it loads nothing, runs nothing and can be kept or sent as it is."
    return page(title, lead, sections, footer)


def _on_trust(found: _Findings) -> str:
    verdict, diagnostics = found.verdict, found.model.diagnostics_
    remarks = bullets((*verdict.reasons, *verdict.notes))
    box = f'<div class="verdict {verdict.level}"><strong>{escape(verdict.headline)}</strong>{remarks}</div>\n'
    number = found.model.n_hyperplanes_
    pairs = [(score.name, score.value) for score in found.scores[:3]]
    pairs.append(("hyperplanes", f"{readable(number.mean, 3)} ({number.low} to {number.high})"))
    if not found.of_classes:
        pairs.append(("noise", readable(diagnostics.noise_std)))
    rows = [(name.replace("_", " "), _number(getattr(diagnostics, name)), why) for name, why in ON_NUMBERS.items()]
    numbers = table("Numbers of the diagnostics", ("number", "value", "meaning"), rows)
    whose = paragraph(_whose(found) + ADVICE.get(found.whose, ""))
    return box + whose + facts(pairs) + folded("All numbers that the fit is judged by", numbers)


def _whose(found: _Findings) -> str:
    were = "was" if found.n_checked == 1 else "were"
    chosen = "" if found.n_checked == found.n_available else f", chosen at random from {found.n_available:,},"
    rows = "row" if found.n_checked == 1 else "rows"
    return f"Predictions are judged by {found.n_checked:,} {rows}{chosen} that {were} {found.whose}."


def _n_fitted(model: Model) -> float:
    """Rows that a model was fitted to, as their weights count."""
    return float(sum(part.summary.n_rows for part in model.parts_))


def _on_data(found: _Findings) -> str:
    n_rows, columns = _num_samples(found.X), summarise_inputs(found.model, found.X)
    response = summarise_response(found.y, _name_of(found.y), of_classes=found.of_classes)
    n_missing = sum(column.n_missing for column in columns)
    fitted = _n_fitted(found.model)
    pairs = [("rows", f"{n_rows:,}"), ("inputs", f"{len(columns):,}"), ("missing values", f"{n_missing:,}")]
    rows = [(each.name, f"{each.kind}: {each.values}", f"{each.n_missing:,}") for each in (response, *columns)]
    note = (
        paragraph(f"The model was fitted to {fitted:,.10g} rows, as their weights count.") if fitted != n_rows else ""
    )
    return facts(pairs) + note + table("Columns of the data", ("column", "values", "missing"), rows)


def _on_predictions(found: _Findings) -> str:
    scores = table("Scores of the predictions", ("score", "value", "meaning"), found.scores)
    return paragraph(_whose(found)) + scores + _pictures(figures.predictions(found.checked), pixels=True)


def _on_inputs(found: _Findings) -> str:
    importance, names = found.importance, column_names(found.model)
    rows = [
        (name, readable(mean), f"{readable(low)} to {readable(high)}")
        for name, mean, (low, high) in zip(importance.names, importance.mean, importance.interval, strict=True)
    ]
    numbers = table("Importance of inputs", ("input", "change", "95% interval"), rows)
    matters = importance.mean >= MATTERS * importance.mean[0]
    order = importance.columns[: min(int(matters.sum()), MOST_CURVES)]
    some = _take(found.X, chosen_rows(_num_samples(found.X), MOST_ROWS, seed=1))
    pictures = [figures.importance(importance, of_classes=found.of_classes)] if len(names) > 1 else []
    pictures += [figures.dependence(curves_of(found.model, some, k)) for k in order]
    rest = len(names) - len(order)
    note = paragraph(f"Curves are of the {len(order)} most important of {len(names)} inputs.") if rest else ""
    return note + _pictures(pictures) + folded("Importance in numbers", numbers)


def _on_settings(model: Model) -> str:
    settings = [(name, repr(value)) for name, value in model.get_params(deep=False).items()]
    evidence = _evidence(model.log_evidence_, model.log_evidence_error_)
    results = [("log evidence", evidence), ("parts", str(len(model.parts_))), *_kinds_of_noise(model)]
    versions = [("Python", platform.python_version()), *((name, version(name)) for name in VERSIONS)]
    return (
        table("Results for comparing models", ("result", "value"), results)
        + folded("Settings", table("Settings of the estimator", ("setting", "value"), settings))
        + folded("Versions", table("Versions of this page's tools", ("package", "version"), versions))
    )


def _pictures(pictures: Iterable[figures.Figure], *, pixels: bool = False) -> str:
    shown = "\n".join(figures.figure_html(each, level=3, pixels=pixels) for each in pictures)
    return f'<div class="pictures">{shown}</div>\n'


def _kinds_of_noise(model: Any) -> Iterator[tuple[str, str]]:
    """Log evidences of all kinds, of each part, where they were compared."""
    if getattr(model, "noise", None) != "auto":
        return
    for number, part in enumerate(model.log_evidences_):
        of_part = f", part {number}" if len(model.parts_) > 1 else ""
        for name, (value, error) in part.items():
            yield f"log evidence with {name} noise{of_part}", _evidence(value, error)


def _evidence(value: float, error: float) -> str:
    return f"{readable(value, 6)} ± {readable(error, 2)}"


def _noise_in_words(model: Any) -> str:
    kind: str = model.noise_
    return {"student": "heavy-tailed", "several": "several kinds of"}.get(kind, kind)


def _has_surface(model: Model) -> bool:
    low, high = model.input_range_
    return is_of_the_plane(model) and bool(np.all(low < high))


def _take(table: Any, rows: Any) -> Any:
    """Some rows of an array or of a data frame."""
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return table[rows] if hasattr(table, "columns") else np.asarray(table)[rows]


def _name_of(y: Any) -> str:
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else "y"


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else readable(value)

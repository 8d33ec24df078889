"""Whether a fit deserves trust, in plain words.

Every check compares a number with what chance allows a calibrated model, by the bands that the pictures show
(`hyperplanes.plotting.checks.CHANCE`). Of 200 reports of calibrated models about one has a remark by mistake.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import stats

from hyperplanes.estimators.diagnostics import Diagnostics
from hyperplanes.estimators.numerals import readable
from hyperplanes.estimators.scaling import Floats
from hyperplanes.plotting.checks import CHANCE, Labels, Responses, chance_of_bars, chance_of_shares, reliability_of
from hyperplanes.report.scores import skill_of

FEWEST_ROWS = 30
"""Fewer rows than this cannot clear a fit, though they can condemn it."""
HOPELESS = {0.5: 0.2, 0.8: 0.5, 0.95: 0.8}
"""Intervals that are judged, and the share of rows below which they are not to be used."""
SLIGHT = 0.02
"""A difference of probabilities below this is a note only, however sure it is."""
FAR_APART = 0.05
"""The same of probabilities in groups of rows."""
BIASED = 0.25
"""A mean of the probability integral transform so far from a half is not to be trusted."""
TOO_SURE = 0.2
"""Nor is a classifier that is right so much less often than it says."""
WORSE = -0.1
"""Nor predictions whose skill is below this: 0 is that of a constant, which knows no inputs."""
N_BARS = 20
"""Of the histogram of the probability integral transform, as in its picture."""
ON_NOISE = (
    'If the noise differs between rows or has outliers, fit with noise="auto", or with another kind of noise than this '
    "fit has"
)
HELD_OUT, FITTED, GIVEN = "held out", "fitted", "given"
"""Whose rows predictions are judged by; those given are neither known to be held out nor the ones that were fitted."""
ON_ROWS = "if new rows differ from those fitted, collect rows like the new ones"


class Verdict(NamedTuple):
    """What to make of a fit."""

    level: str
    """"good", "mind" or "bad"."""
    headline: str
    """In a few words."""
    reasons: tuple[str, ...]
    """What to mind, with advice."""
    notes: tuple[str, ...]
    """Lesser remarks."""


class Remark(NamedTuple):
    """What predictions say of a fit."""

    level: str
    """"note", "mind" or "bad"."""
    text: str
    """With advice."""


def judge(diagnostics: Diagnostics, checked: Responses | Labels, whose: str) -> Verdict:
    """Put together what the fit says of itself and what its predictions say, of rows that were `whose`."""
    where = f"of rows that were {whose}" if whose == HELD_OUT else f"of the rows that were {whose}"
    found = _on_responses(checked, where) if isinstance(checked, Responses) else _on_labels(checked, where)
    remarks = list(found)
    serious = tuple(each.text for each in remarks if each.level != "note")
    reasons, n_rows = (*diagnostics.warnings, *serious), len(checked.observed)
    notes = (*diagnostics.notes, *(each.text for each in remarks if each.level == "note"))
    few = () if serious or n_rows >= FEWEST_ROWS else (_too_few(n_rows),)
    if diagnostics.late_acceptance == 0 or any(each.level == "bad" for each in remarks):
        level, headline = "bad", "Do not trust this fit yet."
    elif reasons:
        level, headline = "mind", "Usable with care: read the remarks below first."
    elif few:
        level, headline = "mind", "Too few rows to judge."
    else:
        level, headline = "good", "No trouble was found."
    return Verdict(level, headline, reasons + few, notes)


def _too_few(n_rows: int) -> str:
    rows = "1 row does" if n_rows == 1 else f"{n_rows} rows do"
    return f"{rows} not tell whether predictions hold what they promise: give at least {FEWEST_ROWS}, best hundreds."


def _on_responses(responses: Responses, where: str) -> Iterator[Remark]:
    remarks = [*_on_coverage(responses, where), *_on_bias(responses, where)]
    yield from remarks or _on_shape(responses, where)
    error = (responses.observed - responses.mean, responses.observed - responses.observed.mean())
    yield from _on_skill("the average of the responses", *_squares(*error))


def _on_coverage(responses: Responses, where: str) -> Iterator[Remark]:
    n_rows, off = len(responses.observed), {}
    for level in HOPELESS:
        low, high = chance_of_shares(n_rows, level)
        share = responses.covered(level)
        if not low <= share <= high:
            off[level] = share
    if not off:
        return
    listed = _listed([f"{level:.0%} intervals hold {share:.1%}" for level, share in off.items()])
    narrow = [share < level for level, share in off.items()]
    if all(narrow):
        text = f"{listed} {where}: they are too narrow. {ON_NOISE}; {ON_ROWS}."
    elif not any(narrow):
        text = f"{listed} {where}: they are wider than they need to be. {ON_NOISE}."
    else:
        text = f"{listed} {where}: the noise has another shape than the model gives it. {ON_NOISE}."
    if any(share < HOPELESS[level] for level, share in off.items()):
        yield Remark("bad", text)
    else:
        yield Remark(_weight(max(abs(share - level) for level, share in off.items()), SLIGHT), text)


def _on_bias(responses: Responses, where: str) -> Iterator[Remark]:
    place = float(responses.transform.mean())
    error = np.sqrt(1 / (12 * len(responses.transform)))
    if abs(place - 0.5) <= stats.norm.isf((1 - CHANCE) / 2) * error:
        return
    side = "higher" if place > 0.5 else "lower"
    text = (
        f"Responses {where} are {side} than predicted, more often than chance allows: on average they are at "
        f"{place:.1%} of their predictive distributions, where 50% is right. Ask what changed between the rows that "
        f"were fitted and these; {ON_ROWS}."
    )
    yield Remark("bad" if abs(place - 0.5) >= BIASED else _weight(abs(place - 0.5), SLIGHT), text)


def _on_shape(responses: Responses, where: str) -> Iterator[Remark]:
    n_rows = len(responses.transform)
    counts, _ = np.histogram(responses.transform, bins=N_BARS, range=(0, 1))
    low, high = chance_of_bars(n_rows, N_BARS)
    n_outside = int(np.sum((counts < low * n_rows) | (counts > high * n_rows)))
    if n_outside:
        bars = "1 bar" if n_outside == 1 else f"{n_outside} bars"
        yield Remark(
            "mind",
            f"Predictive distributions {where} have another shape than the responses: {bars} of {N_BARS} of the "
            f"histogram below leave the band of chance. {ON_NOISE}.",
        )


def _on_labels(labels: Labels, where: str) -> Iterator[Remark]:
    remarks = list(_on_confidence(labels, where))
    yield from remarks or _on_groups(labels, where)
    is_class = np.eye(len(labels.classes))[labels.observed]
    squares = (np.sum((is_class - shares) ** 2, axis=1) for shares in (labels.probabilities, is_class.mean(axis=0)))
    yield from _on_skill("the share of each class", *squares)


def _on_confidence(labels: Labels, where: str) -> Iterator[Remark]:
    right = float(np.mean(np.argmax(labels.probabilities, axis=1) == labels.observed))
    claimed = min(float(np.mean(labels.probabilities.max(axis=1))), 1.0)
    low, high = chance_of_shares(len(labels.observed), claimed)
    if low <= right <= high:
        return
    how = "too sure" if right < claimed else "less sure than it could be"
    text = (
        f"The most probable class is right for {right:.1%} {where}, and predicted to be for {claimed:.1%}: the "
        f"classifier is {how}. Take its probabilities as scores; {ON_ROWS}."
    )
    yield Remark("bad" if claimed - right >= TOO_SURE else _weight(abs(claimed - right), SLIGHT), text)


def _on_groups(labels: Labels, where: str) -> Iterator[Remark]:
    found = reliability_of(labels)
    outside = (found.predicted < found.interval[:, 0]) | (found.predicted > found.interval[:, 1])
    if not outside.any():
        return
    gap = float(np.abs(found.predicted - found.share)[outside].mean())
    groups = f"{outside.sum()} of {len(outside)} groups"
    text = (
        f"Predicted probabilities differ from shares {where} by {gap:.2f} in {groups}, more than chance allows. Take "
        f"them as scores rather than as probabilities; {ON_ROWS}."
    )
    yield Remark(_weight(gap, FAR_APART), text)


def _on_skill(constant: str, squares: Floats, of_constant: Floats) -> Iterator[Remark]:
    """Compare squared errors with those of a prediction that knows no inputs."""
    skill = skill_of(squares, of_constant)
    if skill is None or len(squares) < 2:
        return
    gains = of_constant - squares
    error = float(gains.std(ddof=1)) / np.sqrt(len(gains))
    if skill < WORSE and gains.mean() < -stats.norm.isf((1 - CHANCE) / 2) * error:
        yield Remark(
            "bad",
            f"Predictions are worse than {constant} would be: their squared error is {readable(1 - skill, 3)} times as "
            "large. Check that the columns of these rows mean the same as in training: units, codes, order. If they "
            "do, these rows are unlike those fitted.",
        )
    elif skill <= 0:
        yield Remark("note", f"Predictions are no better than {constant} would be: these inputs tell little.")


def _squares(*errors: Floats) -> Iterator[Floats]:
    """Squared errors in a common unit in which they do not overflow."""
    largest = max(float(np.abs(errors).max()), float(np.finfo(np.float64).tiny))
    return ((each / largest) ** 2 for each in errors)


def _weight(difference: float, slight: float) -> str:
    return "note" if difference < slight else "mind"


def _listed(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"

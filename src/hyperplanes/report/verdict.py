"""Whether a fit deserves trust, in plain words."""

from typing import NamedTuple

from scipy import stats

from hyperplanes.estimators.diagnostics import Diagnostics
from hyperplanes.plotting.checks import Labels, Responses, reliability_of

RARELY = 0.999
"""Probability of the band within which the coverage of a calibrated model would be."""
COVERAGE = 0.95
FAR = 0.05
"""A difference of coverage, or of a probability, that is worth a word."""


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


def judge(diagnostics: Diagnostics, checked: Responses | Labels, *, held_out: bool) -> Verdict:
    """Put together what the fit says of itself and what its predictions say."""
    reasons = (*diagnostics.warnings, *_on_predictions(checked, held_out))
    if diagnostics.late_acceptance == 0:
        level, headline = "bad", "Do not trust this fit yet."
    elif reasons:
        level, headline = "mind", "Usable with care: read the remarks below first."
    else:
        level, headline = "good", "No trouble was found."
    return Verdict(level, headline, reasons, diagnostics.notes)


def _on_predictions(checked: Responses | Labels, held_out: bool) -> tuple[str, ...]:
    found = _on_coverage(checked) if isinstance(checked, Responses) else _on_reliability(checked)
    where = "of rows that were held out" if held_out else "of the rows that were fitted"
    return () if found is None else (found.format(where=where),)


def _on_coverage(responses: Responses) -> str | None:
    n_rows, share = len(responses.observed), responses.covered(COVERAGE)
    low, high = stats.binom.interval(RARELY, n_rows, COVERAGE)
    if share * n_rows < low and share < COVERAGE:
        return (
            f"95% intervals hold only {share:.1%} {{where}}: they are too narrow. If the noise differs between rows or "
            'has outliers, fit with noise="auto"; if new rows differ from those fitted, collect rows like the new ones.'
        )
    if share * n_rows > high and share > COVERAGE + 0.5 * FAR:
        return (
            f"95% intervals hold {share:.1%} {{where}}: they are wider than they need to be. If the noise differs "
            'between rows or has outliers, fit with noise="auto".'
        )
    return None


def _on_reliability(labels: Labels) -> str | None:
    found = reliability_of(labels)
    gaps = abs(found.predicted - found.share)
    outside = (found.predicted < found.interval[:, 0]) | (found.predicted > found.interval[:, 1])
    if outside.mean() <= 0.3 or gaps[outside].mean() < FAR:
        return None
    return (
        f"Predicted probabilities differ from shares {{where}} by {gaps[outside].mean():.2f} in {outside.sum()} of "
        f"{len(gaps)} groups: take them as scores rather than as probabilities, or collect rows like the new ones."
    )

"""How well a model predicts, in a few numbers that say what they mean."""

from typing import NamedTuple

import numpy as np

from hyperplanes.estimators.numerals import readable
from hyperplanes.estimators.scaling import Floats
from hyperplanes.plotting.checks import Labels, Responses


class Score(NamedTuple):
    """A number in words."""

    name: str
    """Of the score."""
    value: str
    """As it is shown."""
    meaning: str
    """What it says."""


def scores_of(checked: Responses | Labels, log_density: float) -> list[Score]:
    """Scores of predictions."""
    found = _of_responses(checked) if isinstance(checked, Responses) else _of_labels(checked)
    what = "response" if isinstance(checked, Responses) else "label"
    meaning = f"mean logarithm of what the model held of each {what}; more is better, for comparing models"
    return [*found, Score("log predictive density", readable(log_density), meaning)]


def skill_of(squares: Floats, of_constant: Floats) -> float | None:
    """By which share squared errors are less than those of a constant prediction; None where that is perfect."""
    return None if of_constant.sum() == 0 else 1 - float(squares.sum() / of_constant.sum())


def _of_responses(responses: Responses) -> list[Score]:
    largest = max(float(np.abs([responses.observed, responses.mean]).max()), np.finfo(np.float64).tiny)
    observed, mean = responses.observed / largest, responses.mean / largest  # squares of the user's units overflow
    rmse = largest * float(np.sqrt(np.mean((observed - mean) ** 2)))
    width = float(np.mean(responses.interval[:, 1] - responses.interval[:, 0]))
    found = [Score("typical error", readable(rmse), "root mean square of response minus prediction")]
    share = skill_of((observed - mean) ** 2, (observed - observed.mean()) ** 2)
    if share is not None:
        found.append(Score("variance explained", f"{share:,.1%}", "of the response; 100% would be perfect"))
    covered = responses.covered(responses.coverage)
    nominal = f"{responses.coverage:.0%}"
    found.append(Score(f"inside {nominal} intervals", f"{covered:.1%}", f"of rows; {nominal} would be right"))
    found.append(Score("width of these", readable(width), "on average, in units of the response"))
    return found


def _of_labels(labels: Labels) -> list[Score]:
    right = float(np.mean(np.argmax(labels.probabilities, axis=1) == labels.observed))
    frequent = float(np.bincount(labels.observed).max() / len(labels.observed))
    own = labels.probabilities[np.arange(len(labels.observed)), labels.observed]
    squares = float(np.mean(np.sum(labels.probabilities**2, axis=1) - 2 * own + 1))
    return [
        Score("accuracy", f"{right:.1%}", f"of rows; always the most frequent class would be right for {frequent:.1%}"),
        Score("probability of the right class", f"{own.mean():.1%}", "on average"),
        Score(
            "Brier score",
            readable(squares, 3),
            "mean squared error of the probabilities, summed over classes; 0 is best",
        ),
    ]

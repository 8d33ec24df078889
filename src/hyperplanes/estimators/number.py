"""The posterior of the number of hyperplanes."""

from typing import NamedTuple

import numpy as np

from hyperplanes.estimators.scaling import Floats
from hyperplanes.inference import Posterior

TAIL = 0.025


class NumberOfHyperplanes(NamedTuple):
    """Of those beyond which there is a training row, without those of a linear term."""

    mean: float
    """Posterior mean."""
    median: int
    """Posterior median."""
    low: int
    """Lower end of the central 95%."""
    high: int
    """Upper end of the central 95%."""
    probabilities: Floats
    """Of 0, 1, 2, ... hyperplanes."""


def summarise_number(*posteriors: Posterior) -> NumberOfHyperplanes:
    """Summarise the active hyperplanes of weighted particles; of all together where there are several posteriors."""
    probabilities = np.ones(1)
    for posterior in posteriors:
        counts = np.bincount(posterior.n_active_in_all, weights=np.exp(posterior.log_weights))
        probabilities = np.convolve(probabilities, counts / counts.sum())
    totals = np.cumsum(probabilities)
    low, median, high = (int(np.searchsorted(totals, level)) for level in (TAIL, 0.5, 1 - TAIL))
    return NumberOfHyperplanes(
        float(probabilities @ np.arange(len(probabilities))), median, low, min(high, len(totals) - 1), probabilities
    )

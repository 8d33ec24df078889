"""What the family tree of the particles says about the error of the evidence."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hyperplanes.smc.weights import Floats

Indices = NDArray[np.int64]


def evidence_variance(weights: Sequence[Floats], ancestors: Sequence[Indices], min_families: int = 20) -> float:
    """Estimate the variance of the log evidence from a single run.

    The genealogical estimator of Chan & Lai (2013) and Lee & Whiteley (2018) groups the final weights by first
    ancestor. Its value cannot exceed one, so it says nothing once the genealogy has collapsed. Like Olsson & Douc
    (2019) we let the particles forget: generation k adds the growth of the group variance from generation k - 1, with
    groups formed by the earliest generation that still has `min_families` families alive. With a genealogy that never
    collapses this is the genealogical estimator; with one generation of memory it is the sum of 1/ESS - 1/n over the
    generations.

    Parameters
    ----------
    weights : one (n_particles,) array a generation
        Normalised weights at the end of each generation; a generation ends with a resampling, the last with the run. It
        begins with equal weights.
    ancestors : one (n_particles,) array a resampling
        Index of the parent in the generation before; one entry fewer than `weights`.
    min_families : int
        Families that have to be alive for a generation to be remembered.
    """
    total = 0.0
    for last in range(len(weights)):
        line, start = np.arange(len(weights[last])), last
        while start > 0 and len(np.unique(ancestors[start - 1][line])) >= min_families:
            line, start = ancestors[start - 1][line], start - 1
        total += _group_variance(weights[last], line)
        if start < last:
            total -= _group_variance(weights[last - 1], _trace_back(ancestors, start, last - 1, len(line)))
    return max(total, 0.0)


def _trace_back(ancestors: Sequence[Indices], start: int, last: int, n_particles: int) -> Indices:
    """Ancestor in generation `start` of every particle of generation `last`."""
    line = np.arange(n_particles)
    for generation in reversed(ancestors[start:last]):
        line = generation[line]
    return line


def _group_variance(weights: Floats, groups: Indices) -> float:
    """Sum over groups of the squared group weight, less its value for equal weights and no groups."""
    group_weights = np.bincount(groups, weights=weights)
    return float(group_weights @ group_weights) - 1.0 / len(weights)

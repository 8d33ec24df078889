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
    (2019) we let the particles forget: each generation adds the variance of its families' surplus of weight, and twice
    its covariance with theirs in the generations before, with families formed by the earliest generation of which
    `min_families` are still alive. With no memory at all it is the sum of 1/ESS - 1/n over the generations.

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
        start = _earliest_remembered(ancestors, last, len(weights[last]), min_families)
        excess = _family_excess(weights, ancestors, start, last)
        total += float(excess[-1] @ (excess[-1] + 2 * np.sum(excess[:-1], axis=0)))
    return max(total, 0.0)


def _earliest_remembered(ancestors: Sequence[Indices], last: int, n_particles: int, min_families: int) -> int:
    """Earliest generation of which `min_families` families are alive in generation `last`."""
    line, start = np.arange(n_particles), last
    while start > 0 and len(np.unique(ancestors[start - 1][line])) >= min_families:
        line, start = ancestors[start - 1][line], start - 1
    return start


def _family_excess(weights: Sequence[Floats], ancestors: Sequence[Indices], start: int, last: int) -> list[Floats]:
    """Weight of every family of generation `start` beyond its share of the particles, in each generation to `last`."""
    n_particles = len(weights[last])
    roots, excess = np.arange(n_particles), list[Floats]()
    for generation in range(start, last + 1):
        roots = roots if generation == start else roots[ancestors[generation - 1]]
        surplus = weights[generation] - 1 / n_particles
        excess.append(np.bincount(roots, surplus, minlength=n_particles).astype(np.float64))
    return excess

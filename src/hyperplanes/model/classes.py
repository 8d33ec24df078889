"""Probabilities of classes: those of each particle, and averages over them."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from hyperplanes.model.prediction import Functions, average, function_values, weighted_quantiles

Floats = NDArray[np.float64]


class Particles(Functions, Protocol):
    """Weighted particles, with a network for each class; for two classes one, of the log odds of the second."""

    @property
    def others(self) -> tuple[Functions, ...]:
        """Networks after the first."""

    @property
    def log_weights(self) -> Floats:
        """(n_particles,), normalised."""


class Ballots(NamedTuple):
    """What each particle says at some rows."""

    probabilities: Floats
    """(n_particles, n_classes, rows)."""
    weights: Floats
    """(n_particles,), or (n_particles, rows) where they differ between rows."""

    def mean(self) -> Floats:
        """Posterior mean of the probabilities, (rows, n_classes)."""
        return np.column_stack([average(self.weights, each) for each in np.moveaxis(self.probabilities, 1, 0)])

    def quantiles(self, levels: ArrayLike) -> Floats:
        """Quantiles of the probability of each class, (rows, n_classes, n_levels)."""
        wanted = np.asarray(levels, dtype=np.float64)
        found = [weighted_quantiles(each, self.weights, wanted) for each in np.moveaxis(self.probabilities, 1, 0)]
        return np.stack(found, axis=1)


def ballots(particles: Particles, inputs: ArrayLike, max_bytes: int) -> Iterator[Ballots]:
    """Yield what each particle says at successive blocks of rows."""
    weights, networks = np.exp(particles.log_weights), (particles, *particles.others)
    for several in zip(*(function_values(each, inputs, max_bytes // len(networks)) for each in networks), strict=True):
        if len(networks) == 1:
            yield Ballots(np.stack([expit(-several[0]), expit(several[0])], axis=1), weights)
        else:
            yield Ballots(softmax(np.stack(several, axis=1), axis=1), weights)


def draw_probabilities(
    rng: np.random.Generator, particles: Particles, inputs: ArrayLike, n_draws: int, *, max_bytes: int
) -> Floats:
    """Draws of the probabilities, (n, n_draws, n_classes); one draw is one particle at all rows."""
    chosen = rng.choice(len(particles.log_weights), size=n_draws, p=np.exp(particles.log_weights))
    blocks = [np.moveaxis(each.probabilities[chosen], 2, 0) for each in ballots(particles, inputs, max_bytes)]
    return np.concatenate(blocks)

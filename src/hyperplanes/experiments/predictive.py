"""Predictive distributions as mixtures of Gaussians: what a Bayesian method or an ensemble says of new rows."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]


class Predictive(NamedTuple):
    """A mixture of Gaussians for each row, with equal weights."""

    means: Floats
    """(n_components, n)."""
    deviations: Floats
    """(n_components, n) or what broadcasts to it."""
    seconds: float | None = None
    """Where not the whole call should count."""
    details: Mapping[str, Any] = MappingProxyType({})
    """What else the method reports."""

    def of(self, rows: NDArray[Any] | slice) -> "Predictive":
        """The same for some of the rows."""
        deviations = np.broadcast_to(self.deviations, self.means.shape)
        return self._replace(means=self.means[:, rows], deviations=deviations[:, rows])

    def mean(self) -> Floats:
        """Of a new response."""
        return np.asarray(self.means.mean(axis=0))

    def draw(self, rng: np.random.Generator, n_draws: int) -> Floats:
        """Draws of new responses, (n_draws, n), components in turn."""
        which = np.arange(n_draws) % len(self.means)
        deviations = np.broadcast_to(self.deviations, self.means.shape)
        return np.asarray(self.means[which] + deviations[which] * rng.standard_normal((n_draws, self.means.shape[1])))

    def log_density(self, response: Floats) -> Floats:
        """Of each response."""
        errors = (response - self.means) / self.deviations
        terms = -0.5 * errors**2 - np.log(self.deviations * np.sqrt(2 * np.pi))
        return np.asarray(logsumexp(terms, axis=0) - np.log(len(self.means)))

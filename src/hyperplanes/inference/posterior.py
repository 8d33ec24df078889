"""What inference returns."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Progress(NamedTuple):
    """One step of annealing, for whoever watches."""

    step: int
    """Steps taken so far."""
    n_steps: int | None
    """Steps in all, None where the schedule adapts."""
    exponent: float
    """Exponent reached; where rows join in stages, the share of them that has."""
    ess: float
    """Effective sample size after weighing."""
    acceptance: float
    """Share of proposals accepted."""
    n_ancestors: int
    """First ancestors with living descendants."""


class Trace(NamedTuple):
    """The annealing run, one entry a step."""

    exponent: Floats
    """Exponents after each step; where rows join in stages, the share of them that has."""
    ess: Floats
    """Effective sample size after weighing, before any resampling."""
    acceptance: Floats
    """Share of proposals accepted; where noise varies, the smaller of those of the response and of its spread."""
    n_ancestors: Floats
    """First ancestors with living descendants."""
    log_evidence: Floats
    """Estimated log evidence up to each exponent."""
    n_failed: Floats
    """Particles that got no weight because their likelihood was not a number."""


class Network(NamedTuple):
    """Draws of a further network, in the units of the model; weights are those of the `Posterior`."""

    normals: NDArray[np.floating]
    """(n_particles, m, p) unit vectors; zero where a particle has fewer than m hyperplanes."""
    offsets: NDArray[np.floating]
    """(n_particles, m)."""
    coefficients: Floats
    """(n_particles, m + 1), intercept first."""
    coefficient_variance: Floats
    """(n_particles,)."""
    intensity: Floats
    """(n_particles,)."""
    attends: NDArray[np.bool_]
    """(n_particles, m, p): whether each hyperplane attends to each column."""
    n_active: NDArray[np.int64]
    """(n_particles,) hyperplanes beyond which there is a training row, without those of a linear term."""
    n_permanent: int = 0
    """How many of the m are the slopes of a linear term, see `model.prior.lay_out_linear_term`."""


class Posterior(NamedTuple):
    """Weighted draws from the posterior, in the units of the model, and how they were reached."""

    normals: NDArray[np.floating]
    """(n_particles, m, p) unit vectors; zero where a particle has fewer than m hyperplanes."""
    offsets: NDArray[np.floating]
    """(n_particles, m)."""
    coefficients: Floats
    """(n_particles, m + 1), intercept first."""
    noise_variance: Floats
    """(n_particles,)."""
    coefficient_variance: Floats
    """(n_particles,)."""
    intensity: Floats
    """(n_particles,)."""
    attends: NDArray[np.bool_]
    """(n_particles, m, p): whether each hyperplane attends to each column."""
    log_weights: Floats
    """(n_particles,), normalised."""
    log_evidence: float
    """Log marginal likelihood of the (standardised) response."""
    log_evidence_error: float
    """Its root mean squared error, estimated from this run alone."""
    trace: Trace
    """The annealing run."""
    n_active: NDArray[np.int64]
    """(n_particles,) hyperplanes beyond which there is a training row, without those of a linear term."""
    n_singular: int
    """Particles with features so alike, for so little noise, that their precision had to be made positive definite;
    counted where coefficients are integrated out, so 0 for classes and for noise that is not constant."""
    degrees: Floats | None = None
    """(n_particles,) degrees of freedom of the noise, None where its tails are not heavy."""
    spread: Network | None = None
    """The log standard deviation of the noise, None where it does not vary; then the noise variance is 1."""
    others: tuple[Network, ...] = ()
    """Networks of the outputs after the first, where the response is one of several classes."""
    n_permanent: int = 0
    """How many of the m are the slopes of a linear term, see `model.prior.lay_out_linear_term`."""
    log_evidence_bias: float = 0.0
    """How much the log evidence is thought to lack, which its error includes."""

    @property
    def n_active_in_all(self) -> NDArray[np.int64]:
        """The same of the networks of all outputs together, (n_particles,)."""
        return np.asarray(self.n_active + np.sum([other.n_active for other in self.others], axis=0, dtype=np.int64))

    @property
    def n_hyperplanes(self) -> NDArray[np.int64]:
        """Number of hyperplanes of each particle, (n_particles,), without those of a linear term."""
        return np.asarray(np.any(self.normals != 0, axis=-1).sum(axis=1) - self.n_permanent)

    @property
    def n_distinct(self) -> int:
        """Number of distinct sets of hyperplanes, those of all networks together, among the particles.

        Particles with a linear term and nothing else count one by one: only coefficients, drawn afresh, could differ.
        """
        others = self.others if self.spread is None else (*self.others, self.spread)
        sets = np.column_stack([self.offsets, *(other.offsets for other in others)])
        only_lines = np.zeros(len(sets), dtype=bool)
        if self.n_permanent:
            n_permanent = self.n_permanent + sum(other.n_permanent for other in others)
            normals = np.concatenate([self.normals, *(other.normals for other in others)], axis=1)
            only_lines = np.any(normals != 0, axis=-1).sum(axis=1) == n_permanent
        return len(np.unique(sets[~only_lines], axis=0)) + int(only_lines.sum())


def error_of_sum(posteriors: Sequence[Posterior]) -> float:
    """Error of the sum of log evidences of independent fits: what they lack adds up, and so do their variances."""
    errors, biases = np.array([(one.log_evidence_error, one.log_evidence_bias) for one in posteriors]).T
    return float(np.sqrt(np.sum(np.maximum(errors**2 - biases**2, 0.0)) + np.sum(biases) ** 2))

"""Log weights of particles: normalisation and how many particles they are worth."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]


def normalise(log_weights: Floats) -> Floats:
    """Log weights shifted so that the weights sum to one (along the last axis)."""
    log_weights = _relative(log_weights)
    return np.asarray(log_weights - logsumexp(log_weights, axis=-1, keepdims=True))


def log_mean_exp(log_weights: Floats, log_increments: Floats) -> Floats:
    """Log of the weighted mean of the increments: one factor of the evidence.

    Parameters
    ----------
    log_weights : (n_particles,)
        Normalised log weights before the increment.
    log_increments : (..., n_particles)
        Log of tempered likelihood at the new exponent over that at the old one.
    """
    return np.asarray(logsumexp(log_weights + log_increments, axis=-1))


def ess(log_weights: Floats) -> Floats:
    """Effective sample size (sum w)^2 / sum w^2, along the last axis; 0 where no particle has weight.

    BlackJAX's `smc.ess` computes the same number on the device for one vector; here whole grids of candidate exponents
    are judged at once on the host, where the weights live.
    """
    log_weights = _relative(log_weights)
    return _exp_of_difference(2 * logsumexp(log_weights, axis=-1), logsumexp(2 * log_weights, axis=-1))


def conditional_ess(log_weights: Floats, log_increments: Floats) -> Floats:
    """Conditional effective sample size of one step (Zhou, Johansen & Aston 2016), between 0 and n_particles.

    It measures how far apart two successive targets are, whatever the weights were before; with equal weights it is the
    effective sample size.
    """
    n_particles, log_increments = log_weights.shape[-1], _relative(log_increments)
    first = logsumexp(log_weights + log_increments, axis=-1)
    second = logsumexp(log_weights + 2 * log_increments, axis=-1)
    return np.asarray(n_particles * _exp_of_difference(2 * first, second))


def _exp_of_difference(first: Floats, second: Floats) -> Floats:
    """exp(first - second), and 0 where both are -infinity."""
    lost = np.isneginf(first)
    return np.asarray(np.where(lost, 0.0, np.exp(first - np.where(lost, 0.0, second))))


def _relative(logs: Floats) -> Floats:
    """Logs less their largest, whose square would cancel to nothing but rounding errors."""
    largest = logs.max(axis=-1, keepdims=True)
    return np.asarray(logs - np.where(np.isfinite(largest), largest, 0.0))

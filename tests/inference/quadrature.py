"""The posterior of one hyperplane in one dimension by numerical integration, from the definition of the model."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import logsumexp

from hyperplanes.model import paper_prior

INPUTS = np.array([[-0.93], [-0.71], [-0.44], [-0.2], [-0.02], [0.17], [0.31], [0.58], [0.74], [0.97]])
RESPONSE = np.array([0.55, 0.1, 0.36, 0.2, 0.52, 0.17, 0.68, 0.6, 1.45, 1.26])
NEW_INPUTS = np.array([[-0.85], [0.1], [0.45], [0.9]])
PRIOR = replace(paper_prior(1), coefficient_mean=0.4, coefficient_variance=1.5, noise_shape=3.0, noise_scale=0.3)
N_NODES = 10
N_NOISE = 121


class Exact(NamedTuple):
    """Integrals over all unknowns at one exponent."""

    log_evidence: float
    means: np.ndarray
    """Posterior means of `statistics_of`."""
    scales: np.ndarray
    """Posterior standard deviations of the function at `NEW_INPUTS`."""


def integrate(exponent: float = 1.0) -> Exact:
    """Sum over both directions, Gauss-Legendre panels in the offset, a grid of log sigma^2; coefficients exactly."""
    offsets, offset_weights = _offset_nodes()
    log_noise = np.linspace(-7, 4, N_NOISE)
    density = stats.invgamma(PRIOR.noise_shape, scale=PRIOR.noise_scale).logpdf(np.exp(log_noise)) + log_noise
    log_masses, rows = [], []
    for direction in (-1.0, 1.0):
        for offset, weight in zip(offsets, offset_weights, strict=True):
            evidence, mean, variance = _given_hyperplane(direction, offset, np.exp(log_noise), exponent)
            log_masses.append(evidence + density + np.log(log_noise[1] - log_noise[0]) + np.log(0.5 * weight))
            unknowns = np.column_stack([np.full(N_NOISE, direction), np.full(N_NOISE, offset), log_noise])
            rows.append(np.hstack([mean, unknowns, variance + mean**2]))
    log_masses, rows = np.concatenate(log_masses), np.concatenate(rows)
    log_evidence = logsumexp(log_masses)
    averages = np.exp(log_masses - log_evidence) @ rows
    n_new = len(NEW_INPUTS)
    return Exact(float(log_evidence), averages[: n_new + 3], np.sqrt(averages[n_new + 3 :] - averages[:n_new] ** 2))


def statistics_of(
    normals: np.ndarray, offsets: np.ndarray, coefficients: np.ndarray, noise_variance: np.ndarray
) -> np.ndarray:
    """Per particle: the function at `NEW_INPUTS`, the direction, the offset and log sigma^2."""
    hidden = np.maximum(NEW_INPUTS[:, 0] * normals[:, :1, 0] - offsets[:, :1], 0)
    values = coefficients[:, :1] + coefficients[:, 1:] * hidden
    return np.column_stack([values, normals[:, 0, 0], offsets[:, 0], np.log(noise_variance)])


def _offset_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on (0, 1), with panels that end where a row becomes active."""
    ends = np.unique(np.concatenate([[0.0, 1.0], np.abs(INPUTS[:, 0])]))
    nodes, weights = np.polynomial.legendre.leggauss(N_NODES)
    widths = np.diff(ends)
    return (ends[:-1, None] + widths[:, None] * (nodes + 1) / 2).ravel(), (widths[:, None] * weights / 2).ravel()


def _given_hyperplane(
    direction: float, offset: float, noise: np.ndarray, exponent: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log evidence, mean and variance of the function at `NEW_INPUTS`, for every noise variance."""
    Z, new = (
        np.column_stack([np.ones(len(x)), np.maximum(direction * x[:, 0] - offset, 0)]) for x in (INPUTS, NEW_INPUTS)
    )
    n_rows = len(Z)
    variance, start = PRIOR.coefficient_variance, np.full(2, PRIOR.coefficient_mean)
    covariances = (noise / exponent)[:, None, None] * np.eye(n_rows) + variance * Z @ Z.T
    errors = RESPONSE - Z @ start
    solved = np.linalg.solve(covariances, errors[:, None])[..., 0]
    evidence = -0.5 * (solved @ errors + np.linalg.slogdet(2 * np.pi * covariances)[1])
    evidence += 0.5 * n_rows * ((1 - exponent) * np.log(2 * np.pi * noise) - np.log(exponent))
    cross = variance * new @ Z.T
    mean = new @ start + solved @ cross.T
    explained = np.einsum("gin,in->gi", np.swapaxes(np.linalg.solve(covariances, cross.T), 1, 2), cross)
    return evidence, mean, variance * (new**2).sum(axis=1) - explained

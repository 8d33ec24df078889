"""The model written a second time, densely and in NumPy, from its definition: what the tests compare with."""

from typing import NamedTuple

import numpy as np
from scipy import stats


class Problem(NamedTuple):
    """Rows, hyperplanes and hyperparameters without any symmetry."""

    inputs: np.ndarray
    response: np.ndarray
    row_weights: np.ndarray
    normals: np.ndarray
    offsets: np.ndarray
    coefficients: np.ndarray
    noise_variance: float


def make_problem(seed: int, n_rows: int = 7, n_columns: int = 2, n_hyperplanes: int = 3) -> Problem:
    rng = np.random.default_rng(seed)
    normals = rng.normal(size=(n_hyperplanes, n_columns))
    return Problem(
        inputs=rng.uniform(-1, 1, size=(n_rows, n_columns)),
        response=rng.normal(0.4, 1.3, size=n_rows),
        row_weights=rng.uniform(0.3, 2.5, size=n_rows),
        normals=normals / np.linalg.norm(normals, axis=1, keepdims=True),
        offsets=rng.uniform(0, 0.6, size=n_hyperplanes),
        coefficients=rng.normal(0.5, 1.0, size=n_hyperplanes + 1),
        noise_variance=0.37,
    )


def features(inputs: np.ndarray, normals: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """A constant and relu(<x, n> - mu): (n, m + 1)."""
    hidden = [np.maximum(inputs @ normal - offset, 0) for normal, offset in zip(normals, offsets, strict=True)]
    return np.column_stack([np.ones(len(inputs)), *hidden])


def log_likelihood(problem: Problem) -> float:
    mean = features(problem.inputs, problem.normals, problem.offsets) @ problem.coefficients
    scales = np.sqrt(problem.noise_variance / problem.row_weights)
    return float(stats.norm(mean, scales).logpdf(problem.response).sum())


def log_evidence(problem: Problem, exponent: float, mean: float, variance: float) -> float:
    """Log of the integral of likelihood^exponent over coefficients ~ N(mean, variance I).

    N(y; f, v)^exponent is N(y; f, v / exponent) times a constant, so that y is Gaussian once the coefficients are
    integrated out.
    """
    Z = features(problem.inputs, problem.normals, problem.offsets)
    noise = problem.noise_variance / problem.row_weights
    constant = 0.5 * ((1 - exponent) * np.log(2 * np.pi * noise) - np.log(exponent)).sum()
    covariance = np.diag(noise / exponent) + variance * Z @ Z.T
    marginal = stats.multivariate_normal(Z @ np.full(Z.shape[1], mean), covariance)
    return float(marginal.logpdf(problem.response) + constant)


def conditional_moments(
    problem: Problem, exponent: float, mean: float, variance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the coefficients given all else, from the joint covariance of coefficients and rows."""
    Z = features(problem.inputs, problem.normals, problem.offsets)
    noise = problem.noise_variance / problem.row_weights
    gain = np.linalg.solve(np.diag(noise / exponent) + variance * Z @ Z.T, variance * Z).T
    start = np.full(Z.shape[1], mean)
    return start + gain @ (problem.response - Z @ start), variance * (np.eye(Z.shape[1]) - gain @ Z)

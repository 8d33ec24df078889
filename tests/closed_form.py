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
    """Each row counts as often as its weight says."""
    mean = features(problem.inputs, problem.normals, problem.offsets) @ problem.coefficients
    return float(problem.row_weights @ stats.norm(mean, np.sqrt(problem.noise_variance)).logpdf(problem.response))


def log_evidence(problem: Problem, exponent: float, mean: float, variance: float | np.ndarray) -> float:
    """Log of the integral of likelihood^exponent over coefficients ~ N(mean, diag(variance)).

    N(y; f, v)^power is N(y; f, v / power) times a constant, so that y is Gaussian once the coefficients are integrated
    out.
    """
    Z = features(problem.inputs, problem.normals, problem.offsets)
    noise, powers = problem.noise_variance, exponent * problem.row_weights
    constant = 0.5 * ((1 - powers) * np.log(2 * np.pi * noise) - np.log(powers)).sum()
    marginal = stats.multivariate_normal(Z @ np.full(Z.shape[1], mean), _covariance(Z, problem, exponent, variance))
    return float(marginal.logpdf(problem.response) + constant)


def conditional_moments(
    problem: Problem, exponent: float, mean: float, variance: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the coefficients given all else, from the joint covariance of coefficients and rows."""
    Z = features(problem.inputs, problem.normals, problem.offsets)
    variances = np.broadcast_to(variance, Z.shape[1])
    gain = np.linalg.solve(_covariance(Z, problem, exponent, variance), Z * variances).T
    start = np.full(Z.shape[1], mean)
    return start + gain @ (problem.response - Z @ start), np.diag(variances) - (gain @ Z) * variances


def _covariance(Z: np.ndarray, problem: Problem, exponent: float, variance: float | np.ndarray) -> np.ndarray:
    """Of the rows, once the coefficients are integrated out."""
    return np.diag(problem.noise_variance / (exponent * problem.row_weights)) + (Z * variance) @ Z.T

"""Predictions: averages over the functions of the particles, never of their parameters.

Every function walks over blocks of rows so that no array of (n_particles x rows) exceeds a number of bytes.
"""

from collections.abc import Iterator
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from hyperplanes.model.features import EXACT, lift, relu_features

Floats = NDArray[np.float64]

ROW_COPIES = 6
"""Arrays of (n_particles x rows) float64 that a prediction holds at once, as an upper bound."""
ROWS_AT_ONCE = 128
MOST_NEWTON_STEPS = 100
QUANTILE_TOLERANCE = 1e-9
"""Relative to the smallest standard deviation of the noise."""


class Particles(Protocol):
    """Weighted particles; the posterior that inference returns is one."""

    @property
    def normals(self) -> NDArray[np.floating]:
        """(n_particles, m, p)."""

    @property
    def offsets(self) -> NDArray[np.floating]:
        """(n_particles, m)."""

    @property
    def coefficients(self) -> Floats:
        """(n_particles, m + 1)."""

    @property
    def noise_variance(self) -> Floats:
        """(n_particles,)."""

    @property
    def log_weights(self) -> Floats:
        """(n_particles,), normalised."""


def mean(particles: Particles, inputs: ArrayLike, *, max_bytes: int) -> Floats:
    """Posterior mean of the function at each row."""
    weights = np.exp(particles.log_weights)
    return np.concatenate([average(weights, values) for values in function_values(particles, inputs, max_bytes)])


def moments(particles: Particles, inputs: ArrayLike, *, max_bytes: int) -> tuple[Floats, Floats]:
    """Posterior mean and variance of the function at each row."""
    weights = np.exp(particles.log_weights)
    means, variances = [], []
    for values in function_values(particles, inputs, max_bytes):
        means.append(average(weights, values))
        variances.append(average(weights, (values - means[-1]) ** 2))
    return np.concatenate(means), np.concatenate(variances)


def quantiles(
    particles: Particles, inputs: ArrayLike, probabilities: ArrayLike, *, target: str, max_bytes: int
) -> Floats:
    """Quantiles of the posterior predictive distribution at each row: (n, n_probabilities).

    Parameters
    ----------
    particles, inputs, max_bytes
        As everywhere here.
    probabilities : (n_probabilities,)
        Between 0 and 1.
    target : {"response", "mean"}
        Of a new response, or of the function itself.
    """
    weights, scales = np.exp(particles.log_weights), np.sqrt(particles.noise_variance)
    blocks = [
        quantiles_of(values, scales, weights, probabilities, target=target)
        for values in function_values(particles, inputs, max_bytes)
    ]
    return np.concatenate(blocks)


def quantiles_of(values: Floats, scales: Floats, weights: Floats, probabilities: ArrayLike, *, target: str) -> Floats:
    """Quantiles (rows, n_probabilities) of mixtures of values (n_particles, rows), or of Gaussians around them.

    Weights are (n_particles,), or (n_particles, rows) where they differ between rows.
    """
    levels = np.asarray(probabilities, dtype=np.float64)
    if target == "mean":
        return _weighted_quantiles(values, weights, levels)
    return np.column_stack([_mixture_quantile(values, scales, weights, level) for level in levels])


def log_density(particles: Particles, inputs: ArrayLike, response: ArrayLike, *, max_bytes: int) -> Floats:
    """Log posterior predictive density of each response."""
    observed = np.asarray(response, dtype=np.float64)
    weights, variance = np.exp(particles.log_weights), particles.noise_variance[:, None]
    blocks, start = [], 0
    for values in function_values(particles, inputs, max_bytes):
        errors = observed[start : start + values.shape[1]] - values
        terms = -0.5 * (np.log(2 * np.pi * variance) + errors**2 / variance)
        largest = terms.max(axis=0)
        blocks.append(largest + np.log(average(weights, np.exp(terms - largest))))
        start += values.shape[1]
    return np.concatenate(blocks)


def draw(
    rng: np.random.Generator, particles: Particles, inputs: ArrayLike, n_draws: int, *, target: str, max_bytes: int
) -> Floats:
    """Draws from the posterior predictive distribution, (n, n_draws); one draw is one function at all rows."""
    chosen = rng.choice(len(particles.log_weights), size=n_draws, p=np.exp(particles.log_weights))
    scales = np.sqrt(particles.noise_variance[chosen])
    blocks = []
    for values in function_values(particles, inputs, max_bytes):
        draws = values[chosen].T
        blocks.append(draws if target == "mean" else draws + scales * rng.standard_normal(draws.shape))
    return np.concatenate(blocks)


def function_values(particles: Particles, inputs: ArrayLike, max_bytes: int) -> Iterator[Floats]:
    """Yield the function of every particle at successive blocks of rows, (n_particles, rows), within `max_bytes`.

    Functions are always evaluated for the same number of rows at a time, so that the budget does not change a bit.
    """
    rows = np.asarray(inputs)
    largest = max(1, max_bytes // (8 * ROW_COPIES * len(particles.offsets)))
    for start in range(0, len(rows), ROWS_AT_ONCE):
        n_rows = min(ROWS_AT_ONCE, len(rows) - start)
        block = np.zeros((ROWS_AT_ONCE, rows.shape[1]), dtype=particles.normals.dtype)
        block[:n_rows] = rows[start : start + n_rows]
        values = np.asarray(_evaluate(particles.normals, particles.offsets, particles.coefficients, block))
        for first in range(0, n_rows, largest):
            yield values[:, first : min(first + largest, n_rows)].astype(np.float64)


def average(weights: Floats, values: Floats) -> Floats:
    """Weighted sum over particles of values (n_particles, rows), row by row: it rounds alike for any number of rows.

    Weights are (n_particles,), or (n_particles, rows).
    """
    return np.asarray(np.multiply(values.T, weights.T, order="C").sum(axis=1))


@jax.jit
def _evaluate(normals: jax.Array, offsets: jax.Array, coefficients: jax.Array, rows: jax.Array) -> jax.Array:
    inputs = jnp.column_stack([rows, jnp.ones(len(rows), dtype=rows.dtype)]).T
    output = coefficients.astype(rows.dtype)

    def one(particle: tuple[jax.Array, jax.Array]) -> jax.Array:
        planes, output = particle
        return output[0] + jnp.matmul(output[1:], relu_features(planes, inputs), precision=EXACT)

    values: jax.Array = jax.lax.map(one, (lift(normals, offsets), output), batch_size=8)
    return values


def _weighted_quantiles(values: Floats, weights: Floats, levels: Floats) -> Floats:
    """Quantiles of weighted values along the first axis, linear between the mid-points of the weights."""
    order = np.argsort(values, axis=0)
    sorted_values = np.take_along_axis(values, order, axis=0)
    sorted_weights = weights[order] if weights.ndim == 1 else np.take_along_axis(weights, order, axis=0)
    positions = np.cumsum(sorted_weights, axis=0) - 0.5 * sorted_weights
    return np.array(
        [np.interp(levels, positions[:, row], sorted_values[:, row]) for row in range(values.shape[1])]
    ).reshape(-1, len(levels))


def _mixture_quantile(values: Floats, scales: Floats, weights: Floats, level: float) -> Floats:
    """Quantile of a mixture of Gaussians for each column of `values`, by Newton steps kept inside a bracket.

    It lies between the least and the largest of the components' own quantiles.
    """
    own = values + (scales * ndtri(level))[:, None]
    low, high = own.min(axis=0), own.max(axis=0)
    quantile = average(weights, own)
    done = np.zeros(len(quantile), dtype=bool)  # each row stops on its own, whatever rows are beside it
    for _ in range(MOST_NEWTON_STEPS):
        standard = (quantile - values) / scales[:, None]
        excess = average(weights, ndtr(standard)) - level
        low, high = np.where(excess < 0, quantile, low), np.where(excess < 0, high, quantile)
        slope = average((weights.T / scales).T, np.exp(-0.5 * standard**2)) / np.sqrt(2 * np.pi)
        newton = quantile - excess / np.maximum(slope, np.finfo(float).tiny)
        proposal = np.where((newton >= low) & (newton <= high), newton, 0.5 * (low + high))
        step = np.where(done, 0.0, proposal - quantile)
        quantile = quantile + step
        done |= np.abs(step) <= QUANTILE_TOLERANCE * scales.min()
        if done.all():
            break
    return quantile

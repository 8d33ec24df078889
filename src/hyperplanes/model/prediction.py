"""Predictions: averages over the functions of the particles, never of their parameters.

At every row the predictive distribution is a mixture of Gaussians, or of t distributions, one for each particle. Every
function walks over blocks of rows so that no array of (n_particles x rows) exceeds a number of bytes.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from hyperplanes.model.features import EXACT, lift, relu_features
from hyperplanes.model.likelihoods.varying import LARGEST_SPREAD

Floats = NDArray[np.float64]

ROW_COPIES = 8
"""Arrays of (n_particles x rows) float64 that a prediction holds at once, as an upper bound."""
ROWS_AT_ONCE = 128
MOST_NEWTON_STEPS = 100
QUANTILE_TOLERANCE = 1e-9
"""Relative to the smallest standard deviation of the noise."""


class Functions(Protocol):
    """Functions of particles."""

    @property
    def normals(self) -> NDArray[np.floating]:
        """(n_particles, m, p)."""

    @property
    def offsets(self) -> NDArray[np.floating]:
        """(n_particles, m)."""

    @property
    def coefficients(self) -> Floats:
        """(n_particles, m + 1)."""


class Particles(Functions, Protocol):
    """Weighted particles; the posterior that inference returns is one."""

    @property
    def noise_variance(self) -> Floats:
        """(n_particles,)."""

    @property
    def log_weights(self) -> Floats:
        """(n_particles,), normalised."""

    @property
    def degrees(self) -> Floats | None:
        """(n_particles,) degrees of freedom of the noise, None where it is Gaussian."""

    @property
    def spread(self) -> Functions | None:
        """Log standard deviations of the noise, None where they do not vary."""


class Mixture(NamedTuple):
    """The predictive distribution at some rows."""

    centres: Floats
    """(n_particles, rows) functions."""
    scales: Floats
    """(n_particles, rows) or (n_particles, 1), of the noise."""
    degrees: Floats
    """(n_particles, 1) degrees of freedom of the noise, infinite where it is Gaussian."""
    weights: Floats
    """(n_particles,), or (n_particles, rows) where they differ between rows."""

    @property
    def variances(self) -> Floats:
        """Of the noise, as `scales`."""
        return np.asarray(self.scales**2 * standard_variance(self.degrees))


def mean(particles: Particles, inputs: ArrayLike, *, max_bytes: int) -> Floats:
    """Posterior mean of the function at each row."""
    weights = np.exp(particles.log_weights)
    return np.concatenate([average(weights, values) for values in function_values(particles, inputs, max_bytes)])


def moments(particles: Particles, inputs: ArrayLike, *, max_bytes: int) -> tuple[Floats, Floats]:
    """Posterior mean, and variance of a new response, at each row."""
    means, variances = [], []
    for mixture in mixtures(particles, inputs, max_bytes):
        means.append(average(mixture.weights, mixture.centres))
        of_function = average(mixture.weights, (mixture.centres - means[-1]) ** 2)
        variances.append(of_function + average(mixture.weights, mixture.variances))
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
    blocks = [quantiles_of(mixture, probabilities, target=target) for mixture in mixtures(particles, inputs, max_bytes)]
    return np.concatenate(blocks)


def quantiles_of(mixture: Mixture, probabilities: ArrayLike, *, target: str) -> Floats:
    """Quantiles (rows, n_probabilities) of new responses, or of the functions themselves."""
    levels = np.asarray(probabilities, dtype=np.float64)
    if target == "mean":
        return weighted_quantiles(mixture.centres, mixture.weights, levels)
    return np.column_stack([_mixture_quantile(mixture, level) for level in levels])


def log_density(particles: Particles, inputs: ArrayLike, response: ArrayLike, *, max_bytes: int) -> Floats:
    """Log posterior predictive density of each response."""
    blocks = []
    for mixture, errors in _standard_errors(particles, inputs, response, max_bytes):
        terms = log_standard_density(errors, mixture.degrees) - np.log(mixture.scales)
        blocks.append(log_average(mixture.weights, terms))
    return np.concatenate(blocks)


def cumulative_probability(particles: Particles, inputs: ArrayLike, response: ArrayLike, *, max_bytes: int) -> Floats:
    """Posterior predictive probability that a new response is at most each response."""
    blocks = [
        average(mixture.weights, _standard_probability(errors, mixture.degrees))
        for mixture, errors in _standard_errors(particles, inputs, response, max_bytes)
    ]
    return np.clip(np.concatenate(blocks), 0.0, 1.0)


def _standard_errors(
    particles: Particles, inputs: ArrayLike, response: ArrayLike, max_bytes: int
) -> Iterator[tuple[Mixture, Floats]]:
    """Yield the predictive distribution, and errors of each particle over the scale of its noise, at blocks of rows."""
    observed, start = np.asarray(response, dtype=np.float64), 0
    for mixture in mixtures(particles, inputs, max_bytes):
        stop = start + mixture.centres.shape[1]
        yield mixture, (observed[start:stop] - mixture.centres) / mixture.scales
        start = stop


def log_average(weights: Floats, logarithms: Floats) -> Floats:
    """Logarithm of the `average` of what has these logarithms."""
    largest = logarithms.max(axis=0)
    return np.asarray(largest + np.log(average(weights, np.exp(logarithms - largest))))


def draw(
    rng: np.random.Generator, particles: Particles, inputs: ArrayLike, n_draws: int, *, target: str, max_bytes: int
) -> Floats:
    """Draws from the posterior predictive distribution, (n, n_draws); one draw is one function at all rows."""
    chosen = rng.choice(len(particles.log_weights), size=n_draws, p=np.exp(particles.log_weights))
    blocks = []
    for mixture in mixtures(particles, inputs, max_bytes):
        draws, scales = mixture.centres[chosen].T, mixture.scales[chosen].T
        if target == "response":
            draws = draws + scales * draw_standard(rng, mixture.degrees[chosen, 0], draws.shape)
        blocks.append(draws)
    return np.concatenate(blocks)


def mixtures(particles: Particles, inputs: ArrayLike, max_bytes: int) -> Iterator[Mixture]:
    """Yield the predictive distribution at successive blocks of rows."""
    weights, scales = np.exp(particles.log_weights), np.sqrt(particles.noise_variance)[:, None]
    degrees = np.full_like(scales, np.inf) if particles.degrees is None else particles.degrees[:, None]
    if particles.spread is None:
        for values in function_values(particles, inputs, max_bytes):
            yield Mixture(values, scales, degrees, weights)
        return
    spreads = function_values(particles.spread, inputs, max_bytes)
    for values, spread in zip(function_values(particles, inputs, max_bytes), spreads, strict=True):
        yield Mixture(values, np.exp(np.clip(spread, -LARGEST_SPREAD, LARGEST_SPREAD)), degrees, weights)


def function_values(particles: Functions, inputs: ArrayLike, max_bytes: int) -> Iterator[Floats]:
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


def weighted_quantiles(values: Floats, weights: Floats, levels: Floats) -> Floats:
    """Quantiles of weighted values along the first axis, linear between the mid-points of the weights."""
    order = np.argsort(values, axis=0)
    sorted_values = np.take_along_axis(values, order, axis=0)
    sorted_weights = weights[order] if weights.ndim == 1 else np.take_along_axis(weights, order, axis=0)
    positions = np.cumsum(sorted_weights, axis=0) - 0.5 * sorted_weights
    return np.array(
        [np.interp(levels, positions[:, row], sorted_values[:, row]) for row in range(values.shape[1])]
    ).reshape(-1, len(levels))


def _mixture_quantile(mixture: Mixture, level: float) -> Floats:
    """Quantile of a mixture at each row, by Newton steps kept inside a bracket.

    It lies between the least and the largest of the components' own quantiles.
    """
    values, scales, degrees, weights = mixture
    densities = (weights if weights.ndim == 2 else weights[:, None]) / scales
    own = values + scales * standard_quantile(level, degrees)
    low, high = own.min(axis=0), own.max(axis=0)
    quantile = average(weights, own)
    done = np.zeros(len(quantile), dtype=bool)  # each row stops on its own, whatever rows are beside it
    for _ in range(MOST_NEWTON_STEPS):
        standard = (quantile - values) / scales
        excess = average(weights, _standard_probability(standard, degrees)) - level
        low, high = np.where(excess < 0, quantile, low), np.where(excess < 0, high, quantile)
        slope = average(densities, np.exp(log_standard_density(standard, degrees)))
        newton = quantile - excess / np.maximum(slope, np.finfo(float).tiny)
        proposal = np.where((newton >= low) & (newton <= high), newton, 0.5 * (low + high))
        step = np.where(done, 0.0, proposal - quantile)
        quantile = quantile + step
        done |= np.abs(step) <= QUANTILE_TOLERANCE * scales.min(axis=0)
        if done.all():
            break
    return quantile


def _standard_probability(values: Floats, degrees: Floats) -> Floats:
    """Distribution function of noise of scale 1."""
    return np.asarray(ndtr(values) if np.isinf(degrees).all() else stdtr(np.minimum(degrees, 1e9), values))


def standard_quantile(level: float, degrees: Floats) -> Floats:
    """Quantile of noise of scale 1, shaped as `degrees`."""
    if np.isinf(degrees).all():
        return np.full_like(degrees, ndtri(level))
    return np.asarray(np.where(np.isinf(degrees), ndtri(level), stdtrit(np.minimum(degrees, 1e9), level)))


def log_standard_density(values: Floats, degrees: Floats) -> Floats:
    """Log density of noise of scale 1."""
    gaussian = -0.5 * (np.log(2 * np.pi) + values**2)
    if np.isinf(degrees).all():
        return np.asarray(gaussian)
    finite = np.minimum(degrees, 1e9)
    constant = gammaln(0.5 * (finite + 1)) - gammaln(0.5 * finite) - 0.5 * np.log(np.pi * finite)
    heavy = constant - 0.5 * (finite + 1) * np.log1p(values**2 / finite)
    return np.asarray(np.where(np.isinf(degrees), gaussian, heavy))


def standard_variance(degrees: Floats) -> Floats:
    """Variance of noise of scale 1, with some degrees of freedom."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(degrees), 1.0, degrees / (degrees - 2))


def draw_standard(rng: np.random.Generator, degrees: Floats, shape: tuple[int, ...]) -> Floats:
    """Noise of scale 1, with degrees of freedom for each column."""
    white = rng.standard_normal(shape)
    if np.isinf(degrees).all():
        return white
    finite = np.minimum(degrees, 1e9)
    return np.asarray(white * np.sqrt(np.where(np.isinf(degrees), 1.0, finite / rng.chisquare(finite, shape))))

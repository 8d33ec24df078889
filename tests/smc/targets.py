"""Targets whose evidence is known, and moves that mix as well as one likes."""

from typing import Any

import jax
import numpy as np
from scipy import integrate, stats

from hyperplanes import smc


class GaussianTarget:
    """N(mean, covariance) times a Gaussian likelihood in two dimensions, without any symmetry.

    Parameters
    ----------
    memory : float
        Correlation of a particle with itself before the move: 0 for independent draws, 1 for no move at all.
    """

    mean = np.array([1.0, -0.4])
    covariance = np.array([[1.3, 0.5], [0.5, 0.4]])
    centre = np.array([-0.3, 0.9])
    precision = np.array([[4.0, -1.5], [-1.5, 2.5]])
    constant = 0.37

    def __init__(self, memory: float = 0.0) -> None:
        self.memory = memory

    def draw_prior(self, rng: np.random.Generator, n_particles: int) -> np.ndarray:
        return rng.multivariate_normal(self.mean, self.covariance, size=n_particles)

    def log_likelihood(self, particles: np.ndarray) -> np.ndarray:
        errors = np.asarray(particles) - self.centre
        return self.constant - 0.5 * np.einsum("ni,ij,nj->n", errors, self.precision, errors)

    def path(self, particles: Any, exponent: float) -> smc.LogIncrements:
        values = self.log_likelihood(particles)
        return lambda exponents: (exponents - exponent)[:, None] * values

    def moments(self, exponent: float) -> tuple[np.ndarray, np.ndarray]:
        prior_precision = np.linalg.inv(self.covariance)
        covariance = np.linalg.inv(prior_precision + exponent * self.precision)
        return covariance @ (prior_precision @ self.mean + exponent * self.precision @ self.centre), covariance

    def log_evidence(self, exponent: float = 1.0) -> float:
        """exp(-e'Qe / 2) is a Gaussian density in the centre, of covariance Q^-1, but for its normaliser."""
        noise = np.linalg.inv(exponent * self.precision)
        marginal = stats.multivariate_normal(self.mean, self.covariance + noise)
        normaliser = 0.5 * np.linalg.slogdet(2 * np.pi * noise)[1]
        return float(marginal.logpdf(self.centre) + normaliser + exponent * self.constant)

    def move(self, key: jax.Array, particles: Any, exponent: float) -> tuple[np.ndarray, float]:
        """Autoregression with the target at `exponent` as its stationary distribution."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        mean, covariance = self.moments(exponent)
        fresh = rng.multivariate_normal(np.zeros(2), covariance, size=len(particles))
        return mean + self.memory * (np.asarray(particles) - mean) + np.sqrt(1 - self.memory**2) * fresh, 1.0


class UnitTarget:
    """Units that are rare before the data and certain after them, each turned on or off now and then.

    Parameters
    ----------
    log_odds : float
        Of each unit being off before the data.
    rate : float
        Share of the units that a move proposes to turn. Where it is small, units are found late.
    """

    gains = np.linspace(10.0, 30.0, 10)

    def __init__(self, log_odds: float, rate: float) -> None:
        self.log_odds = log_odds
        self.rate = rate

    @property
    def probability(self) -> float:
        return float(1 / (1 + np.exp(self.log_odds)))

    def draw_prior(self, rng: np.random.Generator, n_particles: int) -> np.ndarray:
        return (rng.random((n_particles, len(self.gains))) < self.probability).astype(float)

    def path(self, particles: Any, exponent: float) -> smc.LogIncrements:
        values = np.asarray(particles) @ self.gains
        return lambda exponents: (exponents - exponent)[:, None] * values

    def log_evidence(self) -> float:
        return float(np.log1p(self.probability * np.expm1(self.gains)).sum())

    def move(self, key: jax.Array, particles: Any, exponent: float) -> tuple[np.ndarray, float]:
        """Metropolis steps of single units."""
        rng, units = np.random.default_rng(np.asarray(jax.random.key_data(key))), np.asarray(particles)
        gain = (1 - 2 * units) * (exponent * self.gains - self.log_odds)
        turned = (rng.random(units.shape) < self.rate) & (np.log(rng.random(units.shape)) < gain)
        return np.where(turned, 1 - units, units), float(turned.mean())


class CountTarget:
    """x ~ N(0.5, 0.8^2) and a likelihood proportional to that of a Poisson count of exp(x), skewed."""

    count = 7.0
    prior = stats.norm(0.5, 0.8)
    n_moves = 4
    reach = 0.7

    def draw_prior(self, rng: np.random.Generator, n_particles: int) -> np.ndarray:
        return self.prior.rvs(size=n_particles, random_state=rng)

    def log_likelihood(self, particles: np.ndarray) -> np.ndarray:
        return self.count * np.asarray(particles) - np.exp(particles)

    def path(self, particles: Any, exponent: float) -> smc.LogIncrements:
        values = self.log_likelihood(particles)
        return lambda exponents: (exponents - exponent)[:, None] * values

    def integral(self, function: Any = lambda x: 1.0) -> float:
        def integrand(x: float) -> float:
            return function(x) * self.prior.pdf(x) * np.exp(self.log_likelihood(x))

        return integrate.quad(integrand, -6, 6, epsabs=0, epsrel=1e-10)[0]

    def log_evidence(self) -> float:
        return float(np.log(self.integral()))

    def move(self, key: jax.Array, particles: Any, exponent: float) -> tuple[np.ndarray, float]:
        """A few random-walk Metropolis steps."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        current, n_accepted = np.asarray(particles), 0.0
        for _ in range(self.n_moves):
            proposal = current + self.reach * rng.standard_normal(len(current))
            gain = self._log_target(proposal, exponent) - self._log_target(current, exponent)
            accepted = np.log(rng.uniform(size=len(current))) < gain
            current, n_accepted = np.where(accepted, proposal, current), n_accepted + accepted.mean()
        return current, n_accepted / self.n_moves

    def _log_target(self, particles: np.ndarray, exponent: float) -> np.ndarray:
        return -0.5 * ((particles - 0.5) / 0.8) ** 2 + exponent * self.log_likelihood(particles)

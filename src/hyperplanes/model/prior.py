"""The prior: a process of hyperplanes, Gaussian coefficients and an inverse gamma noise variance."""

from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from hyperplanes.process import from_white, normal_quantiles, uniforms

N_CANDIDATES = 16
TINY = 1e-300
LOG_VARIANCES = (-23.0, 230.0)
"""Bounds of log sigma^2: below 1e-10 the rounding of float32 features passes for noise, above 1e100 sums overflow."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Prior:
    """Hyperparameters, for inputs in [-1, 1]^p and a standardised response.

    n ~ Uniform(sphere), mu ~ Uniform(0, reach), w ~ N(mean, variance I), sigma^2 ~ IG(shape, scale).
    """

    coefficient_mean: float = 0.0
    """mu_0 of the paper."""
    coefficient_variance: float = 10.0
    """sigma_0^2 of the paper."""
    noise_shape: float = 1.0
    """a_0 of the paper."""
    noise_scale: float = 0.01
    """b_0 of the paper."""
    reach: float = 0.0
    """Largest offset l; 0 means sqrt(p), the radius of the ball around [-1, 1]^p."""

    def resolved(self, n_columns: int) -> "Prior":
        """Check every value and fill the reach in for `n_columns` columns."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, Real):
                raise TypeError(f"prior.{field.name} must be a number, got {value!r}")
        prior = replace(self, reach=self.reach or float(np.sqrt(n_columns)))
        for field in fields(prior):
            value = getattr(prior, field.name)
            if not np.isfinite(value):
                raise ValueError(f"prior.{field.name} must be finite, got {value}")
            if field.name != "coefficient_mean" and value <= 0:
                raise ValueError(f"prior.{field.name} must be positive, got {value}")
        return prior


class Particle(NamedTuple):
    """One draw of everything that is unknown. Leading axes count particles."""

    normals: jax.Array
    """(..., m, p) unit vectors."""
    offsets: jax.Array
    """(..., m) signed distances from the origin."""
    coefficients: jax.Array
    """(..., m + 1) output layer, intercept first, float64."""
    noise_variance: jax.Array
    """(...,) sigma^2, float64."""


def draw_prior(key: jax.Array, prior: Prior, n_hyperplanes: int, n_columns: int, dtype: DTypeLike) -> Particle:
    """Draw one particle from the prior."""
    key_white, key_noise = jax.random.split(key)
    n_white = n_hyperplanes * (n_columns + 1)
    white = normal_quantiles(uniforms(key_white, (n_white + n_hyperplanes + 1,)))
    hyperplanes = from_white(white[:n_white].reshape(n_hyperplanes, n_columns + 1), prior.reach)
    return Particle(
        normals=hyperplanes.normals.astype(dtype),
        offsets=hyperplanes.offsets.astype(dtype),
        coefficients=prior.coefficient_mean + jnp.sqrt(prior.coefficient_variance) * white[n_white:],
        noise_variance=draw_inverse_gamma(key_noise, prior.noise_shape, prior.noise_scale),
    )


def draw_inverse_gamma(key: jax.Array, shape: jax.Array | float, scale: jax.Array | float) -> jax.Array:
    """Draw from IG(shape, scale), held within `LOG_VARIANCES`.

    Marsaglia & Tsang's rejection for a gamma of shape + 1, with all its candidates drawn at once: each is accepted with
    probability 0.95 or more, so that none is only once in 10^20 draws. A loop until acceptance takes seconds to
    compile.
    """
    draws = uniforms(key, (2 * N_CANDIDATES + 1,))
    white, heights = normal_quantiles(draws[:N_CANDIDATES]), draws[N_CANDIDATES:-1]
    d = shape + 2 / 3
    cube = jnp.maximum(1 + white / (3 * jnp.sqrt(d)), 0) ** 3
    log_bound = 0.5 * white**2 + d * (1 - cube + jnp.log(jnp.maximum(cube, TINY)))
    accepted = (cube > 0) & (jnp.log(heights) < log_bound)
    log_gamma = jnp.log(d * cube[jnp.argmax(accepted)]) + jnp.log(draws[-1]) / shape
    return jnp.exp(jnp.clip(jnp.log(scale) - log_gamma, *LOG_VARIANCES))

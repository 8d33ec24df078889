"""Pólya-Gamma variables, which make a logistic likelihood Gaussian.

(e^psi)^a / (1 + e^psi)^b = 2^-b e^((a - b / 2) psi) E exp(-omega psi^2 / 2) with omega ~ PG(b, 0), for any b > 0
(Polson, Scott & Windle 2013), so that a likelihood to any exponent, of rows with any weight, is a mixture of Gaussians.
"""

import jax
import jax.numpy as jnp

from hyperplanes.process import normal_quantiles, uniforms

N_CANDIDATES = 5
"""Of Marsaglia & Tsang's rejection; all are rejected once in 10^6 draws, and the first is taken then."""
N_TERMS = 3
"""Terms of the infinite sum that are drawn each; the others are drawn as one gamma variable with the mean and variance
of their sum. The third cumulant errs by less than 1e-5 of its size at tilt 0."""
NEAR_ZERO = 0.5
"""Tilts for which moments are sums of a few powers: differences of exponentials would cancel."""


def draw_gammas(key: jax.Array, shapes: jax.Array) -> jax.Array:
    """Gamma variables of rate 1, one for each of the shapes, which are positive; tiny ones may be 0."""
    draws = uniforms(key, (2 * N_CANDIDATES + 1, *shapes.shape), shapes.dtype)
    white, heights = normal_quantiles(draws[:N_CANDIDATES]), draws[N_CANDIDATES:-1]
    d = shapes + 2 / 3
    cube = jnp.maximum(1 + white / (3 * jnp.sqrt(d)), 0) ** 3
    log_bound = 0.5 * white**2 + d * (1 - cube + jnp.log(jnp.maximum(cube, 1e-30)))
    accepted = (cube > 0) & (jnp.log(heights) < log_bound)
    chosen = cube[-1]
    for k in reversed(range(N_CANDIDATES - 1)):
        chosen = jnp.where(accepted[k], cube[k], chosen)
    return d * chosen * jnp.exp(jnp.log(draws[-1]) / shapes)


def draw_polya_gamma(key: jax.Array, shape: jax.Array, tilt: jax.Array) -> jax.Array:
    """PG(shape, tilt) = sum over k of g_k / (2 pi^2 ((k - 1/2)^2 + tilt^2 / (4 pi^2))), g_k ~ Gamma(shape)."""
    lifted = (tilt / (2 * jnp.pi)) ** 2
    scales = [1 / (2 * jnp.pi**2 * ((k + 0.5) ** 2 + lifted)) for k in range(N_TERMS)]
    mean, variance = moments(tilt)
    mean = jnp.maximum(mean - sum(scales), 1e-3 * mean)
    variance = jnp.maximum(variance - sum(scale**2 for scale in scales), 1e-6 * variance)
    shapes = jnp.stack([*([shape] * N_TERMS), shape * mean**2 / variance])
    gammas = draw_gammas(key, shapes)
    return jnp.sum(gammas * jnp.stack([*scales, variance / mean]), axis=0)


def moments(tilt: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Mean and variance of PG(1, tilt)."""
    size = jnp.abs(tilt)
    large = jnp.maximum(size, NEAR_ZERO)
    tail = jnp.exp(-large)
    square = jnp.minimum(size, NEAR_ZERO) ** 2
    mean = (1 - tail) / (1 + tail) / (2 * large)
    mean = jnp.where(size < NEAR_ZERO, 1 / 4 - square / 48 + square**2 / 480 - 17 * square**3 / 80640, mean)
    # (sinh c - c) / (4 c^3 cosh^2(c / 2)) without an overflow
    variance = (1 - tail**2 - 2 * large * tail) / (2 * large**3 * (1 + tail) ** 2)
    near = 1 / 24 - square / 120 + 17 * square**2 / 13440 - 31 * square**3 / 181440
    return mean, jnp.where(size < NEAR_ZERO, near, variance)

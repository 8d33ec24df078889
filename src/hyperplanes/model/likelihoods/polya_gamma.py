"""Pólya-Gamma variables, which make a logistic likelihood Gaussian.

(e^psi)^a / (1 + e^psi)^b = 2^-b e^((a - b / 2) psi) E exp(-omega psi^2 / 2) with omega ~ PG(b, 0), for any b > 0
(Polson, Scott & Windle 2013), so that a likelihood to any exponent, of rows with any weight, is a mixture of Gaussians.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from hyperplanes.process import normal_quantiles, uniforms

MOST_ATTEMPTS = 50
"""Of Marsaglia & Tsang's rejection, each of which accepts 19 of 20: no loop is endless, whatever the shapes."""
N_TERMS = 2
"""Terms of the infinite sum that are drawn each. The others are drawn as one gamma variable and a constant, with the
mean, variance and skewness of their sum: the logarithm of E exp(-t omega) errs by less than 2e-5 up to t = 20 and less
than 5e-4 up to t = 50."""
NEAR_ZERO = 0.5
"""Tilts for which the mean is a sum of a few powers: differences of exponentials would cancel."""
FIRST_OF_OTHERS = (N_TERMS + 0.5) ** 2
DEGREE = 6
N_NODES = 64
FARTHEST_NODE = 0.99
N_SUMMED = 4000


def draw_gammas(key: jax.Array, shapes: jax.Array) -> jax.Array:
    """Gamma variables of rate 1, one for each of the shapes, which are positive; tiny ones may be 0.

    Marsaglia & Tsang's rejection for shapes one larger, times a power of a uniform number. All are drawn again until
    each has been accepted, three or four times: loops over whole arrays are fast, and many random numbers are not.
    """
    d = shapes + 2 / 3
    key_power, key_attempts = jax.random.split(key)

    def attempt(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        number, chosen, done = state
        draws = uniforms(jax.random.fold_in(key_attempts, number), (2, *shapes.shape), shapes.dtype)
        white = normal_quantiles(draws[0])
        cube = jnp.maximum(1 + white / (3 * jnp.sqrt(d)), 0) ** 3
        log_bound = 0.5 * white**2 + d * (1 - cube + jnp.log(jnp.maximum(cube, 1e-30)))
        rejected = (cube <= 0) | (jnp.log(draws[1]) >= log_bound)
        return number + 1, jnp.where(done, chosen, cube), done | ~rejected

    start = jnp.array(0), jnp.ones_like(d), jnp.zeros(d.shape, dtype=bool)
    _, chosen, _ = jax.lax.while_loop(lambda state: ~state[2].all() & (state[0] < MOST_ATTEMPTS), attempt, start)
    return d * chosen * jnp.exp(jnp.log(uniforms(key_power, shapes.shape, shapes.dtype)) / shapes)


def draw_polya_gamma(key: jax.Array, shape: jax.Array, tilt: jax.Array) -> jax.Array:
    """PG(shape, tilt) = sum over k of g_k / (2 pi^2 ((k - 1/2)^2 + tilt^2 / (4 pi^2))), g_k ~ Gamma(shape)."""
    lifted = (tilt / (2 * jnp.pi)) ** 2
    scales = [1 / (2 * jnp.pi**2 * ((k + 0.5) ** 2 + lifted)) for k in range(N_TERMS)]
    others = mean_of_one(tilt) - sum(scales)
    second, third = (ratio / (2 * jnp.pi**2) for ratio in ratios_of_others(lifted))
    n_alike = others * second / third**2
    gammas = draw_gammas(key, jnp.stack([*([shape] * N_TERMS), shape * n_alike]))
    constant = shape * (others - n_alike * third)
    return jnp.sum(gammas * jnp.stack([*scales, third]), axis=0) + constant


def mean_of_one(tilt: jax.Array) -> jax.Array:
    """Mean of PG(1, tilt)."""
    size = jnp.abs(tilt)
    large = jnp.maximum(size, NEAR_ZERO)
    tail = jnp.exp(-large)
    square = jnp.minimum(size, NEAR_ZERO) ** 2
    near = 1 / 4 - square / 48 + square**2 / 480 - 17 * square**3 / 80640
    return jnp.where(size < NEAR_ZERO, near, (1 - tail) / (1 + tail) / (2 * large))


def ratios_of_others(lifted: jax.Array) -> tuple[jax.Array, jax.Array]:
    """S_2 / S_1 and S_3 / S_2, S_j the sum of ((k - 1/2)^2 + lifted)^-j over the terms that are not drawn each."""
    place = 1 / jnp.sqrt(1 + lifted / FIRST_OF_OTHERS)
    second, third = (jnp.polyval(jnp.asarray(each, lifted.dtype), place) for each in _fitted_ratios())
    return second / (lifted + FIRST_OF_OTHERS), third / (lifted + FIRST_OF_OTHERS)


@cache
def _fitted_ratios() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Polynomials in (1 + lifted / FIRST_OF_OTHERS)^(-1/2) that are within 1e-5 of both ratios times the first term."""
    place = 1 - FARTHEST_NODE * np.cos(np.pi * (np.arange(N_NODES) + 0.5) / N_NODES / 2) ** 2
    lifted = FIRST_OF_OTHERS * (1 / place**2 - 1)
    terms = 1 / ((np.arange(N_TERMS, N_SUMMED) + 0.5) ** 2 + lifted[:, None])
    tail = np.arctan2(np.sqrt(lifted), N_SUMMED) / np.sqrt(lifted)
    first, second, third = terms.sum(axis=1) + tail, (terms**2).sum(axis=1), (terms**3).sum(axis=1)
    scale = lifted + FIRST_OF_OTHERS
    return np.polyfit(place, scale * second / first, DEGREE), np.polyfit(place, scale * third / second, DEGREE)

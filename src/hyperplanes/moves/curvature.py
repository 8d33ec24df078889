"""The curvature of the target around one hyperplane, as a diagonal matrix and a vector.

On its active rows a unit is a linear model in (n, -mu), so that the evidence has a Gauss-Newton curvature there: the
second moments of the active rows. Their mass and centroid are exact; their covariance is taken to be that of all rows,
which is diagonal in the axes of the data. So everything costs p operations. The curvature shapes proposals and no more:
moves are exact whatever it is.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.stats import norm

from hyperplanes.model import Data, Prior


class Curvature(NamedTuple):
    """M = D^(1/2) (I + q q') D^(1/2), in white coordinates along the axes of the data."""

    roots: jax.Array
    """D^(1/2), shape (p + 1,)."""
    tilt: jax.Array
    """q, shape (p + 1,)."""


def curvature(white: jax.Array, moments: jax.Array, strength: jax.Array, data: Data, prior: Prior) -> Curvature:
    """Curvature at a hyperplane.

    Parameters
    ----------
    white : (p + 1,)
        The hyperplane in white coordinates along the axes of the data.
    moments : (p + 1,)
        Sums of the inputs and of the constant over its active rows, in the axes of the data.
    strength : jax.Array
        phi / sigma^2 times the mean square of the unit's coefficient.
    """
    direction, length = white[:-1], jnp.linalg.norm(white[:-1])
    mass = jnp.maximum(moments[-1], 1e-30)
    centroid = moments[:-1] / mass
    sideways = centroid - direction * (direction @ centroid) / length**2
    diagonal = jnp.append(1 + strength * mass * data.spreads**2 / length**2, 1.0)
    shift = jnp.append(sideways / length, -prior.reach * norm.pdf(white[-1]))
    roots = jnp.sqrt(diagonal)
    return Curvature(roots, jnp.sqrt(strength * mass) * shift / roots)


def solve(curvature: Curvature, gradient: jax.Array) -> jax.Array:
    """M^-1 times a gradient."""
    roots, tilt = curvature
    whitened = gradient / roots
    return (whitened - tilt * (tilt @ whitened) / (1 + tilt @ tilt)) / roots


def colour(curvature: Curvature, noise: jax.Array) -> jax.Array:
    """White noise with covariance M^-1."""
    roots, tilt = curvature
    square = tilt @ tilt
    # (I + q q')^(-1/2) = I - b q q' with b = (1 - 1 / sqrt(1 + |q|^2)) / |q|^2, written without cancellation
    shrink = 1 / (jnp.sqrt(1 + square) * (1 + jnp.sqrt(1 + square)))
    return (noise - shrink * tilt * (tilt @ noise)) / roots


def log_density(curvature: Curvature, distance: jax.Array) -> jax.Array:
    """Log density of N(0, M^-1), up to a constant."""
    roots, tilt = curvature
    scaled = roots * distance
    log_determinant = 2 * jnp.log(roots).sum() + jnp.log1p(tilt @ tilt)
    return 0.5 * (log_determinant - scaled @ scaled - (tilt @ scaled) ** 2)

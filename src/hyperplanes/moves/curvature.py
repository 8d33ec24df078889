"""The curvature of the target around one hyperplane, as a diagonal matrix and a few vectors.

On its active rows a unit is a linear model in (n, -mu), so that the evidence has a Gauss-Newton curvature there: the
second moments of the active rows. Their mass and centroid are exact; their covariance is taken to be that of all rows,
and that to be the one of a few factors. So everything costs p operations for each factor. The curvature shapes
proposals and no more: moves are exact whatever it is.

Positions are white numbers (p + 1,), see `process.from_white`, of a hyperplane whose columns have given scales (p,).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.stats import norm

from hyperplanes.model import Data, Prior
from hyperplanes.model.data import N_FACTORS
from hyperplanes.model.linear_algebra import inverse_root, log_determinant
from hyperplanes.process import support


class Curvature(NamedTuple):
    """M = D^(1/2) (I + Q'Q) D^(1/2), in white coordinates."""

    roots: jax.Array
    """D^(1/2), shape (p + 1,)."""
    tilts: jax.Array
    """Q, shape (k, p + 1)."""
    inner: jax.Array
    """Inverse root of I + QQ', shape (k, k)."""


def n_tilts(n_columns: int) -> int:
    """Vectors in a curvature."""
    return min(N_FACTORS, n_columns) + 1


def by_coordinates(by_plane: jax.Array, white: jax.Array, scales: jax.Array, prior: Prior) -> jax.Array:
    """Derivative (p + 1,) by white numbers of what has a derivative by the lifted hyperplane (n, -mu)."""
    direction = scales * white[:-1]
    length = jnp.linalg.norm(direction)
    normal = direction / length
    by_normal, by_quantile = offset_slopes(normal, white[-1], prior)
    across = by_plane[:-1] - by_plane[-1] * by_normal
    across = (across - normal * (normal @ across)) / length
    return jnp.append(scales * across, -by_quantile * by_plane[-1])


def curvature(
    white: jax.Array, scales: jax.Array, moments: jax.Array, strength: jax.Array, data: Data, prior: Prior
) -> Curvature:
    """Curvature at a hyperplane.

    Parameters
    ----------
    white : (p + 1,)
        The hyperplane.
    scales : (p,)
        Of its columns.
    moments : (p + 1,)
        Sums of the inputs and of the constant over its active rows.
    strength : jax.Array
        phi / sigma^2 times the mean square of the unit's coefficient.
    """
    mass = jnp.maximum(moments[-1], 1e-30)
    shrunk = scales / jnp.linalg.norm(scales * white[:-1])
    roots = jnp.sqrt(jnp.append(1 + strength * mass * data.noise * shrunk**2, 1.0))
    along = jnp.column_stack([data.factors * shrunk, jnp.zeros(len(data.factors))])
    shift = by_coordinates(moments / mass, white, scales, prior)
    tilts = jnp.sqrt(strength * mass) * jnp.concatenate([along, shift[None]]) / roots
    return Curvature(roots, tilts, inverse_root(jnp.eye(len(tilts)) + tilts @ tilts.T))


def offset_slopes(normal: jax.Array, quantile: jax.Array, prior: Prior) -> tuple[jax.Array, jax.Array]:
    """Derivatives of the offset by the normal, (p,), and by the white number behind its quantile."""
    low, size = prior.lowest_offset, support(normal, prior.reach)
    by_normal = jax.grad(support)(normal, prior.reach)
    share = low + (1 - low) * norm.cdf(quantile)
    return share * by_normal, size * (1 - low) * norm.pdf(quantile)


def solve(curvature: Curvature, gradient: jax.Array) -> jax.Array:
    """M^-1 times a gradient."""
    return _solve_inner(curvature, gradient / curvature.roots, 0.0) / curvature.roots


def colour(curvature: Curvature, noise: jax.Array) -> jax.Array:
    """Noise with covariance M^-1 from white noise (p + 1 + k,)."""
    roots = curvature.roots
    # With xi and eta white, (I + Q'Q)^-1 (xi + Q'eta) has covariance (I + Q'Q)^-1.
    return _solve_inner(curvature, noise[: len(roots)], noise[len(roots) :]) / roots


def _solve_inner(curvature: Curvature, vector: jax.Array, inside: jax.Array | float) -> jax.Array:
    """(I + Q'Q)^-1 (vector + Q' inside)."""
    _, tilts, inner = curvature
    return vector - tilts.T @ (inner.T @ (inner @ (tilts @ vector - inside)))


def log_density(curvature: Curvature, distance: jax.Array) -> jax.Array:
    """Log density of N(0, M^-1), up to a constant."""
    roots, tilts, inner = curvature
    scaled = roots * distance
    along = tilts @ scaled
    determinant = 2 * jnp.log(roots).sum() + log_determinant(inner)
    return 0.5 * (determinant - scaled @ scaled - along @ along)

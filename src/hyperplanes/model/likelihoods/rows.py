"""Values of rows, which `Data` holds scaled by the roots of their weights, and rows with a particle's own weights."""

import jax
import jax.numpy as jnp

from hyperplanes.model.data import Data
from hyperplanes.model.features import EXACT, lift, relu_features
from hyperplanes.model.prior import Particle


def row_weights(data: Data) -> jax.Array:
    """How often each row counts, (n_blocks, block); 0 for rows that fill up a block."""
    return data.inputs[:, -1] ** 2


def responses(data: Data) -> jax.Array:
    """Response of each row, (n_blocks, block); 0 for rows that do not count."""
    return unscaled(data.response, data)


def values(particle: Particle, data: Data) -> jax.Array:
    """The function at each row, (n_blocks, block); 0 for rows that do not count."""
    return unscaled(scaled_values(particle, data), data)


def scaled_values(particle: Particle, data: Data) -> jax.Array:
    """The function at each row, scaled as the rows are: (n_blocks, block)."""
    planes, coefficients = lift(particle.normals, particle.offsets), particle.coefficients.astype(data.inputs.dtype)

    def of_block(inputs: jax.Array) -> jax.Array:
        return coefficients[0] * inputs[-1] + jnp.matmul(
            coefficients[1:], relu_features(planes, inputs), precision=EXACT
        )

    found: jax.Array = jax.lax.map(of_block, data.inputs)
    return found


def unscaled(scaled: jax.Array, data: Data) -> jax.Array:
    """What is scaled by the roots of the weights without them; 0 for rows that do not count."""
    roots = data.inputs[:, -1]
    return jnp.where(roots > 0, scaled / jnp.where(roots > 0, roots, 1), 0)


def gaussian_rows(data: Data, precisions: jax.Array, targets: jax.Array, n_rows: jax.Array) -> Data:
    """Rows for which the log likelihood of the function f is sum(targets f - precisions f^2 / 2), at noise variance 1.

    Both are (n_blocks, block), and zero for rows that do not count.
    """
    counts = precisions > 0
    roots = jnp.sqrt(jnp.where(counts, precisions, 1))
    factors = jnp.where(counts, roots / jnp.where(counts, data.inputs[:, -1], 1), 0)
    return data._replace(
        inputs=data.inputs * factors[:, None], response=jnp.where(counts, targets / roots, 0), n_rows=n_rows
    )

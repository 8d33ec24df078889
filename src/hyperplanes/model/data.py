"""The rows of a regression in the layout that the sampler reads."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from numpy.typing import ArrayLike, NDArray

from hyperplanes.model.hardware import on_cpu

Floats = NDArray[np.float64]

LARGEST_BLOCK = 4096
"""Rows in a block on a CPU, where the features of a few particles should fit the cache."""
LARGEST_BLOCK_OF_ACCELERATOR = 65536
"""Where a block should outweigh the time to start its programs."""
SMALLEST_BLOCK = 256
"""So that small tables of all lengths, such as the folds of a cross-validation, share compiled programs."""
SHUFFLE = 0
N_FACTORS = 3


class Data(NamedTuple):
    """Rows in blocks, each row scaled by the square root of its weight.

    ReLU features are positively homogeneous, s relu(<x, n> - mu) = relu(<s x, n> - s mu), so a scaled row yields scaled
    features, and a row of zeros, which fills the last block up, yields none.
    """

    inputs: jax.Array
    """(n_blocks, p + 1, block): the columns of the inputs, then a constant column."""
    response: jax.Array
    """(n_blocks, block)."""
    n_rows: jax.Array
    """Number of rows, each counted as often as its weight says, a float64 scalar."""
    covariance: jax.Array
    """(p, p) float64, of the inputs."""
    factors: jax.Array
    """(k, p) float64: the covariance is about that of a few factors and of noise in each column."""
    noise: jax.Array
    """(p,) float64, the variances of that noise."""

    @property
    def n_columns(self) -> int:
        """Number of input columns p."""
        return self.inputs.shape[1] - 1


def make_data(
    inputs: ArrayLike, response: ArrayLike, row_weights: ArrayLike | None = None, *, dtype: DTypeLike = np.float32
) -> Data:
    """Lay rows out in blocks of a few fixed sizes, so that data sets of similar size share compiled programs.

    Rows are shuffled, always alike, so that the first ones stand for all.

    Parameters
    ----------
    inputs : (n, p)
        Inputs, scaled to a size of about 1.
    response : (n,)
        Response, standardised.
    row_weights : (n,), optional
        How often each row counts. Rows of weight zero are dropped.
    dtype : numpy dtype
        Of inputs and features.
    """
    rows = np.asarray(inputs, dtype=np.float64)
    values = np.asarray(response, dtype=np.float64)
    weights = np.ones(len(rows)) if row_weights is None else np.asarray(row_weights, dtype=np.float64)
    chosen = np.random.default_rng(SHUFFLE).permutation(np.flatnonzero(weights > 0))
    rows, values, weights = rows[chosen], values[chosen], weights[chosen]
    n_blocks, block = block_shape(len(rows))
    padded = np.zeros((n_blocks * block, rows.shape[1] + 2))
    padded[: len(rows)] = np.column_stack([rows, np.ones(len(rows)), values]) * np.sqrt(weights)[:, None]
    blocks = np.moveaxis(padded.reshape(n_blocks, block, -1), 1, 2).astype(dtype)
    covariance = weighted_covariance(rows, weights)
    variances, axes = np.linalg.eigh(covariance)
    factors = (np.sqrt(np.maximum(variances, 0.0)) * axes).T[-N_FACTORS:]
    fields = {
        "inputs": blocks[:, :-1],
        "response": blocks[:, -1],
        "n_rows": weights.sum(),
        "covariance": covariance,
        "factors": factors,
        "noise": np.maximum(np.diagonal(covariance) - np.sum(factors**2, axis=0), 0.0),
    }
    return Data(**jax.device_put(fields))


def blocks_of(data: Data, start: int, stop: int) -> Data:
    """The rows of some blocks, with the covariance of all."""
    inputs, response = data.inputs[start:stop], data.response[start:stop]
    return data._replace(inputs=inputs, response=response, n_rows=jnp.sum(inputs[:, -1].astype(jnp.float64) ** 2))


def block_shape(n_rows: int) -> tuple[int, int]:
    """Number and length of the blocks for `n_rows` rows: eight lengths an octave, at most 1/8 of them padding."""
    n_blocks = max(1, -(-n_rows // (LARGEST_BLOCK if on_cpu() else LARGEST_BLOCK_OF_ACCELERATOR)))
    length = max(SMALLEST_BLOCK, -(-n_rows // n_blocks))
    grain = 1 << max(0, (length - 1).bit_length() - 4)
    return n_blocks, -(-length // grain) * grain


def weighted_covariance(rows: Floats, weights: Floats) -> Floats:
    """Covariance (p, p) of weighted rows."""
    shares = weights / max(weights.sum(), np.finfo(np.float64).tiny)
    centred = rows - shares @ rows
    return np.asarray((centred.T * shares) @ centred)

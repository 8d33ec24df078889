"""A set of hyperplanes with coefficients is a two-layer ReLU network, and back."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.floating]


class Network(NamedTuple):
    """y = b1 + W1' relu(W0' x + b0), in the paper's shapes."""

    hidden_weights: Floats
    """W0, shape (p, m): column j is the normal of hyperplane j, up to a positive factor."""
    hidden_biases: Floats
    """b0, shape (m,): minus the offsets, up to the same factors."""
    output_weights: Floats
    """W1, shape (m,)."""
    output_bias: float
    """b1, the intercept."""


def to_network(normals: ArrayLike, offsets: ArrayLike, coefficients: ArrayLike) -> Network:
    """Export one particle as a two-layer network."""
    coefficients = np.asarray(coefficients)
    return Network(np.asarray(normals).T, -np.asarray(offsets), coefficients[1:], float(coefficients[0]))


def from_network(network: Network) -> tuple[Floats, Floats, Floats]:
    """Normals, offsets and coefficients of a network: the length of each hidden weight moves into the output layer.

    Raises
    ------
    ValueError
        Where a hidden unit has no weights: it is a constant, not a hyperplane.
    """
    lengths = np.linalg.norm(network.hidden_weights, axis=0)
    if not np.all(lengths > 0):
        units = np.flatnonzero(lengths == 0).tolist()
        raise ValueError(f"every hidden unit must have a non-zero weight, got only zeros in units {units}")
    coefficients = np.append(network.output_bias, network.output_weights * lengths)
    return (network.hidden_weights / lengths).T, -network.hidden_biases / lengths, coefficients


def forward(network: Network, inputs: ArrayLike) -> Floats:
    """Evaluate the network for inputs of shape (n, p)."""
    hidden = np.maximum(np.asarray(inputs) @ network.hidden_weights + network.hidden_biases, 0)
    return np.asarray(hidden @ network.output_weights + network.output_bias)

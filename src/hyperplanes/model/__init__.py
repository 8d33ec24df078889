"""The model: prior, features, Gaussian likelihood, the equal two-layer network, prediction."""

from hyperplanes.model import gaussian
from hyperplanes.model.data import Data, blocks_of, make_data
from hyperplanes.model.features import cross_products, design_of, lift, relu_features, replaced_row, with_row
from hyperplanes.model.network import Network, forward, from_network, to_network
from hyperplanes.model.prior import (
    Particle,
    Prior,
    draw_prior,
    is_present,
    of_process,
    paper_prior,
    spread_prior,
    with_places,
)

__all__ = [
    "Data",
    "Network",
    "Particle",
    "Prior",
    "blocks_of",
    "cross_products",
    "design_of",
    "draw_prior",
    "forward",
    "from_network",
    "gaussian",
    "is_present",
    "lift",
    "make_data",
    "of_process",
    "paper_prior",
    "relu_features",
    "replaced_row",
    "spread_prior",
    "to_network",
    "with_places",
    "with_row",
]

"""Bayesian regression with two-layer ReLU networks whose hidden units are a Poisson process of hyperplanes."""

from importlib.metadata import version

from hyperplanes.estimators import HyperplaneProcessClassifier, HyperplaneProcessRegressor, HyperplanesWarning, load
from hyperplanes.files import ModelFileError
from hyperplanes.inference import CheckpointError, CheckpointWarning, Posterior
from hyperplanes.model import Prior, paper_prior

__version__ = version("hyperplanes")
__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "HyperplaneProcessClassifier",
    "HyperplaneProcessRegressor",
    "HyperplanesWarning",
    "ModelFileError",
    "Posterior",
    "Prior",
    "load",
    "paper_prior",
]

"""The scikit-learn face: estimators that speak the user's units and column names."""

from hyperplanes.estimators.classifier import HyperplaneProcessClassifier
from hyperplanes.estimators.diagnostics import Diagnostics, HyperplanesWarning
from hyperplanes.estimators.loading import load
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.regressor import HyperplaneProcessRegressor
from hyperplanes.estimators.scaling import Scaler

__all__ = [
    "Diagnostics",
    "HyperplaneProcessClassifier",
    "HyperplaneProcessRegressor",
    "HyperplanesWarning",
    "Part",
    "Scaler",
    "load",
]

"""Loading estimators from model files."""

from inspect import signature
from typing import Any, TypeAlias, get_type_hints

import numpy as np
from numpy.typing import NDArray

from hyperplanes.estimators.classifier import HyperplaneProcessClassifier
from hyperplanes.estimators.regressor import HyperplaneProcessRegressor
from hyperplanes.estimators.saving import TYPES, Generator
from hyperplanes.estimators.soundness import check_sound
from hyperplanes.files import ModelFileError, decode, matches, read_container
from hyperplanes.files.container import File

Estimator: TypeAlias = HyperplaneProcessRegressor | HyperplaneProcessClassifier

ESTIMATORS: dict[str, type[Estimator]] = {
    kind.__name__: kind for kind in (HyperplaneProcessRegressor, HyperplaneProcessClassifier)
}
"""Estimators that a model file may hold."""
OF_SCIKIT_LEARN = {"n_features_in_": int, "feature_names_in_": NDArray[np.object_]}
OPTIONAL = {"feature_names_in_"}


def load(file: File) -> Estimator:
    """Read a fitted estimator that `save` wrote. Nothing in the file is executed, whoever wrote it.

    Parameters
    ----------
    file : path or binary file
        A model file.

    Returns
    -------
    HyperplaneProcessRegressor or HyperplaneProcessClassifier
        It predicts the same, to the last bit on the same machine.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or was written by a later version.
    """
    document, arrays = read_container(file)
    tree = decode(document, arrays, TYPES)
    match tree:
        case {"estimator": str(name), "settings": dict(settings), "fitted": dict(fitted)} if name in ESTIMATORS:
            return _estimator(ESTIMATORS[name], settings, fitted)
    raise ModelFileError("the file holds no estimator that this library knows")


def _estimator(kind: type[Estimator], settings: dict[str, Any], fitted: dict[str, Any]) -> Estimator:
    if unknown := settings.keys() - signature(kind).parameters.keys():
        raise ModelFileError(f"the file is of a later version: {kind.__name__} has no setting {min(unknown)!r}")
    declared = _fitted_attributes(kind)
    for name in declared | fitted:
        if name not in declared:
            raise ModelFileError(f"the file is of a later version: {kind.__name__} has no attribute {name!r}")
        if name not in fitted and name not in OPTIONAL:
            raise ModelFileError(f"the file is damaged: {name} is missing")
        if name in fitted and not matches(fitted[name], declared[name]):
            raise ModelFileError(f"the file is damaged: {name} must not be of type {type(fitted[name]).__name__}")
    try:
        estimator = kind(**{name: _revived(value) for name, value in settings.items()})
        estimator._adopt(fitted)
        check_sound(estimator)
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"the file is damaged: {error}") from None
    return estimator


def _fitted_attributes(kind: type[Any]) -> dict[str, Any]:
    """Names of what a fit leaves, and their types, as the class declares them."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name.endswith("_")}
    return hints | OF_SCIKIT_LEARN


def _revived(value: Any) -> Any:
    return value.resume() if isinstance(value, Generator) else value

"""Whether the pieces of a fitted estimator fit together, so that a model file can lead to predictions or to an error.

Types are seen to when a file is read; here are shapes, ranges and what refers to what.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from hyperplanes.estimators.columns import Columns
from hyperplanes.estimators.family import NOISES
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.scaling import FAR_AWAY, Scaler
from hyperplanes.inference import Network, Posterior, Subdomains
from hyperplanes.model.likelihoods.student import FEWEST_DEGREES

OF_EACH_PARTICLE = ("noise_variance", "coefficient_variance", "intensity", "log_weights", "n_active", "degrees")
"""Fields of a posterior that are one number for each particle."""
ROUNDING = 1e-3
"""Of lengths of normals and of the sum of weights."""


def check_sound(estimator: Any) -> None:
    """Raise a ValueError or TypeError that says what does not fit, of settings or of the fit."""
    estimator._check_settings()
    columns, parts, subdomains = estimator.columns_, estimator.parts_, estimator.subdomains_
    n_columns = _check_columns(columns, estimator.n_features_in_)
    names = getattr(estimator, "feature_names_in_", None)
    _require(names is None or names.shape == (estimator.n_features_in_,), "there are as many columns as names of them")
    _require(estimator.input_range_.shape == (2, n_columns), "input_range_ has every column")
    _require(bool(np.all(np.isfinite(estimator.input_range_))), "input_range_ is finite")
    _check_subdomains(subdomains, n_columns)
    _require(len(parts) == subdomains.n_parts, "there are as many parts as subdomains")
    n_classes = _check_classes(getattr(estimator, "classes_", None))
    for part in parts:
        _check_part(part, n_columns, n_classes)


def _check_classes(classes: NDArray[Any] | None) -> int:
    """Check, and return their number; 0 for a regression."""
    if classes is None:
        return 0
    _require(classes.ndim == 1 and len(classes) > 1, "there are two classes or more")
    _require(bool(np.all(classes[1:] > classes[:-1])), "classes are sorted")
    return len(classes)


def _check_columns(columns: Columns, n_features: int) -> int:
    """Check, and return the number of columns of numbers."""
    categories = columns.categories or n_features * (None,)
    _require(n_features > 0 and len(categories) == n_features, "columns_.categories has every column")
    widths = [1 if known is None or len(known) == 2 else len(known) for known in categories]
    _require(columns.medians.shape == columns.has_missing.shape == (sum(widths),), "columns_ has every column")
    _require(bool(np.all(np.isfinite(columns.medians))), "medians are finite")
    return sum(widths) + int(columns.has_missing.sum())


def _check_subdomains(subdomains: Subdomains, n_columns: int) -> None:
    """Every cut and every part is on one side of one cut, and cuts follow one another."""
    n_cuts = len(subdomains.columns)
    _require(subdomains.sides.shape == (n_cuts, 2), "every cut has two sides")
    _require(subdomains.thresholds.shape == subdomains.margins.shape == (n_cuts,), "every cut has a threshold")
    _require(bool(np.all((subdomains.columns >= 0) & (subdomains.columns < n_columns))), "cuts are of columns")
    expected = sorted([*range(1, n_cuts), *(~k for k in range(n_cuts + 1))]) if n_cuts else []
    _require(sorted(subdomains.sides.ravel().tolist()) == expected, "cuts form a tree")
    following = (subdomains.sides < 0) | (subdomains.sides > np.arange(n_cuts)[:, None])
    _require(bool(np.all(following)), "cuts form a tree")
    _require(bool(np.all(np.isfinite(subdomains.thresholds))), "thresholds are finite")
    _require(bool(np.all(np.isfinite(subdomains.margins) & (subdomains.margins >= 0))), "margins are not negative")


def _check_part(part: Part, n_columns: int, n_classes: int) -> None:
    _check_posterior(part.posterior, n_columns, part.summary.likelihood, n_classes)
    _check_scaler(part.input_scaler, (n_columns,))
    _check_scaler(part.response_scaler, ())
    _require(bool(np.isfinite(part.response_scaler.scale_)), "the response has a finite scale")
    part.summary.prior.check()


def _check_scaler(scaler: Scaler, shape: tuple[int, ...]) -> None:
    _require(scaler.center_.shape == scaler.scale_.shape == shape, "scalers have every column")
    _require(bool(np.all(np.isfinite(scaler.center_))), "centers are finite")
    _require(bool(np.all(scaler.scale_ > 0)) and scaler.bend_ > 0, "scales are positive")


def _check_posterior(posterior: Posterior, n_columns: int, likelihood: str, n_classes: int) -> None:
    """Networks have every particle; weights, noise and classes belong to them."""
    n_particles = len(posterior.offsets)
    networks: list[Posterior | Network] = [posterior, *posterior.others]
    for network in networks if posterior.spread is None else [*networks, posterior.spread]:
        _check_network(network, n_particles, n_columns)
    _require({each.shape for each in posterior.trace} == {(len(posterior.trace.exponent),)}, "the trace has every step")
    _require(bool(np.all(posterior.noise_variance > 0)), "noise_variance is positive")
    _require(abs(logsumexp(posterior.log_weights)) < ROUNDING, "weights add up to 1")
    _require((posterior.spread is not None) == (likelihood == "varying"), "noise that varies has a spread")
    _require((posterior.degrees is not None) == (likelihood == "student"), "noise with heavy tails has degrees")
    _require(posterior.degrees is None or bool(np.all(posterior.degrees >= FEWEST_DEGREES)), "noise has a variance")
    expected = {0: (*NOISES,), 2: ("bernoulli",)}.get(n_classes, ("multinomial",))
    _require(likelihood in expected, "the likelihood is one of the estimator's")
    _require(len(posterior.others) == (n_classes - 1 if n_classes > 2 else 0), "every class has a network")


def _check_network(network: Posterior | Network, n_particles: int, n_columns: int) -> None:
    """Every array has an entry for each particle; those of hyperplanes have one for each place."""
    n_places = network.offsets.shape[1] if network.offsets.ndim == 2 else 0
    _require(n_particles > 0 and n_places > 0, "offsets have particles and places")
    for name, value in zip(network._fields, network, strict=True):
        if isinstance(value, np.ndarray):
            _require(value.shape[:1] == (n_particles,), f"{name} has every particle")
            _require(name not in OF_EACH_PARTICLE or value.ndim == 1, f"{name} is one number for each particle")
            _require(name == "log_weights" or bool(np.all(np.isfinite(value))), f"{name} is finite")
    _require(network.normals.shape == (n_particles, n_places, n_columns), "normals have every place and column")
    _require(network.normals.dtype == network.offsets.dtype, "normals and offsets are of one type")
    _require(network.attends.shape == network.normals.shape, "attends has every place and column")
    _require(network.coefficients.shape == (n_particles, n_places + 1), "coefficients have every place")
    _require(_largest(network.coefficients) < FAR_AWAY > _largest(network.offsets), "coefficients are within reach")
    _require(0 <= network.n_permanent <= n_places, "the places of a linear term are among all")
    lengths = np.linalg.norm(network.normals, axis=2)
    _require(bool(np.all((np.abs(lengths - 1) < ROUNDING) | (lengths == 0))), "normals are unit vectors")


def _largest(values: NDArray[np.floating]) -> float:
    return float(np.abs(values).max())


def _require(fulfilled: bool, what: str) -> None:
    if not fulfilled:
        raise ValueError(f"its pieces do not fit together; not so: {what}")

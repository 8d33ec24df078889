"""Thinning: fewer particles that stand for the same posterior, at a loss that is stated."""

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hyperplanes.estimators.mosaic import Mosaic
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.scaling import Floats
from hyperplanes.inference import Network, Posterior

Particles = TypeVar("Particles", Posterior, Network)


class Loss(NamedTuple):
    """How far thinned predictions are from those of all particles, as a share of the standard deviation predicted."""

    mean: float
    """Root mean square over rows of the difference in the mean."""
    quantiles: float
    """The same of the quantile that differs most; 0 where there are none."""


class ClassLoss(NamedTuple):
    """How far thinned probabilities of classes are from those of all particles."""

    probabilities: float
    """Root mean square over rows of the difference in the probability of the class that differs most."""
    labels: float
    """Share of rows whose most probable class is another one."""


def evenly_chosen(log_weights: Floats, n_chosen: int) -> NDArray[np.intp]:
    """Particles at even steps through their weights, in their order; heavy ones may be chosen more than once."""
    totals = np.cumsum(np.exp(log_weights))
    steps = (np.arange(n_chosen) + 0.5) / n_chosen * totals[-1]
    return np.asarray(np.minimum(np.searchsorted(totals, steps), len(totals) - 1))


def thinned(part: Part, n_particles: int) -> Part:
    """A part with at most as many particles."""
    posterior = part.posterior
    if n_particles >= len(posterior.log_weights):
        return part
    chosen, counts = np.unique(evenly_chosen(posterior.log_weights, n_particles), return_counts=True)
    thin = _chosen_of(posterior, chosen)._replace(
        log_weights=np.log(counts / n_particles),
        spread=None if posterior.spread is None else _chosen_of(posterior.spread, chosen),
        others=tuple(_chosen_of(other, chosen) for other in posterior.others),
    )
    return part._replace(posterior=thin)


def _chosen_of(particles: Particles, chosen: NDArray[np.intp]) -> Particles:
    arrays: Any = {name: value[chosen] for name, value in particles._asdict().items() if isinstance(value, np.ndarray)}
    return particles._replace(**arrays)


def loss_of_responses(thin: Mosaic, full: Mosaic, inputs: Floats, levels: tuple[float, ...], *, max_bytes: int) -> Loss:
    """Compare the predictions of two mosaics at some rows."""
    mean, std = full.mean_and_std(inputs, max_bytes=max_bytes)
    of_mean = _root_mean_square((thin.mean(inputs, max_bytes=max_bytes) - mean) / std)
    if not levels:
        return Loss(float(of_mean), 0.0)
    several = (
        mosaic.quantiles(inputs, levels, target="response", max_bytes=max_bytes) / std[:, None]
        for mosaic in (thin, full)
    )
    return Loss(float(of_mean), float(_root_mean_square(np.subtract(*several)).max()))


def loss_of_classes(thin: Mosaic, full: Mosaic, inputs: Floats, n_classes: int, *, max_bytes: int) -> ClassLoss:
    """Compare the probabilities of classes of two mosaics at some rows."""
    few, all_of_them = (mosaic.probabilities(inputs, n_classes, max_bytes=max_bytes) for mosaic in (thin, full))
    changed = few.argmax(axis=1) != all_of_them.argmax(axis=1)
    return ClassLoss(float(_root_mean_square(few - all_of_them).max()), float(changed.mean()))


def _root_mean_square(values: Floats) -> Floats:
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))

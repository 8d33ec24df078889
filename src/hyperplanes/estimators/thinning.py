"""Thinning: fewer particles that stand for the same posterior, at a loss that is stated."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperplanes.estimators.mosaic import Mosaic
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.scaling import Floats


class Loss(NamedTuple):
    """How far thinned predictions are from those of all particles, as a share of the standard deviation predicted."""

    mean: float
    """Root mean square over rows of the difference in the mean."""
    quantiles: float
    """The same of the quantile that differs most; 0 where there are none."""


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
    chosen_of = {name: value[chosen] for name, value in posterior._asdict().items() if isinstance(value, np.ndarray)}
    changed: Any = chosen_of | {"log_weights": np.log(counts / n_particles)}
    return part._replace(posterior=posterior._replace(**changed))


def loss_of(thin: Mosaic, full: Mosaic, inputs: Floats, levels: tuple[float, ...], *, max_bytes: int) -> Loss:
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


def _root_mean_square(values: Floats) -> Floats:
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))

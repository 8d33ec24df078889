"""How a fit came about: the number of hyperplanes, the annealing run, and what the data added to the prior."""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from hyperplanes.estimators.numerals import readable
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.scaling import Floats
from hyperplanes.model import Prior
from hyperplanes.plotting.canvas import ACCENT, MAIN, MUTED, SERIES, axes, legend_above
from hyperplanes.plotting.inputs import Model

UNKNOWNS = {
    "noise": "scale of the noise",
    "coefficients": "standard deviation of the coefficients",
    "intensity": "mean number of hyperplanes",
}
"""What `plot_prior_and_posterior` knows, and what it is."""
N_PRIOR_DRAWS = 4000
SHOWN = (0.02, 0.98)
"""Quantiles of the prior beyond which nothing is drawn, unless the posterior is there."""


class PriorAndPosterior(NamedTuple):
    """Draws of a positive unknown."""

    prior: Floats
    """(n,) draws that count alike."""
    posterior: Floats
    """(n_particles,)."""
    weights: Floats
    """(n_particles,) of the posterior's."""


def plot_number(model: Model, ax: Any = None) -> Any:
    """Draw the posterior of the number of hyperplanes; those beyond which there is no training row do not count.

    Parameters
    ----------
    model : fitted estimator
    ax : matplotlib Axes, optional
        The current one by default.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    number = model.n_hyperplanes_
    shown = np.flatnonzero(number.probabilities > 1e-6)
    places = np.arange(max(shown[0] - 1, 0), shown[-1] + 2)
    probabilities = np.append(number.probabilities, np.zeros(2))[np.minimum(places, len(number.probabilities))]
    ax.bar(places, probabilities, width=0.8, color=MAIN, alpha=0.85)
    ax.axvline(number.mean, color=ACCENT, linewidth=1.5, linestyle="--", label=f"mean {readable(number.mean, 3)}")
    ax.set(xlabel="number of hyperplanes", ylabel="posterior probability")
    ax.xaxis.get_major_locator().set_params(integer=True)
    legend_above(ax)
    return ax


def plot_annealing(model: Model, ax: Any = None, *, part: int = 0) -> Any:
    """Draw the way from prior to posterior: exponent, effective sample size, acceptance and surviving ancestors.

    Parameters
    ----------
    model : fitted estimator
    ax : matplotlib Axes, optional
        The current one by default.
    part : int
        Which part of a fit that has several.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    posterior = _part(model, part).posterior
    trace, n_particles = posterior.trace, len(posterior.log_weights)
    steps = np.arange(1, len(trace.exponent) + 1)
    lines = {
        "exponent": trace.exponent,
        "effective particles": trace.ess / n_particles,
        "proposals accepted": trace.acceptance,
        "ancestors alive": trace.n_ancestors / n_particles,
    }
    styles = ("-", "--", "-.", ":")
    for (name, values), color, style in zip(lines.items(), SERIES, styles, strict=False):
        marker = "o" if len(steps) == 1 else None
        ax.plot(steps, values, color=color, linestyle=style, linewidth=1.7, marker=marker, label=name)
    ax.set(xlabel="step", ylabel="share of 1", ylim=(0, 1.03))
    ax.xaxis.get_major_locator().set_params(integer=True)
    legend_above(ax, ncols=2)
    return ax


def plot_prior_and_posterior(model: Model, unknown: str = "noise", ax: Any = None, *, part: int = 0) -> Any:
    """Draw what the data added to the prior of a scale.

    Parameters
    ----------
    model : fitted estimator
    unknown : {"noise", "coefficients", "intensity"}
        Scale of the noise (its standard deviation where it is Gaussian), standard deviation of the coefficients in
        model units, or mean number of hyperplanes. `unknowns_of` says which of them the model has.
    ax : matplotlib Axes, optional
        The current one by default.
    part : int
        Which part of a fit that has several.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    from matplotlib.ticker import LogLocator, NullFormatter

    draws = prior_and_posterior(model, unknown, part=part)
    low, high = np.quantile(draws.prior, SHOWN)
    low, high = min(low, draws.posterior.min() / 1.5), max(high, draws.posterior.max() * 1.5)
    places = np.geomspace(low, high, 300)
    for values, weights, color, style, name in (
        (draws.prior, None, MUTED, "--", "prior"),
        (draws.posterior, draws.weights, MAIN, "-", "posterior"),
    ):
        density = _log_density(values, weights, places)
        ax.fill_between(places, density, color=color, alpha=0.18, linewidth=0)
        ax.plot(places, density, color=color, linewidth=1.8, linestyle=style, label=name)
    ax.set(xscale="log", xlabel=UNKNOWNS[unknown], ylabel="density of the logarithm")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=6))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlim(low, high)
    ax.set_ylim(bottom=0)
    legend_above(ax)
    return ax


def unknowns_of(model: Model, *, part: int = 0) -> tuple[str, ...]:
    """Which of the `UNKNOWNS` a part of the fit has."""
    return tuple(name for name in UNKNOWNS if _why_not(_part(model, part), name) is None)


def prior_and_posterior(model: Model, unknown: str, *, part: int = 0, seed: int = 0) -> PriorAndPosterior:
    """Draws of an unknown before and after the data."""
    if unknown not in UNKNOWNS:
        raise ValueError(f"unknown must be one of {', '.join(map(repr, UNKNOWNS))}, got {unknown!r}")
    chosen = _part(model, part)
    if (reason := _why_not(chosen, unknown)) is not None:
        raise ValueError(f"{UNKNOWNS[unknown]}: {reason}")
    posterior, rng = chosen.posterior, np.random.default_rng(seed)
    prior = _draw_prior(rng, chosen.summary.prior, unknown, chosen.summary.number_given, posterior.intensity)
    scale = float(chosen.response_scaler.scale_) if unknown == "noise" else 1.0
    return PriorAndPosterior(scale * prior, scale * _particles(chosen, unknown), np.exp(posterior.log_weights))


def _particles(part: Part, unknown: str) -> Floats:
    """What the particles have, in model units."""
    if unknown == "intensity":
        return part.posterior.intensity
    variance = part.posterior.noise_variance if unknown == "noise" else part.posterior.coefficient_variance
    return np.asarray(np.sqrt(variance))


def _draw_prior(rng: np.random.Generator, prior: Prior, unknown: str, number_given: bool, intensity: Floats) -> Floats:
    """Draws from the prior, in model units."""
    if unknown == "noise":
        return np.sqrt(prior.noise_scale / rng.gamma(prior.noise_shape, size=N_PRIOR_DRAWS))
    mean = prior.number_mean / prior.number_shape
    intensities = intensity[:1] if number_given else mean * rng.gamma(prior.number_shape, size=N_PRIOR_DRAWS)
    if unknown == "intensity":
        return np.asarray(intensities)
    shape = prior.coefficient_shape
    totals = shape * float(prior.coefficient_variance) / rng.gamma(shape, size=N_PRIOR_DRAWS)
    return np.asarray(np.sqrt(totals / intensities))


def _why_not(part: Part, unknown: str) -> str | None:
    """Why an unknown is none in this part."""
    summary = part.summary
    if unknown == "noise" and summary.likelihood not in ("constant", "student"):
        return "it varies" if summary.likelihood == "varying" else "classes have no noise"
    if unknown == "coefficients" and summary.prior.coefficient_shape == 0:
        return "the prior fixes it"
    if unknown == "intensity" and summary.number_given:
        return "the number of hyperplanes was given"
    if np.ptp(_particles(part, unknown)) == 0:
        return "all particles are the same"
    return None


def _part(model: Model, number: int) -> Part:
    if not 0 <= number < len(model.parts_):
        raise ValueError(f"part must be from 0 to {len(model.parts_) - 1}, got {number}")
    return model.parts_[number]


def _log_density(values: Floats, weights: Floats | None, places: Floats) -> Floats:
    """Density of the logarithm of positive values."""
    return np.asarray(stats.gaussian_kde(np.log(values), weights=weights)(np.log(places)))

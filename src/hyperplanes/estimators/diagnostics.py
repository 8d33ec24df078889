"""What a fit says about itself, in numbers and in plain words with advice."""

import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from hyperplanes.estimators.numerals import readable
from hyperplanes.inference import Posterior
from hyperplanes.model import Prior
from hyperplanes.model.prior import above_rounding
from hyperplanes.smc import MOST_STEPS, TimedSchedule

FEW_DISTINCT = 0.1
"""Below this fraction of distinct hyperplane sets the particles are too alike to show uncertainty."""

FEW_EFFECTIVE = 0.01
"""Below this fraction of effective particles, or below 2, one step leaves next to nothing to go on from."""

AT_THE_FLOOR = 1.1
"""A noise estimate within this factor of the least that the prior allows is the prior's, not the data's."""
OVER_BUDGET = 1.2
"""Share of its budget above which a fit took too long."""
ABOUT_FEWEST = 1.1
"""Within this factor of the fewest effective particles a step was as long as it may be."""


class HyperplanesWarning(UserWarning):
    """A fit that may not deserve trust, with advice on what to do."""


class Diagnostics(NamedTuple):
    """Numbers to judge a fit by; ``messages`` says in plain words what to mind, and is empty if there is nothing."""

    n_particles: int
    """Particles in the posterior."""
    n_steps: int
    """Annealing steps from prior to posterior."""
    ess: float
    """Effective sample size of the final weights."""
    lowest_ess: float
    """Lowest effective sample size on the way, before resampling."""
    n_distinct: int
    """Distinct sets of hyperplanes, those of all networks together, among the particles."""
    n_ancestors: int
    """First particles that still have descendants."""
    acceptance: float
    """Mean acceptance rate of the Markov moves over the steps; the smaller of both where noise has a spread to move.
    Of a particle no hyperplane of which has a training row beyond it, the share of hyperplanes that changed."""
    late_acceptance: float
    """The same over the last quarter of the steps."""
    noise_std: float
    """Posterior standard deviation of the noise (root of the mean variance), in the user's units; 0 for classes."""
    noise_floor: float
    """Least noise that the prior lets these many rows show, in the user's units; 0 where there is no such prior."""
    n_failed: int
    """Particles that were lost on the way because their likelihood was not a number, over all steps."""
    n_singular: int
    """Particles with features so alike, for so little noise, that float64 cannot tell their coefficients apart;
    not counted, so 0, for classes and for noise that is not constant."""
    warnings: tuple[str, ...]
    """Troubles with advice, issued as Python warnings too."""
    notes: tuple[str, ...]
    """Lesser remarks with advice, issued nowhere else."""

    @property
    def messages(self) -> tuple[str, ...]:
        """Warnings, then notes."""
        return self.warnings + self.notes


class FitSummary(NamedTuple):
    """What the diagnostics need to know beside the posterior."""

    prior: Prior
    """Prior of the fit."""
    n_rows: float
    """Training rows, each counted as often as its weight says."""
    response_scale: float
    """Length of one model unit of the response in the user's units."""
    constant_response: bool
    """Whether the response has no variation."""
    number_given: bool = True
    """Whether the user gave the number of hyperplanes."""
    likelihood: str = "constant"
    """Kind of noise, or "bernoulli" or "multinomial" for classes."""
    noise_variance: float = 0.0
    """Posterior mean in the units of the model, over the rows where it varies; 0 for classes."""
    log_evidences: tuple[tuple[str, float], ...] = ()
    """Of each likelihood that was tried, in the user's units."""
    log_evidence_errors: tuple[tuple[str, float], ...] = ()
    """Their errors."""
    doubts: tuple[str, ...] = ()
    """About fits with likelihoods that were not taken."""


def diagnose(posterior: Posterior, summary: FitSummary) -> Diagnostics:
    """Judge a fit.

    Parameters
    ----------
    posterior : Posterior
        Result of the inference, in model units.
    summary : FitSummary
        The data and the prior in brief.

    Returns
    -------
    Diagnostics
        With a message for each trouble found.
    """
    numbers = _numbers(posterior, summary)
    n_hyperplanes, n_columns = round(posterior.n_hyperplanes.mean()), posterior.normals.shape[2]
    warnings = (
        *_warnings_on_data(numbers, summary),
        *(_warnings_on_size(n_hyperplanes, n_columns, summary.n_rows) if summary.number_given else ()),
        *warnings_on_sampling(posterior, summary),
    )
    return numbers._replace(warnings=warnings, notes=(*_notes(numbers), *summary.doubts))


def _numbers(posterior: Posterior, summary: FitSummary) -> Diagnostics:
    acceptance = posterior.trace.acceptance
    return Diagnostics(
        n_particles=len(posterior.log_weights),
        n_steps=len(posterior.trace.exponent),
        ess=float(np.exp(-logsumexp(2 * posterior.log_weights))),
        lowest_ess=float(np.min(posterior.trace.ess)),
        n_distinct=posterior.n_distinct,
        n_ancestors=int(posterior.trace.n_ancestors[-1]),
        acceptance=float(np.mean(acceptance)),
        late_acceptance=float(np.mean(acceptance[-max(len(acceptance) // 4, 1) :])),
        noise_std=summary.response_scale * float(np.sqrt(summary.noise_variance)),
        noise_floor=summary.response_scale * _noise_floor(summary),
        n_failed=int(np.sum(posterior.trace.n_failed)),
        n_singular=posterior.n_singular,
        warnings=(),
        notes=(),
    )


def join_diagnostics(parts: Sequence[Diagnostics]) -> Diagnostics:
    """The worst of each number over parts, sums of what is counted, and all messages, each with its part."""
    if len(parts) == 1:
        return parts[0]
    least = (
        "n_particles",
        "n_steps",
        "ess",
        "lowest_ess",
        "n_distinct",
        "n_ancestors",
        "acceptance",
        "late_acceptance",
    )
    totals = ("n_failed", "n_singular")
    return parts[0]._replace(
        **{name: min(getattr(part, name) for part in parts) for name in least},
        **{name: sum(getattr(part, name) for part in parts) for name in totals},
        **{name: max(getattr(part, name) for part in parts) for name in ("noise_std", "noise_floor")},
        warnings=_with_their_part([part.warnings for part in parts]),
        notes=_with_their_part([part.notes for part in parts]),
    )


def _with_their_part(messages: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(f"Part {number}: {text}" for number, texts in enumerate(messages) for text in texts)


def judge_time(diagnostics: Diagnostics, seconds: float, budget: float | None) -> Diagnostics:
    """Add a warning where a fit took much longer than it was allowed."""
    if budget is None or seconds <= OVER_BUDGET * budget:
        return diagnostics
    message = f"The fit took {readable(seconds, 3)} s, {readable(seconds / budget, 2)} times its budget"
    if diagnostics.lowest_ess < ABOUT_FEWEST * TimedSchedule.fewest_effective(diagnostics.n_particles):
        message += ", though its steps became as long as they may be"
    message += (
        ". The first fit of a table of this size compiles, later ones do not; otherwise lower n_particles, raise "
        "budget, or leave it None."
    )
    return diagnostics._replace(warnings=(*diagnostics.warnings, message))


def warn(diagnostics: Diagnostics, stacklevel: int) -> None:
    """Issue each warning, but no note, as a HyperplanesWarning."""
    for message in diagnostics.warnings:
        warnings.warn(message, HyperplanesWarning, stacklevel=stacklevel + 1)


def _noise_floor(summary: FitSummary) -> float:
    """Root of the mean of IG(a0 + N/2, b0): the noise that a perfect fit of all rows would show."""
    if summary.likelihood not in ("constant", "student"):
        return 0.0
    prior = above_rounding(summary.prior, summary.n_rows)
    return float(np.sqrt(prior.noise_scale / (prior.noise_shape + max(summary.n_rows, 1.0) / 2 - 1)))


def _warnings_on_data(numbers: Diagnostics, summary: FitSummary) -> Iterator[str]:
    if summary.constant_response:
        yield (
            "y is constant: the fit predicts that constant, and its intervals are as narrow as rounding error. "
            "Check that y is the column you meant."
        )
    elif numbers.noise_std < AT_THE_FLOOR * numbers.noise_floor:
        by_rounding = above_rounding(summary.prior, summary.n_rows).noise_scale > summary.prior.noise_scale
        yield (
            f"The noise ({readable(numbers.noise_std, 3)}) is as small as the prior allows "
            f"({readable(numbers.noise_floor, 3)}): "
            "intervals are as wide as the prior makes them. "
        ) + (
            "Less cannot be told from the rounding of features, however small noise_scale is; nothing is left to do."
            if by_rounding
            else "If y has so little noise, pass a prior with a smaller noise_scale."
        )


def _warnings_on_size(n_hyperplanes: int, n_columns: int, n_rows: float) -> Iterator[str]:
    """A single hyperplane is the least there can be, so that it is never too many."""
    n_parameters = n_hyperplanes * (n_columns + 1)
    if n_hyperplanes > 1 and n_parameters > n_rows:
        yield (
            f"{n_hyperplanes} hyperplanes in {n_columns} columns have {n_parameters} parameters, more than "
            f"{n_rows:.0f} rows can support: the prior decides most of the fit. "
            'Lower n_hyperplanes, leave it "auto" or collect more rows.'
        )


def warnings_on_sampling(posterior: Posterior, summary: FitSummary) -> Iterator[str]:
    """Troubles on the way from prior to posterior, with advice."""
    numbers = _numbers(posterior, summary)
    if numbers.n_failed:
        yield (
            f"{numbers.n_failed} particles were lost because their likelihood was not a number. "
            "Check prior for values that are extreme for a standardised response, and report the data if it is not."
        )
    if numbers.n_steps > MOST_STEPS and not _even(posterior.trace.exponent):
        yield (
            f"The annealing had not ended after {MOST_STEPS} steps, and took the rest in long ones: predictions may "
            "miss most of the posterior, and log_evidence_ is unreliable. Pass a prior with a larger noise_scale if y "
            "has hardly any noise, raise n_particles, or lower n_hyperplanes."
        )
    if numbers.late_acceptance == 0:
        yield (
            "No Markov move was accepted in the last quarter of the steps, or none of the spread where noise varies: "
            "the particles stayed where they were, do not trust this posterior. Raise n_steps or lower n_hyperplanes, "
            'and use sampler="auto" where it is "paper".'
        )
    elif numbers.n_distinct < FEW_DISTINCT * numbers.n_particles:
        yield (
            f"The genealogy has collapsed: {numbers.n_particles} particles hold only {numbers.n_distinct} distinct "
            "sets of hyperplanes. Intervals for the mean are too narrow. "
            'Raise n_steps or n_particles, and use sampler="auto" where it is "paper".'
        )
    elif numbers.lowest_ess < max(2.0, FEW_EFFECTIVE * numbers.n_particles):
        yield (
            f"The genealogy has collapsed: at one step only {numbers.lowest_ess:.1f} of {numbers.n_particles} "
            "particles counted, and all later ones descend from them. Predictions may miss most of the posterior. "
            "Raise n_steps or budget, or leave them None so that the steps adapt to the data."
        )


def _even(exponents: NDArray[np.float64]) -> bool:
    """Whether steps are as long as each other, as they are where their number was given."""
    return bool(np.allclose(np.diff(exponents, prepend=0.0), 1 / len(exponents), rtol=1e-6))


def _notes(numbers: Diagnostics) -> Iterator[str]:
    if numbers.n_singular:
        yield (
            f"{numbers.n_singular} of {numbers.n_particles} particles have hyperplanes so alike, for so little noise, "
            "that their coefficients cannot be told apart; predictions do not mind. Lower n_hyperplanes."
        )
    if numbers.n_ancestors < 2:
        yield (
            "All particles descend from one first particle, so log_evidence_error_ may be too small. "
            "Raise n_particles if you need the evidence."
        )

"""Parts: independent fits, each with the scales of its own rows, that speak the user's units."""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import jax
import joblib
import numpy as np

from hyperplanes.estimators.diagnostics import FitSummary, warnings_on_sampling
from hyperplanes.estimators.family import Family, LogEvidences, choose
from hyperplanes.estimators.progress import ObserverOf
from hyperplanes.estimators.scaling import (
    UNSCALED,
    Floats,
    Scaler,
    input_scaler,
    is_constant,
    range_scaler,
    response_scaler,
)
from hyperplanes.estimators.tables import merge_copies, weights_of
from hyperplanes.inference import Checkpoint, Posterior, Settings, average, fit
from hyperplanes.model import Prior, classes, prediction
from hyperplanes.model.classes import Ballots
from hyperplanes.model.prediction import ROWS_AT_ONCE, Mixture
from hyperplanes.model.prediction import average as average_over

MOST_FAILURES = 3
"""How often workers may be killed, and no part be done meanwhile, before it is an error."""
ROWS_IN_BLOCK = 2**16

CheckpointOf: TypeAlias = Callable[[int, str], Checkpoint]
"""From the number of a part and the name of a likelihood to the checkpoint of that fit."""


class Rows(NamedTuple):
    """Training rows of a part, in the user's units."""

    inputs: Floats
    """(n, q): numbers, without missing values."""
    response: Floats
    """(n,)."""
    row_weights: Floats
    """(n,): how often each row counts."""

    def load(self) -> "Rows":
        """Give the rows; they are here already."""
        return self

    def blocks(self) -> Iterator[Floats]:
        """All numbers, some rows at a time."""
        for start in range(0, len(self.response), ROWS_IN_BLOCK):
            yield np.column_stack([each[start : start + ROWS_IN_BLOCK] for each in self])


class StoredRows(NamedTuple):
    """Training rows of a part that wait in a file for the worker that fits them."""

    path: Path
    """Of float64 numbers, row by row: inputs, then the response."""
    n_columns: int
    """Of the inputs."""
    class_weights: Floats | None = None
    """How often rows of each class count; None where the response is not the number of a class."""

    def load(self) -> Rows:
        """Read the rows; copies are merged."""
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path} is not on this worker: fit_dataset needs a folder that all share")
        rows = np.fromfile(self.path).reshape(-1, self.n_columns + 1)
        return Rows(*merge_copies(rows, weights_of(rows[:, -1], self.class_weights)))

    def blocks(self) -> Iterator[Floats]:
        """All numbers, some rows at a time."""
        width = self.n_columns + 1
        with self.path.open("rb") as file:
            while len(numbers := np.fromfile(file, count=ROWS_IN_BLOCK * width)):
                yield numbers.reshape(-1, width)


class Part(NamedTuple):
    """A fit to some of the rows, or to all."""

    posterior: Posterior
    """Particles in model units."""
    input_scaler: Scaler
    """Between the user's units and the model's."""
    response_scaler: Scaler
    """Between the user's units and the model's."""
    summary: FitSummary
    """What the diagnostics need to know."""

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood of the response in the user's units."""
        return self.posterior.log_evidence - self.summary.n_rows * float(np.log(self.response_scaler.scale_))

    @property
    def log_evidences(self) -> LogEvidences:
        """The same of each likelihood that was tried, and its error; NaN in files that do not have it."""
        errors = dict(self.summary.log_evidence_errors)
        return {name: (value, errors.get(name, math.nan)) for name, value in self.summary.log_evidences}

    def mean(self, inputs: Floats, *, max_bytes: int) -> Floats:
        """Posterior mean (n,) of the response."""
        rows = self.input_scaler.to_model(inputs)
        return self.response_scaler.to_user(prediction.mean(self.posterior, rows, max_bytes=max_bytes))

    def mean_and_std(self, inputs: Floats, *, max_bytes: int) -> Floats:
        """Posterior mean of the response and standard deviation of a new one, (n, 2)."""
        rows = self.input_scaler.to_model(inputs)
        mean, variance = prediction.moments(self.posterior, rows, max_bytes=max_bytes)
        std = self.response_scaler.scale_ * np.sqrt(variance)
        return np.column_stack([self.response_scaler.to_user(mean), std])

    def quantiles(self, inputs: Floats, levels: tuple[float, ...], *, target: str, max_bytes: int) -> Floats:
        """Quantiles (n, n_levels) of a new response, or of the function."""
        rows = self.input_scaler.to_model(inputs)
        ends = prediction.quantiles(self.posterior, rows, levels, target=target, max_bytes=max_bytes)
        return self.response_scaler.to_user(ends)

    def mixture(self, inputs: Floats, *, max_bytes: int) -> Mixture:
        """The predictive distribution at each row, in the user's units."""
        blocks = list(prediction.mixtures(self.posterior, self.input_scaler.to_model(inputs), max_bytes))
        centres = self.response_scaler.to_user(np.concatenate([block.centres for block in blocks], axis=1))
        scales = [np.broadcast_to(block.scales, block.centres.shape) for block in blocks]
        return blocks[0]._replace(centres=centres, scales=self.response_scaler.scale_ * np.concatenate(scales, axis=1))

    def draw(self, rng: np.random.Generator, inputs: Floats, n_draws: int, *, target: str, max_bytes: int) -> Floats:
        """Draws (n, n_draws) of new responses, or of the function."""
        rows = self.input_scaler.to_model(inputs)
        draws = prediction.draw(rng, self.posterior, rows, n_draws, target=target, max_bytes=max_bytes)
        return self.response_scaler.to_user(draws)

    def ballots(self, inputs: Floats, *, max_bytes: int) -> Ballots:
        """Probabilities of the classes at each row."""
        blocks = list(classes.ballots(self.posterior, self.input_scaler.to_model(inputs), max_bytes))
        return blocks[0]._replace(probabilities=np.concatenate([block.probabilities for block in blocks], axis=2))

    def draw_probabilities(self, rng: np.random.Generator, inputs: Floats, n_draws: int, *, max_bytes: int) -> Floats:
        """Draws (n, n_draws, n_classes) of the probabilities of the classes."""
        rows = self.input_scaler.to_model(inputs)
        return classes.draw_probabilities(rng, self.posterior, rows, n_draws, max_bytes=max_bytes)

    def log_density(self, inputs: Floats, response: Floats, *, max_bytes: int) -> Floats:
        """Log predictive density of each response."""
        rows, values = self.input_scaler.to_model(inputs), self.response_scaler.to_model(response)
        density = prediction.log_density(self.posterior, rows, values, max_bytes=max_bytes)
        return density - np.log(self.response_scaler.scale_)

    def cumulative_probability(self, inputs: Floats, response: Floats, *, max_bytes: int) -> Floats:
        """Predictive probability that a new response is at most each response."""
        rows, values = self.input_scaler.to_model(inputs), self.response_scaler.to_model(response)
        return prediction.cumulative_probability(self.posterior, rows, values, max_bytes=max_bytes)


def fit_part(
    seed: int,
    rows: Rows,
    prior: Prior,
    settings: Settings,
    family: Family,
    observer_of: ObserverOf | None = None,
    number: int = 0,
    checkpoint_of: CheckpointOf | None = None,
) -> Part:
    """Draw the posterior of some rows with the likelihood that the evidence chooses, see `choose`."""
    inputs = input_scaler(rows.inputs, rows.row_weights) if prior.reach == 0 else range_scaler(rows.inputs)
    of_classes = family.n_classes > 0
    response = UNSCALED if of_classes else response_scaler(rows.response, rows.row_weights)
    scaled, likelihoods = inputs.to_model(rows.inputs), family.likelihoods
    if settings.budget is not None:
        settings = replace(settings, budget=settings.budget / len(likelihoods))
    posteriors: dict[str, Posterior] = {}
    for name, likelihood in likelihoods.items():
        title = f"{name}, {len(posteriors) + 1} of {len(likelihoods)}" if len(likelihoods) > 1 else ""
        posteriors[name] = fit(
            jax.random.key(seed),
            scaled,
            response.to_model(rows.response),
            rows.row_weights,
            prior=prior,
            settings=settings,
            likelihood=likelihood,
            observe=None if observer_of is None else observer_of(title),
            checkpoint=None if checkpoint_of is None else checkpoint_of(number, name),
        )
    n_rows = float(rows.row_weights.sum())
    best = choose({name: (one.log_evidence, one.log_evidence_error) for name, one in posteriors.items()}, n_rows)
    summary = FitSummary(
        prior=prior,
        n_rows=n_rows,
        response_scale=float(response.scale_),
        constant_response=not of_classes and is_constant(rows.response),
        number_given=settings.n_hyperplanes is not None,
        likelihood=best,
        noise_variance=0.0 if of_classes else mean_noise(posteriors[best], scaled, settings.memory_budget),
        log_evidences=tuple(
            (name, one.log_evidence - n_rows * float(np.log(response.scale_))) for name, one in posteriors.items()
        ),
        log_evidence_errors=tuple((name, one.log_evidence_error) for name, one in posteriors.items()),
    )
    doubts = tuple(
        f'noise="{name}" was tried and not taken, and its evidence may be wrong. {text}'
        for name, one in posteriors.items()
        if name != best
        for text in warnings_on_sampling(one, summary)
    )
    return Part(posteriors[best], inputs, response, summary._replace(doubts=doubts))


def mean_noise(posterior: Posterior, inputs: Floats, max_bytes: int) -> float:
    """Posterior mean of the noise variance, over some rows."""
    some = inputs[:: max(1, len(inputs) // ROWS_AT_ONCE)]
    found = [average_over(each.weights, each.variances) for each in prediction.mixtures(posterior, some, max_bytes)]
    return float(np.mean(np.concatenate(found)))


def average_parts(seed: int, parts: Sequence[Part], rows: Rows, *, max_bytes: int) -> Part:
    """The average of independent fits to the same rows, as one part."""
    first = parts[0]
    posterior = average(
        jax.random.key(seed),
        [part.posterior for part in parts],
        first.input_scaler.to_model(rows.inputs),
        first.response_scaler.to_model(rows.response),
        rows.row_weights,
        prior=first.summary.prior,
        max_bytes=max_bytes,
    )
    return first._replace(posterior=posterior)


def fit_parts(
    seeds: Sequence[int],
    parts: Sequence[Rows | StoredRows],
    prior: Prior,
    settings: Settings,
    family: Family,
    n_jobs: int | None,
    checkpoint_of: CheckpointOf | None = None,
) -> Iterator[tuple[int, Part]]:
    """Fit parts side by side, wherever joblib runs them; yields the number of each and its fit, as they are done.

    Threads by default; ``joblib.parallel_config`` chooses processes or a cluster. Parts whose worker was killed are
    started again; a Dask cluster does that by itself.
    """
    backend = _active_backend()
    return_as = "generator_unordered" if backend.supports_return_generator else "list"
    done: set[int] = set()
    n_failures = 0
    while len(done) < len(parts):
        missing = [number for number in range(len(parts)) if number not in done]
        jobs = (
            joblib.delayed(_fit_numbered)(k, seeds[k], parts[k], prior, settings, family, checkpoint_of)
            for k in missing
        )
        try:
            for number, part in joblib.Parallel(n_jobs, backend=backend, return_as=return_as)(jobs):
                n_failures = 0
                done.add(number)
                yield number, part
        except BrokenExecutor:
            n_failures += 1
            if n_failures == MOST_FAILURES:
                raise


def _active_backend() -> Any:
    """Where joblib is to run things."""
    backend, _ = joblib.parallel.get_active_backend(prefer="threads")
    if type(backend).__name__ != "DaskDistributedBackend":
        return backend
    from hyperplanes.estimators.cluster import HeedfulBackend  # imports Dask, which takes a while

    return HeedfulBackend.like(backend)


def _fit_numbered(
    number: int,
    seed: int,
    rows: Rows | StoredRows,
    prior: Prior,
    settings: Settings,
    family: Family,
    checkpoint_of: CheckpointOf | None,
) -> tuple[int, Part]:
    return number, fit_part(seed, rows.load(), prior, settings, family, number=number, checkpoint_of=checkpoint_of)

"""Decomposition: how a fit falls into parts, and how these are fitted side by side."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from hyperplanes.estimators import settings as checked
from hyperplanes.estimators.division import Division
from hyperplanes.estimators.family import Family
from hyperplanes.estimators.parts import (
    CheckpointOf,
    Part,
    Rows,
    StoredRows,
    average_parts,
    fit_part,
    fit_parts,
)
from hyperplanes.estimators.progress import counter, observers
from hyperplanes.estimators.scaling import Floats
from hyperplanes.inference import Settings, Subdomains, balanced_subdomains, even_subdomains, predicting_on
from hyperplanes.model import Prior

DOMAINS = {"domain": balanced_subdomains, "paper-domain": even_subdomains}
"""Ways to cut inputs into boxes."""
DECOMPOSITIONS = ("intensity", "domain", "paper-intensity", "paper-domain", None)

Seeds = Callable[[int], list[int]]
"""Draws as many seeds as asked for; the first ones do not depend on their number."""


class Decomposition(NamedTuple):
    """A way to fit in parts, or None."""

    kind: str | None
    """One of `DECOMPOSITIONS`."""
    n_parts: int
    """At most."""
    blend: float
    """Margins of borders as a share of the narrowest box beside them."""
    n_jobs: int | None
    """Workers, as joblib understands it."""
    shown: bool
    """Whether to show progress."""

    def cut(self, inputs: Floats) -> Subdomains:
        """Cut inputs into boxes, or leave them whole."""
        if self.kind not in DOMAINS:
            return balanced_subdomains(inputs, 1)
        boxes = DOMAINS[self.kind](inputs, self.n_parts)
        return boxes.with_margins(self.blend, inputs.min(axis=0), inputs.max(axis=0))

    def fit(
        self,
        division: Division,
        prior: Prior,
        settings: Settings,
        family: Family,
        seeds: Seeds,
        checkpoint_of: CheckpointOf | None = None,
    ) -> tuple[Sequence[Part], tuple[Part, ...]]:
        """Fits to the rows of each box, or several to all rows; and the parts that they make up."""
        if self.kind == "paper-intensity" and self.n_parts > 1:
            rows = division.parts[0].load()
            *first, last = seeds(self.n_parts + 1)
            prior = replace(prior, number_mean=prior.number_mean / self.n_parts)
            fitted = self._fit_side_by_side(first, self.n_parts * [rows], prior, settings, family, checkpoint_of)
            with predicting_on(settings.device):
                return fitted, (average_parts(last, fitted, rows, max_bytes=settings.memory_budget),)
        if self.kind == "intensity":
            settings = settings.in_parts(self.n_parts)
        if len(division.parts) == 1:
            with observers(self.shown) as observer_of:
                rows = division.parts[0].load()
                only = fit_part(seeds(1)[0], rows, prior, settings, family, observer_of, checkpoint_of=checkpoint_of)
            return (only,), (only,)
        all_seeds = seeds(len(division.parts))
        fitted = self._fit_side_by_side(all_seeds, division.parts, prior, settings, family, checkpoint_of)
        return fitted, tuple(fitted)

    def _fit_side_by_side(
        self,
        seeds: Sequence[int],
        parts: Sequence[Rows | StoredRows],
        prior: Prior,
        settings: Settings,
        family: Family,
        checkpoint_of: CheckpointOf | None,
    ) -> Sequence[Part]:
        """Share threads, memory and time out to parts that run at once."""
        n_at_once = min(checked.n_workers(self.n_jobs), len(parts))
        settings = replace(
            settings,
            n_threads=max(1, settings.n_threads // n_at_once),
            memory_budget=max(1, settings.memory_budget // n_at_once),
            budget=None if settings.budget is None else settings.budget / -(-len(parts) // n_at_once),
        )
        fitted = {}
        with counter(self.shown, "parts", len(parts)) as count:
            for number, part in fit_parts(seeds, parts, prior, settings, family, self.n_jobs, checkpoint_of):
                fitted[number] = part
                count(1)
        return [fitted[number] for number in range(len(parts))]

"""A mosaic: parts side by side, each with its own box of the inputs, that predict together.

Where the border between two boxes is uncertain, so is the part that a row belongs to, and the predictive distribution
is the mixture of what both parts say: its mean does not jump, and it is as wide as they disagree.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.scaling import Floats
from hyperplanes.inference import Subdomains
from hyperplanes.inference.subdomains import Indices
from hyperplanes.model.classes import Ballots
from hyperplanes.model.prediction import ROWS_AT_ONCE, Mixture, quantiles_of

Predicted = TypeVar("Predicted", Mixture, Ballots)


class Mosaic(NamedTuple):
    """Parts and the boxes that they belong to."""

    subdomains: Subdomains
    """Which part a row belongs to."""
    parts: tuple[Part, ...]
    """One for each subdomain."""

    def mean(self, inputs: Floats, *, max_bytes: int) -> Floats:
        """Posterior mean (n,) of the response."""
        total = np.zeros(len(inputs))
        for number, (rows, shares) in self.subdomains.members(inputs).items():
            total[rows] += shares * self.parts[number].mean(inputs[rows], max_bytes=max_bytes)
        return total

    def mean_and_std(self, inputs: Floats, *, max_bytes: int) -> tuple[Floats, Floats]:
        """Posterior mean (n,) of the response, and standard deviation (n,) of a new one."""
        members = self.subdomains.members(inputs)
        moments = {k: self.parts[k].mean_and_std(inputs[rows], max_bytes=max_bytes) for k, (rows, _) in members.items()}
        mean, largest, variance = np.zeros((3, len(inputs)))
        for number, (rows, shares) in members.items():
            mean[rows] += shares * moments[number][:, 0]
            largest[rows] = np.maximum(largest[rows], moments[number][:, 1])
        for number, (rows, shares) in members.items():
            of_part, std = moments[number].T
            scaled = std / largest[rows], (of_part - mean[rows]) / largest[rows]  # squares of the user's units overflow
            variance[rows] += shares * (scaled[0] ** 2 + scaled[1] ** 2)
        return mean, largest * np.sqrt(variance)

    def log_density(self, inputs: Floats, response: Floats, *, max_bytes: int) -> Floats:
        """Log predictive density (n,) of each response."""
        total = np.full(len(inputs), -np.inf)
        for number, (rows, shares) in self.subdomains.members(inputs).items():
            density = self.parts[number].log_density(inputs[rows], response[rows], max_bytes=max_bytes)
            total[rows] = np.logaddexp(total[rows], np.log(shares) + density)
        return total

    def cumulative_probability(self, inputs: Floats, response: Floats, *, max_bytes: int) -> Floats:
        """Predictive probability (n,) that a new response is at most each response."""
        total = np.zeros(len(inputs))
        for number, (rows, shares) in self.subdomains.members(inputs).items():
            part = self.parts[number]
            total[rows] += shares * part.cumulative_probability(inputs[rows], response[rows], max_bytes=max_bytes)
        return total

    def quantiles(self, inputs: Floats, levels: tuple[float, ...], *, target: str, max_bytes: int) -> Floats:
        """Quantiles (n, n_levels) of a new response, or of the function."""
        found, uncertain = np.empty((len(inputs), len(levels))), np.zeros(len(inputs), dtype=bool)
        for number, (rows, shares) in self.subdomains.members(inputs).items():
            uncertain[rows[shares < 1]] = True
            own = rows[shares == 1]
            if len(own):
                found[own] = self.parts[number].quantiles(inputs[own], levels, target=target, max_bytes=max_bytes)
        waiting = np.flatnonzero(uncertain)

        def mixture_of(part: Part, inputs: Floats) -> Mixture:
            return part.mixture(inputs, max_bytes=max_bytes)

        for start in range(0, len(waiting), ROWS_AT_ONCE):
            rows = waiting[start : start + ROWS_AT_ONCE]
            for those, mixture in self.joined(inputs[rows], mixture_of):
                found[rows[those]] = quantiles_of(mixture, levels, target=target)
        return found

    def ballots(self, inputs: Floats, *, max_bytes: int) -> Iterator[tuple[Indices, Ballots]]:
        """Rows, and what the particles say of their classes, a block at a time."""

        def of_part(part: Part, inputs: Floats) -> Ballots:
            return part.ballots(inputs, max_bytes=max_bytes)

        for start in range(0, len(inputs), ROWS_AT_ONCE):
            block = np.arange(start, min(start + ROWS_AT_ONCE, len(inputs)))
            for rows, ballots in self.joined(inputs[block], of_part):
                yield block[rows], ballots

    def probabilities(self, inputs: Floats, n_classes: int, *, max_bytes: int) -> Floats:
        """Posterior mean (n, n_classes) of the probabilities of the classes."""
        found = np.zeros((len(inputs), n_classes))
        for rows, ballots in self.ballots(inputs, max_bytes=max_bytes):
            found[rows] = ballots.mean()
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def draw(
        self, rng: np.random.Generator, inputs: Floats, n_draws: int, of_part: Callable[[Part, Floats], Floats]
    ) -> Floats:
        """Draws (n, n_draws, ...), made by `of_part` for the rows of each part; each has borders of its own."""
        borders = [self.subdomains.draw_borders(rng) for _ in range(n_draws)]
        found: Floats | None = None
        for number, (rows, shares) in self.subdomains.members(inputs).items():
            draws = of_part(self.parts[number], inputs[rows])
            belongs = np.ones((len(rows), n_draws), dtype=bool)
            uncertain = np.flatnonzero(shares < 1)
            if len(uncertain):
                there = [self.subdomains.part_of(inputs[rows[uncertain]], border) == number for border in borders]
                belongs[uncertain] = np.column_stack(there)
            if found is None:
                found = np.zeros((len(inputs), *draws.shape[1:]))
            chosen, draw = np.nonzero(belongs)
            found[rows[chosen], draw] = draws[chosen, draw]
        return np.zeros((len(inputs), n_draws)) if found is None else found

    def joined(
        self, inputs: Floats, of_part: Callable[[Part, Floats], Predicted]
    ) -> Iterator[tuple[Indices, Predicted]]:
        """Rows that may be in the same parts, and the mixture of what `of_part` says of these parts at each row."""
        shares = np.zeros((len(inputs), len(self.parts)))
        for number, (rows, of_rows) in self.subdomains.members(inputs).items():
            shares[rows, number] = of_rows
        patterns, which = np.unique(shares > 0, axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            rows, numbers = np.flatnonzero(which.ravel() == k), np.flatnonzero(pattern)
            several = [of_part(self.parts[number], inputs[rows]) for number in numbers]
            weighted = [
                each._replace(weights=shares[rows, number] * each.weights[:, None])
                for number, each in zip(numbers, several, strict=True)
            ]
            yield rows, type(several[0])(*(np.concatenate(leaves) for leaves in zip(*weighted, strict=True)))

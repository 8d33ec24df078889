"""Subdomains: disjoint boxes of inputs, for an independent process in each."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

FEWEST_ROWS = 20
"""A subdomain that would have fewer training rows is not cut off."""
NEAR = 0.1
"""A column whose values are so often alike that it misses a quantile by more is cut only where no other can be."""


class Subdomains(NamedTuple):
    """A binary tree of cuts. It covers all inputs, those beyond the training rows too."""

    columns: Indices
    """(n_cuts,) column that each cut looks at."""
    thresholds: Floats
    """(n_cuts,) inputs up to this value belong to the first side, larger ones to the second."""
    sides: Indices
    """(n_cuts, 2): the next cut on either side, or ~k for subdomain k; the first cut is that of all inputs."""
    margins: Floats
    """(n_cuts,) how far the border may lie from the threshold: it is uniform within the margin on either side. Training
    rows are divided at the threshold."""

    @property
    def n_parts(self) -> int:
        """Number of subdomains."""
        return len(self.columns) + 1

    def part_of(self, inputs: Floats, borders: Floats | None = None) -> Indices:
        """Subdomain (n,) of each row of inputs (n, p), where borders (n_cuts,) are the thresholds unless given."""
        certain = self._replace(
            thresholds=self.thresholds if borders is None else borders, margins=np.zeros_like(self.margins)
        )
        parts = np.zeros(len(inputs), dtype=np.int64)
        for number, (rows, _) in certain.members(inputs).items():
            parts[rows] = number
        return parts

    def members(self, inputs: Floats) -> dict[int, tuple[Indices, Floats]]:
        """Rows of inputs (n, p) that may be in each subdomain, and how likely they are; only subdomains with rows."""
        found = {}
        waiting = [(0 if len(self.columns) else ~0, np.arange(len(inputs)), np.ones(len(inputs)))]
        while waiting:
            cut, rows, shares = waiting.pop()
            if not len(rows):
                continue
            if cut < 0:
                found[int(~cut)] = rows, shares
                continue
            beyond = self._beyond(cut, inputs[rows, self.columns[cut]])
            for next_cut, on_side in zip(self.sides[cut], (1 - beyond, beyond), strict=True):
                there = on_side > 0
                waiting.append((int(next_cut), rows[there], shares[there] * on_side[there]))
        return found

    def _beyond(self, cut: int, values: Floats) -> Floats:
        """Probability that values are beyond the border of a cut."""
        threshold, margin = self.thresholds[cut], self.margins[cut]
        if margin == 0:
            return np.asarray(values > threshold, dtype=np.float64)
        with np.errstate(over="ignore"):  # far away is far away
            return np.asarray(np.clip(0.5 + (0.5 * values - 0.5 * threshold) / margin, 0.0, 1.0))

    def draw_borders(self, rng: np.random.Generator) -> Floats:
        """Draw where the border of each cut lies, (n_cuts,)."""
        return self.thresholds + self.margins * rng.uniform(-1, 1, size=len(self.margins))

    def with_margins(self, share: float, low: Floats, high: Floats) -> "Subdomains":
        """Margins as a share of the narrowest subdomain that ends at the cut, within the box from `low` to `high`."""
        boxes, narrowest = self.boxes(low, high), np.zeros(len(self.columns))
        for cut, (column, threshold) in enumerate(zip(self.columns, self.thresholds, strict=True)):
            ends = boxes[self._parts_below(cut), :, column]
            narrowest[cut] = np.ptp(0.5 * ends[np.any(ends == threshold, axis=1)], axis=1).min()  # whole ones overflow
        return self._replace(margins=2 * share * narrowest)

    def _parts_below(self, cut: int) -> list[int]:
        """Subdomains that a cut divides."""
        return [~cut] if cut < 0 else [part for side in self.sides[cut] for part in self._parts_below(int(side))]

    def boxes(self, low: Floats, high: Floats) -> Floats:
        """What each subdomain has of the box from `low` to `high`, (n_parts, 2, p); nothing where low exceeds high."""
        boxes = np.tile(np.stack([low, high]).astype(np.float64), (self.n_parts, 1, 1))
        waiting = [(0, boxes[0].copy())] if len(self.columns) else []
        while waiting:
            cut, whole = waiting.pop()
            column, threshold = self.columns[cut], self.thresholds[cut]
            for side, next_cut in enumerate(self.sides[cut]):
                box = whole.copy()
                end = 1 - side
                box[end, column] = (np.maximum, np.minimum)[end](box[end, column], threshold)
                if next_cut < 0:
                    boxes[~next_cut] = box
                else:
                    waiting.append((int(next_cut), box))
        return boxes


def balanced_subdomains(inputs: Floats, n_parts: int) -> Subdomains:
    """Cut into boxes with about as many rows each: the widest column at a quantile, then each side in the same way.

    Columns count in units of their width over all rows, so that the first is cut first. There are fewer than `n_parts`
    where rows are few or alike.
    """
    return _Tree(inputs).cut(n_parts)


def even_subdomains(inputs: Floats, n_parts: int) -> Subdomains:
    """Cut the range of the first column into equal lengths, as the paper does; lengths with few rows join the next."""
    first = inputs[:, 0]
    thresholds, kept = 2 * np.linspace(0.5 * first.min(), 0.5 * first.max(), n_parts + 1)[1:-1], []
    lowest = -np.inf
    for threshold in thresholds:
        below = np.sum((first > lowest) & (first <= threshold))
        if below >= FEWEST_ROWS and np.sum(first > threshold) >= FEWEST_ROWS:
            kept.append(threshold)
            lowest = threshold
    n_cuts = len(kept)
    following = [~n_cuts if cut == n_cuts - 1 else cut + 1 for cut in range(n_cuts)]
    sides = np.array([[~cut, after] for cut, after in enumerate(following)], dtype=np.int64).reshape(n_cuts, 2)
    return Subdomains(np.zeros(n_cuts, dtype=np.int64), np.array(kept, dtype=np.float64), sides, np.zeros(n_cuts))


def widths(inputs: Floats) -> Floats:
    """Mean distance of each column from its median."""
    middle = np.median(0.5 * inputs, axis=0)  # halves, and shares of the largest, keep sums from overflowing
    distances = np.abs(0.5 * inputs - middle)
    largest = np.maximum(distances.max(axis=0), np.finfo(np.float64).tiny)
    return np.asarray(largest * np.mean(distances / largest, axis=0))


class _Tree:
    """Cuts made so far."""

    def __init__(self, inputs: Floats) -> None:
        self._inputs = inputs
        self._usual_widths = np.maximum(widths(inputs), np.finfo(np.float64).tiny)
        self._cuts: list[tuple[int, float]] = []
        self._sides: list[list[int]] = []
        self._n_parts = 0

    def cut(self, n_parts: int) -> Subdomains:
        self._grow(np.arange(len(self._inputs)), n_parts)
        columns, thresholds = zip(*self._cuts, strict=True) if self._cuts else ((), ())
        sides = np.array(self._sides, dtype=np.int64).reshape(-1, 2)
        margins = np.zeros(len(columns))
        return Subdomains(np.array(columns, dtype=np.int64), np.array(thresholds, dtype=np.float64), sides, margins)

    def _grow(self, rows: Indices, n_parts: int) -> int:
        """Cut these rows; return the number of the cut, or ~k for a subdomain."""
        found = self._best_cut(rows, n_parts)
        if found is None:
            self._n_parts += 1
            return ~(self._n_parts - 1)
        column, threshold = found
        number = len(self._cuts)
        self._cuts.append(found)
        self._sides.append([0, 0])
        beyond = self._inputs[rows, column] > threshold
        n_beyond = round(n_parts * float(beyond.mean()))
        n_beyond = min(max(n_beyond, 1), n_parts - 1)
        shares = (n_parts - n_beyond, n_beyond)
        self._sides[number] = [
            self._grow(side, share) for side, share in zip((rows[~beyond], rows[beyond]), shares, strict=True)
        ]
        return number

    def _best_cut(self, rows: Indices, n_parts: int) -> tuple[int, float] | None:
        """The widest column that can be cut near the quantile asked for, else the one that comes nearest, and where."""
        if n_parts < 2 or len(rows) < 2 * FEWEST_ROWS:
            return None
        values, share = self._inputs[rows], (n_parts // 2) / n_parts
        best, least_miss = None, np.inf
        for column in np.argsort(-widths(values) / self._usual_widths, kind="stable"):
            threshold = _cut_near(np.sort(values[:, column]), share)
            if threshold is None:
                continue
            miss = abs(float(np.mean(values[:, column] <= threshold)) - share)
            if miss <= NEAR:
                return int(column), threshold
            if miss < least_miss:
                best, least_miss = (int(column), threshold), miss
        return best


def _cut_near(values: Floats, share: float) -> float | None:
    """Between two values that differ, as near to a share of all as can be, with enough on either side; else None."""
    changes = np.flatnonzero(np.diff(values) > 0) + 1  # how many values are below each possible cut
    changes = changes[(changes >= FEWEST_ROWS) & (len(values) - changes >= FEWEST_ROWS)]
    if not len(changes):
        return None
    n_below = changes[np.argmin(np.abs(changes - share * len(values)))]
    middle = float(0.5 * values[n_below - 1] + 0.5 * values[n_below])
    return middle if middle < values[n_below] else float(values[n_below - 1])

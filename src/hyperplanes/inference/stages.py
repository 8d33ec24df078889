"""Stages: rows join the data a few at a time, so that most annealing steps see only a small share of them.

The path from prior to posterior is free. That of the likelihood of all rows to a rising exponent passes over all rows
at every step, though at small exponents a small share of them, with a larger exponent, would tell as much. Here the
first stage anneals the likelihood of a few rows; each further one starts from the posterior that the last has reached
and anneals the likelihood of `GROWTH` - 1 times as many rows, which join at a rising weight. Rows in random order stand
for all, and the evidence is exact at every stage.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from hyperplanes import smc
from hyperplanes.inference.settings import Settings
from hyperplanes.inference.tiles import map_with_features
from hyperplanes.model import Data, Prior, blocks_of, gaussian
from hyperplanes.moves import State, make_state

GROWTH = 4
"""Times as many rows in a stage as in the one before."""
FEW_BLOCKS = 3
"""Rows of so many blocks are annealed all together."""


class Stage(NamedTuple):
    """Annealing of the likelihood of some rows, where that of others is known already."""

    rows: Data
    """The known ones, then those that join."""
    n_known: int
    """Blocks of known rows."""
    shares: tuple[float, float] = (0.0, 1.0)
    """How much of all rows are the known ones, and these."""
    seconds: float | None = None
    """That it should take, None for as long as it needs."""
    hurry: float = 1.0
    """How many times longer than usual its first step is, where there is little time."""

    @property
    def cost(self) -> float:
        """About how long it takes: rows times steps, which grow like the log of how much more is known."""
        n_rows, n_known = float(self.rows.n_rows), max(float(self._known().n_rows), 1.0)
        return n_rows * float(np.log(1 + n_rows / n_known))

    def at(self, exponent: float) -> tuple[Data, float]:
        """Rows, weighted, and the exponent of their likelihood, that are the target at an exponent of this stage."""
        if self.n_known == 0:
            return self.rows, exponent
        weights = jnp.where(jnp.arange(len(self.rows.inputs)) < self.n_known, 1.0, exponent)
        factors = jnp.sqrt(weights).astype(self.rows.inputs.dtype)
        weighted = self.rows._replace(
            inputs=self.rows.inputs * factors[:, None, None],
            response=self.rows.response * factors[:, None],
            n_rows=(1 - exponent) * self._known().n_rows + exponent * self.rows.n_rows,
        )
        return weighted, 1.0

    def progress(self, exponent: float) -> float:
        """How far the annealing is, from 0 to 1, about even in steps of the usual length."""
        if self.n_known == 0:
            return float(np.sqrt(exponent))
        growth = float(self.rows.n_rows / self._known().n_rows)
        return float(np.log1p((growth - 1) * exponent) / np.log(growth))

    def share(self, exponent: float) -> float:
        """How much of all rows the likelihood at an exponent of this stage is of."""
        return (1 - exponent) * self.shares[0] + exponent * self.shares[1]

    def path(self, states: State, exponent: float, prior: Prior, settings: Settings) -> smc.LogIncrements:
        """Log evidence of the rows that join, from the exponent that they have to any other, given the known ones."""
        noise, spread = states.particle.noise_variance, states.particle.coefficient_variance
        of_joining = np.asarray(states.products)
        known = exponent * of_joining
        if self.n_known:
            of_known, of_joining = (
                np.asarray(with_products(states, data, settings).products) for data in (self._known(), self.joining())
            )
            known = of_known + exponent * of_joining
        path = gaussian.evidence_path(self.joining(), known, of_joining, noise, spread, prior)
        return lambda exponents: path(exponents - exponent)

    def _known(self) -> Data:
        return blocks_of(self.rows, 0, self.n_known)

    def joining(self) -> Data:
        """The rows that join."""
        if self.n_known == 0:
            return self.rows
        joining = blocks_of(self.rows, self.n_known, len(self.rows.inputs))
        return joining._replace(n_rows=self.rows.n_rows - self._known().n_rows)


def with_products(states: State, data: Data, settings: Settings) -> State:
    """States with the cross products of some rows."""
    n_places = states.particle.offsets.shape[1]
    found: State = map_with_features(
        make_state, (states.particle,), (data,), n_places=n_places, data=data, settings=settings
    )
    return found


def stages(data: Data, settings: Settings) -> list[Stage]:
    """All rows in one stage where they are few or the number of steps is given; otherwise some, then more."""
    sizes = [len(data.inputs)]
    while sizes[0] > FEW_BLOCKS and settings.grows:
        sizes.insert(0, -(-sizes[0] // GROWTH))
    rows = [data if size == sizes[-1] else blocks_of(data, 0, size) for size in sizes]
    ends = [1.0 if some is data else float(some.n_rows / data.n_rows) for some in rows]
    starts = zip([0, *sizes[:-1]], [0.0, *ends[:-1]], strict=True)
    return [Stage(some, n, (low, high)) for some, (n, low), high in zip(rows, starts, ends, strict=True)]

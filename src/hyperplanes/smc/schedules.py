"""Schedules of exponents from the prior (0) to the posterior (1)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hyperplanes.smc.weights import Floats, conditional_ess, ess

LogIncrements = Callable[[Floats], Floats]
"""From candidate exponents (k,) to the log increments of every particle (k, n_particles)."""


class Schedule(Protocol):
    """Chooses the next exponent."""

    @property
    def n_steps(self) -> int | None:
        """Number of steps where it is known beforehand."""
        ...

    def next_exponent(self, exponent: float, log_weights: Floats, log_increments: LogIncrements) -> float:
        """Exponent of the next step, in (exponent, 1]."""
        ...


@dataclass(frozen=True)
class FixedSchedule:
    """Equidistant exponents r / R, as in the paper. The evidence is unbiased where moves do not adapt either."""

    n_steps: int

    def __post_init__(self) -> None:
        if self.n_steps < 1:
            raise ValueError(f"n_steps must be at least 1, got {self.n_steps}")

    def next_exponent(self, exponent: float, log_weights: Floats, log_increments: LogIncrements) -> float:
        """Return (r + 1) / R after r / R."""
        return (round(exponent * self.n_steps) + 1) / self.n_steps


@dataclass(frozen=True)
class AdaptiveSchedule:
    """The largest step that keeps a share of the particles effective.

    Parameters
    ----------
    share : float
        What has to stay effective in one step, as a share of `n_particles` for `conditional_ess` and of the effective
        sample size before the step for `ess`.
    criterion : {"conditional_ess", "ess"}
        `conditional_ess` judges the step alone, `ess` the weights after it.
    """

    share: float = 0.5
    criterion: str = "conditional_ess"
    n_steps: None = None

    N_CANDIDATES = 17
    N_ROUNDS = 3
    SMALLEST_STEP = 1e-14

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"share must be between 0 and 1, got {self.share}")
        if self.criterion not in ("conditional_ess", "ess"):
            raise ValueError(f"criterion must be 'conditional_ess' or 'ess', got {self.criterion!r}")

    def next_exponent(self, exponent: float, log_weights: Floats, log_increments: LogIncrements) -> float:
        """Find the exponent by refining a grid: each round is one call for all candidates."""
        room = 1.0 - exponent
        smallest = log_increments(np.array([exponent + room * self.SMALLEST_STEP]))[0]
        alive = np.where(np.isfinite(smallest), 0.0, -np.inf)  # the others are lost whatever the step
        target = self.share * self._effective(log_weights, alive)
        low, high = np.log(self.SMALLEST_STEP), 0.0  # of the log of the step as a share of the room left
        for _ in range(self.N_ROUNDS):
            log_steps = np.linspace(low, high, self.N_CANDIDATES)
            increments = log_increments(exponent + room * np.exp(log_steps))
            enough = self._effective(log_weights, increments) >= target
            if enough[-1] or not np.isfinite(increments).any():
                return float(exponent + room * np.exp(high))
            last = int(np.flatnonzero(enough).max(initial=0))
            low, high = log_steps[last], log_steps[last + 1]
        return float(exponent + room * np.exp(low))

    def _effective(self, log_weights: Floats, log_increments: Floats) -> Floats:
        if self.criterion == "ess":
            return ess(log_weights + log_increments)
        return conditional_ess(log_weights, log_increments)

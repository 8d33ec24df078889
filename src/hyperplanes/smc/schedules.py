"""Schedules of exponents from the prior (0) to the posterior (1)."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from hyperplanes.smc.weights import Floats, conditional_ess

LogIncrements = Callable[[Floats], Floats]
"""From candidate exponents (k,) to the log increments of every particle (k, n_particles)."""

MOST_STEPS = 2000
"""Steps after which an adaptive schedule at least doubles its exponent, so that it ends whatever the target is."""


class Schedule(Protocol):
    """Chooses the next exponent."""

    @property
    def n_steps(self) -> int | None:
        """Number of steps where it is known beforehand."""
        ...

    @property
    def hurry(self) -> float:
        """How many times longer than usual the last step was, for lack of time."""
        ...

    def next_exponent(
        self, exponent: float, log_weights: Floats, log_increments: LogIncrements, n_taken: int = 0
    ) -> float:
        """Exponent of the next step, in (exponent, 1], after `n_taken` others."""
        ...


@dataclass(frozen=True)
class FixedSchedule:
    """Equidistant exponents r / R, as in the paper. The evidence is unbiased where moves do not adapt either."""

    n_steps: int
    hurry: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if self.n_steps < 1:
            raise ValueError(f"n_steps must be at least 1, got {self.n_steps}")

    def next_exponent(
        self, exponent: float, log_weights: Floats, log_increments: LogIncrements, n_taken: int = 0
    ) -> float:
        """Return (r + 1) / R after r / R."""
        return (round(exponent * self.n_steps) + 1) / self.n_steps


@dataclass(frozen=True)
class AdaptiveSchedule:
    """The largest step that keeps a share of the particles effective.

    Where no step does, however small, and after `MOST_STEPS`, the exponent is doubled: small steps would keep nothing
    either, and never end.

    Parameters
    ----------
    share : float
        What has to stay effective in one step, see `conditional_ess`, as a share of `n_particles`.
    """

    share: float = 0.5
    n_steps: None = None

    hurry: ClassVar[float] = 1.0
    N_CANDIDATES = 17
    N_ROUNDS = 3
    SMALLEST_STEP = 1e-14

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"share must be between 0 and 1, got {self.share}")

    def next_exponent(
        self, exponent: float, log_weights: Floats, log_increments: LogIncrements, n_taken: int = 0
    ) -> float:
        """Find the exponent by refining a grid: each round is one call for all candidates."""
        room, twice = 1.0 - exponent, min(2 * exponent, 1.0)
        smallest = log_increments(np.array([exponent + room * self.SMALLEST_STEP]))[0]
        alive = np.where(np.isfinite(smallest), 0.0, -np.inf)  # the others are lost whatever the step
        target = self.share * conditional_ess(log_weights, alive)
        low, high = np.log(self.SMALLEST_STEP), 0.0  # of the log of the step as a share of the room left
        for _ in range(self.N_ROUNDS):
            log_steps = np.linspace(low, high, self.N_CANDIDATES)
            increments = log_increments(exponent + room * np.exp(log_steps))
            enough = conditional_ess(log_weights, increments) >= target
            if enough[-1] or not np.isfinite(increments).any():
                return float(exponent + room * np.exp(high))
            last = int(np.flatnonzero(enough).max(initial=0))
            low, high = log_steps[last], log_steps[last + 1]
        chosen = float(exponent + room * np.exp(low))
        return max(chosen, twice) if n_taken >= MOST_STEPS or not enough.any() else chosen


@dataclass
class TimedSchedule:
    """Adaptive steps, longer or shorter than usual so that the last one ends when the time is over.

    Progress rises about evenly in time where steps have their usual length. After
    every step the speed of the last few, as it would have been with steps of the usual length, tells how much
    longer or shorter the next one should be; a step that keeps a share s effective has a length of sqrt(1 / s - 1).
    The clock makes the result depend on the machine and on what else it does.

    Parameters
    ----------
    seconds : float
        Time for all steps, from now on.
    share : float
        What has to stay effective in a step of the usual length, see `AdaptiveSchedule`.
    hurry : float
        How many times longer than usual the first step is; later, the last one.
    progress : callable
        From the exponent to how far the annealing is, 0 to 1. That from a prior is about the root.
    clock : callable
        Seconds that have passed.
    """

    seconds: float
    share: float = 0.5
    hurry: float = 1.0
    progress: Callable[[float], float] = math.sqrt
    clock: Callable[[], float] = time.monotonic
    n_steps: None = None

    SHARES = (0.02, 0.999)
    """Of the longest and the shortest step."""
    FEWEST_EFFECTIVE = 4
    """Particles that the longest step leaves effective, however few there are."""
    UNCONTROLLED = 1e-3
    """Below this exponent steps have the length of the first one: nothing is known yet."""
    N_REMEMBERED = 5
    LARGEST_RISE = 2.0
    """How many times longer than the last one a step may be."""

    _start: float = field(init=False)
    _last: tuple[float, float] | None = field(init=False, default=None)
    _speeds: list[float] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        if not 0 < self.seconds < np.inf:
            raise ValueError(f"seconds must be positive and finite, got {self.seconds}")
        self._start = self.clock()

    @classmethod
    def fewest_effective(cls, n_particles: int) -> float:
        """Of so many particles, how many the longest step leaves effective."""
        return max(cls.SHARES[0] * n_particles, cls.FEWEST_EFFECTIVE)

    def next_exponent(
        self, exponent: float, log_weights: Floats, log_increments: LogIncrements, n_taken: int = 0
    ) -> float:
        """Find the exponent for the share that the time left asks for."""
        now, factor = self.clock(), self.hurry
        if self._last is not None:
            before, since = self._last
            gained = self.progress(exponent) - self.progress(before)
            self._speeds.append(gained / (max(now - since, 1e-9) * self.hurry))
            factor = min(self._factor(exponent, self._start + self.seconds - now), self.LARGEST_RISE * self.hurry)
        least = self.fewest_effective(len(log_weights)) / len(log_weights)
        share = float(np.clip(1 / (1 + factor**2 * (1 / self.share - 1)), min(least, self.share), self.SHARES[1]))
        self._last, self.hurry = (exponent, now), float(np.sqrt((1 / share - 1) / (1 / self.share - 1)))
        return AdaptiveSchedule(share).next_exponent(exponent, log_weights, log_increments, n_taken)

    def _factor(self, exponent: float, seconds_left: float) -> float:
        """How many times longer than usual the next step should be."""
        if exponent < self.UNCONTROLLED:
            return self.hurry
        usual_seconds = (1 - self.progress(exponent)) / np.median(self._speeds[-self.N_REMEMBERED :])
        return float(usual_seconds / max(seconds_left, 1e-9))

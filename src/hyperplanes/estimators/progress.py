"""A progress bar for the annealing, on stderr and only when asked for."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from hyperplanes.inference import Observer, Progress

ObserverOf: TypeAlias = Callable[[str], Observer]
"""From the name of a fit, empty where there is only one, to what it should report its steps to."""


@contextmanager
def observers(shown: bool) -> Iterator[ObserverOf | None]:
    """Give a progress bar for fits that come one after the other, or None if nothing is to be shown."""
    if not shown:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), TextColumn("{task.fields[status]}"))
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("annealing", total=1.0, status="compiling")

        def observer_of(name: str) -> Observer:
            bar.reset(task, description=f"annealing {name}".rstrip(), status="compiling")
            return _Steps(bar, task).show

        yield observer_of


@contextmanager
def counter(shown: bool, things: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Give what to call with how many things more are done: a progress bar moves, or nothing happens."""
    if not shown:
        yield lambda more: None
        return
    columns = (TextColumn(things), BarColumn(bar_width=30), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(things, total=total)
        yield lambda more: bar.advance(task, more)


class _Steps:
    """Steps of one fit seen so far, and the bar that shows them."""

    def __init__(self, bar: Bar, task: TaskID) -> None:
        self._bar = bar
        self._task = task
        self._first: Progress | None = None
        self._start = time.monotonic()

    def show(self, progress: Progress) -> None:
        """Move the bar to this step."""
        self._first = self._first or progress
        left = steps_left(self._first, progress)
        elapsed = time.monotonic() - self._start
        self._bar.update(
            self._task,
            completed=0.0 if left is None else progress.step / (progress.step + left),
            status=(
                f"exponent {progress.exponent:.3g}  ESS {progress.ess:.0f}  accepted {progress.acceptance:.0%}  "
                f"left {'?' if left is None else clock(elapsed * left / (progress.step - self._first.step + 1))}"
            ),
        )


def steps_left(first: Progress, now: Progress) -> float | None:
    """Estimate how many annealing steps remain.

    A fixed schedule is counted. An adaptive one multiplies the exponent by a nearly constant factor from its first
    step on, so the steps that remain follow from the logarithm of the exponent.

    Parameters
    ----------
    first, now : Progress
        The first and the latest report of one fit.

    Returns
    -------
    float or None
        None while there is too little to go by.
    """
    if now.exponent >= 1:
        return 0.0
    if now.n_steps is not None:
        return float(now.n_steps - now.step)
    if now.step <= first.step or now.exponent <= first.exponent or first.exponent <= 0:
        return None
    growth = math.log(now.exponent / first.exponent) / (now.step - first.step)
    return -math.log(now.exponent) / growth


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds, with hours where there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"

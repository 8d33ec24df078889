"""Running cells: those that are missing, several at a time, without one's failure stopping the others."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import jax
import joblib

from hyperplanes.experiments.cells import Cell, Content, read_cell, write_cell
from hyperplanes.experiments.forecasts import judge
from hyperplanes.experiments.reproduction.effort import Effort
from hyperplanes.experiments.reproduction.machine import cpus_to_hold, held_to, machine_name
from hyperplanes.experiments.reproduction.studies import STUDIES, fresh_rows

DIGITS = 8
"""Significant digits of a score in its file."""
MOST_MAPS = 30_000
"""Pieces of memory that a process may map before it forgets its compiled programs; Linux allows 65,530."""


class Failure(NamedTuple):
    """A cell that could not be computed."""

    cell: Cell
    """Which."""
    reason: str
    """Kind and message of the error."""


def run_cell(cell: Cell, effort: Effort, n_jobs: int = 1) -> Content:
    """Compute what a cell holds."""
    study = STUDIES[cell.study]
    task, machine = study.task(cell, effort, n_jobs), machine_name()
    with held_to(study.cpus.get(cell.data_set)):
        outcome = study.methods[cell.method](task)
    scores = {f"train_{name}": value for name, value in judge(outcome.train, task.train).items()}
    scores |= {f"test_{name}": value for name, value in judge(outcome.test, task.test).items()}
    fresh = fresh_rows(task)
    if not fresh.all():
        scores |= {f"fresh_{name}": v for name, v in judge(outcome.test.some(fresh), task.test.some(fresh)).items()}
    scores |= {"seconds": outcome.seconds, "cpu_seconds": outcome.cpu_seconds}
    if outcome.job_seconds is not None:
        scores["job_seconds"] = outcome.job_seconds
    return {
        "quick": effort.quick,
        "n_jobs": task.n_jobs,
        "device": jax.default_backend(),
        "machine": machine,
        "version": version("hyperplanes"),
        "scores": _rounded(scores),
        "path": {label: _rounded(found) for label, found in outcome.path.items()},
        "details": dict(outcome.details),
    }


def _rounded(scores: Any) -> dict[str, float]:
    return {name: float(f"{value:.{DIGITS}g}") for name, value in scores.items()}


def missing_cells(folder: Path, cells: Sequence[Cell], effort: Effort) -> list[Cell]:
    """Those that are not there yet; an error where one that is there is not what it should be."""
    missing = []
    for cell in cells:
        if cell.file(folder).exists():
            read_cell(folder, cell, quick=effort.quick)
        else:
            missing.append(cell)
    return missing


def cells_out_of_reach(cells: Sequence[Cell]) -> list[Cell]:
    """Those to be held to more CPUs than there are on this machine."""
    return [cell for cell in cells if STUDIES[cell.study].cpus.get(cell.data_set, 0) > cpus_to_hold()]


def runs_alone(cell: Cell, effort: Effort) -> bool:
    """Whether nothing else may run beside it, because its seconds are of interest."""
    return STUDIES[cell.study].timed and not effort.quick


def run_cells(
    folder: Path,
    cells: Sequence[Cell],
    effort: Effort,
    *,
    n_jobs: int = 1,
    count: Callable[[int], None] = lambda more: None,
    tell: Callable[[Failure], None] = lambda failure: None,
) -> list[Failure]:
    """Compute cells and write their files.

    Parameters
    ----------
    folder : Path
        Of the files.
    cells : sequence of Cell
        Those to compute.
    effort : Effort
        How large everything is.
    n_jobs : int
        Cells at a time, each in a process of its own; -1 for as many as there are cores. They share the cores. Cells
        that are timed come last, one at a time.
    count : callable
        Called with 1 after each cell.
    tell : callable
        Called with each failure as soon as it is known.

    Returns
    -------
    list of Failure
        Cells that could not be computed, in their order.
    """
    alone = [cell for cell in cells if runs_alone(cell, effort)]
    together = [cell for cell in cells if not runs_alone(cell, effort)]
    place, failures = folder.resolve(), []
    for failure in chain(_attempts(place, together, effort, n_jobs), _attempts(place, alone, effort, 1)):
        count(1)
        if failure is not None:
            tell(failure)
            failures.append(failure)
    return sorted(failures)


def _attempts(folder: Path, cells: Sequence[Cell], effort: Effort, n_jobs: int) -> Iterator[Failure | None]:
    """What became of each cell, in the order in which they end."""
    at_once = int(joblib.effective_n_jobs(n_jobs))
    threads = max(1, int(joblib.cpu_count()) // at_once)
    pool = joblib.Parallel(n_jobs=at_once, return_as="generator_unordered", batch_size=1)
    left = set(cells)
    try:
        for cell, failure in pool(joblib.delayed(_attempt)(folder, cell, effort, threads) for cell in cells):
            left.remove(cell)
            yield failure
    except BrokenProcessPool:
        for cell in sorted(cell for cell in left if not cell.file(folder).exists()):
            yield Failure(cell, "a process was killed, perhaps for want of memory: run again, with fewer jobs")


def _attempt(folder: Path, cell: Cell, effort: Effort, threads: int) -> tuple[Cell, Failure | None]:
    """The cell, and why it could not be computed where it could not."""
    _forget_programs_if_many()
    try:
        with warnings.catch_warnings(action="ignore"):  # of the rivals' libraries, thousands of times
            write_cell(folder, cell, run_cell(cell, effort, threads))
    except ModuleNotFoundError as error:
        return cell, Failure(cell, f'{error}: pip install "hyperplanes[reproduce]"')
    except Exception as error:
        return cell, Failure(cell, f"{type(error).__name__}: {error}")
    return cell, None


def _forget_programs_if_many() -> None:
    """Compiled programs map memory; beyond what the system allows JAX would crash."""
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()  # type: ignore[no-untyped-call]  # JAX has no type for it

"""Running cells: those that are missing, several at a time, without one's failure stopping the others."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import joblib

from hyperplanes.experiments.cells import Cell, Content, read_cell, write_cell
from hyperplanes.experiments.forecasts import judge
from hyperplanes.experiments.reproduction.effort import Effort
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
    task = study.make_task(cell.data_set, cell.repeat, effort, n_jobs)
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


def run_cells(
    folder: Path,
    cells: Sequence[Cell],
    effort: Effort,
    *,
    n_jobs: int = 1,
    count: Callable[[int], None] = lambda more: None,
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
        Cells at a time, each in a process of its own; -1 for as many as there are cores. They share the cores.
    count : callable
        Called with 1 after each cell.

    Returns
    -------
    list of Failure
        Cells that could not be computed, in their order.
    """
    at_once = int(joblib.effective_n_jobs(n_jobs))
    threads = max(1, int(joblib.cpu_count()) // at_once)
    failures = []
    for failure in _attempts(folder.resolve(), cells, effort, at_once, threads):
        count(1)
        if failure is not None:
            failures.append(failure)
    return sorted(failures)


def _attempts(
    folder: Path, cells: Sequence[Cell], effort: Effort, at_once: int, threads: int
) -> Iterator[Failure | None]:
    pool = joblib.Parallel(n_jobs=at_once, return_as="generator_unordered", batch_size=1)
    found: Iterator[Failure | None] = pool(joblib.delayed(_attempt)(folder, cell, effort, threads) for cell in cells)
    return found


def _attempt(folder: Path, cell: Cell, effort: Effort, threads: int) -> Failure | None:
    _forget_programs_if_many()
    try:
        with warnings.catch_warnings(action="ignore"):  # of the rivals' libraries, thousands of times
            write_cell(folder, cell, run_cell(cell, effort, threads))
    except ModuleNotFoundError as error:
        return Failure(cell, f'{error}: pip install "hyperplanes[reproduce]"')
    except Exception as error:
        return Failure(cell, f"{type(error).__name__}: {error}")
    return None


def _forget_programs_if_many() -> None:
    """Compiled programs map memory; beyond what the system allows JAX would crash."""
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()  # type: ignore[no-untyped-call]  # JAX has no type for it

"""`hyperplanes reproduce`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from hyperplanes.cli.console import FAILED, counted, say
from hyperplanes.cli.inputs import wrong_usage
from hyperplanes.experiments.cells import Cell
from hyperplanes.experiments.reproduction import (
    CAN_HOLD,
    FULL,
    QUICK,
    STUDIES,
    Effort,
    Failure,
    Plan,
    cells_out_of_reach,
    missing_cells,
    plan_cells,
    run_cells,
    runs_alone,
    write_report,
)


def reproduce(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(STUDIES)}, or all.", metavar="NAME")],
    repeats: Annotated[int | None, typer.Option(min=1, help="Repeats of every method; 100, 20 or so each.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Tiny sizes: see that everything runs, in minutes.")] = False,
    jobs: Annotated[
        int, typer.Option(help="Cells computed at a time; -1 for as many as there are cores. Timed ones run alone.")
    ] = 1,
    folder: Annotated[
        Path | None, typer.Option(help="Of all results; by default reproduction, or reproduction-quick.")
    ] = None,
    methods: Annotated[str, typer.Option(help="Only these methods, with commas between them.")] = "",
    sets: Annotated[str, typer.Option(help="Only these data sets, with commas between them.")] = "",
    shard: Annotated[str, typer.Option(help="Only a share k/n of the cells, such as 1/4.")] = "1/1",
    document: Annotated[
        Path | None, typer.Option(help="Where to write the document; by default reproduction.md in the folder.")
    ] = None,
    cells_only: Annotated[bool, typer.Option("--cells-only", help="Compute cells, write no report.")] = False,
    report_only: Annotated[bool, typer.Option("--report-only", help="Compute nothing, write the report.")] = False,
) -> None:
    """Reproduce the tables and figures of the paper.

    Computes what is missing, one small file for each method, data set and repeat, so that a run can be killed, resumed
    and shared out; then writes tables, figures and a document from the files of all studies in the folder.
    """
    if cells_only and report_only:
        raise typer.BadParameter("--cells-only and --report-only leave nothing to do")
    if jobs < 1 and jobs != -1:
        raise typer.BadParameter(f"--jobs must be at least 1, or -1 for as many as there are cores, got {jobs}")
    folder = folder or Path("reproduction-quick" if quick else "reproduction")
    plan = Plan(name, QUICK if quick else FULL, repeats, _names(methods), _names(sets), shard)
    with wrong_usage():
        cells = plan_cells(plan)
    failures = [] if report_only else _run(folder / "cells", cells, plan.effort, jobs)
    if not cells_only:
        write_report(folder, document or folder / "reproduction.md", plan.effort)
        say(f"report written to {document or folder / 'reproduction.md'}")
    if failures:
        raise typer.Exit(FAILED)


def _run(folder: Path, cells: Sequence[Cell], effort: Effort, jobs: int) -> list[Failure]:
    missing = missing_cells(folder, cells, effort)
    say(f"{len(cells)} cells, {len(cells) - len(missing)} of them there already")
    if out_of_reach := cells_out_of_reach(missing):
        named = ", ".join(dict.fromkeys(cell.data_set for cell in out_of_reach))
        lack = "more CPUs than this machine has" if CAN_HOLD else "CPUs, which this system does not know of"
        say(f"skipped: {len(out_of_reach)} cells of {named} must be held to {lack}")
    within_reach = [cell for cell in missing if cell not in out_of_reach]
    if alone := dict.fromkeys(cell.study for cell in within_reach if jobs != 1 and runs_alone(cell, effort)):
        say(f"cells of {', '.join(alone)} are timed and run one at a time, after all others")
    with counted("cells", len(within_reach)) as count:
        return run_cells(folder, within_reach, effort, n_jobs=jobs, count=count, tell=_say_failure)


def _say_failure(failure: Failure) -> None:
    say(f"failed: {failure.cell}: {failure.reason}", style="bold red")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())

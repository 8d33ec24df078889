"""The command line: `hyperplanes demo | reproduce`."""

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.console import Console

from hyperplanes.estimators.progress import counter
from hyperplanes.experiments.demo import SEED, DemoResult, draw_demo, run_demo
from hyperplanes.experiments.reproduction import (
    FULL,
    QUICK,
    STUDIES,
    Failure,
    Plan,
    missing_cells,
    plan_cells,
    run_cells,
    write_report,
)
from hyperplanes.plotting import check_picture_path

PROGRAM = "hyperplanes"
FAILED = 1
"""Exit code of a command that could not do its work; 2 is a wrong command line, 130 an interruption."""
EXPECTED_ERRORS = (ValueError, OSError, ImportError, MemoryError)
"""Errors whose message is meant for the user. Any other is a fault of ours and keeps its traceback."""

app = typer.Typer(
    name=PROGRAM,
    help="Bayesian regression with a two-layer ReLU network that nobody has to tune.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.
    """
    try:
        with _warnings_in_one_line():
            app(args=None if argv is None else list(argv), prog_name=PROGRAM)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else FAILED
    except EXPECTED_ERRORS as error:
        _say(f"error: {error}", style="bold red")
        return FAILED
    return 0


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"{PROGRAM} {version(PROGRAM)}")
        raise typer.Exit


@app.callback()
def root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Bayesian regression with a two-layer ReLU network that nobody has to tune."""


@app.command()
def demo(
    seed: Annotated[int, typer.Option(min=0, help="Of the simulated data and of the fits.")] = SEED,
    rows: Annotated[int, typer.Option(min=8, help="Rows to simulate; a quarter is held out.")] = 5000,
    out: Annotated[Path, typer.Option(help="Where to write the picture (.png, .pdf, .svg).")] = Path("demo.png"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of the table.")] = False,
) -> None:
    """See the method work on the paper's first simulation study.

    Simulates noisy data from a surface that bends along two lines, fits it with hyperplanes, a linear model, a random
    forest and a support vector machine, prints how well each does on rows held out, and writes a picture.
    """
    check_picture_path(out)
    result = run_demo(seed=seed, n_rows=rows, progress=_watched(), observe=_announce)
    draw_demo(result, out)
    _print_result(result, as_json)
    _say(f"picture written to {out}")


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(STUDIES)}, or all.", metavar="NAME")],
    repeats: Annotated[int | None, typer.Option(min=1, help="Repeats of every method; 100, 20 or so each.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Tiny sizes: see that everything runs, in minutes.")] = False,
    jobs: Annotated[int, typer.Option(help="Cells computed at a time; -1 for as many as there are cores.")] = 1,
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
    folder = folder or Path("reproduction-quick" if quick else "reproduction")
    plan = Plan(name, QUICK if quick else FULL, repeats, _names(methods), _names(sets), shard)
    failures = [] if report_only else _run(folder / "cells", plan, jobs)
    if not cells_only:
        write_report(folder, document or folder / "reproduction.md", plan.effort)
        _say(f"report written to {document or folder / 'reproduction.md'}")
    if failures:
        raise typer.Exit(FAILED)


def _run(folder: Path, plan: Plan, jobs: int) -> list[Failure]:
    cells = plan_cells(plan)
    missing = missing_cells(folder, cells, plan.effort)
    _say(f"{len(cells)} cells, {len(cells) - len(missing)} of them there already")
    with counter(_watched(), "cells", len(missing)) as count:
        failures = run_cells(folder, missing, plan.effort, n_jobs=jobs, count=count)
    for failure in failures:
        _say(f"failed: {failure.cell}: {failure.reason}", style="bold red")
    return failures


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _print_result(result: DemoResult, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(result.as_dict(), indent=2))
    else:
        Console().print(result)


def _watched() -> bool:
    return sys.stderr.isatty()


def _announce(method: str) -> None:
    if _watched():
        _say(f"fitting {method} ...", style="dim")


def _say(message: str, style: str | None = None) -> None:
    """Tell the user something that is not the result: on stderr, so that stdout can be piped."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(message, style=style, markup=False)


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        yield


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _say(f"warning: {message}", style="yellow")

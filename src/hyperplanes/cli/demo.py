"""`hyperplanes demo`."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hyperplanes.cli.console import say, watched
from hyperplanes.experiments.demo import SEED, DemoResult, draw_demo, run_demo
from hyperplanes.files import check_replaceable
from hyperplanes.plotting import check_picture_path


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
    try:
        check_picture_path(out)
        check_replaceable(out)
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error)) from None
    result = run_demo(seed=seed, n_rows=rows, progress=watched(), observe=_announce)
    draw_demo(result, out)
    _print_result(result, as_json)
    say(f"picture written to {out}")


def _print_result(result: DemoResult, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(result.as_dict(), indent=2))
    else:
        Console().print(result)


def _announce(method: str) -> None:
    if watched():
        say(f"fitting {method} ...", style="dim")

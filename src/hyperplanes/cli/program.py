"""The program: its commands, and what becomes of errors and warnings."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer

from hyperplanes.cli.console import FAILED, say, warnings_in_one_line
from hyperplanes.cli.demo import demo
from hyperplanes.cli.fit import fit
from hyperplanes.cli.predict import predict
from hyperplanes.cli.report import report
from hyperplanes.cli.reproduce import reproduce

PROGRAM = "hyperplanes"
EXPECTED_ERRORS = (ValueError, OSError, ImportError, MemoryError)
"""Errors whose message is meant for the user. Any other is a fault of ours and keeps its traceback."""

app = typer.Typer(
    name=PROGRAM,
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
        with warnings_in_one_line():
            app(args=None if argv is None else list(argv), prog_name=PROGRAM)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else FAILED
    except EXPECTED_ERRORS as error:
        say(f"error: {error}", style="bold red")
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
    """Bayesian regression and classification with two-layer ReLU networks that nobody has to tune.

    ```
    hyperplanes fit houses.csv --target price --out houses.safetensors
    hyperplanes predict houses.safetensors new.csv --out predicted.csv
    hyperplanes report houses.safetensors houses.csv --target price --out houses.html
    ```

    Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 could not be done (the last line says why),
    2 wrong command line, 130 interrupted. `--install-completion` teaches your shell to complete commands and options.
    """


for command in (fit, predict, report, demo, reproduce):
    app.command()(command)

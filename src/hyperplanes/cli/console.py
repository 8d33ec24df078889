"""What is said beside the result: on stderr, so that stdout can be piped."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console

FAILED = 1
"""Exit code of a command that could not do its work; 2 is a wrong command line, 130 an interruption."""


def watched() -> bool:
    """Whether somebody sees what is said."""
    return sys.stderr.isatty()


def say(message: str, style: str | None = None) -> None:
    """Tell the user something that is not the result."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(message, style=style, markup=False)


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Show warnings without the line of code that they come from."""
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
    say(f"warning: {message}", style="yellow")

"""What is said beside the result: on stderr, so that stdout can be piped."""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console

from hyperplanes.estimators.progress import counter

FAILED = 1
"""Exit code of a command that could not do its work; 2 is a wrong command line, 130 an interruption."""
SECONDS_BETWEEN_LINES = 60
"""Where a log is written in place of a bar."""


def watched() -> bool:
    """Whether somebody sees what is said."""
    return sys.stderr.isatty()


def say(message: str, style: str | None = None) -> None:
    """Tell the user something that is not the result."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(message, style=style, markup=False)


@contextmanager
def counted(things: str, total: int) -> Iterator[Callable[[int], None]]:
    """Give what to call with how many things more are done: a bar moves where somebody sees it, else lines tell."""
    with counter(watched(), things, total) as move_bar:
        yield move_bar if watched() else _lines(things, total)


def _lines(things: str, total: int) -> Callable[[int], None]:
    """Say how many are done, once in a while and at the end."""
    done, last = 0, time.monotonic()

    def count(more: int) -> None:
        nonlocal done, last
        done += more
        if done == total or time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            say(f"{done} of {total} {things} done")

    return count


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

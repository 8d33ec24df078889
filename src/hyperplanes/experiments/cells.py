"""Cells: what one method scored on one repeat of one data set, each a small JSON file.

A file appears complete or not at all, so that a run can be killed, resumed, shared out over machines and joined again.
"""

import json
import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

Content = dict[str, Any]
Item = TypeVar("Item")


class Cell(NamedTuple):
    """Which result it is."""

    study: str
    """Such as "sim1"."""
    data_set: str
    """Of the study."""
    method: str
    """Its name in the study."""
    repeat: int
    """From 1."""

    def file(self, folder: Path) -> Path:
        """Where it is kept."""
        return folder / self.study / self.data_set / self.method / f"{self.repeat:03d}.json"

    def __str__(self) -> str:
        return f"{self.study}, {self.data_set}, {self.method}, repeat {self.repeat}"


def write_json(file: Path, content: Any) -> None:
    """Write a file that is never seen half-written, whatever interrupts."""
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=1, allow_nan=False) + "\n"
    handle, unfinished = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, file)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def read_json(file: Path) -> Any:
    """Read a file, or say which one is no JSON."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} is not JSON ({error}): delete it and run again") from error


def stored(file: Path, compute: Callable[[], Item]) -> Item:
    """What the file holds, computed and written where it does not exist."""
    if not file.exists():
        write_json(file, compute())
    found: Item = read_json(file)
    return found


def write_cell(folder: Path, cell: Cell, content: Mapping[str, Any]) -> None:
    """Write what a cell holds beside which it is."""
    write_json(cell.file(folder), {**cell._asdict(), **content})


def read_cell(folder: Path, cell: Cell, **settings: Any) -> Content:
    """Read a cell, with an error that says what is wrong where it is not what it should be.

    Parameters
    ----------
    folder : Path
        Of all cells.
    cell : Cell
        Which one.
    **settings
        What its content must say of how it was made.
    """
    file = cell.file(folder)
    content = read_json(file)
    if not isinstance(content, dict) or not isinstance(content.get("scores"), dict):
        raise ValueError(f"{file} holds no scores: delete it and run again")
    for name, expected in {**cell._asdict(), **settings}.items():
        if content.get(name) != expected:
            found = content.get(name)
            raise ValueError(f"{file} should have {name} {expected!r}, got {found!r}: use another folder or delete it")
    for name, value in content["scores"].items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"{file} has no finite number for {name}, got {value!r}: delete it and run again")
    return content


def take_shard(cells: Sequence[Item], shard: str) -> list[Item]:
    """The share "k/n" of a list, k from 1 to n: every item is in one share."""
    number, slash, total = shard.partition("/")
    if not (slash and number.isdecimal() and total.isdecimal() and 1 <= int(number) <= int(total)):
        raise ValueError(f"shard must be k/n with k from 1 to n, such as 1/4, got {shard!r}")
    return list(cells[int(number) - 1 :: int(total)])

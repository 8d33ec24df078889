"""Writing a file that is either complete or as it was before."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4


@contextmanager
def replaced_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Give a file to write to; it takes the place of `path` when the context ends without an error.

    It is written beside `path`, forced to the disk and renamed, so that whoever looks, even after a crash, finds the
    old file or the new one. A link is followed; permissions of a file that is replaced are kept.
    """
    target = Path(os.path.realpath(path))
    mode = _mode_of(target)
    unfinished = target.with_name(f".{target.name[:100]}.{uuid4().hex}.unfinished")
    try:
        with unfinished.open("xb") as file:
            if mode is not None:
                unfinished.chmod(mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    _keep_the_name(target.parent)


def _mode_of(target: Path) -> int | None:
    """Permissions of a file that is there already."""
    try:
        status = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(f"{target} is a folder: give the name of a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{target} is not a regular file, so that it cannot be replaced")
    return stat.S_IMODE(status.st_mode)


def _keep_the_name(folder: Path) -> None:
    """Force a rename to the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

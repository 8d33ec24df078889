"""Writing a file that is either complete or as it was before."""

import os
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO
from uuid import uuid4

_unfinished: set[Path] = set()
"""Files and folders that this process will rename or remove."""
_names = threading.Lock()
"""Held by who changes them, or renames one."""


@contextmanager
def replaced_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Give a file to write to; it takes the place of `path` when the context ends without an error.

    It is written beside `path`, forced to the disk and renamed, so that whoever looks, even after a crash, finds the
    old file or the new one. A link is followed; permissions of a file that is replaced are kept.
    """
    target, mode, unfinished = _places(path)
    with _noted(unfinished):
        try:
            with _opened(unfinished, path) as file:
                if mode is not None:
                    unfinished.chmod(mode)
                yield file
                file.flush()
                os.fsync(file.fileno())
            with _names:
                unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
    _keep_the_name(target.parent)


def check_replaceable(path: str | PathLike[str]) -> None:
    """Raise now the error that `replaced_file` would raise after long work, for want of a folder or of permission."""
    _, _, unfinished = _places(path)
    with _noted(unfinished):
        _opened(unfinished, path).close()
        unfinished.unlink()


@contextmanager
def temporary_folder(prefix: str, folder: str | PathLike[str] | None) -> Iterator[Path]:
    """Give a new folder in a folder, by default that of the system; it is removed when the context ends."""
    with TemporaryDirectory(prefix=prefix, dir=folder) as name, _noted(Path(name)):
        yield Path(name)


def remove_unfinished() -> None:
    """Remove all that `replaced_file` and `temporary_folder` have begun: for who ends the process right afterwards.

    Other threads that begin something else, or would rename it, wait for the end.
    """
    _names.acquire()
    for path in _unfinished:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


@contextmanager
def _noted(path: Path) -> Iterator[None]:
    with _names:
        _unfinished.add(path)
    try:
        yield
    finally:
        with _names:
            _unfinished.discard(path)


def _places(path: str | PathLike[str]) -> tuple[Path, int | None, Path]:
    """The file that is meant, its permissions if it is there, and the file to write to."""
    target = Path(os.path.realpath(path))
    return target, _mode_of(target), target.with_name(f".{target.name[:100]}.{uuid4().hex}.unfinished")


def _opened(unfinished: Path, path: str | PathLike[str]) -> BinaryIO:
    """A new file; an error names the path that was asked for."""
    try:
        return unfinished.open("xb")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


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

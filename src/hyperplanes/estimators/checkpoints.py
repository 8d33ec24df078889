"""The folder that keeps a fit: a record of what is fitted, and a checkpoint of each annealing.

See docs/checkpoints.md.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import joblib
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from hyperplanes.estimators.saving import library_versions
from hyperplanes.files import ModelFileError, decode, encode, read_container, write_container
from hyperplanes.inference import Checkpoint, CheckpointError
from hyperplanes.inference.checkpoint import warn_of
from hyperplanes.model import Prior

Folder: TypeAlias = str | PathLike[str]
Facts: TypeAlias = Mapping[str, Any]
"""What the result of a fit depends on, by name."""

RECORD = "checkpoint.safetensors"
PART = "part-{}-{}.safetensors"
UNFINISHED = ".*.unfinished"
"""Left behind by a process that was killed while it wrote."""
OURS = (RECORD, PART.format("*", "*"), UNFINISHED)
NEUTRAL = frozenset({"n_jobs", "progress", "memory_budget", "device"})
"""Settings that do not change the result; the kind of device is written into each checkpoint."""
CHECKSUM = "checksum of the data"
TYPES = {"Prior": Prior}


class Checkpoints(NamedTuple):
    """A folder for the checkpoints of a fit."""

    folder: Path
    """Absolute."""
    facts: Facts
    """Settings and versions."""
    seed: int | None
    """In place of ``random_state=None``."""
    fit: str = ""
    """Checksum of the record, once there is one."""

    def begin(self, data: Facts) -> "Checkpoints | None":
        """Record what is fitted, or compare it with the record; None, and a warning, where there can be none.

        Raises
        ------
        CheckpointError
            If the folder is of another fit, holds something else, or is damaged.
        """
        record: dict[str, Any] = {"facts": {**self.facts, **data}, "seed": self.seed}
        try:
            kept = _read(self.folder)
            if kept is None:
                self._write(record)
        except OSError as error:
            warn_of(error, self.folder)
            return None
        if kept and (differences := "; ".join(_differences(kept["facts"], record["facts"]))):
            raise CheckpointError(
                f"the checkpoint in {self.folder} is of another fit: {differences}. Go on as it was begun, name "
                "another folder, or delete this one to fit from the start"
            )
        with suppress(OSError):
            for path in self.folder.glob(UNFINISHED):
                path.unlink()
        document, _ = encode(kept or record, TYPES)
        return self._replace(fit=hashlib.sha256(json.dumps(document).encode()).hexdigest())

    def _write(self, record: dict[str, Any]) -> None:
        if os.path.isfile(self.folder):
            raise CheckpointError(f"a checkpoint is a folder, and {self.folder} is a file: name another one")
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.iterdir():
            if not any(map(path.match, OURS)):
                raise CheckpointError(f"{self.folder} holds other things than a checkpoint: name a new folder")
        write_container(self.folder / RECORD, *encode(record, TYPES))

    def of(self, part: int, likelihood: str) -> Checkpoint:
        """The checkpoint of one annealing."""
        return Checkpoint(self.folder / PART.format(part, likelihood), self.fit)


def open_checkpoints(path: Folder | None, estimator: BaseEstimator) -> Checkpoints | None:
    """Checkpoints in a folder, which need not exist, of an estimator with its settings; None without a path."""
    if path is None:
        return None
    folder, seed = Path(os.path.abspath(path)), None
    if estimator.random_state is None:
        kept = None
        with suppress(OSError):  # which `begin` will warn of
            kept = _read(folder)
        seed = int(check_random_state(None).randint(2**32, dtype=np.uint32)) if kept is None else kept["seed"]
    settings = {name: _plain(value) for name, value in estimator.get_params(deep=False).items() if name not in NEUTRAL}
    return Checkpoints(folder, {"estimator": type(estimator).__name__, **library_versions(), **settings}, seed)


def remove_checkpoints(path: Folder) -> None:
    """Delete what a fit has left in a folder, and the folder if nothing else is in it."""
    with suppress(OSError):
        for pattern in OURS:
            for file in Path(path).glob(pattern):
                file.unlink()
        Path(path).rmdir()


def holds_checkpoints(path: Folder) -> bool:
    """Whether a fit has left something in a folder."""
    return os.path.isfile(Path(path) / RECORD)


def _read(folder: Path) -> dict[str, Any] | None:
    """The record, None where there is none."""
    try:
        kept = decode(*read_container(folder / RECORD), TYPES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ModelFileError as error:
        raise _damaged(folder, str(error)) from None
    match kept:
        case {"facts": dict(), "seed": int() | None}:
            return dict(kept)
    raise _damaged(folder, "it has no record of a fit")


def _damaged(folder: Path, reason: str) -> CheckpointError:
    return CheckpointError(
        f"the checkpoint in {folder} cannot be used: {reason}. Delete the folder to fit from the start"
    )


def _differences(then: Facts, now: Facts) -> Iterator[str]:
    """What differs, in words."""
    names = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    if names == [CHECKSUM]:
        yield "the data differ, in some value, weight or row"
    for name in names:
        if name != CHECKSUM:
            yield f"{name} {then.get(name)!r} then, {now.get(name)!r} now"


def _plain(value: Any) -> Any:
    """A setting as something that can be kept and compared."""
    if isinstance(value, np.random.RandomState):
        return f"RandomState {joblib.hash(value)}"
    return value if value is None or isinstance(value, bool | int | float | str | np.generic | Prior) else repr(value)

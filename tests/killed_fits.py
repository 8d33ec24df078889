"""Small fits of every kind in processes that can be killed, by others or by themselves, at any moment."""

import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hyperplanes import HyperplaneProcessClassifier, HyperplaneProcessRegressor
from hyperplanes.files import replacement
from hyperplanes.inference import checkpoint as checkpoints
from hyperplanes.model import data
from one_shape import SHAPE

SMALL: dict[str, Any] = SHAPE | {"random_state": 3, "n_jobs": 2}
PAPER = {"sampler": "paper", "n_steps": 12}
MOMENTS = ("half of it is written", "all of it is written", "it is on the disk", "it has its name")
"""At which a process may kill itself within a writing."""


class Kind(NamedTuple):
    """A fit."""

    settings: dict[str, Any]
    """That differ from the small ones."""
    n_classes: int = 0
    """0 for a regression."""
    n_rows: int = 80
    """Of the table."""
    block: int = data.LARGEST_BLOCK
    """Rows in a block: several of them join in stages."""
    from_file: bool = False
    """Whether rows come from Parquet."""

    def model(self) -> HyperplaneProcessRegressor | HyperplaneProcessClassifier:
        """Unfitted."""
        return (HyperplaneProcessClassifier if self.n_classes else HyperplaneProcessRegressor)(**SMALL | self.settings)

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and response."""
        rng = np.random.default_rng(11)
        X = rng.uniform(-1, 1, (self.n_rows, 2))
        y = 2 * np.maximum(X[:, 0] + 0.2, 0) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(self.n_rows)
        return X, np.digitize(y, np.quantile(y, np.arange(1, self.n_classes) / self.n_classes)) if self.n_classes else y

    def fit(self, folder: str | Path, checkpoint: str | Path | None) -> Any:
        """Fit; temporary files go to a folder."""
        X, y = self.rows()
        with _blocks_of(self.block), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not self.from_file:
                return self.model().fit(X, y, checkpoint=checkpoint)
            path = Path(folder) / "rows.parquet"
            if not path.exists():
                _write_parquet(path, X, y)
            return self.model().fit_dataset(path, "y", folder, checkpoint=checkpoint)


KINDS = {
    "unknown number": Kind({"n_hyperplanes": "auto"}),
    "given number": Kind({}),
    "fixed steps": Kind({"n_steps": 9}),
    "paper": Kind(PAPER),
    "stages": Kind({}, n_rows=300, block=64),
    "varying": Kind({"noise": "varying"}),
    "student": Kind({"noise": "student"}),
    "any noise": Kind({"noise": "auto"}),
    "two classes": Kind({}, n_classes=2),
    "three classes": Kind({}, n_classes=3),
    "intensity": Kind({"decomposition": "intensity", "n_parts": 2, "n_hyperplanes": 1}),
    "domain": Kind({"decomposition": "domain", "n_parts": 3, "blend": 0.1}),
    "classes in a domain": Kind({"decomposition": "domain", "n_parts": 2}, n_classes=2),
    "paper's intensity": Kind({"decomposition": "paper-intensity", "n_parts": 2} | PAPER),
    "paper's domain": Kind({"decomposition": "paper-domain", "n_parts": 2} | PAPER),
    "data set": Kind({"decomposition": "domain", "n_parts": 2} | PAPER, from_file=True),
}


class Job(NamedTuple):
    """What a process is to do."""

    kind: str
    """One of `KINDS`."""
    out: str
    """Model file."""
    checkpoint: str | None = None
    """Folder."""
    slowness: float = 0.0
    """Seconds that it takes to bring something to the disk."""
    moment: str | None = None
    """One of `MOMENTS`, at which to be killed."""
    write: int = 0
    """Within which writing that is."""


class Nursery:
    """A process that has imported the library, and that others are forked from: importing takes seconds."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, __file__], stdin=-1, stdout=-1, text=True, bufsize=1)

    def run(self, job: Job, seconds: float | None = None) -> int:
        """Have a process do something; kill it after some seconds. Return how it ended: minus the signal, or 0."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        number = int(self._process.stdout.readline())
        ended, _, _ = select.select([self._process.stdout], [], [], seconds)
        if not ended:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def contents(model: Any) -> str:
    """Checksum of all that a model file of a fit would hold."""
    file = BytesIO()
    model.save(file)
    return _checksum(file.getvalue())


def contents_of_file(path: str | Path) -> str:
    """Checksum of all that a model file holds; its bytes may differ in the order of the header."""
    return _checksum(Path(path).read_bytes())


def _checksum(data: bytes) -> str:
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return str(header["__metadata__"]["sha256"])


def _serve() -> None:
    """Be a nursery."""
    for line in sys.stdin:
        number = os.fork()
        if number == 0:
            _do(Job(*json.loads(line)))
        print(number, flush=True)
        _, status = os.waitpid(number, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _do(job: Job) -> None:
    try:
        checkpoints.LEAST_SECONDS, checkpoints.SHARE = 0.0, np.inf
        _prepare_death(job)
        KINDS[job.kind].fit(Path(job.out).parent, job.checkpoint).save(job.out)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _prepare_death(job: Job) -> None:
    """Make `replacement` slow, and deadly at a moment of one writing."""
    sync, rename, n_begun = os.fsync, Path.replace, 0

    def die_if(moment: str) -> None:
        if n_begun == job.write and moment == job.moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def deadly_sync(handle: int) -> None:
        nonlocal n_begun
        n_begun += 1
        time.sleep(job.slowness)
        if n_begun == job.write and job.moment == MOMENTS[0]:
            os.ftruncate(handle, os.fstat(handle).st_size // 2)
            die_if(MOMENTS[0])
        die_if(MOMENTS[1])
        sync(handle)
        time.sleep(job.slowness)

    def deadly_rename(source: Path, target: Path) -> None:
        die_if(MOMENTS[2])
        rename(source, target)
        die_if(MOMENTS[3])

    replacement.os.fsync = deadly_sync
    replacement._keep_the_name = lambda folder: None
    replacement.Path.replace = deadly_rename


@contextmanager
def _blocks_of(n_rows: int) -> Iterator[None]:
    before, data.LARGEST_BLOCK = data.LARGEST_BLOCK, n_rows
    try:
        yield
    finally:
        data.LARGEST_BLOCK = before


def _write_parquet(path: Path, X: np.ndarray, y: np.ndarray) -> None:
    import pandas as pd

    unfinished = path.with_suffix(f".{os.getpid()}")
    pd.DataFrame({"first": X[:, 0], "second": X[:, 1], "y": y}).to_parquet(unfinished)
    unfinished.rename(path)


if __name__ == "__main__":
    _serve()

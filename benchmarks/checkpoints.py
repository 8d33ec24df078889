"""Seconds that checkpoints cost a default fit, as JSON: fits with and without, in turns, and the time spent on them.

Every second pair begins with the other one. Processor seconds tell more than those of the clock where the machine is
not quiet; they leave out the time that the disk takes, which the share that is spent on checkpoints has.
"""

import argparse
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1

from hyperplanes import HyperplaneProcessRegressor
from hyperplanes.estimators.checkpoints import Checkpoints
from hyperplanes.estimators.division import Division
from hyperplanes.inference import Checkpoint

METHODS = ((Checkpoint, "resume"), (Checkpoint, "keep"), (Checkpoints, "begin"), (Division, "facts"))
"""All that is done for a checkpoint."""


def fit(n_rows: int, checkpoint: Path | None) -> tuple[float, float]:
    """Seconds of the clock and of processors."""
    X, y = make_friedman1(n_rows, n_features=10, noise=1.0, random_state=0)
    start = time.perf_counter(), time.process_time()
    HyperplaneProcessRegressor(random_state=0).fit(X, y, checkpoint=checkpoint)
    return time.perf_counter() - start[0], time.process_time() - start[1]


def count_seconds(kind: type, name: str, spent: list[float]) -> None:
    """Have a method add the seconds that it takes to a list."""
    method = getattr(kind, name)

    def counted(*arguments: Any, **more: Any) -> Any:
        start = time.perf_counter()
        try:
            return method(*arguments, **more)
        finally:
            spent.append(time.perf_counter() - start)

    setattr(kind, name, counted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    spent: list[float] = []
    for kind, name in METHODS:
        count_seconds(kind, name, spent)
    fit(options.rows, None)  # compiles
    seconds: dict[str, list[tuple[float, float]]] = {"without": [], "with": []}
    for pair in range(options.pairs):
        with TemporaryDirectory() as folder:
            checkpoint = Path(folder) / "checkpoint"
            for name in list(seconds)[:: -1 if pair % 2 else 1]:
                seconds[name].append(fit(options.rows, checkpoint if name == "with" else None))
            n_bytes = sum(path.stat().st_size for path in checkpoint.iterdir())
    clock, processors = (
        float(np.median([each[k] for each in seconds["with"]]) / np.median([each[k] for each in seconds["without"]]))
        for k in (0, 1)
    )
    figures = {
        "seconds_of_clock_and_processors": seconds,
        "ratio_of_median_clock_seconds": clock,
        "ratio_of_median_processor_seconds": processors,
        "share_spent_on_checkpoints": sum(spent) / sum(each[0] for each in seconds["with"]),
        "bytes": n_bytes,
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()

"""Seconds that checkpoints cost a default fit: fits with and without in turns, and the time spent on them, as JSON."""

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


def fit(n_rows: int, checkpoint: Path | None) -> float:
    X, y = make_friedman1(n_rows, n_features=10, noise=1.0, random_state=0)
    start = time.perf_counter()
    HyperplaneProcessRegressor(random_state=0).fit(X, y, checkpoint=checkpoint)
    return time.perf_counter() - start


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
    without, with_checkpoints = [], []
    for _ in range(options.pairs):
        with TemporaryDirectory() as folder:
            without.append(fit(options.rows, None))
            with_checkpoints.append(fit(options.rows, Path(folder) / "checkpoint"))
            n_bytes = sum(path.stat().st_size for path in (Path(folder) / "checkpoint").iterdir())
    figures = {
        "seconds_without": without,
        "seconds_with": with_checkpoints,
        "ratio_of_medians": float(np.median(with_checkpoints) / np.median(without)),
        "share_spent_on_checkpoints": sum(spent) / sum(with_checkpoints),
        "bytes": n_bytes,
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()

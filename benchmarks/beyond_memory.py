"""A fit of rows that are never in memory together: seconds, peak memory of each process, error beside rivals.

Prints JSON. Rows of Friedman's first function with noise 1 are written to Parquet a chunk at a time, fitted by worker
processes through the decomposition of the domain, and fresh rows are predicted into Parquet. XGBoost has its defaults
and all rows, of which it keeps quantiles in memory; a random forest has its defaults and `--forest-rows` rows, because
all of ten million would take it hours. Every stage is a process of its own, and its peak memory that which Linux keeps
(VmHWM). Keep the machine quiet.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

from hyperplanes import HyperplaneProcessRegressor
from hyperplanes.experiments.metrics import rmse

Floats = NDArray[np.float64]

CHUNK_ROWS = 100_000
CHUNKS_A_FILE = 10
NOISE = 1.0
SECONDS_BETWEEN_LOOKS = 0.2
FRESH_SEED = 10**6
"""Of the first chunk of fresh rows, beyond those of all training rows."""


def generate(options: argparse.Namespace) -> dict[str, Any]:
    """Write training rows, and fresh ones that have the true function too."""
    (options.folder / "rows").mkdir()
    n_files = -(-options.rows // (CHUNK_ROWS * CHUNKS_A_FILE))
    for k in range(n_files):
        n_rows = min(CHUNK_ROWS * CHUNKS_A_FILE, options.rows - k * CHUNK_ROWS * CHUNKS_A_FILE)
        write(options.folder / "rows" / f"{k:04d}.parquet", n_rows, options.columns, CHUNKS_A_FILE * k, ["y"])
    write(options.folder / "fresh.parquet", options.fresh, options.columns, FRESH_SEED, ["y", "f"])
    n_bytes = sum(path.stat().st_size for path in (options.folder / "rows").iterdir())
    return {"rows": options.rows, "columns": options.columns, "mib_of_parquet": n_bytes / 2**20}


def write(path: Path, n_rows: int, n_columns: int, seed: int, more: list[str]) -> None:
    names = [*(f"x{k}" for k in range(n_columns)), *more]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        for k, start in enumerate(range(0, n_rows, CHUNK_ROWS)):
            X, f = make_friedman1(min(CHUNK_ROWS, n_rows - start), n_columns, noise=0.0, random_state=seed + k)
            y = f + NOISE * np.random.default_rng([seed + k, 1]).standard_normal(len(f))
            writer.write_table(pa.table([*X.T, *({"y": y, "f": f}[name] for name in more)], schema=schema))


def ours(options: argparse.Namespace) -> dict[str, Any]:
    model = HyperplaneProcessRegressor(
        decomposition="domain",
        n_parts=options.parts,
        n_particles=options.particles,
        budget=options.budget,
        n_jobs=options.workers,
        random_state=0,
        progress=True,
    )
    with joblib.parallel_config(backend="loky"), peaks_of_children() as workers:
        seconds = timed(lambda: model.fit_dataset(options.folder / "rows", "y", folder=options.folder))
    parent, out = peak_mib(), options.folder / "predictions.parquet"
    predict_seconds = timed(lambda: model.predict_dataset(options.folder / "fresh.parquet", out))
    found, fresh = columns(out, "mean", "low", "high"), columns(options.folder / "fresh.parquet", "f", "y")
    return {
        "parts": len(model.parts_),
        "rows_of_parts": [part.summary.n_rows for part in model.parts_],
        "fit_seconds": seconds,
        "peak_mib_of_parent_in_fit": parent,
        "peak_mib_of_children": sorted(workers.values()),
        "predict_seconds": predict_seconds,
        "rmse_to_truth": rmse(fresh["f"], found["mean"]),
        "cover_of_responses": float(np.mean((found["low"] <= fresh["y"]) & (fresh["y"] <= found["high"]))),
        "messages": len(model.diagnostics_.messages),
    }


def xgboost(options: argparse.Namespace) -> dict[str, Any]:
    import xgboost as xgb

    class Batches(xgb.DataIter):
        """Rows of the data set a chunk at a time."""

        def reset(self) -> None:
            self.left = ds.dataset(options.folder / "rows").to_batches(batch_size=CHUNK_ROWS)

        def next(self, input_data: Callable[..., Any]) -> bool:
            batch = next(self.left, None)
            if batch is not None:
                table = np.column_stack([column.to_numpy() for column in batch.columns])
                input_data(data=table[:, :-1], label=table[:, -1])
            return batch is not None

    start = time.perf_counter()
    model = xgb.train({"nthread": options.workers}, xgb.QuantileDMatrix(Batches()), num_boost_round=100)
    seconds = time.perf_counter() - start
    X, f = fresh_rows(options)
    return {"fit_seconds": seconds, "rmse_to_truth": rmse(f, model.predict(xgb.DMatrix(X)))}


def forest(options: argparse.Namespace) -> dict[str, Any]:
    n_rows = min(options.rows, options.forest_rows)
    table = ds.dataset(options.folder / "rows").head(n_rows)
    rows = np.column_stack([column.to_numpy() for column in table.columns])
    model = RandomForestRegressor(n_jobs=options.workers, random_state=0)
    seconds = timed(lambda: model.fit(rows[:, :-1], rows[:, -1]))
    X, f = fresh_rows(options)
    return {"rows": n_rows, "fit_seconds": seconds, "rmse_to_truth": rmse(f, model.predict(X))}


STAGES = {"data": generate, "hyperplanes": ours, "xgboost": xgboost, "forest": forest}


def fresh_rows(options: argparse.Namespace) -> tuple[Floats, Floats]:
    table = columns(options.folder / "fresh.parquet", *(f"x{k}" for k in range(options.columns)), "f")
    return np.column_stack(list(table.values())[:-1]), table["f"]


def columns(path: Path, *names: str) -> dict[str, Floats]:
    table = pq.read_table(path, columns=list(names))
    return {name: table[name].to_numpy() for name in names}


def timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def peak_mib(process: int | str = "self") -> float:
    """Most memory that a process has held, in MiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(float(line.split()[1]) / 2**10 for line in lines if line.startswith("VmHWM"))


@contextmanager
def peaks_of_children() -> Iterator[dict[int, float]]:
    """Peak memory of each process that this one starts meanwhile, by its id; those that end early are seen too."""
    peaks: dict[int, float] = {}
    done = threading.Event()

    def look() -> None:
        while not done.wait(SECONDS_BETWEEN_LOOKS):
            for task in Path("/proc/self/task").iterdir():
                for process in (task / "children").read_text().split():
                    try:
                        peaks[int(process)] = peak_mib(process)
                    except (OSError, StopIteration):  # it has ended, or is about to
                        continue

    watch = threading.Thread(target=look)
    watch.start()
    try:
        yield peaks
    finally:
        done.set()
        watch.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--fresh", type=int, default=100_000, help="rows to predict")
    parser.add_argument("--parts", type=int, default=100)
    parser.add_argument("--particles", type=int, default=50)
    parser.add_argument("--budget", type=float, help="seconds of the fit")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--forest-rows", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="for temporary files; by default the system's")
    parser.add_argument("--stage", choices=STAGES, help="only this one, with the files of those before in the folder")
    options = parser.parse_args()
    if options.stage:
        print(json.dumps(STAGES[options.stage](options) | {"peak_mib": peak_mib()}))
        return
    with TemporaryDirectory(dir=options.folder) as folder:
        arguments = [sys.executable, *sys.argv, "--folder", folder]
        report = {stage: run_stage([*arguments, "--stage", stage]) for stage in STAGES}
    print(json.dumps(report, indent=1))


def run_stage(command: list[str]) -> Any:
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


if __name__ == "__main__":
    main()

"""Simulation-based calibration of fits with every likelihood.

Each cell (likelihood, truth) is one JSON file in the folder `--cells` with the ranks of that truth, so that a run can
be stopped, resumed and shared out: `--shard 3/16` computes a sixteenth. Without `--shard` all cells are computed that
are missing. Prints p-values of all cells that are there as JSON, and as a table on stderr: one line for each statistic,
chi-square over 20 bins of ranks and Kolmogorov-Smirnov. Where all is well they are uniform, and their least is about
one over their number.
"""

import argparse
import json
import sys
import time
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hyperplanes.experiments.calibration import uniform_p_values
from hyperplanes.experiments.calibration_of_likelihoods import LIKELIHOODS, PRIORS, rank_of_truth
from hyperplanes.experiments.cells import read_json, stored, take_shard


def run_cell(prior: str, name: str, truth: int) -> dict[str, Any]:
    start = time.perf_counter()
    found = rank_of_truth(name, zlib.crc32(f"{name} {truth}".encode()), PRIORS[prior])
    return {"likelihood": name, "truth": truth, "ranks": found, "seconds": time.perf_counter() - start}


def summarise(cells: list[dict[str, Any]]) -> dict[str, Any]:
    p_values = {name: uniform_p_values(np.array([c["ranks"][name] for c in cells])) for name in cells[0]["ranks"]}
    return {"truths": len(cells), "seconds": float(np.mean([c["seconds"] for c in cells])), "p_values": p_values}


def show(name: str, summary: dict[str, Any]) -> None:
    print(f"{name}: {summary['truths']} truths, {summary['seconds']:.1f} s each", file=sys.stderr)
    for statistic, each in summary["p_values"].items():
        print(f"  {statistic:16} " + "  ".join(f"{test} {p:.4f}" for test, p in each.items()), file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=LIKELIHOODS, default=list(LIKELIHOODS))
    parser.add_argument("--prior", choices=PRIORS, default="narrow")
    parser.add_argument("--truths", type=int, default=400, help="for each likelihood")
    parser.add_argument("--shard", default="1/1", help="k/n: compute the k-th of n shares of the truths")
    parser.add_argument("--report", action="store_true", help="compute nothing")
    parser.add_argument("--cells", type=Path, default=Path("benchmarks/cells/calibration_of_likelihoods"))
    options = parser.parse_args()
    all_cells = [(name, truth) for truth in range(options.truths) for name in options.only]
    files = {cell: options.cells / options.prior / f"{cell[0]}-{cell[1]:04d}.json" for cell in all_cells}
    for cell in [] if options.report else take_shard(all_cells, options.shard):
        stored(files[cell], partial(run_cell, options.prior, *cell))
    report = {}
    for name in options.only:
        there = [read_json(file) for cell, file in files.items() if cell[0] == name and file.exists()]
        if there:
            report[name] = summarise(there)
            show(name, report[name])
    found = [p for summary in report.values() for each in summary["p_values"].values() for p in each.values()]
    if found:
        print(f"least of {len(found)} p-values: {min(found):.2g}", file=sys.stderr)
    json.dump(report, sys.stdout, indent=2)


if __name__ == "__main__":
    main()

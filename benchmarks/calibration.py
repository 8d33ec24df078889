"""Simulation-based calibration of the samplers and of every move that is ergodic alone.

Prints JSON, and a table of all p-values on stderr: one line for each statistic, chi-square over 20 bins of ranks and
Kolmogorov-Smirnov. Where all is well they are uniform, and their least is about one over their number.
"""

import argparse
import json
import sys
import time
import zlib
from typing import Any

import jax
import numpy as np
from scipy import stats

from hyperplanes.experiments.calibration import (
    ALWAYS_ACTIVE,
    HYPERPLANES,
    N_BINS,
    OUTPUT_LAYER,
    STATISTICS,
    TWO_UNITS,
    UNKNOWN_NUMBER,
    Case,
    Procedure,
    calibrate,
    chain_ends,
    fits,
    uniform_p_values,
)
from hyperplanes.inference import Settings
from hyperplanes.inference.samplers import paper_step
from hyperplanes.moves import (
    collapsed_round,
    redraw_given_coefficients,
    refresh_output_layer,
    sweep_output_layer,
)
from hyperplanes.moves.candidates import candidate_draws, choose_candidate
from hyperplanes.moves.langevin import langevin_draws, langevin_one
from hyperplanes.moves.rounds import alone

SAMPLERS: dict[str, tuple[Procedure, Case]] = {
    "auto": (fits(Settings(n_hyperplanes=2)), TWO_UNITS),
    "unknown number": (fits(Settings(n_hyperplanes=None)), UNKNOWN_NUMBER),
    "paper": (fits(Settings(n_hyperplanes=2, sampler="paper", n_particles=500, n_steps=50)), TWO_UNITS),
}
MOVES: dict[str, tuple[Procedure, Case]] = {
    "sweep_output_layer": (chain_ends(sweep_output_layer, 60, HYPERPLANES), TWO_UNITS),
    "refresh_output_layer": (chain_ends(refresh_output_layer, 30, HYPERPLANES), TWO_UNITS),
    "redraw_given_coefficients": (chain_ends(redraw_given_coefficients, 1000, OUTPUT_LAYER), TWO_UNITS),
    "choose_candidate": (chain_ends(alone(choose_candidate, candidate_draws), 100), TWO_UNITS),
    "langevin_one": (chain_ends(alone(langevin_one, langevin_draws), 500), ALWAYS_ACTIVE),
    "paper_step": (chain_ends(paper_step, 600), TWO_UNITS),
    "collapsed_round": (chain_ends(collapsed_round, 60), TWO_UNITS),
}
"""Moves where they are ergodic, iterated some three times as often as 2000 truths need to look converged."""
BAND = 0.99
"""Share of the bins of a flat histogram inside the band of the picture."""


def examine(name: str, n_replicates: int, seed: int) -> dict[str, Any]:
    procedure, case = (SAMPLERS | MOVES)[name]
    key = jax.random.fold_in(jax.random.key(seed), zlib.crc32(name.encode()))  # each has truths of its own
    start = time.perf_counter()
    ranks = calibrate(key, procedure, case, n_replicates)
    return {
        "subject": name,
        "replicates": n_replicates,
        "seconds": time.perf_counter() - start,
        "p_values": {statistic: uniform_p_values(found) for statistic, found in ranks.items()},
        "counts": {statistic: np.histogram(found, N_BINS, (0, 1))[0].tolist() for statistic, found in ranks.items()},
    }


def least(results: list[dict[str, Any]]) -> dict[str, Any]:
    """The least of all p-values, as it is."""
    found = [
        (value, f"{result['subject']}, {statistic}, {test}")
        for result in results
        for statistic, each in result["p_values"].items()
        for test, value in each.items()
    ]
    return {"p_value": min(found)[0], "of": min(found)[1], "number": len(found)}


def print_table(result: dict[str, Any]) -> None:
    print(f"{result['subject']}: {result['replicates']} truths, {result['seconds']:.0f} s", file=sys.stderr)
    for statistic, each in result["p_values"].items():
        figures = "  ".join(f"{test} {value:.4f}" for test, value in each.items())
        print(f"  {statistic:16} {figures}", file=sys.stderr, flush=True)


def draw_picture(results: list[dict[str, Any]], path: str) -> None:
    """Histograms of ranks, a row for each subject, with the band that holds flat ones."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.6 * len(STATISTICS), 1.15 * len(results)), layout="constrained")
    panels = figure.subplots(len(results), len(STATISTICS), squeeze=False)
    for row, result in zip(panels, results, strict=True):
        n_truths = result["replicates"]
        low, high = stats.binom(n_truths, 1 / N_BINS).interval(BAND)
        row[0].set_ylabel(result["subject"], rotation=0, ha="right", va="center")
        for panel, statistic in zip(row, STATISTICS, strict=True):
            panel.set(xticks=[], yticks=[], xlim=(0, N_BINS), ylim=(0, 2.2 * n_truths / N_BINS))
            if statistic in result["counts"]:
                panel.axhspan(low, high, color="0.85")
                panel.stairs(result["counts"][statistic], color="#1f5fa8")
    for panel, statistic in zip(panels[0], STATISTICS, strict=True):
        panel.set_title(statistic, fontsize="medium")
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=400, help="truths for each sampler, one fit each")
    parser.add_argument("--chain-replicates", type=int, default=2000, help="truths for each move, 19 chains each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=[*SAMPLERS, *MOVES], default=[*SAMPLERS, *MOVES])
    parser.add_argument("--picture", metavar="FILE", help="draw the histograms of ranks")
    options = parser.parse_args()
    results = []
    for name in options.only:
        n_replicates = options.replicates if name in SAMPLERS else options.chain_replicates
        results.append(examine(name, n_replicates, options.seed))
        print_table(results[-1])
    summary = least(results)
    print(f"least of {summary['number']} p-values: {summary['p_value']:.2g} ({summary['of']})", file=sys.stderr)
    if options.picture:
        draw_picture(results, options.picture)
    json.dump({"least": summary, "results": results}, sys.stdout, indent=2)


if __name__ == "__main__":
    main()

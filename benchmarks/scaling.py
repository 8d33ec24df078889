"""Seconds and peak memory of fits against rows, hyperplanes, particles, steps, columns and workers.

Every fit runs in a process of its own, so that the peak memory is that of the fit; programs are compiled before the
clock starts. Costs are fitted by powers of the size. `--axes accelerator` is one large fit with 20 hyperplanes in four
parts, meant for a GPU. Prints JSON, a table on stderr, and draws a picture. Keep the machine quiet.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from hyperplanes import HyperplaneProcessRegressor
from hyperplanes.estimators import HyperplanesWarning
from hyperplanes.experiments.metrics import coverage, rmse
from hyperplanes.experiments.reproduction.machine import held_to
from hyperplanes.experiments.simulate import simulate

Size = dict[str, Any]
USUAL: Size = {"rows": 4000, "columns": 10, "hyperplanes": 10, "particles": 40, "steps": 10, "workers": 2}
"""Of the fits along an axis all but one; the number of steps is given, so that they differ by one size alone."""
AXES: dict[str, list[Size]] = {
    "rows": [{"rows": n} for n in (1000, 4000, 16000, 64000, 256000)],
    "rows, steps that adapt": [{"rows": n, "steps": None, "particles": 20} for n in (1000, 10_000, 100_000, 1_000_000)],
    "hyperplanes": [{"hyperplanes": n} for n in (5, 10, 20, 40, 80)],
    "particles": [{"particles": n} for n in (40, 80, 160, 320, 640)],
    "steps": [{"steps": n} for n in (5, 10, 20, 40, 80)],
    "columns": [{"columns": n} for n in (5, 10, 20, 40, 80, 160)],
    "workers": [{"workers": n, "cpus": n, "decomposition": "domain", "rows": 16000, "steps": None} for n in (1, 2)],
    "accelerator": [
        {"rows": 10**6, "hyperplanes": 5, "decomposition": "intensity", "particles": 500, "memory": 32.0}
        | {"steps": None, "budget": 45.0}
    ],
}
N_NEW_ROWS = 5000


def make_model(size: Size, **settings: Any) -> HyperplaneProcessRegressor:
    return HyperplaneProcessRegressor(
        n_hyperplanes=size["hyperplanes"],
        n_particles=size["particles"],
        n_jobs=size["workers"],
        memory_budget=size.get("memory", 1.0),
        decomposition=size.get("decomposition"),
        **{"n_steps": size["steps"], "budget": size.get("budget"), **settings},
    )


def measure(size: Size) -> dict[str, Any]:
    """Fit twice, quickly to compile and then in earnest."""
    warnings.simplefilter("ignore", HyperplanesWarning)  # some sizes would need more steps
    truth = simulate(1, n_rows=size["rows"] + N_NEW_ROWS, n_columns=size["columns"], n_hyperplanes=10)
    rows, new = (truth.rows(np.arange(*ends)) for ends in ((N_NEW_ROWS, len(truth.y)), (0, N_NEW_ROWS)))
    quick = {"budget": 1e-3} if size["steps"] is None else {"n_steps": 2}
    with held_to(size.get("cpus")):
        make_model(size, random_state=0, **quick).fit(rows.X, rows.y)
        start = time.perf_counter()
        model = make_model(size, random_state=1).fit(rows.X, rows.y)
        seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "peak_gib": peak_gib(),
        "n_steps": model.diagnostics_.n_steps,
        "to_truth": rmse(new.f, model.predict(new.X)) / float(np.std(new.f)),
        "function_covered": coverage(new.f, model.predict_interval(new.X, target="mean")),
    }


def peak_gib() -> dict[str, float]:
    """Of this process, and of the accelerator where there is one."""
    import jax

    found = {"host": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}
    statistics = jax.local_devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in statistics:
        found["device"] = statistics["peak_bytes_in_use"] / 2**30
    return found


def measure_alone(size: Size) -> dict[str, Any]:
    """`measure` in a fresh process."""
    command = [sys.executable, __file__, "--size", json.dumps(size)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {**size, **json.loads(printed.splitlines()[-1])}


def power(sizes: list[float], values: list[float]) -> float:
    """Power of the size that the values grow by, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def walk(axis: str) -> dict[str, Any]:
    fits = []
    for change in AXES[axis]:
        fits.append(measure_alone(USUAL | change))
        print(
            f"{axis:25}" + json.dumps(change) + f"  {fits[-1]['seconds']:.2f} s  {fits[-1]['peak_gib']} GiB",
            file=sys.stderr,
        )
    if axis == "accelerator":
        return {"fits": fits}
    name = next(iter(AXES[axis][0]))
    sizes, seconds = ([fit[what] for fit in fits] for what in (name, "seconds"))
    if axis == "workers":
        print(f"{axis:25}{seconds[0] / seconds[-1]:.2f} times the throughput", file=sys.stderr)
        return {"fits": fits, "times_the_throughput": seconds[0] / seconds[-1]}
    found = {"fits": fits, "power": power(sizes, seconds), "last_power": power(sizes[-2:], seconds[-2:])}
    print(f"{axis:25}power {found['power']:.2f}, of the last two {found['last_power']:.2f}", file=sys.stderr)
    return found


def draw(report: dict[str, Any], picture: Path) -> None:
    import matplotlib.pyplot as plt

    shown = {axis: found["fits"] for axis, found in report.items() if "power" in found}
    figure, panels = plt.subplots(
        2, len(shown), figsize=(3 * len(shown), 5.5), squeeze=False, sharex="col", sharey="row"
    )
    for column, (axis, fits) in enumerate(shown.items()):
        name = next(iter(AXES[axis][0]))
        sizes = [fit[name] for fit in fits]
        panels[0, column].loglog(sizes, [fit["seconds"] for fit in fits], "o-")
        panels[1, column].semilogx(sizes, [fit["peak_gib"]["host"] for fit in fits], "o-")
        panels[0, column].set_title(f"{axis}\n{len(fits)} fits, power {report[axis]['power']:.2f}", fontsize=9)
        panels[1, column].set_xlabel(name)
        panels[1, column].set_xticks(sizes, [f"{number:,}" for number in sizes], rotation=45)
        panels[1, column].minorticks_off()
    for panel in panels.flat:
        panel.grid(alpha=0.3)
    panels[0, 0].yaxis.set_major_formatter("{x:g}")
    panels[1, 0].set_ylim(bottom=0)
    panels[0, 0].set_ylabel("seconds")
    panels[1, 0].set_ylabel("peak memory, GiB")
    figure.tight_layout()
    figure.savefig(picture, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axes", nargs="+", default=[axis for axis in AXES if axis != "accelerator"], choices=AXES)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--size", type=json.loads, help="measure one fit of this size in this process")
    options = parser.parse_args()
    if options.size:
        json.dump(measure(options.size), sys.stdout)
        return
    report = {axis: walk(axis) for axis in options.axes}
    if options.picture:
        draw(report, options.picture)
    json.dump(report, sys.stdout, indent=2)


if __name__ == "__main__":
    main()

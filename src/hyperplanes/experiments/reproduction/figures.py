"""Figures of the results, panel by panel those of the paper. matplotlib is imported on first use."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hyperplanes.experiments.reproduction import names
from hyperplanes.experiments.reproduction.boxes import color_of, draw_parts, draw_plain
from hyperplanes.experiments.reproduction.methods import EPOCHS
from hyperplanes.experiments.reproduction.results import Results
from hyperplanes.experiments.reproduction.studies import COLUMNS, CPUS, PLANES, STUDIES
from hyperplanes.experiments.simulate import simulate
from hyperplanes.plotting import Rectangle, clip_lines, new_figure

SQUARE = Rectangle(np.full(2, -1.0), np.full(2, 1.0))
N_DOTS = 1000
"""Rows of a data set that its picture shows."""
DPI = 110
ENLARGED = (0.094, 0.112)
"""RMSE about the noise, where methods of the first study differ by a percent."""
TICKS = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), np.arange(1, 10, 0.5), np.arange(1, 10, 0.1), np.arange(1, 10, 0.05))
"""Of a logarithmic axis, in units of a power of ten: the first are used of which there are enough."""
ENOUGH_TICKS = 3


class Figure(NamedTuple):
    """A picture of a study."""

    caption: str
    """Below it, and in its place where it cannot be seen."""
    draw: Callable[[Results], Any]
    """From the results."""


def draw_figures(results: Results, folder: Path) -> dict[str, list[str]]:
    """Write the figures that there are cells for; return the names of those of each study."""
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, list[str]] = {}
    for study, figures in FIGURES.items():
        if not results.data_sets(study):
            continue
        for name, figure in figures.items():
            figure.draw(results).savefig(folder / f"{name}.png", dpi=DPI, metadata={"Software": None})
            written.setdefault(study, []).append(name)
    return written


def data_picture(results: Results) -> Any:
    """Ten data sets of the first study with their lines."""
    figure, panels = _panels(2, 5, 13, 5.6)
    simulated = [simulate(repeat, touching=True) for repeat in range(1, 11)]
    shown = [(data.X[:N_DOTS], data.y[:N_DOTS]) for data in simulated]
    low, high = (limit([limit(y) for _, y in shown]) for limit in (np.min, np.max))
    for number, (panel, data, (X, y)) in enumerate(zip(panels.flat, simulated, shown, strict=True), start=1):
        dots = panel.scatter(*X.T, c=y, s=9, linewidths=0, vmin=low, vmax=high, antialiased=False)
        for line in clip_lines(data.normals, data.offsets, SQUARE):
            panel.plot(*line.T, color="black", linewidth=1.5)
        panel.set(title=f"data set {number}", xticks=[-1, 0, 1], yticks=[-1, 0, 1], aspect="equal")
    figure.colorbar(dots, ax=panels, label="response")
    return figure


def sizes_and_methods(results: Results) -> Any:
    """RMSE by particles and steps, and by method, in the first study."""
    figure, panels = _panels(2, 2, 13, 9.5)
    methods = results.methods("sim1", "p2m2")
    sizes = [name for name in methods if "-L" in name]
    chosen = [name for name in ("paper-L1000-R100", "ours", *filter(names.is_rival, methods)) if name in methods]
    for upper, lower, shown, title in zip(
        *panels, (sizes, chosen), ("particles L and steps R", "methods"), strict=True
    ):
        for panel in (upper, lower):
            draw_parts(panel, results, "sim1", "p2m2", shown)
            panel.set(title=title, ylabel="RMSE")
        _logarithmic(upper, "y")
        lower.set(title=f"{title}, enlarged", ylim=ENLARGED)
    return figure


def curves(methods: Sequence[str]) -> Callable[[Results], Any]:
    """Mean RMSE by number of columns in the second study, of some methods."""

    def draw(results: Results) -> Any:
        figure, panels = _panels(1, 2, 13, 5)
        for m, panel in zip(PLANES, panels, strict=True):
            for method in methods:
                for part, style in (("train", "-"), ("test", ":")):
                    _curve(panel, results, m, method, f"{part}_rmse", style)
            panel.set(title=f"|P| = {m}", xlabel="p", ylabel="mean RMSE (solid: train, dotted: test)")
            _logarithmic(panel, "x", COLUMNS)
        lines, labels = panels[0].get_legend_handles_labels()
        figure.legend(lines, labels, loc="outside lower center", ncols=len(methods), fontsize="small")
        return figure

    return draw


def _curve(panel: Any, results: Results, m: int, method: str, metric: str, style: str) -> None:
    means = {p: results.summary("sim2", f"p{p}m{m}", method, metric) for p in COLUMNS}
    points = [(p, summary.mean) for p, summary in means.items() if summary is not None]
    color = color_of(method, f"C{list(STUDIES['sim2'].methods).index(method) + 2}")
    label = names.method_name("sim2", method) if style == "-" else None
    if points:
        panel.plot(*np.transpose(points), style, color=color, marker=".", label=label)


def decompositions(results: Results) -> Any:
    """RMSE, and seconds of a job beside the whole, in the third study."""
    figure, (left, right) = _panels(1, 2, 13, 4.6)
    methods = [name for name in results.methods("sim3", "p2m40") if not names.is_rival(name)]
    draw_parts(left, results, "sim3", "p2m40", methods)
    left.set(title="RMSE", ylabel="RMSE")
    ratios = {name: list(results.values("sim3", "p2m40", name, "job_ratio").values()) for name in methods}
    draw_plain(right, "sim3", {name: found for name, found in ratios.items() if not name.endswith("whole")})
    right.set(title="time", ylabel="seconds of one job / seconds of the whole", ylim=(0, None))
    return figure


def uncertainty(results: Results) -> Any:
    """Errors, time, coverage of the response and of the function, and length in the fourth study."""
    figure, panels = _panels(2, 3, 17, 9)
    place = ("sim4", "p2m2")
    methods = results.methods(*place)
    for panel, metric, title, label in (
        (panels[0, 0], "rmse", "RMSE", "RMSE"),
        (panels[0, 2], "to_truth", "error of the function", "RMSE to the true function"),
        (panels[1, 0], "covered", "coverage of responses", "share inside 95% intervals"),
        (panels[1, 1], "function_covered", "coverage of the true function", "share inside 95% intervals"),
        (panels[1, 2], "length", "intervals of responses", "mean length"),
    ):
        draw_parts(panel, results, *place, methods, metric)
        panel.set(title=title, ylabel=label)
    for panel in panels[1, :2]:
        panel.axhline(0.95, color="black", linewidth=0.8)
    ratios = {name: list(results.time_ratios(*place, name, "ours").values()) for name in methods if name != "ours"}
    draw_plain(panels[0, 1], "sim4", ratios)
    panels[0, 1].set(title="time", ylabel="seconds / seconds of ours")
    panels[0, 1].axhline(1, color="black", linewidth=0.8)
    for panel in (*panels[0], panels[1, 2]):
        _logarithmic(panel, "y")
    return figure


def varying_sizes(study: str) -> Callable[[Results], Any]:
    """RMSE by particles, and by steps, of ours and of the paper's sampler."""

    def draw(results: Results) -> Any:
        figure, panels = _panels(1, 2, 13, 4.6)
        methods = results.methods(study, study)
        for panel, fixed, title in zip(panels, ("-R100", "-L1000-"), ("particles L", "steps R"), strict=True):
            chosen = [name for name in methods if "-L" in name and fixed in f"{name}-"]
            draw_parts(panel, results, study, study, chosen)
            panel.set(title=title, ylabel="RMSE")
        return figure

    return draw


def network_and_methods(study: str) -> Callable[[Results], Any]:
    """RMSE of the network by epochs, and of all methods."""

    def draw(results: Results) -> Any:
        figure, (left, right) = _panels(1, 2, 15, 4.8)
        methods = results.methods(study, study)
        chosen = [*(f"nn-{epochs}" for epochs in EPOCHS), "paper-L1000-R100", "ours"]
        draw_parts(left, results, study, study, chosen)
        chosen = [name for name in methods if names.unstopped(name) == name and "-L" not in name]
        draw_parts(right, results, study, study, ["paper-L1000-R100", *chosen])
        left.set(title="the network by epochs", ylabel="RMSE")
        right.set(title="methods", ylabel="RMSE")
        return figure

    return draw


def cpus(results: Results) -> Any:
    """Seconds by number of CPUs."""
    figure, panel = _panels(1, 1, 6, 4.2)
    for method in STUDIES["cpus"].methods:
        means = {number: results.summary("cpus", f"cpus{number}", method, "seconds") for number in CPUS}
        points = [(number, summary.mean) for number, summary in means.items() if summary is not None]
        if points:
            label = names.method_name("cpus", method)
            panel.plot(*np.transpose(points), marker="o", color=color_of(method), label=label)
    panel.set(xlabel="CPUs", ylabel="seconds of a fit", ylim=(0, None), title="p = 20, |P| = 5")
    _logarithmic(panel, "x", CPUS)
    panel.legend(fontsize="small")
    return figure


def _panels(n_rows: int, n_columns: int, width: float, height: float) -> tuple[Any, Any]:
    figure = new_figure()
    figure.set_size_inches(width, height)
    return figure, figure.subplots(n_rows, n_columns)


def _logarithmic(panel: Any, axis: str, ticks: Sequence[float] = ()) -> None:
    """A logarithmic axis with plain numbers: those given, or round ones that the panel reaches."""
    if not np.isfinite(panel.dataLim.get_points()).all():  # nothing is drawn
        return
    panel.set(**{f"{axis}scale": "log"})
    shown = ticks or _round_numbers(*getattr(panel, f"get_{axis}lim")())
    getattr(panel, f"{axis}axis").set_ticks([], minor=True)
    getattr(panel, f"{axis}axis").set_ticks(shown, [f"{tick:g}" for tick in shown])


def _round_numbers(low: float, high: float) -> list[float]:
    """Enough of them between the two, no more digits than needed."""
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)))
    found: list[float] = []
    for steps in TICKS:
        found = [float(step * power) for power in powers for step in steps if low <= step * power <= high]
        if len(found) >= ENOUGH_TICKS:
            break
    return found


BOXES = "Boxes are over repeats, solid of training rows and dotted of test rows."


def _of_measured(study: str) -> dict[str, Figure]:
    sizes = f"RMSE on {study} by particles (left) and steps (right). {BOXES}"
    methods = f"RMSE on {study} of the network by epochs (left) and of all methods (right). {BOXES}"
    return {
        f"{study}-sizes": Figure(sizes, varying_sizes(study)),
        f"{study}-methods": Figure(methods, network_and_methods(study)),
    }


FIGURES: Mapping[str, Mapping[str, Figure]] = {
    "sim1": {
        "sim1-data": Figure(
            f"Ten data sets of the first study with the two lines where each bends; {N_DOTS} of 5000 rows, coloured by "
            "their responses.",
            data_picture,
        ),
        "sim1-rmse": Figure(
            "RMSE in the first study by particles and steps (left) and by method (right); below, the same near the "
            f"noise. {BOXES}",
            sizes_and_methods,
        ),
    },
    "sim2": {
        "sim2-best": Figure(
            "Mean RMSE in the second study by the number of columns p, of pois and the linear methods.",
            curves(["paper-L1000-R100", "ours", "lm", "svm_l"]),
        ),
        "sim2-all": Figure(
            "Mean RMSE in the second study by the number of columns p, of all methods.",
            curves(list(STUDIES["sim2"].methods)),
        ),
    },
    "sim3": {
        "sim3": Figure(f"RMSE (left) and seconds of a job (right) of the decompositions. {BOXES}", decompositions)
    },
    "sim4": {
        "sim4": Figure(
            "RMSE, time, RMSE to the true function, coverage of responses and of the true function, and length of the "
            f"intervals of responses. {BOXES}",
            uncertainty,
        )
    },
    "abalone": _of_measured("abalone"),
    "wine": _of_measured("wine"),
    "cpus": {"cpus": Figure("Mean seconds of a fit by the number of CPUs that the process is held to.", cpus)},
}
"""Study -> name of a figure -> the figure."""

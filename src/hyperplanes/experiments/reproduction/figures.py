"""Figures of the results, panel by panel those of the paper. matplotlib is imported on first use."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hyperplanes.experiments.reproduction import names
from hyperplanes.experiments.reproduction.methods import EPOCHS
from hyperplanes.experiments.reproduction.results import Results
from hyperplanes.experiments.reproduction.studies import COLUMNS, PLANES, STUDIES
from hyperplanes.experiments.simulate import simulate
from hyperplanes.plotting import Rectangle, clip_lines, new_figure

OURS_COLOR = "#d7191c"
PAPER_COLOR = "#1f5fa8"
RIVAL_COLOR = "0.45"
SQUARE = Rectangle(np.full(2, -1.0), np.full(2, 1.0))
LINE_COLORS = {"ours": OURS_COLOR, "paper": PAPER_COLOR}
DPI = 110

Draw = Callable[[Results], Any]


def draw_figures(results: Results, folder: Path) -> dict[str, list[str]]:
    """Write the figures that there are cells for; return the names of the files of each study."""
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, list[str]] = {}
    for study, figures in FIGURES.items():
        if not results.data_sets(study):
            continue
        for name, draw in figures.items():
            figure = draw(results)
            figure.savefig(folder / f"{name}.png", dpi=DPI, metadata={"Software": None})
            written.setdefault(study, []).append(f"{name}.png")
    return written


def data_picture(results: Results) -> Any:
    """Ten data sets of the first study with their lines."""
    figure, panels = _panels(2, 5, 13, 5.6)
    for repeat, panel in enumerate(panels.flat, start=1):
        data = simulate(repeat, touching=True)
        panel.scatter(*data.X.T, c=data.y, s=1.5, linewidths=0, cmap="viridis", rasterized=True)
        for line in clip_lines(data.normals, data.offsets, SQUARE):
            panel.plot(*line.T, color="black", linewidth=1.5)
        panel.set(title=f"data set {repeat}", xticks=[-1, 0, 1], yticks=[-1, 0, 1], aspect="equal")
    return figure


def sizes_and_methods(results: Results) -> Any:
    """RMSE by particles and steps, and by method, in the first study."""
    figure, (left, right) = _panels(1, 2, 13, 4.6)
    methods = results.methods("sim1", "p2m2")
    _boxes(left, results, "sim1", "p2m2", [name for name in methods if "-L" in name])
    chosen = ["paper-L1000-R100", "ours", *filter(names.is_rival, methods)]
    _boxes(right, results, "sim1", "p2m2", [name for name in chosen if name in methods])
    left.set_title("particles L and steps R")
    right.set_title("methods")
    return figure


def curves(methods: Sequence[str] | None) -> Draw:
    """Mean RMSE by number of columns in the second study, of some methods or of all."""

    def draw(results: Results) -> Any:
        figure, panels = _panels(1, 2, 12, 4.6)
        for m, panel in zip(PLANES, panels, strict=True):
            for method in methods or STUDIES["sim2"].methods:
                for part, style in (("train", "-"), ("test", ":")):
                    _curve(panel, results, m, method, f"{part}_rmse", style)
            panel.set(title=f"|P| = {m}", xlabel="p", ylabel="mean RMSE (solid: train, dotted: test)")
            _legend(panel)
        return figure

    return draw


def _curve(panel: Any, results: Results, m: int, method: str, metric: str, style: str) -> None:
    means = {p: results.summary("sim2", f"p{p}m{m}", method, metric) for p in COLUMNS}
    points = [(p, summary.mean) for p, summary in means.items() if summary is not None]
    number = list(STUDIES["sim2"].methods).index(method)
    color = LINE_COLORS.get(method.partition("-")[0], f"C{number + 2}")
    label = names.method_name(method) if style == "-" else None
    if points:
        panel.plot(*np.transpose(points), style, color=color, marker=".", label=label)


def decompositions(results: Results) -> Any:
    """RMSE, and seconds of a job beside the whole, in the third study."""
    figure, (left, right) = _panels(1, 2, 13, 4.6)
    methods = [name for name in results.methods("sim3", "p2m40") if not names.is_rival(name)]
    _boxes(left, results, "sim3", "p2m40", methods)
    left.set_title("RMSE")
    parts = [name for name in methods if results.values("sim3", "p2m40", name, "job_ratio")]
    ratios = {name: list(results.values("sim3", "p2m40", name, "job_ratio").values()) for name in parts}
    _plain_boxes(right, {name: values for name, values in ratios.items() if not name.endswith("whole")})
    right.set(title="seconds of one job / seconds of the whole", ylim=(0, None))
    return figure


def uncertainty(results: Results) -> Any:
    """RMSE, time, coverage and length in the fourth study."""
    figure, panels = _panels(2, 2, 13, 8)
    place = ("sim4", "p2m2")
    methods = results.methods(*place)
    for panel, metric, title in (
        (panels[0, 0], "rmse", "RMSE"),
        (panels[1, 0], "covered", "share of responses in their 95% intervals"),
        (panels[1, 1], "length", "length of these intervals"),
    ):
        _boxes(panel, results, *place, methods, metric)
        panel.set_title(title)
    panels[1, 0].axhline(0.95, color="black", linewidth=0.8)
    ratios = {name: list(results.time_ratios(*place, name, "ours").values()) for name in methods if name != "ours"}
    _plain_boxes(panels[0, 1], ratios)
    panels[0, 1].set(title="seconds / seconds of ours", yscale="log")
    return figure


def varying_sizes(study: str) -> Draw:
    """RMSE by particles, and by steps, of ours and of the paper's sampler."""

    def draw(results: Results) -> Any:
        figure, panels = _panels(1, 2, 13, 4.6)
        methods = results.methods(study, study)
        for panel, fixed, title in zip(panels, ("-R100", "-L1000-"), ("particles L", "steps R"), strict=True):
            chosen = [name for name in methods if "-L" in name and fixed in f"{name}-"]
            _boxes(panel, results, study, study, chosen)
            panel.set_title(title)
        return figure

    return draw


def network_and_methods(study: str) -> Draw:
    """RMSE of the network by epochs, and of all methods."""

    def draw(results: Results) -> Any:
        figure, (left, right) = _panels(1, 2, 15, 4.8)
        methods = results.methods(study, study)
        _boxes(left, results, study, study, [*(f"nn-{epochs}" for epochs in EPOCHS), "paper-L1000-R100", "ours"])
        chosen = [name for name in methods if names.unstopped(name) == name and "-L" not in name]
        _boxes(right, results, study, study, ["paper-L1000-R100", *chosen])
        left.set_title("the network by epochs")
        right.set_title("methods")
        return figure

    return draw


def cpus(results: Results) -> Any:
    """Seconds by number of CPUs."""
    figure, panel = _panels(1, 1, 6, 4.2)
    for method in STUDIES["cpus"].methods:
        points = []
        for name in results.data_sets("cpus"):
            summary = results.summary("cpus", name, method, "seconds")
            if summary is not None:
                points.append((int(name.removeprefix("cpus")), summary.mean))
        if points:
            color = LINE_COLORS[method.partition("-")[0]]
            panel.plot(*np.transpose(points), marker="o", color=color, label=names.method_name(method))
    panel.set(xlabel="CPUs", ylabel="seconds", ylim=(0, None), title="seconds of a fit, p = 20, |P| = 5")
    _legend(panel)
    return figure


def _panels(n_rows: int, n_columns: int, width: float, height: float) -> tuple[Any, Any]:
    figure = new_figure()
    figure.set_size_inches(width, height)
    return figure, figure.subplots(n_rows, n_columns)


def _boxes(
    panel: Any, results: Results, study: str, data_set: str, methods: Sequence[str], metric: str = "rmse"
) -> None:
    """Boxes of train (solid) and test (dotted) side by side."""
    known = [name for name in methods if results.values(study, data_set, name, f"test_{metric}")]
    for part, style, shift in (("train", "-", -0.2), ("test", ":", 0.2)):
        values = [list(results.values(study, data_set, name, f"{part}_{metric}").values()) for name in known]
        _draw_boxes(panel, values, [_color(name) for name in known], np.arange(len(known)) + shift, style, 0.32)
    _label(panel, known)
    panel.set_ylabel("solid: train, dotted: test")


def _plain_boxes(panel: Any, values: Mapping[str, Sequence[float]]) -> None:
    known = [name for name, found in values.items() if found]
    colors = [_color(name) for name in known]
    _draw_boxes(panel, [values[name] for name in known], colors, np.arange(len(known)), "-", 0.5)
    _label(panel, known)


def _draw_boxes(
    panel: Any, values: Sequence[Sequence[float]], colors: Sequence[str], places: Any, style: str, width: float
) -> None:
    for place, found, color in zip(places, values, colors, strict=True):
        lines = {"color": color, "linestyle": style}
        parts = {f"{part}props": lines for part in ("box", "whisker", "cap", "median")}
        panel.boxplot([found], positions=[place], widths=width, flierprops={"marker": ".", "markersize": 2}, **parts)


def _label(panel: Any, methods: Sequence[str]) -> None:
    labels = [names.method_name(name).replace(", ", "\n", 1) for name in methods]
    panel.set_xticks(range(len(methods)), labels, rotation=35, ha="right", rotation_mode="anchor", fontsize="small")
    panel.set_xlim(-0.6, max(len(methods), 1) - 0.4)


def _legend(panel: Any) -> None:
    if panel.get_legend_handles_labels()[0]:
        panel.legend(fontsize="small")


def _color(method: str) -> str:
    return LINE_COLORS.get(method.partition("-")[0], RIVAL_COLOR)


FIGURES: Mapping[str, Mapping[str, Draw]] = {
    "sim1": {"sim1-data": data_picture, "sim1-rmse": sizes_and_methods},
    "sim2": {
        "sim2-best": curves(["paper-L1000-R100", "ours", "lm", "svm_l"]),
        "sim2-all": curves(None),
    },
    "sim3": {"sim3": decompositions},
    "sim4": {"sim4": uncertainty},
    "abalone": {"abalone-sizes": varying_sizes("abalone"), "abalone-methods": network_and_methods("abalone")},
    "wine": {"wine-sizes": varying_sizes("wine"), "wine-methods": network_and_methods("wine")},
    "cpus": {"cpus": cpus},
}
"""Study -> name of a figure -> what draws it."""

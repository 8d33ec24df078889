"""The pictures of `docs/how-it-works.md`: `python docs/pictures.py` draws them into `docs/images`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from hyperplanes import HyperplaneProcessRegressor, plotting
from hyperplanes.plotting import Rectangle, clip_lines
from hyperplanes.process import Box, HyperplaneProcess, Hyperplanes, measure

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE = "#1f5a8a", "#c8641e"
STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 160,
    "figure.constrained_layout.use": True,
}


def units() -> Figure:
    """Three units with one input, and their sum."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 2.9), sharex=True)
    x = np.linspace(-1, 1, 401)
    bends = ((-0.6, 1.0, 1), (0.1, -2.2, 1), (0.2, 0.9, -1))
    pieces = [slope * np.maximum(side * (x - at), 0) for at, slope, side in bends]
    for (at, *_), piece, colour in zip(bends, pieces, ("#2a7f62", BLUE, ORANGE), strict=True):
        axes[0].plot(x, piece, color=colour)
        axes[0].plot(at, 0, "o", color=colour)
        axes[1].axvline(at, color=colour, linewidth=0.8, linestyle=":")
    axes[1].plot(x, np.sum(pieces, axis=0), color="black")
    axes[0].set(title="three units", xlabel="input")
    axes[1].set(title="their sum bends where they do", xlabel="input")
    return figure


def prior() -> Figure:
    """Draws of the process with rising intensity, and functions that bend along their lines."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.2))
    square = Rectangle(np.full(2, -1.0), np.ones(2))
    window = Box(square.low, square.high)
    rng = np.random.default_rng(3)
    for ax, mean in zip(axes, (3, 10, 40), strict=True):
        lines = HyperplaneProcess(window, mean / measure(window)).sample(jax.random.key(mean))
        _draw_surface(ax, lines, rng.normal(size=len(lines.offsets)) / np.sqrt(mean), square)
        ax.set(title=f"{mean} lines on average", xticks=[], yticks=[])
    return figure


def annealing() -> Figure:
    """Functions at three exponents, by fits to a response that counts a share of its times."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-1, -0.1, 30), rng.uniform(0.55, 1, 15)])
    y = _truth(x) + 0.15 * rng.standard_normal(len(x))
    grid = np.linspace(-1.2, 1.2, 241)
    figure, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True)
    for ax, exponent in zip(axes, (1e-4, 0.1, 1.0), strict=True):
        model = HyperplaneProcessRegressor(n_particles=100, random_state=0)
        model.fit(x[:, None], y, sample_weight=np.full(len(x), exponent))
        ax.plot(grid, model.sample(grid[:, None], 40, target="mean", random_state=1), color=BLUE, alpha=0.25, lw=0.8)
        ax.plot(x, y, "o", color=ORANGE, markersize=3, alpha=0.1 + 0.9 * np.sqrt(exponent))
        ax.set(title=f"exponent {exponent:.1g}" if exponent > 0.01 else "exponent 0: the prior", ylim=(-2.5, 3))
    return figure


def number() -> Figure:
    """Where a fit bends that was told nothing, and how many hyperplanes it finds."""
    rng = np.random.default_rng(2)
    normals, offsets = np.array([[0.96, 0.28], [-0.6, 0.8]]), np.array([0.1, 0.2])
    X = rng.uniform(-1, 1, (400, 2))
    y = np.maximum(X @ normals.T - offsets, 0) @ [2.0, -1.5] + 0.1 * rng.standard_normal(len(X))
    model = HyperplaneProcessRegressor(n_particles=100, random_state=0).fit(X, y)
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
    plotting.plot_hyperplanes(model, axes[0])
    for segment in clip_lines(normals, offsets, Rectangle(np.full(2, -1.0), np.ones(2))):
        axes[0].plot(*segment.T, color=ORANGE, linestyle="--")
    axes[0].set(title="where it bends, and the truth, dashed")
    plotting.plot_number(model, axes[1])
    return figure


def intervals() -> Figure:
    """Both intervals with more and more rows."""
    rng = np.random.default_rng(1)
    grid = np.linspace(-1, 1, 201)
    figure, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True)
    for ax, n_rows in zip(axes, (20, 80, 320), strict=True):
        x = rng.uniform(-1, 1, n_rows)
        y = _truth(x) + 0.25 * rng.standard_normal(n_rows)
        model = HyperplaneProcessRegressor(n_particles=100, random_state=0).fit(x[:, None], y)
        for target, colour in (("response", "#d4e3f0"), ("mean", "#7fa9cc")):
            ax.fill_between(grid, *model.predict_interval(grid[:, None], target=target).T, color=colour, lw=0)
        ax.plot(grid, _truth(grid), color="black", linestyle="--", lw=0.9)
        ax.plot(x, y, "o", color=ORANGE, markersize=2, alpha=0.6)
        ax.set(title=f"{n_rows} rows")
    axes[0].plot([], [], color="black", linestyle="--", lw=0.9, label="truth")
    axes[0].legend(frameon=False)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "units": units,
    "prior": prior,
    "annealing": annealing,
    "number": number,
    "intervals": intervals,
}


def _truth(x: Any) -> Any:
    return 1.5 * np.abs(x + 0.3) - np.maximum(x - 0.4, 0) * 3


def _draw_surface(ax: Any, lines: Hyperplanes, slopes: Any, square: Rectangle) -> None:
    axis = np.linspace(-1, 1, 200)
    rows = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    heights = np.maximum(rows @ np.asarray(lines.normals).T - np.asarray(lines.offsets), 0) @ slopes
    ax.imshow(heights.reshape(200, 200), origin="lower", extent=(-1, 1, -1, 1), cmap="Blues")
    for segment in clip_lines(np.asarray(lines.normals), np.asarray(lines.offsets), square):
        ax.plot(*np.asarray(segment).T, color="black", lw=0.6)


def main() -> None:
    """Draw those that are named, or all."""
    with plt.rc_context(STYLE):
        for name in sys.argv[1:] or PICTURES:
            PICTURES[name]().savefig(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()

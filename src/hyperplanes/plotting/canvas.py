"""What all pictures share: matplotlib on first use, axes to draw on, colours, and names as plain text."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

INK = "#1c2430"
"""Text and axes."""
MUTED = "#667080"
"""What stands behind: references, expectations, many thin lines."""
MAIN = "#1f5fa8"
"""What the picture is about."""
SOFT = "#a9c9ea"
"""Wide bands."""
ACCENT = "#c2410c"
"""What to look at: rows outside their intervals, one curve against another."""
SERIES = (MAIN, ACCENT, "#0f766e", "#7e3fb0", "#a16207", "#be185d", "#4d7c0f", "#0e7490")
"""Several things of a kind, the first of them as `MAIN`."""
MANY_POINTS = 1000
"""More of them are drawn as pixels, even in a picture of lines."""
LONGEST_NAME = 28
FIGURE_STYLE: Mapping[str, Any] = {"figsize": (10.0, 7.4), "dpi": 120, "layout": "constrained"}
"""Size of the picture of a fit: 1200 pixels wide."""


def pyplot() -> Any:
    """Matplotlib's pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "hyperplanes[plot]"') from error
    return pyplot


def axes(ax: Any) -> Any:
    """The axes given, or pyplot's current ones."""
    return pyplot().gca() if ax is None else ax


def plain(name: Any, longest: int = LONGEST_NAME) -> str:
    """A name as matplotlib shows it letter by letter: no formulas, no control characters, not too long."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(name))
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return short.replace("$", r"\$")


def point_size(n_points: int) -> float:
    """Of each of so many points."""
    return float(np.clip(4000 / max(n_points, 1), 4, 16))


def legend_above(ax: Any, *, ncols: int = 3) -> None:
    """A legend that hides nothing."""
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    ax.legend(
        frameon=False, fontsize="small", ncols=ncols, columnspacing=1.2, handletextpad=0.5, markerscale=1.5, **place
    )


def new_figure() -> Any:
    """Return an empty figure that pyplot does not know of, to draw on and save without a window."""
    pyplot()
    from matplotlib.figure import Figure

    return Figure(**FIGURE_STYLE)


def check_picture_path(path: Path) -> None:
    """Raise an error now if a picture could not be written to `path` later, after a long fit."""
    formats = sorted(new_figure().canvas.get_supported_filetypes())
    if path.suffix.lower().lstrip(".") not in formats:
        raise ValueError(f"the picture's name must end in one of .{', .'.join(formats)}, got {str(path)!r}")
    if path.is_dir():
        raise IsADirectoryError(f"the picture must be a file, got the folder {str(path)!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder of the picture does not exist: {str(path.parent)!r}")

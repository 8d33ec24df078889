"""Pictures of a fitted model."""

from hyperplanes.plotting.geometry import Rectangle, clip_lines
from hyperplanes.plotting.pictures import (
    check_picture_path,
    new_figure,
    plot_fit,
    plot_hyperplanes,
    plot_slice,
    plot_surface,
)

__all__ = [
    "Rectangle",
    "check_picture_path",
    "clip_lines",
    "new_figure",
    "plot_fit",
    "plot_hyperplanes",
    "plot_slice",
    "plot_surface",
]

"""Pictures of a fitted model."""

from hyperplanes.plotting.canvas import check_picture_path, new_figure
from hyperplanes.plotting.checks import plot_calibration, plot_observed, plot_pit, plot_residuals
from hyperplanes.plotting.curves import Importance, importance_of, plot_importance, plot_partial_dependence
from hyperplanes.plotting.geometry import Rectangle, clip_lines
from hyperplanes.plotting.glance import plot_fit
from hyperplanes.plotting.inference import plot_annealing, plot_number, plot_prior_and_posterior, unknowns_of
from hyperplanes.plotting.maps import plot_hyperplanes, plot_slice, plot_surface

__all__ = [
    "Importance",
    "Rectangle",
    "check_picture_path",
    "clip_lines",
    "importance_of",
    "new_figure",
    "plot_annealing",
    "plot_calibration",
    "plot_fit",
    "plot_hyperplanes",
    "plot_importance",
    "plot_number",
    "plot_observed",
    "plot_partial_dependence",
    "plot_pit",
    "plot_prior_and_posterior",
    "plot_residuals",
    "plot_slice",
    "plot_surface",
    "unknowns_of",
]

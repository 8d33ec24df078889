"""Experiments: the paper's simulated data, the rivals, the scores, the demonstration and the reproduction."""

from hyperplanes.experiments.demo import DemoResult, Score, draw_demo, run_demo
from hyperplanes.experiments.metrics import coverage, crps, mean_width, rmse
from hyperplanes.experiments.rivals import RIVALS, make_rival
from hyperplanes.experiments.simulate import Simulation, Split, simulate, split

__all__ = [
    "RIVALS",
    "DemoResult",
    "Score",
    "Simulation",
    "Split",
    "coverage",
    "crps",
    "draw_demo",
    "make_rival",
    "mean_width",
    "rmse",
    "run_demo",
    "simulate",
    "split",
]

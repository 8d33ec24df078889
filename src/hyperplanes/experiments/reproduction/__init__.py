"""Reproduction: every table and figure of the paper, from cells that one command computes."""

from hyperplanes.experiments.reproduction.effort import FULL, QUICK, Effort
from hyperplanes.experiments.reproduction.machine import CAN_HOLD
from hyperplanes.experiments.reproduction.plan import Plan, plan_cells
from hyperplanes.experiments.reproduction.report import write_report
from hyperplanes.experiments.reproduction.run import (
    Failure,
    cells_out_of_reach,
    missing_cells,
    run_cells,
    runs_alone,
)
from hyperplanes.experiments.reproduction.studies import STUDIES

__all__ = [
    "CAN_HOLD",
    "FULL",
    "QUICK",
    "STUDIES",
    "Effort",
    "Failure",
    "Plan",
    "cells_out_of_reach",
    "missing_cells",
    "plan_cells",
    "run_cells",
    "runs_alone",
    "write_report",
]

"""Cells of a reproduction with scores that a test makes up."""

from hyperplanes.experiments.cells import Cell, write_cell
from hyperplanes.experiments.reproduction import FULL
from hyperplanes.experiments.reproduction.results import read_results


def keep(folder, cell, *, quick=False, path=None, details=None, where=None, **scores):
    made = {"quick": quick, "device": "cpu", "n_jobs": 1, **(where or {})}
    content = {**made, "scores": scores, "path": path or {}, "details": details or {}}
    write_cell(folder / "cells", Cell(*cell), content)


def results_of(folder, effort=FULL):
    return read_results(folder / "cells", effort)

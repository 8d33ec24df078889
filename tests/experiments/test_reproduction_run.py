import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version

import pytest

from hyperplanes.experiments.cells import Cell, read_cell
from hyperplanes.experiments.reproduction import (
    FULL,
    QUICK,
    STUDIES,
    Plan,
    cells_out_of_reach,
    machine,
    missing_cells,
    plan_cells,
    run,
    run_cells,
)
from hyperplanes.experiments.reproduction.machine import machine_name
from hyperplanes.experiments.reproduction.run import run_cell

CHEAP = ("lm", "svm_r")


SMOKE = {
    "sim1": "svm_r",
    "sim2": "rf",
    "sim3": "paper-decmp2",
    "sim4": "paper-L1000-R100",
    "abalone": "dt",
    "wine": "svm_l",
    "cpus": "paper-L1000-R100",
}


@pytest.mark.parametrize(("study", "method"), SMOKE.items())
def test_a_tiny_cell_of_every_study(study, method, tmp_path):
    (cell,) = [c for c in plan_cells(Plan(study, QUICK, 1, [method])) if c.data_set in ("cpus1", "p5m5", "p2m40")] or (
        plan_cells(Plan(study, QUICK, 1, [method]))
    )
    assert run_cells(tmp_path, [cell], QUICK) == []
    content = read_cell(tmp_path, cell, quick=True)
    scores = content["scores"]
    assert {"train_rmse", "test_rmse", "seconds", "cpu_seconds"} <= set(scores)
    assert ("test_to_truth" in scores) == (study not in ("abalone", "wine"))
    assert ("test_function_covered" in scores) == ("test_lpd" in scores and "test_to_truth" in scores)
    assert ("test_crps" in scores) == method.startswith("paper")
    assert ("job_seconds" in scores) == (study == "sim3")
    assert content["n_jobs"] >= 1
    assert content["machine"] == machine_name()
    assert content["version"] == version("hyperplanes")


def test_wine_is_judged_without_copies_too(tmp_path):
    whole = run_cell(Cell("wine", "wine", "dt", 1), FULL)["scores"]
    assert whole["fresh_rmse"] > whole["test_rmse"]  # a tree has memorised the others


def test_runs_resume_and_leave_what_is_there(tmp_path):
    cells = plan_cells(Plan("sim1", QUICK, 2, CHEAP))
    assert missing_cells(tmp_path, cells, QUICK) == cells
    run_cells(tmp_path, cells[:3], QUICK)
    before = {cell: cell.file(tmp_path).stat().st_mtime_ns for cell in cells[:3]}
    missing = missing_cells(tmp_path, cells, QUICK)
    assert missing == cells[3:]
    counted = []
    run_cells(tmp_path, missing, QUICK, count=counted.append)
    assert counted == [1]
    assert missing_cells(tmp_path, cells, QUICK) == []
    assert {cell: cell.file(tmp_path).stat().st_mtime_ns for cell in cells[:3]} == before


def test_a_killed_run_is_resumed(tmp_path):
    """The process dies before its second file is in place."""
    program = (
        "import os, sys; from pathlib import Path\n"
        "from hyperplanes.experiments import cells\n"
        "from hyperplanes.experiments.reproduction import QUICK, Plan, plan_cells, run_cells\n"
        "replace = os.replace\n"
        "def die(source, target): os._exit(9) if '002' in str(target) else replace(source, target)\n"
        "cells.os.replace = die\n"
        "run_cells(Path(sys.argv[1]), plan_cells(Plan('sim1', QUICK, 2, ['lm'])), QUICK)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)]).returncode == 9
    cells = plan_cells(Plan("sim1", QUICK, 2, ["lm"]))
    assert missing_cells(tmp_path, cells, QUICK) == cells[1:]
    assert run_cells(tmp_path, cells[1:], QUICK) == []
    assert missing_cells(tmp_path, cells, QUICK) == []


def test_results_do_not_depend_on_how_many_run_at_a_time(tmp_path):
    cells = plan_cells(Plan("sim1", QUICK, 2, CHEAP))
    for n_jobs in (1, 2):
        assert run_cells(tmp_path / str(n_jobs), cells, QUICK, n_jobs=n_jobs) == []
    for cell in cells:
        one, two = (json.loads(cell.file(tmp_path / n).read_text())["scores"] for n in "12")
        assert {k: v for k, v in one.items() if "seconds" not in k} == {
            k: v for k, v in two.items() if "seconds" not in k
        }


def test_a_cell_that_fails_is_named_and_stops_no_other(tmp_path, monkeypatch):
    def broken(task):
        raise ZeroDivisionError("by nothing")

    def lacking(task):
        raise ModuleNotFoundError("No module named 'xgboost'")

    methods = {**STUDIES["sim1"].methods, "dt": broken, "bart": lacking}
    monkeypatch.setitem(STUDIES, "sim1", replace(STUDIES["sim1"], methods=methods))
    cells = plan_cells(Plan("sim1", QUICK, 1, ["dt", "bart", "lm"]))
    failures = run_cells(tmp_path, cells, QUICK)
    assert [(str(failure.cell), failure.reason) for failure in failures] == [
        ("sim1, p2m2, bart, repeat 1", "No module named 'xgboost': pip install \"hyperplanes[reproduce]\""),
        ("sim1, p2m2, dt, repeat 1", "ZeroDivisionError: by nothing"),
    ]
    assert [cell.method for cell in missing_cells(tmp_path, cells, QUICK)] == ["dt", "bart"]


def test_failures_are_told_at_once(tmp_path, monkeypatch):
    said = []

    def broken(task):
        raise ZeroDivisionError("by nothing")

    methods = {**STUDIES["sim1"].methods, "dt": broken}
    monkeypatch.setitem(STUDIES, "sim1", replace(STUDIES["sim1"], methods=methods))
    cells = plan_cells(Plan("sim1", QUICK, 1, ["dt", "lm"]))
    failures = run_cells(tmp_path, cells, QUICK, count=said.append, tell=said.append)
    assert said == [1, *failures, 1]


def test_cells_of_a_killed_process_have_failed_and_others_are_kept(tmp_path, monkeypatch):
    def killed_at_the_second(folder, cell, effort, threads):
        if cell.repeat == 2:
            os._exit(9)
        return cell, None

    monkeypatch.setattr(run, "_attempt", killed_at_the_second)
    cells = plan_cells(Plan("sim1", QUICK, 2, ["lm"]))
    failures = run_cells(tmp_path, cells, QUICK, n_jobs=2)
    assert cells[1] in [failure.cell for failure in failures]
    assert all("a process was killed" in failure.reason for failure in failures)


def test_timed_cells_run_one_at_a_time_and_last(tmp_path, monkeypatch):
    seen = []

    def attempts(folder, cells, effort, n_jobs):
        seen.append((sorted({cell.study for cell in cells}), n_jobs))
        return iter(())

    monkeypatch.setattr(run, "_attempts", attempts)
    cells = plan_cells(Plan("all", FULL, 1, ["ours", "ours-whole"]))
    run_cells(tmp_path, cells, FULL, n_jobs=4)
    assert seen == [(["abalone", "sim1", "sim2", "wine"], 4), (["cpus", "sim3", "sim4"], 1)]


def test_cells_that_need_more_cpus_than_there_are_are_out_of_reach(monkeypatch):
    cells = plan_cells(Plan("all", FULL, 1, ["ours"]))
    monkeypatch.setattr(run, "cpus_to_hold", lambda: 2)
    assert [cell.data_set for cell in cells_out_of_reach(cells)] == ["cpus4", "cpus8", "cpus16"]


@pytest.mark.skipif(not machine.CAN_HOLD, reason="the system does not hold processes to CPUs")
def test_a_cell_is_held_to_its_cpus(monkeypatch):
    seen = []

    def method(task):
        seen.append(len(os.sched_getaffinity(0)))
        raise InterruptedError

    monkeypatch.setitem(STUDIES["cpus"].methods, "ours", method)
    with pytest.raises(InterruptedError):
        run_cell(Cell("cpus", "cpus1", "ours", 1), QUICK)
    assert seen == [1]


def test_cells_of_ours_need_no_library_of_a_rival():
    program = (
        "import sys\n"
        "for name in ('xgboost', 'keras', 'stochtree', 'ngboost', 'pandas', 'matplotlib'): sys.modules[name] = None\n"
        "import hyperplanes.cli\n"
        "from hyperplanes.experiments.cells import Cell\n"
        "from hyperplanes.experiments.reproduction import QUICK\n"
        "from hyperplanes.experiments.reproduction.run import run_cell\n"
        "assert run_cell(Cell('sim1', 'p2m2', 'paper-L1000-R100', 1), QUICK)['scores']['test_rmse'] > 0"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

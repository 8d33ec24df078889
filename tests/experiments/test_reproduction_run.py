import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from hyperplanes.experiments.cells import Cell, read_cell
from hyperplanes.experiments.reproduction import FULL, QUICK, STUDIES, Plan, missing_cells, plan_cells, run_cells
from hyperplanes.experiments.reproduction.methods import paper_sampler
from hyperplanes.experiments.reproduction.run import run_cell
from hyperplanes.experiments.reproduction.studies import fresh_rows

CHEAP = ("lm", "svm_r")


def test_every_study_of_the_issue_has_its_repeats():
    repeats = {
        name: (study.repeats, min(study.fewer.values(), default=study.repeats)) for name, study in STUDIES.items()
    }
    assert repeats == {
        "sim1": (100, 20),
        "sim2": (20, 20),
        "sim3": (20, 20),
        "sim4": (10, 10),
        "abalone": (100, 20),
        "wine": (100, 20),
        "cpus": (5, 5),
    }
    assert not {"ours", "paper-L1000-R100", *CHEAP} & set(STUDIES["sim1"].fewer)
    assert not {"ours", "paper-L1000-R100", *CHEAP} & set(STUDIES["wine"].fewer)


def test_plans_choose_methods_data_sets_repeats_and_shards():
    cells = plan_cells(Plan("sim2", methods=["lm", "dt"], data_sets=["p5m5", "p5m10"], repeats=3))
    assert len(cells) == len(set(cells)) == 12
    assert {cell.method for cell in cells} == {"lm", "dt"}
    everything = plan_cells(Plan("all"))
    shards = [plan_cells(Plan("all", shard=f"{number}/7")) for number in range(1, 8)]
    assert sorted(cell for shard in shards for cell in shard) == sorted(everything)
    assert len(plan_cells(Plan("sim2"))) == 18 * 7 * 20


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (Plan("sim5"), "study must be one of sim1, .*, all, got 'sim5'"),
        (Plan("sim1", methods=["oracle"]), "method must be one of .*, got 'oracle'"),
        (Plan("sim1", data_sets=["p5m5"]), "data set must be one of p2m2, got 'p5m5'"),
        (Plan("sim1", shard="2/1"), "shard must be"),
    ],
)
def test_plans_that_make_no_sense_are_refused(plan, message):
    with pytest.raises(ValueError, match=message):
        plan_cells(plan)


@pytest.mark.parametrize("name", STUDIES)
def test_data_of_every_study_are_as_in_the_paper(name):
    study = STUDIES[name]
    first, again, other = (study.make_task(study.data_sets[-1], repeat, FULL, 1) for repeat in (1, 1, 2))
    np.testing.assert_array_equal(first.train.X, again.train.X)
    assert not np.array_equal(first.train.y, other.train.y)
    n_rows = {"abalone": 4177, "wine": 1599}.get(name, 5000)
    assert len(first.train.y) + len(first.test.y) == n_rows
    assert len(first.test.y) == round(n_rows / 4)
    n_columns, told = {"sim2": (200, 10), "sim3": (2, 40), "abalone": (7, 5), "wine": (11, 5), "cpus": (20, 5)}.get(
        name, (2, 2)
    )
    assert (first.train.X.shape[1], first.n_hyperplanes) == (n_columns, told)
    if name in ("abalone", "wine"):
        both = np.concatenate([first.train.y, first.test.y])
        assert (both.min(), both.max()) == (0, 1)
        assert fresh_rows(first).all() == (name == "abalone")


def test_the_fourth_study_has_the_data_of_the_first():
    first, fourth = (STUDIES[name].make_task("p2m2", 7, FULL, 1) for name in ("sim1", "sim4"))
    np.testing.assert_array_equal(first.train.X, fourth.train.X)
    np.testing.assert_array_equal(first.test.y, fourth.test.y)


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


def test_the_paper_s_sampler_is_told_and_sized_as_in_the_paper(monkeypatch):
    seen = {}

    class Spy:
        def __init__(self, **settings):
            seen.update(settings)
            raise InterruptedError

    monkeypatch.setattr("hyperplanes.experiments.reproduction.methods.HyperplaneProcessRegressor", Spy)
    task = STUDIES["sim2"].make_task("p5m10", 3, FULL, 2)
    with pytest.raises(InterruptedError):
        paper_sampler(500, 50)(task)
    assert seen == {
        "random_state": 3,
        "n_jobs": 2,
        "n_particles": 500,
        "n_steps": 50,
        "sampler": "paper",
        "n_hyperplanes": 10,
    }
    seen.clear()
    with pytest.raises(InterruptedError):
        STUDIES["sim2"].methods["ours"](task)
    assert seen == {"random_state": 3, "n_jobs": 2}


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

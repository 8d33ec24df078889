import numpy as np
import pytest

from hyperplanes.experiments.cells import Cell
from hyperplanes.experiments.reproduction import FULL, QUICK, STUDIES, Plan, plan_cells
from hyperplanes.experiments.reproduction.methods import Outcome, in_parts, paper_sampler
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
    for name in ("abalone", "wine"):
        assert not {"ours", *CHEAP} & set(STUDIES[name].fewer)
        assert STUDIES[name].fewer["paper-L1000-R100"] == 20


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
    first, again, other = (study.make_task(study.data_sets[-1], repeat, FULL) for repeat in (1, 1, 2))
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


@pytest.mark.parametrize(
    ("cell", "n_jobs", "timed"),
    [
        (Cell("sim1", "p2m2", "lm", 1), 3, False),
        (Cell("sim3", "p2m40", "lm", 1), 1, True),
        (Cell("sim4", "p2m2", "xgb", 1), 3, True),
        (Cell("cpus", "cpus16", "ours", 1), 16, True),
    ],
)
def test_studies_say_how_many_cpus_there_are_and_whether_time_counts(cell, n_jobs, timed):
    task = STUDIES[cell.study].task(cell, QUICK, 3)
    assert (task.n_jobs, task.timed) == (n_jobs, timed)


def test_the_fourth_study_has_the_data_of_the_first():
    first, fourth = (STUDIES[name].make_task("p2m2", 7, FULL) for name in ("sim1", "sim4"))
    np.testing.assert_array_equal(first.train.X, fourth.train.X)
    np.testing.assert_array_equal(first.test.y, fourth.test.y)


@pytest.mark.parametrize(
    ("decomposition", "told", "share"),
    [(None, 40, 1), ("intensity", 10, 1), ("domain", 10, 4), ("paper-intensity", 10, 4), ("paper-domain", 10, 4)],
)
def test_parts_are_told_their_share_and_independent_ones_share_the_seconds(decomposition, told, share):
    seen = {}

    def method(**settings):
        seen.update(settings)
        return lambda task: Outcome(None, None, seconds=12.0, cpu_seconds=20.0)

    outcome = in_parts(method, decomposition)(STUDIES["sim3"].make_task("p2m40", 1, QUICK))
    assert seen == {
        "n_hyperplanes": told,
        "decomposition": decomposition,
        "n_parts": 1 if decomposition is None else 4,
    }
    assert outcome.job_seconds == 12.0 / share


def test_the_paper_s_sampler_is_told_and_sized_as_in_the_paper(monkeypatch):
    seen = {}

    class Spy:
        def __init__(self, **settings):
            seen.update(settings)
            raise InterruptedError

    monkeypatch.setattr("hyperplanes.experiments.reproduction.methods.HyperplaneProcessRegressor", Spy)
    task = STUDIES["sim2"].task(Cell("sim2", "p5m10", "ours", 3), FULL, 2)
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

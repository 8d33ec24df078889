import numpy as np
import pytest

from hyperplanes.experiments.reproduction.comparison import (
    beside_paper,
    wilcoxon_table,
)
from hyperplanes.experiments.reproduction.markup import show
from hyperplanes.experiments.reproduction.results import signed_rank_p_value, summarise
from kept_cells import keep, results_of


def test_mean_deviation_and_number():
    assert summarise([1.0, 3.0]) == (2.0, pytest.approx(np.sqrt(2)), 2)
    assert summarise([4.0]) == (4.0, 0.0, 1)
    assert summarise([]) is None
    assert show(summarise([1.0, 3.0]), 3) == "2.000 (1.414) [2]"
    assert show(None) == "not run"


@pytest.mark.parametrize(
    ("differences", "p_value"),
    [
        ([1, 2, 3, 4, 5], 1 / 32),  # all ranks positive: one of 2^5 signs
        ([-1, 2, 3, 4, 5], 2 / 32),  # the smallest negative
        ([1, -2, 3, 4, 5], 3 / 32),  # or rank sums of at most two: {}, {1}, {2}
        ([-1, -2, -3], 1.0),
        ([0, 0], 1.0),
    ],
)
def test_signed_rank_p_values_by_hand(differences, p_value):
    assert signed_rank_p_value([(0.5, 0.5 + d / 16) for d in differences]) == pytest.approx(p_value)


def test_no_pairs_no_p_value():
    assert signed_rank_p_value([]) is None


def test_p_values_pair_the_repeats_that_both_have(tmp_path):
    for repeat in range(1, 13):
        keep(tmp_path, ("sim2", "p5m5", "ours", repeat), test_rmse=0.1 + 0.001 * repeat)
        if repeat != 12:
            keep(tmp_path, ("sim2", "p5m5", "lm", repeat), test_rmse=0.1 + 0.002 * repeat)
    results = results_of(tmp_path)
    assert results.p_value("sim2", "p5m5", "ours", "lm") == pytest.approx(2.0**-11)
    assert results.p_value("sim2", "p5m5", "lm", "ours") == 1.0
    assert results.p_value("sim2", "p5m5", "ours", "svm_r") is None
    row = next(row for row in wilcoxon_table(results).rows if row[:3] == ["5", "5", "lm"])
    assert row[3:8] == ["***", "not run", "0.00049", "0.1065 (0.0036) [12]", "0.1120 (0.0066) [11]"]


def test_ratios_of_jobs_are_to_the_whole_of_the_same_sampler_and_repeat_under_the_same_conditions(tmp_path):
    place = ("sim3", "p2m40")
    others = ({}, {}, {"device": "gpu"}, {"machine": "fast, 8 CPUs"}, {"n_jobs": 2})
    for repeat, where in enumerate(others, start=1):
        keep(tmp_path, (*place, "paper-whole", repeat), where=where, test_rmse=0.1, job_seconds=10.0)
    keep(tmp_path, (*place, "ours-whole", 1), test_rmse=0.1, job_seconds=80.0)
    for repeat in range(1, 7):
        keep(tmp_path, (*place, "paper-decmp1", repeat), test_rmse=0.1, job_seconds=float(repeat))
    results = results_of(tmp_path)
    assert results.values(*place, "paper-decmp1", "job_ratio") == pytest.approx({1: 0.1, 2: 0.2})
    assert results.values(*place, "paper-whole", "job_ratio") == dict.fromkeys(range(1, 6), 1.0)
    assert results.values(*place, "paper-decmp2", "job_ratio") == {}
    rows = {(row[0], row[1]): row for row in beside_paper(results, "sim3").rows}
    assert rows["pois, decmp1", "seconds of a job / whole"][2:] == [
        "0.134 (0.0455)",
        "0.150 (0.071) [2]",
        "not run",
        "",
        "",
        "`hyperplanes reproduce sim3 --methods paper-decmp1,ours-decmp1-paper,paper-whole,ours-whole`",
    ]


@pytest.mark.parametrize("cell", [("sim1", "p2m2", "oracle", 1), ("sim1", "p5m5", "lm", 1), ("sim9", "p2m2", "lm", 1)])
def test_files_that_are_no_cells_are_an_error(cell, tmp_path):
    keep(tmp_path, cell, test_rmse=0.1)
    with pytest.raises(ValueError, match="is no cell of a study"):
        results_of(tmp_path)


def test_quick_cells_are_not_taken_for_full_ones(tmp_path):
    keep(tmp_path, ("sim1", "p2m2", "lm", 1), quick=True, test_rmse=0.1)
    with pytest.raises(ValueError, match="should have quick False, got True"):
        results_of(tmp_path)

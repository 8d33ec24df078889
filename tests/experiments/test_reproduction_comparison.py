import pytest

from hyperplanes.experiments.reproduction.comparison import (
    beside_paper,
    best_rival,
    distance_from_paper,
)
from hyperplanes.experiments.reproduction.paper import printed, printed_numbers
from hyperplanes.experiments.reproduction.studies import COLUMNS, PLANES, STUDIES
from hyperplanes.experiments.reproduction.tables import all_methods
from kept_cells import keep, results_of


def test_every_number_of_the_paper_belongs_to_a_study():
    assert len(printed_numbers()) == 9 * 2 + 54 + 3 * 2 + 2 + 3 * 7 + 19 * 2 + 20 * 2
    for number in printed_numbers():
        study = STUDIES[number.study]
        assert number.data_set in study.data_sets
        assert number.method in study.methods or number.method.startswith("nn-")
        assert number.mean == "***" or number.mean == "*" or 0 <= float(number.mean) < 1000
    assert {number.data_set for number in printed("sim2")} == {f"p{p}m{m}" for p in COLUMNS for m in PLANES}


def test_numbers_of_the_paper_that_the_text_quotes():
    found = {(n.study, n.method, n.metric): n.text for n in printed_numbers()}
    assert found["sim1", "paper-L1000-R100", "test_rmse"] == "0.101 (0.002)"
    assert found["sim3", "paper-decmp2", "job_ratio"] == "0.0469 (0.0144)"
    assert found["sim4", "nn", "seconds"] == "976 (19.5)"
    assert found["wine", "rf", "test_rmse"] == "0.12 (0.01)"


def test_training_and_test_are_in_one_row_whose_command_computes_all_of_it(tmp_path):
    for method in ("paper-L1000-R10", "ours-L1000-R10", "ours", "svm_r", "lm"):
        keep(tmp_path, ("sim1", "p2m2", method, 1), train_rmse=0.2, test_rmse=0.5 if method == "lm" else 0.3)
    row = next(row for row in beside_paper(results_of(tmp_path), "sim1").rows if row[0] == "pois, L=1000, R=10")
    both = "0.2000 (0.0000) / 0.3000 (0.0000) [1]"
    assert row[1:] == [
        "RMSE",
        "0.104 (0.007) / 0.104 (0.007)",
        both,
        both,
        both,
        f"svm_r: {both}",
        "`hyperplanes reproduce sim1 --methods paper-L1000-R10,ours-L1000-R10,ours,svm_r`",
    ]


@pytest.mark.parametrize(
    ("study", "data_set", "title", "counterpart"),
    [
        ("sim3", "p2m40", "ours, the same decomposition", {"whole": "ours-whole", "decmp1": "ours-decmp1-paper"}),
        ("sim4", "p2m2", "ours, told |P|", {"L=1000, R=100": "ours-told"}),
    ],
)
def test_the_paper_s_method_stands_beside_the_one_of_ours_that_is_nearest(
    study, data_set, title, counterpart, tmp_path
):
    for number, method in enumerate(counterpart.values()):
        keep(tmp_path, (study, data_set, method, 1), train_rmse=0.2, test_rmse=0.3 + number)
    table = beside_paper(results_of(tmp_path), study)
    assert table.header[4] == title
    shown = {row[0]: row[4] for row in table.rows if row[1] == "RMSE"}
    for number, name in enumerate(counterpart):
        assert shown[f"pois, {name}"] == f"0.2000 (0.0000) / {0.3 + number:.4f} (0.0000) [1]"


def test_the_network_is_in_the_tables_after_every_look(tmp_path):
    path = {"100": {"train_rmse": 0.3, "test_rmse": 0.4}, "200": {"train_rmse": 0.1, "test_rmse": 0.2}}
    keep(tmp_path, ("wine", "wine", "nn", 1), path=path, train_rmse=0.1, test_rmse=0.2)
    keep(tmp_path, ("wine", "wine", "rf", 1), train_rmse=0.0, test_rmse=0.1, fresh_rmse=0.15)
    results = results_of(tmp_path)
    rows = {row[0]: row for row in beside_paper(results, "wine", digits=3).rows}
    assert rows["nn, 100 epochs"][2:] == [
        "0.26 (0.11) / 0.26 (0.11)",
        "",
        "",
        "not run",
        "0.300 (0.000) / 0.400 (0.000) [1]",
        "`hyperplanes reproduce wine --methods ours,nn`",
    ]
    assert best_rival(results, "wine", "wine") == "rf"
    table = all_methods(results, "wine", "wine")
    assert table.header == ["method", "train RMSE", "test RMSE", "RMSE without copies", "ours better: p"]
    assert table.rows[0] == ["rf", "0.0000 (0.0000) [1]", "0.1000 (0.0000) [1]", "0.1500 (0.0000) [1]", ""]
    keep(tmp_path, ("wine", "wine", "ours", 1), train_rmse=0.05, test_rmse=0.05)
    assert all_methods(results_of(tmp_path), "wine", "wine").rows[1][-1] == "0.5"


def test_how_far_a_rival_is_from_the_paper_is_said(tmp_path):
    keep(tmp_path, ("sim4", "p2m2", "xgb", 1), train_rmse=0.08, test_rmse=0.1, train_covered=0.9, seconds=3.0)
    assert distance_from_paper(results_of(tmp_path), "sim4", "p2m2", "xgb") == (
        "XGBoost, 40 trees, 1000 bootstraps: train RMSE 0.0800 where the paper has 0.097, test RMSE 0.1000 where the "
        "paper has 0.104, train: 95% covers 0.900 where the paper has 0.985."
    )
    assert distance_from_paper(results_of(tmp_path), "sim4", "p2m2", "nn") == "nn: not run."

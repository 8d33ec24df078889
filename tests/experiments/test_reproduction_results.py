from pathlib import Path

import numpy as np
import pytest

from hyperplanes.experiments.cells import Cell, write_cell
from hyperplanes.experiments.reproduction import FULL, QUICK, write_report
from hyperplanes.experiments.reproduction.claims import claims
from hyperplanes.experiments.reproduction.methods import EPOCHS
from hyperplanes.experiments.reproduction.paper import printed, printed_numbers
from hyperplanes.experiments.reproduction.results import read_results, signed_rank_p_value, summarise
from hyperplanes.experiments.reproduction.studies import COLUMNS, PLANES, STUDIES
from hyperplanes.experiments.reproduction.tables import (
    Table,
    all_methods,
    beside_paper,
    best_rival,
    cpu_table,
    show,
    wilcoxon_table,
)


def keep(folder, cell, *, device="cpu", quick=False, path=None, **scores):
    write_cell(folder / "cells", Cell(*cell), {"quick": quick, "device": device, "scores": scores, "path": path or {}})


def results_of(folder, effort=FULL):
    return read_results(folder / "cells", effort)


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


def test_ratios_of_jobs_are_to_the_whole_of_the_same_sampler_repeat_and_device(tmp_path):
    place = ("sim3", "p2m40")
    for repeat, device in ((1, "cpu"), (2, "cpu"), (3, "gpu")):
        keep(tmp_path, (*place, "paper-whole", repeat), device=device, test_rmse=0.1, job_seconds=10.0)
    keep(tmp_path, (*place, "ours-whole", 1), test_rmse=0.1, job_seconds=80.0)
    for repeat, seconds in ((1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0)):
        keep(tmp_path, (*place, "paper-decmp1", repeat), test_rmse=0.1, job_seconds=seconds)
    results = results_of(tmp_path)
    assert results.values(*place, "paper-decmp1", "job_ratio") == pytest.approx({1: 0.1, 2: 0.2})
    assert results.values(*place, "paper-whole", "job_ratio") == {1: 1.0, 2: 1.0, 3: 1.0}
    assert results.values(*place, "paper-decmp2", "job_ratio") == {}
    rows = {(row[0], row[1]): row for row in beside_paper(results, "sim3").rows}
    assert rows["pois, decmp1", "seconds of a job / whole"][2:4] == ["0.134 (0.0455)", "0.150 (0.071) [2]"]


def test_the_network_is_in_the_tables_after_every_look(tmp_path):
    path = {"100": {"train_rmse": 0.3, "test_rmse": 0.4}, "200": {"train_rmse": 0.1, "test_rmse": 0.2}}
    keep(tmp_path, ("wine", "wine", "nn", 1), path=path, train_rmse=0.1, test_rmse=0.2)
    keep(tmp_path, ("wine", "wine", "rf", 1), train_rmse=0.0, test_rmse=0.1, fresh_rmse=0.15)
    results = results_of(tmp_path)
    rows = {(row[0], row[1]): row for row in beside_paper(results, "wine", digits=3).rows}
    assert rows["nn, 100 epochs", "test RMSE"][2:7] == ["0.26 (0.11)", "", "", "not run", "0.400 (0.000) [1]"]
    assert rows["nn, 100 epochs", "test RMSE"][7] == "`hyperplanes reproduce wine --methods nn,ours`"
    assert rows["pois, L=500, R=100", "train RMSE"][6] == "rf: 0.000 (0.000) [1]"
    assert best_rival(results, "wine", "wine", "test_covered") == ""
    table = all_methods(results, "wine", "wine")
    assert table.header == ["method", "train RMSE", "test RMSE", "RMSE without copies", "ours better: p"]
    assert table.rows[0] == ["rf", "0.0000 (0.0000) [1]", "0.1000 (0.0000) [1]", "0.1500 (0.0000) [1]", ""]
    keep(tmp_path, ("wine", "wine", "ours", 1), train_rmse=0.05, test_rmse=0.05)
    assert all_methods(results_of(tmp_path), "wine", "wine").rows[1][-1] == "0.5"


def test_claims_say_yes_no_or_not_run(tmp_path):
    for repeat in (1, 2):
        keep(tmp_path, ("sim1", "p2m2", "ours", repeat), test_rmse=0.1004)
        keep(tmp_path, ("sim1", "p2m2", "paper-L1000-R100", repeat), test_rmse=0.2)
        keep(tmp_path, ("sim4", "p2m2", "ours", repeat), test_rmse=0.1, seconds=2.0)
        keep(tmp_path, ("sim4", "p2m2", "xgb", repeat), test_rmse=0.1, seconds=20.0)
    for repeat in range(1, 12):
        keep(tmp_path, ("sim2", "p5m5", "ours", repeat), test_rmse=0.1)
        keep(tmp_path, ("sim2", "p5m5", "lm", repeat), test_rmse=0.2 + 0.01 * repeat)
        keep(tmp_path, ("sim2", "p5m5", "svm_r", repeat), test_rmse=0.05)
    found = claims(results_of(tmp_path))
    assert [claim.holds for claim in found] == [True, False, False, None, None, None, True, None]
    assert found[2].found == "1 of 2 that were run; not on p5m5 against svm_r (p = 1)"
    assert found[6].found == "0.1000 (0.0000) [2]"


def test_cpus_are_compared_with_one(tmp_path):
    for number, seconds in ((1, 8.0), (2, 4.0), (16, 1.0)):
        keep(tmp_path, ("cpus", f"cpus{number}", "ours", 1), test_rmse=0.1, seconds=seconds)
    table = cpu_table(results_of(tmp_path))
    assert [row[0] for row in table.rows] == ["1", "2", "16"]
    assert [row[2] for row in table.rows] == ["1.00 (0.00) [1]", "2.00 (0.00) [1]", "8.00 (0.00) [1]"]


def test_tables_in_markdown_and_latex():
    table = Table("x", "50% & more.", ["|P|", "a_b"], [["1", "`c`"]])
    assert table.as_markdown() == "50% & more.\n\n| \\|P\\| | a_b |\n| --- | --- |\n| 1 | `c` |\n"
    assert r"\caption{50\% \& more.}" in table.as_latex()
    assert "$|$P$|$ & a\\_b \\\\\n\\hline\n1 & c \\\\" in table.as_latex()


def test_the_same_files_give_the_same_report(tmp_path):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    cells = [cell for study in STUDIES.values() for cell in study.cells(QUICK)]
    order = rng.permutation(len(cells))
    for number in order:
        names = ("train_rmse", "test_rmse", "seconds", "test_covered", "train_covered", "test_length", "train_length")
        scores = dict(zip(names, (0.1 + rng.random(7)).tolist(), strict=True))
        path = {str(look): {"train_rmse": 0.5, "test_rmse": 0.6} for look in EPOCHS}
        path = path if cells[number].method == "nn" else {}
        keep(tmp_path, cells[number], quick=True, path=path, **scores, job_seconds=1.0)

    def report():
        write_report(tmp_path, tmp_path / "docs" / "reproduction.md", QUICK)
        files = [file for folder in ("tables", "figures", "docs") for file in (tmp_path / folder).iterdir()]
        return {file.name: file.read_bytes() for file in files}

    first = report()
    assert report() == first
    text = first["reproduction.md"].decode()
    assert "Nothing: every cell is there." in text
    assert "not run" not in text.replace("that were run", "").split("## sim3")[1]
    for name in first:
        if name.endswith(".png"):
            assert f"](../figures/{name})" in text
    assert {"claims.tex", "claims.md", "sim2-wilcoxon.tex", "cpus-seconds.md", "sim4.png", "wine-sizes.png"} <= set(
        first
    )


def test_what_was_not_run_is_said(tmp_path):
    pytest.importorskip("matplotlib")
    for repeat in (1, 2, 3):
        keep(tmp_path, ("sim1", "p2m2", "lm", repeat), train_rmse=0.1, test_rmse=0.2)
    write_report(tmp_path, tmp_path / "reproduction.md", FULL)
    text = (tmp_path / "reproduction.md").read_text()
    assert "- sim1, lm: 3 of 100 on p2m2" in text
    assert "- sim1, ours: 0 of 100 on p2m2" in text
    assert "- sim2, ours: 0 of 20 on p5m5, p10m5, " in text
    assert "| lm | test RMSE | 0.154 (0.073) |  |  | not run | 0.2000 (0.0000) [3] |" in text
    assert "    hyperplanes reproduce sim4\n\nNot run." in text


def test_a_folder_without_cells_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no cells"):
        write_report(tmp_path, tmp_path / "reproduction.md", FULL)


def test_files_that_are_no_cells_are_an_error(tmp_path):
    keep(tmp_path, ("sim1", "p2m2", "oracle", 1), test_rmse=0.1)
    with pytest.raises(ValueError, match="is no cell of a study"):
        results_of(tmp_path)


def test_quick_cells_are_not_taken_for_full_ones(tmp_path):
    keep(tmp_path, ("sim1", "p2m2", "lm", 1), quick=True, test_rmse=0.1)
    with pytest.raises(ValueError, match="should have quick False, got True"):
        results_of(tmp_path)


ROOT = Path(__file__).parents[2]


def test_committed_tables_and_document_are_those_of_the_committed_cells(tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "reproduction"
    folder.mkdir()
    (folder / "cells").symlink_to(ROOT / "reproduction" / "cells")
    write_report(folder, tmp_path / "docs" / "reproduction.md", FULL)
    for made in [*(folder / "tables").iterdir(), tmp_path / "docs" / "reproduction.md"]:
        assert made.read_text() == (ROOT / made.relative_to(tmp_path)).read_text(), "run: make reproduce-report"

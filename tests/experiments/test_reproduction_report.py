from pathlib import Path

import numpy as np
import pytest

from hyperplanes.experiments.reproduction import FULL, QUICK, write_report
from hyperplanes.experiments.reproduction.methods import EPOCHS
from hyperplanes.experiments.reproduction.studies import STUDIES
from kept_cells import keep


def test_the_same_files_give_the_same_report(tmp_path):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    cells = [cell for study in STUDIES.values() for cell in study.cells(QUICK)]
    order = rng.permutation(len(cells))
    for number in order:
        metrics = ("rmse", "covered", "function_covered", "length", "to_truth", "lpd", "crps")
        names = [f"{part}_{metric}" for part in ("train", "test") for metric in metrics]
        scores = dict(zip(names, (0.1 + rng.random(len(names))).tolist(), strict=True)) | {"seconds": 1.0}
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
    assert "not run" not in text.split("## sim3")[1]
    for name in first:
        if name.endswith(".png"):
            assert f"](../figures/{name})" in text
    assert {"claims.tex", "claims.md", "sim2-wilcoxon.tex", "cpus-seconds.md", "sim4.png", "wine-sizes.png"} <= set(
        first
    )


def test_the_document_names_the_machines_of_timed_studies(tmp_path):
    pytest.importorskip("matplotlib")
    for repeat, where in enumerate(({}, {"machine": "fast, 8 CPUs", "n_jobs": 8}, {}), start=1):
        keep(tmp_path, ("sim4", "p2m2", "ours", repeat), where=where, train_rmse=0.1, test_rmse=0.1, seconds=1.0)
    write_report(tmp_path, tmp_path / "reproduction.md", FULL)
    text = (tmp_path / "reproduction.md").read_text()
    assert "Machines: not noted (cpu, 1 thread, 2 cells); fast, 8 CPUs (cpu, 8 threads, 1 cells)." in text


def test_what_was_not_run_is_said(tmp_path):
    pytest.importorskip("matplotlib")
    for repeat in (1, 2, 3):
        keep(tmp_path, ("sim1", "p2m2", "lm", repeat), train_rmse=0.1, test_rmse=0.2)
    write_report(tmp_path, tmp_path / "reproduction.md", FULL)
    text = (tmp_path / "reproduction.md").read_text()
    assert "- sim1, lm: 3 of 100 on p2m2" in text
    assert "- sim1, ours: 0 of 100 on p2m2" in text
    assert "- sim2, ours: 0 of 20 on p5m5, p10m5, " in text
    assert "| 0.154 (0.074) / 0.154 (0.073) |  |  | not run | 0.1000 (0.0000) / 0.2000 (0.0000) [3] |" in text
    assert "    hyperplanes reproduce sim4\n\nNot run." in text


def test_a_folder_without_cells_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no cells"):
        write_report(tmp_path, tmp_path / "reproduction.md", FULL)


ROOT = Path(__file__).parents[2]


def test_committed_tables_and_document_are_those_of_the_committed_cells(tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "reproduction"
    folder.mkdir()
    (folder / "cells").symlink_to(ROOT / "reproduction" / "cells")
    write_report(folder, tmp_path / "docs" / "reproduction.md", FULL)
    for made in [*(folder / "tables").iterdir(), tmp_path / "docs" / "reproduction.md"]:
        assert made.read_text() == (ROOT / made.relative_to(tmp_path)).read_text(), "run: make reproduce-report"

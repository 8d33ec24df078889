import json
import time

import pytest

from hyperplanes import cli
from hyperplanes.cli import console
from hyperplanes.experiments.reproduction import QUICK, STUDIES, Plan, cells_out_of_reach, plan_cells

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def cells(folder):
    return sorted(str(file.relative_to(folder / "cells")) for file in folder.glob("cells/**/*.json"))


def test_reproduce_computes_cells_and_writes_the_report(tmp_path, capsys):
    assert cli.main(["reproduce", "sim1", "--quick", "--methods", "lm,dt", "--repeats", "2"]) == 0
    folder = tmp_path / "reproduction-quick"
    assert cells(folder) == [f"sim1/p2m2/{name}/00{n}.json" for name in ("dt", "lm") for n in (1, 2)]
    text = (folder / "reproduction.md").read_text()
    assert "](figures/sim1-rmse.png)" in text
    assert (folder / "tables" / "sim1-beside-paper.tex").exists()
    printed = capsys.readouterr().err
    assert "4 cells, 0 of them there already" in printed
    assert "4 of 4 cells done" in printed
    assert "report written to reproduction-quick/reproduction.md" in printed


def test_folder_document_sets_and_shards(tmp_path):
    options = ["--quick", "--repeats", "1", "--methods", "lm", "--folder", "here", "--document", "docs/found.md"]
    assert cli.main(["reproduce", "sim2", *options, "--sets", "p5m5"]) == 0
    assert cells(tmp_path / "here") == ["sim2/p5m5/lm/001.json"]
    assert "](../here/figures/sim2-all.png)" in (tmp_path / "docs" / "found.md").read_text()
    for shard in ("1/2", "2/2"):
        assert cli.main(["reproduce", "sim2", *options, "--shard", shard]) == 0
    assert cells(tmp_path / "here") == ["sim2/p20m10/lm/001.json", "sim2/p5m5/lm/001.json"]


def test_cells_alone_then_the_report_alone(tmp_path, monkeypatch):
    options = ["reproduce", "sim1", "--quick", "--repeats", "1", "--methods", "lm", "--jobs", "2"]
    assert cli.main([*options, "--cells-only"]) == 0
    folder = tmp_path / "reproduction-quick"
    assert [path.name for path in folder.iterdir()] == ["cells"]
    monkeypatch.setattr("hyperplanes.cli.reproduce.run_cells", None)
    assert cli.main(["reproduce", "sim1", "--quick", "--report-only"]) == 0
    assert (folder / "reproduction.md").exists()


def test_full_sizes_are_the_default(tmp_path):
    assert cli.main(["reproduce", "sim1", "--repeats", "1", "--methods", "lm", "--cells-only"]) == 0
    content = json.loads((tmp_path / "reproduction/cells/sim1/p2m2/lm/001.json").read_text())
    assert content["quick"] is False
    assert content["scores"]["test_rmse"] < 0.3


def test_failed_cells_are_reported_and_the_exit_code_is_1(monkeypatch, capsys):
    def broken(task):
        raise RuntimeError("no luck")

    monkeypatch.setitem(STUDIES["sim1"].methods, "dt", broken)
    assert cli.main(["reproduce", "sim1", "--quick", "--methods", "lm,dt", "--repeats", "1"]) == 1
    printed = capsys.readouterr().err
    assert "failed: sim1, p2m2, dt, repeat 1: RuntimeError: no luck" in printed
    assert "report written" in printed


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["sim5"], 2, "study must be one of sim1,"),
        (["sim5", "--report-only"], 2, "study must be one of sim1,"),
        (["sim1", "--methods", "oracle"], 2, "method must be one of"),
        (["sim1", "--sets", "p9m9"], 2, "data set must be one of p2m2"),
        (["sim1", "--shard", "3/2"], 2, "shard must be k/n"),
        (["sim1", "--report-only"], 1, "holds no cells to report on"),
        (["sim1", "--repeats", "0"], 2, "--repeats"),
        (["sim1", "--jobs", "0"], 2, "--jobs must be at least 1, or -1"),
        (["sim1", "--jobs", "-2"], 2, "--jobs must be at least 1, or -1"),
        (["sim1", "--cells-only", "--report-only"], 2, "leave nothing to do"),
        ([], 2, "NAME"),
    ],
)
def test_wrong_command_lines(arguments, code, message, capsys):
    assert cli.main(["reproduce", *arguments]) == code
    assert message in capsys.readouterr().err


def test_a_broken_cell_stops_before_anything_runs(tmp_path, capsys):
    file = tmp_path / "reproduction-quick/cells/sim1/p2m2/lm/001.json"
    file.parent.mkdir(parents=True)
    file.write_text("{")
    assert cli.main(["reproduce", "sim1", "--quick", "--methods", "lm", "--repeats", "2"]) == 1
    assert "001.json is not JSON" in capsys.readouterr().err
    assert not (file.parent / "002.json").exists()


def test_without_a_terminal_a_line_is_said_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0)
    with console.counted("cells", 3) as count:
        count(1)
        count(1)
    assert capsys.readouterr().err == "1 of 3 cells done\n2 of 3 cells done\n"


def test_cells_out_of_reach_are_skipped_and_named(monkeypatch, capsys):
    monkeypatch.setattr("hyperplanes.cli.reproduce.run_cells", lambda folder, cells, *rest, **more: ran.extend(cells))
    monkeypatch.setattr("hyperplanes.experiments.reproduction.run.cpus_to_hold", lambda: 4)
    ran = []
    assert cli.main(["reproduce", "cpus", "--methods", "ours", "--repeats", "1", "--cells-only", "--jobs", "2"]) == 0
    printed = capsys.readouterr().err
    assert [cell.data_set for cell in ran] == ["cpus1", "cpus2", "cpus4"]
    assert "skipped: 2 cells of cpus8, cpus16 must be held to more CPUs than this machine has" in printed
    assert "cells of cpus are timed and run one at a time" in printed


@pytest.mark.long  # with the rivals, which `make statistics` installs
def test_everything_in_its_quick_version(tmp_path):
    start = time.monotonic()
    assert cli.main(["reproduce", "all", "--quick", "--jobs", "2"]) == 0
    assert time.monotonic() - start < 600
    folder, planned = tmp_path / "reproduction-quick", plan_cells(Plan("all", QUICK))
    assert len(cells(folder)) == len(planned) - len(cells_out_of_reach(planned))
    if not cells_out_of_reach(planned):
        assert "Nothing: every cell is there." in (folder / "reproduction.md").read_text()

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperplanes.experiments.cells import Cell, read_cell, read_json, stored, take_shard, write_cell, write_json

CELL = Cell("sim1", "p2m2", "lm", 3)
CONTENT = {"quick": False, "scores": {"test_rmse": 0.1}}


def test_a_cell_is_read_as_it_was_written(tmp_path):
    write_cell(tmp_path, CELL, CONTENT)
    assert read_cell(tmp_path, CELL, quick=False) == {**CELL._asdict(), **CONTENT}
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["003.json"]


def test_a_write_that_fails_leaves_nothing_and_what_was_there(tmp_path):
    file = tmp_path / "cell.json"
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(file, {"score": float("nan")})
    assert not list(tmp_path.iterdir())
    write_json(file, 1)
    with pytest.raises(TypeError):
        write_json(file, {"score": object()})
    assert read_json(file) == 1


def test_a_kill_while_writing_leaves_no_half_written_file(tmp_path):
    file = tmp_path / "cell.json"
    program = (
        "import os, sys; from pathlib import Path; from hyperplanes.experiments import cells\n"
        "cells.os.replace = lambda *paths: os._exit(9)\n"
        "cells.write_json(Path(sys.argv[1]), {'score': 1})"
    )
    assert subprocess.run([sys.executable, "-c", program, str(file)], env=os.environ).returncode == 9
    assert not file.exists()
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".")
    assert stored(file, lambda: 2) == 2


def test_stored_computes_once(tmp_path):
    values = iter([[1, 2], [3, 4]])
    file = tmp_path / "folder" / "cell.json"
    assert stored(file, lambda: next(values)) == stored(file, lambda: next(values)) == [1, 2]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON .*: delete it and run again"),
        ("[]", "holds no scores"),
        (json.dumps({**CELL._asdict(), "quick": False}), "holds no scores"),
        (json.dumps({**CELL._asdict(), **CONTENT, "repeat": 4}), "should have repeat 3, got 4"),
        (json.dumps({**CELL._asdict(), **CONTENT, "method": "dt"}), "should have method 'lm', got 'dt'"),
        (json.dumps({**CELL._asdict(), **CONTENT, "quick": True}), "should have quick False, got True"),
        (json.dumps({**CELL._asdict(), **CONTENT, "scores": {"rmse": None}}), "no finite number for rmse, got None"),
        (json.dumps({**CELL._asdict(), **CONTENT, "scores": {"rmse": float("nan")}}), "no finite number for rmse"),
        (json.dumps({**CELL._asdict(), **CONTENT, "scores": {"rmse": "0.1"}}), "no finite number for rmse"),
    ],
)
def test_wrong_content_is_named(tmp_path, content, message):
    file = CELL.file(tmp_path)
    file.parent.mkdir(parents=True)
    file.write_text(content)
    with pytest.raises(ValueError, match=message) as error:
        read_cell(tmp_path, CELL, quick=False)
    assert str(file) in str(error.value)


@given(st.integers(0, 50), st.integers(1, 12))
def test_shards_hold_every_cell_once(n_cells, n_shards):
    cells = list(range(n_cells))
    shards = [take_shard(cells, f"{number}/{n_shards}") for number in range(1, n_shards + 1)]
    assert sorted(cell for shard in shards for cell in shard) == cells
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@pytest.mark.parametrize("shard", ["", "1", "0/2", "3/2", "1/0", "-1/2", "a/b", "1/2/3", "1.5/2"])
def test_wrong_shards_are_refused(shard):
    with pytest.raises(ValueError, match="shard must be k/n"):
        take_shard([1, 2, 3], shard)

"""What mypy cannot see of `benchmarks/sampler.py`, from cells that are there already: nothing is fitted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "sampler.py"
FIGURES = {
    "rmse_to_truth": 0.004,
    "function_covered": 0.9,
    "function_width": 0.02,
    "response_covered": 0.94,
    "response_width": 0.4,
}


def write_cells(folder: Path, method: str, cells: list[dict]) -> None:
    for seed, figures in enumerate(cells, start=1):
        cell = {"method": method, "case": "p2m2", "seed": seed, **FIGURES, **figures}
        (folder / f"p2m2-{method}-{seed}.json").write_text(json.dumps(cell))


def test_cells_are_summed_up_in_json_and_in_a_table(tmp_path):
    ours = {"rmse": 1.0, "path": [], "number_covered": True}
    write_cells(
        tmp_path,
        "auto",
        [
            {**ours, "over_oracle": 1.01, "seconds": 1.0, "log_evidence": 100.0, "n_distinct": 40},
            {**ours, "over_oracle": 1.02, "seconds": 2.0, "log_evidence": 107.0, "n_distinct": 60},
            {**ours, "over_oracle": 1.09, "seconds": 6.0, "log_evidence": 93.0, "n_distinct": 80},
        ],
    )
    # As near as ours at first, then no longer, then again: the last of the three never is.
    paths = [[(2.0, 0.003), (4.0, 0.01), (8.0, 0.003)], [(3.0, 0.003), (6.0, 0.01), (20.0, 0.004)], [(9.0, 0.01)]]
    write_cells(tmp_path, "nuts", [{"rmse": 1.1, "over_oracle": 1.2, "seconds": 9.0, "path": path} for path in paths])
    options = ["--methods", "nuts", "auto", "--cases", "p2m2", "--sets", "3", "--cells", tmp_path]
    done = subprocess.run([sys.executable, SCRIPT, *options], check=True, capture_output=True, text=True)
    auto, nuts = (method["summary"] for method in json.loads(done.stdout))
    assert auto == pytest.approx(
        FIGURES
        | {"rmse": 1.0, "over_oracle": 1.02, "seconds": 3.0, "number_covered": 1, "log_evidence": 100, "n_distinct": 60}
    )
    assert nuts == pytest.approx(
        FIGURES | {"rmse": 1.1, "over_oracle": 1.2, "seconds": 9.0, "slower_first": 2.0, "slower_for_good": 10.0}
    )
    table = done.stderr.splitlines()
    assert len(table) == 2
    assert "over_oracle 1.02" in table[0]
    assert "log_evidence 100  n_distinct 60" in table[0]
    assert "slower_for_good 10" in table[1]

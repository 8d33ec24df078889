import json

import numpy as np
import pytest
from typer.testing import CliRunner

import small_fits
from golden_models import PLAIN
from hyperplanes import cli


@pytest.fixture
def data(rows, tmp_path):
    rows.to_csv(tmp_path / "rows.csv", index=False)
    return "rows.csv"


def test_report_is_written_and_said(data, tmp_path, capsys):
    assert cli.main(["report", str(PLAIN), data, "--target", "y", "--out", "fit.html"]) == 0
    page = (tmp_path / "fit.html").read_text()
    assert "<h1>Report on a fit of y</h1>" in page
    assert "judged by 40 rows that were given" in page  # the model was fitted to 80
    assert "report written to fit.html" in capsys.readouterr().err


def test_rows_held_out_title_and_json(data, rows, tmp_path, capsys):
    rows.iloc[:15].to_csv(tmp_path / "test.tsv", index=False, sep="\t")
    arguments = ["--test", "test.tsv", "--title", "Houses & <prices>", "--json", "--out", "fit.html"]
    assert cli.main(["report", str(PLAIN), data, "--target", "y", *arguments]) == 0
    assert json.loads(capsys.readouterr().out) == {"out": "fit.html", "rows": 40, "test_rows": 15}
    page = (tmp_path / "fit.html").read_text()
    assert "judged by 15 rows that were held out" in page
    assert "<h1>Houses &amp; &lt;prices&gt;</h1>" in page


def test_pages_go_through_pipes(rows):
    outcome = CliRunner().invoke(
        cli.app, ["report", str(PLAIN), "-", "--target", "y", "--out", "-"], input=rows.to_csv(index=False)
    )
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("<!doctype html>")


def test_formats_separators_and_marks_of_missing_values(rows, tmp_path):
    rows.assign(size=rows["size"].astype(object).fillna("?")).to_csv(tmp_path / "rows.data", index=False, sep=";")
    options = ["--format", "csv", "--separator", ";", "--missing", "?", "--target", "y", "--out", "fit.html"]
    assert cli.main(["report", str(PLAIN), "rows.data", *options]) == 0
    rows.to_parquet(tmp_path / "rows.parquet")
    assert cli.main(["report", str(PLAIN), "rows.parquet", "--target", "y", "--out", "fit.html", "--force"]) == 0


@pytest.mark.parametrize("fit", [small_fits.two_classes, small_fits.three_classes])
def test_labels_of_text_and_of_numbers(fit, tmp_path):
    pandas = pytest.importorskip("pandas")
    model, X, y = fit()
    model.save(tmp_path / "model.safetensors")
    pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": y}).to_csv(tmp_path / "rows.csv", index=False)
    assert cli.main(["report", "model.safetensors", "rows.csv", "--target", "kind", "--out", "fit.html"]) == 0
    accuracy = np.mean(model.predict(X) == y)
    page = (tmp_path / "fit.html").read_text()
    assert f"<td>{accuracy:.1%}</td>" in page
    assert "<img" not in page


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["rows.csv", "--target", "yy"], 2, "y"),
        (["rows.csv", "--target", "age"], 2, "is an input of the model"),
        (["nowhere.csv", "--target", "y"], 1, "there is no file nowhere.csv"),
        (["rows.csv", "--target", "y", "--test", "nowhere.csv"], 1, "there is no file nowhere.csv"),
        (["-", "--target", "y", "--test", "-"], 2, "can come from stdin"),
        (["rows.csv", "--target", "y", "--out", "-", "--json"], 2, "leaves no place for --json"),
        (["rows.csv", "--target", "y", "--out", "rows.csv", "--force"], 2, "would replace what is read"),
        (["empty.csv", "--target", "y"], 1, "empty.csv has no rows"),
        (["gaps.csv", "--target", "y"], 1, "has no value in row 3"),
        (["words.csv", "--target", "y"], 1, "must hold finite numbers, got 'high'"),
        (["narrow.csv", "--target", "y"], 2, "no column 'kind'"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(data, rows, tmp_path, capsys, arguments, code, words):
    rows.iloc[:0].to_csv(tmp_path / "empty.csv", index=False)
    rows.assign(y=rows["y"].where(np.arange(40) != 2)).to_csv(tmp_path / "gaps.csv", index=False)
    rows.assign(y="high").to_csv(tmp_path / "words.csv", index=False)
    rows.drop(columns="kind").to_csv(tmp_path / "narrow.csv", index=False)
    out = [] if "--out" in arguments else ["--out", "fit.html"]
    assert cli.main(["report", str(PLAIN), *arguments, *out]) == code
    assert words in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "fit.html").exists()


def test_files_are_not_replaced_by_accident(data, tmp_path, capsys):
    (tmp_path / "fit.html").write_text("mine")
    assert cli.main(["report", str(PLAIN), data, "--target", "y", "--out", "fit.html"]) == 2
    assert "--force" in capsys.readouterr().err
    assert (tmp_path / "fit.html").read_text() == "mine"

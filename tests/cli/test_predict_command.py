import io
import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import hyperplanes
from golden_models import PLAIN, without_names
from hyperplanes import cli
from hyperplanes.cli import tables


def predicted(*arguments: str, data: bytes | None = None) -> pd.DataFrame:
    outcome = CliRunner().invoke(cli.app, ["predict", str(PLAIN), *arguments], input=data)
    assert outcome.exit_code == 0, outcome.stderr
    return pd.read_csv(io.StringIO(outcome.stdout))


def test_predictions_are_those_of_the_library(rows, model):
    rows.to_csv("rows.csv", index=False)
    found, inputs = predicted("rows.csv", "--coverage", "0.8"), rows.drop(columns="y")
    assert list(found.columns) == ["mean", "std", "low", "high"]
    mean, std = model.predict(inputs, return_std=True)
    np.testing.assert_array_equal(found[["mean", "std"]], np.column_stack([mean, std]))
    np.testing.assert_array_equal(found[["low", "high"]], model.predict_interval(inputs, 0.8))


def test_intervals_of_the_mean_come_without_the_spread_of_responses(rows, model):
    rows.to_csv("rows.csv", index=False)
    found = predicted("rows.csv", "--target-of", "mean")
    assert list(found.columns) == ["mean", "low", "high"]
    np.testing.assert_array_equal(found[["low", "high"]], model.predict_interval(rows.drop(columns="y"), target="mean"))


def test_chunks_do_not_change_anything(rows, monkeypatch):
    rows.to_csv("rows.csv", index=False)
    whole = predicted("rows.csv", "--keep", "kind")
    monkeypatch.setattr(tables.Source.chunks, "__defaults__", ((), 7))
    pd.testing.assert_frame_equal(predicted("rows.csv", "--keep", "kind"), whole)


@pytest.mark.parametrize("source", ["rows.csv", "rows.parquet", "folder"])
@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("keep", [[], ["--keep", "y", "--keep", "kind"]])
def test_every_format_in_and_out(source, out, keep, rows, capsys):
    rows.to_csv("rows.csv", index=False)
    rows.to_parquet("rows.parquet")
    os.mkdir("folder")
    rows.to_parquet("folder/0.parquet")
    assert cli.main(["predict", str(PLAIN), source, "--out", out, *keep]) == 0
    assert "40 predictions written" in capsys.readouterr().err
    read = pd.read_csv(out) if out.endswith("csv") else pd.read_parquet(out)
    assert list(read.columns) == [*keep[1::2], "mean", "std", "low", "high"]
    np.testing.assert_allclose(read["mean"], predicted("rows.csv")["mean"], rtol=1e-12)
    assert sorted(os.listdir()) == sorted(["rows.csv", "rows.parquet", "folder", out])


def test_data_and_models_from_stdin(rows):
    text = rows.to_csv(index=False).encode()
    from_data = predicted("-", data=text)
    rows.to_csv("rows.csv", index=False)
    outcome = CliRunner().invoke(cli.app, ["predict", "-", "rows.csv"], input=PLAIN.read_bytes())
    assert outcome.exit_code == 0
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(outcome.stdout)), from_data)


def test_what_was_done_as_json(rows, capsys):
    rows.to_csv("rows.csv", index=False)
    assert cli.main(["predict", str(PLAIN), "rows.csv", "--out", "out.csv", "--json", "--coverage", "0.5"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done == {"out": "out.csv", "rows": 40, "coverage": 0.5, "target_of": "response"}


def test_an_empty_table_has_no_predictions(rows):
    rows[:0].to_csv("rows.csv", index=False)
    assert predicted("rows.csv").shape == (0, 4)


def test_categories_that_look_like_numbers_stay_text(rows):
    """A chunk of a column of text may hold numbers alone, and a missing value must not turn them into fractions."""
    rows.assign(kind=[1.0, np.nan] * 20).to_csv("rows.csv", index=False)
    numbers = predicted("rows.csv")
    rows.assign(kind=["none of them", np.nan] * 20).to_csv("rows.csv", index=False)
    pd.testing.assert_frame_equal(numbers, predicted("rows.csv"))


def test_other_separators_and_marks_of_missing_values(rows):
    rows.to_csv("rows.csv", index=False)
    rows.to_csv("rows.txt", index=False, sep="|", na_rep="unknown")
    other = predicted("rows.txt", "--separator", "|", "--missing", "unknown", "--format", "csv")
    pd.testing.assert_frame_equal(other, predicted("rows.csv"))


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", " =2", "-5", "+1e3", "plain", "a=b"]


def test_formulas_are_made_harmless_in_csv(rows):
    rows[:10].assign(**{"=name": FORMULAS}).to_csv("rows.csv", index=False)
    kept = predicted("rows.csv", "--keep", "=name")
    assert kept.columns[0] == "'=name"
    for shown, text in zip(kept.iloc[:, 0].astype(str), FORMULAS, strict=True):
        runs = text not in ("-5", "+1e3", "plain", "a=b")
        assert shown.startswith("'") == runs
        assert shown.strip("' \t") == text.strip("' \t")


def test_raw_text_stays_as_it_is(rows):
    rows[:10].assign(name=FORMULAS).to_csv("rows.csv", index=False)
    assert "=1+1" in predicted("rows.csv", "--keep", "name", "--raw")["name"].tolist()


def test_parquet_keeps_text_as_it_is(rows):
    rows[:10].assign(name=FORMULAS).to_parquet("rows.parquet")
    assert cli.main(["predict", str(PLAIN), "rows.parquet", "--keep", "name", "--out", "out.parquet"]) == 0
    assert pd.read_parquet("out.parquet")["name"].tolist() == FORMULAS


def test_existing_files_are_replaced_only_by_force(rows, capsys):
    rows.to_csv("rows.csv", index=False)
    rows.to_parquet("rows.parquet")
    for source, out in (("rows.csv", "out.csv"), ("rows.parquet", "out.parquet")):
        open(out, "w").close()
        assert cli.main(["predict", str(PLAIN), source, "--out", out]) == 2
        assert os.path.getsize(out) == 0
        assert cli.main(["predict", str(PLAIN), source, "--out", out, "--force"]) == 0
        assert os.path.getsize(out) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rows.csv", "--coverage", "1"], "coverage must be strictly between"),
        (["rows.csv", "--coverage", "nan"], "coverage"),
        (["rows.csv", "--target-of", "median"], "median"),
        (["rows.csv", "--keep", "sizes"], "did you mean 'size'"),
        (["rows.csv", "--keep", "mean"], "name of a prediction"),
        (["rows.csv", "--out", "out.xlsx"], "CSV or Parquet"),
        (["rows.csv", "--json"], "no place for --json"),
        (["rows.csv", "--out", "rows.csv", "--force"], "would replace what is read"),
        ([], "data"),
    ],
)
def test_wrong_command_lines_exit_with_2_and_say_why(arguments, message, rows, capsys):
    rows.to_csv("rows.csv", index=False)
    assert cli.main(["predict", str(PLAIN), *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.replace("│", "").split())
    assert os.listdir() == ["rows.csv"]


def test_model_and_data_cannot_both_come_from_stdin():
    assert cli.main(["predict", "-", "-"]) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size,age,kind\n1,2,a\nx,2,b\n", "column 'size' of rows.csv must hold finite numbers, got 'x' in row 2"),
        ("size,age,kind\n1,-inf,a\n", "column 'age' of rows.csv must hold finite numbers, got '-inf' in row 1"),
        ("size,age,kind\n1,2,a,4\n1,2,a\n", "rows.csv cannot be read: a line has more cells than the header has names"),
        ("size,age,kind,age\n1,2,a,4\n", "rows.csv cannot be read: the column 'age' is there 2 times"),
    ],
)
def test_bad_tables_exit_with_1_and_say_why(text, message, capsys):
    with open("rows.csv", "w") as file:
        file.write(text)
    assert cli.main(["predict", str(PLAIN), "rows.csv", "--out", "out.csv"]) == 1
    assert message in " ".join(capsys.readouterr().err.split())
    assert os.listdir() == ["rows.csv"]


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
@pytest.mark.parametrize(
    ("renamed", "message"),
    [
        ({"size": "sizes"}, "no column 'size' in the data set: did you mean 'sizes'?"),
        ({"size": "other"}, "no column 'size' in the data set, which has 'other', 'age', 'kind', 'y'"),
        ({"age": "other", "size": "age"}, "no column 'size' in the data set, which has 'age', 'other'"),
    ],
)
def test_a_column_that_is_not_there_exits_with_2(renamed, message, out, rows, capsys):
    """Names that are inputs themselves are not offered in its place."""
    rows.rename(columns=renamed).to_parquet("rows.parquet")
    assert cli.main(["predict", str(PLAIN), "rows.parquet", "--out", out]) == 2
    assert message in " ".join(capsys.readouterr().err.replace("│", "").split())
    assert os.listdir() == ["rows.parquet"]


def test_damaged_and_missing_models_exit_with_1(rows, capsys):
    rows.to_csv("rows.csv", index=False)
    shutil.copy("rows.csv", "no model")
    for name, message in (("no model", "no model: this is not a model file"), ("none", "none")):
        assert cli.main(["predict", name, "rows.csv"]) == 1
        assert message in capsys.readouterr().err


def test_a_model_of_an_array_takes_columns_in_their_order(model):
    plain = without_names(model)
    plain.save("m")
    numbers = np.random.default_rng(0).normal(size=(5, plain.n_features_in_))
    pd.DataFrame(numbers).to_csv("rows.csv", index=False)
    outcome = CliRunner().invoke(cli.app, ["predict", "m", "rows.csv"])
    found = pd.read_csv(io.StringIO(outcome.stdout))
    np.testing.assert_array_equal(found["mean"], plain.predict(numbers))
    pd.DataFrame(numbers[:, :2]).to_csv("rows.csv", index=False)
    assert cli.main(["predict", "m", "rows.csv"]) == 1


@pytest.fixture(scope="session")
def flowers(tmp_path_factory):
    """A model of three classes, and its inputs."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"length": rng.uniform(0, 3, size=60), "width": rng.uniform(0, 1, size=60)})
    labels = np.array(["aster", "=bellis", "crocus"])[frame["length"].astype(int)]
    path = tmp_path_factory.mktemp("flowers") / "flowers.csv"
    frame.assign(kind=labels).to_csv(path, index=False)
    return path


CLASSES = ["--classes", "--n-steps", "4", "--n-particles", "40", "--n-hyperplanes", "2", "--seed", "1"]


@pytest.mark.filterwarnings("ignore::hyperplanes.HyperplanesWarning")
def test_a_model_of_classes_predicts_probabilities(flowers, capsys):
    assert cli.main(["fit", str(flowers), "--target", "kind", "--out", "m.safetensors", "--json", *CLASSES]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == ["=bellis", "aster", "crocus"]
    assert cli.main(["predict", "m.safetensors", str(flowers), "--coverage", "0.8", "--out", "found.csv"]) == 0
    found, model = pd.read_csv("found.csv"), hyperplanes.load("m.safetensors")
    inputs = pd.read_csv(flowers)[["length", "width"]]
    names = [f"probability[{label}]" for label in model.classes_]
    np.testing.assert_allclose(found[names], model.predict_proba(inputs), rtol=1e-9)
    ends = model.predict_interval(inputs, 0.8)
    np.testing.assert_allclose(found[["low[crocus]", "high[crocus]"]], ends[:, 2], rtol=1e-9)
    plain = [label.lstrip("'") for label in found["class"]]
    assert plain == model.predict(inputs).tolist()
    assert "'=bellis" in set(found["class"])


@pytest.mark.filterwarnings("ignore::hyperplanes.HyperplanesWarning")
def test_classes_beyond_memory(flowers, monkeypatch):
    pd.read_csv(flowers).to_parquet("flowers.parquet")
    monkeypatch.delattr("hyperplanes.cli.fit._fit_table")
    arguments = ["--decomposition", "domain", "--n-parts", "2", "--jobs", "1", "--out", "m.safetensors"]
    assert cli.main(["fit", "flowers.parquet", "--target", "kind", *CLASSES, *arguments]) == 0
    model = hyperplanes.load("m.safetensors")
    assert len(model.parts_) == 2
    monkeypatch.delattr("hyperplanes.cli.predict._Predictions")
    assert cli.main(["predict", "m.safetensors", "flowers.parquet", "--out", "found.parquet"]) == 0
    found, inputs = pd.read_parquet("found.parquet"), pd.read_csv(flowers).drop(columns="kind")
    assert found["class"].tolist() == model.predict(inputs).tolist()
    names = [f"probability[{label}]" for label in ["=bellis", "aster", "crocus"]]
    np.testing.assert_array_equal(found[names], model.predict_proba(inputs))
    assert cli.main(["predict", "m.safetensors", "flowers.parquet", "--keep", "class"]) == 2


def test_text_as_a_target_needs_to_be_told_apart(flowers, capsys):
    assert cli.main(["fit", str(flowers), "--target", "kind", "--out", "m.safetensors"]) == 1
    assert "must hold finite numbers, got '=bellis' in row 1; --classes learns classes" in capsys.readouterr().err
    assert cli.main(["fit", str(flowers), "--target", "kind", "--classes", "--noise", "auto", "--out", "m"]) == 2
    assert "not of --classes" in capsys.readouterr().err

import io
import json
import os
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import hyperplanes
import small_fits
from golden_models import PLAIN
from hyperplanes import HyperplaneProcessRegressor, cli
from hyperplanes.cli import fit as command
from hyperplanes.cli.summary import print_summary, summary_of
from hyperplanes.estimators.decomposition import DECOMPOSITIONS
from hyperplanes.estimators.family import NOISES
from hyperplanes.inference import SAMPLERS
from killed_fits import contents_of_file

TINY = ["--sampler", "paper", "--n-steps", "3", "--n-particles", "12", "--n-hyperplanes", "2", "--seed", "1"]
pytestmark = pytest.mark.filterwarnings("ignore::hyperplanes.HyperplanesWarning")


def test_a_table_becomes_a_model_file_and_a_summary(rows, capsys):
    rows.to_csv("rows.csv", index=False)
    assert cli.main(["fit", "rows.csv", "--target", "y", "--out", "m.safetensors", *TINY]) == 0
    printed = capsys.readouterr()
    assert "hyperplanes" in printed.out
    assert "standard deviation of y" in printed.out
    assert "model written to m.safetensors" in printed.err
    model = hyperplanes.load("m.safetensors")
    settings = {"sampler": "paper", "n_steps": 3, "n_particles": 12, "n_hyperplanes": 2, "random_state": 1}
    expected = HyperplaneProcessRegressor(**settings).fit(rows.drop(columns="y"), rows["y"])
    np.testing.assert_array_equal(model.predict(rows.drop(columns="y")), expected.predict(rows.drop(columns="y")))


@pytest.mark.parametrize("more", [[], ["--drop", "size"]], ids=["beyond memory", "in memory"])
def test_parquet_with_a_decomposition_of_the_domain(more, rows, capsys):
    pd.concat([rows, rows + rows]).drop(columns="kind").to_parquet("rows.parquet")
    arguments = ["--decomposition", "domain", "--n-parts", "2", "--blend", "0.1", "--jobs", "1", "--json"]
    assert cli.main(["fit", "rows.parquet", "--target", "y", "--out", "m", *TINY, *arguments, *more]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["parts"] == 2
    assert summary["rows"] == 80
    assert summary["columns"] == ["age"] if more else ["size", "age"]
    assert hyperplanes.load("m").blend == 0.1


def test_every_setting_reaches_the_estimator(rows, fits):
    rows.to_csv("rows.csv", index=False)
    arguments = {
        "n-hyperplanes": 3, "n-particles": 5, "budget": 7.5, "sampler": "auto", "decomposition": "intensity",
        "n-parts": 2, "blend": 0.25, "jobs": 2, "seed": 9, "memory-budget": 0.5, "device": "cpu", "noise": "student",
    }  # fmt: skip
    options = [f"--{name}={value}" for name, value in arguments.items()]
    assert cli.main(["fit", "rows.csv", "--target", "y", "--out", "m", "--progress", *options]) == 0
    expected = {name.replace("-", "_"): value for name, value in arguments.items()}
    expected |= {"n_jobs": expected.pop("jobs"), "random_state": expected.pop("seed")}
    expected |= {"progress": True, "n_steps": None, "prior": None}
    assert fits[0].settings == expected


@pytest.mark.parametrize("option", ["--progress", "--no-progress"])
def test_progress_can_be_asked_for_and_forbidden(option, rows, fits, monkeypatch):
    monkeypatch.setattr(command, "watched", lambda: option == "--no-progress")
    rows.to_csv("rows.csv", index=False)
    assert cli.main(["fit", "rows.csv", "--target", "y", "--out", "m", option]) == 0
    assert fits[0].settings["progress"] == (option == "--progress")


def test_without_options_every_setting_is_the_default(rows, fits):
    rows.to_csv("rows.csv", index=False)
    assert cli.main(["fit", "rows.csv", "--target", "y", "--out", "m"]) == 0
    assert fits[0].settings == HyperplaneProcessRegressor().get_params()


def test_classes_can_be_balanced(rows, fits, capsys):
    rows.to_csv("rows.csv", index=False)
    options = ["--target", "kind", "--out", "m", "--class-weight", "balanced"]
    assert cli.main(["fit", "rows.csv", *options, "--classes", "--missing", "none"]) == 0
    assert fits[0].settings["class_weight"] == "balanced"
    assert cli.main(["fit", "rows.csv", *options, "--force"]) == 2
    assert "--class-weight is of --classes" in capsys.readouterr().err
    assert len(fits) == 1


def test_choices_are_those_of_the_library():
    hints = command.fit.__annotations__
    assert set(get_args(get_args(hints["sampler"])[0])) == set(SAMPLERS)
    (kinds, _) = get_args(get_args(hints["decomposition"])[0])
    assert set(get_args(kinds)) == set(DECOMPOSITIONS) - {None}
    assert set(get_args(get_args(hints["noise"])[0])) == {*NOISES, "auto"}


def test_columns_can_be_dropped_and_rows_weighted(rows, fits):
    rows = rows.assign(id=[f"row {k}" for k in range(len(rows))], count=np.arange(len(rows)))
    rows.to_csv("rows.csv", index=False)
    arguments = ["--drop", "id", "--drop", "size", "--row-weights", "count"]
    assert cli.main(["fit", "rows.csv", "--target", "y", "--out", "m", *arguments]) == 0
    assert list(fits[0].X.columns) == ["age", "kind"]
    np.testing.assert_array_equal(fits[0].sample_weight, np.arange(40.0))
    np.testing.assert_array_equal(fits[0].y, rows["y"])


def test_tables_of_any_kind_are_read_alike(rows, fits, monkeypatch):
    rows.to_csv("rows.csv", index=False)
    rows.to_csv("rows.tsv", index=False, sep="\t")
    rows.to_csv("rows.csv.gz", index=False)
    rows.to_csv("semicolons.csv", index=False, sep=";")
    rows.to_csv("strange.dat", index=False, na_rep="?")
    rows.to_csv("marked.csv", index=False, encoding="utf-8-sig")
    rows.to_parquet("rows.parquet")
    for arguments in (
        ["rows.csv"],
        ["rows.tsv"],
        ["rows.csv.gz"],
        ["semicolons.csv", "--separator", ";"],
        ["strange.dat", "--format", "csv", "--missing", "?", "--missing", "none"],
        ["marked.csv"],
        ["rows.parquet"],
    ):
        assert cli.main(["fit", *arguments, "--target", "y", "--out", "m", "--force"]) == 0, arguments
        pd.testing.assert_frame_equal(fits[-1].X, rows.drop(columns="y"), check_dtype=False)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_from_stdin(kind, rows, fits):
    data = io.BytesIO()
    rows.to_csv(data, index=False) if kind == "csv" else rows.to_parquet(data)
    arguments = ["fit", "-", "--target", "y", "--out", "m", "--format", kind]
    outcome = CliRunner().invoke(cli.app, arguments, input=data.getvalue())
    assert outcome.exit_code == 0
    assert len(fits[0].X) == 40


def test_a_model_on_stdout_and_its_summary_on_stderr(rows, fits):
    rows.to_csv("rows.csv", index=False)
    outcome = CliRunner().invoke(cli.app, ["fit", "rows.csv", "--target", "y", "--out", "-"])
    assert outcome.exit_code == 0
    assert hyperplanes.load(io.BytesIO(outcome.stdout_bytes)).log_evidence_ == hyperplanes.load(PLAIN).log_evidence_
    assert "log evidence" in outcome.stderr


def test_large_numbers_in_the_summary_can_be_read(rows, fits, capsys):
    rows.to_csv("rows.csv", index=False)
    assert cli.main(["fit", "rows.csv", "--target", "y", "--out", "m", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out) | {"log_evidence": -21_430.27, "log_evidence_error": 1.24}
    print_summary(summary | {"noise_std": 123_456.7}, as_json=False, to_stderr=False)
    shown = capsys.readouterr().out
    assert "-21,430.3 ± 1.2" in shown
    assert "123,457, as a standard deviation of y" in shown
    assert "e+0" not in shown


def test_the_summary_compares_kinds_of_noise(capsys):
    summary = summary_of(small_fits.compared().model, "y", None, 1.0)
    print_summary(summary, as_json=True, to_stderr=False)
    (part,) = json.loads(capsys.readouterr().out)["log_evidences"]
    assert part["varying"] == {"log_evidence": -21_430.27, "log_evidence_error": 1.24}
    print_summary(summary, as_json=False, to_stderr=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert "evidence by noise constant -12.5 ± 0.25, varying -21,430.3 ± 1.2, student -14 ± 0.5" in shown
    assert "log_evidences" not in summary_of(small_fits.plain().model, "y", None, 1.0)


def test_the_summary_as_json_and_nothing_else_on_stdout(rows, fits, capsys):
    rows.to_csv("rows.csv", index=False)
    assert cli.main(["fit", "rows.csv", "--target", "y", "--out", "m", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["target"] == "y"
    assert summary["n_hyperplanes"]["mean"] > 0
    assert summary["diagnostics"]["n_particles"] == 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rows.csv", "--target", "yy"], "did you mean 'y'"),
        (["rows.csv", "--target", "nothing"], "which has 'size', 'age', 'kind', 'y'"),
        (["rows.csv", "--target", "y", "--drop", "Age"], "did you mean 'age'"),
        (["rows.csv", "--target", "y", "--row-weights", "w"], "no column 'w'"),
        (["rows.parquet", "--target", "yy", "--decomposition", "domain"], "did you mean 'y'"),
        (["semicolons.csv", "--target", "y"], "--separator ';'"),
        (["rows.csv", "--target", "y", "--separator", "::"], "one character"),
        (["rows.csv", "--target", "y", "--out", "rows.csv", "--force"], "would replace what is read"),
        (["rows.csv", "--target", "y", "--out", "there"], "exists already"),
        (["rows.csv", "--target", "y", "--out", "no/m"], "folder of --out does not exist"),
        (["rows.csv", "--target", "y", "--out", "."], "must be a file"),
        (["rows.csv", "--target", "y", "--out", "/dev/null", "--force"], "/dev/null is not a regular file"),
        (["rows.csv", "--target", "y", "--out", "/proc/model"], "--out cannot be written"),
        (["rows.csv", "--target", "y", "--out", 300 * "m"], "--out cannot be written: [Errno 36] File name too long"),
        (["rows.csv", "--target", "y", "--drop", "y"], "--target and --drop are both 'y'"),
        (["rows.csv", "--target", "y", "--row-weights", "y"], "--target and --row-weights are both 'y'"),
        (["rows.csv", "--target", "y", "--drop", "age", "--row-weights", "age"], "--drop and --row-weights are both"),
        (["rows.csv", "--target", "y", "--device", "abacus"], "there is no device 'abacus' here"),
        (["rows.csv", "--target", "y", "--out", "-", "--json"], "no place for --json"),
        (["rows.dat", "--target", "y"], "say --format"),
        (["rows.csv", "--target", "y", "--n-particles", "1"], "n_particles must be at least 2"),
        (["rows.csv", "--target", "y", "--n-hyperplanes", "many"], "n_hyperplanes must be"),
        (["rows.csv", "--target", "y", "--budget", "-3"], "budget must be a positive number"),
        (["rows.csv", "--target", "y", "--blend", "0.7"], "blend must be between"),
        (["rows.csv", "--target", "y", "--jobs", "0"], "n_jobs must be"),
        (["rows.csv", "--target", "y", "--memory-budget", "0"], "memory_budget must be"),
        (["rows.csv", "--target", "y", "--decomposition", "magic"], "magic"),
        (["rows.csv", "--target", "y", "--seed", "-1"], "greater than or equal to 0"),
        (["rows.csv"], "--target"),
        (["--target", "y"], "data"),
    ],
)
def test_wrong_command_lines_exit_with_2_and_say_why(arguments, message, rows, fits, capsys):
    rows.to_csv("rows.csv", index=False)
    rows.to_csv("rows.dat", index=False)
    rows.to_csv("semicolons.csv", index=False, sep=";")
    rows.to_parquet("rows.parquet")
    open("there", "w").close()
    out = [] if "--out" in arguments else ["--out", "m"]
    assert cli.main(["fit", *arguments, *out]) == 2
    shown = " ".join(capsys.readouterr().err.replace("│", "").split())
    assert message in shown
    assert not fits
    assert not os.path.exists("m")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no columns"),
        ("x,y\n", "rows.csv has 0 rows, and a fit needs at least 2"),
        ("x,y\n1,2\n", "rows.csv has 1 rows"),
        ("y\n1\n2\n", "nothing to learn from"),
        ("x,y\n1,a\n2,3\n", "column 'y' of rows.csv must hold finite numbers, got 'a' in row 1"),
        ("x,y\n1,2\n2,\n3,4\n", "column 'y' of rows.csv has no value in row 2"),
        ("x,y\n1,2\ninf,3\n", "column 'x' of rows.csv must hold finite numbers, got 'inf' in row 2"),
        ("x,y\n1,2,3,4\n1,2\n", "cannot be read: a line has more cells than the header has names"),
        ("x,y,x\n1,2,3\n4,5,6\n", "cannot be read: the column 'x' is there 2 times: rename all but one"),
        ('x,y\n"1,2\n3,4\n', "cannot be read"),
        ("x,y\n1,\xff\n", "not text in UTF-8"),
        ("\n".join(["x,y", *(f"text {k},{k}" for k in range(120))]), "more than 100"),
    ],
)
def test_bad_tables_exit_with_1_and_say_why(text, message, capsys):
    with open("rows.csv", "w", encoding="latin-1") as file:
        file.write(text)
    assert cli.main(["fit", "rows.csv", "--target", "y", "--out", "m"]) == 1
    shown = " ".join(capsys.readouterr().err.split())
    assert shown.startswith("error: ")
    assert message.lower() in shown.lower()
    assert not os.path.exists("m")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--target", "y", "--classes"],
            "row 2 of column 'y' of rows.csv: 2.5 is no class but a number with a fraction",
        ),
        (["--target", "x", "--row-weights", "w"], "row 2 of column 'w' of rows.csv: -2 is negative"),
    ],
)
def test_columns_that_do_not_fit_their_use_exit_with_1(options, message, capsys):
    with open("rows.csv", "w") as file:
        file.write("x,y,w\n1,1,1\n2,2.5,-2\n")
    assert cli.main(["fit", "rows.csv", "--out", "m", *options]) == 1
    assert message in " ".join(capsys.readouterr().err.split())


def test_columns_whose_names_only_look_repeated(rows, fits):
    rows.rename(columns={"size": "age.1"}).to_csv("rows.csv", index=False)
    assert cli.main(["fit", "rows.csv", "--target", "y", "--out", "m"]) == 0
    assert list(fits[0].X.columns) == ["age.1", "age", "kind"]


def test_files_that_are_missing_or_not_what_they_seem(capsys):
    with open("rows.parquet", "wb") as file:
        file.write(b"PAR1, not")
    for name in ("rows.parquet", "none.csv", "none.parquet"):
        for more in ([], ["--decomposition", "domain"]):
            assert cli.main(["fit", name, "--target", "y", "--out", "m", *more]) == 1
            assert name in capsys.readouterr().err


def test_an_interrupted_fit_leaves_no_file(rows, monkeypatch):
    def interrupted(*arguments, **settings):
        raise KeyboardInterrupt

    rows.to_csv("rows.csv", index=False)
    monkeypatch.setattr(HyperplaneProcessRegressor, "fit", interrupted)
    assert cli.main(["fit", "rows.csv", "--target", "y", "--out", "m"]) == 130
    assert os.listdir() == ["rows.csv"]


def test_tables_without_pandas_name_what_to_install(rows, monkeypatch, capsys):
    rows.to_csv("rows.csv", index=False)
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    assert cli.main(["fit", "rows.csv", "--target", "y", "--out", "m"]) == 1
    assert 'pip install "hyperplanes[parquet]"' in capsys.readouterr().err


def test_a_fit_goes_on_from_its_checkpoint_which_is_then_removed(rows, capsys, monkeypatch):
    rows.to_csv("rows.csv", index=False)
    arguments = ["fit", "rows.csv", "--target", "y", *TINY]
    assert cli.main([*arguments, "--out", "m"]) == 0

    def full(self, file):
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(HyperplaneProcessRegressor, "save", full)
        assert cli.main([*arguments, "--out", "n", "--checkpoint", "unfinished"]) == 1
    assert sorted(os.listdir("unfinished")) == ["checkpoint.safetensors", "part-0-constant.safetensors"]
    capsys.readouterr()
    assert cli.main([*arguments, "--n-particles", "13", "--out", "n", "--checkpoint", "unfinished"]) == 1
    assert "n_particles 12 then, 13 now" in capsys.readouterr().err
    assert cli.main([*arguments, "--out", "n", "--checkpoint", "unfinished"]) == 0
    assert "going on from the checkpoint in unfinished" in capsys.readouterr().err
    assert not os.path.exists("unfinished")
    assert contents_of_file("n") == contents_of_file("m")


def test_a_data_set_beyond_memory_has_a_checkpoint_too(rows, monkeypatch):
    pd.concat([rows, rows + rows]).drop(columns="kind").to_parquet("rows.parquet")
    asked = []
    monkeypatch.setattr(command, "remove_checkpoints", asked.append)
    arguments = ["--decomposition", "domain", "--n-parts", "2", "--jobs", "1", "--checkpoint", "unfinished"]
    assert cli.main(["fit", "rows.parquet", "--target", "y", "--out", "m", *TINY, *arguments]) == 0
    assert len(os.listdir("unfinished")) == 3
    assert [str(path) for path in asked] == ["unfinished"]


def test_a_checkpoint_cannot_be_where_the_model_goes(rows, fits, capsys):
    rows.to_csv("rows.csv", index=False)
    assert cli.main(["fit", "rows.csv", "--target", "y", "--out", "m", "--checkpoint", "./m"]) == 2
    assert "a checkpoint is a folder, a model a file" in " ".join(capsys.readouterr().err.split()).replace("│ ", "")
    assert not fits


def test_a_checkpoint_that_cannot_be_written_is_a_warning(rows, capsys):
    rows.to_csv("rows.csv", index=False)
    arguments = ["fit", "rows.csv", "--target", "y", "--out", "m", *TINY, "--checkpoint", "rows.csv/unfinished"]
    assert cli.main(arguments) == 0
    assert "warning: The checkpoint" in capsys.readouterr().err
    assert hyperplanes.load("m").n_particles == 12

import json
import warnings
from functools import partial

import pytest
from typer.testing import CliRunner

from hyperplanes import cli
from hyperplanes.estimators import HyperplaneProcessRegressor
from hyperplanes.experiments import run_demo

pytest.importorskip("matplotlib")


@pytest.fixture
def quick(monkeypatch):
    """A demonstration with few particles and one rival."""
    model = HyperplaneProcessRegressor(n_hyperplanes=2, n_particles=30, n_steps=3, sampler="paper", random_state=0)
    monkeypatch.setattr("hyperplanes.cli.demo.run_demo", partial(run_demo, model=model, rivals=["linear"]))


def test_demo_prints_the_table_and_writes_the_picture(quick, tmp_path, capsys):
    out = tmp_path / "picture.png"
    assert cli.main(["demo", "--rows", "100", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert "hyperplanes" in printed.out
    assert "linear" in printed.out
    assert str(out) in printed.err
    assert out.read_bytes().startswith(b"\x89PNG")


def test_demo_prints_json_and_nothing_else_on_stdout(quick, tmp_path):
    arguments = ["demo", "--rows", "100", "--seed", "3", "--json", "--out", str(tmp_path / "picture.svg")]
    outcome = CliRunner().invoke(cli.app, arguments)
    assert outcome.exit_code == 0
    read = json.loads(outcome.stdout)
    assert (read["seed"], read["n_train"], read["n_test"]) == (3, 75, 25)


def test_demo_with_its_default_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo", "--rows", "200"]) == 0
    assert (tmp_path / "demo.png").exists()
    assert "rbf svm" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("out", "message"),
    [("none/demo.png", "the folder of the picture does not exist"), ("demo.foo", "the picture's name must end in")],
)
def test_picture_that_cannot_be_written_fails_before_the_fit(out, message, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("hyperplanes.cli.demo.run_demo", None)
    assert cli.main(["demo", "--out", str(tmp_path / out)]) == 2
    assert message in " ".join(capsys.readouterr().err.replace("│", "").split())


@pytest.mark.parametrize(
    "arguments", [["demo", "--rows", "3"], ["demo", "--seed", "-1"], ["demo", "--seed", "x"], ["nonsense"], ["--none"]]
)
def test_wrong_command_lines_exit_with_2(arguments):
    assert cli.main(arguments) == 2


def test_version_and_help(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("hyperplanes ")
    assert cli.main(["demo", "--help"]) == 0
    assert "--seed" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["fit", "predict", "report", "demo"])
def test_help_teaches_with_examples(command, capsys):
    assert cli.main([command, "-h"]) == 0
    shown = capsys.readouterr().out
    assert command == "demo" or f"hyperplanes {command} houses" in shown
    assert cli.main(["--help"]) == 0
    assert command in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("pre", "predict"), ("fit d.csv --decom", "--decomposition"), ("fit d.csv --decomposition dom", "domain")],
)
def test_shells_complete_commands_options_and_choices(typed, offered):
    words = f"hyperplanes {typed}"
    environment = {"_HYPERPLANES_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    outcome = CliRunner().invoke(cli.app, [], prog_name="hyperplanes", env=environment)
    assert offered in outcome.stdout.split()


def test_the_script_for_completion_can_be_shown():
    environment = {"_HYPERPLANES_COMPLETE": "source_bash"}
    outcome = CliRunner().invoke(cli.app, [], prog_name="hyperplanes", env=environment)
    assert "complete -o default -F _hyperplanes_completion hyperplanes" in outcome.stdout


def test_interruption_exits_with_130(monkeypatch, tmp_path):
    def interrupted(**settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("hyperplanes.cli.demo.run_demo", interrupted)
    assert cli.main(["demo", "--out", str(tmp_path / "demo.png")]) == 130


def test_faults_of_ours_keep_their_traceback(monkeypatch, tmp_path):
    def faulty(**settings):
        raise ZeroDivisionError

    monkeypatch.setattr("hyperplanes.cli.demo.run_demo", faulty)
    with pytest.raises(ZeroDivisionError):
        cli.main(["demo", "--out", str(tmp_path / "demo.png")])


def test_warnings_are_one_line_on_stderr(monkeypatch, tmp_path, capsys):
    def warning(**settings):
        warnings.warn("raise n_particles", UserWarning, stacklevel=2)
        raise ValueError("stop here")

    monkeypatch.setattr("hyperplanes.cli.demo.run_demo", warning)
    assert cli.main(["demo", "--out", str(tmp_path / "demo.png")]) == 1
    assert capsys.readouterr().err == "warning: raise n_particles\nerror: stop here\n"

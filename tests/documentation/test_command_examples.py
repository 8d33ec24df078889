"""Every command in README and documentation runs, or is at least one that the program, or make, understands."""

import re
import shlex
import subprocess
import sys
import tomllib

import pytest
import typer
from pages import COMMAND, PAGES, ROOT, commands_of, spans_of
from typer.testing import CliRunner

from hyperplanes.cli.program import app

pytestmark = pytest.mark.usefixtures("little_effort")
QUICK = ("fit", "predict", "report")
"""Commands that run on a small table in seconds; others have tests of their own."""
GROUP = typer.main.get_command(app)
SPANS = sorted({(page, span) for page in PAGES for span in spans_of(page) if COMMAND.search(span)})


@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)])
@pytest.mark.filterwarnings("ignore::hyperplanes.HyperplanesWarning")  # little effort deserves them
def test_the_commands_of_a_page_run_one_after_the_other(page, files):
    folder = files(page)
    for command in commands_of(page):
        stages = _stages(command)
        if all(stage[0] != "hyperplanes" or stage[1] in QUICK for stage in stages):
            _run(stages, folder)
        else:
            _parse(stages)


@pytest.mark.parametrize(("page", "span"), SPANS, ids=[f"{page}: {span}" for page, span in SPANS])
def test_commands_in_sentences_and_tables_are_understood(page, span):
    _parse(_stages(span))


def test_a_command_that_is_wrong_would_be_noticed():
    with pytest.raises(Exception, match="No such option: --no-such-option"):
        _parse(_stages("cat new.csv | hyperplanes predict m.safetensors - --no-such-option"))


def test_targets_of_make_exist():
    makefile = (ROOT / "Makefile").read_text()
    spoken = {
        found for page in PAGES.values() for found in re.findall(r"(?:^ +|`)make ([a-z-]+)", page.read_text(), re.M)
    }
    assert {"docs", "test", "demo"} <= spoken
    assert {target for target in spoken if not re.search(rf"^{target}:", makefile, re.M)} == set()


def test_extras_that_are_to_be_installed_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    spoken = {
        extra
        for page in PAGES.values()
        for found in re.findall(r"pip install .*?\[([a-z,]+)\]", page.read_text())
        for extra in found.split(",")
    }
    assert "plot" in spoken
    assert spoken <= set(extras)


def test_benchmarks_and_their_options_exist():
    calls = [span for page in PAGES for span in spans_of(page) if re.match(r"python (benchmarks|docs)/", span)]
    assert calls
    for call in calls:
        _, script, *options = shlex.split(call)
        source = (ROOT / script).read_text()
        assert {option for option in options if option.startswith("--") and f'"{option}"' not in source} == set(), call


def test_the_reference_of_commands_is_what_the_program_says_of_itself():
    page = "docs/reference/commands.md"
    arguments = ["--name", "hyperplanes", "--title", "Commands and options"]
    shown = subprocess.run(
        [sys.executable, "-m", "typer", "hyperplanes.cli.program", "utils", "docs", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    assert PAGES[page].read_text().strip() == shown.stdout.strip(), "`make docs` writes it anew"


def _stages(command: str) -> list[list[str]]:
    """Commands between pipes."""
    found: list[list[str]] = [[]]
    for word in shlex.split(command.replace(r"\|", "|")):
        if word == "|":
            found.append([])
        else:
            found[-1].append(word)
    return found


def _run(stages, folder) -> None:
    data = b""
    for program, *arguments in stages:
        if program == "hyperplanes":
            if "--out" in arguments:
                (folder / arguments[arguments.index("--out") + 1]).unlink(missing_ok=True)
            outcome = CliRunner().invoke(app, arguments, input=data, catch_exceptions=False)
            assert outcome.exit_code == 0, outcome.output
            data = outcome.stdout_bytes
        else:
            data = subprocess.run([program, *arguments], input=data, capture_output=True, check=True).stdout


def _parse(stages) -> None:
    """Raise an error where the program would; a command alone is but named."""
    for program, *arguments in stages:
        if program != "hyperplanes":
            continue
        root = typer.Context(GROUP, info_name=program)
        if arguments[0].startswith("-"):
            assert {arguments[0]} <= {option for parameter in GROUP.get_params(root) for option in parameter.opts}
            continue
        name, command, rest = GROUP.resolve_command(root, arguments)
        if rest:
            command.make_context(name, rest, parent=root)

"""Every Python example of README and documentation runs, with little effort; notebooks run in full in `make docs`."""

import ast

import pytest
from pages import NOTEBOOK, PAGES, examples_of, python_of

pytestmark = pytest.mark.usefixtures("little_effort")
LONG = ("docs/scale.md", "docs/how-to/cluster.md")
"""Pages that start worker processes."""
WITH_PYTHON = [page for page in PAGES if python_of(page)]


def _is_long(page: str) -> bool:
    return page in LONG or any(example.language == NOTEBOOK for example in python_of(page))


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.long) if _is_long(page) else page for page in WITH_PYTHON]
)
@pytest.mark.filterwarnings("ignore::hyperplanes.HyperplanesWarning")  # little effort deserves them
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning:arviz_stats")  # of draws that are all alike
def test_the_examples_of_a_page_run_one_after_the_other(page, names, files):
    files(page)
    known = {"__name__": "__main__", **names(page)}
    for example in python_of(page):
        exec(compile(example.located, page, "exec"), known)


def test_there_are_examples_on_many_pages():
    assert {"README.md", "docs/exports.md", "docs/tutorial.md", "docs/notebooks/abalone.md"} < set(WITH_PYTHON)


@pytest.mark.parametrize("page", PAGES)
def test_no_python_hides_in_a_block_without_a_language(page):
    for example in examples_of(page):
        if example.language == "":
            assert not _is_python(example.text), f"{page}:{example.line + 1}: mark it as python, so that it is run"


def _is_python(text: str) -> bool:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Assign | ast.Call | ast.Import | ast.ImportFrom) for node in ast.walk(tree))

"""Examples in the documentation: Python, commands, and what is said in passing."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = {str(path.relative_to(ROOT)): path for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])}
NOTEBOOK = "{code-cell} ipython3"
PYTHON = ("python", NOTEBOOK)
COMMAND = re.compile(r"(^|\| *)hyperplanes +[a-z-]")


class Example(NamedTuple):
    """A block of code."""

    language: str
    """What the page says it is; empty where it says nothing."""
    text: str
    """The code."""
    line: int
    """Where it begins in its page, from 0."""

    @property
    def located(self) -> str:
        """The code with as many empty lines before it as its page has, so that errors name the right line."""
        return "\n" * self.line + self.text


def examples_of(page: str) -> list[Example]:
    """All blocks of a page."""
    return [
        Example(token.info.strip(), _without_settings(token.content), token.map[0] + (token.type == "fence"))
        for token in _tokens(page)
        if token.type in ("fence", "code_block") and token.map is not None
    ]


def python_of(page: str) -> list[Example]:
    """Blocks of Python, in notebooks too."""
    return [example for example in examples_of(page) if example.language in PYTHON]


def commands_of(page: str) -> list[str]:
    """Commands of this program in blocks that are no Python: lines, with what is piped in or out, without comments."""
    return [
        line.strip().removeprefix("$ ").split("  #")[0].strip()
        for example in examples_of(page)
        if example.language not in PYTHON
        for line in example.text.splitlines()
        if COMMAND.search(line.strip().removeprefix("$ ")) and "[OPTIONS]" not in line
    ]


def spans_of(page: str) -> list[str]:
    """Code within sentences and tables."""
    return [span.content for span in _inline(_tokens(page)) if span.type == "code_inline"]


def _without_settings(code: str) -> str:
    """Empty lines in place of those with which cells of notebooks may begin, between lines of dashes."""
    return re.sub(r"\A---\n.*?\n---\n", lambda found: "\n" * found[0].count("\n"), code, flags=re.DOTALL)


def _tokens(page: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(PAGES[page].read_text(encoding="utf-8"))


def _inline(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield from token.children or ()

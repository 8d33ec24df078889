"""Pieces of the page. Whatever comes from the user is escaped here."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

CONTENT_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""The browser fetches nothing and runs nothing, whatever names and labels hold."""


def page(title: str, lead: str, sections: Sequence[tuple[str, str]], footer: str) -> str:
    """The whole page; sections are pairs of a heading and HTML."""
    style = files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    links = "".join(f'<li><a href="#part{k}">{escape(name)}</a></li>' for k, (name, _) in enumerate(sections))
    body = "\n".join(
        f'<section aria-labelledby="part{k}"><h2 id="part{k}">{escape(name)}</h2>\n{content}</section>'
        for k, (name, content) in enumerate(sections)
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>
<nav aria-label="Contents"><ul>{links}</ul></nav></header>
<main id="content">
{body}
</main>
<footer><p>{escape(footer)}</p></footer>
</body>
</html>
"""


def paragraph(text: str) -> str:
    """A paragraph."""
    return f"<p>{escape(text)}</p>\n"


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; the first cell of each row is its heading."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(str(first))}</th>'
        + "".join(f"<td>{escape(str(cell))}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>\n"
    )


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """A few numbers that catch the eye."""
    cells = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs)
    return f'<dl class="facts">{cells}</dl>\n'


def folded(title: str, content: str) -> str:
    """Something to open."""
    return f"<details><summary>{escape(title)}</summary>\n{content}</details>\n"


def bullets(texts: Sequence[str]) -> str:
    """A list, or nothing."""
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>" if texts else ""

"""The site that `make docs` has built: complete, without links that lead nowhere, and without requests to elsewhere."""

import re
import shutil
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest

from browser import FRAME, browse, needs_chromium, requests

pytestmark = pytest.mark.site
SITE = Path(__file__).parents[2] / "site" / "html"
NOTEBOOKS = ("tutorial.html", "notebooks/abalone.html", "notebooks/classes.html")
SHOWN = ("index.html", "notebooks/abalone.html")
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}
"""What a browser loads by itself."""
OF_PAGES = {"canonical", "next", "prev", "search", "index", "author"}
"""Links of a head that are for readers."""


class Page(NamedTuple):
    """What a page has and asks for."""

    anchors: frozenset[str]
    """Places in it."""
    links: frozenset[str]
    """Where it leads."""
    loaded: frozenset[str]
    """What it needs."""
    pictures_without_words: tuple[str, ...]
    """Images that say nothing to who cannot see them."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.speechless: list[str] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])
        if tag in LOADED and given.get(LOADED[tag]) and given.get("rel") not in OF_PAGES:
            self.loaded.add(given[LOADED[tag]])
        if tag == "img" and given.get("alt", "").rpartition("/")[2] in ("", given["src"].rpartition("/")[2]):
            self.speechless.append(given["src"])


@cache
def read(path: Path) -> Page:
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    kept = (frozenset(reader.anchors), frozenset(reader.links), frozenset(reader.loaded), tuple(reader.speechless))
    return Page(*kept)


def pages() -> list[Path]:
    found = sorted(SITE.rglob("*.html"))
    assert len(found) > 30, "build it first: make docs"
    return found


def test_every_link_within_the_site_leads_somewhere():
    broken = []
    for page in pages():
        for link in read(page).links | read(page).loaded:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = page.parent / unquote(address.path) if address.path else page
            anchor = unquote(address.fragment)
            if not target.exists() or (anchor and target.suffix == ".html" and anchor not in read(target).anchors):
                broken.append(f"{page.relative_to(SITE)}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere():
    assert {link for page in pages() for link in read(page).loaded if urlsplit(link).netloc} == set()
    assert {link for page in pages() for link in read(page).links if urlsplit(link).scheme in ("http", "ftp")} == set()


def test_pictures_of_the_pages_have_words():
    assert {f"{page}: {name}" for page in pages() for name in read(page).pictures_without_words} == set()


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_notebooks_have_their_outputs(page):
    text = (SITE / page).read_text()
    assert text.count('class="cell_output') > 5
    assert len(re.findall(r"<img[^>]+_images/", text)) >= 2
    assert "Traceback" not in text


def test_notebooks_can_be_downloaded_with_their_outputs():
    for page in NOTEBOOKS[1:]:
        (link,) = (link for link in read(SITE / page).links if link.endswith(".ipynb"))
        assert '"image/png"' in (SITE / page).parent.joinpath(link).read_text()


@needs_chromium
@pytest.mark.parametrize("page", SHOWN)
def test_pages_open_without_complaints_or_requests(page, tmp_path):
    log = tmp_path / "net.json"
    seen = browse(tmp_path, SITE / page, "--dump-dom", f"--log-net-log={log}")
    assert "CONSOLE" not in seen.stderr
    assert '<article role="main"' in seen.stdout
    assert requests(log) == set()


@needs_chromium
@pytest.mark.parametrize("width", [320, 390])
@pytest.mark.parametrize("page", [*SHOWN, "reference/estimators.html", "no-tuning.html", "reproduction.html"])
def test_nothing_sticks_out_on_a_phone(page, width, tmp_path):
    site = shutil.copytree(SITE, tmp_path / "site")
    probe = """<script>addEventListener("load", () =>
        parent.postMessage("wide:" + document.documentElement.scrollWidth, "*"))</script>"""
    probed = site / page
    probed.write_text(probed.read_text().replace("</head>", probe + "</head>"))
    frame = site / "frame.html"
    frame.write_text(FRAME.format(source=page, width=width))
    dom = browse(tmp_path, frame, "--dump-dom", "--virtual-time-budget=5000", "--window-size=1400,900").stdout
    found = re.search(r"<title>wide:(\d+)</title>", dom)
    assert found is not None
    assert int(found[1]) <= width

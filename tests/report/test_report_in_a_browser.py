"""The report in a real browser, Debian's chromium."""

import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

import small_fits
from browser import FRAME, browse, needs_chromium, requests
from golden_models import response, table
from hyperplanes import HyperplaneProcessRegressor

pytestmark = needs_chromium
PROBE = """<script>addEventListener("load", () => {
const wide = document.documentElement.scrollWidth, clipped = [];
for (const text of document.querySelectorAll("svg text")) {
  const inner = text.getBoundingClientRect(), outer = text.closest("svg").getBoundingClientRect();
  if (inner.left < outer.left - 1 || inner.right > outer.right + 1) clipped.push(text.textContent);
}
const found = {wide: wide, clipped: clipped, opened: performance.now(), images: document.querySelectorAll("svg").length,
  scripts: document.scripts.length, shown: document.title};
const message = "probe:" + JSON.stringify(found);
if (parent === window) document.title = message; else parent.postMessage(message, "*");
});</script>"""


def probe(tmp_path, page, width=None) -> dict:
    """What a script finds in a copy of the page that allows scripts; the page itself allows none."""
    copy = tmp_path / "probed.html"
    text = page.read_text()
    allowed = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    assert allowed != text
    copy.write_text(allowed.replace("</head>", PROBE + "</head>"))
    shown, options = copy, []
    if width is not None:
        shown, options = tmp_path / "frame.html", ["--virtual-time-budget=5000", "--window-size=1400,900"]
        shown.write_text(FRAME.format(source=copy.name, width=width))
    dom = browse(tmp_path, shown, "--dump-dom", *options).stdout
    found = re.search(r"<title>probe:(.*?)</title>", dom)
    assert found is not None
    return json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


@pytest.fixture(scope="module", params=["plain", "varying", "two_classes", "three_classes"])
def page(request, tmp_path_factory):
    fit = getattr(small_fits, request.param)()
    path = tmp_path_factory.mktemp("report") / f"{request.param}.html"
    fit.model.report(path, fit.X, fit.y)
    return path


def test_the_page_opens_without_complaints_or_requests(page, tmp_path):
    log = tmp_path / "net.json"
    seen = browse(tmp_path, page, "--dump-dom", f"--log-net-log={log}")
    assert "CONSOLE" not in seen.stderr
    assert "<h1>Report on a fit of" in seen.stdout
    assert seen.stdout.count("<svg ") == page.read_text().count("<svg ")
    assert "example.org" not in log.read_text()
    assert requests(log) == set()


def test_a_page_that_asks_for_more_would_be_noticed(page, tmp_path):
    """The test above can fail: images and scripts from elsewhere show up."""
    asking = tmp_path / "asking.html"
    more = '<img src="http://example.org/x.png"><script>console.error("ran")</script>'
    asking.write_text(page.read_text().replace("</main>", f"{more}</main>"))
    assert "CONSOLE" in browse(tmp_path, asking, "--dump-dom").stderr


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_nothing_sticks_out_on_a_phone_or_a_desk(page, width, tmp_path):
    found = probe(tmp_path, page, width)
    assert found["wide"] <= width
    assert found["clipped"] == []
    assert found["images"] >= 6
    assert found["scripts"] == 1  # the probe


def test_light_and_dark_are_what_the_reader_prefers(page, tmp_path):
    brightness = {}
    for mode, scheme in (("light", 1), ("dark", 0)):
        picture = tmp_path / f"{mode}.png"
        settings = f"--blink-settings=preferredColorScheme={scheme}"
        browse(tmp_path, page, "--window-size=1000,1500", settings, f"--screenshot={picture}")
        brightness[mode] = float(np.median(plt.imread(picture)[..., :3]))
    assert brightness["light"] > 0.95
    assert brightness["dark"] < 0.15


@pytest.mark.parametrize("whose", ["a small fit", pytest.param("their own fit", marks=pytest.mark.long)])
def test_a_report_on_4000_rows_is_small_and_opens_at_once(whose, tmp_path):
    """Of a small model that was stored, and of a fit with default settings to these rows."""
    rows, page = table(4000, seed=3), tmp_path / "large.html"
    y = response(rows)
    own = whose == "their own fit"
    model = HyperplaneProcessRegressor(random_state=0).fit(rows, y) if own else small_fits.plain().model
    model.report(page, rows, y)
    assert page.stat().st_size < 5e6
    found = min((probe(tmp_path, page) for _ in range(3)), key=lambda each: each["opened"])
    assert found["opened"] < 2000

"""Pages in a real browser, Debian's chromium."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

# A browser cannot be had everywhere; `.ci/run` installs one.
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no browser here: install chromium to test pages in one")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # the browser's own requests stay here, too
)
FRAME = """<!doctype html><title>frame</title><style>body{{margin:0}}iframe{{border:0}}</style>
<script>addEventListener("message", event => {{ document.title = event.data; }});</script>
<iframe src="{source}" width="{width}" height="800"></iframe>"""
"""A page that shows another one at any width: windows of a browser have a least width, frames have none. Its title is
what the other one has to say."""
OWN_ADDRESSES = ("google", "gvt1")
"""Of the browser itself."""


def browse(tmp_path, page, *options) -> subprocess.CompletedProcess[str]:
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    command = [CHROMIUM, *QUIET, profile, *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, errors="replace")


def requests(log: Path) -> set[str]:
    """Addresses on the web that a page asked for, by the log that `browse` wrote with ``--log-net-log``."""
    found = set(re.findall(r'"(?:url|initiator)":"((?:https?|ftp|wss?)://[^"]*)"', log.read_text()))
    return {address for address in found if not any(own in address for own in OWN_ADDRESSES)}

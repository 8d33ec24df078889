import importlib.util
import re
import sys

import pytest
from pages import PAGES, ROOT


@pytest.fixture
def script():
    found = importlib.util.spec_from_file_location("pictures_of_the_method", ROOT / "docs" / "pictures.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_script_draws_what_the_page_shows(script):
    shown = re.findall(r"\(images/([a-z-]+)\.png\)", PAGES["docs/how-it-works.md"].read_text())
    assert sorted(shown) == sorted(script.PICTURES)


@pytest.mark.long
@pytest.mark.usefixtures("little_effort")
@pytest.mark.filterwarnings("ignore::hyperplanes.HyperplanesWarning")  # little effort deserves them
def test_all_pictures_can_be_drawn(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "IMAGES", tmp_path)
    monkeypatch.setattr(sys, "argv", ["pictures.py"])
    script.main()
    assert sorted(path.stem for path in tmp_path.glob("*.png")) == sorted(script.PICTURES)

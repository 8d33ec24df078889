import re
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import small_fits
from golden_models import response, table
from hyperplanes.estimators.diagnostics import Diagnostics
from hyperplanes.plotting.checks import Labels, Responses
from hyperplanes.report import summary, verdict, write_report
from hyperplanes.report.scores import scores_of
from hyperplanes.report.writing import MOST_ROWS

STYLE = Path(write_report.__code__.co_filename).with_name("style.css").read_text()
FITS = {
    "plain": small_fits.plain,
    "varying": small_fits.varying,
    "unknown number": small_fits.unknown_number,
    "two classes": small_fits.two_classes,
    "three classes": small_fits.three_classes,
}


class Elements(HTMLParser):
    """Elements of a page in their order, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data

    def named(self, *tags: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.found if tag in tags]


def report_of(fit: small_fits.Fit, *more, **settings) -> str:
    file = BytesIO()
    fit.model.report(file, fit.X, fit.y, *more, **settings)
    return file.getvalue().decode()


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {}


@pytest.fixture(params=FITS)
def page(request, pages) -> str:
    if request.param not in pages:
        pages[request.param] = report_of(FITS[request.param]())
    return pages[request.param]


def test_nothing_is_fetched_or_run(page):
    elements = Elements(page)
    assert not elements.named("script", "iframe", "object", "embed", "img", "base", "form", "foreignobject")
    policies = [each["content"] for each in elements.named("meta") if each.get("http-equiv")]
    assert policies == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]
    for _, attributes in elements.found:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:"))
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page


def test_pictures_have_words(page):
    pictures = Elements(page).named("svg")
    assert len(pictures) >= 6
    for picture in pictures:
        assert picture["role"] == "img"
        assert len(picture["aria-label"] or "") > 40
        assert re.search(r"\d", picture["aria-label"] or "") or "map" in (picture["aria-label"] or "").lower()


def test_headings_are_in_order_and_the_language_is_said(page):
    elements = Elements(page)
    levels = [int(tag[1]) for tag, _ in elements.found if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) <= 1
    assert [each.get("lang") for each in elements.named("html")] == ["en"]


def test_names_are_unique_and_links_lead_somewhere(page):
    elements = Elements(page)
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [value for _, each in elements.found for value in (each.get("href"), each.get("xlink:href")) if value]
    wanted = [link[1:] for link in links if link.startswith("#")] + re.findall(r"url\(#([^)]*)\)", page)
    assert set(wanted) <= set(ids)
    assert {f"part{k}" for k in range(6)} <= set(wanted)


def test_it_can_be_read_and_walked_without_a_mouse(page):
    elements = Elements(page)
    assert len(elements.named("details")) == len(elements.named("summary")) >= 4
    regions = [each for each in elements.named("div") if each.get("class") == "scroll"]
    assert all(each["tabindex"] == "0" and each["role"] == "region" and each["aria-label"] for each in regions)
    assert ":focus-visible" in STYLE


def test_pictures_take_their_colours_from_the_page(page):
    inks = re.findall(r"(?:fill|stroke): ?(#[0-9a-f]{6})", page)
    assert not set(inks) & {"#1c2430", "#1f5fa8", "#667080"}
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", page)) - {"tone", "tone-panel"}
    light, dark = themes()
    assert used <= set(light)
    assert set(light) == set(dark)


def test_a_report_is_the_same_every_time():
    fit = small_fits.plain()
    assert report_of(fit) == report_of(fit)


@pytest.mark.parametrize("name", ["varying", "two classes"])
def test_names_and_labels_are_shown_and_not_obeyed(name, pages):
    page = pages.setdefault(name, report_of(FITS[name]()))
    evil = small_fits.EVIL if name == "varying" else small_fits.EVIL_LABEL
    assert evil not in page
    assert evil in Elements(page).text
    assert "<script" not in page
    assert "<img" not in page


def test_a_title_is_escaped_and_a_series_names_the_response():
    page = report_of(small_fits.plain(), title="<b>&amp;")
    assert "<title>&lt;b&gt;&amp;amp;</title>" in page
    assert f"Report on a fit of {small_fits.EVIL}" in Elements(report_of(small_fits.varying())).text


def test_rows_that_were_held_out_are_the_judges():
    fit, rows = small_fits.plain(), table(40, seed=9)
    text = Elements(report_of(fit, rows, response(rows))).text
    assert "judged by 40 rows that were held out." in text
    assert "flatters" not in text
    assert "judged by 60 rows that were fitted." in Elements(report_of(fit)).text


def test_of_very_many_rows_some_are_chosen(monkeypatch):
    monkeypatch.setattr("hyperplanes.report.writing.MOST_ROWS", 50)
    text = Elements(report_of(small_fits.two_classes())).text
    assert "judged by 50 rows, chosen at random from 100, that were fitted" in text
    assert MOST_ROWS >= 4000


def test_the_number_that_predictions_show_is_in_the_page():
    fit = small_fits.plain()
    text = Elements(report_of(fit)).text
    error = float(np.sqrt(np.mean((fit.y - fit.model.predict(fit.X)) ** 2)))
    assert f"{error:.4g}" in text
    assert "size" in text
    assert "number: -2.325 to" in text or re.search(r"number: -?[\d.]+ to [\d.]+, median", text)
    assert re.search(r"category: [abc] \(\d+\), [abc] \(\d+\), [abc] \(\d+\)", text)
    assert f"log evidence{fit.model.log_evidence_:.6g}" in text.replace("\n", "")


def test_files_are_complete_or_as_before(tmp_path):
    fit, path = small_fits.plain(), tmp_path / "fit.html"
    path.write_text("before")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit.model.report(path, fit.X, fit.y[:-1])
    assert path.read_text() == "before"
    fit.model.report(path, fit.X, fit.y)
    assert path.read_text().startswith("<!doctype html>")
    assert [each.name for each in tmp_path.iterdir()] == ["fit.html"]


def test_without_matplotlib_nothing_is_computed_in_vain(monkeypatch):
    def absent():
        raise ImportError("plots need matplotlib")

    monkeypatch.setattr("hyperplanes.report.writing.pyplot", absent)
    monkeypatch.setattr("hyperplanes.report.writing._find", None)
    with pytest.raises(ImportError, match="plots need matplotlib"):
        report_of(small_fits.plain())


@pytest.mark.parametrize("given", [{"X_test": [[0.0, 0.0]]}, {"y_test": [0.0]}])
def test_test_rows_need_their_responses(given):
    fit = small_fits.plain()
    with pytest.raises(ValueError, match="X_test and y_test belong together"):
        fit.model.report(BytesIO(), fit.X, fit.y, **given)


def test_polars_and_lists_are_tables_too():
    polars = pytest.importorskip("polars")
    fit = small_fits.plain()
    from_pandas = report_of(fit)
    frame = polars.DataFrame({name: fit.X[name].to_list() for name in fit.X.columns})
    assert report_of(small_fits.Fit(fit.model, frame, fit.y.tolist())) == from_pandas


def diagnostics(**numbers) -> Diagnostics:
    return small_fits.plain().model.diagnostics_._replace(**{"warnings": (), "notes": ()} | numbers)


def responses(share: float, n_rows: int = 1000) -> Responses:
    """Predictions whose 95% intervals hold a share of the responses."""
    outside = np.arange(n_rows) >= share * n_rows
    transform = np.where(outside, 0.999, 0.5)
    observed = stats.norm.ppf(transform)
    return Responses(observed, np.zeros(n_rows), np.tile([-1.96, 1.96], (n_rows, 1)), 0.95, transform)


def test_a_verdict_without_reasons_is_good():
    found = verdict.judge(diagnostics(notes=("a note",)), responses(0.95), held_out=True)
    assert (found.level, found.reasons, found.notes) == ("good", (), ("a note",))


@pytest.mark.parametrize(
    ("share", "words"), [(0.85, "hold only 85.0% of rows that were held out"), (1.0, "wider than they need to be")]
)
def test_intervals_that_do_not_hold_what_they_promise_are_a_reason(share, words):
    found = verdict.judge(diagnostics(), responses(share), held_out=True)
    assert found.level == "mind"
    assert words in found.reasons[0]
    assert 'noise="auto"' in found.reasons[0]


def test_warnings_of_the_fit_are_reasons_and_a_stuck_one_is_not_to_be_trusted():
    found = verdict.judge(diagnostics(warnings=("raise n_steps",)), responses(0.95), held_out=False)
    assert (found.level, found.reasons) == ("mind", ("raise n_steps",))
    stuck = verdict.judge(diagnostics(late_acceptance=0.0, warnings=("x",)), responses(0.95), held_out=False)
    assert stuck.level == "bad"
    assert "Do not trust" in stuck.headline


def test_probabilities_that_are_far_off_are_a_reason():
    rng = np.random.default_rng(0)
    shares = rng.uniform(size=2000)
    hits = (rng.uniform(size=2000) < shares).astype(int)
    honest = Labels(("a", "b"), hits, np.column_stack([1 - shares, shares]))
    bold = honest._replace(probabilities=np.column_stack([1 - shares**4, shares**4]))
    assert verdict.judge(diagnostics(), honest, held_out=True).level == "good"
    found = verdict.judge(diagnostics(), bold, held_out=False)
    assert "of the rows that were fitted" in found.reasons[0]


def test_scores_of_labels_and_responses():
    labels = Labels(("a", "b"), np.array([0, 1, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.0, 1.0]]))
    values = {score.name: score.value for score in scores_of(labels, -0.5)}
    assert values["accuracy"] == "75.0%"
    assert values["Brier score"] == f"{(0.02 + 0.08 + 0.72 + 0.0) / 4:.3g}"
    assert values["log predictive density"] == "-0.5"
    values = {score.name: score.value for score in scores_of(responses(0.9), 0.0)}
    assert values["inside 95% intervals"] == "90.0%"
    constant = responses(1.0)
    assert "variance explained" not in {score.name for score in scores_of(constant, 0.0)}


def test_columns_in_brief():
    model, X, y = small_fits.plain()
    size, _, kind = summary.summarise_inputs(model, X)
    assert (size.kind, size.n_missing) == ("number", int(X["size"].isna().sum()))
    assert f"{X['size'].min():.4g} to {X['size'].max():.4g}" in size.values
    counts = X["kind"].value_counts()
    assert f"{counts.index[0]} ({counts.iloc[0]})" in kind.values
    empty = summary.summarise_inputs(model, X.assign(size=np.nan, age=1.0))
    assert (empty[0].values, empty[1].values) == ("nothing but missing values", "constant: 1")
    assert summary.summarise_response(y, "y", of_classes=False).kind == "response"
    many = summary.summarise_response(list("abcdefgg"), "y", of_classes=True)
    assert many.values == "g (2), a (1), b (1), c (1), d (1) and 2 more"


def themes() -> tuple[dict[str, str], dict[str, str]]:
    """Colours by name, in the light and in the dark."""
    light, dark = re.findall(r":root\{(.*?)\}", STYLE, flags=re.DOTALL)
    found = [dict(re.findall(r"--([a-z0-9-]+):(#[0-9a-f]{3,6})", text)) for text in (light, dark)]
    return found[0], found[1]


def luminance(color: str) -> float:
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    parts = np.array([int(digits[k : k + 2], 16) for k in (0, 2, 4)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(first: str, second: str) -> float:
    high, low = sorted([luminance(first), luminance(second)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_letters_and_lines_stand_out_in_the_light_and_in_the_dark(theme):
    colors = themes()[theme]
    for text, ground in [("ink", "paper"), ("muted", "paper"), ("link", "paper"), ("ink", "panel"), ("muted", "panel")]:
        assert contrast(colors[text], colors[ground]) >= 4.5
    for tone in ("good", "mind", "bad"):
        assert contrast(colors[tone], colors[f"{tone}-panel"]) >= 4.5
        assert contrast(colors["ink"], colors[f"{tone}-panel"]) >= 4.5
    for k in range(8):
        assert contrast(colors[f"series{k}"], colors["paper"]) >= 3

import re
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import r2_score

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


def test_kinds_of_noise_that_were_compared_have_their_evidences(pages, monkeypatch):
    monkeypatch.setattr("hyperplanes.report.figures.render", lambda draw, *, salt: f"<svg><title>{salt}</title></svg>")
    text = Elements(report_of(small_fits.compared())).text
    assert "log evidence with constant noise-12.5 ± 0.25log evidence with varying noise-21,430.3 ± 1.2" in text
    assert "log evidence with" not in Elements(report_of(small_fits.plain())).text


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
    fitted = table(80, seed=0)
    assert "judged by 80 rows that were fitted." in Elements(report_of(fit._replace(X=fitted, y=response(fitted)))).text


def test_rows_that_cannot_be_those_fitted_are_not_called_so():
    fit, rows = small_fits.plain(), table(40, seed=9)
    text = Elements(report_of(fit._replace(X=rows, y=response(rows)))).text
    assert "judged by 40 rows that were given. The model was fitted to another number of rows" in text
    assert "were fitted." not in text


def test_a_single_row_is_no_judge():
    fit, rows = small_fits.plain(), table(40, seed=9)
    text = Elements(report_of(fit, rows[:1], response(rows)[:1])).text
    assert "judged by 1 row that was held out." in text
    assert "Too few rows to judge." in text
    assert "No trouble" not in text


def test_missing_texts_are_counted():
    fit = small_fits.plain()
    rows = fit.X.assign(kind=fit.X["kind"].where(np.arange(len(fit.X)) >= 7))
    text = Elements(report_of(fit._replace(X=rows))).text
    assert f"missing values{7 + fit.X['size'].isna().sum()}" in text


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


def forecasts(n_rows: int, *, seed: int = 0, shift: float = 0, scale: float = 1, noise=None) -> Responses:
    """Gaussian predictions of responses that may differ from them."""
    rng = np.random.default_rng(seed)
    mean = 2 * rng.standard_normal(n_rows)
    observed = mean + shift + (rng.standard_normal(n_rows) if noise is None else noise(rng, n_rows))
    interval = mean[:, None] + scale * stats.norm.ppf([0.025, 0.975])
    return Responses(observed, mean, interval, 0.95, stats.norm.cdf((observed - mean) / scale))


def votes(n_rows: int, n_classes: int, *, seed: int = 0, boldness: float = 1) -> Labels:
    """Probabilities of classes that are right, or bolder than that."""
    rng = np.random.default_rng(seed)
    right = rng.dirichlet(np.full(n_classes, 0.4), n_rows)
    observed = np.minimum((right.cumsum(axis=1) < rng.uniform(size=(n_rows, 1))).sum(axis=1), n_classes - 1)
    shown = right**boldness
    return Labels(tuple("abcd"[:n_classes]), observed, shown / shown.sum(axis=1, keepdims=True))


def verdict_on(checked, **more):
    return verdict.judge(diagnostics(**more), checked, "held out")


def test_a_verdict_without_reasons_is_good():
    found = verdict_on(forecasts(1000), notes=("a note",))
    assert (found.level, found.reasons, found.notes) == ("good", (), ("a note",))


@pytest.mark.parametrize(
    "made",
    [forecasts, lambda n_rows, seed: votes(n_rows, 2, seed=seed), lambda n_rows, seed: votes(n_rows, 4, seed=seed)],
)
@pytest.mark.parametrize("n_rows", [30, 300])
def test_false_alarms_are_rare(made, n_rows):
    """At 1 in 200, seven or more of 400 have a probability of 0.004."""
    levels = [verdict_on(made(n_rows, seed=seed)).level for seed in range(400)]
    assert levels.count("good") > 400 - 7


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"scale": 0.7}, "they are too narrow"),
        ({"scale": 1.5}, "wider than they need to be"),
        (
            {"noise": lambda rng, n_rows: 1.5 * np.sqrt(0.2) * rng.standard_t(2.5, n_rows)},
            "another shape than the model",
        ),
        ({"shift": 0.4}, "higher than predicted"),
        ({"shift": -0.4}, "lower than predicted"),
    ],
)
def test_predictions_that_do_not_hold_what_they_promise_are_a_reason(wrong, words):
    found = verdict_on(forecasts(1000, **wrong))
    assert found.level == "mind"
    assert "Usable with care" in found.headline
    assert any(words in reason and "of rows that were held out" in reason for reason in found.reasons)
    assert "shift" in wrong or 'noise="auto"' in found.reasons[0]


def test_intervals_of_half_the_rows_are_judged_and_not_only_the_widest():
    """What pictures show is in the verdict: 95% intervals that hold 95%, and 50% intervals that hold far more."""
    checked = forecasts(
        2000, noise=lambda rng, n_rows: np.where(rng.uniform(size=n_rows) < 0.09, 3, 0.5) * rng.normal(size=n_rows)
    )
    assert checked.covered(0.95) == pytest.approx(0.95, abs=0.015)
    found = verdict_on(checked)
    assert found.level == "mind"
    assert f"50% intervals hold {checked.covered(0.5):.1%}" in found.reasons[0]


def test_distributions_of_another_shape_are_a_reason():
    """A gap in the transform that leaves the mean and the coverage of the intervals judged as they are."""
    places = (np.arange(2000) + 0.5) / 2000
    moved = np.where((places > 0.3) & (places < 0.35), 0.4, np.where((places > 0.65) & (places < 0.7), 0.6, places))
    observed = stats.norm.ppf(moved)
    found = verdict_on(Responses(observed, np.zeros(2000), np.tile([-1.96, 1.96], (2000, 1)), 0.95, moved))
    assert found.level == "mind"
    assert "4 bars of 20 of the histogram" in found.reasons[0]


@pytest.mark.parametrize("n_rows", [5, 40, 1000])
@pytest.mark.parametrize("wrong", [{"shift": 8.0}, {"shift": -8.0}, {"scale": 0.05}])
def test_predictions_that_are_hopeless_are_not_to_be_trusted(n_rows, wrong):
    found = verdict_on(forecasts(n_rows, **wrong))
    assert found.level == "bad"
    assert found.headline == "Do not trust this fit yet."


def test_predictions_that_are_worse_than_the_average_are_not_to_be_trusted():
    rng = np.random.default_rng(0)
    observed, mean = rng.standard_normal((2, 200))
    width = np.sqrt(2) * stats.norm.ppf([0.025, 0.975])
    transform = stats.norm.cdf((observed - mean) / np.sqrt(2))  # intervals are right, and so wide that they are no use
    found = verdict_on(Responses(observed, mean, mean[:, None] + width, 0.95, transform))
    assert found.level == "bad"
    assert len(found.reasons) == 1
    assert "worse than the average of the responses would be" in found.reasons[0]


def test_inputs_that_tell_nothing_are_a_note():
    rng = np.random.default_rng(0)
    observed, mean = rng.standard_normal(300), 0.25 * rng.standard_normal(300)
    checked = Responses(observed, mean, mean[:, None] + [-1.96, 1.96], 0.95, stats.norm.cdf(observed - mean))
    found = verdict_on(checked)
    assert found.level == "good"
    assert "no better than the average" in found.notes[0]


def test_few_rows_clear_nothing():
    found = verdict_on(forecasts(1))
    assert (found.level, found.headline) == ("mind", "Too few rows to judge.")
    assert found.reasons[0].startswith("1 row does not tell")
    assert verdict_on(forecasts(29)).reasons[0].startswith("29 rows do not tell")
    assert verdict_on(votes(29, 2)).level == "mind"
    assert verdict_on(forecasts(30)).level == "good"


def test_sure_but_slight_differences_are_notes():
    found = verdict_on(forecasts(100_000, scale=1.03))
    assert found.level == "good"
    assert "wider than they need to be" in found.notes[0]


def test_warnings_of_the_fit_are_reasons_and_a_stuck_one_is_not_to_be_trusted():
    found = verdict_on(forecasts(100), warnings=("raise n_steps",))
    assert (found.level, found.reasons) == ("mind", ("raise n_steps",))
    stuck = verdict_on(forecasts(100), late_acceptance=0.0, warnings=("x",))
    assert stuck.level == "bad"
    assert "Do not trust" in stuck.headline


@pytest.mark.parametrize(("boldness", "words"), [(3, "too sure"), (0.4, "less sure than it could be")])
def test_probabilities_that_are_far_off_are_a_reason(boldness, words):
    found = verdict.judge(diagnostics(), votes(1000, 3, boldness=boldness), "fitted")
    assert found.level == "mind"
    assert words in found.reasons[0]
    assert "of the rows that were fitted" in found.reasons[0]


def test_probabilities_of_one_class_that_are_off_are_a_reason():
    """Too high for some rows and too low for others, so that the average is right."""
    rng = np.random.default_rng(0)
    right = np.repeat([0.55, 0.95], 1000)
    shown = np.full(2000, 0.75) + rng.uniform(-0.01, 0.01, 2000) + np.repeat([-0.05, 0.05], 1000)
    hits = (rng.uniform(size=2000) < right).astype(int)
    found = verdict_on(Labels(("a", "b"), hits, np.column_stack([1 - shown, shown])))
    assert found.level == "mind"
    assert re.search(r"in ([5-9]|10) of 10 groups", found.reasons[0])


def test_a_classifier_that_knows_nothing_and_is_sure_is_not_to_be_trusted():
    shuffled = votes(300, 3)._replace(observed=votes(300, 3, seed=1).observed)
    found = verdict_on(shuffled)
    assert found.level == "bad"
    assert "worse than the share of each class would be" in found.reasons[-1]


def test_scores_of_labels_and_responses():
    labels = Labels(("a", "b"), np.array([0, 1, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.0, 1.0]]))
    values = {score.name: score.value for score in scores_of(labels, -0.5)}
    assert values["accuracy"] == "75.0%"
    assert values["Brier score"] == f"{(0.02 + 0.08 + 0.72 + 0.0) / 4:.3g}"
    assert values["log predictive density"] == "-0.5"
    checked = forecasts(200)
    values = {score.name: score.value for score in scores_of(checked, 0.0)}
    assert values["inside 95% intervals"] == f"{checked.covered(0.95):.1%}"
    assert values["variance explained"] == f"{r2_score(checked.observed, checked.mean):.1%}"
    constant = checked._replace(observed=np.ones(200))
    assert "variance explained" not in {score.name for score in scores_of(constant, 0.0)}


def test_large_numbers_can_be_read():
    checked = forecasts(50)
    large = checked._replace(**{name: 32_100.0 * getattr(checked, name) for name in ("observed", "mean", "interval")})
    values = {score.name: score.value for score in scores_of(large, -12.5)}
    assert values["width of these"] == "125,830"
    assert re.fullmatch(r"\d\d,\d{3}", values["typical error"])
    assert summary.summarise_response([20_001, 21_430.4, 1e6], "y", of_classes=False).values == (
        "20,001 to 1,000,000, median 21,430"
    )


def test_columns_in_brief():
    model, X, y = small_fits.plain()
    size, _, kind = summary.summarise_inputs(model, X)
    assert (size.kind, size.n_missing) == ("number", int(X["size"].isna().sum()))
    assert f"{X['size'].min():.4g} to {X['size'].max():.4g}" in size.values
    counts = X["kind"].value_counts()
    assert f"{counts.index[0]} ({counts.iloc[0]})" in kind.values
    gone = summary.summarise_inputs(model, X.assign(kind=X["kind"].where(np.arange(len(X)) >= 7)))[2]
    assert (kind.n_missing, gone.n_missing) == (0, 7)
    assert "missing" not in gone.values
    never = summary.summarise_inputs(model, X.assign(kind=np.array(len(X) * [None])))[2]
    assert (never.values, never.n_missing) == ("nothing but missing values", len(X))
    empty = summary.summarise_inputs(model, X.assign(size=np.nan, age=1.0))
    assert (empty[0].values, empty[1].values) == ("nothing but missing values", "constant: 1")
    assert summary.summarise_response(y, "y", of_classes=False).kind == "response"
    huge = summary.summarise_response(np.array([1.0, 1.7e308, 1.7e308, 1.7e308]), "y", of_classes=False)
    assert huge.values == "1 to 1.7e+308, median 1.7e+308"
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

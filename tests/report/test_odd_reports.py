"""Reports of odd models and odd rows: a page, and no warning."""

import re
import warnings
from io import BytesIO

import numpy as np
import pandas as pd
import pytest

import hyperplanes
import small_fits
from golden_models import FOLDER, response, table
from hyperplanes import HyperplaneProcessRegressor, HyperplanesWarning


def page_of(model, *rows) -> str:
    file = BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.report(file, *rows)
    page = file.getvalue().decode()
    assert page.endswith("</html>\n")
    assert not re.search(r"\b(nan|inf)\b", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))
    return page


@pytest.mark.parametrize("name", ["domain", "paper"])
def test_models_in_parts_and_of_the_paper(name):
    rows = table(80, seed=0)
    page = page_of(hyperplanes.load(FOLDER / f"{name}.safetensors"), rows, response(rows))
    assert ("Of the first of 2 parts" in page) == (name == "domain")


def test_noise_with_heavy_tails():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (60, 2))
    y = X[:, 0] + 0.1 * rng.standard_t(2.5, 60)
    model = HyperplaneProcessRegressor(noise="student", **small_fits.SETTINGS).fit(X, y)
    page = page_of(model, X, y)
    assert "Bayesian regression with heavy-tailed noise" in page
    assert "scale of the noise: prior median" in page
    assert "Importance of inputs</h3>" in page


def test_of_one_input_there_is_nothing_to_compare():
    X = np.random.default_rng(2).uniform(-1, 1, (60, 1))
    model = HyperplaneProcessRegressor(sampler="paper", n_hyperplanes=1, n_particles=20, n_steps=2, random_state=0)
    page = page_of(model.fit(X, X[:, 0]), X, X[:, 0])
    assert "Importance of inputs</h3>" not in page
    assert "Dependence on x1" in page


def test_a_number_and_a_text_of_two_kinds_have_no_map():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"x": rng.uniform(-1, 1, 60), "kind": rng.choice(["a", "b"], 60)})
    y = X["x"].to_numpy() + 0.1 * rng.normal(size=60)
    page = page_of(HyperplaneProcessRegressor(n_hyperplanes=1, n_particles=20, random_state=0).fit(X, y), X, y)
    assert "The whole function" not in page
    assert "Importance of inputs</h3>" in page


ODD_ROWS = {
    "one row": lambda rows: rows.iloc[:1],
    "two rows": lambda rows: rows.iloc[:2],
    "all missing": lambda rows: rows.assign(size=np.nan, age=np.nan),
    "constant": lambda rows: rows.assign(size=1.0, age=2.0, kind="a"),
    "unknown categories": lambda rows: rows.assign(kind="new"),
    "far away": lambda rows: rows.assign(age=1e12 * rows["age"]),
}


@pytest.mark.parametrize("odd", ODD_ROWS)
def test_rows_unlike_those_fitted(odd):
    rows = table(24, seed=3)
    page_of(small_fits.plain().model, ODD_ROWS[odd](rows), response(rows)[: len(ODD_ROWS[odd](rows))])


@pytest.mark.parametrize("scale", [0.0, 1e-30, 1e30, 1e150])
def test_responses_of_any_size(scale):
    rows = table(24, seed=3)
    page_of(small_fits.plain().model, rows, scale * response(rows))


def test_rows_of_a_single_class():
    model, X, _ = small_fits.two_classes()
    page_of(model, X[:9], np.array(9 * ["_low"]))


@pytest.mark.filterwarnings("ignore::hyperplanes.HyperplanesWarning")
@pytest.mark.parametrize("y", [np.full(30, 7.0), 1e200 * np.arange(30.0)], ids=["constant", "huge"])
def test_fits_of_constant_and_of_huge_responses(y):
    X = np.column_stack([np.arange(30.0), np.full(30, 3.0)])
    model = HyperplaneProcessRegressor(**small_fits.SETTINGS).fit(X, y)
    page = page_of(model, X, y)
    assert issubclass(HyperplanesWarning, UserWarning)
    assert ("y is constant" in page) == bool(np.ptp(y) == 0)

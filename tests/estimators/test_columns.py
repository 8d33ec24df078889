"""Text, categories and missing values: what the model sees of them, and that it fits and predicts with them."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.utils import get_tags

from hyperplanes.estimators import columns as reading
from hyperplanes.estimators.columns import learn_columns, spread_text, text_columns
from hyperplanes.estimators.tables import read_training_table

FRAMES = [pd.DataFrame, pl.DataFrame]
COLOURS = ["red", "green", "red", "blue"]
TEXT = {
    "pandas object": lambda texts: pd.DataFrame({"colour": pd.Series(texts, dtype=object)}),
    "pandas str": lambda texts: pd.DataFrame({"colour": texts}),
    "pandas string": lambda texts: pd.DataFrame({"colour": pd.Series(texts, dtype="string")}),
    "pandas arrow string": lambda texts: pd.DataFrame({"colour": pd.Series(texts, dtype="string[pyarrow]")}),
    "pandas category": lambda texts: pd.DataFrame({"colour": pd.Series(texts, dtype="category")}),
    "polars String": lambda texts: pl.DataFrame({"colour": texts}),
    "polars Categorical": lambda texts: pl.DataFrame({"colour": texts}, schema={"colour": pl.Categorical}),
    "polars Enum": lambda texts: pl.DataFrame(
        {"colour": texts}, schema={"colour": pl.Enum(["unused", "red", "green", "blue"])}
    ),
}
"""Functions from a list of texts, which may hold None, to a data frame."""


def categories_of(table: Any) -> reading.Categories:
    """Where every row counts."""
    return reading.learn_categories([(table, np.ones(len(table), dtype=bool))])


def as_numbers(table: Any) -> np.ndarray:
    """What a training table becomes."""
    categories = categories_of(table)
    numbers = spread_text(table, categories)
    return learn_columns(numbers, np.ones(len(numbers)), categories).fill(numbers)


@pytest.fixture(scope="module", params=FRAMES)
def sides(request, example, make_regressor) -> tuple[Any, Callable[..., Any]]:
    """A model of a number and of a text with two categories, and what makes its tables."""

    def make_table(X: np.ndarray) -> Any:
        return request.param({"size": X[:, 0], "side": np.where(X[:, 1] > 0, "right", "left")})

    return make_regressor().fit(make_table(example.X), example.y), make_table


@pytest.mark.parametrize("kind", TEXT)
def test_text_becomes_a_column_of_0_and_1_for_each_category_in_use(kind):
    table = TEXT[kind](COLOURS)
    assert categories_of(table) == (("blue", "green", "red"),)
    np.testing.assert_array_equal(as_numbers(table), [[0, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]])


@pytest.mark.parametrize("kind", TEXT)
def test_two_categories_need_one_column(kind):
    table = TEXT[kind](["red", "green", "red", "red"])
    np.testing.assert_array_equal(as_numbers(table), [[1], [0], [1], [1]])


@pytest.mark.parametrize("kind", TEXT)
def test_missing_text_is_a_category(kind):
    table = TEXT[kind](["red", None, "red", "blue"])
    assert categories_of(table) == (("blue", "missing", "red"),)
    np.testing.assert_array_equal(as_numbers(table), [[0, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]])


@pytest.mark.parametrize("kind", TEXT)
def test_unknown_category_is_none_of_the_known(kind):
    known = categories_of(TEXT[kind](["red", "green", None]))
    np.testing.assert_array_equal(spread_text(TEXT[kind](["blue", "green"]), known), [[0, 0, 0], [1, 0, 0]])
    two = categories_of(TEXT[kind](["red", "green"]))
    np.testing.assert_array_equal(
        spread_text(TEXT[kind](["blue", None, "green", "red"]), two), [[0.5], [0.5], [0], [1]]
    )


def test_types_of_text_may_differ_between_fit_and_predict():
    known = categories_of(TEXT["pandas category"](COLOURS))
    for make_table in TEXT.values():
        np.testing.assert_array_equal(spread_text(make_table(["green"]), known), [[0, 1, 0]])


@pytest.mark.parametrize("frame", FRAMES)
def test_columns_keep_their_order(frame):
    table = frame({"a": [1.5, 2.5, 3.5], "b": ["x", "y", "z"], "c": [True, False, True], "d": [7, 8, 9]})
    assert text_columns(table) == [1]
    np.testing.assert_array_equal(as_numbers(table), [[1.5, 1, 0, 0, 1, 7], [2.5, 0, 1, 0, 0, 8], [3.5, 0, 0, 1, 1, 9]])


def test_columns_of_the_same_name_are_told_apart():
    table = pd.DataFrame([["x", 1.0, "u"], ["y", 2.0, "v"]], columns=["a", "a", "a"])
    np.testing.assert_array_equal(as_numbers(table), [[0, 1, 0], [1, 2, 1]])


@pytest.mark.parametrize("table", [[["a"], ["b"]], np.array([["a"], ["b"]]), pd.Series(["a", "b"])])
def test_only_data_frames_have_columns_of_text(table):
    assert text_columns(table) == []
    assert categories_of(table) == ()


@pytest.mark.parametrize("kind", [kind for kind in TEXT if kind != "polars Enum"])
def test_too_many_categories_are_refused_by_name(kind):
    texts = [f"id {k}" for k in range(101)]
    assert len(categories_of(TEXT[kind](texts[:100]))[0]) == 100
    with pytest.raises(ValueError, match="column 'colour' holds 101 different texts, more than 100: drop it, group"):
        categories_of(TEXT[kind](texts))


def test_missing_numbers_become_the_median_and_are_marked():
    numbers = np.array([[1.0, np.nan, 5.0], [np.nan, np.nan, 6.0], [10.0, 2.0, 7.0], [4.0, 8.0, 9.0]])
    columns = learn_columns(numbers, np.ones(len(numbers)), ())
    np.testing.assert_array_equal(columns.medians, [4.0, 5.0, 6.5])
    np.testing.assert_array_equal(columns.has_missing, [True, True, False])
    expected = [[1, 5, 5, 0, 1], [4, 5, 6, 1, 1], [10, 2, 7, 0, 0], [4, 8, 9, 0, 0]]
    np.testing.assert_array_equal(columns.fill(numbers), expected)


def test_missing_numbers_in_predict_only_become_the_median():
    columns = learn_columns(np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 9.0]]), np.ones(3), ())
    np.testing.assert_array_equal(columns.fill(np.array([[7.0, np.nan], [np.nan, np.nan]])), [[7, 6, 0], [2, 6, 1]])


def test_missing_numbers_in_fit_only_leave_a_column_of_0():
    columns = learn_columns(np.array([[1.0], [np.nan], [3.0]]), np.ones(3), ())
    np.testing.assert_array_equal(columns.fill(np.array([[7.0], [8.0]])), [[7, 0], [8, 0]])


def test_column_without_any_number_is_constant():
    columns = learn_columns(np.array([[np.nan, 1.0], [np.nan, 2.0]]), np.ones(2), ())
    np.testing.assert_array_equal(columns.fill(np.array([[np.nan, 1.0], [3.0, 2.0]])), [[0, 1, 1], [3, 2, 0]])


@pytest.mark.parametrize("beside_text", [False, True])
@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2, None, 6], dtype="Int64"),
        pd.Series([1.0, 2.0, np.nan, 6.0]),
        pd.Series([1.0, 2.0, None, 6.0], dtype="Float64"),
        pl.Series([1, 2, None, 6]),
        pl.Series([1.0, 2.0, None, 6.0]),
        pl.Series([1.0, 2.0, float("nan"), 6.0]),
    ],
    ids=["Int64", "NaN", "Float64", "polars Int64", "polars Float64", "polars NaN"],
)
def test_missing_numbers_of_any_kind_are_filled_in(column, beside_text, make_regressor):
    frame = pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame
    table = frame({"number": column} | ({"text": ["a", "b", "b", "a"]} if beside_text else {}))
    read = read_training_table(make_regressor(), table, [1.0, 2.0, 3.0, 4.0], None)
    np.testing.assert_array_equal(read.inputs[np.argsort(read.response), 0], [1, 2, 2, 6])
    np.testing.assert_array_equal(read.inputs[np.argsort(read.response), -1], [0, 0, 1, 0])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([True, False, True]),
        pd.Series([True, False, True], dtype="boolean"),
        pd.Series([True, False, True], dtype=object),
        pl.Series([True, False, True]),
    ],
    ids=["bool", "boolean", "object", "polars Boolean"],
)
def test_truth_values_become_0_and_1(column, make_regressor):
    table = (pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame)({"yes": column})
    read = read_training_table(make_regressor(), table, [1.0, 2.0, 3.0], None)
    np.testing.assert_array_equal(read.inputs[np.argsort(read.response)], [[1], [0], [1]])


PRICES = [Decimal("1.10"), Decimal("2.25"), None, Decimal("-6.50")]
DECIMALS = {
    "object": pd.Series(PRICES, dtype=object),
    "pandas decimal128": pd.Series(PRICES, dtype=pd.ArrowDtype(pa.decimal128(10, 2))),
    "polars Decimal": pl.Series(PRICES),
}


@pytest.mark.parametrize("beside_text", [False, True])
@pytest.mark.parametrize("kind", DECIMALS)
def test_decimal_numbers_are_numbers(kind, beside_text, make_regressor):
    frame = pl.DataFrame if kind.startswith("polars") else pd.DataFrame
    table = frame({"price": DECIMALS[kind]} | ({"text": ["a", "b", "b", "a"]} if beside_text else {}))
    response = DECIMALS[kind].fill_null(Decimal(7)) if frame is pl.DataFrame else DECIMALS[kind].fillna(Decimal(7))
    read = read_training_table(make_regressor(), table, response, None)
    np.testing.assert_array_equal(read.response[np.argsort(read.response)], [-6.5, 1.1, 2.25, 7])
    np.testing.assert_array_equal(read.inputs[np.argsort(read.response), 0], [-6.5, 1.1, 2.25, 1.1])
    np.testing.assert_array_equal(read.inputs[np.argsort(read.response), -1], [0, 0, 0, 1])
    assert text_columns(table) == ([1] if beside_text else [])


@pytest.mark.parametrize("frame", FRAMES)
def test_decimal_numbers_are_fitted_and_predicted_like_others(frame, fitted, example, make_regressor):
    def decimals(values: np.ndarray) -> list[Decimal]:
        return [Decimal(float(value)) for value in values]

    def make_table(X: np.ndarray) -> Any:
        kinds = {"schema": {"a": pl.Object, "b": pl.Object}} if frame is pl.DataFrame else {}
        return frame({"a": decimals(X[:, 0]), "b": decimals(X[:, 1])}, **kinds)

    model = make_regressor().fit(make_table(example.X), pd.Series(decimals(example.y)))
    np.testing.assert_array_equal(model.predict(make_table(example.X_new)), fitted.predict(example.X_new))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.Series([[1], [2, 3]]), "column 'several' holds lists or records: give each of their entries a column"),
        (pd.Series([np.ones(2), None]), "column 'several' holds lists or records"),
        (pd.Series([{"a": 1}, {"a": 2}]), "column 'several' holds lists or records"),
        (pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))), "got type list<.* in column 'several'"),
        (pl.Series([[1], [2, 3]]), r"got type List\(Int64\) in column 'several'"),
        (pl.Series([{"a": 1}, {"a": 2}]), "got type Struct.* in column 'several'"),
    ],
    ids=["lists", "arrays", "records", "arrow", "polars List", "polars Struct"],
)
def test_lists_name_their_column(column, message, make_regressor):
    table = (pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame)({"one": [1.0, 2.0], "several": column})
    with pytest.raises(ValueError, match=message):
        read_training_table(make_regressor(), table, [1.0, 2.0], None)


def test_fit_of_text_is_the_fit_of_its_columns_of_0_and_1(sides, example, make_regressor):
    model, make_table = sides
    assert list(model.feature_names_in_) == ["size", "side"]
    assert model.columns_.categories == (None, ("left", "right"))
    np.testing.assert_array_equal(model.input_range_[:, 1], [0, 1])

    def by_hand(X: np.ndarray) -> np.ndarray:
        return np.column_stack([X[:, 0], X[:, 1] > 0])

    expected = make_regressor().fit(by_hand(example.X), example.y)
    for method in ("predict", "predict_interval", "sample"):
        np.testing.assert_array_equal(
            getattr(model, method)(make_table(example.X_new)), getattr(expected, method)(by_hand(example.X_new))
        )
    y_new = np.linspace(-1, 1, len(example.X_new))
    np.testing.assert_array_equal(
        model.log_predictive_density(make_table(example.X_new), y_new),
        expected.log_predictive_density(by_hand(example.X_new), y_new),
    )


def test_columns_of_a_table_with_text_are_checked(sides, example):
    model, make_table = sides
    table = make_table(example.X_new)
    with pytest.raises(ValueError, match=r"(?s)feature names.*same order"):
        model.predict(table[["side", "size"]])
    with pytest.raises(ValueError, match=r"(?s)feature names.*missing.*side"):
        model.predict(table[["size"]])
    with pytest.raises(ValueError, match="must hold numbers only, got text"):
        model.predict(type(table)({"size": ["small"], "side": ["left"]}))
    with pytest.raises(ValueError, match="contains infinity"):
        model.predict(type(table)({"size": [np.inf], "side": ["left"]}))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("table", [np.ones((3, 2)), [[1.0, "left"]], np.array([[1.0, "left"]], dtype=object)])
def test_array_in_place_of_the_data_frame_of_the_fit_is_refused(sides, table):
    with pytest.raises((TypeError, ValueError), match="data frame"):
        sides[0].predict(table)


def test_fit_of_missing_numbers_is_the_fit_of_filled_and_marked_ones(example, make_regressor):
    missing = example.X[:, 1] > 0.5
    X = np.where(missing, np.nan, example.X[:, 0])[:, None]
    model = make_regressor().fit(X, example.y)
    median = np.nanmedian(X)
    expected = make_regressor().fit(np.column_stack([np.where(missing, median, X[:, 0]), missing]), example.y)
    np.testing.assert_array_equal(model.input_range_, [[np.nanmin(X), 0], [np.nanmax(X), 1]])
    np.testing.assert_array_equal(
        model.predict([[np.nan], [0.3], [median]]), expected.predict([[median, 1], [0.3, 0], [median, 0]])
    )


@pytest.mark.parametrize("make_table", [np.array, pd.DataFrame, pl.DataFrame])
def test_value_missing_in_predict_only_is_as_good_as_the_median(fitted, example, make_regressor, make_table):
    model = make_regressor().fit(make_table(example.X), example.y)
    medians = np.median(example.X, axis=0)
    np.testing.assert_array_equal(
        model.predict(make_table(np.array([[0.3, np.nan], [np.nan, np.nan]]))),
        fitted.predict([[0.3, medians[1]], [medians[0], medians[1]]]),
    )


def test_scikit_learn_is_told_that_values_may_be_missing(make_regressor):
    assert get_tags(make_regressor()).input_tags.allow_nan

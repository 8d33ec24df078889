import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from hyperplanes import HyperplaneProcessClassifier
from hyperplanes.estimators.label_counts import add_up, count_labels
from hyperplanes.estimators.labels import read_labels

MISSING = "y must have a label in every row, got {} in row {}: remove such rows"


def objects(*values) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (objects("a", "b"), "O"),
        (np.array(["a", "b"]), "U"),
        (objects(1, 2), "i"),
        (objects(1, 2.0), "f"),
        (objects(True, np.False_), "b"),
        (np.array([1.0, 2.0]), "f"),
        (objects(2**60, 2**60 + 1), "i"),
        (objects(Decimal("1.00"), Decimal(2)), "f"),
    ],
)
def test_labels_of_one_kind_are_kept(labels, kind):
    found = read_labels(labels)
    assert found.dtype.kind == kind
    assert found.tolist() == labels.tolist()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (objects("a", "b", None), MISSING.format("None", 2)),
        (objects("a", np.nan), MISSING.format("nan", 1)),
        (objects(pd.NA, 1), MISSING.format("<NA>", 0)),
        (objects("a", 1), "y must hold labels of one kind, got text ('a' in row 0) and numbers (1 in row 1)"),
        (objects(2, True), "y must hold labels of one kind, got numbers (2 in row 0) and truth values (True in row 1)"),
        (objects("a", b"b"), "y must hold text, numbers or truth values, got b'b' in row 1"),
        (objects([1], [2]), "y must hold text, numbers or truth values, got [1] in row 0"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "got values of type datetime64[D]"),
        (objects(1, 2**80), "labels that are numbers must be at most 2**53 in size, got 1.20893e+24 in row 1 of y"),
        (objects(1.0, 2**53 + 1), "labels that are numbers must be at most 2**53 in size, got 9.0072e+15 in row 1"),
        (np.array([1e300, 0.0]), "labels that are numbers must be at most 2**53 in size, got 1e+300 in row 0 of y"),
    ],
)
def test_labels_that_are_missing_or_of_other_kinds_are_named(labels, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_labels(labels)


@pytest.mark.parametrize(
    "labels",
    [["a", "b", None], ["a", "b", 1], ["a", "b", np.nan], pd.Series(["a", 1, "b"]), pd.Series(["a", None, "b"])],
)
def test_a_classifier_refuses_them_before_it_fits(labels):
    with pytest.raises(ValueError, match="y must"):
        HyperplaneProcessClassifier().fit(np.zeros((3, 1)), labels)


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([["a", 1]], r"one kind, got text \('a' in row 0\) and numbers \(1 in row 1\)"),
        ([[1, True]], r"one kind, got numbers \(1 in row 0\) and truth values \(True in row 1\)"),
        ([[1, 2], ["a", "b"]], r"one kind, got numbers \(1 in row 0\) and text \('a' in row 2\)"),
        ([[0, 1], [True, False]], r"one kind, got numbers \(0 in row 0\) and truth values \(True in row 2\)"),
        ([[2**53 + 1, 1], [1.0, 2.0]], r"at most 2\*\*53 in size, got 9.0072e\+15 in row 0 of column 'price'"),
    ],
)
def test_labels_of_all_chunks_follow_the_rule_for_those_in_memory(chunks, message):
    columns = [pd.Series(chunk, name="price") for chunk in chunks]
    with pytest.raises(ValueError, match=message):
        add_up([count_labels(column, 2 * k) for k, column in enumerate(columns)], "price")
    with pytest.raises(ValueError, match=message.replace("column 'price'", "y")):
        read_labels(pd.concat([column.astype(object) for column in columns]).to_numpy())


def test_whole_numbers_of_any_type_are_the_same_label():
    found = add_up([count_labels(pd.Series(chunk), 3 * k) for k, chunk in enumerate(([1, 2, 2], [2.0, 1.0, 3.0]))], "y")
    assert (found.labels.tolist(), found.counts.tolist(), found.rows.tolist()) == ([1, 2, 3], [2, 3, 1], [0, 1, 5])
    large = add_up([count_labels(pd.Series([2**60, 2**60 + 1]), 0)], "y")
    assert large.labels.tolist() == [2**60, 2**60 + 1]

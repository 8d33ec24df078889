import re

import numpy as np
import pandas as pd
import pytest

from hyperplanes import HyperplaneProcessClassifier
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
        (objects(2**80, 1), "labels that are numbers must be at most 2**53 in size, got 1.20893e+24"),
        (np.array([1e300, 0.0]), "labels that are numbers must be at most 2**53 in size, got 1e+300"),
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

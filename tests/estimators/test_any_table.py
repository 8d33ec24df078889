"""Whatever a table holds: a sound fit with sound predictions, or an error that says what is wrong."""

import re
import warnings
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hyperplanes import HyperplaneProcessClassifier, HyperplaneProcessRegressor, HyperplanesWarning
from one_shape import SHAPE

# scikit-learn adds up what it checks, and infinities of both signs have no sum
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in reduce:RuntimeWarning")

SMALL = SHAPE | {"n_steps": 2, "random_state": 0}
REGRESSORS = [HyperplaneProcessRegressor(**SMALL, noise=noise) for noise in ("constant", "varying", "student")]
CLASSIFIER = HyperplaneProcessClassifier(**SMALL)
N_COLUMNS = 2
MOST_ROWS = 12
NOT_NUMBERS = "must hold numbers only"

odd = st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 1e-30, 1e15, 1e16 + 2, 1e300, 1.7e308, -1.7e308])
bad = st.sampled_from([np.nan, np.inf, -np.inf])
usual = st.floats(-10, 10)
any_number = st.one_of(usual, odd, st.floats(allow_nan=False, allow_infinity=False), bad)
numbers = st.one_of(st.just(usual), st.just(odd), st.just(usual | odd), st.just(any_number))
some = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
many = settings(some, max_examples=1000)


TEXTS = [
    ("a", "b"), ("a", None), ("", "missing"), (1, "1"), (True, "x"), (np.nan, "nan"), ("\x00", "é"), (b"a", "a"),
    (pd.NA, "y"), (date(2020, 1, 1), "z"), (1.5, None), ("a", "a"), ([1], "a"), (np.inf, "a"), (2**80, 1),
]  # fmt: skip
"""Two things that a column of a data frame may hold: so few that they become one column of numbers or two."""
LABELS = [
    ("a", "b"), (0, 1), (True, False), ("", " "), (2, 1.0), ("a", None), ("a", 1), (np.nan, "a"), (pd.NA, 1), (True, 2),
    (0, np.nan), (b"a", b"b"), (0.5, 1.5), (1e300, -1e300), ("a", "a"), (date(2020, 1, 1), date(2020, 1, 2)), (1j, 2j),
    ((1, 2), "a"), (np.inf, 0.0), (2**80, 0), (None, None), ("a\x00", "a"),
]  # fmt: skip
"""Two things that somebody may take for the labels of two classes."""


class Case(NamedTuple):
    """Rows to fit, their weights if they have any, and rows to predict."""

    X: Any
    y: Any
    weights: np.ndarray | None
    X_new: Any


@st.composite
def cases(draw, responses: st.SearchStrategy[Any]) -> Case:
    n_rows = draw(st.integers(0, MOST_ROWS))
    X = draw(arrays(float, (n_rows, N_COLUMNS), elements=draw(numbers)))
    y = draw(arrays(float, n_rows, elements=responses))
    weights = draw(st.none() | arrays(float, n_rows, elements=st.floats(0, 3) | any_number))
    X_new = draw(arrays(float, (draw(st.integers(0, 4)), N_COLUMNS), elements=draw(numbers)))
    return Case(X, y, weights, X_new)


@st.composite
def frames(draw, responses: st.SearchStrategy[Any]) -> Case:
    """Data frames of a column of numbers and one of anything else, and responses in a list, an array or a series."""
    n_rows, things = draw(st.integers(0, MOST_ROWS)), draw(st.sampled_from(TEXTS))

    def frame(n_rows: int, *more: Any) -> pd.DataFrame:
        number = draw(arrays(float, n_rows, elements=draw(numbers)))
        cells = draw(st.lists(st.sampled_from([*things, *more]), min_size=n_rows, max_size=n_rows))
        return pd.DataFrame({"number": number, "text": as_objects(cells)})

    labels = draw(st.lists(responses, min_size=n_rows, max_size=n_rows))
    y = draw(st.sampled_from([list, as_objects, lambda labels: pd.Series(as_objects(labels)).infer_objects()]))(labels)
    return Case(frame(n_rows), y, None, frame(draw(st.integers(0, 4)), "never seen", None))


def as_objects(values: list[Any]) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def fitted(model: Any, case: Case) -> Any | None:
    """A fit, or None where it was refused with a message."""
    try:
        model.fit(case.X, case.y, sample_weight=case.weights)
    except (ValueError, TypeError) as error:
        refusal = error
    else:
        refusal = None
    event("fitted" if refusal is None else "refused")
    if refusal is not None:
        assert type(refusal) is ValueError or NOT_NUMBERS in str(refusal), refusal
        assert len(str(refusal)) > 10
        return None
    assert np.isfinite(model.log_evidence_)
    return model


def refused(model: Any, predict: Any, case: Case) -> bool:
    """Whether rows are refused: empty ones and infinities have to be, other things where numbers were may be."""
    is_frame = isinstance(case.X_new, pd.DataFrame)
    has_to_be = not len(case.X_new) or bool(np.isinf(case.X_new["number"] if is_frame else case.X_new).any())
    refusal = None
    try:
        predict(case.X_new)
    except (ValueError, TypeError) as error:
        refusal = str(error)
    if refusal is None:
        assert not has_to_be
        return False
    assert has_to_be or (is_frame and not model.columns_.categories), refusal
    assert re.search(f"infinity|minimum of 1|{NOT_NUMBERS}", refusal), refusal
    return True


def check_regression(index: int, case: Case) -> None:
    with warnings.catch_warnings(action="ignore", category=HyperplanesWarning):
        model = fitted(REGRESSORS[index], case)
    if model is None or refused(model, model.predict, case):
        return
    mean, std = model.predict(case.X_new, return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert (std > 0).all()
    for target in ("response", "mean"):
        low, high = model.predict_interval(case.X_new, target=target).T
        assert np.isfinite([low, high]).all()
        assert (low <= high).all()
    assert np.isfinite(model.sample(case.X_new, n_draws=2, random_state=0)).all()


def check_classification(case: Case) -> None:
    with warnings.catch_warnings(action="ignore", category=HyperplanesWarning):
        model = fitted(CLASSIFIER, case)
    if model is None or refused(model, model.predict_proba, case):
        return
    probabilities, intervals = model.predict_proba(case.X_new), model.predict_interval(case.X_new)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert ((intervals[..., 0] <= intervals[..., 1]) & (intervals >= 0).all(-1) & (intervals <= 1).all(-1)).all()
    assert set(model.predict(case.X_new)) <= set(case.y)


regressions = {"index": st.integers(0, len(REGRESSORS) - 1), "case": numbers.flatmap(cases)}
classifications = {"case": cases(st.sampled_from([0.0, 1.0]))}
regressions_of_frames = {"index": st.integers(0, len(REGRESSORS) - 1), "case": numbers.flatmap(frames)}
classifications_of_frames = {"case": st.sampled_from(LABELS).map(st.sampled_from).flatmap(frames)}


@some
@given(**regressions)
def test_any_table_is_regressed_on_or_refused(index, case):
    check_regression(index, case)


@some
@given(**classifications)
def test_any_table_is_classified_or_refused(case):
    check_classification(case)


@some
@given(index=st.just(0), case=regressions_of_frames["case"])  # text does not depend on noise, which compiles for long
def test_any_data_frame_is_regressed_on_or_refused(index, case):
    check_regression(index, case)


@some
@given(**classifications_of_frames)
def test_any_data_frame_and_labels_are_classified_or_refused(case):
    check_classification(case)


@pytest.mark.long
@many
@given(**regressions)
def test_many_tables_are_regressed_on_or_refused(index, case):
    check_regression(index, case)


@pytest.mark.long
@many
@given(**classifications)
def test_many_tables_are_classified_or_refused(case):
    check_classification(case)


@pytest.mark.long
@many
@given(**regressions_of_frames)
def test_many_data_frames_are_regressed_on_or_refused(index, case):
    check_regression(index, case)


@pytest.mark.long
@many
@given(**classifications_of_frames)
def test_many_data_frames_and_labels_are_classified_or_refused(case):
    check_classification(case)

"""Whatever numbers a table holds: a sound fit with sound predictions, or an error that says what is wrong."""

import warnings
from typing import Any, NamedTuple

import numpy as np
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

odd = st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 1e-30, 1e15, 1e16 + 2, 1e300, 1.7e308, -1.7e308])
bad = st.sampled_from([np.nan, np.inf, -np.inf])
usual = st.floats(-10, 10)
any_number = st.one_of(usual, odd, st.floats(allow_nan=False, allow_infinity=False), bad)
numbers = st.one_of(st.just(usual), st.just(odd), st.just(usual | odd), st.just(any_number))
some = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
many = settings(some, max_examples=1000)


class Case(NamedTuple):
    """Rows to fit, their weights if they have any, and rows to predict."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    X_new: np.ndarray


@st.composite
def cases(draw, responses: st.SearchStrategy[Any]) -> Case:
    n_rows = draw(st.integers(0, MOST_ROWS))
    X = draw(arrays(float, (n_rows, N_COLUMNS), elements=draw(numbers)))
    y = draw(arrays(float, n_rows, elements=responses))
    weights = draw(st.none() | arrays(float, n_rows, elements=st.floats(0, 3) | any_number))
    X_new = draw(arrays(float, (draw(st.integers(0, 4)), N_COLUMNS), elements=draw(numbers)))
    return Case(X, y, weights, X_new)


def fitted(model: Any, case: Case) -> Any | None:
    """A fit, or None where it was refused with a message."""
    try:
        model.fit(case.X, case.y, sample_weight=case.weights)
    except ValueError as error:
        refusal = error
    else:
        refusal = None
    event("fitted" if refusal is None else "refused")
    if refusal is not None:
        assert type(refusal) is ValueError, refusal
        assert len(str(refusal)) > 10
        return None
    assert np.isfinite(model.log_evidence_)
    return model


def refused(predict: Any, case: Case) -> bool:
    """Whether rows are refused, which only empty ones and infinities may be."""
    if len(case.X_new) and not np.isinf(case.X_new).any():
        return False
    with pytest.raises(ValueError, match=r"infinity|minimum of 1"):
        predict(case.X_new)
    return True


def check_regression(index: int, case: Case) -> None:
    with warnings.catch_warnings(action="ignore", category=HyperplanesWarning):
        model = fitted(REGRESSORS[index], case)
    if model is None or refused(model.predict, case):
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
    if model is None or refused(model.predict_proba, case):
        return
    probabilities, intervals = model.predict_proba(case.X_new), model.predict_interval(case.X_new)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert ((intervals[..., 0] <= intervals[..., 1]) & (intervals >= 0).all(-1) & (intervals <= 1).all(-1)).all()
    assert set(model.predict(case.X_new)) <= set(case.y)


regressions = {"index": st.integers(0, len(REGRESSORS) - 1), "case": numbers.flatmap(cases)}
classifications = {"case": cases(st.sampled_from([0.0, 1.0]))}


@some
@given(**regressions)
def test_any_table_is_regressed_on_or_refused(index, case):
    check_regression(index, case)


@some
@given(**classifications)
def test_any_table_is_classified_or_refused(case):
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

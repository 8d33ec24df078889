"""A weight says how often a row counts: all that may differ from repeated rows is the length of the table."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hyperplanes.estimators import HyperplaneProcessRegressor
from hyperplanes.estimators.tables import merge_copies, read_training_table

COUNTS = np.arange(60) % 4
"""Every fourth row of the example does not count at all."""


def assert_same_fit(first: HyperplaneProcessRegressor, second: HyperplaneProcessRegressor, X_new: np.ndarray) -> None:
    """Every bit of both."""
    for name in ("normals", "offsets", "coefficients", "noise_variance", "coefficient_variance", "log_weights"):
        np.testing.assert_array_equal(getattr(first.posterior_, name), getattr(second.posterior_, name), err_msg=name)
    assert first.log_evidence_ == second.log_evidence_
    assert first.diagnostics_ == second.diagnostics_
    np.testing.assert_array_equal(first.input_range_, second.input_range_)
    np.testing.assert_array_equal(first.predict(X_new), second.predict(X_new))


def test_weight_is_the_same_as_the_row_as_often(example, make_regressor):
    weighted = make_regressor().fit(example.X, example.y, sample_weight=COUNTS)
    repeated = make_regressor().fit(np.repeat(example.X, COUNTS, axis=0), np.repeat(example.y, COUNTS))
    assert_same_fit(weighted, repeated, example.X_new)


def test_row_of_weight_zero_is_the_same_as_no_row(example, make_regressor):
    far, weights = example.X.copy(), np.ones(60)
    far[:3], weights[:3] = 1e200, 0
    weighted = make_regressor().fit(far, example.y, sample_weight=weights)
    assert_same_fit(weighted, make_regressor().fit(far[3:], example.y[3:]), example.X_new)


def test_order_of_the_rows_does_not_matter(example, make_regressor, rng):
    order = rng.permutation(60)
    first = make_regressor().fit(example.X, example.y, sample_weight=COUNTS)
    shuffled = make_regressor().fit(example.X[order], example.y[order], sample_weight=COUNTS[order])
    assert_same_fit(first, shuffled, example.X_new)


def test_without_weights_all_rows_count_once(example, make_regressor, fitted):
    assert_same_fit(make_regressor().fit(example.X, example.y, sample_weight=np.ones(60)), fitted, example.X_new)


def test_prediction_follows_the_rows_that_count_most(example, make_regressor):
    X, y, weights = np.tile(example.X[:30], (2, 1)), np.repeat([1.0, -1.0], 30), np.repeat([19.0, 1.0], 30)
    model = make_regressor().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.predict(X), 0.9, atol=0.1)
    assert model.diagnostics_.noise_std == pytest.approx(np.sqrt(1 - 0.9**2), rel=0.1)


@pytest.mark.filterwarnings("ignore::hyperplanes.estimators.HyperplanesWarning")
@pytest.mark.parametrize("total", [1e-6, 0.5, 1.0])
def test_weights_may_sum_to_little(example, make_regressor, total):
    model = make_regressor().fit(example.X, example.y, sample_weight=np.full(60, total / 60))
    mean, std = model.predict(example.X_new, return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0.3 * example.y.std()).all()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.append(-1.0, np.ones(59)), "Negative values in data passed to `sample_weight`"),
        (np.zeros(60), "(?i)sample.weights? must .*(non-zero|positive)"),
        (np.append(1.0, np.zeros(59)), "sample_weight must be positive for at least 2 rows"),
        (np.append(np.nan, np.ones(59)), "sample_weight contains NaN"),
        (np.append(np.inf, np.ones(59)), "sample_weight contains infinity"),
        (np.ones(59), r"sample_weight.shape == \(59,\), expected \(60,\)"),
    ],
)
def test_bad_weights_are_named(example, make_regressor, weights, message):
    with pytest.raises(ValueError, match=message):
        make_regressor().fit(example.X, example.y, sample_weight=weights)


@given(st.integers(0, 2**32 - 1))
def test_table_of_weighted_rows_is_that_of_repeated_ones_in_any_order(seed):
    """With ties, missing values and text, whose medians and categories are those of the rows that count."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, size=12)
    counts[:2] = 1
    table = pd.DataFrame({"number": rng.integers(0, 5, 12).astype(float), "text": rng.choice(list("abc"), 12)})
    table.loc[rng.uniform(size=12) < 0.2, "number"] = np.nan
    y = rng.integers(0, 2, size=12)
    order = rng.permutation(np.repeat(np.arange(12), counts))
    regressor = HyperplaneProcessRegressor()
    weighted = read_training_table(regressor, table, y, counts)
    repeated = read_training_table(regressor, table.iloc[order], y[order], None)
    assert weighted.columns.categories == repeated.columns.categories
    np.testing.assert_array_equal(weighted.columns.medians, repeated.columns.medians)
    np.testing.assert_array_equal(weighted.columns.has_missing, repeated.columns.has_missing)
    for first, second in zip(weighted[:3], repeated[:3], strict=True):
        np.testing.assert_array_equal(first, second)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 30), st.just(3)), elements=st.integers(-2, 2).map(float)),
    st.integers(0, 2**31),
)
def test_rows_are_sorted_and_copies_merged_whatever_their_order(rows, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 4, size=len(rows)).astype(float)
    order = rng.permutation(len(rows))
    inputs, response, counts = merge_copies(rows[order], weights[order])
    expected, which = np.unique(rows, axis=0, return_inverse=True)
    np.testing.assert_array_equal(np.column_stack([inputs, response]), expected)
    np.testing.assert_array_equal(counts, np.bincount(which.ravel(), weights=weights))


def test_copies_are_merged(make_regressor):
    table = read_training_table(make_regressor(), [[2.0], [1.0], [2.0], [2.0]], [5.0, 4.0, 5.0, 6.0], [1, 1, 0.5, 1])
    np.testing.assert_array_equal(table.inputs, [[1.0], [2.0], [2.0]])
    np.testing.assert_array_equal(table.response, [4.0, 5.0, 6.0])
    np.testing.assert_array_equal(table.row_weights, [1.0, 1.5, 1.0])

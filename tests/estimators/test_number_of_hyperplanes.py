"""What the estimator says about the number of hyperplanes."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperplanes.estimators import HyperplaneProcessRegressor
from hyperplanes.estimators.number import summarise_number


def make_posterior(n_active, weights):
    return SimpleNamespace(n_active_in_all=np.array(n_active), log_weights=np.log(np.array(weights)))


def test_summary_by_hand():
    found = summarise_number(make_posterior([3, 1, 1, 5], [0.1, 0.25, 0.3, 0.35]))
    np.testing.assert_allclose(found.probabilities, [0, 0.55, 0, 0.1, 0, 0.35])
    assert found.mean == pytest.approx(2.6)
    assert (found.median, found.low, found.high) == (1, 1, 5)


def test_tails_of_2_5_percent_are_left_out():
    found = summarise_number(make_posterior([0, 2, 3, 4, 9], [0.02, 0.2, 0.5, 0.26, 0.02]))
    assert found.mean == pytest.approx(3.12)
    assert (found.median, found.low, found.high) == (3, 2, 4)


@pytest.mark.parametrize("number", [0, 7])
def test_certain_number_has_no_spread(number):
    found = summarise_number(make_posterior([number] * 3, [0.2, 0.3, 0.5]))
    assert found[:4] == (pytest.approx(number), number, number, number)
    np.testing.assert_allclose(found.probabilities, [0.0] * number + [1.0])


@given(st.lists(st.tuples(st.integers(0, 60), st.floats(1e-9, 1.0)), min_size=1, max_size=50))
def test_interval_holds_95_percent_and_the_median_halves(particles):
    n_active, weights = map(np.array, zip(*particles, strict=True))
    weights = weights / weights.sum()
    found = summarise_number(make_posterior(n_active, weights))
    slack = 1e-12
    assert weights[n_active < found.low].sum() <= 0.025 + slack
    assert weights[n_active > found.high].sum() <= 0.025 + slack
    assert weights[n_active < found.median].sum() <= 0.5 + slack
    assert weights[n_active > found.median].sum() <= 0.5 + slack
    assert n_active.min() <= found.low <= found.median <= found.high <= n_active.max()
    assert found.probabilities.sum() == pytest.approx(1)
    assert found.mean == pytest.approx(weights @ n_active)


def test_fit_counts_hyperplanes_beyond_which_there_is_a_training_row(fitted, example):
    posterior = fitted.posterior_
    beyond = (
        fitted.input_scaler_.to_model(example.X) @ np.swapaxes(posterior.normals, 1, 2) - posterior.offsets[:, None]
    )
    furthest = beyond.max(axis=1)
    assert ((furthest > 1e-5).sum(axis=1) <= posterior.n_active).all()
    assert (posterior.n_active <= (furthest > -1e-5).sum(axis=1)).all()
    assert fitted.n_hyperplanes_.mean == pytest.approx(np.exp(posterior.log_weights) @ posterior.n_active)
    assert fitted.n_hyperplanes_.high <= 2


def test_default_settings_infer_the_number(example):
    model = HyperplaneProcessRegressor(random_state=0).fit(example.X, example.y)
    n_hyperplanes = model.posterior_.n_hyperplanes
    assert n_hyperplanes.shape == (200,)
    assert len(set(n_hyperplanes)) > 1
    assert model.posterior_.offsets.shape[1] == n_hyperplanes.max()
    assert (model.posterior_.n_active <= n_hyperplanes).all()
    assert 1 <= model.n_hyperplanes_.low < model.n_hyperplanes_.high <= n_hyperplanes.max()
    assert model.score(example.X, example.y) > 0.9

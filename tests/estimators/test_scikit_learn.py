"""The estimator keeps scikit-learn's contract and works inside its tools."""

import pickle
from io import BytesIO

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

from hyperplanes.estimators import HyperplaneProcessRegressor


@pytest.mark.filterwarnings("ignore::hyperplanes.estimators.HyperplanesWarning")
@parametrize_with_checks([HyperplaneProcessRegressor(n_hyperplanes=6, n_particles=40)])
def test_scikit_learn_check(estimator, check, leave_out_moves):
    """There are ten shapes, and one check that needs a good fit."""
    if check.func.__name__ != "check_regressors_train":
        leave_out_moves()
    check(estimator)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::hyperplanes.estimators.HyperplanesWarning")
@parametrize_with_checks([HyperplaneProcessRegressor(n_hyperplanes=6, n_particles=40)])
def test_scikit_learn_check_with_moves(estimator, check):
    check(estimator)


def test_is_a_regressor(make_regressor):
    assert is_regressor(make_regressor())


def test_clone_is_unfitted_with_the_same_settings(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "posterior_")


def test_pickle_and_joblib_keep_predictions(fitted, example):
    expected = fitted.predict(example.X_new)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(example.X_new), expected)
    file = BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    np.testing.assert_array_equal(joblib.load(file).predict(example.X_new), expected)


def test_pipeline_predicts_intervals_of_its_last_step(example, make_regressor):
    pipeline = make_pipeline(PolynomialFeatures(1, include_bias=False), make_regressor()).fit(example.X, example.y)
    _, std = pipeline.predict(example.X_new, return_std=True)
    assert std.shape == (len(example.X_new),)


@pytest.mark.filterwarnings("ignore::hyperplanes.estimators.HyperplanesWarning")  # so few steps deserve them
def test_grid_search_chooses_a_setting_and_refits(example, make_regressor):
    search = GridSearchCV(make_regressor(), {"n_steps": [4, 8]}, cv=2).fit(example.X, example.y)
    assert search.best_params_["n_steps"] in (4, 8)
    assert search.predict(example.X_new).shape == (len(example.X_new),)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cross_val_predict_gives_one_value_a_row(example, make_regressor, n_jobs):
    with joblib.parallel_config("threading"):
        predicted = cross_val_predict(make_regressor(), example.X, example.y, cv=2, n_jobs=n_jobs)
    assert np.corrcoef(predicted, example.y)[0, 1] > 0.9

"""Classification: probabilities that can be trusted, labels of any kind, and scikit-learn's contract."""

import pickle
import re

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from hyperplanes import HyperplaneProcessClassifier, load
from one_shape import SHAPE

SMALL = SHAPE | {"random_state": 0}
NAMES = np.array(["far", "near", "outside"])


GOOD_FITS = ("check_classifiers_train", "check_classifiers_classes", "check_class_weight_classifiers")
"""Checks that need them."""


@pytest.mark.filterwarnings("ignore::hyperplanes.estimators.HyperplanesWarning")
@parametrize_with_checks([HyperplaneProcessClassifier(**SHAPE, n_steps=6)])
def test_scikit_learn_check(estimator, check, leave_out_moves):
    """There are a dozen shapes."""
    if check.func.__name__ not in GOOD_FITS:
        leave_out_moves()
    check(estimator)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::hyperplanes.estimators.HyperplanesWarning")
@parametrize_with_checks([HyperplaneProcessClassifier(n_hyperplanes=2, n_particles=20, n_steps=6)])
def test_scikit_learn_check_with_moves(estimator, check):
    check(estimator)


def draw(seed: int, n_rows: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Three classes that follow each other along the first of two columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n_rows, 2))
    return X, NAMES[np.digitize(X[:, 0] + 0.1 * rng.standard_normal(n_rows), [-0.3, 0.4])]


@pytest.fixture(scope="module")
def three() -> HyperplaneProcessClassifier:
    return HyperplaneProcessClassifier(**SMALL).fit(*draw(0))


@pytest.fixture(scope="module")
def two() -> HyperplaneProcessClassifier:
    X, y = draw(0)
    return HyperplaneProcessClassifier(**SMALL).fit(X, y == "near")


NEW = np.array([[-0.9, 0.0], [0.05, 0.0], [0.9, 0.0], [-0.3, 0.0]])


def test_is_a_classifier():
    assert is_classifier(HyperplaneProcessClassifier())


def test_classes_keep_their_labels(three, two):
    assert three.classes_.tolist() == ["far", "near", "outside"]
    assert three.predict(NEW[:3]).tolist() == ["far", "near", "outside"]
    assert two.predict(NEW[:3]).tolist() == [False, True, False]
    X, y = draw(1)
    assert three.score(X, y) > 0.8


@pytest.mark.parametrize("which", ["two", "three"])
def test_probabilities_add_up_and_lie_in_their_intervals(which, request):
    model = request.getfixturevalue(which)
    found, interval = model.predict_proba(NEW), model.predict_interval(NEW, coverage=0.99)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert interval.shape == (*found.shape, 2)
    assert np.all((interval[..., 0] <= found) & (found <= interval[..., 1]))
    assert np.diff(interval)[3, :2].min() > np.diff(interval)[1, :2].max()  # least is known near a border
    np.testing.assert_allclose(model.predict_log_proba(NEW), np.log(found))
    decisions = model.decision_function(NEW)
    expected = np.log(found / (1 - found))
    np.testing.assert_allclose(decisions, expected[:, 1] if which == "two" else expected, rtol=1e-6)


@pytest.mark.parametrize("which", ["two", "three"])
def test_draws_have_the_probabilities_as_their_mean(which, request):
    model = request.getfixturevalue(which)
    labels = model.sample(NEW, 4000, random_state=1)
    shares = np.stack([(labels == label).mean(axis=1) for label in model.classes_], axis=1)
    np.testing.assert_allclose(shares, model.predict_proba(NEW), atol=0.05)
    probabilities = model.sample(NEW, 500, target="mean", random_state=1)
    assert probabilities.shape == (4, 500, len(model.classes_))
    np.testing.assert_allclose(probabilities.mean(axis=1), model.predict_proba(NEW), atol=0.05)


def test_log_density_of_a_label_is_its_log_probability(three):
    labels = np.array(["near", "near", "outside", "elsewhere"])
    expected = three.predict_log_proba(NEW)[np.arange(3), [1, 1, 2]]
    np.testing.assert_allclose(three.log_predictive_density(NEW, labels), [*expected, -np.inf])


def test_a_weight_of_two_is_the_row_twice():
    X, y = draw(2, 60)
    settings = SMALL | {"n_steps": 5}
    weighted = HyperplaneProcessClassifier(**settings).fit(X, y, sample_weight=np.full(len(y), 2.0))
    twice = HyperplaneProcessClassifier(**settings).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    np.testing.assert_array_equal(weighted.predict_proba(NEW), twice.predict_proba(NEW))


def test_balanced_classes_count_alike():
    X, y = draw(3, 120)
    y = np.where(y == "near", "near", "far")
    rare = np.flatnonzero((y == "far") | (np.arange(len(y)) % 6 == 0))
    plain = HyperplaneProcessClassifier(**SMALL).fit(X[rare], y[rare])
    balanced = HyperplaneProcessClassifier(class_weight="balanced", **SMALL).fit(X[rare], y[rare])
    assert np.all(balanced.predict_proba([[0.05, 0.0]])[:, 1] > plain.predict_proba([[0.05, 0.0]])[:, 1])


def test_balanced_classes_count_rows_as_often_as_they_count(leave_out_moves):
    leave_out_moves()
    X, y = draw(3, 60)
    y, settings = np.where(y == "near", "near", "far"), SMALL | {"class_weight": "balanced"}
    weights = np.where(y == "near", 2.0, 1.0) * (np.arange(60) % 4 > 0)
    weighted = HyperplaneProcessClassifier(**settings).fit(X, y, sample_weight=weights)
    repeats = weights.astype(int)
    repeated = HyperplaneProcessClassifier(**settings).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    assert weighted.log_evidence_ == repeated.log_evidence_
    np.testing.assert_array_equal(weighted.predict_proba(NEW), repeated.predict_proba(NEW))


@pytest.mark.parametrize("weight", [0, -1, 1e13, np.nan])
def test_a_class_weight_that_is_out_of_bounds_is_named(weight):
    message = f"class_weight must be between 1e-12 and 1e+12, got {weight:g} of class 'a'"
    with pytest.raises(ValueError, match=re.escape(message)):
        HyperplaneProcessClassifier(class_weight={"a": weight}).fit(np.zeros((4, 1)), list("aabb"))


@pytest.mark.parametrize(
    "settings", [{"decomposition": "domain", "n_parts": 2, "blend": 0.3}, {"decomposition": "intensity", "n_parts": 3}]
)
def test_decompositions_of_classes(settings):
    model = HyperplaneProcessClassifier(**SMALL, **settings).fit(*draw(0))
    X, y = draw(1)
    assert model.score(X, y) > 0.75
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.predict_interval(X[:3]).shape == (3, 3, 2)
    assert model.sample(X[:3], 2).shape == (3, 2)


def test_files_and_pickles_keep_predictions(three, two, tmp_path):
    for model in (three, two):
        expected = model.predict_proba(NEW)
        model.save(tmp_path / "model.safetensors")
        again = load(tmp_path / "model.safetensors")
        assert isinstance(again, HyperplaneProcessClassifier)
        np.testing.assert_array_equal(again.predict_proba(NEW), expected)
        np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(NEW), expected)


def test_one_class_alone_is_an_error():
    with pytest.raises(ValueError, match="two classes or more"):
        HyperplaneProcessClassifier().fit(np.zeros((4, 1)), ["a"] * 4)
    with pytest.raises(ValueError, match="two classes or more"):
        HyperplaneProcessClassifier().fit(np.zeros((4, 1)), list("aabb"), sample_weight=[1, 1, 0, 0])


def test_averages_of_responses_are_refused():
    with pytest.raises(ValueError, match="paper-intensity"):
        HyperplaneProcessClassifier(decomposition="paper-intensity").fit(*draw(0))


def test_labels_of_another_kind_have_no_probability(three):
    assert three.log_predictive_density(NEW[:2], [17, 18]).tolist() == [-np.inf, -np.inf]

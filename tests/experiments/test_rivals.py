import numpy as np
import pytest

from hyperplanes.experiments import RIVALS, make_rival, rmse, simulate, split
from hyperplanes.experiments.rivals import (
    CLASSICAL,
    ReluNetwork,
    additive_trees,
    boosted_trees,
    bootstrapped,
    gaussian_process,
    natural_gradient_boosting,
    varying_additive_trees,
)

WITH_LIBRARIES_OF_THEIR_OWN = ("xgb", "bart", "varying bart", "ngboost")
"""Installed by `make statistics`, which runs what is marked `long`."""
PREDICTORS = {
    "xgb": bootstrapped(boosted_trees(5), 4, n_jobs=1),
    "trees": bootstrapped(CLASSICAL["dt"], 20, n_jobs=1),
    "bart": additive_trees,
    "varying bart": varying_additive_trees,
    "ngboost": natural_gradient_boosting,
    "gp": gaussian_process,
}


@pytest.fixture(scope="module")
def data():
    return split(simulate(7, n_rows=400, touching=True), 0)


@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_fits_reproducibly_and_beats_the_mean(name, data):
    train, test = data
    first, second = (make_rival(name, 3).fit(train.X, train.y).predict(test.X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert rmse(test.y, first) < 0.8 * np.std(test.y)


@pytest.mark.parametrize("name", CLASSICAL)
def test_every_classical_method_fits_reproducibly_and_beats_the_mean(name, data):
    train, test = data
    first, second = (CLASSICAL[name](3).fit(train.X, train.y).predict(test.X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert rmse(test.y, first) < 0.9 * np.std(test.y)


@pytest.mark.parametrize("name", ["svm_l", "svm_r"])
def test_support_vectors_do_not_depend_on_units(name, data):
    train, test = data
    plain = CLASSICAL[name](0).fit(train.X, train.y).predict(test.X)
    scaled = CLASSICAL[name](0).fit(100 * train.X, 1000 * train.y - 5).predict(100 * test.X)
    np.testing.assert_allclose(scaled, 1000 * plain - 5, rtol=0, atol=1.0)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name in WITH_LIBRARIES_OF_THEIR_OWN)) for name in PREDICTORS],
)
def test_every_predictor_has_a_distribution_around_the_truth(name, data):
    train, test = data
    predictive = PREDICTORS[name](train.X, train.y, test.X, 1)
    assert predictive.mean().shape == test.y.shape
    assert rmse(test.y, predictive.mean()) < 0.9 * np.std(test.y)
    assert (np.asarray(predictive.deviations) > 0).all()
    standardised = (test.y - predictive.mean()) / predictive.draw(np.random.default_rng(0), 500).std(axis=0)
    assert 0.5 < standardised.std() < 2.5


def test_bootstraps_of_a_constant_leave_all_to_the_noise(rng):
    y = rng.standard_normal(300)

    class Mean:
        def fit(self, X, y):
            self.mean_ = y.mean()
            return self

        def predict(self, X):
            return np.full(len(X), self.mean_)

    predictive = bootstrapped(lambda seed: Mean(), 200, n_jobs=1)(np.zeros((300, 1)), y, np.zeros((2, 1)), 0)
    assert predictive.means.std() == pytest.approx(y.std() / np.sqrt(300), rel=0.2)
    assert predictive.deviations.item() == pytest.approx(y.std(), rel=0.05)


@pytest.mark.long  # with Keras, which `make statistics` installs
def test_the_network_learns_and_is_looked_at_on_the_way(data):
    train, test = data
    network, errors = ReluNetwork(8, epochs=40, batch_size=16, seed=2), []
    for look in network.train(train.X, train.y, [1, 10, 40]):
        errors.append((look, rmse(test.y, network.predict(test.X))))
    assert [look for look, _ in errors] == [1, 10, 40]
    assert errors[-1][1] < 0.7 * np.std(test.y)
    assert errors[-1][1] < errors[0][1]
    again = ReluNetwork(8, epochs=40, batch_size=16, seed=2).fit(train.X, train.y).predict(test.X)
    assert rmse(again, network.predict(test.X)) < 0.02


def test_rivals_are_fresh_each_time():
    assert make_rival("linear", 0) is not make_rival("linear", 0)


def test_unknown_rival_names_the_known_ones():
    with pytest.raises(ValueError, match="one of linear, forest, rbf svm, got 'oracle'"):
        make_rival("oracle", 0)

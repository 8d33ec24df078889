import numpy as np
import pytest

from hyperplanes.experiments import RIVALS, make_rival, rmse, simulate, split


@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_fits_reproducibly_and_beats_the_mean(name):
    train, test = split(simulate(7, n_rows=400, touching=True), 0)
    first, second = (make_rival(name, 3).fit(train.X, train.y).predict(test.X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert rmse(test.y, first) < 0.8 * np.std(test.y)


def test_rivals_are_fresh_each_time():
    assert make_rival("linear", 0) is not make_rival("linear", 0)


def test_unknown_rival_names_the_known_ones():
    with pytest.raises(ValueError, match="one of linear, forest, rbf svm, got 'oracle'"):
        make_rival("oracle", 0)

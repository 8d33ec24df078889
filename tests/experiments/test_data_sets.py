import numpy as np
import pytest

from hyperplanes.experiments.data_sets import DATA_SETS, DataSet, copies, load_abalone, load_red_wine, split_rows

SHAPES = {
    "friedman1": (1000, 10),
    "friedman2": (1000, 4),
    "friedman3": (1000, 4),
    "diabetes": (442, 10),
    "abalone": (4177, 10),
    "wine": (1599, 11),
    "paper_p5m5": (1000, 5),
    "paper_p20m10": (1000, 20),
    "friedman1_noise20": (1000, 30),
    "friedman1_noise100": (1000, 110),
}
MEASURED = ("diabetes", "abalone", "wine")


def test_every_data_set_is_listed_here():
    assert set(SHAPES) == set(DATA_SETS)


@pytest.mark.parametrize("name", SHAPES)
def test_shape_and_numbers(name):
    X, y = DATA_SETS[name](0)
    assert X.shape == SHAPES[name]
    assert y.shape == SHAPES[name][:1]
    assert X.dtype == y.dtype == np.float64
    assert np.isfinite(X).all()
    assert np.isfinite(y).all()
    assert (np.ptp(X, axis=0) > 0).all()


@pytest.mark.parametrize("name", SHAPES)
def test_seed_decides_simulated_data_and_no_measured_ones(name):
    first, again, other = (DATA_SETS[name](seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert np.array_equal(first.X, other.X) == np.array_equal(first.y, other.y) == (name in MEASURED)


def test_abalones_have_one_sex_each_and_the_rings_of_the_source():
    X, y = load_abalone()
    np.testing.assert_array_equal(X[:, :3].sum(axis=0), [1307, 1342, 1528])  # female, infant, male
    np.testing.assert_array_equal(X[:, :3].sum(axis=1), 1)
    np.testing.assert_allclose(X[0], [0, 0, 1, 0.455, 0.365, 0.095, 0.514, 0.2245, 0.101, 0.15])
    assert y[0] == 15
    assert (y.min(), y.max()) == (1, 29)
    assert y.mean() == pytest.approx(9.934, abs=5e-4)


def test_red_wine_holds_240_copies():
    X, y = load_red_wine()
    assert len(y) - len(np.unique(np.column_stack([X, y]), axis=0)) == 240
    np.testing.assert_array_equal(np.unique(y, return_counts=True), [[3, 4, 5, 6, 7, 8], [10, 53, 681, 638, 199, 18]])
    np.testing.assert_allclose(X[0], [7.4, 0.7, 0, 1.9, 0.076, 11, 34, 0.9978, 3.51, 0.56, 9.4])


@pytest.mark.parametrize("n_columns", [20, 100])
def test_noise_columns_leave_the_others_as_they_are(n_columns):
    plain, noisy = DATA_SETS["friedman1"](3), DATA_SETS[f"friedman1_noise{n_columns}"](3)
    np.testing.assert_array_equal(noisy.X[:, :10], plain.X)
    np.testing.assert_array_equal(noisy.y, plain.y)
    correlations = np.corrcoef(np.column_stack([noisy.X, noisy.y]).T)[10:-1]
    assert np.abs(np.delete(correlations, range(10, 10 + n_columns), axis=1)).max() < 0.15  # five deviations


def test_split_holds_out_a_quarter_and_loses_no_row():
    data = DataSet(np.arange(442.0)[:, None] * [1, 10], np.arange(442.0))
    train, test = split_rows(data, 0)
    assert (len(train.y), len(test.y)) == (332, 110)
    np.testing.assert_array_equal(np.sort(np.concatenate([train.y, test.y])), data.y)
    for part in (train, test):
        np.testing.assert_array_equal(part.X, part.y[:, None] * [1, 10])
    assert not np.array_equal(np.sort(train.y), train.y)


def test_split_depends_on_its_seed():
    data = DataSet(np.zeros((100, 1)), np.arange(100.0))
    np.testing.assert_array_equal(split_rows(data, 2)[1].y, split_rows(data, 2)[1].y)
    assert not np.array_equal(split_rows(data, 2)[1].y, split_rows(data, 3)[1].y)


def test_copies_are_rows_with_the_same_inputs_and_response():
    known = DataSet(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([5.0, 6.0]))
    rows = DataSet(np.array([[3.0, 4.0], [3.0, 4.0], [1.0, 2.0], [2.0, 1.0]]), np.array([6.0, 5.0, 5.0, 5.0]))
    np.testing.assert_array_equal(copies(rows, known), [True, False, True, False])

import numpy as np
import pytest
from scipy import stats

from hyperplanes.experiments import simulate, split


def active(simulation):
    return simulation.offsets < simulation.X @ simulation.normals.T


def test_response_is_the_network_plus_noise():
    data = simulate(3, n_rows=4000, n_columns=3, n_hyperplanes=5, noise=0.2)
    for row in (0, 17, 3999):
        hidden = [max(data.X[row] @ n - mu, 0.0) for n, mu in zip(data.normals, data.offsets, strict=True)]
        assert data.f[row] == pytest.approx(data.coefficients[0] + np.dot(data.coefficients[1:], hidden))
    residual = data.y - data.f
    assert stats.kstest(residual, stats.norm(0, 0.2).cdf).pvalue > 1e-3
    np.testing.assert_array_equal(data.function(data.X), data.f)


def test_first_study_is_the_default():
    data = simulate(0)
    assert data.X.shape == (5000, 2)
    assert data.normals.shape == (2, 2)
    assert data.noise == 0.1
    assert np.abs(data.X).max() <= 1.0


def test_truth_has_the_paper_distribution():
    draws = [simulate(seed, n_rows=1, n_columns=3, n_hyperplanes=4) for seed in range(500)]
    normals = np.concatenate([draw.normals for draw in draws])
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0)
    # On the sphere in three dimensions every coordinate is uniform (Archimedes).
    for column in normals.T:
        assert stats.kstest(column, stats.uniform(-1, 2).cdf).pvalue > 1e-3
    offsets = np.concatenate([draw.offsets for draw in draws])
    assert stats.kstest(offsets, stats.uniform(0, np.sqrt(3)).cdf).pvalue > 1e-3
    intercepts = [draw.coefficients[0] for draw in draws]
    assert stats.kstest(intercepts, stats.norm(0, 0.1).cdf).pvalue > 1e-3
    others = np.concatenate([draw.coefficients[1:] for draw in draws])
    assert stats.kstest(others, stats.norm().cdf).pvalue > 1e-3


def test_same_seed_same_data_and_other_seed_other_data():
    first, second, other = simulate(4, n_rows=50), simulate(4, n_rows=50), simulate(5, n_rows=50)
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.allclose(first.X, other.X)


def test_touching_lines_all_have_active_and_inactive_rows():
    for seed in range(100):
        share = active(simulate(seed, n_rows=200, touching=True)).mean(axis=0)
        assert ((share > 0) & (share < 1)).all()


def test_without_touching_some_hyperplanes_miss_the_data():
    missed = [~active(simulate(seed, n_rows=200)).any(axis=0) for seed in range(100)]
    assert 0.05 < np.mean(missed) < 0.5


def test_touching_keeps_the_lines_that_already_touch():
    for seed in range(50):
        plain, touching = simulate(seed, n_rows=200), simulate(seed, n_rows=200, touching=True)
        kept = active(plain).any(axis=0)
        np.testing.assert_array_equal(plain.normals[kept], touching.normals[kept])
        np.testing.assert_array_equal(plain.offsets[kept], touching.offsets[kept])


def test_split_holds_out_a_quarter_and_loses_no_row():
    data = simulate(1, n_rows=1000)
    train, test = split(data, 1)
    assert (len(train.y), len(test.y)) == (750, 250)
    np.testing.assert_array_equal(np.sort(np.concatenate([train.y, test.y])), np.sort(data.y))
    for part in (train, test):
        np.testing.assert_allclose(part.f, data.function(part.X))
        np.testing.assert_array_equal(part.normals, data.normals)


def test_split_depends_on_its_seed():
    data = simulate(1, n_rows=100)
    np.testing.assert_array_equal(split(data, 2).test.y, split(data, 2).test.y)
    assert not np.array_equal(split(data, 2).test.y, split(data, 3).test.y)


@pytest.mark.parametrize("name", ["n_rows", "n_columns", "n_hyperplanes"])
def test_sizes_below_one_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        simulate(0, **{name: 0})


@pytest.mark.parametrize("noise", [-0.1, np.nan, np.inf])
def test_impossible_noise_is_refused(noise):
    with pytest.raises(ValueError, match="noise must be finite and not negative"):
        simulate(0, noise=noise)


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0])
def test_impossible_split_is_refused(share):
    with pytest.raises(ValueError, match="test_share must be between 0 and 1"):
        split(simulate(0, n_rows=10), 0, test_share=share)

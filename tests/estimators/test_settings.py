import numpy as np
import pytest

from hyperplanes.estimators.settings import n_bytes, usual_n_hyperplanes


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "expected"), [(2, 1, 1), (15, 30, 1), (60, 2, 10), (442, 10, 20), (10**6, 3, 20)]
)
def test_usual_number_of_hyperplanes(n_rows, n_columns, expected):
    assert usual_n_hyperplanes(n_rows, n_columns) == expected


def test_budget_is_in_gib():
    assert n_bytes("memory_budget", 0.5) == 2**29
    assert n_bytes("memory_budget", np.float32(2)) == 2**31


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_hyperplanes": 0}, "n_hyperplanes must be at least 1, got 0"),
        ({"n_hyperplanes": "many"}, "n_hyperplanes must be an integer or \"auto\", got 'many'"),
        ({"n_hyperplanes": 2.5}, "n_hyperplanes must be an integer, got 2.5"),
        ({"n_particles": 1}, "n_particles must be at least 2, got 1"),
        ({"n_particles": True}, "n_particles must be an integer, got True"),
        ({"n_steps": 0}, "n_steps must be at least 1"),
        ({"sampler": "gibbs"}, "sampler must be one of .*paper.*, got 'gibbs'"),
        ({"memory_budget": 0}, "memory_budget must be a positive number of GiB, got 0"),
        ({"memory_budget": np.inf}, "memory_budget must be a positive number of GiB, got inf"),
        ({"random_state": "seed"}, "cannot be used to seed"),
        ({"n_jobs": 0}, "n_jobs == 0"),
    ],
)
def test_bad_setting_is_named(example, make_regressor, settings, message):
    with pytest.raises(ValueError, match=message):
        make_regressor(**settings).fit(example.X, example.y)


@pytest.mark.parametrize("coverage", [0, 1, -0.5, 95, "most", np.nan])
def test_bad_coverage_is_named(fitted, example, coverage):
    with pytest.raises(ValueError, match="coverage must be strictly between 0 and 1"):
        fitted.predict_interval(example.X_new, coverage=coverage)


@pytest.mark.parametrize("method", ["predict_interval", "sample"])
def test_bad_target_is_named(fitted, example, method):
    with pytest.raises(ValueError, match="target must be one of 'response', 'mean', got 'f'"):
        getattr(fitted, method)(example.X_new, target="f")


def test_bad_number_of_draws_is_named(fitted, example):
    with pytest.raises(ValueError, match="n_draws must be at least 1, got 0"):
        fitted.sample(example.X_new, n_draws=0)

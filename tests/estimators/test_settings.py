import numpy as np
import pytest

from hyperplanes.estimators.settings import n_bytes, usual_n_hyperplanes
from hyperplanes.model import Prior


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
        ({"sampler": ["auto"]}, r"sampler must be one of 'auto', 'paper', got \['auto'\]"),
        ({"n_jobs": 0}, "n_jobs must be a number of threads, -1 for all cores or None, got 0"),
        ({"n_jobs": 2.5}, "n_jobs must be .*, got 2.5"),
        ({"n_jobs": "all"}, "n_jobs must be .*, got 'all'"),
        ({"progress": "yes"}, "progress must be True or False, got 'yes'"),
    ],
)
def test_bad_setting_is_named(example, make_regressor, settings, message):
    with pytest.raises(ValueError, match=message):
        make_regressor(**settings).fit(example.X, example.y)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"reach": 2.0}, "prior must be a hyperplanes.Prior or None, got dict"),
        (Prior(noise_scale="small"), "prior.noise_scale must be a number, got 'small'"),
        (Prior(reach=None), "prior.reach must be a number, got None"),
        (Prior(coefficient_mean=np.zeros(2)), "prior.coefficient_mean must be a number, got array"),
    ],
)
def test_bad_prior_is_named(example, make_regressor, prior, message):
    with pytest.raises(TypeError, match=message):
        make_regressor(prior=prior).fit(example.X, example.y)


@pytest.mark.parametrize("target", ["response", "mean"])
def test_widest_interval_is_finite(fitted, example, target):
    assert np.isfinite(fitted.predict_interval(example.X_new, coverage=1 - 2**-52, target=target)).all()
    with pytest.raises(ValueError, match=r"coverage must be at most 1 - 2\*\*-52"):
        fitted.predict_interval(example.X_new, coverage=1 - 2**-53, target=target)


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

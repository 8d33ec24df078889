import numpy as np
import pytest

import hyperplanes.estimators.parts as module
from hyperplanes import HyperplaneProcessRegressor, Prior, paper_prior
from hyperplanes.estimators.settings import n_bytes, read_n_hyperplanes, read_prior


def test_number_of_hyperplanes_is_unknown_by_default_and_ten_for_the_papers_sampler():
    default = HyperplaneProcessRegressor().n_hyperplanes
    assert read_n_hyperplanes(default, "auto") is None
    assert read_n_hyperplanes(default, "paper") == 10
    assert read_n_hyperplanes(np.int64(7), "auto") == read_n_hyperplanes(7, "paper") == 7


def test_prior_is_the_papers_for_the_papers_sampler_unless_it_is_given():
    given = Prior(noise_scale=0.5)
    assert read_prior(None, "auto", 3) == Prior()
    assert read_prior(None, "paper", 3) == paper_prior(3)
    assert read_prior(given, "auto", 3) is read_prior(given, "paper", 3) is given


def test_papers_sampler_refuses_a_prior_that_is_not_plain(example, make_regressor):
    with pytest.raises(ValueError, match=r'sampler="paper" needs a prior as plain as paper_prior\(n_columns\)'):
        make_regressor(sampler="paper", prior=Prior()).fit(example.X, example.y)


class StoppedError(Exception):
    """Raised in place of a long fit."""


@pytest.mark.parametrize("reach", [0.0, 1.5])
def test_prior_of_given_reach_has_inputs_scaled_to_the_cube(example, make_regressor, monkeypatch, reach):
    seen = []

    def stop(key, inputs, *args, **options):
        seen.append(inputs)
        raise StoppedError

    monkeypatch.setattr(module, "fit", stop)
    with pytest.raises(StoppedError):
        make_regressor(prior=Prior(reach=reach)).fit(example.X**3, example.y)
    (scaled,) = seen
    if reach:
        np.testing.assert_allclose([scaled.min(axis=0), scaled.max(axis=0)], [[-1, -1], [1, 1]])
    else:
        np.testing.assert_allclose([scaled.mean(axis=0), scaled.std(axis=0)], [[0, 0], [1, 1]], atol=0.05)


def test_budget_is_in_gib():
    assert n_bytes("memory_budget", 0.5) == 2**29
    assert n_bytes("memory_budget", np.float32(2)) == 2**31


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_hyperplanes": 0}, "n_hyperplanes must be at least 1.*, got 0"),
        ({"n_hyperplanes": "many"}, "n_hyperplanes must be an integer or \"auto\", got 'many'"),
        ({"n_hyperplanes": 2.5}, "n_hyperplanes must be an integer, got 2.5"),
        ({"n_particles": 1}, "n_particles must be at least 2, got 1"),
        ({"n_particles": True}, "n_particles must be an integer, got True"),
        ({"n_steps": 0}, "n_steps must be at least 1"),
        ({"budget": 0}, "budget must be a positive number of seconds, got 0"),
        ({"budget": "short"}, "budget must be a positive number of seconds, got 'short'"),
        ({"budget": 1.0, "n_steps": 5}, 'a budget needs steps that adapt to it: n_steps=None and sampler="auto"'),
        ({"budget": 1.0, "sampler": "paper"}, 'a budget needs .* sampler="auto"'),
        ({"decomposition": "columns"}, "decomposition must be one of 'intensity', 'domain', .*, None, got 'columns'"),
        ({"n_parts": 0}, "n_parts must be at least 1, got 0"),
        ({"sampler": "gibbs"}, "sampler must be one of .*paper.*, got 'gibbs'"),
        ({"memory_budget": 0}, "memory_budget must be a positive number of GiB, got 0"),
        ({"memory_budget": np.inf}, "memory_budget must be a positive number of GiB, got inf"),
        ({"random_state": "seed"}, "cannot be used to seed"),
        ({"sampler": ["auto"]}, r"sampler must be one of 'auto', 'paper', got \['auto'\]"),
        ({"n_jobs": 0}, "n_jobs must be a number of threads, -1 for all cores or None, got 0"),
        ({"n_jobs": 2.5}, "n_jobs must be .*, got 2.5"),
        ({"n_jobs": "all"}, "n_jobs must be .*, got 'all'"),
        ({"device": "abacus:0"}, "there is no device 'abacus:0' here; JAX knows cpu:0"),
        ({"device": "cpu:-1"}, "there is no device 'cpu:-1' here"),
        ({"device": "cpu:99"}, "there is no device 'cpu:99' here"),
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

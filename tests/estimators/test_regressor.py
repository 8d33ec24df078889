import numpy as np
import pytest
from scipy.integrate import trapezoid

import hyperplanes
import hyperplanes.estimators.parts as module
from golden_models import FOLDER, table


def everything(model, X, y):
    """All numbers that a fitted model reports, in the user's units."""
    mean, std = model.predict(X, return_std=True)
    return {
        "mean": mean,
        "std": std,
        "response interval": model.predict_interval(X),
        "mean interval": model.predict_interval(X, target="mean"),
        "draws": model.sample(X, n_draws=3, random_state=1),
        "density": model.log_predictive_density(X, y),
        "evidence": model.log_evidence_,
    }


def test_function_and_noise_are_recovered(make_rows, make_regressor):
    X, y, X_new = make_rows(n_rows=256)
    model = make_regressor().fit(X, y)
    truth = 3.0 * np.maximum(X_new[:, 0] - 0.2, 0) - 0.5 * np.maximum(-X_new[:, 1], 0)
    assert np.sqrt(np.mean((model.predict(X_new) - truth) ** 2)) < 0.05
    assert model.diagnostics_.noise_std == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize(("factor", "shift"), [(250.0, -1e4), (1e-3, 0.0)])
def test_affine_change_of_the_response_changes_only_the_units(example, make_regressor, fitted, factor, shift):
    X, y, X_new = example
    y_new = np.linspace(y.min(), y.max(), len(X_new))
    moved = make_regressor().fit(X, factor * y + shift)
    got, expected = everything(moved, X_new, factor * y_new + shift), everything(fitted, X_new, y_new)
    for name in ("mean", "response interval", "mean interval", "draws"):
        np.testing.assert_allclose((got[name] - shift) / factor, expected[name], rtol=1e-5, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(got["std"] / factor, expected["std"], rtol=1e-5)
    np.testing.assert_allclose(got["density"], expected["density"] - np.log(factor), rtol=1e-5, atol=1e-5)
    assert got["evidence"] == pytest.approx(expected["evidence"] - len(y) * np.log(factor), rel=1e-5)
    assert moved.log_evidence_error_ == pytest.approx(fitted.log_evidence_error_, rel=1e-4)


def test_affine_change_of_the_inputs_changes_nothing(example, make_regressor, fitted):
    moved = make_regressor().fit(4.0 * example.X + [1.0, -7.0], example.y)
    np.testing.assert_allclose(
        moved.predict(4.0 * example.X_new + [1.0, -7.0]), fitted.predict(example.X_new), rtol=1e-5, atol=1e-5
    )
    assert moved.log_evidence_ == pytest.approx(fitted.log_evidence_, rel=1e-6)


@pytest.mark.parametrize("settings", [{"n_jobs": 2}, {"n_jobs": None}, {"memory_budget": 1e-4}, {"progress": True}])
def test_result_does_not_depend_on(example, make_regressor, settings):
    X, y, X_new = example
    y_new = np.zeros(len(X_new))
    many = {"n_particles": 200}  # more than one thread's share
    expected = everything(make_regressor(n_jobs=1, **many).fit(X, y), X_new, y_new)
    got = everything(make_regressor(**many | settings).fit(X, y), X_new, y_new)
    for name, value in expected.items():
        np.testing.assert_array_equal(got[name], value, err_msg=name)


def test_seeds_decide_the_result(example, make_regressor):
    X, y, X_new = example
    first, again, other = (make_regressor(random_state=seed).fit(X, y).predict(X_new) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_random_state_instance_advances(example, make_regressor):
    model = make_regressor(random_state=np.random.RandomState(3))
    first = model.fit(example.X, example.y).predict(example.X_new)
    assert (first != model.fit(example.X, example.y).predict(example.X_new)).any()


def test_no_seed_differs_from_fit_to_fit(example, make_regressor):
    model = make_regressor(random_state=None)
    first = model.fit(example.X, example.y).predict(example.X_new)
    assert (first != model.fit(example.X, example.y).predict(example.X_new)).any()


@pytest.mark.parametrize("budget", [1e-7, 1e-5, 1.4e-4])
def test_prediction_in_small_pieces_equals_prediction_at_once(fitted, make_rows, budget):
    X = make_rows(n_rows=333).X
    pieces = fitted.__class__(**fitted.get_params() | {"memory_budget": budget})
    vars(pieces).update({name: value for name, value in vars(fitted).items() if name.endswith("_")})
    y = np.zeros(len(X))
    for name, value in everything(fitted, X, y).items():
        np.testing.assert_array_equal(everything(pieces, X, y)[name], value, err_msg=name)


@pytest.mark.parametrize("target", ["response", "mean"])
def test_intervals_are_ordered_and_nested(fitted, example, target):
    ends = [fitted.predict_interval(example.X_new, coverage, target).T for coverage in (0.99, 0.9, 0.5, 0.1)]
    lows, highs = zip(*ends, strict=True)
    chain = np.array([*lows, *reversed(highs)])
    assert (np.diff(chain, axis=0) >= 0).all()
    assert (highs[0] > lows[0]).all()


def test_interval_of_the_response_is_wider(fitted, example):
    response, mean = (np.diff(fitted.predict_interval(example.X_new, target=t)) for t in ("response", "mean"))
    assert (response > mean).all()


def test_interval_covers_its_share_of_draws(fitted, example):
    low, high = fitted.predict_interval(example.X_new, coverage=0.8).T
    draws = fitted.sample(example.X_new, n_draws=4000, random_state=5)
    inside = (draws > low[:, None]) & (draws < high[:, None])
    assert inside.mean() == pytest.approx(0.8, abs=0.02)


def test_moments_match_the_draws(fitted, example):
    mean, std = fitted.predict(example.X_new, return_std=True)
    draws = fitted.sample(example.X_new, n_draws=4000, random_state=6)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=5 * std.max() / np.sqrt(4000))
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.1)


def test_draws_of_the_mean_have_no_noise(fitted, example):
    X = np.repeat(example.X_new[:1], 3, axis=0)
    draws = fitted.sample(X, n_draws=4, target="mean", random_state=0)
    assert draws.shape == (3, 4)
    np.testing.assert_allclose(draws, draws[[0, 0, 0]], rtol=1e-6)
    assert (np.ptp(fitted.sample(X, n_draws=4, random_state=0), axis=0) > 0).all()


def test_draws_repeat_with_their_seed(fitted, example):
    first, again, other = (fitted.sample(example.X_new, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_predictive_density_integrates_to_one_in_the_users_units(example, make_regressor):
    model = make_regressor().fit(example.X, 50.0 * example.y + 3.0)
    low, high = model.predict_interval(example.X_new[:1], coverage=0.999)[0]
    grid = np.linspace(low - 3 * (high - low), high + 3 * (high - low), 4001)
    density = np.exp(model.log_predictive_density(np.repeat(example.X_new[:1], len(grid), axis=0), grid))
    assert trapezoid(density, grid) == pytest.approx(1, abs=2e-3)


def test_std_costs_nothing_when_not_asked_for(fitted, example, monkeypatch):
    monkeypatch.delattr(module.prediction, "moments")
    fitted.predict(example.X_new)
    with pytest.raises(AttributeError):
        fitted.predict(example.X_new, return_std=True)


def interrupt(progress):
    raise KeyboardInterrupt


def interrupted(make_fit):
    def fit(*args, observe=None, **options):
        return make_fit(*args, observe=interrupt, **options)

    return fit


def test_interrupted_first_fit_leaves_an_unfitted_estimator(example, make_regressor, monkeypatch):
    monkeypatch.setattr(module, "fit", interrupted(module.fit))
    model = make_regressor()
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(example.X, example.y)
    assert vars(model) == before


def test_interrupted_or_failed_refit_keeps_the_earlier_fit(example, make_regressor, monkeypatch):
    model = make_regressor().fit(example.X, example.y)
    expected, before = model.predict(example.X_new), dict(vars(model))
    monkeypatch.setattr(module, "fit", lambda *args, **options: interrupt(None))
    with pytest.raises(KeyboardInterrupt):
        model.fit(example.X[:, :1], example.y)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full((3, 5), np.inf), np.ones(3))
    assert vars(model).keys() == before.keys()
    np.testing.assert_array_equal(model.predict(example.X_new), expected)


def test_interruption_closes_the_progress_bar(example, make_regressor, monkeypatch, capsys):
    monkeypatch.setattr(module, "fit", interrupted(module.fit))
    with pytest.raises(KeyboardInterrupt):
        make_regressor(progress=True).fit(example.X, example.y)
    monkeypatch.undo()
    make_regressor(progress=True).fit(example.X, example.y)
    assert "exponent 1" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["plain", "domain", "paper"])
def test_cumulative_probabilities_at_the_ends_of_an_interval_are_its_tails(name):
    model, rows = hyperplanes.load(FOLDER / f"{name}.safetensors"), table(20, seed=4)
    for end, tail in zip(model.predict_interval(rows, 0.8).T, (0.1, 0.9), strict=True):
        np.testing.assert_allclose(model.cumulative_probability(rows, end), tail, atol=1e-6)

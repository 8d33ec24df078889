"""Noise that varies with the inputs, and noise with heavy tails."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hyperplanes import HyperplaneProcessRegressor, HyperplanesWarning, load
from hyperplanes.estimators.family import NOISES, choose
from one_shape import SHAPE

SMALL = SHAPE | {"random_state": 0}
NEW = np.array([[-0.8, 0.1], [0.0, 0.1], [0.8, 0.1]])


def draw(seed: int, n_rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Noise that grows from 0.05 to 0.5 along the first of two columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n_rows, 2))
    return X, X[:, 0] + 0.16 * 10 ** (0.5 * X[:, 0]) * rng.standard_normal(n_rows)


def fit(noise: str, X: np.ndarray, y: np.ndarray, **settings) -> HyperplaneProcessRegressor:
    return HyperplaneProcessRegressor(noise=noise, **(SMALL | settings)).fit(X, y)


@pytest.fixture(scope="module")
def varying() -> HyperplaneProcessRegressor:
    return fit("varying", *draw(0))


def outliers(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(200, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(200)
    return X, np.where(np.arange(200) % 20 == 0, y + 5, y)


@pytest.fixture(scope="module")
def student() -> HyperplaneProcessRegressor:
    return fit("student", *outliers(0))


def test_intervals_are_as_wide_as_the_noise_is_there(varying):
    widths = np.diff(varying.predict_interval(NEW))[:, 0]
    assert widths[0] < 0.6 * widths[1] < 0.36 * widths[2]
    _, std = varying.predict(NEW, return_std=True)
    np.testing.assert_allclose(std, 0.16 * 10 ** (0.5 * NEW[:, 0]), rtol=0.4)
    draws = varying.sample(NEW, 4000, random_state=1)
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.1)
    assert varying.noise_ == "varying"
    assert 0.05 < varying.diagnostics_.noise_std < 0.5


def test_density_is_that_of_the_intervals(varying):
    grid = np.linspace(-6, 6, 4001)
    density = np.exp(varying.log_predictive_density(np.zeros((len(grid), 2)), grid))
    total = np.cumsum(density) * (grid[1] - grid[0])
    assert total[-1] == pytest.approx(1, abs=1e-3)
    low, high = varying.predict_interval([[0.0, 0.0]], coverage=0.9)[0]
    np.testing.assert_allclose(np.interp([low, high], grid, total), [0.05, 0.95], atol=2e-3)


def test_heavy_tails_are_not_misled_by_outliers(student):
    plain = fit("constant", *outliers(0))
    errors = [np.abs(model.predict(NEW) - NEW[:, 0]).max() for model in (student, plain)]
    assert errors[0] < 0.5 * errors[1]
    assert student.posterior_.degrees.min() > 2
    assert np.median(student.posterior_.degrees) < 6


def test_quantiles_of_heavy_tails_are_those_of_their_density(student):
    grid = np.linspace(-40, 40, 80001)
    density = np.exp(student.log_predictive_density(np.zeros((len(grid), 2)), grid))
    total = np.cumsum(density) * (grid[1] - grid[0])
    low, high = student.predict_interval([[0.0, 0.0]], coverage=0.9)[0]
    np.testing.assert_allclose(np.interp([low, high], grid, total), [0.05, 0.95], atol=5e-3)
    draws = student.sample([[0.0, 0.0]], 20_000, random_state=1)[0]
    np.testing.assert_allclose([np.mean(draws < low), np.mean(draws < high)], [0.05, 0.95], atol=0.01)


@pytest.mark.parametrize(
    ("log_evidences", "n_rows", "expected"),
    [
        ({"constant": (-50.0, 0.1), "varying": (-46.1, 0.1), "student": (-70.0, 0.1)}, 200, "constant"),
        ({"constant": (-50.0, 0.1), "varying": (-45.9, 0.1), "student": (-70.0, 0.1)}, 200, "varying"),
        ({"constant": (-50.0, 3.0), "varying": (-40.1, 4.0), "student": (-70.0, 0.1)}, 200, "constant"),
        ({"constant": (-50.0, 3.0), "varying": (-39.9, 4.0), "student": (-70.0, 0.1)}, 200, "varying"),
        ({"constant": (-50.0, 0.1), "varying": (-45.0, 0.1), "student": (-44.0, 0.1)}, 200, "student"),
        ({"student": (-50.0, 0.1)}, 200, "student"),
    ],
)
def test_another_kind_is_taken_where_it_is_worth_the_rows_and_two_errors(log_evidences, n_rows, expected):
    assert choose(log_evidences, n_rows) == expected


def test_auto_takes_noise_that_varies_where_it_does():
    model = fit("auto", *draw(0))
    (found,) = model.log_evidences_
    assert set(found) == set(NOISES)
    assert model.noise_ == "varying"
    assert found["varying"] == (model.log_evidence_, model.log_evidence_error_)
    assert all(error > 0 for _, error in found.values())


def test_auto_is_the_fit_with_constant_noise_where_it_is():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, size=(200, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(200)
    model, constant = fit("auto", X, y), fit("constant", X, y)
    assert model.noise_ == "constant"
    assert model.log_evidences_[0]["constant"] == constant.log_evidences_[0]["constant"]
    np.testing.assert_array_equal(model.predict_interval(NEW), constant.predict_interval(NEW))


def only_the_function_moves(key: jax.Array, unknowns: Any, *shared: Any) -> tuple[Any, jax.Array]:
    return unknowns, jnp.array([0.5, 0.0])


def test_a_spread_that_never_moves_is_told(monkeypatch):
    monkeypatch.setattr("hyperplanes.inference.compound.make_compound_round", lambda *settings: only_the_function_moves)
    stuck = "No Markov move was accepted in the last quarter of the steps, or none of the spread"
    with pytest.warns(HyperplanesWarning, match=stuck):
        fit("varying", *draw(0), n_steps=4)
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, size=(200, 2))
    model = fit("auto", X, X[:, 0] + 0.1 * rng.standard_normal(200))
    assert model.noise_ == "constant"
    assert model.diagnostics_.warnings == ()
    assert model.diagnostics_.notes[-1].startswith('noise="student" was tried and not taken, and its evidence may be')


def test_parts_have_noise_of_their_own():
    model = fit("varying", *draw(0), decomposition="domain", n_parts=2, blend=0.3)
    widths = np.diff(model.predict_interval(NEW))[:, 0]
    assert widths[0] < widths[1] < widths[2]
    evidences = [found["varying"] for found in model.log_evidences_]
    assert sum(value for value, _ in evidences) == pytest.approx(model.log_evidence_)
    assert [error for _, error in evidences] == [part.posterior.log_evidence_error for part in model.parts_]


@pytest.mark.parametrize("which", ["varying", "student"])
def test_files_keep_predictions(which, request, tmp_path):
    model = request.getfixturevalue(which)
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_interval(NEW), model.predict_interval(NEW))
    assert again.noise_ == which
    assert again.log_evidences_ == model.log_evidences_


def test_tree_for_arviz_has_the_noise_of_every_row(varying, student):
    pytest.importorskip("arviz_base")
    X, y = draw(0, 20)
    tree = varying.to_arviz(X, y)
    assert tree["posterior"]["noise_std"].dims == ("chain", "draw", "row")
    expected = varying.log_predictive_density(X, y)
    found = np.log(np.exp(tree["log_likelihood"]["y"].values[0]).mean(axis=0))
    np.testing.assert_allclose(found, expected, atol=0.2)
    assert student.to_arviz()["posterior"]["noise_std"].dims == ("chain", "draw")
    assert "noise_std" not in varying.to_frame().columns


@pytest.mark.parametrize("which", ["varying", "student"])
def test_onnx_predicts_what_the_fit_predicts(which, request, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    model, X = request.getfixturevalue(which), np.linspace([-2, 1], [2, -1], 50)
    model.to_onnx(tmp_path / "model.onnx", [0.005, 0.995])
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    mean, quantiles = session.run(None, {"X": X})
    np.testing.assert_allclose(mean, model.predict(X), atol=1e-6)
    np.testing.assert_allclose(quantiles, model.predict_interval(X, 0.99), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("settings", [{"sampler": "paper"}, {"decomposition": "paper-intensity"}])
def test_the_papers_forms_know_constant_noise_only(settings):
    with pytest.raises(ValueError, match="noise must be 'constant'"):
        fit("varying", *draw(0, 20), **settings)


def test_an_unknown_kind_is_an_error():
    with pytest.raises(ValueError, match="noise must be one of 'constant', 'varying', 'student', 'auto'"):
        fit("loud", *draw(0, 20))

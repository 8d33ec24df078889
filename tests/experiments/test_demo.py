import io
import json

import numpy as np
import pytest
from rich.console import Console

from hyperplanes.estimators import HyperplaneProcessRegressor
from hyperplanes.experiments import draw_demo, rmse, run_demo, simulate, split

SEED = 7


@pytest.fixture(scope="module")
def result():
    model = HyperplaneProcessRegressor(n_hyperplanes=2, n_particles=100, random_state=0)
    return run_demo(seed=SEED, n_rows=600, model=model)


def score(result, name):
    return next(score for score in result.scores if score.name == name)


def test_scores_cover_oracle_ours_and_all_rivals(result):
    assert [score.name for score in result.scores] == ["noise oracle", "hyperplanes", "linear", "forest", "rbf svm"]


def test_oracle_is_the_noise(result):
    oracle, test = score(result, "noise oracle"), result.data.test
    assert oracle.test_rmse == rmse(test.y, test.f)
    assert oracle.function_rmse == 0.0
    assert oracle.response_width == pytest.approx(2 * 1.96 * 0.1, rel=1e-4)


def test_ours_beats_linear_and_forest_on_held_out_rows(result):
    ours = score(result, "hyperplanes")
    assert ours.function_rmse < min(score(result, "linear").function_rmse, score(result, "forest").function_rmse)
    assert ours.test_rmse < 1.1 * score(result, "noise oracle").test_rmse


def test_scores_are_those_of_the_model_it_returns(result):
    ours, test = score(result, "hyperplanes"), result.data.test
    assert ours.test_rmse == rmse(test.y, result.model.predict(test.X))
    low, high = result.model.predict_interval(test.X, coverage=0.95, target="mean").T
    assert ours.function_coverage == np.mean((low <= test.f) & (test.f <= high))
    assert ours.function_width == pytest.approx(np.mean(high - low))
    assert ours.function_width < ours.response_width
    assert ours.seconds > 0


def test_data_are_the_first_study_of_the_seed(result):
    expected = split(simulate(SEED, n_rows=600, touching=True), SEED)
    np.testing.assert_array_equal(result.data.train.X, expected.train.X)
    np.testing.assert_array_equal(result.data.test.y, expected.test.y)


def test_json_holds_settings_and_scores(result):
    read = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert (read["seed"], read["n_train"], read["n_test"]) == (SEED, 450, 150)
    assert read["scores"][1]["name"] == "hyperplanes"
    assert read["scores"][2]["response_coverage"] is None


def test_table_fits_a_terminal_of_80_columns(result):
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(result)
    text = console.export_text()
    assert "…" not in text
    assert f"{score(result, 'hyperplanes').test_rmse:.4f}" in text


def test_methods_are_announced_before_they_are_fitted():
    announced = []
    model = HyperplaneProcessRegressor(n_hyperplanes=2, n_particles=30, n_steps=3, sampler="paper", random_state=0)
    run_demo(seed=1, n_rows=40, rivals=["linear"], model=model, observe=announced.append)
    assert announced == ["hyperplanes", "linear"]


def test_picture_is_written(result, tmp_path):
    pytest.importorskip("matplotlib")
    draw_demo(result, tmp_path / "demo.png")
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="n_rows must be at least 8"):
        run_demo(n_rows=7)

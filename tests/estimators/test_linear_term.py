"""What a linear term does for the user."""

from io import BytesIO

import numpy as np
import pytest

import hyperplanes
from hyperplanes import HyperplaneProcessClassifier, HyperplaneProcessRegressor, Prior

WITH_TERM = Prior(linear_variance=1.0)


def make_line(seed: int = 3, n_rows: int = 150) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows, and new inputs with the truth, in units of their own."""
    rng = np.random.default_rng(seed)
    X, new = (rng.normal(size=(n, 3)) * [1.0, 50.0, 0.02] + [0.0, 300.0, -1.0] for n in (n_rows, 1000))
    slopes = np.array([1.0, -0.02, 30.0])
    return X, 7.0 + X @ slopes + 0.5 * rng.normal(size=n_rows), new, 7.0 + new @ slopes


@pytest.fixture(scope="module")
def line():
    return make_line()


@pytest.fixture(scope="module")
def model(line):
    return HyperplaneProcessRegressor(random_state=0, prior=WITH_TERM).fit(*line[:2])


def test_a_line_takes_fewer_hyperplanes_and_is_found_better(line, model):
    X, y, new, truth = line
    without = HyperplaneProcessRegressor(random_state=0).fit(X, y)
    error, error_without = (np.sqrt(np.mean((each.predict(new) - truth) ** 2)) for each in (model, without))
    assert error < error_without
    assert model.n_hyperplanes_.mean < 0.5 * without.n_hyperplanes_.mean
    assert model.log_evidence_ > without.log_evidence_
    assert not model.diagnostics_.warnings


def test_a_loaded_model_predicts_the_same(line, model):
    file = BytesIO()
    model.save(file)
    loaded = hyperplanes.load(BytesIO(file.getvalue()))
    np.testing.assert_array_equal(loaded.predict_interval(line[2]), model.predict_interval(line[2]))
    assert loaded.posterior_.n_permanent == model.posterior_.n_permanent == 3
    np.testing.assert_array_equal(loaded.posterior_.n_hyperplanes, model.posterior_.n_hyperplanes)


def test_the_exported_graph_predicts_the_same(line, model, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model.to_onnx(tmp_path / "line.onnx")
    session = runtime.InferenceSession(tmp_path / "line.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(["mean"], {each.name: line[2].astype(float) for each in session.get_inputs()})
    expected, std = model.predict(line[2], return_std=True)
    assert np.all(np.abs(np.ravel(found) - expected) < 1e-4 * std)


def test_each_box_has_a_line_of_its_own(line, make_regressor):
    X, y, new, truth = line
    settings = {"decomposition": "domain", "n_parts": 2, "n_hyperplanes": 1, "prior": WITH_TERM}
    model = make_regressor(**settings).fit(X, y)
    assert [part.posterior.n_permanent for part in model.parts_] == [3, 3]
    assert np.sqrt(np.mean((model.predict(new) - truth) ** 2)) < 0.5


def test_classes_may_have_a_linear_term(line):
    X, y, new, truth = line
    labels, expected = y > np.median(y), truth > np.median(y)
    model = HyperplaneProcessClassifier(n_hyperplanes=2, n_particles=40, random_state=0, prior=WITH_TERM).fit(X, labels)
    assert np.mean(model.predict(new) == expected) > 0.85
    assert model.posterior_.n_permanent == 3


def test_a_negative_variance_is_an_error_that_names_it(line, make_regressor):
    with pytest.raises(ValueError, match=r"prior\.linear_variance must not be negative, got -1"):
        make_regressor(prior=Prior(linear_variance=-1.0)).fit(*line[:2])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decomposition": "intensity", "n_parts": 2}, 'leave decomposition="intensity" out'),
        ({"sampler": "paper"}, 'sampler="paper" needs a prior as plain as paper_prior'),
    ],
)
def test_what_has_no_linear_term_says_so(settings, message, line, make_regressor):
    with pytest.raises(ValueError, match=message):
        make_regressor(prior=WITH_TERM, **settings).fit(*line[:2])

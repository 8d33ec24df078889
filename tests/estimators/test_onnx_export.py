import sys

import numpy as np
import pytest
from scipy.special import ndtr, stdtr

import hyperplanes
from golden_models import FOLDER, MODELS, table, without_names
from hyperplanes.estimators.onnx.graph import Graph
from hyperplanes.estimators.onnx.noise import chance_and_density
from hyperplanes.model.prediction import log_standard_density

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

LEVELS = (1e-6, 0.025, 0.5, 0.975, 0.999)


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return hyperplanes.load(FOLDER / f"{request.param}.safetensors")


@pytest.fixture(scope="module")
def plain():
    return hyperplanes.load(FOLDER / "plain.safetensors")


def run(path, feed):
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    outputs = session.run(None, feed)
    return dict(zip([each.name for each in session.get_outputs()], outputs, strict=True))


def feed_of(rows):
    return {name: rows[[name]].to_numpy(object if name == "kind" else float) for name in rows.columns}


def assert_same(found, model, rows, rtol=1e-5):
    mean, std = model.predict(rows, return_std=True)
    np.testing.assert_allclose(found["mean"], mean, rtol=rtol, atol=1e-5 * std.min())
    for level, quantile in zip(LEVELS, found["quantiles"].T, strict=True):
        if level != 0.5:
            side = 1 if level > 0.5 else 0
            expected = model.predict_interval(rows, abs(2 * level - 1))[:, side]
            np.testing.assert_allclose(quantile, expected, rtol=rtol, atol=1e-5 * std.min())


def test_ten_thousand_rows_are_those_of_the_library(model, tmp_path):
    rows = table(10_000, seed=5)
    export = model.to_onnx(tmp_path / "m.onnx", LEVELS)
    assert export.n_bytes == (tmp_path / "m.onnx").stat().st_size
    assert export.loss == (0, 0)
    found = run(tmp_path / "m.onnx", feed_of(rows))
    assert found["mean"].shape == (10_000,)
    assert found["quantiles"].shape == (10_000, 5)
    assert_same(found, model, rows)
    assert np.all(np.diff(found["quantiles"], axis=1) > 0)


def test_an_array_is_fed_as_a_whole(model, tmp_path, rng):
    bare = without_names(model)
    rows = rng.normal(size=(200, bare.n_features_in_))
    rows[::3, 0] = np.nan
    bare.to_onnx(tmp_path / "m.onnx", LEVELS)
    assert_same(run(tmp_path / "m.onnx", {"X": rows}), bare, rows)


@pytest.mark.parametrize("size", [1e9, 1e30, 1e300, -1e300])
def test_rows_far_outside_are_those_of_the_library(size, model, tmp_path):
    bare = without_names(model)
    rows = np.full((3, bare.n_features_in_), size) * np.arange(3)[:, None]
    bare.to_onnx(tmp_path / "m.onnx", LEVELS)
    assert_same(run(tmp_path / "m.onnx", {"X": rows}), bare, rows)


def test_large_values_that_differ_little_do_not_cancel(plain, tmp_path):
    """Seconds since 1970, say: float32 tells them apart by two minutes."""
    bare = without_names(plain)
    (part,) = bare.parts_
    center = part.input_scaler.center_ + 1.7e9
    bare.parts_ = (part._replace(input_scaler=part.input_scaler._replace(center_=center)),)
    rows = 1.7e9 + np.random.default_rng(0).normal(size=(100, bare.n_features_in_))
    bare.to_onnx(tmp_path / "m.onnx", LEVELS)
    assert_same(run(tmp_path / "m.onnx", {"X": rows}), bare, rows)


def test_missing_values_and_new_categories_are_those_of_the_library(model, tmp_path):
    rows = table(8, seed=3)
    rows.loc[:3, "age"] = np.nan
    rows.loc[2:5, "kind"] = "never seen"
    model.to_onnx(tmp_path / "m.onnx", LEVELS)
    assert_same(run(tmp_path / "m.onnx", feed_of(rows)), model, rows)


def test_any_number_of_rows_and_quantiles(plain, tmp_path):
    plain.to_onnx(tmp_path / "m.onnx", ())
    for n_rows in (0, 1):
        found = run(tmp_path / "m.onnx", feed_of(table(8, seed=1)[:n_rows]))
        assert list(found) == ["mean"]
        assert found["mean"].shape == (n_rows,)
    plain.to_onnx(tmp_path / "m.onnx", 0.5)
    assert run(tmp_path / "m.onnx", feed_of(table(8, seed=1)[:0]))["quantiles"].shape == (0, 1)


def test_each_row_is_predicted_alone(plain, tmp_path):
    rows = table(30, seed=2)
    plain.to_onnx(tmp_path / "m.onnx")
    together = run(tmp_path / "m.onnx", feed_of(rows))
    alone = run(tmp_path / "m.onnx", feed_of(rows[7:8]))
    np.testing.assert_allclose(alone["quantiles"], together["quantiles"][7:8], rtol=1e-9)


def test_fewer_particles_at_a_stated_loss(model, tmp_path):
    rows = table(500, seed=4)
    export = model.to_onnx(tmp_path / "m.onnx", (0.1, 0.9), n_particles=5, X=rows)
    assert export.n_particles == 5
    found = run(tmp_path / "m.onnx", feed_of(rows))
    mean, std = model.predict(rows, return_std=True)
    of_mean = np.sqrt(np.mean(((found["mean"] - mean) / std) ** 2))
    differences = (found["quantiles"] - model.predict_interval(rows, 0.8)) / std[:, None]
    assert export.loss.mean == pytest.approx(of_mean, rel=1e-3)
    assert export.loss.quantiles == pytest.approx(np.sqrt(np.mean(differences**2, axis=0)).max(), rel=1e-3)
    assert 0 < export.loss.mean < 1


def test_more_particles_than_there_are_lose_nothing(plain, tmp_path):
    assert plain.to_onnx(tmp_path / "m.onnx", n_particles=1000).loss == (0, 0)


def test_a_budget_of_bytes_holds_as_many_particles_as_it_can(model, tmp_path):
    full = model.to_onnx(tmp_path / "m.onnx")
    one = model.to_onnx(tmp_path / "m.onnx", n_particles=1)
    for budget in np.linspace(one.n_bytes, full.n_bytes, 4).astype(int):
        export = model.to_onnx(tmp_path / "m.onnx", max_bytes=int(budget))
        assert (tmp_path / "m.onnx").stat().st_size == export.n_bytes <= budget
        if export.n_particles < full.n_particles:
            more = model.to_onnx(tmp_path / "m.onnx", n_particles=export.n_particles + 1)
            assert more.n_bytes > budget
    with pytest.raises(ValueError, match="max_bytes must be at least"):
        model.to_onnx(tmp_path / "m.onnx", max_bytes=one.n_bytes - 1)


def test_wrong_settings_are_errors_and_write_nothing(plain, tmp_path):
    for settings in ({"quantiles": [0.0]}, {"quantiles": [np.nan]}, {"n_particles": 0}, {"max_bytes": 1.5}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            plain.to_onnx(tmp_path / "m.onnx", **settings)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["mean", "", "h/c0", "age"])
def test_columns_whose_names_onnx_cannot_take_are_named(name, tmp_path):
    model = hyperplanes.load(FOLDER / "plain.safetensors")
    model.feature_names_in_ = np.array([name, "age", "kind"], dtype=object)
    with pytest.raises(ValueError, match=f"name {name!r} cannot be an input"):
        model.to_onnx(tmp_path / "m.onnx")


def test_the_file_says_what_it_is(plain, tmp_path):
    plain.to_onnx(tmp_path / "m.onnx", (0.25, 0.75))
    loaded = onnx.load(tmp_path / "m.onnx")
    assert {each.key: each.value for each in loaded.metadata_props} == {
        "quantiles": "0.25,0.75",
        "columns": "size\nage\nkind",
    }
    assert loaded.producer_name == "hyperplanes"


@pytest.mark.parametrize("degrees", [(np.inf,), (2.0, np.inf, 2.001, 3.0, 8.5, 30.0, 100.0, 350.0, 1e3, 1e5, 1e9)])
def test_the_distribution_function_is_precise_in_both_tails(degrees, tmp_path):
    graph = Graph()
    points, some = graph.input("t", np.float64, ["rows", len(degrees), 1]), np.array(degrees)
    for name, value in zip("pd", chance_and_density(graph, points, some), strict=True):
        graph.output(name, value, np.float64, ["rows", len(degrees), 1])
    onnx.save(graph.model({}, ""), tmp_path / "m.onnx")
    z = np.linspace(-36, 36, 2001)[:, None]  # tails down to 1e-284
    with np.errstate(invalid="ignore"):
        t = np.where(np.isinf(some), z, np.sign(z) * np.sqrt(some * np.expm1(z**2 / some)))
    found = {name: value[..., 0] for name, value in run(tmp_path / "m.onnx", {"t": t[..., None]}).items()}
    chance = np.where(np.isinf(some), ndtr(t), stdtr(np.minimum(some, 1e9), t))
    np.testing.assert_allclose(found["p"][z[:, 0] < 0], chance[z[:, 0] < 0], rtol=1e-7)
    np.testing.assert_allclose(found["p"], chance, atol=1e-9, rtol=1e-7)
    np.testing.assert_allclose(found["d"], np.exp(log_standard_density(t, some)), rtol=1e-6)


def test_without_onnx_the_error_names_what_to_install(plain, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnx.helper", None)
    with pytest.raises(ImportError, match=r'pip install "hyperplanes\[onnx\]"'):
        plain.to_onnx(tmp_path / "m.onnx")

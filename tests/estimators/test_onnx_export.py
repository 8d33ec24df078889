import sys
from copy import copy

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, stdtr

import hyperplanes
import small_fits
from golden_models import FOLDER, table, without_names
from hyperplanes.estimators.onnx.graph import Graph
from hyperplanes.estimators.onnx.noise import chance_and_density
from hyperplanes.model.prediction import log_standard_density
from small_fits import with_noise, with_parts

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

LEVELS = (1e-6, 0.025, 0.5, 0.975, 0.999)
NOISES = {"varying": ("plain", ["varying"]), "student": ("plain", ["student"]), "several": ("domain", [*"vs"])}
"""Models whose parts get other noise: which, and of which kind."""


def golden(name):
    return hyperplanes.load(FOLDER / f"{name}.safetensors")


@pytest.fixture(scope="module", params=["plain", "paper", "domain", *NOISES])
def model(request):
    name = request.param
    return with_noise(golden(NOISES[name][0]), NOISES[name][1]) if name in NOISES else golden(name)


@pytest.fixture(scope="module")
def plain():
    return golden("plain")


@pytest.fixture(scope="module", params=["plain", "domain"])
def classifier(request):
    return small_fits.classes_of(request.param)


def run(path, feed):
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    outputs = session.run(None, feed)
    return dict(zip([each.name for each in session.get_outputs()], outputs, strict=True))


def feed_of(rows):
    return {name: rows[[name]].to_numpy(object if name == "kind" else float) for name in rows.columns}


def assert_same(found, model, rows, rtol=1e-5):
    """To 1e-5 of what is predicted, or of a standard deviation where that is near 0."""
    intervals = {coverage: model.predict_interval(rows, coverage) for coverage in (1 - 2e-6, 0.95, 0.998)}
    std = np.diff(intervals[0.95])[:, 0] / 4
    assert_near(found["mean"], model.predict(rows), std, rtol)
    low, first, _, second, high = found["quantiles"].T
    assert_near(low, intervals[1 - 2e-6][:, 0], std, rtol)
    assert_near(first, intervals[0.95][:, 0], std, rtol)
    assert_near(second, intervals[0.95][:, 1], std, rtol)
    assert_near(high, intervals[0.998][:, 1], std, rtol)


def assert_near(found, expected, std, rtol):
    np.testing.assert_array_less(np.abs(found - expected), rtol * (np.abs(expected) + std))


def assert_same_classes(found, model, rows, rtol=1e-5, atol=0):
    expected = model.predict_proba(rows)
    np.testing.assert_allclose(found["probabilities"], expected, rtol=rtol, atol=atol)
    np.testing.assert_allclose(found["probabilities"].sum(axis=1), 1, rtol=1e-12)
    first, second = np.sort(expected)[:, :-3:-1].T
    clear = first - second > 1e-4
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(found["label"][clear], model.predict(rows)[clear])


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


@pytest.mark.parametrize("fit", [small_fits.varying, small_fits.two_classes, small_fits.three_classes])
def test_ten_thousand_rows_of_a_fit_are_those_of_the_library(fit, tmp_path, rng):
    model, X, _ = fit()
    rows = rng.uniform(-2, 2, (10_000, X.shape[1]))
    if hasattr(model, "classes_"):
        model.to_onnx(tmp_path / "m.onnx")
        assert_same_classes(run(tmp_path / "m.onnx", {"X": rows}), model, rows)
    else:
        model.to_onnx(tmp_path / "m.onnx", LEVELS)
        assert_same(run(tmp_path / "m.onnx", {"X": rows}), model, pd.DataFrame(rows, columns=X.columns))


def test_ten_thousand_classes_are_those_of_the_library(classifier, tmp_path):
    rows = table(10_000, seed=5)
    rows.loc[100:200, "kind"] = "never seen"
    export = classifier.to_onnx(tmp_path / "m.onnx")
    assert export.loss == (0, 0)
    found = run(tmp_path / "m.onnx", feed_of(rows))
    assert found["probabilities"].shape == (10_000, 3)
    assert found["label"].shape == (10_000,)
    assert len(set(found["label"])) > 1
    assert_same_classes(found, classifier, rows)


@pytest.mark.parametrize("size", [1e9, 1e300, -1e300])
def test_classes_far_outside_are_those_of_the_library(size, classifier, tmp_path):
    bare = without_names(classifier)
    rows = np.full((3, bare.n_features_in_), size) * np.arange(3)[:, None]
    bare.to_onnx(tmp_path / "m.onnx")
    assert_same_classes(run(tmp_path / "m.onnx", {"X": rows}), bare, rows, atol=1e-6)


@pytest.mark.parametrize("labels", [[False, True], [-1, 7], [0.5, 2.0], np.array([3, 200], np.uint8), ["no", "yes"]])
def test_labels_are_of_the_type_that_they_have(labels, tmp_path):
    model = copy(small_fits.two_classes().model)
    model.classes_ = np.array(labels)
    model.to_onnx(tmp_path / "m.onnx")
    rows = small_fits.two_classes().X
    found = run(tmp_path / "m.onnx", {"X": rows})["label"]
    assert found.dtype == (object if isinstance(labels[0], str) else model.classes_.dtype)
    np.testing.assert_array_equal(found, model.predict(rows))


def test_labels_that_onnx_cannot_hold_are_an_error(tmp_path):
    model = copy(small_fits.two_classes().model)
    model.classes_ = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    with pytest.raises(ValueError, match=r"labels of type datetime64\[D\] cannot be in ONNX: fit to text or numbers"):
        model.to_onnx(tmp_path / "m.onnx")


def test_fewer_particles_of_classes_at_a_stated_loss(classifier, tmp_path):
    rows = table(500, seed=4)
    full, one = (classifier.to_onnx(tmp_path / "m.onnx", n_particles=number) for number in (None, 1))
    budget = (full.n_bytes + one.n_bytes) // 2
    export = classifier.to_onnx(tmp_path / "m.onnx", max_bytes=budget, X=rows)
    assert 1 < export.n_particles < full.n_particles
    assert (tmp_path / "m.onnx").stat().st_size == export.n_bytes <= budget
    found, expected = run(tmp_path / "m.onnx", feed_of(rows)), classifier.predict_proba(rows)
    differences = np.sqrt(np.mean((found["probabilities"] - expected) ** 2, axis=0))
    assert export.loss.probabilities == pytest.approx(differences.max(), rel=1e-3)
    assert export.loss.labels == pytest.approx(np.mean(found["label"] != classifier.predict(rows)), abs=2e-3)
    assert 0 < export.loss.probabilities < 0.3


def test_no_rows_have_no_classes(classifier, tmp_path):
    classifier.to_onnx(tmp_path / "m.onnx", n_particles=2)
    found = run(tmp_path / "m.onnx", feed_of(table(8, seed=1)[:0]))
    assert found["probabilities"].shape == (0, 3)
    assert found["label"].shape == (0,)


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


@pytest.mark.parametrize("text", ["never seen", "missing"])
def test_new_text_is_neither_of_two_categories(text, model, tmp_path):
    changed = without_names(model)
    changed.feature_names_in_ = np.array(["size", "age", "width", "kind", "height"], dtype=object)
    changed.columns_ = changed.columns_._replace(categories=(None, None, None, ("a", "b"), None))
    rows = pd.DataFrame({"size": 1.0, "age": np.arange(9.0), "width": 0.0, "kind": text, "height": 0.0})
    changed.to_onnx(tmp_path / "m.onnx", LEVELS)
    assert_same(run(tmp_path / "m.onnx", feed_of(rows)), changed, rows)
    for known in ("a", "b"):
        assert np.any(changed.predict(rows) != changed.predict(rows.assign(kind=known)))


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


@pytest.mark.parametrize("shift", [0, 108], ids=["as fitted", "about zero"])
def test_differences_are_relative_to_the_predictive_scale(model, shift, tmp_path):
    """Strictly relative they are large where a prediction is near 0, and nowhere else; see docs/exports.md.

    Half of the responses are above 108: the same model with responses less by that predicts values about 0.
    """
    moved = with_parts(copy(model), lambda part, k: {"response_scaler": moved_by(part.response_scaler, -shift)})
    rows = table(10_000, seed=5)
    moved.to_onnx(tmp_path / "m.onnx", (0.025, 0.975))
    found = run(tmp_path / "m.onnx", feed_of(rows))
    expected = np.column_stack([moved.predict(rows), moved.predict_interval(rows)])
    std = np.diff(expected[:, 1:]) / 4
    gaps = np.abs(np.column_stack([found["mean"], found["quantiles"]]) - expected)
    to_scale, to_size = gaps / (np.abs(expected) + std), gaps / np.abs(expected)
    print(
        f"largest difference: {to_scale.max():.1e} of size and standard deviation, {to_size.max():.1e} of the size; "
        f"{np.mean(to_size > 1e-5):.2%} above 1e-5 of the size"
    )
    assert to_scale.max() < 1e-5
    assert to_size[np.abs(expected) > std].max() < 1e-5


def moved_by(scaler, shift):
    return scaler._replace(center_=scaler.center_ + shift)


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


def test_names_of_outputs_are_no_names_of_columns_of_a_classifier(classifier, tmp_path):
    named = copy(classifier)
    named.feature_names_in_ = np.array(["label", "age", "kind"], dtype=object)
    with pytest.raises(ValueError, match="name 'label' cannot be an input"):
        named.to_onnx(tmp_path / "m.onnx")


def test_the_file_of_a_classifier_lists_the_classes(classifier, tmp_path):
    classifier.to_onnx(tmp_path / "m.onnx", n_particles=1)
    properties = {each.key: each.value for each in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert properties == {"classes": "a\nb\nü", "columns": "size\nage\nkind"}


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

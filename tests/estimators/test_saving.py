import json
import pickle
import random
import subprocess
import sys
from io import BytesIO

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from sklearn.exceptions import NotFittedError

import hyperplanes
from golden_models import FOLDER, MODELS, difference, labels, predictions, response, table
from hyperplanes import HyperplaneProcessClassifier, HyperplaneProcessRegressor, ModelFileError, Prior
from hyperplanes.files import container

ROWS = table(12, seed=1)
DATA = {name: (FOLDER / f"{name}.safetensors").read_bytes() for name in MODELS}


@pytest.fixture(scope="module", params=MODELS)
def golden(request):
    return request.param, hyperplanes.load(BytesIO(DATA[request.param]))


def saved(model) -> bytes:
    file = BytesIO()
    model.save(file)
    return file.getvalue()


def numbers_of(model, rows=ROWS) -> list[np.ndarray]:
    """What a model predicts of rows."""
    if isinstance(model, HyperplaneProcessClassifier):
        return [model.predict_proba(rows), model.predict_interval(rows), model.sample(rows, target="mean")]
    return [*model.predict(rows, return_std=True), model.predict_interval(rows), model.sample(rows)]


def assert_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for some, others in zip(found, expected, strict=True):
        np.testing.assert_array_equal(some, others)


def test_models_of_the_first_version_predict_what_they_did(golden):
    name, model = golden
    expected = json.loads((FOLDER / f"{name}.json").read_text())
    found = predictions(model)
    assert found.keys() == expected.keys()
    for what, values in found.items():
        assert difference(values, expected[what]) <= 2e-5, what


def test_models_of_the_first_version_keep_their_settings(golden):
    name, model = golden
    assert model.get_params() == MODELS[name].get_params()
    assert list(model.feature_names_in_) == list(ROWS.columns)


def test_a_model_that_is_saved_again_is_the_same_to_the_last_bit(golden):
    _, model = golden
    again = hyperplanes.load(BytesIO(saved(model)))
    assert predictions(again) == predictions(model)
    assert again.diagnostics_ == model.diagnostics_
    assert vars(again).keys() == vars(model).keys()
    for part, other in zip(model.parts_, again.parts_, strict=True):
        assert pickle.dumps(part) == pickle.dumps(other)


def test_a_fresh_fit_and_its_file_are_the_same_in_another_process(fitted, example, tmp_path):
    fitted.save(tmp_path / "model.safetensors")
    np.save(tmp_path / "rows.npy", example.X_new)
    program = (
        "import sys, numpy as np, hyperplanes\n"
        "model = hyperplanes.load('model.safetensors')\n"
        "rows = np.load('rows.npy')\n"
        "np.save('out.npy', np.column_stack([model.predict(rows), model.predict_interval(rows), model.sample(rows)]))\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    rows = example.X_new
    expected = np.column_stack([fitted.predict(rows), fitted.predict_interval(rows), fitted.sample(rows)])
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


def test_loaded_models_can_be_pickled_and_fitted_again(golden, example):
    _, model = golden
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(ROWS), model.predict(ROWS))
    file = BytesIO()
    joblib.dump(model, file)
    assert joblib.load(BytesIO(file.getvalue())).log_evidence_ == model.log_evidence_


def test_a_random_state_goes_on_where_it_was(golden):
    _, model = golden
    model = pickle.loads(pickle.dumps(model)).set_params(random_state=np.random.RandomState(5))
    model.sample(ROWS)
    again = hyperplanes.load(BytesIO(saved(model)))
    np.testing.assert_array_equal(again.sample(ROWS, 3), model.sample(ROWS, 3))


@pytest.mark.parametrize(
    "state", [np.random.RandomState(np.random.PCG64(0)), np.random], ids=["another generator", "a module"]
)
def test_a_random_state_that_cannot_be_saved_is_an_error(golden, state):
    model = hyperplanes.load(BytesIO(DATA["plain"])).set_params(random_state=state)
    with pytest.raises(TypeError, match="random_state cannot be saved"):
        saved(model)


def test_settings_of_any_kind_are_kept():
    model = hyperplanes.load(BytesIO(DATA["plain"]))
    settings = {"prior": Prior(noise_scale=0.5), "n_particles": np.int64(7), "memory_budget": np.float32(0.5)}
    settings |= {"random_state": None, "device": "cpu", "budget": 3.5, "n_jobs": None}
    again = hyperplanes.load(BytesIO(saved(model.set_params(**settings))))
    assert {name: again.get_params()[name] for name in settings} == settings


def test_models_of_arrays_have_no_names(fitted, example):
    again = hyperplanes.load(BytesIO(saved(fitted)))
    assert not hasattr(again, "feature_names_in_")
    np.testing.assert_array_equal(again.predict(example.X_new), fitted.predict(example.X_new))


def test_only_fitted_and_sound_models_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        HyperplaneProcessRegressor().save(tmp_path / "model")
    model = hyperplanes.load(BytesIO(DATA["plain"])).set_params(n_particles=0)
    with pytest.raises(ValueError, match="n_particles"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        hyperplanes.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        hyperplanes.load(tmp_path)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Flipped bits, bytes that are changed, removed, repeated or swapped, cuts."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        if not changed:
            break
        at, other = rng.randrange(len(changed)), rng.randrange(len(changed))
        kind = rng.randrange(6)
        if kind == 0:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            changed[at] = rng.randrange(256)
        elif kind == 2:
            del changed[at : at + rng.choice([1, 8, 100])]
        elif kind == 3:
            changed[at:at] = changed[other : other + rng.choice([1, 8, 100])]
        elif kind == 4:
            changed[at], changed[other] = changed[other], changed[at]
        else:
            del changed[at:]
    return bytes(changed)


def test_a_thousand_damaged_files_are_errors_or_the_same_model():
    rng, n_survivors = random.Random(0), 0
    expected = {name: numbers_of(hyperplanes.load(BytesIO(data))) for name, data in DATA.items()}
    for _ in range(1000):
        name = rng.choice(list(DATA))
        try:
            model = hyperplanes.load(BytesIO(mutated(DATA[name], rng)))
        except ModelFileError:
            continue
        n_survivors += 1
        assert_same(numbers_of(model), expected[name])
    assert n_survivors < 50


def sealed(document, arrays) -> BytesIO:
    """A file of somebody who knows the format: the checksum is right."""
    text = json.dumps(document)
    metadata = {"format": "hyperplanes", "version": "1", "document": text, "sha256": container._digest(text, arrays)}
    return BytesIO(save_arrays({name: np.array(array, order="C") for name, array in arrays.items()}, metadata))


def contents(data: bytes):
    length = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["document"]), load_arrays(data)


def places(document, path=()):
    yield path
    if not isinstance(document, dict | list):
        return
    for name, value in document.items() if isinstance(document, dict) else enumerate(document):
        yield from places(value, (*path, name))


def changed_at(document, path, change):
    if not path:
        return change(document)
    document = document.copy()
    document[path[0]] = changed_at(document[path[0]], path[1:], change)
    return document


VALUES = [
    None, True, -1, 0, 1, 2**63 - 1, 1e308, -0.5, "", "auto", "paper", "../../etc/passwd", "__import__('os')", [], [[]],
    {}, {"float": "nan"}, {"float": "inf"}, {"type": "Prior", "fields": {}}, {"type": "builtins.eval", "fields": {}},
    {"array": "fitted.input_range_"}, {"names": {}}, {"texts": ["a", "b", "c"], "objects": True},
]  # fmt: skip


def forged_document(rng: random.Random, document):
    path = rng.choice([path for path in places(document) if path])
    if rng.random() < 0.3:
        *parent, name = path
        return changed_at(document, parent, lambda inside: without(inside, name))
    return changed_at(document, path, lambda _: rng.choice(VALUES))


def without(inside, name):
    if isinstance(inside, list):
        return inside[:name] + inside[name + 1 :]
    return {key: value for key, value in inside.items() if key != name}


def forged_arrays(rng: random.Random, arrays):
    name = rng.choice(list(arrays))
    array = arrays[name]
    odd = np.array(rng.choice([0, -1, 1, 7, 1e9, 1e300, 1e-300, np.nan, np.inf, -np.inf]))
    with np.errstate(all="ignore"):
        forgeries = [
            np.full_like(array, odd.astype(array.dtype)),
            array[:-1] if array.ndim else array,
            array[..., None],
            array.ravel(),
            np.repeat(array, 2, axis=0) if array.ndim else array,
            array.astype(np.float32),
            array.astype(np.int64),
            -array if array.dtype != bool else ~array,
            array.T,
        ]
    return arrays | {name: rng.choice(forgeries)}


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:X has feature names")
def test_files_of_an_attacker_are_errors_or_sound_models():
    rng, n_survivors = random.Random(0), 0
    known = {name: contents(data) for name, data in DATA.items()}
    for _ in range(600):
        document, arrays = known[rng.choice(list(known))]
        if rng.random() < 0.6:
            document = forged_document(rng, document)
        else:
            arrays = forged_arrays(rng, arrays)
        try:
            model = hyperplanes.load(sealed(document, arrays))
        except ModelFileError:
            continue
        n_survivors += 1
        rows = ROWS.set_axis(getattr(model, "feature_names_in_", ROWS.columns), axis=1)
        for numbers in numbers_of(model, rows):
            assert len(numbers) == len(rows)
            assert np.isfinite(numbers).all()
    assert 10 < n_survivors < 400


def test_cuts_that_go_round_in_circles_are_refused():
    document, arrays = contents(DATA["domain"])
    for sides in ([[0, -1]], [[-1, -1]], [[-1, -3]], [[1, -1]]):
        with pytest.raises(ModelFileError, match="tree"):
            hyperplanes.load(sealed(document, arrays | {"fitted.subdomains_.sides": np.array(sides)}))


def test_nothing_in_a_file_is_imported_or_run(monkeypatch):
    def trap(*arguments, **named):
        raise AssertionError("something was run")

    document, arrays = contents(DATA["plain"])
    for name in ("os.system", "builtins.exec", "subprocess.Popen", "numpy.load", "HyperplaneProcessRegressor"):
        with monkeypatch.context() as patch:
            patch.setattr("os.system", trap)
            patch.setattr("builtins.exec", trap)
            patch.setattr("subprocess.Popen", trap)
            patch.setattr("pickle.loads", trap)
            for path in (("names", "fitted"), ("names", "settings"), ("names", "settings", "names", "prior")):
                forged = changed_at(document, path, lambda _, name=name: {"type": name, "fields": {"args": ["echo"]}})
                with pytest.raises(ModelFileError):
                    hyperplanes.load(sealed(forged, arrays))


def test_later_versions_are_named():
    document, arrays = contents(DATA["plain"])
    for path, message in (
        (("names", "settings", "names"), "no setting 'flavour'"),
        (("names", "fitted", "names"), "no attribute 'flavour'"),
    ):
        later = changed_at(document, path, lambda inside: inside | {"flavour": 1})
        with pytest.raises(ModelFileError, match=f"later version.*{message}"):
            hyperplanes.load(sealed(later, arrays))
    other = changed_at(document, ("names", "estimator"), lambda _: "HyperplaneProcessClusterer")
    with pytest.raises(ModelFileError, match="no estimator that this library knows"):
        hyperplanes.load(sealed(other, arrays))


def test_settings_that_an_older_file_lacks_have_their_default():
    document, arrays = contents(DATA["domain"])
    older = changed_at(document, ("names", "settings", "names"), lambda inside: without(inside, "blend"))
    assert hyperplanes.load(sealed(older, arrays)).blend == 0.0


@settings(max_examples=100)
@given(st.binary(max_size=300))
def test_random_bytes_are_no_model(data):
    with pytest.raises(ModelFileError):
        hyperplanes.load(BytesIO(data))


@pytest.mark.long
def test_many_damaged_files_are_errors_or_the_same_model():
    rng = random.Random(1)
    expected = {name: numbers_of(hyperplanes.load(BytesIO(data))) for name, data in DATA.items()}
    for _ in range(50_000):
        name = rng.choice(list(DATA))
        try:
            model = hyperplanes.load(BytesIO(mutated(DATA[name], rng)))
        except ModelFileError:
            continue
        assert_same(numbers_of(model), expected[name])


def test_new_rows_are_read_by_name(golden):
    _, model = golden
    shuffled = pd.DataFrame({name: ROWS[name] for name in reversed(ROWS.columns)})
    np.testing.assert_array_equal(model.predict(shuffled[list(model.feature_names_in_)]), model.predict(ROWS))
    observed = labels(ROWS) if isinstance(model, HyperplaneProcessClassifier) else response(ROWS)
    assert np.isfinite(model.log_predictive_density(ROWS, observed)).all()

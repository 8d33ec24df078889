"""Models of the first version that has files, and what they predicted: later versions have to predict the same.

`python tests/golden_models.py` prints how far this machine, with its devices and versions, is from that, relative to
what was predicted. With names of models it writes these, which is right for new ones, and where a format that was never
released has changed.
"""

import json
import sys
from copy import copy
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

from hyperplanes import HyperplaneProcessClassifier, HyperplaneProcessRegressor, load

FOLDER = Path(__file__).parent / "golden"
PLAIN = FOLDER / "plain.safetensors"
CLASSES = FOLDER / "classes.safetensors"
N_ROWS = 80


def table(n_rows: int, seed: int) -> pd.DataFrame:
    """Numbers, some of them missing, and text."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n_rows)
    size[:: n_rows // 4] = np.nan
    return pd.DataFrame({"size": size, "age": rng.uniform(0, 9, n_rows), "kind": rng.choice(["a", "b", "c"], n_rows)})


def response(rows: pd.DataFrame) -> np.ndarray:
    noise = np.random.default_rng(len(rows)).normal(size=len(rows))
    return 100 + 3 * np.abs(rows["age"] - 4).to_numpy() + 5.0 * (rows["kind"] == "b").to_numpy() + 0.3 * noise


def labels(rows: pd.DataFrame) -> np.ndarray:
    return np.array(["low", "middle", "high"], dtype=object)[np.digitize(response(rows), [104, 110])]


MODELS = {
    "plain": HyperplaneProcessRegressor(n_hyperplanes=2, n_particles=12, random_state=1),
    "paper": HyperplaneProcessRegressor(n_hyperplanes=2, n_particles=12, n_steps=9, sampler="paper", random_state=2),
    "domain": HyperplaneProcessRegressor(
        n_hyperplanes=1, n_particles=8, decomposition="domain", n_parts=2, blend=0.2, random_state=3
    ),
    "varying": HyperplaneProcessRegressor(n_hyperplanes=1, n_particles=8, noise="varying", random_state=4),
    "student": HyperplaneProcessRegressor(n_hyperplanes=1, n_particles=8, noise="student", random_state=5),
    "classes": HyperplaneProcessClassifier(n_hyperplanes=1, n_particles=8, random_state=6),
}


def predictions(model: Any) -> dict[str, list[Any]]:
    """What a model says of some rows and of itself."""
    of_itself = {
        "evidence": [model.log_evidence_, model.log_evidence_error_],
        "number": [model.n_hyperplanes_.mean, *model.n_hyperplanes_.probabilities],
    }
    return _of_rows(model, table(12, seed=1)) | of_itself


def _of_rows(model: Any, rows: pd.DataFrame) -> dict[str, list[Any]]:
    if isinstance(model, HyperplaneProcessClassifier):
        return {
            "probabilities": model.predict_proba(rows).ravel().tolist(),
            "interval": model.predict_interval(rows).ravel().tolist(),
            "density": model.log_predictive_density(rows, labels(rows)).tolist(),
            "draws of probabilities": model.sample(rows, 2, target="mean", random_state=0).ravel().tolist(),
            "labels": model.predict(rows).tolist(),
            "draws": model.sample(rows, 2, random_state=0).ravel().tolist(),
        }
    mean, std = model.predict(rows, return_std=True)
    return {
        "mean": mean.tolist(),
        "std": std.tolist(),
        "interval": model.predict_interval(rows).ravel().tolist(),
        "interval of the mean": model.predict_interval(rows, 0.8, target="mean").ravel().tolist(),
        "density": model.log_predictive_density(rows, response(rows)).tolist(),
        "draws": model.sample(rows, 2, random_state=0).ravel().tolist(),
    }


def without_names(model: HyperplaneProcessRegressor) -> HyperplaneProcessRegressor:
    """A model of an array of numbers, made of one that knows text and names."""
    plain = copy(model)
    plain.columns_ = model.columns_._replace(categories=())
    plain.n_features_in_ = len(model.columns_.medians)
    del plain.feature_names_in_
    return plain


def differences() -> dict[str, dict[str, float]]:
    """Greatest relative difference of what the files predict here, by model and prediction."""
    found: dict[str, dict[str, float]] = {}
    for name in MODELS:
        expected = json.loads((FOLDER / f"{name}.json").read_text())
        here = predictions(load(FOLDER / f"{name}.safetensors"))
        found[name] = {what: difference(values, expected[what]) for what, values in here.items()}
    return found


def difference(found: list[Any], expected: list[Any]) -> float:
    """Greatest relative one of numbers; of texts 1 where they are not the same."""
    if isinstance(expected[0], str):
        return float(found != expected)
    sizes = np.maximum(np.abs(expected), np.finfo(float).tiny)
    return float(np.max(np.abs(np.subtract(found, expected)) / sizes))


def write(names: list[str]) -> None:
    rows = table(N_ROWS, seed=0)
    for name in names:
        model = MODELS[name]
        y = labels(rows) if isinstance(model, HyperplaneProcessClassifier) else response(rows)
        model.fit(rows, y).save(FOLDER / f"{name}.safetensors")
        (FOLDER / f"{name}.json").write_text(json.dumps(predictions(model), indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write(sys.argv[1:])
    else:
        versions = {"jax": jax.__version__, "numpy": np.__version__, "device": str(jax.devices()[0])}
        print(json.dumps({**versions, **differences()}, indent=1))

"""The world that examples live in: the names and files that they take for granted, and little effort."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import hyperplanes
from golden_models import PLAIN, response, table, without_names
from hyperplanes.estimators.process import HyperplaneProcess

N_ROWS = 60


@pytest.fixture(autouse=True)
def _little_effort(monkeypatch):
    """Whatever an example asks for, a few particles and short steps will do to see that it runs."""
    settings_of = HyperplaneProcess._inference_settings

    def little(self):
        settings = settings_of(self)
        few = {"n_particles": min(settings.n_particles, 8), "n_steps": 3, "budget": None}
        return replace(settings, **few)

    monkeypatch.setattr(HyperplaneProcess, "_inference_settings", little)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """Examples read and write where they are run."""
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


@pytest.fixture
def files(tmp_path) -> Path:
    """Tables and models that commands read."""
    houses = _houses(0)
    new = _houses(1).drop(columns="price")
    for name in ("houses.csv", "houses.csv.gz", "train.csv", "held-out.csv"):
        houses.to_csv(tmp_path / name, index=False)
    for name in ("new.csv", "new.csv.gz"):
        new.to_csv(tmp_path / name, index=False)
    flowers = _houses(2).rename(columns={"price": "species"})
    flowers["species"] = np.where(flowers["species"] > flowers["species"].median(), "setosa", "virginica")
    flowers.to_csv(tmp_path / "flowers.csv", index=False)
    flowers.drop(columns="species").to_csv(tmp_path / "new-flowers.csv", index=False)
    wines = _houses(3).rename(columns={"price": "quality"})
    wines.to_csv(tmp_path / "wines.csv", index=False)
    wines.to_csv(tmp_path / "new-wines.csv", index=False)
    folder = tmp_path / "folder" / "of" / "parquet"
    folder.mkdir(parents=True)
    houses.to_parquet(folder / "some.parquet")
    new.to_parquet(tmp_path / "new.parquet")
    for name in ("houses.safetensors", "m.safetensors"):
        shutil.copy(PLAIN, tmp_path / name)
    return tmp_path


@pytest.fixture
def names() -> Callable[[str], dict[str, Any]]:
    """Of rows and of a fitted model, as a page has them; `exports.md` is about arrays of numbers."""

    def of_page(page: str) -> dict[str, Any]:
        rows, new, model = table(N_ROWS, seed=0), table(N_ROWS, seed=1), hyperplanes.load(PLAIN)
        y, y_new = response(rows), response(new)
        labels = np.where(y > np.median(y), "high", "low")
        if page.endswith("exports.md"):
            rows, new = (model.columns_.encode(frame) for frame in (rows, new))
            model = without_names(model)
        return {
            "X": rows,
            "y": y,
            "labels": labels,
            "model": model,
            **{name: new for name in ("X_new", "X_valid", "X_test")},
            **{name: y_new for name in ("y_new", "y_test")},
            **{name: getattr(hyperplanes, name) for name in hyperplanes.__all__},
            "hyperplanes": hyperplanes,
        }

    return of_page


def _houses(seed: int) -> pd.DataFrame:
    rows = table(N_ROWS, seed)
    price = response(rows)
    return rows.assign(id=np.arange(N_ROWS), count=1 + np.arange(N_ROWS) % 2, price=price)

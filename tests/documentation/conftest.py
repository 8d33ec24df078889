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
from golden_models import PLAIN, response, table
from hyperplanes.estimators.columns import spread_text
from hyperplanes.estimators.process import HyperplaneProcess

N_ROWS = 60
MORE_COLUMNS = {"docs/how-to/columns.md": ["id", "count"], "docs/reference/commands.md": ["id"]}
"""Of pages whose tables have columns that are no inputs; the others share one shape, and so what is compiled."""


@pytest.fixture
def little_effort(monkeypatch):
    """Whatever an example asks for, a few particles and short steps will do to see that it runs."""
    settings_of = HyperplaneProcess._inference_settings

    def little(self):
        settings = settings_of(self)
        few = {"n_particles": min(settings.n_particles, 30), "n_steps": 3, "budget": None}
        return replace(settings, **few)

    monkeypatch.setattr(HyperplaneProcess, "_inference_settings", little)
    monkeypatch.setattr("hyperplanes.inference.samplers.FULL", 1.0)  # more places would be another shape to compile


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """Examples read and write where they are run."""
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


@pytest.fixture
def files(tmp_path) -> Callable[[str], Path]:
    """Tables and models that the commands of a page read, and the folder that they are in."""

    def of_page(page: str) -> Path:
        more = MORE_COLUMNS.get(page, [])
        houses, new = (_houses(seed, more) for seed in (0, 1))
        species = np.where(houses["price"] > houses["price"].median(), "setosa", "virginica")
        flowers = houses.drop(columns=["price", *more])
        for name in ("houses.csv", "houses.csv.gz", "train.csv", "held-out.csv"):
            houses.to_csv(tmp_path / name, index=False)
        for name in ("new.csv", "new.csv.gz"):
            new.to_csv(tmp_path / name, index=False)
        for name in ("wines.csv", "new-wines.csv"):
            houses.rename(columns={"price": "quality"}).to_csv(tmp_path / name, index=False)
        flowers.to_csv(tmp_path / "new-flowers.csv", index=False)
        flowers.assign(species=species).to_csv(tmp_path / "flowers.csv", index=False)
        folder = tmp_path / "folder" / "of" / "parquet"
        folder.mkdir(parents=True)
        houses.to_parquet(folder / "some.parquet")
        new.to_parquet(tmp_path / "new.parquet")
        shutil.copy(PLAIN, tmp_path / "houses.safetensors")
        return tmp_path

    return of_page


@pytest.fixture
def names() -> Callable[[str], dict[str, Any]]:
    """Of rows and of a fitted model, as a page has them; `exports.md` is about arrays of numbers and many draws."""

    def of_page(page: str) -> dict[str, Any]:
        rows, new, model = table(N_ROWS, seed=0), table(N_ROWS, seed=1), hyperplanes.load(PLAIN)
        y, y_new = response(rows), response(new)
        labels = np.where(y > np.median(y), "high", "low")
        if page.endswith("exports.md"):
            rows, new = (spread_text(frame, model.columns_.categories) for frame in (rows, new))
            model = hyperplanes.HyperplaneProcessRegressor(random_state=0).fit(rows, y)
        return {
            "X": rows,
            "y": y,
            "labels": labels,
            "model": model,
            **dict.fromkeys(("X_new", "X_valid", "X_test"), new),
            **dict.fromkeys(("y_new", "y_test"), y_new),
            **{name: getattr(hyperplanes, name) for name in hyperplanes.__all__},
            "hyperplanes": hyperplanes,
        }

    return of_page


def _houses(seed: int, more: list[str]) -> pd.DataFrame:
    rows = table(N_ROWS, seed)
    known = {"id": np.arange(N_ROWS), "count": 1 + np.arange(N_ROWS) % 2}
    return rows.assign(price=response(rows), **{name: known[name] for name in more})

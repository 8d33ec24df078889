from typing import Any, NamedTuple

import numpy as np
import pytest

import hyperplanes
from golden_models import PLAIN, response, table
from hyperplanes import HyperplaneProcessRegressor


class Fit(NamedTuple):
    """What a command asked for."""

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray | None
    settings: dict[str, Any]
    checkpoint: Any


@pytest.fixture(autouse=True)
def _somewhere(tmp_path, monkeypatch):
    """Commands write where they are called."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def rows():
    """A table with numbers, missing values, text and a response."""
    frame = table(40, seed=0)
    return frame.assign(y=response(frame))


@pytest.fixture
def fits(monkeypatch):
    """Fits that commands asked for; a model that was fitted before stands for their result."""
    asked: list[Fit] = []

    def fit(self, X, y, sample_weight=None, checkpoint=None):
        asked.append(Fit(X, y, sample_weight, self.get_params(), checkpoint))
        self._adopt({name: value for name, value in vars(hyperplanes.load(PLAIN)).items() if name.endswith("_")})
        return self

    monkeypatch.setattr(HyperplaneProcessRegressor, "fit", fit)
    return asked


@pytest.fixture(scope="session")
def model():
    return hyperplanes.load(PLAIN)

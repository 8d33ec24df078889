from typing import Any, NamedTuple

import numpy as np
import pytest

import hyperplanes
from golden_models import CLASSES, PLAIN, response, table
from hyperplanes import HyperplaneProcessClassifier, HyperplaneProcessRegressor


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

    for kind, stored in ((HyperplaneProcessRegressor, PLAIN), (HyperplaneProcessClassifier, CLASSES)):
        fitted = {name: value for name, value in vars(hyperplanes.load(stored)).items() if name.endswith("_")}

        def fit(self, X, y, sample_weight=None, checkpoint=None, fitted=fitted):
            asked.append(Fit(X, y, sample_weight, self.get_params(), checkpoint))
            self._adopt(fitted)
            return self

        monkeypatch.setattr(kind, "fit", fit)
    return asked


@pytest.fixture
def pages(monkeypatch):
    """Reports without their pictures, which take seconds to draw."""
    monkeypatch.setattr("hyperplanes.report.figures.render", lambda draw, *, salt: f"<svg><title>{salt}</title></svg>")


@pytest.fixture(scope="session")
def model():
    return hyperplanes.load(PLAIN)

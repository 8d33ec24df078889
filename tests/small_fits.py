"""Small fits of every kind, on columns and labels with names that are meant to do harm."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import hyperplanes
from golden_models import PLAIN, response, table
from hyperplanes import HyperplaneProcessClassifier, HyperplaneProcessRegressor
from one_shape import SHAPE

EVIL = "<script>alert('x')</script>"
EVIL_LABEL = '"><img src=http://example.org/x onerror=alert(1)>'
FORMULA = r"_$\frac{1}{$ price"
"""No formula that matplotlib can read, and with an underscore, which hides names from its legends."""
SETTINGS: dict[str, Any] = SHAPE | {"random_state": 0}


class Fit(NamedTuple):
    """A fitted model and its rows."""

    model: Any
    X: Any
    y: Any


@cache
def plain() -> Fit:
    """A regression on numbers, some of them missing, and text."""
    rows = table(60, seed=0)
    return Fit(hyperplanes.load(PLAIN), rows, response(rows))


@cache
def varying() -> Fit:
    """A regression with noise that varies, on a column whose name is a script."""
    X, f, noise = _rows()
    frame = pd.DataFrame(X, columns=[EVIL, FORMULA])
    y = pd.Series(f + np.exp(X[:, 1]) * 0.2 * noise, name=EVIL)
    return Fit(HyperplaneProcessRegressor(noise="varying", **SETTINGS).fit(frame, y), frame, y)


@cache
def unknown_number() -> Fit:
    """A regression on two inputs whose number of hyperplanes is unknown."""
    X, f, noise = _rows()
    y = f + 0.1 * noise
    return Fit(HyperplaneProcessRegressor(**SETTINGS | {"n_hyperplanes": "auto"}).fit(X, y), X, y)


@cache
def two_classes() -> Fit:
    """Two classes, one of which has a name that is an image, on two inputs."""
    X, f, noise = _rows()
    y = np.where(f + 0.3 * noise > 0.5, EVIL_LABEL, "_low")
    return Fit(HyperplaneProcessClassifier(**SETTINGS).fit(X, y), X, y)


@cache
def three_classes() -> Fit:
    """Three classes on two inputs."""
    X, f, noise = _rows()
    y = np.digitize(f + 0.2 * noise, [0.3, 1.0])
    return Fit(HyperplaneProcessClassifier(**SETTINGS).fit(X, y), X, y)


def _rows(n_rows: int = 100) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (n_rows, 2))
    return X, 2 * np.maximum(X[:, 0] + 0.2, 0) + 0.3 * X[:, 1], rng.standard_normal(n_rows)

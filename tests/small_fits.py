"""Small fits of every kind, on columns and labels with names that are meant to do harm."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import hyperplanes
from golden_models import FOLDER, PLAIN, response, table
from hyperplanes import HyperplaneProcessClassifier, HyperplaneProcessRegressor
from hyperplanes.estimators.number import summarise_number
from hyperplanes.estimators.scaling import UNSCALED
from hyperplanes.inference import Network
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


def compared() -> Fit:
    """The same, as if all kinds of noise had been compared."""
    fit = Fit(hyperplanes.load(PLAIN).set_params(noise="auto"), *plain()[1:])
    changes = {
        "log_evidences": (("constant", -12.5), ("varying", -21_430.27), ("student", -14.0)),
        "log_evidence_errors": (("constant", 0.25), ("varying", 1.24), ("student", 0.5)),
    }
    with_parts(fit.model, lambda part, k: {"summary": part.summary._replace(**changes)})
    return fit


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


def classes_of(name: str) -> HyperplaneProcessClassifier:
    """Three classes, whose networks are those of a regression that is stored; "domain" has two parts that blend."""
    found, made = hyperplanes.load(FOLDER / f"{name}.safetensors"), HyperplaneProcessClassifier()
    made._adopt({name: value for name, value in vars(found).items() if name.endswith("_")})
    made.classes_ = np.array(["a", "b", "ü"])

    def change(part, k):
        others = (another_network(part.posterior, 2.0), another_network(part.posterior, -1.5))
        return {"posterior": part.posterior._replace(others=others), "response_scaler": UNSCALED}

    with_parts(made, change)
    made.n_hyperplanes_ = summarise_number(*(part.posterior for part in made.parts_))
    return made


def another_network(posterior, size):
    """The functions of a posterior, those of one particle given to the next, of another size."""
    arrays = [name for name in Network._fields if isinstance(getattr(posterior, name), np.ndarray)]
    fields = {name: np.roll(getattr(posterior, name), 1, axis=0) for name in arrays}
    return Network(**fields | {"coefficients": size * fields["coefficients"]})


def with_noise(model, kinds):
    """A model as of a fit with other noise, for each part of a kind."""

    def change(part, k):
        posterior = part.posterior
        if kinds[k][0] == "v":
            return {"posterior": posterior._replace(spread=another_network(posterior, 0.7))}
        return {"posterior": posterior._replace(degrees=2.01 + 3.0 ** np.arange(len(posterior.log_weights)))}

    return with_parts(model, change)


def with_parts(model, change):
    """The model with other parts: `change` gives new fields of a part and its number."""
    model.parts_ = tuple(part._replace(**change(part, k)) for k, part in enumerate(model.parts_))
    return model


def _rows(n_rows: int = 100) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (n_rows, 2))
    return X, 2 * np.maximum(X[:, 0] + 0.2, 0) + 0.3 * X[:, 1], rng.standard_normal(n_rows)

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hyperplanes.estimators import HyperplaneProcessRegressor
from one_shape import SHAPE


class Example(NamedTuple):
    """A kinked, asymmetric function of the first of two columns, with noise 0.1."""

    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray


def make_example(n_rows: int = 60, n_columns: int = 2) -> Example:
    rng = np.random.default_rng(7)
    X, X_new = rng.uniform(-1, 1, size=(n_rows, n_columns)), rng.uniform(-1, 1, size=(20, n_columns))
    y = 3.0 * np.maximum(X[:, 0] - 0.2, 0) - 0.5 * np.maximum(-X[:, -1], 0) + 0.1 * rng.standard_normal(n_rows)
    return Example(X, y, X_new)


def tiny(**settings) -> HyperplaneProcessRegressor:
    """A regressor that fits in a moment."""
    return HyperplaneProcessRegressor(**SHAPE | {"random_state": 0} | settings)


def stay(key: jax.Array, state: Any, *shared: Any) -> tuple[Any, jax.Array]:
    """A round of moves without any."""
    return state, jnp.zeros(())


@pytest.fixture
def leave_out_moves(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Have particles stay where they were drawn: of all that a fit does, moves alone take long to compile."""

    def leave_out_moves() -> None:
        for name in ("samplers.make_numbered_round", "compound.make_compound_round"):
            monkeypatch.setattr(f"hyperplanes.inference.{name}", lambda *settings: stay)

    return leave_out_moves


@pytest.fixture(scope="session")
def example() -> Example:
    return make_example()


@pytest.fixture(scope="session")
def fitted(example: Example) -> HyperplaneProcessRegressor:
    """A fitted regressor that no test may change."""
    return tiny().fit(example.X, example.y)


@pytest.fixture(scope="session")
def make_regressor() -> Callable[..., HyperplaneProcessRegressor]:
    return tiny


@pytest.fixture(scope="session")
def make_rows() -> Callable[..., Example]:
    return make_example

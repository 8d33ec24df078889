"""The regressors that ours is compared with, each with its library's defaults."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVR


class Regressor(Protocol):
    """The part of scikit-learn's face that a comparison needs."""

    def fit(self, X: NDArray[np.float64], y: NDArray[np.float64]) -> Self:
        """Fit to the rows of X."""

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one prediction per row."""


RIVALS: Mapping[str, Callable[[int], Regressor]] = MappingProxyType(
    {
        "linear": lambda seed: LinearRegression(),
        "forest": lambda seed: RandomForestRegressor(random_state=seed),
        "rbf svm": lambda seed: SVR(kernel="rbf"),
    }
)
"""Name of a rival -> function from a seed to the rival, not yet fitted."""


def make_rival(name: str, seed: int) -> Regressor:
    """Return a fresh rival by name."""
    if name not in RIVALS:
        raise ValueError(f"rival must be one of {', '.join(RIVALS)}, got {name!r}")
    return RIVALS[name](seed)

"""Tables for comparisons: simulated ones, and measured ones that may be shared (see `data/SOURCES.md`)."""

from collections.abc import Callable, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_circles,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_moons,
)
from sklearn.decomposition import PCA

from hyperplanes.experiments.simulate import simulate

Floats = NDArray[np.float64]

N_ROWS = 1000
N_ROWS_OF_CLASSES = 2000
N_COMPONENTS = 10
RING_BANDS = (8.5, 10.5)
"""Three bands of about as many abalones each."""
TEST_SHARE = 0.25


class DataSet(NamedTuple):
    """Inputs and response, as numbers."""

    X: Floats
    """(n, p)."""
    y: Floats
    """(n,)."""


def load_abalone() -> DataSet:
    """Rings of 4177 abalones from their sex (three columns of 0 and 1) and seven measurements."""
    rows = _read("abalone.csv")
    sexes = np.array([[row[0] == sex for sex in ("F", "I", "M")] for row in rows], dtype=np.float64)
    numbers = np.array([row[1:] for row in rows], dtype=np.float64)
    return DataSet(np.column_stack([sexes, numbers[:, :-1]]), numbers[:, -1])


def load_red_wine() -> DataSet:
    """Quality of 1599 red wines from eleven measurements. 240 rows are exact copies of others."""
    numbers = np.array(_read("winequality-red.csv"), dtype=np.float64)
    return DataSet(numbers[:, :-1], numbers[:, -1])


def _read(name: str) -> list[list[str]]:
    lines = (files("hyperplanes.experiments") / "data" / name).read_text(encoding="utf-8").splitlines()
    return [line.split(",") for line in lines[1:]]


def _spirals(seed: int) -> DataSet:
    """Two spirals that turn about each other one and a half times."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=N_ROWS_OF_CLASSES).astype(np.float64)
    turns = 0.25 + 1.5 * np.sqrt(rng.uniform(size=N_ROWS_OF_CLASSES))
    angle = 2 * np.pi * turns + np.pi * y
    X = turns[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return DataSet(X + 0.1 * rng.standard_normal(X.shape), y)


def _digits(seed: int) -> DataSet:
    """Images of digits by their first ten principal components."""
    X, y = load_digits(return_X_y=True)
    return DataSet(PCA(N_COMPONENTS, random_state=0).fit_transform(X), y.astype(np.float64))


def _abalone_sex(seed: int) -> DataSet:
    X, rings = load_abalone()
    return DataSet(np.column_stack([X[:, 3:], rings]), np.argmax(X[:, :3], axis=1).astype(np.float64))


def _abalone_rings(seed: int) -> DataSet:
    X, rings = load_abalone()
    return DataSet(X, np.digitize(rings, RING_BANDS).astype(np.float64))


def _friedman1(seed: int) -> DataSet:
    return DataSet(*make_friedman1(N_ROWS, noise=1.0, random_state=seed))


def _of_the_paper(n_columns: int, n_hyperplanes: int) -> Callable[[int], DataSet]:
    def draw(seed: int) -> DataSet:
        simulation = simulate(seed, n_rows=N_ROWS, n_columns=n_columns, n_hyperplanes=n_hyperplanes)
        return DataSet(simulation.X, simulation.y)

    return draw


def _with_noise_columns(draw: Callable[[int], DataSet], n_columns: int) -> Callable[[int], DataSet]:
    """Append columns that have nothing to do with the response."""

    def noisy(seed: int) -> DataSet:
        X, y = draw(seed)
        return DataSet(np.column_stack([X, np.random.default_rng(seed).uniform(size=(len(X), n_columns))]), y)

    return noisy


DATA_SETS: Mapping[str, Callable[[int], DataSet]] = MappingProxyType(
    {
        "friedman1": _friedman1,
        "friedman2": lambda seed: DataSet(*make_friedman2(N_ROWS, noise=125.0, random_state=seed)),
        "friedman3": lambda seed: DataSet(*make_friedman3(N_ROWS, noise=0.1, random_state=seed)),
        "diabetes": lambda seed: DataSet(*load_diabetes(return_X_y=True)),
        "abalone": lambda seed: load_abalone(),
        "wine": lambda seed: load_red_wine(),
        "paper_p5m5": _of_the_paper(5, 5),
        "paper_p20m10": _of_the_paper(20, 10),
        "friedman1_noise20": _with_noise_columns(_friedman1, 20),
        "friedman1_noise100": _with_noise_columns(_friedman1, 100),
    }
)
"""Name of a data set -> function from a seed to it; measured ones are the same for every seed."""


CLASS_SETS: Mapping[str, Callable[[int], DataSet]] = MappingProxyType(
    {
        "moons": lambda seed: DataSet(*make_moons(N_ROWS_OF_CLASSES, noise=0.3, random_state=seed)),
        "circles": lambda seed: DataSet(*make_circles(N_ROWS_OF_CLASSES, noise=0.15, factor=0.6, random_state=seed)),
        "spirals": _spirals,
        "breast_cancer": lambda seed: DataSet(*load_breast_cancer(return_X_y=True)),
        "wine_classes": lambda seed: DataSet(*load_wine(return_X_y=True)),
        "iris": lambda seed: DataSet(*load_iris(return_X_y=True)),
        "digits": _digits,
        "abalone_sex": _abalone_sex,
        "abalone_rings": _abalone_rings,
    }
)
"""The same for classification, with the number of the class as response."""


def split_rows(data: DataSet, seed: int, test_share: float = TEST_SHARE) -> tuple[DataSet, DataSet]:
    """Training and test rows at random."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    n_test = round(test_share * len(order))
    train, test = order[n_test:], order[:n_test]
    return DataSet(data.X[train], data.y[train]), DataSet(data.X[test], data.y[test])


def copies(rows: DataSet, others: DataSet) -> NDArray[np.bool_]:
    """Whether each row, response included, is among the others."""
    known = {row.tobytes() for row in np.column_stack([others.X, others.y])}
    return np.array([row.tobytes() in known for row in np.column_stack([rows.X, rows.y])], dtype=np.bool_)

"""Data simulated as in the paper's simulation studies.

Rows are uniform on the box [-1, 1]^p. The true function is a two-layer ReLU network whose hidden units are random
hyperplanes, f(x) = w_0 + sum_j w_j relu(<x, n_j> - mu_j), with n_j uniform on the unit sphere,
mu_j ~ Uniform(0, sqrt p), w_j ~ N(0, 1) and w_0 ~ N(0, 0.1^2). The response adds Gaussian noise with standard
deviation 0.1.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

INTERCEPT_SCALE = 0.1
"""Standard deviation of the intercept w_0."""


class Simulation(NamedTuple):
    """One simulated data set together with the truth that made it."""

    X: NDArray[np.float64]
    """Inputs, (n_rows, n_columns), in [-1, 1]."""
    y: NDArray[np.float64]
    """Responses f + noise, (n_rows,)."""
    f: NDArray[np.float64]
    """True function values at the rows, (n_rows,)."""
    normals: NDArray[np.float64]
    """Unit normals of the true hyperplanes, (n_hyperplanes, n_columns)."""
    offsets: NDArray[np.float64]
    """Offsets of the true hyperplanes, (n_hyperplanes,), each in (0, sqrt(n_columns))."""
    coefficients: NDArray[np.float64]
    """True output layer, (n_hyperplanes + 1,), intercept first."""
    noise: float
    """Standard deviation of the noise."""

    def function(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the true function at other inputs, (n_rows,)."""
        return _network(X, self.normals, self.offsets, self.coefficients)

    def rows(self, index: NDArray[np.intp]) -> "Simulation":
        """Return the same truth with only the rows in `index`."""
        return self._replace(X=self.X[index], y=self.y[index], f=self.f[index])


class Split(NamedTuple):
    """A data set cut in two at random."""

    train: Simulation
    """The rows to fit."""
    test: Simulation
    """The rows held out."""


def simulate(
    seed: int,
    *,
    n_rows: int = 5000,
    n_columns: int = 2,
    n_hyperplanes: int = 2,
    noise: float = 0.1,
    touching: bool = False,
) -> Simulation:
    """Simulate a data set of the paper's first or second study.

    Parameters
    ----------
    seed : int
        Same seed, same data.
    n_rows, n_columns, n_hyperplanes : int
        Size of the data and of the true network. The first study has 5000 rows, 2 columns and 2 hyperplanes.
    noise : float
        Standard deviation of the noise.
    touching : bool
        Whether to redraw each hyperplane until at least one row lies on its active side, which implies that it cuts the
        box. The first study's lines all intersect the square, so it is `touching=True`; the second study draws
        hyperplanes uniformly, some of which leave every row inactive and so have no effect.

    Returns
    -------
    Simulation
    """
    _check_sizes(n_rows, n_columns, n_hyperplanes, noise)
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n_rows, n_columns))
    normals, offsets = _draw_hyperplanes(rng, n_hyperplanes, n_columns)
    if touching:
        normals, offsets = _redraw_missing(rng, X, normals, offsets)
    intercept = rng.normal(0.0, INTERCEPT_SCALE, 1)
    coefficients = np.concatenate([intercept, rng.standard_normal(n_hyperplanes)])
    f = _network(X, normals, offsets, coefficients)
    y = f + noise * rng.standard_normal(n_rows)
    return Simulation(X, y, f, normals, offsets, coefficients, noise)


def split(simulation: Simulation, seed: int, *, test_share: float = 0.25) -> Split:
    """Split the rows at random, 75% to train on and 25% to test on as in the paper.

    The split has a random stream of its own, so using the seed of the data here as well is safe.
    """
    if not 0.0 < test_share < 1.0:
        raise ValueError(f"test_share must be between 0 and 1, got {test_share}")
    order = np.random.default_rng([seed, 1]).permutation(len(simulation.y))
    n_test = round(test_share * len(order))
    return Split(train=simulation.rows(order[n_test:]), test=simulation.rows(order[:n_test]))


def _check_sizes(n_rows: int, n_columns: int, n_hyperplanes: int, noise: float) -> None:
    for name, size in {"n_rows": n_rows, "n_columns": n_columns, "n_hyperplanes": n_hyperplanes}.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")
    if not (noise >= 0.0 and np.isfinite(noise)):
        raise ValueError(f"noise must be finite and not negative, got {noise}")


def _network(
    X: NDArray[np.float64],
    normals: NDArray[np.float64],
    offsets: NDArray[np.float64],
    coefficients: NDArray[np.float64],
) -> NDArray[np.float64]:
    hidden = np.maximum(X @ normals.T - offsets, 0.0)
    return np.asarray(coefficients[0] + hidden @ coefficients[1:], dtype=np.float64)


def _draw_hyperplanes(
    rng: np.random.Generator, n_hyperplanes: int, n_columns: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    directions = rng.standard_normal((n_hyperplanes, n_columns))
    normals = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return normals, rng.uniform(0.0, np.sqrt(n_columns), n_hyperplanes)


def _redraw_missing(
    rng: np.random.Generator,
    X: NDArray[np.float64],
    normals: NDArray[np.float64],
    offsets: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # Offsets are positive, so the origin is never active: one active row means that the hyperplane cuts the box.
    while (missing := ~np.any(offsets < X @ normals.T, axis=0)).any():
        normals[missing], offsets[missing] = _draw_hyperplanes(rng, int(missing.sum()), X.shape[1])
    return normals, offsets

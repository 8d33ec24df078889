"""The regressors that ours is compared with, with their libraries' defaults where nothing else is said.

Some predict a number for each row (`Regressor`), some a distribution (`Predictor`). Libraries beyond scikit-learn are
imported where they are used: `pip install "hyperplanes[reproduce]"`.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Protocol, Self, TypeAlias

import joblib
import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from hyperplanes.experiments.predictive import Floats, Predictive


class Regressor(Protocol):
    """The part of scikit-learn's face that a comparison needs."""

    def fit(self, X: Floats, y: Floats) -> Self:
        """Fit to the rows of X."""

    def predict(self, X: Floats) -> Floats:
        """Return one prediction per row."""


VARIANCE_TREES = 50
"""Of stochtree where the noise varies; its own default is none."""

MakeRegressor: TypeAlias = Callable[[int], Regressor]
"""From a seed to a regressor, not yet fitted."""
Predictor: TypeAlias = Callable[[Floats, Floats, Floats, int], Predictive]
"""From training inputs, responses, new inputs and a seed to distributions of new responses."""

RIVALS: Mapping[str, MakeRegressor] = MappingProxyType(
    {
        "linear": lambda seed: LinearRegression(),
        "forest": lambda seed: RandomForestRegressor(random_state=seed),
        "rbf svm": lambda seed: SVR(kernel="rbf"),
    }
)
"""Name of a rival of the demonstration -> function from a seed to the rival, not yet fitted."""


def make_rival(name: str, seed: int) -> Regressor:
    """Return a fresh rival by name."""
    if name not in RIVALS:
        raise ValueError(f"rival must be one of {', '.join(RIVALS)}, got {name!r}")
    return RIVALS[name](seed)


def support_vectors(kernel: str) -> Regressor:
    """Support vector regression of a standardised response on standardised inputs, R's e1071 by default."""
    machine = make_pipeline(StandardScaler(), SVR(kernel=kernel))
    found: Regressor = TransformedTargetRegressor(machine, transformer=StandardScaler())
    return found


def forest(n_trees: int) -> MakeRegressor:
    """R's randomForest by default: a third of the columns at each split, nodes of fewer than five rows are leaves."""
    sizes = {"n_estimators": n_trees, "max_features": 1 / 3, "min_samples_split": 5}
    return lambda seed: RandomForestRegressor(random_state=seed, **sizes)


CLASSICAL: Mapping[str, MakeRegressor] = MappingProxyType(
    {
        "dt": forest(1),
        "rf": forest(500),
        "lm": lambda seed: LinearRegression(),
        "svm_l": lambda seed: support_vectors("linear"),
        "svm_r": lambda seed: support_vectors("rbf"),
    }
)
"""The classical methods of the paper by its names for them. Its errors are those of the defaults of R's packages, and
those of its decision tree are those of a forest of one tree, which is grown on a bootstrap of the rows."""


def boosted_trees(n_trees: int | None = None) -> MakeRegressor:
    """XGBoost on one thread."""

    def make(seed: int) -> Regressor:
        from xgboost import XGBRegressor

        found: Regressor = XGBRegressor(n_estimators=n_trees, random_state=seed, n_jobs=1)
        return found

    return make


def bootstrapped(
    make: MakeRegressor, n_bootstraps: int, *, standardised: bool = False, n_jobs: int | None = -1
) -> Predictor:
    """Fits to bootstraps of the rows, of the response as it is or standardised.

    The noise is what the errors on rows left out have beyond the spread of the fits.
    """

    def run(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
        center, scale = (y.mean(), y.std()) if standardised else (0.0, 1.0)

        def one(number: int) -> tuple[Floats, Floats]:
            rows = np.random.default_rng((seed, number)).integers(len(y), size=len(y))
            model = make(number).fit(X[rows], (y[rows] - center) / scale)
            unseen = np.setdiff1d(np.arange(len(y)), rows)
            return center + scale * model.predict(new), y[unseen] - center - scale * model.predict(X[unseen])

        found = joblib.Parallel(n_jobs=n_jobs)(joblib.delayed(one)(number) for number in range(n_bootstraps))
        functions, errors = np.array([each for each, _ in found]), np.concatenate([each for _, each in found])
        noise = np.sqrt(max(np.mean(errors**2) - functions.var(axis=0).mean(), 1e-12))
        return Predictive(functions, np.array([[noise]]))

    return run


def gaussian_process(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
    """Squared exponential with a length for each column, and noise, by marginal likelihood."""
    inputs = StandardScaler().fit(X)
    kernel = ConstantKernel() * RBF(np.full(X.shape[1], np.sqrt(X.shape[1]))) + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed).fit(inputs.transform(X), y)
    mean, deviation = model.predict(inputs.transform(new), return_std=True)
    return Predictive(mean[None], deviation[None])


def additive_trees(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
    """Bayesian additive regression trees of stochtree."""
    from stochtree import BARTModel

    model = BARTModel()
    model.sample(X_train=X, y_train=y, X_test=new, general_params={"random_seed": seed})
    return Predictive(np.asarray(model.y_hat_test).T, np.sqrt(np.asarray(model.global_var_samples))[:, None])


def varying_additive_trees(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
    """Bayesian additive regression trees of stochtree, with a forest for the variance too."""
    from stochtree import BARTModel

    model = BARTModel()
    options = {"general_params": {"random_seed": seed, "sample_sigma2_global": False}}
    forest = {"variance_forest_params": {"num_trees": VARIANCE_TREES}}
    model.sample(X_train=X, y_train=y, X_test=new, **options, **forest)
    return Predictive(np.asarray(model.y_hat_test).T, np.sqrt(np.asarray(model.sigma2_x_test)).T)


def natural_gradient_boosting(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
    """NGBoost."""
    from ngboost import NGBRegressor

    found = NGBRegressor(random_state=seed, verbose=False).fit(X, y).pred_dist(new)
    return Predictive(np.asarray(found.loc)[None], np.asarray(found.scale)[None])


class ReluNetwork:
    """The paper's network: `keras.Sequential` with one hidden layer of ReLU, mean squared error and Adam.

    Keras runs on JAX. All of Keras's defaults but for the size of a batch.

    Parameters
    ----------
    n_units : int
        Of the hidden layer.
    epochs : int
        Passes over the rows.
    batch_size : int, optional
        Rows of a step; by default all of them.
    seed : int
        Of starting values and of the order of rows.
    """

    def __init__(self, n_units: int, *, epochs: int, batch_size: int | None = None, seed: int = 0) -> None:
        self.n_units = n_units
        self.epochs = epochs
        self.batch_size = batch_size
        self.seed = seed

    def fit(self, X: Floats, y: Floats) -> Self:
        """Train."""
        for _ in self.train(X, y, [self.epochs]):
            pass
        return self

    def train(self, X: Floats, y: Floats, looks: Iterable[int]) -> Iterator[int]:
        """Train and stop to look after so many epochs."""
        keras = _load_keras()
        keras.utils.set_random_seed(self.seed)
        dense = keras.layers.Dense
        self.model_ = keras.Sequential([dense(self.n_units, activation="relu"), dense(1)])
        self.model_.compile(optimizer=keras.optimizers.Adam(), loss="mse")
        done = 0
        for look in looks:
            self.model_.fit(X, y, batch_size=self.batch_size or len(y), epochs=look - done, verbose=0)
            done = look
            yield look

    def predict(self, X: Floats) -> Floats:
        """Return the outputs."""
        return np.asarray(self.model_.predict(X, batch_size=len(X), verbose=0)[:, 0], dtype=np.float64)


def _load_keras() -> Any:
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import keras

    if keras.backend.backend() != "jax":
        raise ImportError(f"Keras must run on JAX: unset KERAS_BACKEND, now {keras.backend.backend()!r}")
    return keras

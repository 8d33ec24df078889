"""Methods of `tables.py`, each at the defaults of its library, with a predictive distribution.

Libraries that predict a number alone get a Gaussian around it, as wide as their errors on rows that they did not see:
out of bag for bootstraps and forests, by 5-fold cross-validation for the others.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_predict
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import deep_ensembles
from hyperplanes import HyperplaneProcessRegressor, Prior, paper_prior
from hyperplanes.model.prediction import function_values

Floats = NDArray[np.float64]

N_BOOTSTRAPS = 100
N_MEMBERS = 10


class Predictive(NamedTuple):
    """A mixture of Gaussians for each test row, with equal weights."""

    means: Floats
    """(n_components, n)."""
    deviations: Floats
    """(n_components, n) or what broadcasts to it."""
    seconds: float | None = None
    """Where not the whole call should count."""
    details: Mapping[str, Any] = MappingProxyType({})
    """What else the method reports."""

    def of(self, rows: NDArray[np.bool_]) -> "Predictive":
        """The same for some of the rows."""
        deviations = np.broadcast_to(self.deviations, self.means.shape)
        return self._replace(means=self.means[:, rows], deviations=deviations[:, rows])

    def mean(self) -> Floats:
        """Of a new response."""
        return np.asarray(self.means.mean(axis=0))

    def draw(self, rng: np.random.Generator, n_draws: int) -> Floats:
        """Draws of new responses, (n_draws, n), components in turn."""
        which = np.arange(n_draws) % len(self.means)
        deviations = np.broadcast_to(self.deviations, self.means.shape)
        return np.asarray(self.means[which] + deviations[which] * rng.standard_normal((n_draws, self.means.shape[1])))

    def log_density(self, response: Floats) -> Floats:
        """Of each response."""
        errors = (response - self.means) / self.deviations
        terms = -0.5 * errors**2 - np.log(self.deviations * np.sqrt(2 * np.pi))
        return np.asarray(logsumexp(terms, axis=0) - np.log(len(self.means)))


def ours(**settings: Any) -> Callable[[Floats, Floats, Floats, int], Predictive]:
    def run(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
        model = HyperplaneProcessRegressor(random_state=seed, **settings).fit(X, y)
        posterior, response = model.posterior_, model.response_scaler_
        rows = model.input_scaler_.to_model(model.columns_.fill(new))
        functions = np.concatenate(list(function_values(posterior, rows, 2**30)), axis=1)
        weights = np.exp(posterior.log_weights)
        chosen = np.random.default_rng(seed).choice(len(weights), 2 * len(weights), p=weights)
        deviations = response.scale_ * np.sqrt(posterior.noise_variance[chosen])
        details = {
            "log_evidence": model.log_evidence_,
            "n_steps": model.diagnostics_.n_steps,
            "n_hyperplanes": [model.n_hyperplanes_.low, model.n_hyperplanes_.mean, model.n_hyperplanes_.high],
        }
        return Predictive(response.to_user(functions[chosen]), deviations[:, None], None, details)

    return run


def by_cross_validation(make: Callable[[int], BaseEstimator]) -> Callable[[Floats, Floats, Floats, int], Predictive]:
    def run(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
        errors = y - cross_val_predict(make(seed), X, y, cv=5)
        return Predictive(make(seed).fit(X, y).predict(new)[None], np.array([[np.sqrt(np.mean(errors**2))]]))

    return run


def forest(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
    model = RandomForestRegressor(oob_score=True, random_state=seed, n_jobs=-1).fit(X, y)
    deviation = np.sqrt(np.mean((y - model.oob_prediction_) ** 2))
    return Predictive(model.predict(new)[None], np.array([[deviation]]))


def bootstrapped(
    make: Callable[[int], BaseEstimator], n_bootstraps: int, *, standardised: bool = False
) -> Callable[[Floats, Floats, Floats, int], Predictive]:
    """Fits to bootstraps of the rows, of the response as it is or standardised."""

    def run(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
        center, scale = (y.mean(), y.std()) if standardised else (0.0, 1.0)

        def one(number: int) -> tuple[Floats, Floats]:
            rows = np.random.default_rng((seed, number)).integers(len(y), size=len(y))
            model = make(number).fit(X[rows], (y[rows] - center) / scale)
            unseen = np.setdiff1d(np.arange(len(y)), rows)
            return center + scale * model.predict(new), y[unseen] - center - scale * model.predict(X[unseen])

        found = joblib.Parallel(n_jobs=-1)(joblib.delayed(one)(number) for number in range(n_bootstraps))
        functions, errors = np.array([each for each, _ in found]), np.concatenate([each for _, each in found])
        noise = np.sqrt(max(np.mean(errors**2) - functions.var(axis=0).mean(), 1e-12))
        return Predictive(functions, np.array([[noise]]))

    return run


def boosted_trees(number: int) -> BaseEstimator:
    from xgboost import XGBRegressor

    return XGBRegressor(random_state=number, n_jobs=1)


def network(number: int) -> BaseEstimator:
    """With early stopping: its bare defaults do not converge."""
    return make_pipeline(StandardScaler(), MLPRegressor(random_state=number, max_iter=1000, early_stopping=True))


def gaussian_process(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
    inputs = StandardScaler().fit(X)
    kernel = ConstantKernel() * RBF(np.full(X.shape[1], np.sqrt(X.shape[1]))) + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed).fit(inputs.transform(X), y)
    mean, deviation = model.predict(inputs.transform(new), return_std=True)
    return Predictive(mean[None], deviation[None])


def stochtree(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
    from stochtree import BARTModel

    model = BARTModel()
    model.sample(X_train=X, y_train=y, X_test=new, general_params={"random_seed": seed})
    return Predictive(np.asarray(model.y_hat_test).T, np.sqrt(np.asarray(model.global_var_samples))[:, None])


def bartz(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
    from bartz.BART import gbart

    model = gbart(X, y, x_test=new, seed=seed)
    return Predictive(np.asarray(model.yhat_test), np.asarray(model.sigma_)[..., None].reshape(-1, 1))


def ngboost(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
    from ngboost import NGBRegressor

    found = NGBRegressor(random_state=seed, verbose=False).fit(X, y).pred_dist(new)
    return Predictive(np.asarray(found.loc)[None], np.asarray(found.scale)[None])


def bde(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
    return Predictive(*deep_ensembles.draw(X, y, new, seed))


METHODS: dict[str, Callable[[Floats, Floats, Floats, int], Predictive]] = {
    "ours": ours(),
    "linear": by_cross_validation(lambda seed: LinearRegression()),
    "forest": forest,
    "svm": by_cross_validation(lambda seed: make_pipeline(StandardScaler(), SVR())),
    "xgboost": bootstrapped(boosted_trees, N_BOOTSTRAPS),
    "gp": gaussian_process,
    "stochtree": stochtree,
    "bartz": bartz,
    "ngboost": ngboost,
    "bde": bde,
    "networks": bootstrapped(network, N_MEMBERS, standardised=True),
}
"""Ours and its rivals."""
VARIANTS: dict[str, Callable[[Floats, Floats, Floats, int], Predictive]] = {
    "alike": ours(prior=Prior(inattention=1.0)),
    "outward": ours(prior=Prior(lowest_offset=0.0)),
    "known_scale": ours(prior=Prior(coefficient_variance=1.0, coefficient_shape=0.0)),
    "earlier": ours(prior=Prior(coefficient_variance=1.0, coefficient_shape=1.0, inattention=0.03)),
    "given_number": ours(n_hyperplanes=20),
    "paper_prior": lambda X, y, new, seed: ours(n_hyperplanes=20, prior=paper_prior(X.shape[1]))(X, y, new, seed),
}
"""Ours with one default less: all columns alike; hyperplanes that face away from the centre of the data alone;
coefficients of variance 1; smaller slopes and more attention to columns of noise; 20 hyperplanes; 20 hyperplanes and
the paper's prior."""

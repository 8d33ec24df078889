"""Methods of `tables.py`, each at the defaults of its library, with a predictive distribution.

Libraries that predict a number alone get a Gaussian around it, as wide as their errors on rows that they did not see:
out of bag for bootstraps and forests, by 5-fold cross-validation for the others.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_predict
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import deep_ensembles
from hyperplanes import HyperplaneProcessRegressor, Prior, paper_prior
from hyperplanes.experiments.predictive import Floats, Predictive
from hyperplanes.experiments.rivals import (
    MakeRegressor,
    Predictor,
    additive_trees,
    boosted_trees,
    bootstrapped,
    gaussian_process,
    natural_gradient_boosting,
    varying_additive_trees,
)

N_BOOTSTRAPS = 100
N_MEMBERS = 10


def ours(**settings: Any) -> Predictor:
    def run(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
        model = HyperplaneProcessRegressor(random_state=seed, **settings).fit(X, y)
        mixture = model.parts_[0].mixture(model.columns_.fill(new), max_bytes=2**30)
        rng, weights, heavy = np.random.default_rng(seed), mixture.weights, np.isfinite(mixture.degrees).all()
        chosen = rng.choice(len(weights), (20 if heavy else 2) * len(weights), p=weights)
        deviations = mixture.scales[chosen]
        if heavy:
            degrees = mixture.degrees[chosen]
            deviations = deviations * np.sqrt(degrees / rng.chisquare(degrees, deviations.shape))
        details = {
            "noise": model.noise_,
            "log_evidence": model.log_evidence_,
            "n_steps": model.diagnostics_.n_steps,
            "n_hyperplanes": [model.n_hyperplanes_.low, model.n_hyperplanes_.mean, model.n_hyperplanes_.high],
        }
        return Predictive(mixture.centres[chosen], deviations, None, details)

    return run


def by_cross_validation(make: MakeRegressor) -> Predictor:
    def run(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
        errors = y - cross_val_predict(make(seed), X, y, cv=5)
        return Predictive(make(seed).fit(X, y).predict(new)[None], np.array([[np.sqrt(np.mean(errors**2))]]))

    return run


def forest(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
    model = RandomForestRegressor(oob_score=True, random_state=seed, n_jobs=-1).fit(X, y)
    deviation = np.sqrt(np.mean((y - model.oob_prediction_) ** 2))
    return Predictive(model.predict(new)[None], np.array([[deviation]]))


def network(number: int) -> BaseEstimator:
    """With early stopping: its bare defaults do not converge."""
    return make_pipeline(StandardScaler(), MLPRegressor(random_state=number, max_iter=1000, early_stopping=True))


def bartz(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
    from bartz.BART import gbart

    model = gbart(X, y, x_test=new, seed=seed)
    return Predictive(np.asarray(model.yhat_test), np.asarray(model.sigma_)[..., None].reshape(-1, 1))


def bde(X: Floats, y: Floats, new: Floats, seed: int) -> Predictive:
    return Predictive(*deep_ensembles.draw(X, y, new, seed))


METHODS: dict[str, Predictor] = {
    "ours": ours(),
    "linear": by_cross_validation(lambda seed: LinearRegression()),
    "forest": forest,
    "svm": by_cross_validation(lambda seed: make_pipeline(StandardScaler(), SVR())),
    "xgboost": bootstrapped(boosted_trees(), N_BOOTSTRAPS),
    "gp": gaussian_process,
    "stochtree": additive_trees,
    "stochtree_varying": varying_additive_trees,
    "bartz": bartz,
    "ngboost": natural_gradient_boosting,
    "bde": bde,
    "networks": bootstrapped(network, N_MEMBERS, standardised=True),
}
"""Ours and its rivals."""
VARIANTS: dict[str, Predictor] = {
    "varying": ours(noise="varying"),
    "student": ours(noise="student"),
    "auto": ours(noise="auto"),
    "alike": ours(prior=Prior(inattention=1.0)),
    "outward": ours(prior=Prior(lowest_offset=0.0)),
    "known_scale": ours(prior=Prior(coefficient_variance=1.0, coefficient_shape=0.0)),
    "earlier": ours(prior=Prior(coefficient_variance=1.0, coefficient_shape=1.0, inattention=0.03)),
    "given_number": ours(n_hyperplanes=20),
    "paper_prior": lambda X, y, new, seed: ours(n_hyperplanes=20, prior=paper_prior(X.shape[1]))(X, y, new, seed),
}
"""Ours with other noise; and with one default less: all columns alike; hyperplanes that face away from the centre of
the data alone; coefficients of variance 1; smaller slopes and more attention to columns of noise; 20 hyperplanes; 20
hyperplanes and the paper's prior."""

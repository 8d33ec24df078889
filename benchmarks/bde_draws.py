"""Draws of Bayesian deep ensembles, in an environment of their own: see `deep_ensembles`.

Reads inputs, response, new inputs and a seed from one .npz file, all standardised; writes draws of mean and standard
deviation at the new inputs, and the seconds that they took, to another. Given `classes` in place of a response it
writes their probabilities. Its command line is those two files.
"""

import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from bde import BdeClassifier, BdeRegressor
from bde.loss import CategoricalCrossEntropy, GaussianNLL

N_KEPT = 100
"""Draws kept of each member's 1000."""


def main(source: str, target: str) -> None:
    given = np.load(source)
    start = time.perf_counter()
    found = probabilities(given) if "classes" in given else draws(given)
    np.savez(target, **found, seconds=time.perf_counter() - start)


def probabilities(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fit with the settings of the package's README for classes."""
    model = BdeClassifier(
        n_members=4,
        hidden_layers=[16, 16],
        seed=int(given["seed"]),
        loss=CategoricalCrossEntropy(),
        activation="relu",
        epochs=1000,
        validation_split=0.15,
        lr=1e-3,
        warmup_steps=400,
        n_samples=100,
        n_thinning=1,
        patience=10,
    )
    model.fit(x=given["inputs"].astype(np.float32), y=given["classes"])
    found = np.asarray(model.predict_proba(given["new_inputs"].astype(np.float32)), dtype=np.float64)
    return {"probabilities": found / found.sum(axis=1, keepdims=True)}


def draws(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fit with the settings of the package's README for a response."""
    model = BdeRegressor(
        hidden_layers=[16, 16],
        n_members=8,
        seed=int(given["seed"]),
        loss=GaussianNLL(),
        epochs=200,
        validation_split=0.15,
        lr=1e-3,
        weight_decay=1e-4,
        warmup_steps=5000,
        n_samples=2000,
        n_thinning=2,
        patience=10,
    )
    model.fit(x=given["inputs"], y=given["response"])
    raw = np.asarray(model.predict(given["new_inputs"], raw=True), dtype=np.float64)  # (members, draws, rows, 2)
    kept = raw[:, :: max(1, raw.shape[1] // N_KEPT)].reshape(-1, *raw.shape[2:])
    deviation = np.logaddexp(0, kept[..., 1])  # the second head is a standard deviation before softplus
    return {"mean": kept[..., 0], "deviation": deviation}


if __name__ == "__main__":
    main(*sys.argv[1:])

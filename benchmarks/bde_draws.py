"""Draws of Bayesian deep ensembles, in an environment of their own: see `deep_ensembles.draw`.

Reads inputs, response, new inputs and a seed from one .npz file, all standardised; writes draws of mean and standard
deviation at the new inputs, and the seconds that they took, to another. Its command line is those two files.
"""

import sys
import time

import numpy as np
from bde import BdeRegressor
from bde.loss import GaussianNLL

N_KEPT = 100
"""Draws kept of each member's 1000."""


def main(source: str, target: str) -> None:
    """Fit with the settings of the package's README."""
    given = np.load(source)
    start = time.perf_counter()
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
    seconds = time.perf_counter() - start
    kept = raw[:, :: max(1, raw.shape[1] // N_KEPT)].reshape(-1, *raw.shape[2:])
    deviation = np.logaddexp(0, kept[..., 1])  # the second head is a standard deviation before softplus
    np.savez(target, mean=kept[..., 0], deviation=deviation, seconds=seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Bayesian deep ensembles (`sklearn-contrib-bde`), which need an environment of their own: `make .venv/.bde`."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

Floats = NDArray[np.float64]

PYTHON = Path(sys.prefix) / "bde" / "bin" / "python"


class Draws(NamedTuple):
    """Draws of mean and standard deviation of the response at new inputs, in the user's units."""

    mean: Floats
    """(n_draws, n)."""
    deviation: Floats
    """(n_draws, n)."""
    seconds: float
    """That fit and draws took, with compilation."""


def draw(X: Floats, y: Floats, new: Floats, seed: int) -> Draws:
    """Fit with the settings of the package's README, one device a core."""
    center, scale = y.mean(), y.std()
    found = _run(X, new, seed, response=(y - center) / scale)
    return Draws(center + scale * found["mean"], scale * found["deviation"], float(found["seconds"]))


def probabilities(X: Floats, classes: Floats, new: Floats, seed: int) -> tuple[Floats, float]:
    """Of classes 0, 1, ..., with the README's settings for them, (n, n_classes); and the seconds that they took."""
    found = _run(X, new, seed, classes=classes.astype(np.int32))
    return found["probabilities"], float(found["seconds"])


def _run(X: Floats, new: Floats, seed: int, **response: Any) -> dict[str, NDArray[Any]]:
    """What `bde_draws.py` makes of standardised inputs, in its environment."""
    if not PYTHON.exists():
        raise SystemExit("sklearn-contrib-bde has no environment yet: run `make .venv/.bde`")
    inputs = StandardScaler().fit(X)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.npz", Path(folder) / "target.npz"
        np.savez(source, inputs=inputs.transform(X), new_inputs=inputs.transform(new), seed=seed, **response)
        command = [PYTHON, Path(__file__).with_name("bde_draws.py"), source, target]
        flags = f"--xla_force_host_platform_device_count={joblib.cpu_count()}"
        subprocess.run(command, check=True, env={**os.environ, "XLA_FLAGS": flags, "TQDM_DISABLE": "1"})
        return dict(np.load(target))

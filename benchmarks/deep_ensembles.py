"""Bayesian deep ensembles (`sklearn-contrib-bde`), which need an environment of their own: `make .venv/.bde`."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

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
    if not PYTHON.exists():
        raise SystemExit("sklearn-contrib-bde has no environment yet: run `make .venv/.bde`")
    inputs, center, scale = StandardScaler().fit(X), y.mean(), y.std()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.npz", Path(folder) / "target.npz"
        rows = {"inputs": inputs.transform(X), "new_inputs": inputs.transform(new)}
        np.savez(source, **rows, response=(y - center) / scale, seed=seed)
        command = [PYTHON, Path(__file__).with_name("bde_draws.py"), source, target]
        flags = f"--xla_force_host_platform_device_count={joblib.cpu_count()}"
        subprocess.run(command, check=True, env={**os.environ, "XLA_FLAGS": flags, "TQDM_DISABLE": "1"})
        found = np.load(target)
        return Draws(center + scale * found["mean"], scale * found["deviation"], float(found["seconds"]))

"""Inference: from scaled data and a prior to a posterior."""

from hyperplanes.inference.averaging import average
from hyperplanes.inference.checkpoint import Checkpoint, CheckpointError, CheckpointWarning
from hyperplanes.inference.devices import find_devices, predicting_on
from hyperplanes.inference.fit import Observer, fit
from hyperplanes.inference.mcmc import Chain, run_chain
from hyperplanes.inference.posterior import Network, Posterior, Progress, Trace, error_of_sum
from hyperplanes.inference.samplers import SAMPLERS
from hyperplanes.inference.settings import Settings
from hyperplanes.inference.subdomains import Subdomains, balanced_subdomains, even_subdomains

__all__ = [
    "SAMPLERS",
    "Chain",
    "Checkpoint",
    "CheckpointError",
    "CheckpointWarning",
    "Network",
    "Observer",
    "Posterior",
    "Progress",
    "Settings",
    "Subdomains",
    "Trace",
    "average",
    "balanced_subdomains",
    "error_of_sum",
    "even_subdomains",
    "find_devices",
    "fit",
    "predicting_on",
    "run_chain",
]

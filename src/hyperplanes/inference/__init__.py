"""Inference: from scaled data and a prior to a posterior."""

from hyperplanes.inference.fit import fit
from hyperplanes.inference.mcmc import Chain, run_chain
from hyperplanes.inference.posterior import Posterior, Progress, Trace
from hyperplanes.inference.samplers import SAMPLERS
from hyperplanes.inference.settings import Settings

__all__ = ["SAMPLERS", "Chain", "Posterior", "Progress", "Settings", "Trace", "fit", "run_chain"]

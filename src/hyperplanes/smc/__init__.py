"""Annealed sequential Monte Carlo for any target.

Nothing here knows what a hyperplane is: a target is a population of particles, the path of its tempered log likelihoods
and a Markov move. That is what lets the sampler be tested on targets whose evidence is known exactly.
"""

from hyperplanes.smc.annealing import Move, Path, Population, Step, anneal, begin, step
from hyperplanes.smc.genealogy import evidence_variance
from hyperplanes.smc.lag import measure_lag, squared_bias
from hyperplanes.smc.resampling import RESAMPLERS, resample
from hyperplanes.smc.schedules import (
    MOST_STEPS,
    AdaptiveSchedule,
    FixedSchedule,
    LogIncrements,
    Schedule,
    TimedSchedule,
)
from hyperplanes.smc.weights import conditional_ess, ess, log_mean_exp, normalise

__all__ = [
    "MOST_STEPS",
    "RESAMPLERS",
    "AdaptiveSchedule",
    "FixedSchedule",
    "LogIncrements",
    "Move",
    "Path",
    "Population",
    "Schedule",
    "Step",
    "TimedSchedule",
    "anneal",
    "begin",
    "conditional_ess",
    "ess",
    "evidence_variance",
    "log_mean_exp",
    "measure_lag",
    "normalise",
    "resample",
    "squared_bias",
    "step",
]

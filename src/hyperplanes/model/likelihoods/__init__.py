"""Likelihoods other than Gaussian noise that is the same everywhere, for which see `gaussian`."""

from hyperplanes.model.likelihoods.logistic import Bernoulli, Multinomial
from hyperplanes.model.likelihoods.student import Student
from hyperplanes.model.likelihoods.unknowns import (
    Likelihood,
    Unknowns,
    draw_unknowns,
    functions_of,
    output_of,
    spread_of,
    with_output,
)
from hyperplanes.model.likelihoods.varying import Varying

__all__ = [
    "Bernoulli",
    "Likelihood",
    "Multinomial",
    "Student",
    "Unknowns",
    "Varying",
    "draw_unknowns",
    "functions_of",
    "output_of",
    "spread_of",
    "with_output",
]

"""What the distribution of a response may be, and how the evidence chooses among several."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from hyperplanes.model.likelihoods import Bernoulli, Likelihood, Multinomial, Student, Varying

WORTH = 0.02
"""Nats a row by which the evidence of another likelihood has to be above that of the simplest, to be taken: less is not
worth the time."""
SURE = 2.0
"""Errors of the difference by which it has to be above, too."""

LogEvidences: TypeAlias = dict[str, tuple[float, float]]
"""Of each likelihood that was tried, the simplest first: log evidence and its error."""

NOISES: Mapping[str, Likelihood | None] = MappingProxyType(
    {"constant": None, "varying": Varying(), "student": Student()}
)
"""Kinds of noise of a regression."""


class Family(NamedTuple):
    """What the distribution of the response may be."""

    noises: tuple[str, ...] = ("constant",)
    """Of a regression: some of `NOISES`, of which the evidence chooses one."""
    n_classes: int = 0
    """Of a classification; its response is the number of a class."""

    @property
    def likelihoods(self) -> Mapping[str, Likelihood | None]:
        """Those to choose from, by name."""
        if self.n_classes == 0:
            return {name: NOISES[name] for name in self.noises}
        return {"bernoulli": Bernoulli()} if self.n_classes == 2 else {"multinomial": Multinomial(self.n_classes)}


def choose(log_evidences: LogEvidences, n_rows: float) -> str:
    """The likelihood with the largest evidence; the simplest unless another is above it by `WORTH` and `SURE`."""
    simplest = next(iter(log_evidences))

    def handicapped(name: str) -> float:
        if name == simplest:
            return log_evidences[name][0]
        error = math.hypot(log_evidences[simplest][1], log_evidences[name][1])
        return log_evidences[name][0] - max(WORTH * n_rows, SURE * error)

    return max(log_evidences, key=handicapped)

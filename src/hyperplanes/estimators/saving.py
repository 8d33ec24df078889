"""Saving fitted estimators: which types a model file may hold, and what goes into it. docs/format.md describes it."""

from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hyperplanes.estimators.columns import Columns
from hyperplanes.estimators.diagnostics import Diagnostics, FitSummary
from hyperplanes.estimators.number import NumberOfHyperplanes
from hyperplanes.estimators.parts import Part
from hyperplanes.estimators.scaling import Scaler
from hyperplanes.estimators.soundness import check_sound
from hyperplanes.files import encode, write_container
from hyperplanes.files.container import File
from hyperplanes.inference import Network, Posterior, Subdomains, Trace
from hyperplanes.model import Prior

GENERATOR = "MT19937"
N_WORDS = 624


class Generator(NamedTuple):
    """Where a RandomState of NumPy stands."""

    words: NDArray[np.uint32]
    """(624,) state of the Mersenne Twister."""
    position: int
    """In these words."""
    has_gauss: int
    """Whether there is a normal number left over, 0 or 1."""
    gauss: float
    """That number."""

    @classmethod
    def of(cls, random_state: np.random.RandomState) -> "Generator":
        """Where a RandomState stands now."""
        state: Any = random_state.get_state(legacy=False)
        if state["bit_generator"] != GENERATOR:
            raise TypeError(f"random_state cannot be saved: its generator is not {GENERATOR}. Use an integer instead")
        return cls(state["state"]["key"], int(state["state"]["pos"]), int(state["has_gauss"]), float(state["gauss"]))

    def resume(self) -> np.random.RandomState:
        """A RandomState that stands there."""
        if self.words.shape != (N_WORDS,) or not 0 <= self.position <= N_WORDS or self.has_gauss not in (0, 1):
            raise ValueError("random_state is none that NumPy can have")
        random_state = np.random.RandomState()
        random_state.set_state((GENERATOR, *self))
        return random_state


TYPES = {
    kind.__name__: kind
    for kind in (
        Columns,
        Diagnostics,
        FitSummary,
        Generator,
        Network,
        NumberOfHyperplanes,
        Part,
        Posterior,
        Prior,
        Scaler,
        Subdomains,
        Trace,
    )
}
"""All that a model file may be made of, beside numbers, text, tuples and arrays of them."""


def save(estimator: BaseEstimator, file: File) -> None:
    """Write a fitted estimator to a model file.

    Parameters
    ----------
    estimator : BaseEstimator
        Fitted.
    file : path or binary file
        A file that exists is replaced, as a whole and at once.
    """
    check_is_fitted(estimator)
    check_sound(estimator)
    settings = {name: _plain(value) for name, value in estimator.get_params(deep=False).items()}
    fitted = {name: value for name, value in vars(estimator).items() if name.endswith("_") and name not in settings}
    tree = {
        "estimator": type(estimator).__name__,
        "written_by": library_versions(),
        "settings": settings,
        "fitted": fitted,
    }
    write_container(file, *encode(tree, TYPES))


def library_versions() -> dict[str, str]:
    """Of the libraries that numbers depend on."""
    return {name: version(name) for name in ("hyperplanes", "numpy", "jax")}


def _plain(value: Any) -> Any:
    return Generator.of(value) if isinstance(value, np.random.RandomState) else value

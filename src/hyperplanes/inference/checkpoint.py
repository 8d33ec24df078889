"""Checkpoints: where an annealing stands, in a file, so that one that was killed goes on to the same posterior.

Between two steps nothing is known but the population and the steps that led to it: random keys follow from the number
of steps, and what adapts follows from the particles. See docs/checkpoints.md.
"""

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from hyperplanes import smc
from hyperplanes.files import ModelFileError, decode, encode, read_container, write_container

LEAST_SECONDS = 5.0
"""Between two writings."""
SHARE = 0.01
"""Of the time that writing may take, where it takes long."""
NOBODY = -1
"""In place of ancestors where a step did not resample."""


class CheckpointError(ValueError):
    """A checkpoint that a fit cannot go on from: of another fit, or damaged."""


class CheckpointWarning(UserWarning):
    """A checkpoint that could not be written; the fit goes on."""


class Standing(NamedTuple):
    """Where an annealing stands, between two steps."""

    population: smc.Population
    """Particles at an exponent of the stage."""
    device: str
    """Kind of device that computes: another one rounds otherwise."""
    stage: int = 0
    """Number of the stage; after the last one, how many there are."""
    steps: tuple[smc.Step, ...] = ()
    """All steps so far."""
    hurry: float = 1.0
    """Of the schedule, see `smc.Schedule`."""
    seconds: float = 0.0
    """Spent so far."""

    def after(self, population: smc.Population, step: smc.Step, hurry: float, seconds: float) -> "Standing":
        """Where it stands one step later; a population that has arrived begins the next stage."""
        arrived = population.exponent >= 1
        return self._replace(
            population=population._replace(exponent=0.0) if arrived else population,
            stage=self.stage + arrived,
            steps=(*self.steps, step),
            hurry=hurry,
            seconds=seconds,
        )


@dataclass
class Checkpoint:
    """A file that keeps where one annealing stands, written now and then."""

    path: Path
    """In a folder that exists."""
    fit: str
    """What is fitted, as a checksum of data and settings."""

    _written: float = field(init=False, default=0.0)
    _took: float = field(init=False, default=0.0)
    _failed: bool = field(init=False, default=False)

    def resume(self, first: Standing) -> Standing:
        """Where the annealing stood when it was last kept, or its first standing.

        Raises
        ------
        CheckpointError
            If the file is damaged, or of something else.
        """
        self._written = time.monotonic()
        kept = self._read()
        if kept is None:
            return first
        if kept.get("fit") != self.fit:
            raise self._refusal("it is of another fit")
        if kept.get("device") != first.device:
            raise self._refusal(f"it was computed on {kept.get('device')}, and {first.device} rounds otherwise")
        try:
            return _unpack(kept, first)
        except (ValueError, TypeError, KeyError, IndexError):
            raise self._refusal("it does not hold what a checkpoint does") from None

    def keep(self, standing: Standing, *, at_once: bool) -> None:
        """Write the file if the last time is long enough ago, or at once; warn, the first time, if it cannot be."""
        start = time.monotonic()
        if not at_once and start - self._written < max(LEAST_SECONDS, self._took / SHARE):
            return
        try:
            write_container(self.path, *encode({"fit": self.fit, **_pack(standing)}, {}))
        except OSError as error:
            if not self._failed:
                warn_of(error, self.path)
            self._failed = True
        self._written = time.monotonic()
        self._took = self._written - start

    def _read(self) -> Mapping[str, Any] | None:
        try:
            kept = decode(*read_container(self.path), {})
        except FileNotFoundError:
            return None
        except ModelFileError as error:
            raise self._refusal(str(error)) from None
        return kept if isinstance(kept, dict) else {}

    def _refusal(self, reason: str) -> CheckpointError:
        return CheckpointError(
            f"the checkpoint {self.path} cannot be used: {reason}. Delete this file to do again what it was of"
        )


def warn_of(error: OSError, path: Path) -> None:
    """Say that there is no checkpoint."""
    message = (
        f"The checkpoint {path} cannot be used ({error.strerror or error}). The fit goes on unharmed; what is "
        "not written is lost if it is interrupted. Free space on the disk, or name a folder that can be written to."
    )
    warnings.warn(message, CheckpointWarning, stacklevel=2)


def _pack(standing: Standing) -> dict[str, Any]:
    """Numbers and arrays."""
    population = standing.population
    return {
        **standing._asdict(),
        "population": population._asdict()
        | {"particles": list(map(np.asarray, jax.tree.leaves(population.particles)))},
        "steps": _columns(standing.steps, len(population.log_weights)),
    }


def _unpack(kept: Mapping[str, Any], first: Standing) -> Standing:
    """Undo `_pack`; particles are laid out as the first ones."""
    leaves, layout = jax.tree.flatten(first.population.particles)
    population = smc.Population(**kept["population"])
    for leaf, found in zip(leaves, population.particles, strict=True):
        if (leaf.dtype, leaf.ndim, len(leaf)) != (found.dtype, found.ndim, len(found)):
            raise ValueError("particles of another layout")
    particles = jax.tree.unflatten(layout, map(jnp.asarray, population.particles))
    values = {name: kept[name] for name in Standing._fields}
    return Standing(
        **values | {"population": population._replace(particles=particles), "steps": (*_rows(kept["steps"]),)}
    )


def _columns(steps: Sequence[smc.Step], n_particles: int) -> dict[str, NDArray[Any]]:
    """Steps as one array a field: many small arrays would take long to write."""
    nobody = np.full(n_particles, NOBODY)
    whole = [step._replace(ancestors=nobody) if step.ancestors is None else step for step in steps]
    return {name: np.array([getattr(step, name) for step in whole]) for name in smc.Step._fields}


def _rows(columns: Mapping[str, NDArray[Any]]) -> Iterator[smc.Step]:
    """Undo `_columns`."""
    lists = [list(each) if each.ndim > 1 else each.tolist() for each in (columns[name] for name in smc.Step._fields)]
    for step in map(smc.Step._make, zip(*lists, strict=True)):
        resampled = step.ancestors is not None and step.ancestors[0] != NOBODY
        yield step if resampled else step._replace(ancestors=None)

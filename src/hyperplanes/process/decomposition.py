"""The decomposition propositions: superposition and thinning (1), restriction (2), splitting of the domain (3)."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from hyperplanes.process.cells import Cell, lies_in
from hyperplanes.process.hyperplanes import Hyperplanes, select, to_numpy
from hyperplanes.process.poisson import HyperplaneProcess
from hyperplanes.process.windows import Window, hits


def superpose(realisations: Sequence[Hyperplanes]) -> Hyperplanes:
    """Put the hyperplanes of all sets into one.

    Realisations of independent processes become one of the process whose intensity is their sum (Proposition 1).
    """
    if not realisations:
        raise ValueError("realisations must hold at least one set of hyperplanes, got none")
    normals = jnp.concatenate([hyperplanes.normals for hyperplanes in realisations], axis=-2)
    return Hyperplanes(normals, jnp.concatenate([hyperplanes.offsets for hyperplanes in realisations], axis=-1))


def split(process: HyperplaneProcess, shares: Sequence[float]) -> tuple[HyperplaneProcess, ...]:
    """Share the intensity among processes on the same window (Proposition 1).

    Independent realisations of the parts superpose to a realisation of `process`.
    """
    return tuple(
        dataclasses.replace(process, intensity=process.intensity * float(share)) for share in _valid_shares(shares)
    )


def thin(key: Array, hyperplanes: Hyperplanes, shares: Sequence[float]) -> tuple[Hyperplanes, ...]:
    """Deal each hyperplane of a realisation, independently, to one of the parts with the given probabilities.

    If the realisation is of a process, the parts are independent realisations of the processes that `split` returns.
    """
    chances = _valid_shares(shares)
    part = np.asarray(jax.random.choice(key, len(chances), (len(hyperplanes.offsets),), p=jnp.asarray(chances)))
    return tuple(select(hyperplanes, part == number) for number in range(len(chances)))


def restrict(hyperplanes: Hyperplanes, window: Window, cells: Sequence[Cell] = ()) -> Hyperplanes:
    """Keep the hyperplanes that hit the window and lie in all of the cells.

    A realisation on a larger window becomes one of the process with the same intensity on this window (Proposition 2).
    """
    on_host = to_numpy(hyperplanes)
    return select(on_host, hits(on_host, window) & lies_in(on_host, cells))


def split_domain(process: HyperplaneProcess, partition: Sequence[Cell]) -> tuple[HyperplaneProcess, ...]:
    """Make one process of each cell of a partition; independent, they superpose to `process` (Proposition 3).

    The partition is one of points (mu, n), as `shells` and `sectors` return it. Disjoint cells of input space do not
    partition the hyperplanes: one hyperplane hits many of them. The counts of a process over them are dependent, and
    independent processes on them superpose to one that has too many hyperplanes.
    """
    return tuple(dataclasses.replace(process, cells=(*process.cells, cell)) for cell in partition)


def _valid_shares(shares: Sequence[float]) -> NDArray[np.float64]:
    values = np.asarray(shares, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not (values > 0).all() or not np.isclose(values.sum(), 1):
        raise ValueError(f"shares must be positive and sum to 1, got {list(shares)}")
    return values

"""The sampler of likelihoods other than constant Gaussian noise: coefficients are carried along, not integrated out."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hyperplanes import smc
from hyperplanes.inference.samplers import (
    FUNCTIONS,
    N_PROBES,
    Sampler,
    make_round,
    make_schedule,
    move_until_forgotten,
    with_more_places,
)
from hyperplanes.inference.settings import Settings
from hyperplanes.inference.stages import Stage
from hyperplanes.inference.tiles import map_with_features
from hyperplanes.model import Data, Particle, Prior, blocks_of, is_present, spread_prior
from hyperplanes.model.likelihoods import Likelihood, Student, Unknowns
from hyperplanes.model.likelihoods.rows import values
from hyperplanes.model.likelihoods.varying import bounded
from hyperplanes.moves import Visits, compound_round
from hyperplanes.programs import COMPILER_OPTIONS, split_among

SHARES: dict[type[Any], float] = {Student: 0.95}
OTHER_SHARE = 0.85
"""Conditional effective share of the particles in one step, by the kind of likelihood: see docs/noise.md."""
N_REFERENCE = 64
"""Particles whose mean spread is the reference for its moves."""


def compound_sampler(stage: Stage, prior: Prior, settings: Settings, likelihood: Likelihood) -> Sampler:
    """Anneal all unknowns, coefficients included, at exponents that adapt."""
    unknown_number = settings.n_hyperplanes is None
    one_round = make_compound_round(likelihood, settings.n_parts, unknown_number)
    schedule = make_schedule(stage, settings, SHARES.get(type(likelihood), OTHER_SHARE))

    def path(unknowns: Unknowns, exponent: float) -> smc.LogIncrements:
        joining = stage.joining()
        found = _map(_log_likelihood(likelihood), (unknowns,), (joining,), joining, settings)
        log_likelihoods = np.asarray(found)
        return lambda exponents: (exponents - exponent)[:, None] * log_likelihoods

    def move(key: jax.Array, unknowns: Unknowns, exponent: float) -> tuple[Unknowns, float]:
        if unknown_number:
            unknowns = with_room(unknowns, prior.n_permanent)
        data, exponent = stage.at(exponent)
        shared = (
            np.float64(exponent),
            data,
            prior,
            spread_prior(prior),
            Visits(
                _mean_number(unknowns.outputs, prior.n_permanent),
                0 if unknowns.spread is None else _mean_number(unknowns.spread),
            ),
            _mean_spread(unknowns, data),
        )

        def once(key: jax.Array, unknowns: Unknowns) -> tuple[Unknowns, float]:
            keys = split_among(key, len(unknowns.degrees))
            moved, accepted = _map(one_round, (keys, unknowns), shared, data, settings)
            return moved, float(np.mean(accepted, axis=0).min())  # either network of varying noise may be stuck

        probes = blocks_of(data, 0, 1)
        probes = probes._replace(inputs=probes.inputs[:, :, :N_PROBES], response=probes.response[:, :N_PROBES])
        return move_until_forgotten(once, partial(_probe, probes=probes), key, unknowns, schedule)

    return Sampler(path, move, schedule, scheme="systematic", resample_below=0.75)


def _map(
    function: Callable[..., Any], per_particle: tuple[Any, ...], shared: tuple[Any, ...], data: Data, settings: Settings
) -> Any:
    """`map_with_features` with room for rows of a particle's own."""
    _, n_outputs, n_places = per_particle[-1].outputs.offsets.shape
    n_places = n_places // settings.n_parts + FUNCTIONS + data.n_columns + n_outputs
    return map_with_features(function, per_particle, shared, n_places=n_places, data=data, settings=settings)


@cache
def make_compound_round(
    likelihood: Likelihood, n_parts: int, unknown_number: bool
) -> Callable[..., tuple[Unknowns, jax.Array]]:
    """A round of moves; the same one for the same arguments, so that it is compiled once."""
    one_round = make_round(n_parts)
    return partial(compound_round, likelihood=likelihood, one_round=one_round, unknown_number=unknown_number)


@cache
def _log_likelihood(likelihood: Likelihood) -> Callable[[Unknowns, Data], jax.Array]:
    return likelihood.log_likelihood


def with_room(unknowns: Unknowns, n_permanent: int = 0) -> Unknowns:
    """Double the places for hyperplanes of all outputs, or of the spread, where too many of them are taken."""
    spread = unknowns.spread
    return unknowns._replace(
        outputs=with_more_places(unknowns.outputs, n_permanent),
        spread=None if spread is None else with_more_places(spread),
    )


def _mean_number(particle: Particle, n_permanent: int = 0) -> jax.Array:
    """Mean number of hyperplanes, without permanent ones, at least 1."""
    numbers = np.asarray(is_present(particle.normals)).sum(axis=-1) - n_permanent
    return jnp.asarray(max(1, int(np.ceil(np.mean(numbers)))))


@partial(jax.jit, compiler_options=COMPILER_OPTIONS)
def _mean_spread(unknowns: Unknowns, data: Data) -> jax.Array:
    """Mean spread of some particles at every row, (n_blocks, block); zero where the spread does not vary."""
    total = jnp.zeros_like(data.response)
    if unknowns.spread is None:
        return total
    some = jax.tree.map(lambda leaf: leaf[:: max(1, len(leaf) // N_REFERENCE)], unknowns.spread)

    def add(total: jax.Array, network: Particle) -> tuple[jax.Array, None]:
        return total + bounded(values(network, data)), None

    total, _ = jax.lax.scan(add, total, some)
    return total / len(some.offsets)


@partial(jax.jit, compiler_options=COMPILER_OPTIONS)
def _probe(unknowns: Unknowns, *, probes: Data) -> tuple[jax.Array, ...]:
    """Functions of the particles at some rows, (n_particles, n_outputs x N_PROBES), and the spread if there is one."""

    def of_one(one: Unknowns) -> tuple[jax.Array, ...]:
        found = jax.vmap(lambda network: values(network, probes))(one.outputs)
        if len(found) > 1:
            found = found - found.mean(axis=0)  # what all have in common says nothing
        return (found.ravel(),) if one.spread is None else (found.ravel(), values(one.spread, probes).ravel())

    return jax.vmap(of_one)(unknowns)

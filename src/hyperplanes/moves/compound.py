"""Rounds of moves where the likelihood is Gaussian in one network only given the rest.

Each output is moved as if the noise were Gaussian, given auxiliary variables that make it so and are drawn anew in
every round. For the spread of the noise there are no such variables: see `spread_round`.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hyperplanes.model import Data, Particle, Prior
from hyperplanes.model.features import EXACT
from hyperplanes.model.likelihoods import Likelihood, Unknowns, functions_of, output_of, with_output
from hyperplanes.model.likelihoods.rows import unscaled, values
from hyperplanes.model.likelihoods.varying import log_likelihood_of_spread, rows_around, shifted, squared_errors
from hyperplanes.moves.candidates import candidate_draws, choose_candidate
from hyperplanes.moves.gibbs import draw_hyperparameters, draw_output_layer
from hyperplanes.moves.langevin import langevin_draws, langevin_one
from hyperplanes.moves.rounds import UNITS_A_CANDIDATE
from hyperplanes.moves.state import State, choose, make_state
from hyperplanes.moves.workspace import Workspace, open_workspace
from hyperplanes.process import uniforms


class Visits(NamedTuple):
    """How many hyperplanes a round visits."""

    outputs: jax.Array | int
    """Of each output."""
    spread: jax.Array | int
    """Of the spread."""


def compound_round(
    key: jax.Array,
    unknowns: Unknowns,
    exponent: jax.Array,
    data: Data,
    prior: Prior,
    spread_prior: Prior,
    visits: Visits,
    reference: jax.Array,
    *,
    likelihood: Likelihood,
    one_round: Any,
    unknown_number: bool,
) -> tuple[Unknowns, jax.Array]:
    """Move every output, then the spread if there is one, then what else the noise has.

    Parameters
    ----------
    key, unknowns, exponent, data, prior
        As of every move.
    spread_prior : Prior
        Of the network of the spread.
    visits : Visits
        How many hyperplanes to visit.
    reference : jax.Array
        Spread of the noise of each row, (n_blocks, block), about which the moves of the spread are good.
    likelihood : Likelihood
        Of the response.
    one_round : callable
        Round of moves of one output, such as `collapsed_round`.
    unknown_number : bool
        Whether the number of hyperplanes is.

    Returns the share that was accepted of the Langevin steps of the outputs (of choices, where no unit is active) and,
    where there is one, of the moves of the spread: (1,) or (2,).
    """
    key_outputs, key_spread, key_shape = jax.random.split(key, 3)

    def move_output(
        carry: tuple[Unknowns, jax.Array], item: tuple[jax.Array, jax.Array]
    ) -> tuple[tuple[Unknowns, jax.Array], jax.Array]:
        (unknowns, functions), (output, key) = carry, item
        key_auxiliaries, key_round = jax.random.split(key)
        rows = likelihood.given_auxiliaries(key_auxiliaries, unknowns, functions, output, data, exponent)
        state = make_state(output_of(unknowns, output), rows)
        known = {"unknown_number": unknown_number, "unknown_noise": likelihood.unknown_noise}
        (network, _), accepted = one_round(key_round, state, jnp.float64(1.0), rows, prior, visits.outputs, **known)
        return (with_output(unknowns, output, network), functions.at[output].set(values(network, data))), accepted

    n_outputs = len(unknowns.outputs.noise_variance)
    items = jnp.arange(n_outputs), jax.random.split(key_outputs, n_outputs)
    (unknowns, _), of_outputs = jax.lax.scan(move_output, (unknowns, functions_of(unknowns, data)), items)
    accepted = [of_outputs.mean()]
    if unknowns.spread is not None:
        spread, of_spread = spread_round(
            key_spread,
            unknowns.spread,
            exponent,
            squared_errors(unknowns, data),
            data,
            spread_prior,
            visits.spread,
            reference,
            unknown_number=unknown_number,
        )
        unknowns = unknowns._replace(spread=spread)
        accepted.append(of_spread)
    return likelihood.draw_shape(key_shape, unknowns, data, exponent, prior), jnp.stack(accepted)


class Trial(NamedTuple):
    """Where the spread is, and how its likelihood compares to the Gaussian one that moves it."""

    work: Workspace
    """The network with its features."""
    log_ratio: jax.Array
    """Log of its likelihood, to the exponent, over the Gaussian one."""


def spread_round(
    key: jax.Array,
    spread: Particle,
    exponent: jax.Array,
    squares: jax.Array,
    data: Data,
    prior: Prior,
    n_visits: jax.Array | int,
    reference: jax.Array,
    *,
    unknown_number: bool,
) -> tuple[Particle, jax.Array]:
    """Move the network of the log standard deviation, given the squared errors of the rows, (n_blocks, block).

    Around a reference, which must not depend on this network, its likelihood is about Gaussian. Each move of a
    hyperplane, and a draw of all coefficients after it, is reversible for the Gaussian likelihood; it is accepted with
    the probability that makes it exact for the true one (the surrogate transition method: Liu 2001, section 9.4.3).
    Returns the share that was.
    """
    key_candidates, key_visits, key_draws, key_scales, key_attends = jax.random.split(key, 5)
    rows = rows_around(shifted(reference, squares, data, exponent), squares, data, exponent)
    known, one = prior.given(spread), jnp.float64(1.0)
    m, p = spread.normals.shape
    n_candidates = -(-m // UNITS_A_CANDIDATE)
    for_candidates = uniforms(key_candidates, (n_candidates, candidate_draws(p)))
    for_visits = uniforms(key_visits, (m, langevin_draws(p)))
    keys = jax.random.split(key_draws, n_candidates + m + 1)
    heights = jnp.log(uniforms(keys[-1], (n_candidates + m,)))

    def log_ratio(work: Workspace) -> jax.Array:
        coefficients = work.particle.coefficients.astype(rows.inputs.dtype)
        scaled = coefficients[0] * rows.inputs[:, -1] + jnp.einsum(
            "j,bjn->bn", coefficients[1:], work.features, precision=EXACT
        )
        gaussian = -0.5 * jnp.sum((rows.response - scaled) ** 2, dtype=jnp.float64)
        return exponent * log_likelihood_of_spread(unscaled(scaled, rows), squares, data) - gaussian

    def attempt(trial: Trial, moved: Workspace, key: jax.Array, height: jax.Array) -> tuple[Trial, jax.Array]:
        moved = moved._replace(particle=draw_output_layer(key, State(moved.particle, moved.products), one, prior))
        there = log_ratio(moved)
        accepted = height < there - trial.log_ratio
        return choose(accepted, Trial(moved, there), trial), accepted

    def candidate(trial: Trial, item: tuple[jax.Array, ...]) -> tuple[Trial, None]:
        draws, key, height = item
        moved, _ = choose_candidate(draws, trial.work, one, rows, known, unknown_number=unknown_number)
        return attempt(trial, moved, key, height)[0], None

    def visit(k: jax.Array, carry: tuple[Trial, jax.Array]) -> tuple[Trial, jax.Array]:
        trial, n_accepted = carry
        moved, _ = langevin_one(for_visits[k], trial.work, one, rows, known)
        trial, accepted = attempt(trial, moved, keys[n_candidates + k], heights[n_candidates + k])
        return trial, n_accepted + accepted

    work = open_workspace(spread, rows)
    items = for_candidates, keys[:n_candidates], heights[:n_candidates]
    trial, _ = jax.lax.scan(candidate, Trial(work, log_ratio(work)), items)
    trial, n_accepted = jax.lax.fori_loop(0, n_visits, visit, (trial, jnp.array(0.0)))
    moved = draw_hyperparameters(key_scales, key_attends, trial.work.particle, prior, unknown_number=unknown_number)
    return moved, n_accepted / jnp.maximum(n_visits, 1)

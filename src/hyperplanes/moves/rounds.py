"""Rounds of moves with the coefficients integrated out."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from hyperplanes.model import Data, Prior
from hyperplanes.moves.candidates import candidate_draws, choose_candidate
from hyperplanes.moves.gibbs import refresh_output_layer
from hyperplanes.moves.langevin import langevin_draws, langevin_one
from hyperplanes.moves.state import Move, State
from hyperplanes.moves.workspace import Workspace, close_workspace, open_workspace
from hyperplanes.process import uniforms

UNITS_A_CANDIDATE = 10
"""Places for each of which one is chosen anew in a round."""


def alone(
    one: Callable[..., tuple[Workspace, jax.Array]], n_draws: Callable[[int], int], *, unknown_number: bool = False
) -> Move:
    """A move of one hyperplane, and then a draw of the output layer, as a move of a state."""

    def move(key: jax.Array, state: State, exponent: jax.Array, data: Data, prior: Prior) -> tuple[State, jax.Array]:
        key_move, key_refresh = jax.random.split(key)
        draws = uniforms(key_move, (n_draws(data.n_columns),))
        known = prior.given(state.particle)
        work, accepted = one(draws, open_workspace(state, data), exponent, data, known)
        closed = close_workspace(work)
        state, _ = refresh_output_layer(key_refresh, closed, exponent, data, prior, unknown_number=unknown_number)
        return state, accepted

    return move


def collapsed_round(
    key: jax.Array,
    state: State,
    exponent: jax.Array,
    data: Data,
    prior: Prior,
    n_visits: jax.Array | int | None = None,
    *,
    unknown_number: bool = False,
) -> tuple[State, jax.Array]:
    """Choose hyperplanes anew, one for each `UNITS_A_CANDIDATE` of them; visit `n_visits`; draw the output layer.

    Returns the acceptance of the Langevin steps. By default there are as many visits as places.
    """
    keys = jax.random.split(key, 3)
    m, p = state.particle.normals.shape
    known = prior.given(state.particle)
    for_candidates = uniforms(keys[0], (-(-m // UNITS_A_CANDIDATE), candidate_draws(p)))
    for_visits = uniforms(keys[1], (m, langevin_draws(p)))

    def candidate(work: Workspace, draws: jax.Array) -> tuple[Workspace, jax.Array]:
        return choose_candidate(draws, work, exponent, data, known, unknown_number=unknown_number)

    def visit(k: jax.Array, carry: tuple[Workspace, jax.Array]) -> tuple[Workspace, jax.Array]:
        work, accepted = langevin_one(for_visits[k], carry[0], exponent, data, known)
        return work, carry[1] + accepted

    work, _ = jax.lax.scan(candidate, open_workspace(state, data), for_candidates)
    n_visits = m if n_visits is None else n_visits
    work, accepted = jax.lax.fori_loop(0, n_visits, visit, (work, jnp.array(0.0)))
    state, _ = refresh_output_layer(
        keys[2], close_workspace(work), exponent, data, prior, unknown_number=unknown_number
    )
    return state, accepted / jnp.maximum(n_visits, 1)

"""Rounds of moves with the coefficients integrated out."""

from collections.abc import Callable

import jax

from hyperplanes.model import Data, Prior
from hyperplanes.moves.candidates import candidate_draws, choose_candidate
from hyperplanes.moves.gibbs import refresh_output_layer
from hyperplanes.moves.langevin import langevin_draws, langevin_one
from hyperplanes.moves.state import Move, State
from hyperplanes.moves.workspace import Workspace, close_workspace, open_workspace
from hyperplanes.process import uniforms


def alone(one: Callable[..., tuple[Workspace, jax.Array]], n_draws: Callable[[int], int]) -> Move:
    """A move of one hyperplane, and then a draw of the output layer, as a move of a state."""

    def move(key: jax.Array, state: State, exponent: jax.Array, data: Data, prior: Prior) -> tuple[State, jax.Array]:
        key_move, key_refresh = jax.random.split(key)
        draws = uniforms(key_move, (n_draws(data.n_columns),))
        work, accepted = one(draws, open_workspace(state, data), exponent, data, prior)
        state, _ = refresh_output_layer(key_refresh, close_workspace(work), exponent, data, prior)
        return state, accepted

    return move


def collapsed_round(
    key: jax.Array, state: State, exponent: jax.Array, data: Data, prior: Prior
) -> tuple[State, jax.Array]:
    """Choose a hyperplane anew, make as many Langevin visits as there are hyperplanes, then draw the output layer.

    Returns the acceptance of the Langevin steps.
    """
    keys = jax.random.split(key, 3)
    m, p = state.particle.normals.shape

    def langevin(work: Workspace, draws: jax.Array) -> tuple[Workspace, jax.Array]:
        return langevin_one(draws, work, exponent, data, prior)

    work = open_workspace(state, data)
    work, _ = choose_candidate(uniforms(keys[0], (candidate_draws(p),)), work, exponent, data, prior)
    work, accepted = jax.lax.scan(langevin, work, uniforms(keys[1], (m, langevin_draws(p))))
    state, _ = refresh_output_layer(keys[2], close_workspace(work), exponent, data, prior)
    return state, accepted.mean()

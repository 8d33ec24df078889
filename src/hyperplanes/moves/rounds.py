"""A round of moves with the coefficients integrated out: every kind of move, as often as there are hyperplanes."""

import jax

from hyperplanes.model import Data, Prior
from hyperplanes.moves.gibbs import refresh_output_layer
from hyperplanes.moves.langevin import langevin_draws, langevin_one
from hyperplanes.moves.replace import replace_draws, replace_one
from hyperplanes.moves.state import State
from hyperplanes.moves.workspace import Workspace, close_workspace, open_workspace
from hyperplanes.process import uniforms


def collapsed_round(
    key: jax.Array, state: State, exponent: jax.Array, data: Data, prior: Prior
) -> tuple[State, jax.Array]:
    """Replace hyperplanes, move them by Langevin steps, then draw the output layer. Returns the acceptance of both."""
    keys = jax.random.split(key, 3)
    m, p = state.particle.normals.shape

    def replace(work: Workspace, draws: jax.Array) -> tuple[Workspace, jax.Array]:
        return replace_one(draws, work, exponent, data, prior)

    def langevin(work: Workspace, draws: jax.Array) -> tuple[Workspace, jax.Array]:
        return langevin_one(draws, work, exponent, data, prior)

    work = open_workspace(state, exponent, data, prior)
    work, replaced = jax.lax.scan(replace, work, uniforms(keys[0], (m, replace_draws(p))))
    work, moved = jax.lax.scan(langevin, work, uniforms(keys[1], (m, langevin_draws(p))))
    state, _ = refresh_output_layer(keys[2], close_workspace(work), exponent, data, prior)
    return state, 0.5 * (replaced.mean() + moved.mean())

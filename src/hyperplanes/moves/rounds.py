"""Rounds of moves with the coefficients integrated out: of all units, or of one part after the other.

A Poisson process is the superposition of independent ones, so that the function is a sum of parts. With the functions
of the others taken off the response, a part is a small problem of the same kind: a pass over the data costs as much as
its own units, not as all. As for the trees of BART, what is integrated out are the coefficients of one part only.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from hyperplanes.model import Data, Particle, Prior, is_present
from hyperplanes.model.likelihoods.rows import scaled_values
from hyperplanes.model.prior import OF_EACH_PLACE
from hyperplanes.moves.candidates import candidate_draws, choose_candidate
from hyperplanes.moves.gibbs import draw_output_layer, refresh_output_layer
from hyperplanes.moves.langevin import langevin_draws, langevin_one
from hyperplanes.moves.state import Move, State, make_state
from hyperplanes.moves.workspace import Elsewhere, Workspace, close_workspace, open_workspace
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
        work, accepted = one(draws, open_workspace(state.particle, data), exponent, data, known)
        closed = close_workspace(work, data)
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
    unknown_noise: bool = True,
) -> tuple[State, jax.Array]:
    """Choose hyperplanes anew, one for each `UNITS_A_CANDIDATE` of them; visit `n_visits`; draw the output layer.

    Returns the acceptance of the Langevin steps; where no unit is active, so that none can be taken, the share of the
    choices that changed a unit. By default there are as many visits as places, of which permanent ones do not count.
    """
    *keys, key_output = jax.random.split(key, 3)
    n_visits = len(state.particle.offsets) - prior.n_permanent if n_visits is None else n_visits
    known = prior.given(state.particle)
    work = open_workspace(state.particle, data)
    work, accepted = _move_units(keys, work, exponent, data, known, n_visits, unknown_number=unknown_number)
    unknown = {"unknown_number": unknown_number, "unknown_noise": unknown_noise}
    state, _ = refresh_output_layer(key_output, close_workspace(work, data), exponent, data, prior, **unknown)
    return state, accepted


def superposed_round(
    key: jax.Array,
    state: State,
    exponent: jax.Array,
    data: Data,
    prior: Prior,
    n_visits: jax.Array | int | None = None,
    *,
    n_parts: int,
    unknown_number: bool = False,
    unknown_noise: bool = True,
) -> tuple[State, jax.Array]:
    """`collapsed_round` of one part after the other, given the coefficients of the other parts.

    Places are dealt out to parts of equal size at random in every round, so that none can be permanent. Cost: `n_parts`
    rounds of m / `n_parts` units, and n m (p + m) multiplications for the cross products of all.
    """
    key_deal, key_parts, key_output = jax.random.split(key, 3)
    n_places = len(state.particle.offsets)
    n_visits = n_places if n_visits is None else n_visits
    key_draw, key_order = jax.random.split(key_deal)
    order = jnp.argsort(uniforms(key_order, (n_places,)))
    particle = _reorder(draw_output_layer(key_draw, state, exponent, prior), order)
    known = prior.given(particle)

    def move_part(
        carry: tuple[Particle, jax.Array], item: tuple[jax.Array, jax.Array]
    ) -> tuple[tuple[Particle, jax.Array], jax.Array]:
        (particle, fitted), (number, key) = carry, item
        size = n_places // n_parts
        part = _take(particle, number * size, size)
        present, own = is_present(particle.normals), is_present(part.normals)
        attending = (present @ particle.attends.astype(float)) - (own @ part.attends.astype(float))
        elsewhere = Elsewhere(attending, present.sum() - own.sum(), n_places - size)
        others = fitted - scaled_values(part, data)
        residuals = data._replace(response=data.response - others)
        *keys, key_draw = jax.random.split(key, 3)
        work = open_workspace(part, residuals, elsewhere)
        work, accepted = _move_units(
            keys, work, exponent, residuals, known, -(-n_visits // n_parts), unknown_number=unknown_number
        )
        part = draw_output_layer(key_draw, close_workspace(work, residuals), exponent, prior)
        return (_put(particle, number * size, part), others + scaled_values(part, data)), accepted

    items = jnp.arange(n_parts), jax.random.split(key_parts, n_parts)
    (particle, _), accepted = jax.lax.scan(move_part, (particle, scaled_values(particle, data)), items)
    unknown = {"unknown_number": unknown_number, "unknown_noise": unknown_noise}
    state, _ = refresh_output_layer(key_output, make_state(particle, data), exponent, data, prior, **unknown)
    return state, accepted.mean()


def _move_units(
    keys: list[jax.Array],
    work: Workspace,
    exponent: jax.Array,
    data: Data,
    known: Prior,
    n_visits: jax.Array | int,
    *,
    unknown_number: bool,
) -> tuple[Workspace, jax.Array]:
    """Choose some units of a workspace anew and visit others; returns what `collapsed_round` does."""
    n_places, p = work.particle.normals.shape
    m = n_places - known.n_permanent
    for_candidates = uniforms(keys[0], (-(-m // UNITS_A_CANDIDATE), candidate_draws(p)))
    for_visits = uniforms(keys[1], (m, langevin_draws(p)))

    def candidate(work: Workspace, draws: jax.Array) -> tuple[Workspace, jax.Array]:
        return choose_candidate(draws, work, exponent, data, known, unknown_number=unknown_number)

    def visit(k: jax.Array, carry: tuple[Workspace, jax.Array]) -> tuple[Workspace, jax.Array]:
        work, accepted = langevin_one(for_visits[k], carry[0], exponent, data, known)
        return work, carry[1] + accepted

    work, chosen = jax.lax.scan(candidate, work, for_candidates)
    work, accepted = jax.lax.fori_loop(0, n_visits, visit, (work, jnp.array(0.0)))
    is_active = jnp.diagonal(work.products)[known.n_permanent + 1 : -1] > 0
    return work, jnp.where(is_active.any(), accepted / jnp.maximum(n_visits, 1), chosen.mean())


def _by_place(particle: Particle, change: Callable[[str, jax.Array], jax.Array]) -> Particle:
    """Change what there is of each place; the intercept has none."""
    units = particle._replace(coefficients=particle.coefficients[1:])
    changed = {name: change(name, getattr(units, name)) for name in OF_EACH_PLACE}
    changed["coefficients"] = jnp.append(particle.coefficients[:1], changed["coefficients"])
    return particle._replace(**changed)


def _reorder(particle: Particle, order: jax.Array) -> Particle:
    return _by_place(particle, lambda _, leaf: leaf[order])


def _take(particle: Particle, start: jax.Array, size: int) -> Particle:
    """The particle with some of its places."""
    return _by_place(particle, lambda _, leaf: jax.lax.dynamic_slice_in_dim(leaf, start, size))


def _put(particle: Particle, start: jax.Array, part: Particle) -> Particle:
    """The particle with some places, and the intercept, from a part."""
    new = part._replace(coefficients=part.coefficients[1:])
    moved = _by_place(
        particle, lambda name, leaf: jax.lax.dynamic_update_slice_in_dim(leaf, getattr(new, name), start, 0)
    )
    return moved._replace(coefficients=moved.coefficients.at[0].set(part.coefficients[0]))

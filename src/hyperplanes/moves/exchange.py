"""Exchange of hyperplanes between two particles, with the coefficients integrated out.

A weak unit that one particle has found helps the others only once they have been replaced by its copies, and what they
had found goes with them. Here two particles put together what they have: for a place of the first one, the unit that is
there and those of the second are weighed by the product of both targets, and one is chosen in proportion; the others
are the second's. Units have no order, so that this is a Gibbs draw among as many pairs of particles, and never
rejected. Cross products of all units of both are summed once; no choice needs a pass over the data.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from hyperplanes.model import Data, Particle, Prior, cross_products, gaussian, is_present
from hyperplanes.model.prior import attention
from hyperplanes.moves.state import State
from hyperplanes.process import uniforms

MOST_PLACES = 16
"""For which a unit is chosen: each time two matrices of m units are inverted, for 4 m^3 operations."""


class Pool(NamedTuple):
    """The units of two particles in 2 m places, and their scales."""

    first: Particle
    """Scales of the one."""
    second: Particle
    """Scales of the other."""
    products: jax.Array
    """Cross products of constant, all features and response, (2 m + 2, 2 m + 2)."""
    present: jax.Array
    """(2 m,) which places are taken."""
    attends: jax.Array
    """(2 m, p) whether they attend to each column; no to all where there is no unit."""

    def products_of(self, units: jax.Array) -> jax.Array:
        """Cross products of constant, some units (..., k) and response: (..., k + 2, k + 2)."""
        ends = jnp.zeros((*units.shape[:-1], 1), dtype=int)
        rows = jnp.concatenate([ends, units + 1, ends + len(self.products) - 1], axis=-1)
        return self.products[rows[..., :, None], rows[..., None, :]]


def exchange(key: jax.Array, pair: State, exponent: jax.Array, data: Data, prior: Prior) -> tuple[State, jax.Array]:
    """Choose units of two particles of equal weight anew for places of the first; leaves of `pair` have an axis of two.

    Coefficients stay as they are: they have to be drawn before they are used. Returns the share of the choices that
    changed something. Cost: n (2 m + 2)^2 + 2 n m (p + 1) multiplications, and `MOST_PLACES` times 4 m^3.
    """
    first, second = (jax.tree.map(lambda leaf, k=k: leaf[k], pair.particle) for k in range(2))
    units = {name: jnp.concatenate(getattr(pair.particle, name)) for name in ("normals", "offsets", "attends")}
    present = is_present(units["normals"])
    products = cross_products(data, units["normals"], units["offsets"])
    pool = Pool(first, second, products, present, units["attends"] & present[:, None])
    n_places = len(first.offsets)
    n_choices = min(n_places, MOST_PLACES)
    draws = uniforms(key, (n_choices + 1,))
    places = ((draws[-1] * n_places).astype(int) + jnp.arange(n_choices)) % n_places

    def choose_unit(order: jax.Array, item: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        place, draw = item
        log_weights = log_weights_of_units(place, order, pool, exponent, data, prior)
        totals = jnp.cumsum(jnp.exp(log_weights - log_weights.max()))
        chosen = jnp.searchsorted(totals, draw * totals[-1], side="right", method="compare_all")
        moved = (chosen > 0) & jnp.isfinite(totals[-1])
        other = jnp.where(moved, n_places + chosen - 1, place)
        return order.at[place].set(order[other]).at[other].set(order[place]), moved

    order, moved = jax.lax.scan(choose_unit, jnp.arange(2 * n_places), (places, draws[:-1]))
    own = order.reshape(2, n_places)
    particle = pair.particle._replace(**{name: leaf[own] for name, leaf in units.items()})
    return State(particle, pool.products_of(own)), moved.mean()


def log_weights_of_units(
    place: jax.Array, order: jax.Array, pool: Pool, exponent: jax.Array, data: Data, prior: Prior
) -> jax.Array:
    """Log of the product of both targets, up to a constant, with each unit in a place of the first particle: (m + 1,).

    Parameters
    ----------
    place : jax.Array
        Of the first particle.
    order : (2 m,)
        Units of the first particle, then those of the second.
    pool, exponent, data, prior
        All units and the target.

    Returns
    -------
    jax.Array
        For the unit that is in the place, then for those of the second particle.
    """
    own, theirs = jnp.split(order, 2)
    units = jnp.concatenate([own[place][None], theirs])
    attends, n_units = pool.attends[units], pool.present[units].sum()
    rest = pool.present[own] & (jnp.arange(len(own)) != place)
    joins = _log_gains(units, place, own, pool, exponent, data, prior)
    joins += _log_prior(attends, rest @ pool.attends[own].astype(float), rest.sum(), pool.first, prior)
    leaves = _log_losses(units, pool, exponent, prior)
    leaves -= _log_prior(attends, attends.sum(axis=0) - attends, n_units - 1, pool.second, prior)
    log_weights = jnp.where(pool.present[units], joins + leaves, 0.0)
    return jnp.where(jnp.isnan(log_weights), -jnp.inf, log_weights)


def _log_gains(
    units: jax.Array, place: jax.Array, own: jax.Array, pool: Pool, exponent: jax.Array, data: Data, prior: Prior
) -> jax.Array:
    """What each of some units adds to the log evidence of the first particle in a place that is left out."""
    noise, known = pool.first.noise_variance, prior.given(pool.first)
    rest = gaussian.leave_out(place, data, pool.products_of(own), noise, exponent, known)
    across = pool.products[units + 1][:, jnp.append(0, own + 1)]
    along = pool.products[units + 1, -1] - across @ rest.mean
    squares = jnp.diagonal(pool.products)[units + 1]

    def with_unit(square: jax.Array, across: jax.Array, along: jax.Array) -> jax.Array:
        return gaussian.join(square, across, along, rest, noise, exponent, known).log_evidence

    return jax.vmap(with_unit)(squares, across, along) - rest.log_evidence


def _log_losses(units: jax.Array, pool: Pool, exponent: jax.Array, prior: Prior) -> jax.Array:
    """What the log evidence of the second particle with all of some units changes by when each of them leaves.

    It is the log of the posterior over the prior density of the unit's coefficient at zero (Savage and Dickey).
    """
    known = prior.given(pool.second)
    conditional = gaussian.condition(pool.products_of(units), pool.second.noise_variance, exponent, known)
    means, variances = gaussian.conditional_mean(conditional)[1:], jnp.sum(conditional.root**2, axis=0)[1:]
    variance = known.coefficient_variance
    return 0.5 * (jnp.log(variance / variances) - means**2 / variances + prior.coefficient_mean**2 / variance)


def _log_prior(
    attends: jax.Array, n_attending: jax.Array, n_others: jax.Array, scales: Particle, prior: Prior
) -> jax.Array:
    """Log prior of a unit in a place beside others, over that of an empty place, less the density of its hyperplane.

    Parameters
    ----------
    attends : (k, p)
        Whether each unit attends to each column.
    n_attending : (p,) or (k, p)
        How many of the others do.
    n_others : jax.Array
        How many there are.
    scales : Particle
        The particle that they are of.
    prior : Prior
        Where all columns are alike, attention means nothing, and does not count.
    """
    shares = jax.vmap(attention, in_axes=(0, None))(jnp.broadcast_to(n_attending, attends.shape), n_others)
    log_attention = jnp.log(jnp.where(attends, shares, 1 - shares)).sum(axis=1)
    n_empty = jnp.maximum(len(scales.offsets) - n_others, 1)  # without an empty place it is the same for all units
    return jnp.where(prior.inattention < 1, log_attention, 0.0) + jnp.log(scales.intensity / n_empty)

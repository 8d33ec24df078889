"""Exchange of hyperplanes between two particles."""

from functools import partial
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import betaln, gammaln
from joint import THREE_UNITS, UNKNOWN_NUMBER, draw_joint, draw_prior_many, summaries_of_unknowns
from scipy.special import softmax

from hyperplanes.inference.tiles import QUICK_TO_COMPILE
from hyperplanes.model import Particle, cross_products, gaussian, is_present
from hyperplanes.model.prior import _attention_shapes
from hyperplanes.moves import exchange, make_state, refresh_output_layer
from hyperplanes.moves.exchange import Pool, log_weights_of_units
from p_values import LEVEL, same_distribution_p_value

CASES = {"three units": THREE_UNITS, "unknown number": UNKNOWN_NUMBER}
EXCHANGED = ("normals", "offsets", "attends")
N_PAIRS = 10_000


def a_pair(case, seed):
    """Two particles of the prior, and a response."""
    particles, responses = draw_joint(seed, 1.0, 2, case)
    return particles, case.make_rows(responses[0])


def log_target(particle: Particle, exponent, data, prior):
    """Written down from the model: evidence, number of hyperplanes in labelled places, attention."""
    products = cross_products(data, particle.normals, particle.offsets)
    total = gaussian.log_evidence(data, products, particle.noise_variance, exponent, prior.given(particle))
    present = is_present(particle.normals)
    number, n_places = present.sum(), len(present)
    total += number * jnp.log(particle.intensity) + gammaln(n_places - number + 1)
    if prior.inattention < 1:
        few, many = _attention_shapes(particle.normals.shape[1])
        attending = jnp.sum(particle.attends & present[:, None], axis=0)
        total += jnp.sum(betaln(few + attending, many + number - attending))
    return total


def log_targets(pair: Particle, exponent, data, case) -> float:
    return float(sum(log_target(one_of(pair, k), exponent, data, case.prior) for k in range(2)))


def one_of(pair: Particle, index) -> Particle:
    return jax.tree.map(lambda leaf: leaf[index], pair)


def swapped(particles: Particle, place: int, other: int) -> Particle:
    """With the unit in a place of the first and one of the second particle in each other's place."""

    def swap(leaf):
        return leaf.at[0, place].set(leaf[1, other]).at[1, other].set(leaf[0, place])

    return particles._replace(**{name: swap(getattr(particles, name)) for name in EXCHANGED})


@pytest.mark.parametrize("exponent", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("case", CASES)
def test_units_are_weighed_by_the_product_of_both_targets(case, exponent, seed):
    case = CASES[case]
    particles, data = a_pair(case, seed)
    n_places = case.n_hyperplanes
    normals, offsets, attends = (jnp.concatenate(getattr(particles, name)) for name in EXCHANGED)
    present, products = is_present(normals), cross_products(data, normals, offsets)
    pool = Pool(one_of(particles, 0), one_of(particles, 1), products, present, attends & present[:, None])
    for place in range(n_places):
        order = jnp.arange(2 * n_places)
        found = log_weights_of_units(jnp.array(place), order, pool, jnp.array(exponent), data, case.prior)
        pairs = [particles, *(swapped(particles, place, other) for other in range(n_places))]
        expected = np.array([log_targets(pair, exponent, data, case) for pair in pairs])
        np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-8)


@partial(jax.jit, static_argnames=("case", "refresh"), compiler_options=QUICK_TO_COMPILE)
def exchange_many(key, particles, exponent, data, case, *, refresh=False):
    """Pairs (n, 2) of particles after an exchange, and the share of choices that changed something."""

    def one(key, pair):
        states = jax.vmap(lambda particle: make_state(particle, data))(pair)
        states, moved = exchange(key, states, exponent, data, case.prior)
        if refresh:
            keys, draw = jax.random.split(key), partial(refresh_output_layer, unknown_number=case.unknown_number)
            states, _ = jax.vmap(lambda key, state: draw(key, state, exponent, data, case.prior))(keys, states)
        return states, moved

    return jax.vmap(one)(jax.random.split(key, len(particles.offsets)), particles)


def shared_out(particles: Particle, exponent, data, case):
    """Sorted offsets of the first particle for every way to share all units out, and the probability of each."""
    n_places = case.n_hyperplanes
    units = {name: jnp.concatenate(getattr(particles, name)) for name in EXCHANGED}
    orders = [
        [chosen, tuple(k for k in range(2 * n_places) if k not in chosen)]
        for chosen in combinations(range(2 * n_places), n_places)
    ]
    logs = [
        log_targets(
            particles._replace(**{name: leaf[np.array(order)] for name, leaf in units.items()}), exponent, data, case
        )
        for order in orders
    ]
    offsets = np.sort(np.asarray(units["offsets"])[np.array(orders)[:, 0]], axis=1)
    ways, which = np.unique(offsets, axis=0, return_inverse=True)  # empty places are alike
    return ways, np.bincount(which.ravel(), softmax(logs))


@pytest.mark.parametrize("case", CASES)
def test_each_way_to_share_units_out_is_as_frequent_as_both_targets_say(case, seed):
    case = CASES[case]
    particles, data = a_pair(case, seed)
    pairs = jax.tree.map(lambda leaf: jnp.repeat(leaf[None], N_PAIRS, axis=0), particles)
    for key in jax.random.split(jax.random.key(seed), 8):
        pairs = exchange_many(key, pairs, 1.0, data, case)[0].particle
    ways, shares = shared_out(particles, 1.0, data, case)
    found = np.sort(np.asarray(pairs.offsets[:, 0]), axis=1)
    same = np.all(found[:, None] == ways, axis=2)
    assert np.all(same.sum(axis=1) == 1)
    errors = np.abs(same.mean(axis=0) - shares) / np.sqrt(np.maximum(shares * (1 - shares), 1e-4) / N_PAIRS)
    assert errors.max() < 5
    assert np.sum(shares > 0.01) > 1


def test_pairs_of_the_prior_stay_pairs_of_the_prior(seed):
    case = UNKNOWN_NUMBER
    particles = draw_prior_many(jax.random.key(seed), 2 * N_PAIRS, case)
    pairs = jax.tree.map(lambda leaf: leaf.reshape(N_PAIRS, 2, *leaf.shape[1:]), particles)
    data = case.make_rows(jnp.asarray(np.random.default_rng(seed).normal(3.0, 2.0, size=len(case.inputs))))
    states, moved = exchange_many(jax.random.key(seed + 1), pairs, 0.0, data, case, refresh=True)
    assert 0.1 < float(moved.mean()) < 1
    exact = np.asarray(summaries_of_unknowns(draw_prior_many(jax.random.key(seed + 2), N_PAIRS, case), case))
    for k in range(2):
        found = summaries_of_unknowns(one_of(states.particle, np.s_[:, k]), case)
        assert same_distribution_p_value(np.asarray(found), exact) > LEVEL


@pytest.mark.parametrize("case", CASES)
def test_products_are_those_of_the_units(case, seed):
    case = CASES[case]
    particles, data = a_pair(case, seed)
    states = jax.vmap(lambda particle: make_state(particle, data))(particles)
    done, _ = exchange(jax.random.key(seed), states, jnp.array(0.1), data, case.prior)
    for k in range(2):
        fresh = cross_products(data, done.particle.normals[k], done.particle.offsets[k])
        np.testing.assert_allclose(done.products[k], fresh, rtol=1e-12, atol=1e-12)


def test_copies_of_a_particle_yield_finite_numbers(seed):
    """As resampling makes them; with hardly any noise."""
    particles, data = a_pair(THREE_UNITS, seed)
    copies = jax.tree.map(lambda leaf: jnp.stack([leaf[0], leaf[0]]), particles)
    copies = copies._replace(noise_variance=copies.noise_variance * 1e-12)
    states = jax.vmap(lambda particle: make_state(particle, data))(copies)
    done, moved = exchange(jax.random.key(seed), states, jnp.array(1.0), data, THREE_UNITS.prior)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves((done, moved)))

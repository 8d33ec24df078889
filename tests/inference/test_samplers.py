import jax
import numpy as np
import pytest
from some_particles import N_PLACES, functions_of, make_particles

from hyperplanes.inference import samplers
from hyperplanes.inference.fit import draw_states, fit
from hyperplanes.inference.samplers import (
    FULL,
    MOST_ROUNDS,
    collapsed_sampler,
    correlation,
    move_until_forgotten,
    with_room,
)
from hyperplanes.inference.settings import Settings
from hyperplanes.inference.stages import Stage
from hyperplanes.model import Data, Prior, gaussian, make_data, paper_prior
from hyperplanes.moves import State, make_state
from hyperplanes.smc import AdaptiveSchedule


@pytest.mark.parametrize(("n_hyperplanes", "n_parts"), [(2, 1), (None, 1), (4, 2)])
def test_the_round_that_is_compiled_ahead_is_the_one_that_is_run(n_hyperplanes, n_parts, monkeypatch, key, rng):
    """Another type of one argument would be another program."""
    ahead, run = [], []

    def recording(calls, otherwise):
        def call(function, per_particle, shared, **rest):
            kinds = jax.tree.map(lambda leaf: str(jax.api_util.shaped_abstractify(leaf)), (per_particle, shared))
            calls.append((function, kinds, rest["n_places"]))
            return otherwise(function, per_particle, shared, **rest)

        return call

    monkeypatch.setattr(samplers, "compile_ahead", recording(ahead, lambda *_, **__: None))
    monkeypatch.setattr(samplers, "map_with_features", recording(run, samplers.map_with_features))
    settings = Settings(n_hyperplanes, n_parts=n_parts, n_particles=4, n_steps=1)
    fit(
        key, rng.normal(size=(20, 2)), rng.normal(size=20), rng.uniform(1, 2, size=20), prior=Prior(), settings=settings
    )
    assert ahead == run[:1]


def test_correlation_of_what_stays_moves_and_never_varies(rng):
    before = rng.normal(size=(500, 3))
    assert correlation(before, before) == pytest.approx(1)
    assert correlation(before, -before + 7) == pytest.approx(-1)
    assert abs(correlation(before, rng.normal(size=(500, 3)))) < 0.15
    assert correlation(np.ones((5, 2)), np.ones((5, 2))) == 0


def test_particles_that_are_not_finite_do_not_count(rng):
    before = rng.normal(size=(40, 2))
    broken = np.where(np.arange(40)[:, None] == 3, np.nan, before)
    assert correlation(before, broken) == pytest.approx(1)
    assert correlation(before, np.full((40, 2), np.inf)) == 1


@pytest.mark.parametrize("stays", [True, False])
def test_rounds_repeat_until_the_functions_have_moved(stays, rng, monkeypatch):
    inputs = rng.uniform(-1, 1, size=(30, 2))
    settings, calls = Settings(2, n_particles=60), []

    def move_all(_step, key, states, shared, *_how):
        calls.append(float(shared[0]))
        order = np.arange(60) if stays else np.asarray(jax.random.permutation(key, 60))
        return jax.tree.map(lambda leaf: leaf[order], states), 0.5

    monkeypatch.setattr(samplers, "_move_all", move_all)
    with jax.enable_x64(True):
        data, prior = make_data(inputs, inputs[:, 0]), paper_prior(2)
        states = draw_states(jax.random.key(1), data, prior, settings)
        _, accepted = collapsed_sampler(Stage(data, 0), prior, settings).move(jax.random.key(0), states, 0.3)
    assert calls == [0.3] * (MOST_ROUNDS if stays else 1)
    assert accepted == 0.5


@pytest.mark.parametrize("stuck", [None, 0, 1])
def test_rounds_repeat_while_one_of_several_functions_has_not_moved(stuck, rng):
    made = []

    def once(key, functions):
        made.append(key)
        return [old if k == stuck else rng.normal(size=old.shape) for k, old in enumerate(functions)], 0.5

    functions = [rng.normal(size=(200, 3)), 1e-3 * rng.normal(size=(200, 3))]
    move_until_forgotten(once, list, jax.random.key(0), functions, AdaptiveSchedule(0.65))
    assert len(made) == (1 if stuck is None else MOST_ROUNDS)


def make_states(rng: np.random.Generator, numbers: list[int]) -> tuple[State, Data]:
    inputs = rng.uniform(-1, 1, size=(30, 2))
    data = make_data(inputs, rng.normal(size=30), rng.uniform(0.5, 2, size=30), dtype=np.float64)
    return jax.vmap(make_state, (0, None))(make_particles(rng, numbers), data), data


def evidences_of(states: State, data: Data) -> np.ndarray:
    particle, products = states
    variances = particle.noise_variance, particle.coefficient_variance
    return gaussian.evidence_path(data, 0 * products, products, *variances, Prior(reach=1.5))([0.0, 0.2, 1.0])


def test_more_room_changes_neither_evidences_nor_functions_nor_products(rng):
    with jax.enable_x64(True):
        states, data = make_states(rng, [5, 4, 5])
        wider = with_room(states)
        anew = jax.vmap(make_state, (0, None))(wider.particle, data)
        np.testing.assert_allclose(wider.products, anew.products, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(evidences_of(wider, data), evidences_of(states, data), rtol=1e-12, atol=1e-12)
        assert [leaf.dtype for leaf in jax.tree.leaves(wider)] == [leaf.dtype for leaf in jax.tree.leaves(states)]
    inputs = rng.uniform(-1, 1, size=(8, 2))
    before, after = (functions_of(each.particle, inputs) for each in (states, wider))
    np.testing.assert_allclose(after, before, rtol=1e-12, atol=1e-12)


def test_room_is_twice_as_many_places_and_those_that_are_new_are_empty(rng):
    with jax.enable_x64(True):
        states, _ = make_states(rng, [5, 4, 5])
        wider = with_room(states).particle
    assert wider.normals.shape == wider.attends.shape == (3, 2 * N_PLACES, 2)
    assert wider.coefficients.shape == (3, 2 * N_PLACES + 1)
    for name in ("normals", "offsets", "attends"):
        np.testing.assert_array_equal(getattr(wider, name)[:, :N_PLACES], getattr(states.particle, name))
        assert not np.any(getattr(wider, name)[:, N_PLACES:])
    np.testing.assert_array_equal(wider.coefficients[:, : N_PLACES + 1], states.particle.coefficients)
    assert not np.any(wider.coefficients[:, N_PLACES + 1 :])
    for name in ("noise_variance", "coefficient_variance", "intensity"):
        assert getattr(wider, name) is getattr(states.particle, name)


@pytest.mark.parametrize("numbers", [[0, 0, 0], [3, 5, 2], [4, 4, 4]])
def test_where_few_places_are_taken_on_average_there_is_room_enough(numbers, rng):
    assert np.mean(numbers) / N_PLACES <= FULL
    with jax.enable_x64(True):
        states, _ = make_states(rng, numbers)
        assert with_room(states) is states

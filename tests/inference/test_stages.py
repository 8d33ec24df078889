"""Rows that join in stages: every target is exact, and the posterior is that of all rows at once."""

from dataclasses import replace
from functools import partial

import jax
import numpy as np
import pytest
import quadrature
from scipy import stats

from hyperplanes.inference import Settings, fit
from hyperplanes.inference import stages as staging
from hyperplanes.inference.fit import timed
from hyperplanes.inference.stages import Stage, stages, with_products
from hyperplanes.model import Prior, cross_products, gaussian, make_data
from hyperplanes.model import data as layout
from hyperplanes.model.prior import draw_prior
from hyperplanes.moves import State
from hyperplanes.programs import QUICK_TO_COMPILE
from p_values import LEVEL

N_ROWS = 50
N_RUNS = 8
SETTINGS = Settings(n_hyperplanes=1, n_particles=1000)
PRIOR = Prior(reach=2.0, inattention=1.0, coefficient_mean=0.3)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """So that few rows have as many stages as a million."""
    monkeypatch.setattr(layout, "LARGEST_BLOCK", 2)
    monkeypatch.setattr(layout, "SMALLEST_BLOCK", 1)
    with jax.enable_x64(True):
        yield


@pytest.fixture
def rows(seed):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(N_ROWS, 2))
    return inputs, np.maximum(inputs[:, 0], 0) + 0.2 * rng.normal(size=N_ROWS), rng.uniform(0.5, 2, size=N_ROWS)


@partial(jax.jit, static_argnames="n_particles", compiler_options=QUICK_TO_COMPILE)
def make_states(seed, data, n_particles=3):
    keys = jax.random.split(jax.random.key(seed), n_particles)
    particles = jax.vmap(lambda key: draw_prior(key, PRIOR, 4, 2, np.float64))(keys)
    products = jax.vmap(lambda one: cross_products(data, one.normals, one.offsets))(particles)
    return State(particles, products)


def log_evidences(states, data, exponent):
    """From the definition, particle by particle."""

    def one(state):
        known = PRIOR.given(state.particle)
        products = cross_products(data, state.particle.normals, state.particle.offsets)
        return gaussian.log_evidence(data, products, state.particle.noise_variance, exponent, known)

    return np.asarray(jax.vmap(one)(states))


def test_each_stage_goes_on_where_the_last_one_ended(rows):
    data = make_data(*rows)
    found = stages(data, SETTINGS)
    assert [len(stage.rows.inputs) for stage in found] == [2, 7, 25]
    assert [stage.n_known for stage in found] == [0, 2, 7]
    assert [stage.share(0.0) for stage in found[1:]] == [stage.share(1.0) for stage in found[:-1]]
    assert found[0].share(0.0) == 0
    assert found[-1].share(1.0) == 1
    assert found[-1].rows is data


@pytest.mark.parametrize("settings", [Settings(1, n_steps=5), Settings(1, sampler="paper")])
def test_exponents_that_were_asked_for_are_those_of_all_rows(rows, settings):
    assert len(stages(make_data(*rows), settings)) == 1


@pytest.mark.parametrize("exponent", [0.0, 1e-6, 0.3, 1.0])
def test_the_target_has_the_new_rows_to_an_exponent_and_the_known_ones_whole(rows, seed, exponent):
    data = make_data(*rows, dtype=np.float64)
    stage = stages(data, SETTINGS)[1]
    states = make_states(seed, data)
    weighted, power = stage.at(exponent)
    assert power == 1
    start, end = (log_evidences(states, stage.at(at)[0], 1.0) for at in (0.0, exponent))
    path = stage.path(states, 0.0, PRIOR, SETTINGS)(np.array([exponent]))[0]
    np.testing.assert_allclose(path, end - start, rtol=1e-6, atol=1e-8)
    n_rows = np.sum(np.asarray(weighted.inputs)[:, -1] ** 2)
    np.testing.assert_allclose(weighted.n_rows, n_rows, rtol=1e-7)


def test_the_known_rows_alone_are_the_target_at_the_start(rows, seed):
    data = make_data(*rows, dtype=np.float64)
    first, second, _ = stages(data, SETTINGS)
    states = make_states(seed, data)
    before, after = log_evidences(states, first.rows, 1.0), log_evidences(states, second.at(0.0)[0], 1.0)
    np.testing.assert_allclose(after, before, rtol=1e-12)


def test_one_hyperplane_in_one_dimension_agrees_with_numerical_integration(seed):
    exact = quadrature.integrate()
    assert len(stages(make_data(quadrature.INPUTS, quadrature.RESPONSE), SETTINGS)) > 1
    rows = quadrature.INPUTS, quadrature.RESPONSE
    runs = [
        fit(jax.random.key(seed + repeat), *rows, prior=quadrature.PRIOR, settings=SETTINGS) for repeat in range(N_RUNS)
    ]
    exponents = runs[0].trace.exponent
    assert np.all(np.diff(exponents) > 0)
    assert exponents[-1] == 1
    evidences, errors = np.array([[run.log_evidence, run.log_evidence_error] for run in runs]).T
    assert np.all(np.abs(evidences - exact.log_evidence) < 4 * errors)
    assert np.all(errors < 0.3)
    means = np.array(
        [
            np.exp(run.log_weights)
            @ quadrature.statistics_of(run.normals, run.offsets, run.coefficients, run.noise_variance)
            for run in runs
        ]
    )
    p_values = stats.ttest_1samp(means, exact.means).pvalue
    assert p_values.min() * len(p_values) > LEVEL
    assert np.all(means[:, :4].std(axis=0) < 0.2 * exact.scales)


def test_stages_share_what_is_left_of_a_budget(rows):
    all_stages = stages(make_data(*rows), Settings(1, budget=10.0))
    shares = [timed(all_stages[k:], 8.0, 2.0).seconds for k in range(3)]
    assert shares[-1] == 8
    assert shares[0] < shares[1] < shares[2]
    assert timed(all_stages, 8.0, 2.0).hurry == 2


def test_a_stage_that_is_half_done_gets_less_of_a_budget(rows):
    all_stages = stages(make_data(*rows), Settings(1, budget=10.0))
    shares = [timed(all_stages, 8.0, 1.0, exponent).seconds for exponent in (0.0, 0.25, 0.9)]
    assert shares[0] > shares[1] > shares[2] > 0
    assert timed(all_stages[-1:], 8.0, 1.0, 0.5).seconds == 8


def test_costs_grow_with_the_rows_and_with_how_much_more_is_known():
    few, many = (make_data(np.zeros((n_rows, 1)), np.zeros(n_rows)) for n_rows in (16, 32))
    assert Stage(few, 3).cost < Stage(few, 1).cost < Stage(many, 1).cost


def test_progress_is_even_in_steps_that_multiply_what_is_known(rows):
    first, second, _ = stages(make_data(*rows), SETTINGS)
    assert first.progress(0.25) == 0.5
    n_rows = np.geomspace(first.rows.n_rows, second.rows.n_rows, 5)
    exponents = (n_rows - n_rows[0]) / (n_rows[-1] - n_rows[0])
    np.testing.assert_allclose([second.progress(exponent) for exponent in exponents], np.linspace(0, 1, 5), atol=1e-6)


def test_a_move_starts_from_the_products_of_its_own_rows(rows, seed):
    """Parts of a superposition draw coefficients from them."""
    data = make_data(*rows)
    stage = stages(data, SETTINGS)[1]
    states = make_states(seed, data)
    weighted, _ = stage.at(0.3)
    found = with_products(states, weighted, SETTINGS)
    for k in range(3):
        particle = jax.tree.map(lambda leaf, k=k: leaf[k], states.particle)
        expected = cross_products(weighted, particle.normals, particle.offsets)
        np.testing.assert_allclose(found.products[k], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.long
def test_parts_that_add_up_have_the_evidence_of_the_whole_in_stages_too(rows, seed, monkeypatch):
    monkeypatch.setattr(layout, "LARGEST_BLOCK", 13)
    settings = Settings(4, n_particles=100)
    keys = jax.random.split(jax.random.key(seed), 2 * N_RUNS)

    def evidences(keys: jax.Array, settings: Settings, n_stages: int) -> np.ndarray:
        assert len(stages(make_data(*rows), settings)) == n_stages
        return np.array([fit(key, *rows, prior=PRIOR, settings=settings).log_evidence for key in keys])

    in_parts = evidences(keys[:N_RUNS], replace(settings, n_parts=2), 2)
    monkeypatch.setattr(staging, "FEW_BLOCKS", 4)
    whole = evidences(keys[N_RUNS:], settings, 1)
    assert stats.ttest_ind(whole, in_parts, equal_var=False).pvalue > LEVEL
    assert max(whole.std(), in_parts.std()) < 1

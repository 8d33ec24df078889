"""Looks against cross products that are computed anew, where rounding hurts most: many rows and hardly any noise."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from joint import COMPILER_OPTIONS

from hyperplanes.model import Data, Particle, cross_products, gaussian, make_data, paper_prior
from hyperplanes.moves import State, collapsed_round, make_state
from hyperplanes.moves.workspace import feature_and_row, look, occupy, open_workspace, survey, vacate
from hyperplanes.process import Hyperplanes, unit_vectors

N_ROWS, NOISE_VARIANCE = 30_000, 1e-5
PRIOR = replace(paper_prior(3), reach=1.5)
ONE = jnp.array(1.0)


def make_problem(seed: int) -> tuple[State, Data]:
    rng = np.random.default_rng(seed)
    normals = rng.normal(size=(4, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    offsets = rng.uniform(0.1, 0.4, size=4)
    inputs = rng.uniform(-1, 1, size=(N_ROWS, 3))
    function = np.maximum(inputs @ normals.T - offsets, 0) @ [1.0, -2.0, 0.5, 1.5]
    data = make_data(inputs, function + np.sqrt(NOISE_VARIANCE) * rng.normal(size=N_ROWS))
    particle = Particle(
        normals=jnp.asarray(normals, jnp.float32),
        offsets=jnp.asarray(offsets, jnp.float32),
        coefficients=jnp.zeros(5),
        noise_variance=jnp.array(NOISE_VARIANCE),
        coefficient_variance=jnp.array(10.0),
        intensity=jnp.array(4.0),
        attends=jnp.ones((4, 3), dtype=bool),
    )
    return make_state(particle, data), data


def shifted(state: State, unit: int, sizes: np.ndarray, seed: int) -> Hyperplanes:
    """Hyperplanes as far from that of a unit as `sizes` say, in the precision that particles have."""
    rng = np.random.default_rng(seed)
    normals = state.particle.normals[unit] + sizes[:, None] * rng.normal(size=(len(sizes), 3))
    offsets = state.particle.offsets[unit] + sizes * rng.normal(size=len(sizes))
    rounded = (np.asarray(part, np.float32).astype(float) for part in (unit_vectors(jnp.asarray(normals)), offsets))
    return Hyperplanes(*map(jnp.asarray, rounded))


def expected_log_evidence(plane: Hyperplanes, unit: int, state: State, data: Data) -> float:
    particle = state.particle
    normals = particle.normals.at[unit].set(plane.normals.astype(jnp.float32))
    offsets = particle.offsets.at[unit].set(plane.offsets.astype(jnp.float32))
    products = cross_products(data, normals, offsets)
    return float(gaussian.log_evidence(data, products, particle.noise_variance, 1.0, PRIOR))


@partial(jax.jit, static_argnums=1, compiler_options=COMPILER_OPTIONS)
def look_at_all(planes: Hyperplanes, unit: int, state: State, data: Data) -> tuple[jax.Array, jax.Array]:
    work = open_workspace(state.particle, data)
    vacancy = vacate(jnp.array(unit), work, ONE, data, PRIOR)
    near = jax.lax.map(lambda plane: look(plane, vacancy, work.features, data, PRIOR).joined.log_evidence, planes)
    return near, survey(planes, vacancy, work.features, data, PRIOR)


@pytest.mark.parametrize("unit", [0, 3])
def test_looks_judge_hyperplanes_as_products_in_float64_do(unit, seed):
    """Sums of whole features in float32 would err by a hundred nats here."""
    state, data = make_problem(seed)
    near, far = np.repeat([0.0, 1e-4, 3e-4], 4), np.repeat([0.1, 0.5], 6)
    planes = shifted(state, unit, np.concatenate([near, far]), seed)
    looked, surveyed = look_at_all(planes, unit, state, data)
    expected = [expected_log_evidence(Hyperplanes(*plane), unit, state, data) for plane in zip(*planes, strict=True)]
    assert np.ptp(expected[: len(near)]) > 1
    np.testing.assert_allclose(looked[: len(near)], expected[: len(near)], atol=0.1)
    np.testing.assert_allclose(surveyed, expected, atol=0.1, rtol=1e-8)


@pytest.mark.parametrize("moved", [True, False])
def test_products_follow_the_hyperplane_that_takes_the_place(moved, seed):
    state, data = make_problem(seed)
    work = open_workspace(state.particle, data)
    vacancy = vacate(jnp.array(2), work, ONE, data, PRIOR)
    plane = Hyperplanes(*(part[0] for part in shifted(state, 2, np.array([0.01]), seed)))
    seen = look(plane, vacancy, work.features, data, PRIOR)
    after = occupy(plane, seen.row, seen.feature, jnp.array(moved), vacancy, work)
    anew = open_workspace(after.particle, data)
    np.testing.assert_allclose(after.features, anew.features, atol=1e-6)
    np.testing.assert_allclose(after.products, anew.products, rtol=1e-6)
    assert bool(jnp.any(after.particle.normals != state.particle.normals)) == moved


def test_a_row_is_the_products_of_its_very_feature(seed):
    state, data = make_problem(seed)
    work = open_workspace(state.particle, data)
    vacancy = vacate(jnp.array(1), work, ONE, data, PRIOR)
    plane = Hyperplanes(*(part[0] for part in shifted(state, 1, np.array([0.5]), seed)))
    feature, row = feature_and_row(plane, vacancy, work.features, data)
    after = occupy(plane, row, feature, jnp.array(True), vacancy, work)
    design = np.concatenate([data.inputs[:, -1:], after.features, data.response[:, None]], axis=1).astype(float)
    expected = np.einsum("bin,bn->i", design, np.asarray(feature, float))
    np.testing.assert_allclose(row, expected, rtol=1e-13)


def test_after_a_round_the_evidence_is_that_of_products_anew(seed):
    """The sums of changes in float32 that Langevin moves make do not reach the weights."""
    state, data = make_problem(seed)
    prior = replace(PRIOR, noise_shape=1.0, noise_scale=1e-6)
    after, accepted = jax.jit(collapsed_round, compiler_options=COMPILER_OPTIONS)(
        jax.random.key(seed), state, ONE, data, prior
    )
    assert accepted > 0.2
    anew = make_state(after.particle, data)
    variances = after.particle.noise_variance[None], after.particle.coefficient_variance[None]
    kept, fresh = (
        gaussian.evidence_path(data, 0 * each.products[None], each.products[None], *variances, prior)([1.0])
        for each in (after, anew)
    )
    np.testing.assert_allclose(kept, fresh, atol=1e-3)

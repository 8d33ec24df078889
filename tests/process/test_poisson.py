import jax
import jax.numpy as jnp
import numpy as np
import pytest
from goodness_of_fit import ALPHA, independence_p_value, mean_p_value, poisson_p_value, sample_on_host, uniform_p_value
from scipy import stats

from hyperplanes.process import (
    Ball,
    Box,
    ConvexHull,
    HyperplaneProcess,
    canonical,
    draw_in_ball,
    hits,
    measure,
    n_hits,
    signed_distances,
    to_numpy,
    translate,
)
from hyperplanes.process import poisson as poisson_module

draw = jax.jit(draw_in_ball, static_argnums=(1, 2))
N_REALISATIONS = 4000
POINTS = np.random.default_rng(0).normal(size=(25, 3))
PROCESSES = {
    "ball": HyperplaneProcess(Ball(1.7, 3), 4.0),
    "line": HyperplaneProcess(Box([-1.0], [2.0]), 5.0),
    "box": HyperplaneProcess(Box([-1, -2], [1, 0.5]), 5.0),
    "far box": HyperplaneProcess(Box([2, 3, 1], [3, 3.5, 3]), 8.0),
    "hull": HyperplaneProcess(ConvexHull(POINTS), 3.0),
    "far hull": HyperplaneProcess(ConvexHull(POINTS + np.array([3, 0, -2])), 3.0),
    "many columns": HyperplaneProcess(Box([-1] * 20, [1] * 20), 2.0),
}


@pytest.mark.parametrize("name", PROCESSES)
def test_counts_are_poisson_with_mean_intensity_times_measure(name):
    process = PROCESSES[name]
    realisations = sample_on_host(process, jax.random.key(0), N_REALISATIONS)
    assert process.mean_count == pytest.approx(process.intensity * measure(process.window))
    assert poisson_p_value(realisations.counts(), process.mean_count) > ALPHA


@pytest.mark.parametrize("name", PROCESSES)
def test_every_hyperplane_of_a_realisation_hits_the_window(name):
    process = PROCESSES[name]
    hyperplanes = to_numpy(process.sample(jax.random.key(1)))
    assert hits(hyperplanes, process.window).all()
    assert (hyperplanes.offsets >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(hyperplanes.normals, axis=-1), 1, rtol=1e-6)


@pytest.mark.parametrize(
    "inner", [Ball(0.4, 2), Box([-1, 0], [-0.5, 1]), ConvexHull([[0.2, 0.1], [0.9, 0.8]]), Box([0.5, 0.5], [1, 1])]
)
def test_counts_over_any_convex_set_in_the_window_are_poisson(inner):
    process = HyperplaneProcess(Box([-1, -1], [1, 1]), 6.0)
    realisations = sample_on_host(process, jax.random.key(2), N_REALISATIONS)
    counts = realisations.counts(hits(realisations.hyperplanes, inner))
    assert poisson_p_value(counts, process.intensity * measure(inner)) > ALPHA


def test_counts_do_not_change_when_the_window_is_moved_or_rotated():
    turn = stats.special_ortho_group(3, seed=0).rvs()
    expected = PROCESSES["hull"].mean_count
    for points in [POINTS + np.array([1, 2, 3]), POINTS @ turn.T]:
        realisations = sample_on_host(HyperplaneProcess(ConvexHull(points), 3.0), jax.random.key(3), N_REALISATIONS)
        assert poisson_p_value(realisations.counts(), expected) > ALPHA


def test_a_translated_realisation_has_the_distribution_of_the_process_on_the_translated_window():
    shift = np.array([3.0, -2.0])
    moved = Box([2, -4], [4, -1.5])
    realisations = sample_on_host(PROCESSES["box"], jax.random.key(4), N_REALISATIONS)
    direct = sample_on_host(HyperplaneProcess(moved, 5.0), jax.random.key(5), N_REALISATIONS)
    carried = to_numpy(canonical(translate(realisations.hyperplanes, shift)))
    assert hits(carried, moved).mean() > 0.999  # all, up to rounding
    assert stats.ks_2samp(np.asarray(carried.offsets), np.asarray(direct.hyperplanes.offsets)).pvalue > ALPHA
    for column in range(2):
        pair = [np.asarray(sample.normals[:, column]) for sample in (carried, direct.hyperplanes)]
        assert stats.ks_2samp(*pair).pvalue > ALPHA


def test_successive_realisations_are_independent():
    counts = sample_on_host(PROCESSES["box"], jax.random.key(6), N_REALISATIONS).counts()
    assert independence_p_value(counts[:-1], counts[1:]) > ALPHA


def test_single_realisations_have_poisson_counts():
    process = PROCESSES["box"]
    counts = [len(process.sample(key).offsets) for key in jax.random.split(jax.random.key(7), 300)]
    assert poisson_p_value(counts, process.mean_count) > ALPHA


@pytest.mark.parametrize("dimension", [1, 2, 3, 10])
def test_normals_are_isotropic(dimension):
    normals = np.asarray(draw(jax.random.key(8), 40000, dimension, 2.0).normals, np.float64)
    direction = np.arange(1.0, dimension + 1) / np.linalg.norm(np.arange(1.0, dimension + 1))
    along = normals @ direction
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, rtol=1e-6)
    if dimension == 1:
        assert mean_p_value(along, 0) > ALPHA
        return
    beta = stats.beta((dimension - 1) / 2, (dimension - 1) / 2, loc=-1, scale=2)  # law of one component of n
    for component in [along, normals[:, 0], normals[:, -1]]:
        assert stats.kstest(component, beta.cdf).pvalue > ALPHA
    assert mean_p_value(normals[:, 0] * normals[:, 1], 0) > ALPHA
    assert mean_p_value(np.exp(along) * normals[:, 0] - np.exp(normals[:, 0]) * along, 0) > ALPHA


@pytest.mark.parametrize(("dimension", "radius"), [(1, 0.3), (3, 1.0), (10, 2.6)])
def test_offsets_are_uniform_up_to_the_radius_and_independent_of_the_normals(dimension, radius):
    normals, offsets = to_numpy(draw(jax.random.key(9), 40000, dimension, radius))
    assert uniform_p_value(offsets, radius) > ALPHA
    assert stats.spearmanr(normals[:, 0], offsets).pvalue > ALPHA
    assert stats.spearmanr(normals[:, -1] ** 2 if dimension > 1 else normals[:, 0], offsets).pvalue > ALPHA


@pytest.mark.parametrize("name", ["box", "far box"])
def test_given_the_normal_offsets_are_uniform_over_those_that_hit_the_window(name):
    process = PROCESSES[name]
    normals, offsets = sample_on_host(process, jax.random.key(10), N_REALISATIONS).hyperplanes
    low = np.maximum(-process.window.support(-normals), 0)
    high = process.window.support(normals)
    assert uniform_p_value((offsets - low) / (high - low), 1.0) > ALPHA


def test_the_number_of_hyperplanes_between_two_inputs_depends_on_their_distance_only():
    process = HyperplaneProcess(Ball(2.0, 2), 6.0)
    realisations = sample_on_host(process, jax.random.key(11), N_REALISATIONS)
    for first, second in [([0.0, 0.0], [0.9, 0.0]), ([-1.0, 1.0], [-1.0, 0.1]), ([1.1, 1.0], [0.2, 1.0])]:
        distances = signed_distances(realisations.hyperplanes, np.array([first, second]))
        counts = realisations.counts(distances[0] * distances[1] < 0)
        assert poisson_p_value(counts, 6.0 * 0.9 / np.pi) > ALPHA


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws_have_the_float_width_asked_for(dtype):
    with jax.enable_x64(True):
        for hyperplanes in [
            draw_in_ball(jax.random.key(0), 4, 3, 2.0, dtype),
            PROCESSES["hull"].sample(jax.random.key(0), dtype),
        ]:
            assert [str(field.dtype) for field in hyperplanes] == [dtype, dtype]


def test_draw_in_ball_works_in_jit_and_vmap_with_a_traced_radius():
    keys = jax.random.split(jax.random.key(12), 3)
    radii = jnp.array([0.1, 1.0, 10.0])
    drawn = jax.jit(jax.vmap(lambda key, radius: draw_in_ball(key, 500, 4, radius)))(keys, radii)
    assert drawn.normals.shape == (3, 500, 4)
    alone = draw_in_ball(keys[2], 500, 4, 10.0)
    np.testing.assert_allclose(drawn.offsets[2], alone.offsets, rtol=1e-6)
    assert (drawn.offsets.max(axis=1) <= radii).all()
    assert (drawn.offsets.max(axis=1) > 0.9 * radii).all()


def test_one_compiled_program_draws_any_number_of_hyperplanes():
    PROCESSES["box"].sample(jax.random.key(0))
    n_programs = poisson_module._draw_block._cache_size()
    for intensity in [0.1, 3.0, 500.0, 20000.0]:
        HyperplaneProcess(Box([-2, 0], [1, 3]), intensity).sample(jax.random.key(0))
    assert poisson_module._draw_block._cache_size() == n_programs


def test_the_same_key_gives_the_same_realisation_and_another_key_another():
    process = PROCESSES["far hull"]
    first, again, other = (process.sample(jax.random.key(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.normals, again.normals)
    assert first.offsets.shape != other.offsets.shape or (first.offsets != other.offsets).any()


def test_owners_count_the_empty_realisations_too():
    realisations = HyperplaneProcess(Ball(1.0, 2), 0.2).sample_many(jax.random.key(13), 50)
    counts = np.asarray(realisations.counts())
    assert counts.shape == (50,)
    assert (counts == 0).any()
    assert counts.sum() == len(realisations.owners) == len(realisations.hyperplanes.offsets)
    assert (np.diff(realisations.owners) >= 0).all()


def test_a_window_of_one_input_is_hit_by_no_hyperplane():
    process = HyperplaneProcess(ConvexHull([[1.0, 2.0]]), 10.0)
    assert process.mean_count == 0
    assert n_hits(process.sample(jax.random.key(0)), process.window) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HyperplaneProcess(Ball(1, 2), 0.0), "intensity must be positive and finite, got 0.0"),
        (lambda: HyperplaneProcess(Ball(1, 2), float("nan")), "intensity must be positive and finite, got nan"),
        (lambda: PROCESSES["box"].sample_many(jax.random.key(0), 0), "n_realisations must be at least 1, got 0"),
    ],
)
def test_errors_say_what_was_expected_and_got(make, message):
    with pytest.raises(ValueError, match=message):
        make()

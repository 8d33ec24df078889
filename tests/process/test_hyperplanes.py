import jax
import jax.numpy as jnp
import numpy as np
import pytest
from goodness_of_fit import isotropic
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperplanes.process import (
    Hyperplanes,
    canonical,
    from_points,
    sides,
    signed_distances,
    to_points,
    translate,
)

SEEDS = st.integers(0, 2**31 - 1)
DIMENSIONS = st.sampled_from([1, 2, 5])
PROPERTY = settings(max_examples=25, deadline=None, derandomize=True)


def facing_both_ways(seed, dimension):
    return Hyperplanes(*(jnp.asarray(field) for field in isotropic(seed, 5, dimension, 3.0)))


@PROPERTY
@given(SEEDS, DIMENSIONS)
def test_to_points_inverts_from_points(seed, dimension):
    points = np.random.default_rng(seed).normal(size=(4, dimension))
    np.testing.assert_allclose(to_points(from_points(points)), points, rtol=1e-5, atol=1e-6)


@PROPERTY
@given(SEEDS, DIMENSIONS)
def test_from_points_of_to_points_is_the_canonical_form(seed, dimension):
    hyperplanes = facing_both_ways(seed, dimension)
    back, expected = from_points(to_points(hyperplanes)), canonical(hyperplanes)
    np.testing.assert_allclose(back.offsets, expected.offsets, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(back.normals, expected.normals, atol=1e-4)


@PROPERTY
@given(SEEDS, DIMENSIONS)
def test_canonical_form_does_not_depend_on_the_way_a_hyperplane_faces(seed, dimension):
    hyperplanes = facing_both_ways(seed, dimension)
    turned = Hyperplanes(-hyperplanes.normals, -hyperplanes.offsets)
    assert (canonical(hyperplanes).offsets >= 0).all()
    for field, expected in zip(canonical(turned), canonical(hyperplanes), strict=True):
        np.testing.assert_array_equal(field, expected)


def test_the_origin_maps_to_a_finite_hyperplane():
    normals, offsets = from_points(np.zeros((1, 3)))
    np.testing.assert_array_equal(normals, [[1, 0, 0]])
    np.testing.assert_array_equal(offsets, [0])


@PROPERTY
@given(SEEDS, DIMENSIONS)
def test_the_foot_lies_on_its_hyperplane_and_no_input_of_it_is_nearer_to_the_origin(seed, dimension):
    hyperplanes = facing_both_ways(seed, dimension)
    feet = to_points(hyperplanes)
    np.testing.assert_allclose(jnp.diagonal(signed_distances(hyperplanes, feet)), 0, atol=1e-5)
    np.testing.assert_allclose(jnp.linalg.norm(feet, axis=-1), jnp.abs(hyperplanes.offsets), rtol=1e-5)


def test_sides_follow_the_normal():
    hyperplanes = Hyperplanes(jnp.array([[1.0, 0.0], [-1.0, 0.0], [0.6, 0.8]]), jnp.array([1.0, 1.0, 0.5]))
    inputs = np.array([[2.0, 0.0], [-3.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    expected = [[True, False, True], [False, True, False], [False, False, False], [False, False, True]]
    np.testing.assert_array_equal(sides(hyperplanes, inputs), expected)


@PROPERTY
@given(SEEDS, DIMENSIONS)
def test_translation_moves_inputs_and_hyperplanes_together(seed, dimension):
    hyperplanes = facing_both_ways(seed, dimension)
    rng = np.random.default_rng(seed)
    inputs, shift = rng.normal(size=(3, dimension)), rng.normal(size=dimension)
    moved = signed_distances(translate(hyperplanes, shift), inputs + shift)
    np.testing.assert_allclose(moved, signed_distances(hyperplanes, inputs), atol=1e-5)


def test_leading_axes_are_many_sets():
    many = Hyperplanes(*(jnp.reshape(field, (7, 5, *field.shape[1:])) for field in isotropic(0, 35, 3)))
    inputs = np.random.default_rng(0).normal(size=(4, 3))
    assert signed_distances(many, inputs).shape == (7, 4, 5)
    assert canonical(many).normals.shape == (7, 5, 3)
    alone = signed_distances(Hyperplanes(many.normals[6], many.offsets[6]), inputs)
    np.testing.assert_allclose(signed_distances(many, inputs)[6], alone, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_width_is_kept(dtype):
    with jax.enable_x64(True):
        hyperplanes = Hyperplanes(*(jnp.asarray(field, dtype) for field in isotropic(0, 5, 3)))
        results = [*from_points(to_points(hyperplanes)), *canonical(hyperplanes), translate(hyperplanes, [1, 2, 3])[1]]
        assert {str(array.dtype) for array in [*hyperplanes, *results]} == {dtype}

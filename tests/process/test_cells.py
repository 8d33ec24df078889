import jax
import jax.numpy as jnp
import numpy as np
import pytest
from goodness_of_fit import ALPHA, independence_p_value, isotropic, mean_p_value, poisson_p_value, sample_on_host

from hyperplanes.process import (
    Ball,
    Box,
    ConvexHull,
    HyperplaneProcess,
    Hyperplanes,
    Sector,
    Shell,
    from_points,
    hits,
    lies_in,
    measure,
    sectors,
    shells,
)

N_REALISATIONS = 4000
PARTITIONS = {
    "shells": shells([0.4, 1.0]),
    "sectors": sectors([[1.0, 0.0], [0.0, 2.0], [-1.0, -1.0]]),
}


@pytest.mark.parametrize("name", PARTITIONS)
def test_every_hyperplane_lies_in_exactly_one_cell_whichever_way_it_faces(name):
    drawn = isotropic(0, 2000, 2, 2.0)
    turned = Hyperplanes(-drawn.normals, -drawn.offsets)
    membership = np.stack([lies_in(drawn, (cell,)) for cell in PARTITIONS[name]])
    np.testing.assert_array_equal(membership.sum(axis=0), 1)
    np.testing.assert_array_equal(membership, [lies_in(turned, (cell,)) for cell in PARTITIONS[name]])
    assert (membership.sum(axis=1) > 0).all()


def test_a_hyperplane_on_an_edge_lies_in_the_outer_shell():
    on_edges = Hyperplanes(jnp.array([[1.0, 0.0]] * 3), jnp.array([0.0, 0.5, 2.0]))
    inner, outer = shells([0.5])
    np.testing.assert_array_equal(lies_in(on_edges, (inner,)), [True, False, False])
    np.testing.assert_array_equal(lies_in(on_edges, (outer,)), [False, True, True])


def test_each_direction_lies_in_its_own_sector():
    directions = np.random.default_rng(0).normal(size=(6, 4))
    along = from_points(directions)
    membership = np.stack([lies_in(along, (cell,)) for cell in sectors(directions)])
    np.testing.assert_array_equal(membership, np.eye(6, dtype=bool))


def test_no_cells_hold_everything_and_several_hold_what_all_of_them_hold():
    drawn = isotropic(1, 500, 2, 2.0)
    shell, sector = PARTITIONS["shells"][1], PARTITIONS["sectors"][2]
    assert lies_in(drawn, ()).all()
    both = lies_in(drawn, (shell,)) & lies_in(drawn, (sector,))
    np.testing.assert_array_equal(lies_in(drawn, (sector, shell)), both)
    np.testing.assert_array_equal(lies_in(drawn, (shell, sector)), both)
    assert both.any()


@pytest.mark.parametrize("name", PARTITIONS)
def test_counts_over_disjoint_sets_of_points_are_poisson_and_independent(name):
    process = HyperplaneProcess(Box([-0.5, -1], [1, 1.5]), 9.0)
    realisations = sample_on_host(process, jax.random.key(2), N_REALISATIONS)
    cells = PARTITIONS[name]
    counts = [realisations.counts(lies_in(realisations.hyperplanes, (cell,))) for cell in cells]
    for count, cell in zip(counts, cells, strict=True):
        assert poisson_p_value(count, 9.0 * measure(process.window, (cell,))) > ALPHA
    for first, second in [(0, 1), (0, 2), (1, 2)]:
        assert independence_p_value(counts[first], counts[second]) > ALPHA


def test_counts_over_disjoint_cells_of_input_space_are_dependent():
    left, right = ConvexHull([[-1.0, -1.0], [-1.0, 1.0]]), ConvexHull([[1.0, -1.0], [1.0, 1.0]])
    intensity = 8.0
    realisations = sample_on_host(HyperplaneProcess(Ball(np.sqrt(2), 2), intensity), jax.random.key(3), N_REALISATIONS)
    in_left, in_right = (np.asarray(hits(realisations.hyperplanes, cell)) for cell in (left, right))
    first, second, both = (np.asarray(realisations.counts(mask)) for mask in (in_left, in_right, in_left & in_right))
    # Crofton: the lines that hit both segments have the measure (diagonals - sides) / (2 pi) of the square.
    covariance = intensity * (4 * np.sqrt(2) - 4) / (2 * np.pi)
    assert independence_p_value(first, second) < 1e-9
    assert poisson_p_value(both, covariance) > ALPHA
    means = intensity * measure(left), intensity * measure(right)
    assert mean_p_value((first - means[0]) * (second - means[1]), covariance) > ALPHA


def test_on_the_line_disjoint_intervals_of_inputs_share_no_hyperplane():
    realisations = sample_on_host(HyperplaneProcess(Box([-2.0], [3.0]), 4.0), jax.random.key(4), N_REALISATIONS)
    masks = [hits(realisations.hyperplanes, Box([low], [high])) for low, high in [(-2, -0.5), (-0.25, 3)]]
    assert not (masks[0] & masks[1]).any()
    assert independence_p_value(*(realisations.counts(mask) for mask in masks)) > ALPHA


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: shells([1.0, 0.5]), r"edges must be positive, finite and increasing, got \[1.0, 0.5\]"),
        (lambda: shells([0.0]), r"edges must be positive, finite and increasing, got \[0.0\]"),
        (lambda: shells([float("nan")]), r"edges must be positive, finite and increasing, got \[nan\]"),
        (lambda: Shell(-1.0, 1.0), "low and high must satisfy 0 <= low < high, got -1.0 and 1.0"),
        (lambda: sectors([1.0, 2.0]), r"directions must have shape \(k, p\) and at least one entry, got shape \(2,\)"),
        (lambda: sectors([[0.0, 0.0]]), r"directions must be finite and not zero, got lengths \[0.0\]"),
        (lambda: Sector(np.eye(2), 2), "number must be from 0 to 1, got 2"),
    ],
)
def test_errors_say_what_was_expected_and_got(make, message):
    with pytest.raises(ValueError, match=message):
        make()

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from goodness_of_fit import ALPHA, independence_p_value, isotropic, poisson_p_value, sample_on_host, uniform_p_value
from scipy import stats

from hyperplanes.process import (
    Ball,
    Box,
    HyperplaneProcess,
    Hyperplanes,
    Realisations,
    hits,
    lies_in,
    measure,
    restrict,
    sectors,
    shells,
    split,
    split_domain,
    superpose,
    thin,
    to_numpy,
)

N_REALISATIONS = 4000
WINDOW = Box([-0.5, -1], [1, 1.5])
PROCESS = HyperplaneProcess(WINDOW, 7.0)
INNER = Box([0.25, 0], [1, 1.25])
SHARES = [0.2, 0.5, 0.3]
PARTITIONS = {"shells": shells([0.4, 1.0]), "sectors": sectors([[1.0, 0.0], [0.0, 2.0], [-1.0, -1.0]])}


def pool(parts):
    """Realisation i of the superposed process is the union of the realisations i of the parts."""
    owners = np.concatenate([part.owners for part in parts])
    return Realisations(to_numpy(superpose([part.hyperplanes for part in parts])), owners, parts[0].n_realisations)


def sample_each(processes, seed):
    keys = jax.random.split(jax.random.key(seed), len(processes))
    return [sample_on_host(process, key, N_REALISATIONS) for process, key in zip(processes, keys, strict=True)]


def assert_distributed_like(realisations, process):
    """Counts over the window, over a smaller window and over disjoint cells, normals and offsets."""
    hyperplanes = realisations.hyperplanes
    assert process.contains(hyperplanes).all()
    assert poisson_p_value(realisations.counts(), process.mean_count) > ALPHA
    inner = realisations.counts(hits(hyperplanes, INNER))
    assert poisson_p_value(inner, process.intensity * measure(INNER, process.cells)) > ALPHA
    normals, offsets = hyperplanes
    low, high = np.maximum(-process.window.support(-normals), 0), process.window.support(normals)
    if not process.cells:
        assert uniform_p_value((offsets - low) / (high - low), 1.0) > ALPHA
        cells = [realisations.counts(lies_in(hyperplanes, (cell,))) for cell in PARTITIONS["sectors"]]
        assert independence_p_value(cells[0], cells[1]) > ALPHA
    reference = sample_on_host(process, jax.random.key(99), N_REALISATIONS).hyperplanes
    angles = [np.arctan2(sample.normals[:, 1], sample.normals[:, 0]) for sample in (hyperplanes, reference)]
    assert stats.ks_2samp(*angles).pvalue > ALPHA
    assert stats.ks_2samp(np.asarray(offsets), np.asarray(reference.offsets)).pvalue > ALPHA


def test_superposed_independent_processes_have_the_sum_of_the_intensities():
    parts = sample_each([HyperplaneProcess(WINDOW, 2.0), HyperplaneProcess(WINDOW, 5.0)], seed=0)
    assert_distributed_like(pool(parts), PROCESS)


def test_parts_of_a_split_process_superpose_to_the_process():
    parts = split(PROCESS, SHARES)
    assert [part.intensity for part in parts] == pytest.approx([1.4, 3.5, 2.1])
    assert_distributed_like(pool(sample_each(parts, seed=1)), PROCESS)


def test_thinned_parts_are_independent_processes_with_their_share_of_the_intensity():
    realisations = sample_on_host(PROCESS, jax.random.key(2), N_REALISATIONS)
    marked = Hyperplanes(realisations.hyperplanes.normals, realisations.owners)  # same key and size: the same deal
    key = jax.random.key(3)
    parts = [
        Realisations(to_numpy(part), np.asarray(owners.offsets), N_REALISATIONS)
        for part, owners in zip(thin(key, realisations.hyperplanes, SHARES), thin(key, marked, SHARES), strict=True)
    ]
    for part, process in zip(parts, split(PROCESS, SHARES), strict=True):
        assert_distributed_like(part, process)
    for first, second in [(0, 1), (0, 2), (1, 2)]:
        assert independence_p_value(parts[first].counts(), parts[second].counts()) > ALPHA


def test_thinning_loses_no_hyperplane_and_doubles_none():
    drawn = isotropic(4, 1000, 3, 2.0)
    together = superpose(thin(jax.random.key(5), drawn, SHARES))
    order, expected = np.argsort(together.offsets), np.argsort(drawn.offsets)
    np.testing.assert_allclose(np.asarray(together.offsets)[order], drawn.offsets[expected], rtol=1e-6)
    np.testing.assert_allclose(np.asarray(together.normals)[order], drawn.normals[expected], rtol=1e-6)


def test_a_restricted_process_is_the_process_on_the_smaller_window():
    larger = sample_on_host(HyperplaneProcess(Ball(2.0, 2), 7.0), jax.random.key(6), N_REALISATIONS)
    inside = np.asarray(hits(larger.hyperplanes, WINDOW))
    restricted = Realisations(to_numpy(restrict(larger.hyperplanes, WINDOW)), larger.owners[inside], N_REALISATIONS)
    assert len(restricted.hyperplanes.offsets) < len(larger.hyperplanes.offsets)
    assert_distributed_like(restricted, PROCESS)


def test_restrictions_one_after_the_other_are_the_last_one():
    drawn = isotropic(7, 1000, 2, 2.0)
    cell = PARTITIONS["sectors"][1]
    twice, once = restrict(restrict(drawn, WINDOW), INNER, (cell,)), restrict(drawn, INNER, (cell,))
    np.testing.assert_array_equal(twice.offsets, once.offsets)
    assert hits(once, INNER).all()
    assert lies_in(once, (cell,)).all()


@pytest.mark.parametrize("name", PARTITIONS)
def test_processes_on_the_cells_of_a_partition_superpose_to_the_process(name):
    parts = split_domain(PROCESS, PARTITIONS[name])
    assert sum(part.mean_count for part in parts) == pytest.approx(PROCESS.mean_count, rel=1e-3)
    samples = sample_each(parts, seed=8)
    assert_distributed_like(samples[1], parts[1])
    assert_distributed_like(pool(samples), PROCESS)


def test_a_domain_can_be_split_again():
    parts = split_domain(PROCESS, PARTITIONS["shells"])
    finer = [cell for part in parts for cell in split_domain(part, PARTITIONS["sectors"])]
    assert len(finer) == 9
    assert_distributed_like(pool(sample_each(finer, seed=9)), PROCESS)


def test_processes_on_disjoint_cells_of_input_space_superpose_to_too_many_hyperplanes():
    halves = [Box([-0.5, -1], [0.25, 1.5]), Box([0.25, -1], [1, 1.5])]
    parts = [HyperplaneProcess(half, PROCESS.intensity) for half in halves]
    assert sum(part.mean_count for part in parts) > 1.5 * PROCESS.mean_count
    assert poisson_p_value(pool(sample_each(parts, seed=10)).counts(), PROCESS.mean_count) < 1e-9


def test_superpose_joins_many_sets_at_once():
    many = Hyperplanes(*(field.reshape(6, 4, *field.shape[1:]) for field in isotropic(0, 24, 3)))
    joined = superpose([many, many])
    assert joined.normals.shape == (6, 8, 3)
    np.testing.assert_array_equal(joined.offsets[:, 4:], many.offsets.astype(np.float32))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: split(PROCESS, [0.5, 0.4]), r"shares must be positive and sum to 1, got \[0.5, 0.4\]"),
        (lambda: split(PROCESS, [1.5, -0.5]), r"shares must be positive and sum to 1, got \[1.5, -0.5\]"),
        (lambda: split(PROCESS, []), r"shares must be positive and sum to 1, got \[\]"),
        (lambda: superpose([]), "realisations must hold at least one set of hyperplanes, got none"),
        (
            lambda: restrict(Hyperplanes(jnp.ones((2, 3, 2)), jnp.ones((2, 3))), WINDOW),
            r"normals must have shape \(m, p\) to pick from one set, got \(2, 3, 2\)",
        ),
    ],
)
def test_errors_say_what_was_expected_and_got(make, message):
    with pytest.raises(ValueError, match=message):
        make()

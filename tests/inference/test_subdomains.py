import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperplanes.inference.subdomains import FEWEST_ROWS, Subdomains, balanced_subdomains, even_subdomains

KINDS = {"balanced": balanced_subdomains, "even": even_subdomains}


def rows_of(seed, n_rows=400, n_columns=3):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns)) * np.array([1.0, 3.0, 0.1])[:n_columns]


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(2, 300), st.booleans())
def test_every_row_is_in_one_subdomain_and_none_is_tiny(kind, seed, n_parts, n_rows, rounded):
    inputs = rows_of(seed, n_rows)
    inputs = np.round(inputs) if rounded else inputs
    subdomains = KINDS[kind](inputs, n_parts)
    counts = np.bincount(subdomains.part_of(inputs), minlength=subdomains.n_parts)
    assert len(counts) == subdomains.n_parts <= n_parts
    assert subdomains.n_parts == 1 or counts.min() >= FEWEST_ROWS


@given(st.integers(0, 10**6), st.integers(1, 16))
def test_balanced_subdomains_have_about_as_many_rows_each(seed, n_parts):
    inputs = rows_of(seed, n_rows=1000)
    subdomains = balanced_subdomains(inputs, n_parts)
    counts = np.bincount(subdomains.part_of(inputs))
    assert subdomains.n_parts == n_parts
    assert counts.max() - counts.min() <= 5


@given(st.integers(0, 10**6), st.integers(2, 9), st.floats(0.01, 0.2))
def test_rare_marks_do_not_unbalance(seed, n_parts, rarity):
    marks = np.random.default_rng(seed).uniform(size=(1000, 4)) < rarity
    inputs = np.column_stack([marks, rows_of(seed, 1000)])
    counts = np.bincount(balanced_subdomains(inputs, n_parts).part_of(inputs))
    assert len(counts) == n_parts
    assert counts.max() - counts.min() <= 5


def test_sides_of_different_size_are_cut_into_different_numbers_of_parts():
    inputs = np.repeat([0.0, 1.0], [750, 250])[:, None] + np.array([0, 1e-3]) * np.arange(1000)[:, None] % 1
    counts = np.bincount(balanced_subdomains(inputs[:, :1], 2).part_of(inputs))
    assert counts.tolist() == [750, 250]


def test_the_column_that_has_stayed_widest_is_cut_whatever_its_units():
    inputs = np.random.default_rng(0).uniform(size=(400, 2)) * np.array([1.0, 1e6])
    first, *then = balanced_subdomains(inputs, 4).columns.tolist()
    assert then == [1 - first, 1 - first]


def test_even_subdomains_cut_the_first_column_into_equal_lengths():
    inputs = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2))
    inputs[:2, 0] = -1, 1
    subdomains = even_subdomains(inputs, 4)
    np.testing.assert_allclose(subdomains.thresholds, [-0.5, 0, 0.5])
    np.testing.assert_array_equal(subdomains.part_of(inputs), np.minimum((inputs[:, 0] + 1) // 0.5, 3))


def test_rows_far_outside_belong_to_the_subdomain_at_the_edge():
    inputs = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2))
    subdomains = even_subdomains(inputs, 4)
    assert subdomains.part_of(np.array([[-1e9, 0.0], [1e9, 0.0]])).tolist() == [0, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_all_alike_are_not_cut(kind):
    subdomains = KINDS[kind](np.ones((100, 2)), 4)
    assert subdomains.n_parts == 1
    assert subdomains.part_of(np.zeros((3, 2))).tolist() == [0, 0, 0]


def test_a_row_on_the_threshold_belongs_to_the_first_side():
    subdomains = Subdomains(np.array([0]), np.array([0.5]), np.array([[~0, ~1]]), np.zeros(1))
    assert subdomains.part_of(np.array([[0.5], [np.nextafter(0.5, 1)]])).tolist() == [0, 1]


def test_neighbouring_numbers_can_be_cut():
    low, high = 1.0, np.nextafter(1.0, 2)
    inputs = np.repeat([low, high], FEWEST_ROWS)[:, None]
    subdomains = balanced_subdomains(inputs, 2)
    np.testing.assert_array_equal(subdomains.part_of(inputs), np.repeat([0, 1], FEWEST_ROWS))


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(0, 10**6), st.integers(1, 9))
def test_boxes_hold_the_rows_of_their_subdomain_and_no_others(kind, seed, n_parts):
    inputs = rows_of(seed, 300)
    subdomains = KINDS[kind](inputs, n_parts)
    low, high = subdomains.boxes(inputs.min(axis=0), inputs.max(axis=0)).swapaxes(0, 1)[:, :, None]
    inside = np.all((inputs >= low) & (inputs <= high), axis=2)
    np.testing.assert_array_equal(inside.argmax(axis=0), subdomains.part_of(inputs))
    assert (inside.sum(axis=0) == 1).all()  # no row lies on a cut


def test_a_box_beyond_a_cut_is_empty():
    subdomains = Subdomains(np.array([0]), np.array([0.5]), np.array([[~0, ~1]]), np.zeros(1))
    boxes = subdomains.boxes(np.array([0.0]), np.array([0.25]))
    assert boxes.tolist() == [[[0.0], [0.25]], [[0.5], [0.25]]]


def corners(inputs):
    return inputs.min(axis=0), inputs.max(axis=0)


def test_shares_add_up_to_one_and_are_those_of_borders_drawn_at_random(seed):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(300, 2))
    subdomains = balanced_subdomains(inputs, 4).with_margins(0.4, *corners(inputs))
    shares = np.zeros((300, 4))
    for number, (rows, of_rows) in subdomains.members(inputs).items():
        shares[rows, number] = of_rows
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.sum(shares.max(axis=1) < 1) > 50
    n_draws = 4000
    drawn = np.zeros((300, 4))
    for _ in range(n_draws):
        drawn[np.arange(300), subdomains.part_of(inputs, subdomains.draw_borders(rng))] += 1 / n_draws
    assert np.abs(drawn - shares).max() < 5 * 0.5 / np.sqrt(n_draws)


def test_a_margin_is_a_share_of_the_narrowest_subdomain_beside_the_cut():
    inputs = np.append(np.linspace(0, 1, 40), np.linspace(1.1, 5, 40))[:, None]
    subdomains = balanced_subdomains(inputs, 2).with_margins(0.1, *corners(inputs))
    np.testing.assert_allclose(subdomains.margins, 0.1 * subdomains.thresholds)


def test_a_narrow_subdomain_elsewhere_does_not_matter(rng):
    inputs = np.append(rng.uniform(0, 1, size=200), rng.uniform(5, 5 + 1e-4, size=200))[:, None]
    subdomains = balanced_subdomains(inputs, 8).with_margins(0.3, *corners(inputs))
    inner = np.sort(np.append(subdomains.thresholds, corners(inputs)))
    for threshold, margin in zip(subdomains.thresholds, subdomains.margins, strict=True):
        k = np.searchsorted(inner, threshold)
        np.testing.assert_allclose(margin, 0.3 * np.diff(inner)[k - 1 : k + 1].min())


def test_far_from_all_borders_a_row_is_in_one_subdomain(seed):
    inputs = np.random.default_rng(seed).normal(size=(200, 1))
    subdomains = balanced_subdomains(inputs, 2).with_margins(0.2, *corners(inputs))
    far = np.abs(inputs[:, 0] - subdomains.thresholds[0]) > subdomains.margins[0]
    for number, (rows, shares) in subdomains.members(inputs[far]).items():
        np.testing.assert_array_equal(shares, 1)
        np.testing.assert_array_equal(subdomains.part_of(inputs[far][rows]), number)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_widest_range_that_float64_holds_has_margins_too(share):
    inputs = np.linspace(-0.8, 0.8, 60)[:, None] * np.finfo(np.float64).max
    subdomains = balanced_subdomains(inputs, 2).with_margins(share, *corners(inputs))
    assert np.isfinite(subdomains.margins).all()
    assert sum(shares.sum() for _, shares in subdomains.members(inputs).values()) == pytest.approx(60)


def test_without_rows_no_subdomain_has_members():
    assert balanced_subdomains(np.arange(50.0)[:, None], 2).members(np.zeros((0, 1))) == {}

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from joint import COMPILER_OPTIONS
from scipy import stats

from hyperplanes.model import Data, Particle, Prior, is_present, make_data, paper_prior
from hyperplanes.moves import candidates
from hyperplanes.moves.candidates import N_GUESSES, Candidates, Guesses
from hyperplanes.moves.workspace import Workspace, open_workspace, vacate
from hyperplanes.process import Hyperplanes, from_white, support, uniforms
from p_values import LEVEL, mean_p_value

N_DRAWS = 40_000
PRIOR = replace(paper_prior(10), lowest_offset=-1.0)


def draw_directions(seed: int, n_columns: int, n_draws: int) -> np.ndarray:
    """Cosines with the guess, as candidates are drawn around it."""
    noise = np.random.default_rng(seed).normal(size=(n_draws, n_columns))
    around = candidates.SPREAD / np.sqrt(n_columns) * noise + np.eye(n_columns)[0]
    return around[:, 0] / np.linalg.norm(around, axis=1)


@pytest.mark.parametrize("n_columns", [2, 3, 20, 200])
def test_table_of_the_directional_density_integrates_to_the_distribution_of_the_draws(n_columns, seed):
    cosines, log_density = candidates.directional_density(n_columns)
    # A uniform direction has (1 + cosine) / 2 ~ Beta((p - 1) / 2, (p - 1) / 2).
    angles = np.linspace(0, np.pi, 20001)
    log_uniform = (n_columns - 2) * np.log(np.maximum(np.sin(angles), 1e-300))
    weights = np.exp(log_uniform - log_uniform.max())
    weights /= weights.sum()
    density = weights * np.exp(np.interp(np.cos(angles), cosines, log_density))
    np.testing.assert_allclose(density.sum(), 1, rtol=2e-3)
    below = np.cumsum(density[::-1]) / density.sum()
    draws = draw_directions(seed, n_columns, 4000)
    assert stats.kstest(draws, lambda at: np.interp(at, np.cos(angles[::-1]), below)).pvalue > LEVEL


def test_in_one_dimension_the_directional_density_is_that_of_two_points():
    cosines, log_density = candidates.directional_density(1)
    same = stats.norm.cdf(1 / candidates.SPREAD)
    np.testing.assert_allclose(np.exp(log_density[[0, -1]]), [2 * (1 - same), 2 * same], rtol=1e-4)
    assert list(cosines[[0, -1]]) == [-1, 1]


def test_a_table_twice_as_fine_changes_nothing(monkeypatch):
    fine = {}
    for factor in (1, 2):
        monkeypatch.setattr(candidates, "N_LENGTHS", 4000 * factor)
        fine[factor] = candidates.directional_density.__wrapped__(7)[1]
    np.testing.assert_allclose(fine[1], fine[2], atol=1e-6)


def make_tail_problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A unit in ten dimensions that fires on one row in fifty."""
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(-1, 1, size=(3000, 10))
    normal = rng.normal(size=10)
    normal /= np.linalg.norm(normal)
    response = 2 * np.maximum(inputs @ normal - 1.2, 0) + 0.1 * rng.normal(size=3000)
    return inputs, response, normal


def without_it(inputs: np.ndarray, response: np.ndarray, n_units: int) -> tuple[Workspace, Data]:
    """A particle whose units touch no row."""
    data = make_data(inputs, response)
    particle = Particle(
        normals=jnp.asarray(np.eye(10)[:n_units], jnp.float32),
        offsets=jnp.full(n_units, 3.0, jnp.float32),
        coefficients=jnp.zeros(n_units + 1),
        noise_variance=jnp.array(0.01),
        coefficient_variance=jnp.array(10.0),
        intensity=jnp.array(1.0 * n_units),
        attends=jnp.ones((n_units, 10), dtype=bool),
    )
    return open_workspace(particle, data), data


@pytest.mark.parametrize("lowest", [0.0, -1.0])
def test_guesses_come_near_a_unit_that_is_missing(lowest, seed):
    inputs, response, normal = make_tail_problem(seed)
    work, data = without_it(inputs, response, 2)
    prior = replace(PRIOR, lowest_offset=lowest)
    vacancy = vacate(jnp.array(0), work, jnp.array(1.0), data, prior)
    draws = uniforms(jax.random.key(seed), (2, N_GUESSES))
    slopes, low, high = candidates._guess(draws, vacancy, jnp.full(10, 0.4), data, prior)
    random = from_white(jax.random.normal(jax.random.key(seed), (500, 11)), prior.reach).normals
    guessed = slopes / jnp.linalg.norm(slopes, axis=1, keepdims=True)
    assert np.max(guessed @ normal) > np.max(random @ normal)
    assert np.all((low >= lowest) & (low < high) & (high <= 1))


def test_guesses_keep_to_the_columns_that_hyperplanes_attend_to(seed):
    """Of two columns with the same slope, the one that hardly any hyperplane attends to counts for little."""
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(-1, 1, size=(2000, 10))
    work, data = without_it(inputs, np.maximum(inputs[:, 0] + inputs[:, 1], 0), 2)
    vacancy = vacate(jnp.array(0), work, jnp.array(1.0), data, PRIOR)
    prior, shares = replace(PRIOR, inattention=0.05), jnp.full(10, 0.001).at[0].set(0.9)
    guesses = candidates._guess(uniforms(jax.random.key(seed), (2, N_GUESSES)), vacancy, shares, data, prior)
    usual = np.asarray(guesses.slopes) * (shares + (1 - shares) * 0.05**2)
    assert np.median(np.abs(usual[:, 0]) / np.linalg.norm(usual, axis=1)) > 0.95


@partial(jax.jit, static_argnames="unknown_number", compiler_options=COMPILER_OPTIONS)
def choose_often(
    key: jax.Array, work: Workspace, data: Data, prior: Prior, unknown_number: bool = False
) -> tuple[Workspace, jax.Array]:
    draws = uniforms(key, (20, candidates.candidate_draws(10)))
    choose = partial(candidates.choose_candidate, unknown_number=unknown_number)
    return jax.vmap(lambda one: choose(one, work, jnp.array(1.0), data, prior))(draws)


def test_a_missing_unit_is_chosen_at_once(seed):
    inputs, response, normal = make_tail_problem(seed)
    work, data = without_it(inputs, response, 1)
    chosen, moved = choose_often(jax.random.key(seed), work, data, PRIOR)
    assert np.mean(chosen.particle.normals[:, 0] @ normal > 0.4) > 0.5
    np.testing.assert_array_equal(moved, chosen.particle.offsets[:, 0] != 3.0)


@pytest.mark.parametrize("missing", [True, False])
def test_an_empty_place_is_taken_where_a_unit_is_missing_and_stays_empty_where_none_is(missing, seed):
    inputs, response, normal = make_tail_problem(seed)
    noise = 0.1 * np.random.default_rng(seed).normal(size=len(response))
    work, data = without_it(inputs, response if missing else noise, 1)
    nothing = work.particle._replace(normals=jnp.zeros_like(work.particle.normals), intensity=jnp.array(0.1))
    work = open_workspace(nothing, data)
    chosen, moved = choose_often(jax.random.key(seed), work, data, PRIOR, unknown_number=True)
    present = np.asarray(is_present(chosen.particle.normals))[:, 0]
    np.testing.assert_array_equal(moved, present)
    assert np.mean(present) > 0.9 if missing else np.mean(present) < 0.2
    found = np.asarray(chosen.particle.normals)[present, 0] @ normal
    assert not missing or np.mean(found > 0.4) > 0.5


def test_a_unit_without_use_leaves_its_place_empty(seed):
    inputs, _, _ = make_tail_problem(seed)
    work, data = without_it(inputs, 0.1 * np.random.default_rng(seed).normal(size=len(inputs)), 1)
    rare = work._replace(particle=work.particle._replace(intensity=jnp.array(1e-6)))
    chosen, moved = choose_often(jax.random.key(seed), rare, data, PRIOR, unknown_number=True)
    assert not np.any(is_present(chosen.particle.normals))
    assert not np.any(chosen.particle.attends)
    assert np.all(np.asarray(moved) == 1)


@pytest.mark.parametrize("column", [2, 7])
def test_columns_on_which_the_residuals_depend_are_preferred(column, seed):
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(-1, 1, size=(2000, 10))
    work, data = without_it(inputs, np.maximum(inputs[:, column], 0) + 0.1 * rng.normal(size=2000), 1)
    vacancy = vacate(jnp.array(0), work, jnp.array(1.0), data, PRIOR)
    found = candidates._screen(jnp.array(0.5), vacancy, data, PRIOR)
    assert np.sum(found) == pytest.approx(1)
    assert np.all(found >= 0.05)
    assert found[column] > 0.45


def test_without_residuals_no_column_is_preferred(seed):
    work, data = without_it(np.random.default_rng(seed).uniform(-1, 1, size=(50, 10)), np.zeros(50), 1)
    vacancy = vacate(jnp.array(0), work, jnp.array(1.0), data, PRIOR)
    np.testing.assert_allclose(candidates._screen(jnp.array(0.3), vacancy, data, PRIOR), 0.1, rtol=1e-12)


class Proposal(NamedTuple):
    """What candidates are drawn from, without any symmetry."""

    guesses: Guesses
    columns: jax.Array
    shares: jax.Array
    prior: Prior

    def draw(self, key: jax.Array) -> Candidates:
        return candidates._draw(uniforms(key, (N_DRAWS, 2 * len(self.shares) + 4)), *self)

    def draw_from_prior(self, rng: np.random.Generator) -> Candidates:
        attends = rng.uniform(size=(N_DRAWS, len(self.shares))) < self.shares
        white = jnp.asarray(rng.normal(size=(N_DRAWS, len(self.shares) + 1)))
        scales = np.where(attends, 1.0, self.prior.inattention)
        planes = from_white(white, self.prior.reach, self.prior.lowest_offset, scales)
        return Candidates(planes, jnp.asarray(attends))

    def density(self, drawn: Candidates) -> np.ndarray:
        """Over that of the prior."""
        return np.exp(candidates._log_density(drawn, *self))

    def summaries(self, drawn: Candidates) -> np.ndarray:
        """Functions (n_draws, n_functions) of candidates."""
        (normals, offsets), attends = drawn
        quantiles, (first, last) = offsets / support(normals, self.prior.reach), normals[:, [0, -1]].T
        columns = [quantiles, quantiles**2, attends[:, 0], attends.sum(axis=1), first, first**2]
        columns += [first * quantiles, first * last, attends[:, -1] * last**2]
        return np.column_stack([np.asarray(column, float) for column in columns])


def make_proposal(rng: np.random.Generator, n_columns: int) -> Proposal:
    low = rng.uniform(-1, 0.5, size=N_GUESSES)
    high = low + rng.uniform(0.1, 1 - low)
    slopes = rng.normal(size=(N_GUESSES, n_columns))
    reach = rng.normal(size=(n_columns, n_columns)) + 2 * np.eye(n_columns)
    columns, shares = rng.dirichlet(np.full(n_columns, 3.0)), rng.uniform(0.2, 0.8, size=n_columns)
    guesses = Guesses(*(jnp.asarray(part) for part in (slopes, low, high)))
    prior = replace(PRIOR, reach=jnp.asarray(reach), inattention=0.3)
    return Proposal(guesses, jnp.asarray(columns), jnp.asarray(shares), prior)


@pytest.mark.parametrize("n_columns", [1, 2, 5])
def test_density_of_candidates_over_that_of_the_prior_integrates_to_one(n_columns, rng):
    proposal = make_proposal(rng, n_columns)
    ratios = proposal.density(proposal.draw_from_prior(rng))
    assert mean_p_value(ratios, 1.0) > LEVEL
    assert ratios.std() > 0.1


@pytest.mark.parametrize("n_columns", [1, 2, 5])
def test_candidates_weighed_by_their_density_are_draws_from_the_prior(n_columns, key, rng):
    proposal = make_proposal(rng, n_columns)
    drawn = proposal.draw(key)
    weights = 1 / proposal.density(drawn)
    assert np.all((weights > 0) & (weights <= 3 * (1 + 1e-12)))  # one candidate in three is from the prior
    assert mean_p_value(weights, 1.0) > LEVEL
    found = weights[:, None] * proposal.summaries(drawn)
    expected = proposal.summaries(proposal.draw_from_prior(rng))
    gaps = found.mean(axis=0) - expected.mean(axis=0)
    p_values = 2 * stats.norm.sf(np.abs(gaps) / np.sqrt((found.var(axis=0) + expected.var(axis=0)) / N_DRAWS))
    assert p_values.min() * len(p_values) > LEVEL


def test_candidates_attend_as_the_prior_does_or_to_one_or_two_columns(key, rng):
    proposal = make_proposal(rng, 3)
    attends = np.asarray(proposal.draw(key).attends)
    choices = (np.arange(8)[:, None] >> np.arange(3)) & 1
    by_prior = np.prod(np.where(choices, proposal.shares, 1 - proposal.shares), axis=1)
    few, columns = np.zeros(8), np.asarray(proposal.columns)
    for first in range(3):
        few[1 << first] += 0.5 * columns[first]  # half of them draw one column, half draw two that may be the same
        for second in range(3):
            few[1 << first | 1 << second] += 0.5 * columns[first] * columns[second]
    counts = np.bincount(attends @ [1, 2, 4], minlength=8)
    assert stats.chisquare(counts, N_DRAWS * (2 * by_prior + few) / 3).pvalue > LEVEL


def test_candidates_stay_within_the_window(key, rng):
    proposal = make_proposal(rng, 3)
    normals, offsets = proposal.draw(key).planes
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, rtol=1e-10)
    assert np.all(np.abs(offsets) <= support(normals, proposal.prior.reach))


def test_a_candidate_outside_the_range_of_every_guess_has_the_density_of_the_rest(rng):
    proposal = make_proposal(rng, 3)
    narrow = proposal.guesses._replace(low=jnp.full(N_GUESSES, 0.5), high=jnp.full(N_GUESSES, 0.6))
    proposal = proposal._replace(guesses=narrow)
    normal, columns = jnp.array([[0.6, 0.0, 0.8]]), np.asarray(proposal.columns)
    plane = Hyperplanes(normal, 0.2 * support(normal, proposal.prior.reach))
    cases = {
        (True, True, True): 0.0,
        (False, True, False): 0.5 * columns[1] + 0.5 * columns[1] ** 2,
        (True, False, True): columns[0] * columns[2],
    }
    for attends, few in cases.items():
        share = np.prod(np.where(attends, proposal.shares, 1 - proposal.shares))
        found = proposal.density(Candidates(plane, jnp.array([attends])))
        np.testing.assert_allclose(found, [(1 + few / share) / 3], rtol=1e-10)

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from hyperplanes.model import Data, Particle, Prior, make_data
from hyperplanes.moves import candidates, make_state
from hyperplanes.moves.workspace import Workspace, open_workspace, vacate
from hyperplanes.process import from_white, uniforms
from p_values import LEVEL

PRIOR = Prior(reach=1.3)


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


def without_it(inputs: np.ndarray, response: np.ndarray, n_units: int) -> tuple[Workspace, Data, Prior]:
    """A particle whose units touch no row."""
    data, prior = make_data(inputs, response), Prior().resolved(10)
    normals, offsets = jnp.asarray(np.eye(10)[:n_units], jnp.float32), jnp.full(n_units, 3.0, jnp.float32)
    particle = Particle(normals, offsets, jnp.zeros(n_units + 1), jnp.array(0.01))
    return open_workspace(make_state(particle, data), data), data, prior


def test_guesses_come_near_a_unit_that_is_missing(seed):
    inputs, response, normal = make_tail_problem(seed)
    work, data, prior = without_it(inputs, response, 2)
    vacancy = vacate(jnp.array(0), work, jnp.array(1.0), data, prior)
    draws = uniforms(jax.random.key(seed), (2, candidates.N_GUESSES))
    guesses = candidates._guess(draws, vacancy, data, prior)
    random = from_white(jax.random.normal(jax.random.key(seed), (500, 11)), prior.reach).normals
    assert np.max(guesses.normals @ normal) > np.max(random @ normal)
    assert np.all((guesses.low >= 0) & (guesses.low < guesses.high) & (guesses.high <= prior.reach))


def test_a_missing_unit_is_chosen_at_once(seed):
    inputs, response, normal = make_tail_problem(seed)
    work, data, prior = without_it(inputs, response, 1)
    draws = uniforms(jax.random.key(seed), (20, candidates.candidate_draws(10)))
    chosen, _ = jax.vmap(lambda one: candidates.choose_candidate(one, work, jnp.array(1.0), data, prior))(draws)
    assert np.mean(chosen.particle.normals[:, 0] @ normal > 0.4) > 0.5

import jax
import numpy as np
import pytest
from targets import GaussianTarget, UnitTarget

from hyperplanes import smc


def errors_of(target, schedule: smc.Schedule, n_particles: int, seed: int) -> tuple[float, float, float]:
    """Error of the log evidence of a run, its variance by the genealogy and its squared bias by the lags."""
    particles = target.draw_prior(np.random.default_rng(seed), n_particles)
    run = smc.anneal(jax.random.key(seed), smc.begin(particles), target.path, target.move, schedule=schedule)
    populations, steps = zip(*run, strict=True)
    resampled = [step for step in steps[:-1] if step.ancestors is not None]
    weights = [step.weights for step in [*resampled, steps[-1]]]
    variance = smc.evidence_variance(weights, [step.ancestors for step in resampled])
    squared = smc.squared_bias([step.lag for step in steps], [step.lag_variance for step in steps])
    return populations[-1].log_evidence - target.log_evidence(), variance, squared


def uniform(n_particles: int) -> np.ndarray:
    return np.full(n_particles, 1 / n_particles)


@pytest.mark.parametrize("n_taken", [0, 1, 40])
@pytest.mark.parametrize("memory", [0.0, 0.6])
def test_a_lag_is_missing_from_the_steps_in_which_particles_have_not_made_up_for_it(memory, n_taken, rng):
    """Particles at -shift move towards 0; log increments are what they are."""
    shift, n_particles, found = 0.7, 400, []
    for _ in range(300):
        before = rng.normal(size=n_particles) - shift
        after = memory * before + np.sqrt(1 - memory**2) * rng.normal(size=n_particles)
        found.append(smc.measure_lag(before, after, uniform(n_particles), n_taken))
    values, variances = np.array(found).T
    n_missing = 0.5 + sum(memory**k for k in range(1, n_taken + 1))
    assert values.mean() == pytest.approx(n_missing * (1 - memory) * shift, rel=0.05)
    if memory == 0:  # otherwise the chance of the particles before the moves has a part in it
        np.testing.assert_allclose(variances.mean(), n_missing**2 / n_particles, rtol=0.05)


def test_the_variance_is_that_over_repeated_moves_of_the_same_particles(rng):
    before, memory, n_particles, found = rng.normal(size=300), 0.6, 300, []
    weights = rng.dirichlet(np.full(n_particles, 2.0))
    for _ in range(800):
        after = memory * before + np.sqrt(1 - memory**2) * rng.normal(size=n_particles)
        found.append(smc.measure_lag(before, after, weights, 0))
    values, variances = np.array(found).T
    assert values.std() == pytest.approx(np.sqrt(variances.mean()), rel=0.1)


def test_particles_that_do_not_move_tell_nothing(rng):
    values = rng.normal(size=30)
    lag, variance = smc.measure_lag(values, values.copy(), uniform(30), 7)
    assert lag == 0
    assert variance == pytest.approx(0.0, abs=1e-12)


def test_particles_that_are_all_the_same_remember_nothing(rng):
    after = rng.normal(size=30)
    lag, variance = smc.measure_lag(np.full(30, -2.0), after, uniform(30), 7)
    assert lag == pytest.approx(0.5 * (after.mean() + 2))
    assert variance == pytest.approx(0.25 * after.var() / 30)


def test_a_weight_of_two_counts_like_two_particles_with_the_same_moves(rng):
    before, after = rng.normal(size=(2, 20))
    often = rng.integers(1, 3, size=20)
    lag, _ = smc.measure_lag(before, after, often / often.sum(), 5)
    repeated, _ = smc.measure_lag(np.repeat(before, often), np.repeat(after, often), uniform(often.sum()), 5)
    assert lag == pytest.approx(repeated)


@pytest.mark.parametrize("lost", [np.nan, -np.inf])
def test_particles_without_a_likelihood_do_not_count(lost, rng):
    before, after = rng.normal(size=(2, 20))
    expected = smc.measure_lag(before, after, uniform(20), 3)
    some_before, some_after = np.append(before, [lost, 0.0]), np.append(after, [0.0, lost])
    np.testing.assert_allclose(smc.measure_lag(some_before, some_after, uniform(22), 3), expected)
    assert smc.measure_lag(np.full(4, lost), np.zeros(4), uniform(4), 3) == (0.0, 0.0)


def test_the_squared_bias_is_that_of_the_sum_beyond_its_variance():
    assert smc.squared_bias([1.0, 2.0, -0.5], [0.25, 0.5, 0.25]) == pytest.approx(2.5**2 - 1)
    assert smc.squared_bias([1.0, -0.5], [0.25, 0.5]) == 0
    assert smc.squared_bias([-2.0, 0.5], [0.1, 0.1]) == 0
    assert smc.squared_bias([], []) == 0


@pytest.mark.parametrize("schedule", [smc.FixedSchedule(30), smc.AdaptiveSchedule(0.65)], ids=["fixed", "adaptive"])
@pytest.mark.parametrize(("log_odds", "rate"), [(4.0, 0.3), (4.0, 0.2), (5.0, 0.2)])
def test_the_error_of_particles_that_find_units_late_is_reported_within_a_factor_of_two(log_odds, rate, schedule, seed):
    runs = [errors_of(UnitTarget(log_odds, rate), schedule, 200, seed + repeat) for repeat in range(60)]
    errors, variances, squared = np.array(runs).T
    assert errors.mean() < -0.2  # they are late
    found = np.sqrt(np.mean(errors**2))
    assert 0.5 < np.sqrt(np.mean(variances + squared)) / found < 2
    assert 0.5 < np.mean(np.sqrt(variances + squared)) / found < 2
    if rate < 0.3:  # what the genealogy alone says
        assert np.sqrt(variances.mean()) < 0.5 * found


@pytest.mark.parametrize("memory", [0.0, 0.9, 0.99])
def test_nothing_is_reported_of_particles_that_do_not_lag(memory, seed):
    runs = [errors_of(GaussianTarget(memory), smc.FixedSchedule(8), 150, seed + repeat) for repeat in range(80)]
    errors, variances, squared = np.array(runs).T
    assert 0.5 < np.sqrt(np.mean(variances + squared)) / errors.std() < 2
    assert squared.mean() < 0.5 * variances.mean()

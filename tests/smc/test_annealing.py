from itertools import islice

import jax
import numpy as np
import pytest
from scipy import stats
from targets import CountTarget, GaussianTarget

from hyperplanes import smc
from hyperplanes.smc import schedules
from p_values import LEVEL, mean_p_value


def run(seed: int, target, n_particles: int, **options) -> tuple[smc.Population, list[smc.Step]]:
    particles = target.draw_prior(np.random.default_rng(seed), n_particles)
    options = {"schedule": smc.AdaptiveSchedule()} | options
    taken = list(smc.anneal(jax.random.key(seed), smc.begin(particles), target.path, target.move, **options))
    return taken[-1][0], [info for _, info in taken]


def reported_error(steps: list[smc.Step]) -> float:
    resampled = [step for step in steps[:-1] if step.ancestors is not None]
    weights = [step.weights for step in [*resampled, steps[-1]]]
    return float(np.sqrt(smc.evidence_variance(weights, [step.ancestors for step in resampled])))


@pytest.mark.parametrize("scheme", smc.RESAMPLERS)
@pytest.mark.parametrize("resample_below", [0.5, 1.0])
def test_a_fixed_schedule_gives_an_unbiased_evidence(scheme, resample_below, seed):
    target = GaussianTarget(memory=0.7)
    options = {"schedule": smc.FixedSchedule(5), "scheme": scheme, "resample_below": resample_below}
    found = [run(seed + repeat, target, 20, **options)[0].log_evidence for repeat in range(250)]
    ratios = np.exp(np.array(found) - target.log_evidence())
    assert ratios.std() < 3  # the test has power only where the ratios do not scatter wildly
    assert mean_p_value(ratios, 1.0) > LEVEL


def test_a_fixed_schedule_gives_an_unbiased_evidence_of_a_skewed_target(seed):
    target = CountTarget()
    found = [run(seed + repeat, target, 15, schedule=smc.FixedSchedule(4))[0].log_evidence for repeat in range(250)]
    assert mean_p_value(np.exp(np.array(found) - target.log_evidence()), 1.0) > LEVEL


@pytest.mark.parametrize("scheme", smc.RESAMPLERS)
def test_an_adaptive_schedule_finds_the_evidence_and_moments_of_a_gaussian(scheme, seed):
    target = GaussianTarget(memory=0.5)
    schedule = smc.AdaptiveSchedule(0.6)
    population, steps = run(seed, target, 4000, schedule=schedule, scheme=scheme, resample_below=0.7)
    error = reported_error(steps)
    assert 0 < error < 0.1
    assert abs(population.log_evidence - target.log_evidence()) < 4 * error
    particles, weights = np.asarray(population.particles), np.exp(population.log_weights)
    mean, covariance = target.moments(1.0)
    centred = np.linalg.solve(np.linalg.cholesky(covariance), (particles - mean).T)
    tolerance = 5 * np.sqrt((weights**2).sum())
    np.testing.assert_allclose(centred @ weights, 0, atol=tolerance)
    np.testing.assert_allclose((centred * weights) @ centred.T, np.eye(2), atol=2 * tolerance)


def test_an_adaptive_schedule_finds_the_evidence_and_mean_of_a_skewed_target(seed):
    target = CountTarget()
    population, steps = run(seed, target, 4000, schedule=smc.AdaptiveSchedule(0.6), resample_below=0.7)
    assert abs(population.log_evidence - target.log_evidence()) < 4 * reported_error(steps)
    particles, weights = np.asarray(population.particles), np.exp(population.log_weights)
    for power in (1, 2, 3):
        expected = target.integral(lambda x, power=power: x**power) / target.integral()
        spread = np.sqrt(weights @ (particles**power - expected) ** 2 * (weights**2).sum())
        assert abs(weights @ particles**power - expected) < 5 * spread


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_an_adaptive_schedule_never_stalls(share, seed):
    target = GaussianTarget(memory=0.5)
    particles = target.draw_prior(np.random.default_rng(seed), 1000)
    schedule = smc.AdaptiveSchedule(share)
    taken = list(
        islice(smc.anneal(jax.random.key(seed), smc.begin(particles), target.path, target.move, schedule=schedule), 40)
    )
    assert taken[-1][1].exponent == 1.0


def test_evidence_on_the_way_is_that_of_the_tempered_target(seed):
    target = GaussianTarget()
    _, steps = run(seed, target, 4000, schedule=smc.FixedSchedule(4))
    assert [step.exponent for step in steps] == [0.25, 0.5, 0.75, 1.0]
    for step in steps:
        assert step.log_evidence == pytest.approx(target.log_evidence(step.exponent), abs=0.06)


def test_particles_are_weighed_as_they_were_before_the_move(seed):
    """The increments of a step belong to the particles that the move is about to change."""
    target = GaussianTarget()
    particles = target.draw_prior(np.random.default_rng(seed), 50)
    log_weights = smc.normalise(np.random.default_rng(seed + 1).normal(size=50))
    start = smc.Population(particles, log_weights, 0.2, -3.0, np.arange(50))
    moved = []

    def move(key: jax.Array, particles: np.ndarray, exponent: float) -> tuple[np.ndarray, float]:
        moved.append((np.asarray(particles), exponent))
        return target.move(key, particles, exponent)

    population, info = smc.step(
        jax.random.key(seed), start, target.path, move, schedule=smc.FixedSchedule(5), resample_below=1.0
    )
    increments = 0.2 * target.log_likelihood(particles)
    weights = np.exp(log_weights) * np.exp(increments)
    np.testing.assert_allclose(info.weights, weights / weights.sum(), rtol=1e-10)
    assert info.log_evidence == pytest.approx(-3.0 + np.log(weights.sum()))
    assert info.ess == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    np.testing.assert_array_equal(moved[0][0], particles[info.ancestors])  # resample, then move
    assert moved[0][1] == info.exponent == population.exponent == 0.4
    assert not np.any(np.asarray(population.particles) == moved[0][0])


def test_resampling_leaves_equal_weights_and_true_ancestors(seed):
    start = smc.Population(np.arange(8.0), smc.normalise(np.arange(8.0)), 0.0, 0.0, np.array([3, 3, 1, 0, 5, 5, 5, 7]))
    population, info = smc.step(
        jax.random.key(seed),
        start,
        lambda particles, exponent: lambda exponents: np.zeros((len(exponents), 8)),
        lambda key, particles, exponent: (particles, 0.25),
        schedule=smc.FixedSchedule(1),
        resample_below=1.0,
    )
    np.testing.assert_array_equal(population.particles, info.ancestors.astype(float))
    np.testing.assert_array_equal(population.first_ancestors, start.first_ancestors[info.ancestors])
    np.testing.assert_allclose(np.exp(population.log_weights), 1 / 8)
    assert info.n_ancestors == len(set(start.first_ancestors[info.ancestors].tolist()))
    assert info.acceptance == 0.25


def test_nothing_is_resampled_while_enough_particles_are_effective(seed):
    target = GaussianTarget()
    population, steps = run(seed, target, 300, schedule=smc.FixedSchedule(4), resample_below=1e-3)
    assert all(step.ancestors is None for step in steps)
    np.testing.assert_array_equal(population.first_ancestors, np.arange(300))
    np.testing.assert_allclose(np.exp(population.log_weights), steps[-1].weights, rtol=1e-12)
    assert steps[-1].n_ancestors == 300
    assert steps[-1].weights.std() > 1e-4


def test_resampling_happens_exactly_where_too_few_particles_are_effective(seed):
    _, steps = run(seed, GaussianTarget(memory=0.8), 300, schedule=smc.FixedSchedule(12), resample_below=0.6)
    resampled = [step.ancestors is not None for step in steps]
    assert resampled == [step.ess < 0.6 * 300 for step in steps]
    assert any(resampled)
    assert not all(resampled)


def test_every_step_resamples_where_asked_to(seed):
    _, steps = run(seed, GaussianTarget(), 100, schedule=smc.FixedSchedule(6), resample_below=1.0)
    assert all(step.ancestors is not None for step in steps)


def test_a_likelihood_that_is_not_a_number_gets_no_weight(seed):
    target = GaussianTarget()
    broken = np.arange(400) % 4 == 1

    def path(particles: np.ndarray, exponent: float) -> smc.LogIncrements:
        values = np.where(broken, np.nan, target.log_likelihood(particles))
        return lambda exponents: (exponents - exponent)[:, None] * values

    particles = target.draw_prior(np.random.default_rng(seed), 400)
    start = smc.Population(particles, np.full(400, -np.log(400)), 0.0, 0.0, np.arange(400))
    _, info = smc.step(
        jax.random.key(seed), start, path, target.move, schedule=smc.AdaptiveSchedule(0.3), resample_below=1.0
    )
    assert np.all(info.weights[broken] == 0)
    np.testing.assert_allclose(info.weights.sum(), 1)
    assert not np.any(broken[info.ancestors])
    values = np.where(broken, 0.0, np.exp(info.exponent * target.log_likelihood(particles)))
    assert info.log_evidence == pytest.approx(np.log(values.mean()))


def test_a_particle_without_a_likelihood_is_replaced_though_all_others_count(seed):
    target = GaussianTarget()

    def path(particles: np.ndarray, exponent: float) -> smc.LogIncrements:
        values = target.log_likelihood(particles)
        return lambda exponents: (exponents - exponent)[:, None] * np.where(np.arange(200) == 7, np.nan, values)

    start = smc.begin(target.draw_prior(np.random.default_rng(seed), 200))
    options = {"schedule": smc.AdaptiveSchedule(0.99), "resample_below": 0.75}
    _, info = smc.step(jax.random.key(seed), start, path, target.move, **options)
    assert info.ess > 0.75 * 200
    assert info.n_failed == 1
    assert 7 not in info.ancestors


@pytest.mark.parametrize("n_broken", [3, 50])
def test_what_the_last_move_breaks_is_replaced_or_an_error(n_broken, seed):
    target = GaussianTarget()

    def move(key, particles, exponent):
        particles, accepted = target.move(key, particles, exponent)
        return np.where(np.arange(50)[:, None] < (n_broken if exponent == 1 else 0), np.nan, particles), accepted

    start = smc.begin(target.draw_prior(np.random.default_rng(seed), 50))
    steps = smc.anneal(jax.random.key(seed), start, target.path, move, schedule=smc.FixedSchedule(3))
    if n_broken == 50:
        with pytest.raises(
            FloatingPointError, match="no particle has a likelihood that is a number after the last move"
        ):
            list(steps)
        return
    population, info = list(steps)[-1]
    assert np.all(np.isfinite(population.particles))
    assert info.n_failed == n_broken
    weights = np.exp(population.log_weights)
    assert np.all(weights[:n_broken] == 0)
    assert weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("schedule", [smc.AdaptiveSchedule(), smc.FixedSchedule(3)])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_likelihood_that_is_nowhere_a_number_is_an_error_that_says_so(value, schedule, seed):
    start = np.zeros(10)

    def path(particles: np.ndarray, exponent: float) -> smc.LogIncrements:
        return lambda exponents: np.where(exponents[:, None] > 0.5, value, np.zeros(10))

    def move(key: jax.Array, particles: np.ndarray, exponent: float) -> tuple[np.ndarray, float]:
        return particles, 0.0

    run_on = smc.anneal(jax.random.key(seed), smc.begin(start), path, move, schedule=schedule)
    with pytest.raises(FloatingPointError, match=r"no particle has a likelihood that is a number beyond exponent 0"):
        list(run_on)


@pytest.mark.parametrize("scale", [1.0, 1e20])
def test_annealing_ends_where_weights_tell_nothing(scale, seed, monkeypatch):
    """Increments that are rounding errors, as large as you like, never stop the exponent from rising to 1."""
    monkeypatch.setattr(schedules, "MOST_STEPS", 30)
    rng = np.random.default_rng(seed)

    def path(particles: np.ndarray, exponent: float) -> smc.LogIncrements:
        slopes = scale * rng.standard_cauchy(20) / max(exponent, 1e-6) * 1e3
        return lambda exponents: (exponents - exponent)[:, None] * slopes

    def move(key: jax.Array, particles: np.ndarray, exponent: float) -> tuple[np.ndarray, float]:
        return particles, 0.0

    run_on = smc.anneal(jax.random.key(seed), smc.begin(np.zeros(20)), path, move, schedule=smc.AdaptiveSchedule())
    taken = list(islice(run_on, 100))
    assert len(taken) < 100
    assert taken[-1][1].exponent == 1
    assert np.isfinite(taken[-1][0].log_evidence)


def test_the_same_key_gives_the_same_run_and_another_key_another(seed):
    target = GaussianTarget(memory=0.3)
    particles = target.draw_prior(np.random.default_rng(seed), 50)
    options = {"schedule": smc.FixedSchedule(5), "scheme": "multinomial", "resample_below": 1.0}
    first, again, other = (
        list(smc.anneal(jax.random.key(number), smc.begin(particles), target.path, target.move, **options))[-1][0]
        for number in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.particles, again.particles)
    assert first.log_evidence == again.log_evidence
    assert first.log_evidence != other.log_evidence


def test_every_step_has_a_key_of_its_own(seed):
    target, keys = GaussianTarget(), []

    def move(key: jax.Array, particles: np.ndarray, exponent: float) -> tuple[np.ndarray, float]:
        keys.append(tuple(np.asarray(jax.random.key_data(key)).tolist()))
        return target.move(key, particles, exponent)

    particles = target.draw_prior(np.random.default_rng(seed), 20)
    list(smc.anneal(jax.random.key(seed), smc.begin(particles), target.path, move, schedule=smc.FixedSchedule(9)))
    assert len(set(keys)) == 9


def test_particles_may_be_any_tree_of_arrays(seed):
    target = GaussianTarget()
    points = target.draw_prior(np.random.default_rng(seed), 200)
    tree = {"points": points, "labels": (np.arange(200),)}
    population, info = smc.step(
        jax.random.key(seed),
        smc.Population(tree, np.full(200, -np.log(200)), 0.0, 0.0, np.arange(200)),
        lambda tree, exponent: target.path(tree["points"], exponent),
        lambda key, tree, exponent: (tree, 1.0),
        schedule=smc.FixedSchedule(1),
        resample_below=1.0,
    )
    np.testing.assert_array_equal(population.particles["labels"][0], info.ancestors)
    np.testing.assert_array_equal(population.particles["points"], points[info.ancestors])


def test_the_prior_is_returned_where_the_likelihood_is_flat(seed):
    target = GaussianTarget()
    target.precision = np.zeros((2, 2))
    target.constant = 0.0
    population, steps = run(seed, target, 3000)
    assert len(steps) == 1
    assert population.log_evidence == pytest.approx(0.0, abs=1e-12)
    particles = np.asarray(population.particles)
    for column in range(2):
        prior = stats.norm(target.mean[column], np.sqrt(target.covariance[column, column]))
        assert stats.kstest(particles[:, column], prior.cdf).pvalue > LEVEL

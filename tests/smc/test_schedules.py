import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperplanes.smc import MOST_STEPS, AdaptiveSchedule, FixedSchedule, TimedSchedule, conditional_ess, normalise


def tempered(log_likelihoods: np.ndarray, exponent: float):
    """Log increments from `exponent` for a tempered likelihood."""
    return lambda exponents: (np.asarray(exponents) - exponent)[:, None] * log_likelihoods


@given(st.integers(1, 5000))
def test_fixed_exponents_are_r_over_the_number_of_steps_and_end_at_one(n_steps):
    schedule, exponent, exponents = FixedSchedule(n_steps), 0.0, []
    while exponent < 1:
        exponent = schedule.next_exponent(exponent, np.zeros(2), tempered(np.zeros(2), exponent))
        exponents.append(exponent)
    assert schedule.n_steps == n_steps
    assert exponents == [(r + 1) / n_steps for r in range(n_steps)]
    assert exponents[-1] == 1.0


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
@pytest.mark.parametrize("scale", [3.0, 100.0, 1e6])
def test_an_adaptive_step_is_as_long_as_its_share_allows(share, scale, rng):
    log_likelihoods = scale * rng.gamma(1.5, size=200)
    log_weights = normalise(rng.normal(0, 0.5, size=200))
    schedule = AdaptiveSchedule(share)
    for exponent in (0.0, 0.83):
        increments = tempered(log_likelihoods, exponent)
        chosen = schedule.next_exponent(exponent, log_weights, increments)
        assert exponent < chosen <= 1
        assert conditional_ess(log_weights, increments([chosen])[0]) >= share * 200
        if chosen < 1:
            longer = exponent + 1.01 * (chosen - exponent)
            assert conditional_ess(log_weights, increments([longer])[0]) < share * 200


def test_an_adaptive_schedule_rises_to_exactly_one(rng):
    log_likelihoods = -300 * rng.gamma(1.5, size=100)
    exponent, exponents = 0.0, []
    while exponent < 1:
        equal = np.full(100, -np.log(100))
        exponent = AdaptiveSchedule(0.5).next_exponent(exponent, equal, tempered(log_likelihoods, exponent))
        exponents.append(exponent)
    assert np.all(np.diff(exponents) > 0)
    assert len(exponents) > 5
    assert exponents[-1] == 1.0


def test_one_step_is_enough_where_the_likelihood_says_nothing():
    equal = np.full(10, -np.log(10))
    assert AdaptiveSchedule().next_exponent(0.0, equal, tempered(np.full(10, -7.0), 0.0)) == 1.0
    assert AdaptiveSchedule().next_exponent(0.4, equal, tempered(np.full(10, -7.0), 0.4)) == 1.0


def test_the_exponent_advances_even_where_no_step_is_small_enough():
    equal = np.full(50, -np.log(50))
    only_one = np.where(np.arange(50) == 3, 0.0, -1e30)
    chosen = AdaptiveSchedule(0.5).next_exponent(0.0, equal, tempered(only_one, 0.0))
    assert 0 < chosen < 1e-10


@pytest.mark.parametrize("exponent", [1e-9, 0.03, 0.4, 0.8])
def test_the_exponent_is_doubled_where_no_step_is_small_enough(exponent):
    """Small steps would keep no more particles, and never end."""
    equal = np.full(50, -np.log(50))
    only_one = np.where(np.arange(50) == 3, 0.0, -1e30)
    chosen = AdaptiveSchedule(0.5).next_exponent(exponent, equal, tempered(only_one, exponent))
    assert chosen == min(2 * exponent, 1)


@pytest.mark.parametrize("make", [AdaptiveSchedule, lambda: TimedSchedule(1e9)])
def test_after_very_many_steps_the_exponent_is_doubled(make, rng):
    equal, log_likelihoods = np.full(50, -np.log(50)), -1e4 * rng.gamma(1.5, size=50)
    increments = tempered(log_likelihoods, 0.3)
    before, after = (make().next_exponent(0.3, equal, increments, n) for n in (MOST_STEPS - 1, MOST_STEPS))
    assert 0.3 < before < 0.301
    assert after == 0.6
    easy = tempered(1e-5 * log_likelihoods, 0.3)
    assert make().next_exponent(0.3, equal, easy, MOST_STEPS) == 1  # no shorter than it would be


def test_particles_without_a_likelihood_do_not_hold_the_others_back(rng):
    """They are lost whatever the step is."""
    log_likelihoods = -300 * rng.gamma(1.5, size=100)
    equal, schedule = np.full(100, -np.log(100)), AdaptiveSchedule(0.5)
    lost = np.append(log_likelihoods, np.full(300, -np.inf))

    def increments(exponents):
        return np.where(np.isfinite(lost), np.asarray(exponents)[:, None] * lost, -np.inf)

    expected = schedule.next_exponent(0.0, equal, tempered(log_likelihoods, 0.0))
    found = schedule.next_exponent(0.0, np.full(400, -np.log(400)), increments)
    assert found == pytest.approx(expected, rel=1e-6)


class Run:
    """Draws at every exponent from the posterior of `dimension` parameters, each step of which takes its time."""

    def __init__(self, dimension, rng):
        self.dimension, self.rng, self.now, self.exponents = dimension, rng, 0.0, [0.0]

    def clock(self):
        return self.now

    def anneal(self, schedule, seconds_a_step):
        equal = np.full(200, -np.log(200))
        while self.exponents[-1] < 1:
            exponent = self.exponents[-1]
            parameters = self.dimension * min(1.0, 10 * exponent + 0.1)
            log_likelihoods = -self.rng.gamma(parameters / 2, size=200) / max(exponent, 1e-6)
            exponent = schedule.next_exponent(exponent, equal, tempered(log_likelihoods, exponent))
            self.exponents.append(exponent)
            self.now += seconds_a_step(exponent)
        return self


def even(exponent):
    return 0.1


def growing(exponent):
    return 0.05 if exponent < 0.1 else 0.2


@pytest.mark.parametrize("seconds_a_step", [even, growing])
@pytest.mark.parametrize("dimension", [20, 60, 300])
@pytest.mark.parametrize("times", [0.5, 1.0, 3.0, 10.0])
def test_a_timed_schedule_ends_when_the_time_is_over(times, dimension, seconds_a_step, rng):
    usual = Run(dimension, rng).anneal(AdaptiveSchedule(0.65), seconds_a_step).now
    run = Run(dimension, rng)
    run.anneal(TimedSchedule(times * usual, 0.65, clock=run.clock), seconds_a_step)
    assert np.all(np.diff(run.exponents) > 0)
    assert run.now == pytest.approx(times * usual, rel=0.2, abs=0.2)


@pytest.mark.parametrize(("seconds", "share"), [*zip((1e-3, 1e9), TimedSchedule.SHARES, strict=True)])
def test_no_time_takes_the_longest_steps_and_no_end_of_it_the_shortest(seconds, share, rng):
    run, log_likelihoods = Run(20, rng), -100 * rng.gamma(1.5, size=200)
    schedule = TimedSchedule(seconds, 0.65, clock=run.clock)
    equal = np.full(200, -np.log(200))
    for exponent in np.linspace(0, 0.5, 10):
        run.now += 1.0
        increments = tempered(log_likelihoods, exponent)
        chosen = schedule.next_exponent(exponent, equal, increments)
    assert (schedule.hurry > 1.5) == (seconds < 1)
    assert chosen == pytest.approx(AdaptiveSchedule(share).next_exponent(exponent, equal, increments))
    assert schedule.fewest_effective(200) == TimedSchedule.SHARES[0] * 200


def test_a_timed_schedule_refuses_time_that_is_none():
    with pytest.raises(ValueError, match="seconds must be positive and finite, got 0"):
        TimedSchedule(0)


def test_few_particles_are_not_left_with_one(rng):
    run, log_likelihoods = Run(20, rng), -1000 * rng.gamma(1.5, size=20)
    schedule, equal = TimedSchedule(1e-3, 0.65, clock=run.clock), np.full(20, -np.log(20))
    for exponent in np.linspace(0, 0.1, 10):
        run.now += 1.0
        increments = tempered(log_likelihoods, exponent)
        chosen = schedule.next_exponent(exponent, equal, increments)
    assert schedule.fewest_effective(20) == schedule.FEWEST_EFFECTIVE
    assert 1 <= conditional_ess(equal, increments([chosen])[0]) / schedule.FEWEST_EFFECTIVE < 1.05


@pytest.mark.parametrize("hurry", [0.5, 1.0, 3.0])
def test_the_first_step_is_as_long_as_the_hurry_says(hurry, rng):
    equal, log_likelihoods = np.full(200, -np.log(200)), -100 * rng.gamma(1.5, size=200)
    schedule = TimedSchedule(10.0, 0.65, hurry, clock=lambda: 0.0)
    chosen = schedule.next_exponent(0.0, equal, tempered(log_likelihoods, 0.0))
    kept = conditional_ess(equal, tempered(log_likelihoods, 0.0)([chosen])[0]) / 200
    assert np.sqrt(1 / kept - 1) == pytest.approx(hurry * np.sqrt(1 / 0.65 - 1), rel=0.02)
    assert schedule.hurry == pytest.approx(hurry)

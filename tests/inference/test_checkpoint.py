import jax
import numpy as np
import pytest

from hyperplanes import smc
from hyperplanes.inference import Checkpoint, Settings, checkpoint, fit
from hyperplanes.inference.checkpoint import LEAST_SECONDS, SHARE, Standing
from hyperplanes.model import Prior
from one_shape import SHAPE


@pytest.fixture
def standing(rng):
    """After three steps, of which the second resampled."""
    particles = {"a": jax.numpy.asarray(rng.normal(size=(4, 3))), "b": jax.numpy.asarray(rng.random(4) < 0.5)}
    at = Standing(smc.begin(particles), "cpu")
    for exponent, ancestors in ((1e-300, None), (1 / 3, np.array([0, 0, 3, 3])), (0.9, None)):
        step = smc.Step(exponent, 2.5, rng.dirichlet(np.ones(4)), ancestors, 0.1, -np.inf, 3, 0, -0.25, 1e-300)
        weighed = at.population._replace(exponent=exponent, log_weights=np.log(step.weights), log_evidence=-0.1)
        at = at.after(weighed, step, 1.25, 0.5 + at.seconds)
    return at


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when the test says so, and a second more with every writing."""
    now = [0.0]
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])
    return now


def assert_same(found, expected):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert type(one) is type(other)
        np.testing.assert_array_equal(one, other)


def test_what_is_kept_comes_back_bit_for_bit(standing, tmp_path):
    keeper = Checkpoint(tmp_path / "c", "fit")
    first = Standing(smc.begin(standing.population.particles), "cpu")
    assert keeper.resume(first) is first
    keeper.keep(standing, at_once=True)
    assert_same(keeper.resume(first), standing)


def test_a_population_that_has_arrived_begins_the_next_stage(standing):
    step = standing.steps[-1]
    at = standing.after(standing.population._replace(exponent=1.0), step, 1.0, 2.0)
    assert (at.stage, at.population.exponent, len(at.steps)) == (1, 0.0, 4)


def test_writings_are_seconds_apart(standing, tmp_path, clock, monkeypatch):
    times = []
    monkeypatch.setattr(checkpoint, "write_container", lambda *what: times.append(clock[0]))
    keeper = Checkpoint(tmp_path / "c", "fit")
    keeper.resume(standing)
    for _ in range(40):
        clock[0] += 1.0
        keeper.keep(standing, at_once=False)
    assert times == [k * LEAST_SECONDS for k in range(1, 9)]


def test_writings_that_take_long_are_rare(standing, tmp_path, clock, monkeypatch):
    times = []

    def write(*what):
        times.append(clock[0])
        clock[0] += 2.0

    monkeypatch.setattr(checkpoint, "write_container", write)
    keeper = Checkpoint(tmp_path / "c", "fit")
    keeper.resume(standing)
    while clock[0] < 1000:
        clock[0] += 1.0
        keeper.keep(standing, at_once=False)
    assert np.all(np.diff(times) >= 2.0 / SHARE)
    assert len(times) == 5


def test_a_budget_counts_on_after_an_interruption(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    X = rng.uniform(-1, 1, (60, 2))
    settings, seen, allotted = Settings(**SHAPE, budget=10_000.0), [], []
    begin, unpack = smc.TimedSchedule.__init__, checkpoint._unpack

    def noted(self, seconds, *others):
        allotted.append(seconds)
        begin(self, seconds, *others)

    def stop(progress):
        seen.append(progress.step)
        if len(seen) in (4, 5):
            raise KeyboardInterrupt

    monkeypatch.setattr(smc.TimedSchedule, "__init__", noted)
    monkeypatch.setattr(checkpoint, "_unpack", lambda *what: unpack(*what)._replace(seconds=6_000.0))
    for _ in range(2):
        keeper = Checkpoint(tmp_path / "c", "fit")
        with pytest.raises(KeyboardInterrupt):
            fit(jax.random.key(0), X, X[:, 0] ** 2, prior=Prior(), settings=settings, observe=stop, checkpoint=keeper)
    assert seen == [1, 2, 3, 4, 4], "the fourth step was stopped before it was kept"
    assert 8_000 < allotted[0] <= 10_000
    assert 2_000 < allotted[1] <= 4_000

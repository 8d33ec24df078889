import jax
import numpy as np
import pytest

from hyperplanes.inference import samplers
from hyperplanes.inference.fit import draw_states
from hyperplanes.inference.samplers import MOST_ROUNDS, collapsed_sampler, correlation
from hyperplanes.inference.settings import Settings
from hyperplanes.model import Prior, make_data


def test_correlation_of_what_stays_moves_and_never_varies(rng):
    before = rng.normal(size=(500, 3))
    assert correlation(before, before) == pytest.approx(1)
    assert correlation(before, -before + 7) == pytest.approx(-1)
    assert abs(correlation(before, rng.normal(size=(500, 3)))) < 0.15
    assert correlation(np.ones((5, 2)), np.ones((5, 2))) == 0


def test_particles_that_are_not_finite_do_not_count(rng):
    before = rng.normal(size=(40, 2))
    broken = np.where(np.arange(40)[:, None] == 3, np.nan, before)
    assert correlation(before, broken) == pytest.approx(1)
    assert correlation(before, np.full((40, 2), np.inf)) == 1


@pytest.mark.parametrize("stays", [True, False])
def test_rounds_repeat_until_the_functions_have_moved(stays, rng, monkeypatch):
    inputs = rng.uniform(-1, 1, size=(30, 2))
    settings, calls = Settings(2, n_particles=60), []

    def move_all(*_args):
        def one_round(key, states, exponent):
            calls.append(exponent)
            order = np.arange(60) if stays else np.asarray(jax.random.permutation(key, 60))
            return jax.tree.map(lambda leaf: leaf[order], states), 0.5

        return one_round

    monkeypatch.setattr(samplers, "_move_all", move_all)
    with jax.enable_x64(True):
        data, prior = make_data(inputs, inputs[:, 0]), Prior().resolved(2)
        states = draw_states(jax.random.key(1), data, prior, settings, 4)
        _, accepted = collapsed_sampler(data, prior, settings, 4).move(jax.random.key(0), states, 0.3)
    assert calls == [0.3] * (MOST_ROUNDS if stays else 1)
    assert accepted == 0.5

import math

import numpy as np
import pytest

from hyperplanes.estimators import progress
from hyperplanes.estimators.progress import clock, observers, steps_left
from hyperplanes.inference import Progress


def report(step, exponent, n_steps=None):
    return Progress(step=step, n_steps=n_steps, exponent=exponent, ess=100.0, acceptance=0.25, n_ancestors=50)


def test_steps_of_a_fixed_schedule_are_counted():
    assert steps_left(report(1, 0.01, 100), report(30, 0.3, 100)) == 70


def test_steps_of_an_adaptive_schedule_follow_the_log_of_the_exponent():
    assert steps_left(report(1, 2.0**-10), report(5, 2.0**-6)) == pytest.approx(6)


def test_nothing_is_guessed_from_one_step():
    assert steps_left(report(1, 0.01), report(1, 0.01)) is None


def test_nothing_is_guessed_from_steps_of_another_fit():
    assert steps_left(report(40, 0.2), report(1, 0.3)) is None
    assert steps_left(report(5, 0.2), report(5, 0.3)) is None


def test_nothing_is_left_at_the_posterior():
    assert steps_left(report(1, 0.01), report(7, 1.0)) == 0


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "0:00"), (75, "1:15"), (3700, "1:01:40")])
def test_clock(seconds, text):
    assert clock(seconds) == text


def test_bar_shows_exponent_ess_acceptance_and_time_left(capsys):
    with observers(True) as observer_of:
        observe = observer_of("")
        for step in range(1, 6):
            observe(report(step, math.ldexp(1.0, step - 5)))
    captured = capsys.readouterr()
    assert captured.out == ""
    for text in ("exponent 1", "ESS 100", "accepted 25%", "left 0:00"):
        assert text in captured.err


def test_steps_before_an_interruption_took_no_time_of_ours(monkeypatch, capsys):
    monkeypatch.setattr(progress.time, "monotonic", iter(range(0, 1000, 10)).__next__)
    with observers(True) as observer_of:
        observer_of("")(report(50, 0.5, 100))
    assert "left 8:20" in capsys.readouterr().err


def test_every_fit_begins_anew_under_its_name(capsys):
    with observers(True) as observer_of:
        observer_of("constant, 1 of 2")(report(40, 0.5))
        observe = observer_of("varying, 2 of 2")
        observe(report(1, 0.25))
        observe(report(2, 0.5))
    assert "annealing varying, 2 of 2 " in (shown := capsys.readouterr().err)
    assert "exponent 0.5 " in shown
    assert "left 0:" in shown  # two steps taken, one to go


def test_a_bar_shows_the_fits_that_auto_compares(example, make_regressor, capsys):
    model = make_regressor(noise="auto", progress=True).fit(example.X, example.y)
    assert "annealing student, 3 of 3 " in (shown := capsys.readouterr().err)
    assert "exponent 1 " in shown
    assert np.isfinite(model.log_evidence_)


def test_nothing_is_printed_unless_asked_for(example, make_regressor, capfd):
    make_regressor().fit(example.X, example.y).predict(example.X_new)
    assert capfd.readouterr() == ("", "")

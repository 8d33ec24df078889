import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperplanes.estimators import HyperplanesWarning
from hyperplanes.estimators.diagnostics import FitSummary, diagnose, judge_time, warn
from hyperplanes.inference import Network, Posterior, Trace
from hyperplanes.model import Prior, paper_prior
from hyperplanes.smc import MOST_STEPS

PRIOR = Prior(noise_shape=3.0, noise_scale=0.5)


def make_posterior(
    n_particles=100,
    n_distinct=100,
    lowest_ess=60.0,
    acceptance=0.3,
    n_hyperplanes=2,
    n_ancestors=30,
    n_failed=0,
    n_singular=0,
):
    offsets = np.arange(n_particles * n_hyperplanes, dtype=float).reshape(n_particles, n_hyperplanes)
    steps = np.ones(4)
    return Posterior(
        normals=np.ones((n_particles, n_hyperplanes, 1)),
        offsets=offsets[np.arange(n_particles) % n_distinct],
        coefficients=np.ones((n_particles, n_hyperplanes + 1)),
        noise_variance=np.full(n_particles, 0.2),
        coefficient_variance=np.ones(n_particles),
        intensity=np.full(n_particles, float(n_hyperplanes)),
        attends=np.ones((n_particles, n_hyperplanes, 1), dtype=bool),
        log_weights=np.full(n_particles, -np.log(n_particles)),
        log_evidence=-10.0,
        log_evidence_error=0.1,
        trace=Trace(
            np.array([0.1, 0.3, 0.7, 1.0]),
            np.array([90, lowest_ess, 90, 70]),
            np.broadcast_to(acceptance, 4),
            np.array([80, 60, 40, n_ancestors]),
            steps,
            np.array([0, 0, n_failed, 0]),
        ),
        n_active=np.full(n_particles, n_hyperplanes),
        n_singular=n_singular,
    )


def make_summary(n_rows=50, response_scale=2.0, constant_response=False, noise_variance=0.2):
    return FitSummary(PRIOR, n_rows, response_scale, constant_response, noise_variance=noise_variance)


def test_numbers_of_a_good_fit():
    found = diagnose(make_posterior(), make_summary())
    assert (found.ess, found.lowest_ess) == pytest.approx((100, 60))
    assert (found.n_particles, found.n_steps, found.n_distinct, found.n_ancestors) == (100, 4, 100, 30)
    assert found.acceptance == pytest.approx(0.3)
    assert found.noise_std == pytest.approx(2 * np.sqrt(0.2))
    assert found.noise_floor == pytest.approx(2 * np.sqrt(0.5 / 27))
    assert found.messages == ()


def test_sets_of_hyperplanes_are_those_of_all_networks():
    posterior = make_posterior(n_distinct=4)
    network = Network(*(getattr(posterior, name) for name in Network._fields))
    other = network._replace(offsets=np.repeat(np.arange(20.0), 5)[:, None])
    assert posterior.n_distinct == 4
    assert posterior._replace(spread=network).n_distinct == 4
    assert posterior._replace(spread=other).n_distinct == posterior._replace(others=(network, other)).n_distinct == 80


def test_ess_of_uneven_weights():
    posterior = make_posterior(n_particles=3)._replace(log_weights=np.log([0.5, 0.25, 0.25]))
    assert diagnose(posterior, make_summary()).ess == pytest.approx(1 / 0.375)


@pytest.mark.parametrize(
    ("posterior", "summary", "trouble", "advice"),
    [
        (make_posterior(n_distinct=4), make_summary(), "genealogy has collapsed.* only 4 distinct", "Raise n_steps"),
        (make_posterior(lowest_ess=1.3), make_summary(), "genealogy has collapsed.* only 1.3 of 100", "Raise n_steps"),
        (make_posterior(acceptance=0.0), make_summary(), "No Markov move was accepted", "Raise n_steps"),
        (make_posterior(acceptance=[0.9, 0.5, 0.2, 0.0]), make_summary(), "in the last quarter", "Raise n_steps"),
        (make_posterior(n_ancestors=1), make_summary(), "log_evidence_error_ may be too small", "Raise n_particles"),
        (make_posterior(n_failed=7), make_summary(), "7 particles were lost", "Check prior"),
        (make_posterior(n_singular=9), make_summary(), "9 of 100 particles have hyperplanes so alike", "n_hyperplanes"),
        (make_posterior(), make_summary(constant_response=True), "y is constant", "Check that y"),
        (
            make_posterior(),
            make_summary(n_rows=3, noise_variance=1.0),
            "2 hyperplanes in 1 columns have 4 parameters, more than 3 rows",
            "Lower n_hyperplanes",
        ),
        (make_posterior(), make_summary(noise_variance=0.02), "as small as the prior allows", "smaller noise_scale"),
    ],
)
def test_trouble_is_told_with_advice(posterior, summary, trouble, advice):
    (message,) = diagnose(posterior, summary).messages
    assert re.search(trouble, message)
    assert advice in message


def test_noise_that_rounding_keeps_from_being_smaller_is_told_without_idle_advice():
    summary = make_summary(noise_variance=1e-10)._replace(prior=Prior(noise_scale=1e-12))
    (message,) = diagnose(make_posterior(), summary).messages
    assert "rounding of features" in message
    assert "pass a prior" not in message


@pytest.mark.parametrize("evenly", [True, False])
def test_annealing_that_was_cut_short_is_told_but_not_a_number_of_steps_that_was_given(evenly):
    n_steps = MOST_STEPS + 10
    exponents = np.arange(1, n_steps + 1) / n_steps
    ones = np.ones(n_steps)
    trace = Trace(exponents if evenly else exponents**2, 90 * ones, 0.3 * ones, 30 * ones, ones, 0 * ones)
    messages = diagnose(make_posterior()._replace(trace=trace), make_summary()).messages
    assert len(messages) == (0 if evenly else 1)
    assert evenly or re.search(f"not ended after {MOST_STEPS} steps.*larger noise_scale", messages[0])


def test_fit_warns_where_the_user_called_it(example, make_regressor):
    with pytest.warns(HyperplanesWarning, match="have 6 parameters, more than 2 rows") as caught:
        model = make_regressor().fit(example.X[:2], example.y[:2])
    assert {warning.filename for warning in caught} == {__file__}
    assert [str(warning.message) for warning in caught] == list(model.diagnostics_.warnings)


def test_collapse_of_a_real_fit_is_found(example, make_regressor):
    with pytest.warns(HyperplanesWarning, match="genealogy has collapsed"):
        make_regressor(sampler="paper", n_steps=2).fit(example.X, example.y)


def test_hyperplanes_that_no_row_can_be_beyond_are_not_said_to_be_stuck(example, make_regressor):
    """With constant inputs the paper's hyperplanes are all dead: no gradient moves them, but they are chosen anew."""
    model = make_regressor(prior=paper_prior(2)).fit(np.full_like(example.X, 3.0), example.y)
    assert not model.posterior_.n_active.any()
    assert model.diagnostics_.late_acceptance > 0.3
    assert model.diagnostics_.warnings == ()


def test_good_fit_warns_of_nothing(example, make_regressor):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make_regressor().fit(example.X, example.y)
    assert model.diagnostics_.warnings == ()


def test_moves_that_start_late_are_no_trouble():
    found = diagnose(make_posterior(acceptance=[0.0, 0.0, 0.0, 0.4]), make_summary())
    assert (found.acceptance, found.late_acceptance) == pytest.approx((0.1, 0.4))
    assert found.messages == ()


def test_note_is_a_message_but_no_warning():
    found = diagnose(make_posterior(n_ancestors=1), make_summary())
    assert found.messages == found.notes != ()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn(found, stacklevel=1)


@given(n_rows=st.integers(2, 3000), n_columns=st.integers(1, 200))
def test_single_hyperplane_is_never_too_many(n_rows, n_columns):
    normals = np.ones((100, 1, n_columns))
    found = diagnose(make_posterior()._replace(normals=normals), make_summary(n_rows=n_rows, noise_variance=1.0))
    assert found.messages == ()


def test_places_without_a_hyperplane_do_not_count_as_parameters():
    posterior = make_posterior(n_hyperplanes=6)
    normals = posterior.normals.copy()
    normals[:, 2:] = 0
    assert diagnose(posterior._replace(normals=normals), make_summary(n_rows=4, noise_variance=1.0)).messages == ()
    (message,) = diagnose(posterior, make_summary(n_rows=11, noise_variance=1.0)).messages
    assert message.startswith("6 hyperplanes in 1 columns have 12 parameters, more than 11 rows")


@pytest.mark.parametrize(("seconds", "budget", "n_warnings"), [(9.0, None, 0), (11.0, 10.0, 0), (15.0, 10.0, 1)])
def test_a_fit_that_takes_much_longer_than_its_budget_is_warned_of(seconds, budget, n_warnings):
    found = judge_time(diagnose(make_posterior(), make_summary()), seconds, budget).warnings
    assert len(found) == n_warnings
    assert all("took 15 s, 1.5 times its budget" in text and "lower n_particles" in text for text in found)


@pytest.mark.parametrize(("n_particles", "fewest"), [(100, 4), (1000, 20)])
def test_only_steps_that_could_not_be_longer_are_said_to_be(n_particles, fewest):
    def message(lowest_ess):
        posterior = make_posterior(n_particles, n_particles, lowest_ess)
        return judge_time(diagnose(posterior, make_summary()), 15.0, 10.0).warnings[-1]

    assert "its budget, though its steps became as long as they may be. The first" in message(fewest)
    assert "its budget. The first" in message(1.5 * fewest)


@pytest.mark.parametrize("likelihood", ["varying", "bernoulli", "multinomial"])
def test_without_a_prior_of_the_noise_there_is_no_least_noise(likelihood):
    found = diagnose(make_posterior(), make_summary(noise_variance=1e-6)._replace(likelihood=likelihood))
    assert found.noise_floor == 0
    assert found.messages == ()

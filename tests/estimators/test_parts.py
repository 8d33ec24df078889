import pickle
from concurrent.futures import BrokenExecutor

import joblib
import numpy as np
import pandas as pd
import pytest

from hyperplanes import Prior
from hyperplanes.estimators.parts import Rows, fit_part, fit_parts
from hyperplanes.inference import Settings

N_ROWS = 240


@pytest.fixture(scope="module")
def rows(make_rows):
    return make_rows(N_ROWS)


@pytest.fixture(scope="module")
def decomposed(rows, make_regressor):
    """Fitted; no test may change it."""
    return make_regressor(decomposition="domain", n_parts=3, n_jobs=1).fit(rows.X, rows.y)


def assert_same_fit(first, second):
    for one, other in zip(first.parts_, second.parts_, strict=True):
        for name in ("normals", "offsets", "coefficients", "noise_variance", "log_weights", "log_evidence"):
            np.testing.assert_array_equal(getattr(one.posterior, name), getattr(other.posterior, name), err_msg=name)


@pytest.mark.parametrize("decomposition", ["domain", "paper-domain"])
def test_one_part_is_the_whole(decomposition, example, fitted, make_regressor):
    model = make_regressor(decomposition=decomposition, n_parts=1).fit(example.X, example.y)
    assert_same_fit(model, fitted)
    assert model.log_evidence_ == fitted.log_evidence_
    np.testing.assert_array_equal(model.predict(example.X_new), fitted.predict(example.X_new))


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_parts_side_by_side_are_the_same_as_one_after_the_other(backend, rows, decomposed, make_regressor):
    with joblib.parallel_config(backend=backend):
        model = make_regressor(decomposition="domain", n_parts=3, n_jobs=2).fit(rows.X, rows.y)
    assert_same_fit(model, decomposed)


def test_a_row_is_predicted_by_the_part_that_it_falls_in(rows, decomposed):
    part_of = decomposed.subdomains_.part_of(rows.X_new)
    assert set(part_of) == {0, 1, 2}
    mean, std = decomposed.predict(rows.X_new, return_std=True)
    interval = decomposed.predict_interval(rows.X_new)
    density = decomposed.log_predictive_density(rows.X_new, mean)
    for row, number in enumerate(part_of):
        part, one = decomposed.parts_[number], rows.X_new[row : row + 1]
        np.testing.assert_array_equal(part.mean_and_std(one, max_bytes=2**20), [[mean[row], std[row]]])
        ends = part.quantiles(one, (0.025, 0.975), target="response", max_bytes=2**20)
        np.testing.assert_allclose(ends, interval[[row]], rtol=1e-12)
        np.testing.assert_allclose(part.log_density(one, mean[[row]], max_bytes=2**20), density[[row]], rtol=1e-12)


def test_a_part_is_the_fit_of_its_rows_alone(rows, decomposed):
    chosen = decomposed.subdomains_.part_of(rows.X) == 1
    seeds = np.random.RandomState(0).randint(2**32, size=3, dtype=np.uint32)
    order = np.lexsort(rows.X[chosen].T[::-1])  # rows are sorted before a fit
    alone = Rows(rows.X[chosen][order], rows.y[chosen][order], np.ones(chosen.sum()))
    part = fit_part(int(seeds[1]), alone, Prior(), Settings(n_hyperplanes=2, n_particles=40))
    np.testing.assert_array_equal(part.posterior.normals, decomposed.parts_[1].posterior.normals)
    assert part.log_evidence == decomposed.parts_[1].log_evidence


def test_the_evidence_of_the_whole_is_that_of_all_parts(decomposed):
    evidences = [part.log_evidence for part in decomposed.parts_]
    errors = [part.posterior.log_evidence_error for part in decomposed.parts_]
    assert decomposed.log_evidence_ == pytest.approx(sum(evidences))
    assert decomposed.log_evidence_error_ == pytest.approx(np.sqrt(np.sum(np.square(errors))))


def test_the_number_of_hyperplanes_is_that_of_all_parts(decomposed):
    means = [np.exp(part.posterior.log_weights) @ part.posterior.n_active for part in decomposed.parts_]
    assert decomposed.n_hyperplanes_.mean == pytest.approx(sum(means))
    assert decomposed.n_hyperplanes_.probabilities.sum() == pytest.approx(1)


def test_draws_have_the_mean_and_spread_of_the_prediction(rows, decomposed):
    draws = decomposed.sample(rows.X_new, n_draws=4000, random_state=0)
    mean, std = decomposed.predict(rows.X_new, return_std=True)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=5 * std.max() / np.sqrt(4000))
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.1)


def test_a_decomposed_fit_is_nearer_to_the_truth_than_the_noise(rows, decomposed):
    truth = 3.0 * np.maximum(rows.X_new[:, 0] - 0.2, 0) - 0.5 * np.maximum(-rows.X_new[:, -1], 0)
    assert np.sqrt(np.mean((decomposed.predict(rows.X_new) - truth) ** 2)) < 0.1


@pytest.mark.filterwarnings("ignore::hyperplanes.HyperplanesWarning")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_budget_is_shared_by_parts(n_jobs, rows, make_regressor):
    quick, slow = (
        make_regressor(decomposition="domain", n_parts=3, n_jobs=n_jobs, budget=budget).fit(rows.X, rows.y)
        for budget in (1e-3, 3.0)
    )
    assert quick.diagnostics_.n_steps < slow.diagnostics_.n_steps


def test_a_decomposed_model_survives_pickling(rows, decomposed):
    again = pickle.loads(pickle.dumps(decomposed))
    np.testing.assert_array_equal(again.predict_interval(rows.X_new), decomposed.predict_interval(rows.X_new))


def test_a_second_fit_forgets_the_parts_of_the_first(example, fitted, make_regressor):
    model = make_regressor(decomposition="domain", n_parts=2).fit(example.X, example.y)
    assert len(model.parts_) == 2
    assert_same_fit(model.set_params(decomposition=None).fit(example.X, example.y), fitted)


def test_rows_far_outside_are_predicted(decomposed):
    assert np.isfinite(decomposed.predict_interval(np.array([[1e6, -1e6], [-1e6, 1e6]]))).all()


def test_few_rows_are_fitted_as_a_whole(make_regressor):
    X = np.arange(30.0)[:, None]
    model = make_regressor(decomposition="domain", n_parts=4).fit(X, X[:, 0] + 5 * np.cos(X[:, 0]))
    assert len(model.parts_) == 1


def test_text_and_missing_values_are_read_once_for_all_parts(rows, make_regressor):
    table = pd.DataFrame(rows.X, columns=["a", "b"])
    table["kind"] = np.where(np.arange(N_ROWS) < 3, "rare", "common")
    table.loc[:2, "b"] = np.nan
    model = make_regressor(decomposition="domain", n_parts=3).fit(table, rows.y)
    assert len(model.parts_) == 3
    assert model.columns_.categories[2] == ("common", "rare")
    assert {part.posterior.normals.shape[2] for part in model.parts_} == {4}  # a, b, kind and a mark of missing b
    assert np.isfinite(model.predict(table)).all()


def test_the_posterior_of_several_parts_is_not_that_of_one(decomposed):
    with pytest.raises(AttributeError, match="a fit of 3 parts has a posterior and scalers for each: see parts_"):
        _ = decomposed.posterior_


def test_messages_say_which_part_they_are_about(rows, make_regressor):
    y = np.where(rows.X[:, 0] < 0, 1.0, rows.y)
    with pytest.warns(UserWarning, match="Part 0: y is constant"):
        make_regressor(decomposition="paper-domain", n_parts=2).fit(rows.X, y)


def test_progress_counts_parts(rows, make_regressor, capsys):
    make_regressor(decomposition="domain", n_parts=2, progress=True).fit(rows.X, rows.y)
    assert "2/2" in capsys.readouterr().err


class DeadlyOnce:
    """Rows that kill the process that reads them, if it is the first to do so."""

    def __init__(self, rows, marker):
        self.rows, self.marker = rows, str(marker)

    def __reduce__(self):
        known = {"rows": self.rows, "marker": self.marker}
        code = "__import__('os')"
        die = f"({code}.system('touch ' + marker), {code}.kill({code}.getpid(), 9))"
        return eval, (f"rows if {code}.path.exists(marker) else {die}", known)


def test_a_killed_worker_does_not_lose_the_fit(rows, decomposed, tmp_path):
    part_of = decomposed.subdomains_.part_of(rows.X)
    parts = [Rows(rows.X[part_of == k], rows.y[part_of == k], np.ones(np.sum(part_of == k))) for k in range(3)]
    settings = Settings(n_hyperplanes=2, n_particles=40)
    calm = dict(fit_parts([1, 2, 3], parts, Prior(), settings, 1))
    with joblib.parallel_config(backend="loky"):
        deadly = [parts[0], DeadlyOnce(parts[1], tmp_path / "killed"), parts[2]]
        found = dict(fit_parts([1, 2, 3], deadly, Prior(), settings, 2))
    assert (tmp_path / "killed").exists()
    assert set(found) == {0, 1, 2}
    for number, part in found.items():
        np.testing.assert_array_equal(part.posterior.normals, calm[number].posterior.normals)


def test_a_worker_that_is_always_killed_is_an_error(rows):
    deadly = DeadlyOnce(Rows(rows.X, rows.y, np.ones(len(rows.y))), "/dev/null/never")
    settings = Settings(n_hyperplanes=2, n_particles=40)
    with joblib.parallel_config(backend="loky"), pytest.raises(BrokenExecutor):
        list(fit_parts([1, 2], [deadly, deadly], Prior(), settings, 2))


def test_backends_that_hand_all_over_at_once_will_do(rows, decomposed, make_regressor):
    with joblib.parallel_config(backend="multiprocessing", n_jobs=1):
        model = make_regressor(decomposition="domain", n_parts=3, n_jobs=1).fit(rows.X, rows.y)
    assert_same_fit(model, decomposed)

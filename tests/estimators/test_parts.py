import pickle
from concurrent.futures import BrokenExecutor

import joblib
import numpy as np
import pandas as pd
import pytest

from hyperplanes import Prior
from hyperplanes.estimators.family import Family
from hyperplanes.estimators.parts import Rows, fit_part, fit_parts
from hyperplanes.inference import Settings, error_of_sum

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


@pytest.mark.parametrize("decomposition", ["intensity", "domain", "paper-intensity", "paper-domain"])
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
    part = fit_part(int(seeds[1]), alone, Prior(), Settings(n_hyperplanes=2, n_particles=40), Family())
    np.testing.assert_array_equal(part.posterior.normals, decomposed.parts_[1].posterior.normals)
    assert part.log_evidence == decomposed.parts_[1].log_evidence


def test_the_evidence_of_the_whole_is_that_of_all_parts(decomposed):
    evidences = [part.log_evidence for part in decomposed.parts_]
    assert decomposed.log_evidence_ == pytest.approx(sum(evidences))
    posteriors = [part.posterior for part in decomposed.parts_]
    assert decomposed.log_evidence_error_ == error_of_sum(posteriors)
    first, second = (
        one._replace(log_evidence_error=5.0, log_evidence_bias=bias)
        for one, bias in zip(posteriors, (3, 4), strict=False)
    )
    assert error_of_sum([first, second]) == pytest.approx(np.sqrt(16 + 9 + 7**2))


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
    assert np.sqrt(np.mean((decomposed.predict(rows.X_new) - truth_at(rows.X_new)) ** 2)) < 0.1


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
    X = np.column_stack([np.arange(30.0), np.arange(30.0) % 7])
    model = make_regressor(decomposition="domain", n_parts=4).fit(X, X[:, 0] + 5 * np.cos(X[:, 0]))
    assert len(model.parts_) == 1


def test_parts_that_add_up_are_one_posterior_of_all_rows(rows, make_regressor):
    model = make_regressor(decomposition="intensity", n_parts=2, n_hyperplanes=1).fit(rows.X, rows.y)
    assert len(model.parts_) == 1
    assert model.posterior_.normals.shape[1] == 2
    whole = make_regressor(n_hyperplanes=2).fit(rows.X, rows.y)
    assert abs(model.log_evidence_ - whole.log_evidence_) < 5  # the same model, sampled in another way
    truth = truth_at(rows.X_new)
    assert np.sqrt(np.mean((model.predict(rows.X_new) - truth) ** 2)) < 0.1


def test_the_average_is_that_of_independent_fits_to_all_rows(rows, make_regressor):
    model = make_regressor(decomposition="paper-intensity", n_parts=3).fit(rows.X, rows.y)
    seeds = np.random.RandomState(0).randint(2**32, size=4, dtype=np.uint32)
    order = np.lexsort(rows.X.T[::-1])
    all_rows = Rows(rows.X[order], rows.y[order], np.ones(N_ROWS))
    settings = Settings(n_hyperplanes=2, n_particles=40)
    alone = [fit_part(int(seed), all_rows, Prior(), settings, Family()) for seed in seeds[:3]]
    means = np.mean([part.mean(rows.X_new, max_bytes=2**20) for part in alone], axis=0)
    spreads = [part.mean_and_std(rows.X_new, max_bytes=2**20)[:, 1] for part in alone]
    found, std = model.predict(rows.X_new, return_std=True)
    np.testing.assert_allclose(found, means, atol=0.03 * np.ptp(means))  # each is resampled to equal weights
    np.testing.assert_allclose(std, np.mean(spreads, axis=0), rtol=0.15)
    evidences = np.array([part.log_evidence for part in alone])
    assert evidences.min() <= model.log_evidence_ <= evidences.max()
    assert model.posterior_.normals.shape[1] == 6


def test_a_model_fitted_elsewhere_predicts_without_its_device(rows, decomposed):
    again = pickle.loads(pickle.dumps(decomposed)).set_params(device="gpu:7")
    np.testing.assert_array_equal(again.predict_interval(rows.X_new), decomposed.predict_interval(rows.X_new))


@pytest.mark.filterwarnings("ignore::hyperplanes.HyperplanesWarning")
@pytest.mark.parametrize("sampler", ["auto", "paper"])
def test_the_average_is_the_same_in_other_processes(sampler, rows, make_regressor):
    model = make_regressor(decomposition="paper-intensity", n_parts=2, n_jobs=2, sampler=sampler, n_steps=3)
    serial = make_regressor(**model.get_params() | {"n_jobs": 1}).fit(rows.X, rows.y)
    with joblib.parallel_config(backend="loky"):
        assert_same_fit(model.fit(rows.X, rows.y), serial)


@pytest.mark.filterwarnings("ignore::hyperplanes.HyperplanesWarning")
def test_parts_that_add_up_get_more_places_together(rows, make_regressor, monkeypatch):
    monkeypatch.setattr("hyperplanes.inference.samplers.FULL", 0.0)
    model = make_regressor(decomposition="intensity", n_parts=3, n_hyperplanes="auto", n_steps=1).fit(rows.X, rows.y)
    assert np.isfinite(model.log_evidence_)
    assert np.isfinite(model.predict_interval(rows.X_new)).all()


def truth_at(inputs):
    return 3.0 * np.maximum(inputs[:, 0] - 0.2, 0) - 0.5 * np.maximum(-inputs[:, -1], 0)


@pytest.fixture(scope="module")
def blended(rows, decomposed, make_regressor):
    """The same parts, with borders that are blended."""
    model = make_regressor(decomposition="domain", n_parts=3, n_jobs=1, blend=0.3).fit(rows.X, rows.y)
    assert_same_fit(model, decomposed)
    return model


def across_the_border(model):
    """Rows along a line through the first border, and how likely each is beyond it."""
    cuts = model.subdomains_
    threshold, margin = cuts.thresholds[0], cuts.margins[0]
    line = np.column_stack([np.linspace(threshold - 1.2 * margin, threshold + 1.2 * margin, 241), np.full(241, -0.9)])
    return line, np.clip(0.5 + (line[:, 0] - threshold) / (2 * margin), 0, 1)


def test_predictions_do_not_jump_where_borders_are_blended(blended, decomposed):
    line, _ = across_the_border(blended)
    for predict in (lambda model: model.predict(line), lambda model: model.predict_interval(line)[:, 1]):
        steps, jumps = (np.abs(np.diff(predict(model))).max() for model in (blended, decomposed))
        assert steps < 0.2 * jumps


def test_a_blended_prediction_is_the_mixture_of_both_parts(blended):
    line, beyond = across_the_border(blended)
    first, second = (blended.parts_[number] for number in blended.subdomains_.part_of(line[[0, -1]]))
    options = {"max_bytes": 2**20}
    (low, low_std), (high, high_std) = first.mean_and_std(line, **options).T, second.mean_and_std(line, **options).T
    mean, std = blended.predict(line, return_std=True)
    np.testing.assert_allclose(mean, (1 - beyond) * low + beyond * high, rtol=1e-10, atol=1e-12)
    second_moment = (1 - beyond) * (low**2 + low_std**2) + beyond * (high**2 + high_std**2)
    np.testing.assert_allclose(std**2, second_moment - mean**2, rtol=1e-6)
    y = mean + 0.05
    densities = (np.exp(part.log_density(line, y, **options)) for part in (first, second))
    expected = sum(share * density for share, density in zip((1 - beyond, beyond), densities, strict=True))
    np.testing.assert_allclose(np.exp(blended.log_predictive_density(line, y)), expected, rtol=1e-9)


@pytest.mark.parametrize("target", ["mean", "response"])
def test_blended_intervals_and_draws_agree(target, blended):
    line, _ = across_the_border(blended)
    draws = blended.sample(line[::20], n_draws=6000, target=target, random_state=1)
    ends = blended.predict_interval(line[::20], coverage=0.8, target=target)
    inside = np.mean((draws >= ends[:, :1]) & (draws <= ends[:, 1:]), axis=1)
    np.testing.assert_allclose(inside, 0.8, atol=0.05)


@pytest.mark.parametrize("blend", [-0.1, 0.6, True, "0.1"])
def test_a_blend_that_is_no_share_is_an_error(blend, rows, make_regressor):
    with pytest.raises(ValueError, match=r"blend must be between 0 and 0\.5"):
        make_regressor(decomposition="domain", blend=blend).fit(rows.X, rows.y)


def test_text_and_missing_values_are_read_once_for_all_parts(rows, make_regressor):
    table = pd.DataFrame(rows.X, columns=["a", "b"])
    table["kind"] = np.where(np.arange(N_ROWS) < 3, "rare", np.where(rows.X[:, 1] > 0, "common", "usual"))
    table.loc[:2, "b"] = np.nan
    model = make_regressor(decomposition="domain", n_parts=3).fit(table, rows.y)
    assert len(model.parts_) == 3
    assert model.columns_.categories[2] == ("common", "rare", "usual")
    assert {part.posterior.normals.shape[2] for part in model.parts_} == {6}  # a, b, kinds and a mark of missing b
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
    calm = dict(fit_parts([1, 2, 3], parts, Prior(), settings, Family(), 1))
    with joblib.parallel_config(backend="loky"):
        deadly = [parts[0], DeadlyOnce(parts[1], tmp_path / "killed"), parts[2]]
        found = dict(fit_parts([1, 2, 3], deadly, Prior(), settings, Family(), 2))
    assert (tmp_path / "killed").exists()
    assert set(found) == {0, 1, 2}
    for number, part in found.items():
        np.testing.assert_array_equal(part.posterior.normals, calm[number].posterior.normals)


def test_a_worker_that_is_always_killed_is_an_error(rows):
    deadly = DeadlyOnce(Rows(rows.X, rows.y, np.ones(len(rows.y))), "/dev/null/never")
    settings = Settings(n_hyperplanes=2, n_particles=40)
    with joblib.parallel_config(backend="loky"), pytest.raises(BrokenExecutor):
        list(fit_parts([1, 2], [deadly, deadly], Prior(), settings, Family(), 2))


def test_backends_that_hand_all_over_at_once_will_do(rows, decomposed, make_regressor):
    with joblib.parallel_config(backend="multiprocessing", n_jobs=1):
        model = make_regressor(decomposition="domain", n_parts=3, n_jobs=1).fit(rows.X, rows.y)
    assert_same_fit(model, decomposed)

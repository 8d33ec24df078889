from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import quadrature
from scipy import stats
from some_particles import functions_of, make_particles

from hyperplanes.inference import Posterior, Progress, Settings, fit
from hyperplanes.inference.fit import lay_out, without_empty_places
from hyperplanes.model import Prior, is_present
from hyperplanes.model.prior import DEVIATIONS
from hyperplanes.process import support
from one_shape import SHAPE
from p_values import LEVEL

SAMPLERS = {
    "auto": Settings(n_hyperplanes=1, n_particles=1000),
    "auto, fixed steps": Settings(n_hyperplanes=1, n_particles=1000, n_steps=12),
    "paper": Settings(n_hyperplanes=1, n_particles=1500, sampler="paper", n_steps=60),
}
N_RUNS = 8


def fit_small(seed: int, settings: Settings, observe=None, **changes) -> Posterior:
    """Fit the problem that `quadrature` integrates."""
    arguments = {"inputs": quadrature.INPUTS, "response": quadrature.RESPONSE, "prior": quadrature.PRIOR} | changes
    return fit(jax.random.key(seed), settings=settings, observe=observe, **arguments)


def make_rows(seed: int, n_rows: int, n_columns: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(-1, 1, size=(n_rows, n_columns))
    return inputs, 2 * np.maximum(inputs[:, 0] - 0.3, 0) - 0.2 + 0.2 * rng.normal(size=n_rows)


def statistics_of(posterior: Posterior) -> np.ndarray:
    """Posterior means of what `quadrature` integrates."""
    particles = posterior.normals, posterior.offsets, posterior.coefficients, posterior.noise_variance
    return np.exp(posterior.log_weights) @ quadrature.statistics_of(*particles)


@pytest.mark.parametrize("name", SAMPLERS)
def test_one_hyperplane_in_one_dimension_agrees_with_numerical_integration(name, seed):
    exact = quadrature.integrate()
    runs = [fit_small(seed + repeat, SAMPLERS[name]) for repeat in range(N_RUNS)]
    evidences, errors = np.array([[run.log_evidence, run.log_evidence_error] for run in runs]).T
    assert np.all(np.abs(evidences - exact.log_evidence) < 4 * errors)
    assert np.all(errors < 0.3)
    assert errors.mean() < 4 * evidences.std()
    means = np.array([statistics_of(run) for run in runs])
    p_values = stats.ttest_1samp(means, exact.means).pvalue
    assert p_values.min() * len(p_values) > LEVEL
    assert np.all(means[:, :4].std(axis=0) < 0.2 * exact.scales)  # the runs agree, so that the test has power


def test_the_spread_of_the_posterior_is_that_of_numerical_integration(seed):
    exact, found = quadrature.integrate(), []
    for repeat in range(N_RUNS):
        posterior = fit_small(seed + repeat, SAMPLERS["auto"])
        fields = posterior.normals, posterior.offsets, posterior.coefficients, posterior.noise_variance
        values, weights = quadrature.statistics_of(*fields)[:, :4], np.exp(posterior.log_weights)
        found.append(weights @ (values - weights @ values) ** 2)
    np.testing.assert_allclose(np.sqrt(np.mean(found, axis=0)), exact.scales, rtol=0.06)


@pytest.mark.parametrize("sampler", ["auto", "paper"])
def test_without_data_the_posterior_is_the_prior(sampler, seed):
    settings = replace(SAMPLERS[sampler], n_steps=None if sampler == "auto" else 3)
    posterior = fit_small(seed, settings, row_weights=np.zeros(10))
    assert posterior.log_evidence == pytest.approx(0.0, abs=1e-12)
    assert posterior.log_evidence_error == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(np.exp(posterior.log_weights), 1 / settings.n_particles)
    if sampler == "paper":  # it resamples at every step, so that neighbours share a hyperplane until one has moved
        posterior = posterior._replace(**{name: getattr(posterior, name)[::5] for name in Posterior._fields[:4]})
    assert stats.binomtest(int((posterior.normals[:, 0, 0] > 0).sum()), len(posterior.normals)).pvalue > LEVEL
    assert stats.kstest(posterior.offsets[:, 0], stats.uniform.cdf).pvalue > LEVEL
    for column in posterior.coefficients.T:
        assert stats.kstest(column, stats.norm(0.4, np.sqrt(1.5)).cdf).pvalue > LEVEL
    assert stats.kstest(posterior.noise_variance, stats.invgamma(3.0, scale=0.3).cdf).pvalue > LEVEL


@pytest.mark.parametrize("sampler", ["auto", "paper"])
def test_the_result_does_not_depend_on_threads_or_memory(sampler, seed):
    inputs, response = make_rows(seed, 100)
    settings = Settings(n_hyperplanes=2, n_particles=150, sampler=sampler, n_steps=5)

    def run(**how) -> Posterior:
        return fit_small(seed, replace(settings, **how), inputs=inputs, response=response)

    alone = run()
    for other in (run(memory_budget=1), run(n_threads=2, memory_budget=10**4), run(n_threads=9)):  # 9: a tile each
        for first, second in zip(jax.tree.leaves(alone), jax.tree.leaves(other), strict=True):
            np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("sampler", ["auto", "paper"])
def test_the_same_key_gives_the_same_posterior_and_another_key_another(sampler, seed):
    settings = replace(SAMPLERS[sampler], n_steps=5)
    first, again, other = (fit_small(number, settings) for number in (seed, seed, seed + 1))
    for one, two in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(one, two)
    assert first.log_evidence != other.log_evidence
    assert not np.any(np.isin(first.offsets, other.offsets))


def test_more_time_is_more_steps_and_either_agrees_with_numerical_integration(seed):
    exact, n_steps = quadrature.integrate(), []
    for budget in (1e-3, None, 1e3):
        posterior = fit_small(seed, replace(SAMPLERS["auto"], budget=budget))
        n_steps.append(len(posterior.trace.exponent))
        assert abs(posterior.log_evidence - exact.log_evidence) < 4 * posterior.log_evidence_error
    assert n_steps[0] < n_steps[1] < n_steps[2] / 3


@pytest.mark.parametrize(("sampler", "n_steps"), [("auto", None), ("auto", 7), ("paper", 5)])
def test_an_observer_hears_of_every_step_once(sampler, n_steps, seed):
    heard: list[Progress] = []
    settings = replace(SAMPLERS[sampler], n_steps=n_steps)
    trace = fit_small(seed, settings, observe=heard.append).trace
    assert [progress.step for progress in heard] == list(range(1, len(trace.exponent) + 1))
    assert all(progress.n_steps == n_steps for progress in heard)
    assert n_steps in (None, len(heard))
    for name in ("exponent", "ess", "acceptance", "n_ancestors"):
        np.testing.assert_array_equal([getattr(progress, name) for progress in heard], getattr(trace, name))
    assert np.all(np.diff(trace.exponent) > 0)
    assert trace.exponent[-1] == 1.0
    assert np.all((trace.ess > 0) & (trace.ess <= settings.n_particles * (1 + 1e-12)))
    assert np.all((trace.acceptance >= 0) & (trace.acceptance <= 1))
    assert np.all(np.diff(trace.n_ancestors) <= 0)


def test_an_observer_that_raises_stops_the_fit(seed):
    def observe(progress: Progress) -> None:
        if progress.step == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_small(seed, SAMPLERS["auto, fixed steps"], observe=observe)


def test_a_posterior_has_the_shapes_and_widths_it_says(seed):
    inputs, response = make_rows(seed, 30, 3)
    settings = Settings(n_hyperplanes=2, n_particles=40, sampler="paper", n_steps=6)
    prior = replace(quadrature.PRIOR, reach=1.1)
    posterior = fit_small(seed, settings, inputs=inputs, response=response, prior=prior)
    assert posterior.normals.shape == posterior.attends.shape == (40, 2, 3)
    assert posterior.offsets.shape == (40, 2)
    assert posterior.coefficients.shape == (40, 3)
    assert posterior.noise_variance.shape == posterior.log_weights.shape == posterior.n_active.shape == (40,)
    assert posterior.coefficients.dtype == posterior.noise_variance.dtype == np.float64
    assert all(isinstance(array, np.ndarray) for array in posterior[:8])
    assert np.exp(posterior.log_weights).sum() == pytest.approx(1)
    assert posterior.log_evidence == posterior.trace.log_evidence[-1]
    assert posterior.n_distinct == len({tuple(row) for row in posterior.offsets.tolist()})
    assert np.all((posterior.offsets > 0) & (posterior.offsets < 1.1))
    assert np.all(posterior.coefficient_variance == 1.5)
    assert np.all(posterior.intensity == 2)
    assert np.all(posterior.n_hyperplanes == 2)
    features = np.maximum(np.einsum("np,lmp->lnm", inputs, posterior.normals) - posterior.offsets[:, None], 0)
    np.testing.assert_array_equal(posterior.n_active, np.any(features > 0, axis=1).sum(axis=1))


@pytest.mark.parametrize("sampler", ["auto", "paper"])
def test_rows_count_as_often_as_their_weights_say(sampler, seed):
    """Rows that all count c times are the likelihood to the power of c."""
    exact, weights = quadrature.integrate(2.0), np.full(10, 2.0)
    runs = [fit_small(seed + repeat, SAMPLERS[sampler], row_weights=weights) for repeat in range(4)]
    for run in runs:
        assert abs(run.log_evidence - exact.log_evidence) < 4 * run.log_evidence_error
        assert run.log_evidence_error < 0.3
    means = np.mean([statistics_of(run)[:4] for run in runs], axis=0)
    assert np.all(np.abs(means - exact.means[:4]) < 0.2 * exact.scales)


def test_the_global_precision_of_jax_is_left_alone(seed):
    fit_small(seed, SAMPLERS["auto, fixed steps"])
    assert not jax.config.jax_enable_x64
    assert jax.numpy.ones(1).dtype == np.float32


class Compilations:
    """Counts what JAX compiles while it listens."""

    def __enter__(self) -> list[str]:
        self.names: list[str] = []
        jax.monitoring.register_event_duration_secs_listener(self._listen)
        return self.names

    def __exit__(self, *_) -> None:
        jax.monitoring.unregister_event_duration_listener(self._listen)

    def _listen(self, event: str, duration: float, **details) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            self.names.append(details.get("fun_name", "unknown"))


@pytest.mark.parametrize(
    ("sampler", "prior", "other"),
    [("auto", quadrature.PRIOR, {"reach": 0.8}), ("paper", quadrature.PRIOR, {"reach": 0.8}), ("auto", Prior(), {})],
)
def test_another_fit_of_the_same_shape_compiles_nothing(sampler, prior, other, seed):
    """Nor does one with a few rows more, other hyperparameters, or weights."""
    settings = Settings(n_hyperplanes=2, n_particles=150, sampler=sampler, n_steps=5)
    inputs, response = make_rows(seed, 100)
    fit_small(seed, settings, inputs=inputs, response=response, prior=prior)
    with Compilations() as compiled:
        inputs, response = make_rows(seed + 1, 103)
        hyper = {"coefficient_mean": 1.0, "coefficient_variance": 2.5, "noise_shape": 2.0, "noise_scale": 0.1} | other
        weights = np.full(103, 0.5)
        changed = replace(prior, **hyper)
        fit_small(seed + 1, settings, inputs=inputs, response=response, prior=changed, row_weights=weights)
    assert compiled == []
    with Compilations() as compiled:
        jax.jit(lambda x: x + 1.0)(1.0)
    assert len(compiled) == 1  # had anything been compiled, it would have been counted


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n_hyperplanes": 0}, "n_hyperplanes must be at least 1 or None, got 0"),
        ({"n_particles": 1}, "n_particles must be at least 2, got 1"),
        ({"n_threads": 0}, "n_threads must be at least 1, got 0"),
        ({"memory_budget": 0}, "memory_budget must be at least 1, got 0"),
        ({"n_steps": 0}, "n_steps must be at least 1 or None, got 0"),
    ],
)
def test_bad_settings_are_errors_that_name_the_value(values, message):
    with pytest.raises(ValueError, match=message):
        Settings(**{"n_hyperplanes": 2} | values)


def test_an_unknown_sampler_is_an_error_that_names_the_known_ones(seed):
    with pytest.raises(ValueError, match=r"sampler must be one of \['auto', 'paper'\], got 'gibbs'"):
        fit_small(seed, Settings(n_hyperplanes=1, sampler="gibbs"))


def test_a_bad_prior_is_an_error(seed):
    with pytest.raises(ValueError, match=r"prior\.noise_scale must be positive, got 0"):
        fit_small(seed, Settings(n_hyperplanes=1), prior=Prior(noise_scale=0.0))


def test_the_papers_sampler_needs_a_number_of_hyperplanes(seed):
    with pytest.raises(ValueError, match='sampler="paper" needs a number of hyperplanes, got n_hyperplanes=None'):
        fit_small(seed, Settings(n_hyperplanes=None, sampler="paper"))


@pytest.mark.parametrize(
    "change", [{"coefficient_shape": 1.0}, {"intercept_variance": 2.0}, {"linear_variance": 1.0}, {"inattention": 0.5}]
)
def test_the_papers_sampler_needs_a_plain_prior(change, seed):
    with pytest.raises(ValueError, match='sampler="paper" needs a prior as plain as paper_prior'):
        fit_small(seed, Settings(1, sampler="paper"), prior=replace(quadrature.PRIOR, **change))


def test_a_window_that_is_given_stays_about_the_origin(rng):
    center, prior = lay_out(rng.normal(3.0, 1.0, size=(20, 3)), np.ones(20), quadrature.PRIOR)
    np.testing.assert_array_equal(center, np.zeros(3))
    assert prior == quadrature.PRIOR


def test_the_window_is_the_ellipsoid_of_a_few_deviations_about_the_weighted_mean(rng):
    """Its support is so many standard deviations of the rows along any normal."""
    inputs = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)) + [1.0, -2.0, 30.0]
    weights = rng.uniform(0.1, 3.0, size=200)
    center, prior = lay_out(inputs, weights, Prior())
    np.testing.assert_allclose(center, np.average(inputs, axis=0, weights=weights), rtol=1e-12)
    normals = rng.normal(size=(30, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    covariance = np.cov(inputs.T, aweights=weights, bias=True)
    expected = DEVIATIONS * np.sqrt(np.einsum("ki,ij,kj->k", normals, covariance, normals))
    with jax.enable_x64(True):
        np.testing.assert_allclose(support(jnp.asarray(normals), prior.reach), expected, rtol=1e-9)
    assert replace(prior, reach=0.0) == Prior()


@pytest.mark.parametrize("inputs", [np.column_stack([np.arange(9.0), np.full(9, 7.0)]), np.full((5, 2), 3.0)])
def test_columns_that_are_constant_leave_a_window_of_some_size(inputs):
    center, prior = lay_out(inputs, np.ones(len(inputs)), Prior())
    np.testing.assert_allclose(center, inputs.mean(axis=0), rtol=1e-12)
    assert np.all(np.isfinite(prior.reach))
    assert np.all(np.linalg.svd(prior.reach, compute_uv=False) > 0)


def test_a_bad_prior_lays_nothing_out():
    with pytest.raises(ValueError, match=r"prior\.reach must not be negative, got -1"):
        lay_out(np.zeros((2, 1)), np.ones(2), Prior(reach=-1.0))


@pytest.mark.parametrize("numbers", [[0, 3, 1, 2], [5, 0, 4, 2], [0, 0, 0, 0]])
def test_without_empty_places_the_functions_are_the_same(numbers, rng):
    """At least one place stays."""
    n_places = max(1, *numbers)
    with jax.enable_x64(True):
        before = make_particles(rng, numbers)
        after = without_empty_places(before)
        taken, now_taken = (np.asarray(is_present(each.normals)) for each in (before, after))
    assert after.normals.shape == after.attends.shape == (4, n_places, 2)
    np.testing.assert_array_equal(now_taken, np.arange(n_places) < np.array(numbers)[:, None])
    np.testing.assert_array_equal(after.attends.sum(axis=1), (before.attends & taken[..., None]).sum(axis=1))
    inputs = rng.uniform(-1, 1, size=(9, 2))
    np.testing.assert_allclose(functions_of(after, inputs), functions_of(before, inputs), rtol=1e-12, atol=1e-12)


def test_hyperplanes_of_unknown_number_come_near_the_data_wherever_they_are(seed):
    inputs, response = make_rows(seed, 60)
    inputs = inputs @ np.array([[1.0, 0.9], [0.0, 0.3]]) + [20.0, -5.0]
    settings = Settings(n_hyperplanes=None, n_particles=SHAPE["n_particles"])
    posterior = fit_small(seed, settings, inputs=inputs, response=response, prior=Prior())
    numbers, taken = posterior.n_hyperplanes, np.any(posterior.normals != 0, axis=-1)
    np.testing.assert_array_equal(taken, np.arange(taken.shape[1]) < numbers[:, None])  # empty places come last
    assert len(np.unique(numbers)) > 1
    assert np.all(posterior.n_active <= numbers)
    assert not np.any(posterior.attends[~taken])
    assert not np.any(posterior.coefficients[:, 1:][~taken])
    normals, offsets = posterior.normals[taken], posterior.offsets[taken]
    deviations = np.sqrt(np.einsum("ki,ij,kj->k", normals, np.cov(inputs.T, bias=True), normals))
    assert np.all(np.abs(offsets - normals @ inputs.mean(axis=0)) <= DEVIATIONS * deviations * (1 + 1e-3))
    errors = np.exp(posterior.log_weights) @ functions_of(posterior, inputs) - response
    assert np.sqrt(np.mean(errors**2)) < 0.3

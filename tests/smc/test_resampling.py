import subprocess
import sys
from functools import partial

import jax
import numpy as np
import pytest
from scipy import stats

from hyperplanes.smc import RESAMPLERS, normalise, resample
from hyperplanes.smc.resampling import resampler
from p_values import LEVEL

N_REPEATS = 4000
WEIGHTS = {
    "falling": np.array([0.42, 0.21, 0.16, 0.11, 0.06, 0.03, 0.01]),
    "rising": np.array([0.01, 0.02, 0.05, 0.12, 0.2, 0.25, 0.35]),
    "with zeros": np.array([0.0, 0.37, 0.0, 0.08, 0.45, 0.1, 0.0]),
    "one": np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
    "equal": np.full(7, 1 / 7),
}


@partial(jax.jit, static_argnames="scheme")
def draw_many(keys: jax.Array, weights: np.ndarray, scheme: str) -> jax.Array:
    return jax.vmap(lambda key: resampler(scheme)(key, weights, num_samples=len(weights)))(keys)


def counts_of_many(key: jax.Array, weights: np.ndarray, scheme: str) -> np.ndarray:
    """How often each index was drawn, (N_REPEATS, n)."""
    drawn = np.asarray(draw_many(jax.random.split(key, N_REPEATS), weights, scheme))
    return (drawn[:, :, None] == np.arange(len(weights))).sum(axis=1)


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("scheme", RESAMPLERS)
def test_expected_number_of_offspring_is_proportional_to_the_weight(scheme, name, key):
    weights = WEIGHTS[name]
    counts = counts_of_many(key, weights, scheme)
    assert np.all(counts.sum(axis=1) == 7)
    assert np.all(counts[:, weights == 0] == 0)
    errors = counts.std(axis=0) / np.sqrt(N_REPEATS) + 1e-12
    assert np.all(np.abs(counts.mean(axis=0) - 7 * weights) < stats.norm.isf(LEVEL / 14) * errors + 1e-9)


@pytest.mark.parametrize("scheme", RESAMPLERS)
def test_schemes_vary_no_more_than_independent_draws(scheme, key):
    weights = WEIGHTS["falling"]
    variances = counts_of_many(key, weights, scheme).var(axis=0)
    multinomial = 7 * weights * (1 - weights)
    if scheme == "multinomial":
        np.testing.assert_allclose(variances, multinomial, rtol=0.25)
    else:
        assert np.all(variances < multinomial * 1.1)
        assert variances.sum() < 0.6 * multinomial.sum()


def test_systematic_counts_are_the_expected_ones_rounded_up_or_down(key):
    for weights in WEIGHTS.values():
        counts = counts_of_many(key, weights, "systematic")
        assert np.all(np.abs(counts - 7 * weights) < 1 + 1e-9)


@pytest.mark.parametrize("scheme", RESAMPLERS)
def test_log_weights_need_not_be_normalised(scheme, key):
    log_weights = np.log(WEIGHTS["falling"])
    drawn = resample(key, log_weights, scheme)
    assert drawn.shape == (7,)
    assert drawn.dtype == np.int64
    np.testing.assert_array_equal(drawn, resample(key, log_weights - 5000.0, scheme))
    np.testing.assert_array_equal(drawn, resample(key, normalise(log_weights), scheme))


@pytest.mark.parametrize("scheme", RESAMPLERS)
def test_resample_draws_by_weight_in_either_precision(scheme, key):
    """Single precision is what a caller has who did not ask JAX for more."""
    log_weights = np.log(WEIGHTS["rising"])
    for wide in (False, True):
        with jax.enable_x64(wide):
            drawn = np.concatenate([resample(k, log_weights, scheme) for k in jax.random.split(key, 300)])
        counts = np.bincount(drawn, minlength=7)
        np.testing.assert_allclose(counts / len(drawn), WEIGHTS["rising"], atol=0.05)


def test_an_unknown_scheme_is_an_error_that_names_the_known_ones(key):
    with pytest.raises(ValueError, match=r"scheme must be one of .*systematic.*, got 'bootstrap'"):
        resample(key, np.zeros(3), "bootstrap")


def test_importing_the_library_leaves_accelerators_alone():
    code = "import hyperplanes; from jax._src import xla_bridge; assert not xla_bridge.backends_are_initialized()"
    subprocess.run([sys.executable, "-c", code], check=True)

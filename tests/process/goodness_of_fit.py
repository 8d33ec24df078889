"""P-values that the statistical tests of the process share."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from hyperplanes.process import Hyperplanes, Realisations, to_numpy

ALPHA = 1e-4
"""Level of every test: with fixed seeds they either always pass or always fail, and few of them fail by bad luck."""


def sample_on_host(process, key, n_realisations):
    """Realisations as NumPy arrays: their sizes are random, and JAX would compile each test anew for its size."""
    hyperplanes, owners, _ = process.sample_many(key, n_realisations)
    return Realisations(to_numpy(hyperplanes), np.asarray(owners), n_realisations)


def isotropic(seed, n_hyperplanes, dimension, radius=1.0):
    """Hyperplanes that hit a ball, facing both ways, drawn and kept in NumPy as double precision."""
    rng = np.random.default_rng(seed)
    normals = rng.normal(size=(n_hyperplanes, dimension))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return Hyperplanes(normals, rng.uniform(-radius, radius, n_hyperplanes))


def poisson_p_value(counts: ArrayLike, mean: float) -> float:
    """Smallest of three p-values (total, dispersion, whole distribution) for counts ~ Poisson(mean), times three."""
    values = np.asarray(counts)
    total = two_sided(stats.poisson(values.size * mean), values.sum())
    dispersion = two_sided(stats.chi2(values.size - 1), ((values - values.mean()) ** 2).sum() / values.mean())
    return 3 * min(total, dispersion, _shape_p_value(values, mean))


def independence_p_value(first: ArrayLike, second: ArrayLike) -> float:
    """Smaller p-value of the rank correlation and of a chi-square test on a coarse table, times two."""
    first, second = np.asarray(first), np.asarray(second)
    rank = stats.spearmanr(first, second).pvalue
    table = stats.contingency.crosstab(_coarse(first), _coarse(second)).count
    return 2 * min(rank, stats.chi2_contingency(table).pvalue)


def uniform_p_value(values: ArrayLike, high: float) -> float:
    return stats.kstest(np.asarray(values, dtype=np.float64), stats.uniform(0, high).cdf).pvalue


def mean_p_value(values: ArrayLike, mean: float) -> float:
    """Of the mean of many independent values with finite variance."""
    return stats.ttest_1samp(np.asarray(values, dtype=np.float64), mean).pvalue


def two_sided(distribution: stats.rv_continuous, value: float) -> float:
    return min(1.0, 2 * min(distribution.cdf(value), distribution.sf(value - 1e-9)))


def _shape_p_value(counts: np.ndarray, mean: float) -> float:
    inner = np.arange(int(stats.poisson(mean).ppf(0.01)) + 1, int(stats.poisson(mean).ppf(0.99)))
    bins = np.concatenate([[-1], inner, [10**9]])
    observed = np.histogram(counts, bins=bins + 0.5)[0]
    expected = counts.size * np.diff(stats.poisson(mean).cdf(bins))
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


def _coarse(counts: np.ndarray) -> np.ndarray:
    return np.digitize(counts, np.unique(np.quantile(counts, [0.25, 0.5, 0.75])))

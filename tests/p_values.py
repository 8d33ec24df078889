"""P-values that statistical tests share; each is corrected for the number of comparisons that it makes."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

LEVEL = 1e-4
"""Of every statistical test. Seeds are fixed, so that a test always passes or never, and few fail by bad luck."""


def mean_p_value(values: ArrayLike, expected: float) -> float:
    """Of the mean of many independent values with finite variance."""
    return float(stats.ttest_1samp(np.asarray(values, dtype=np.float64), expected).pvalue)


def standard_normal_p_value(sample: np.ndarray) -> float:
    """Of draws (n, d) being N(0, I): every column, and every product of two."""
    n_columns = sample.shape[1]
    found = [stats.kstest(column, stats.norm.cdf).pvalue for column in sample.T]
    for i in range(n_columns):
        found += [mean_p_value(sample[:, i] * sample[:, j], float(i == j)) for j in range(i + 1)]
    return min(1.0, len(found) * min(found))


def same_distribution_p_value(first: np.ndarray, second: np.ndarray) -> float:
    """Of two samples (n, d) having the same distribution, column by column: shape, mean and second moment."""
    found = []
    for one, other in zip(first.T, second.T, strict=True):
        found.append(stats.ks_2samp(one, other, method="asymp").pvalue)
        found += [_same_mean_p_value(one, other), _same_mean_p_value(one**2, other**2)]
    return min(1.0, len(found) * min(found))


def _same_mean_p_value(first: np.ndarray, second: np.ndarray) -> float:
    """Of two large samples; constants are equal or not."""
    gap, variance = first.mean() - second.mean(), first.var() / len(first) + second.var() / len(second)
    return float(2 * stats.norm.sf(abs(gap) / np.sqrt(variance))) if variance > 1e-25 else float(abs(gap) < 1e-10)

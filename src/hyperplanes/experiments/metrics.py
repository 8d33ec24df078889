"""Scores of predictions and of intervals."""

import numpy as np
from numpy.typing import ArrayLike


def rmse(truth: ArrayLike, prediction: ArrayLike) -> float:
    """Return the root mean squared difference."""
    truth, prediction = np.asarray(truth, dtype=np.float64), np.asarray(prediction, dtype=np.float64)
    _check_same_shape(truth.shape, prediction.shape)
    return float(np.sqrt(np.mean(np.square(truth - prediction))))


def coverage(truth: ArrayLike, interval: ArrayLike) -> float:
    """Return the share of `truth`, (n_rows,), inside its closed interval, (n_rows, 2)."""
    truth, interval = np.asarray(truth, dtype=np.float64), _as_interval(interval)
    _check_same_shape(truth.shape, interval.shape[:1])
    return float(np.mean((interval[:, 0] <= truth) & (truth <= interval[:, 1])))


def mean_width(interval: ArrayLike) -> float:
    """Return the mean of high - low over the rows of `interval`, (n_rows, 2)."""
    interval = _as_interval(interval)
    return float(np.mean(interval[:, 1] - interval[:, 0]))


def crps(truth: ArrayLike, draws: ArrayLike) -> float:
    """Return the mean continuous ranked probability score E|Y - y| - E|Y - Y'| / 2 of `draws`, (n_draws, n_rows)."""
    truth, ordered = np.asarray(truth, dtype=np.float64), np.sort(np.asarray(draws, dtype=np.float64), axis=0)
    _check_same_shape(truth.shape, ordered.shape[1:])
    n_draws = len(ordered)
    gaps = 2 * np.arange(1, n_draws + 1) - n_draws - 1
    return float(np.mean(np.abs(ordered - truth).mean(axis=0) - gaps @ ordered / n_draws**2))


def _as_interval(interval: ArrayLike) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    interval = np.asarray(interval, dtype=np.float64)
    if interval.ndim != 2 or interval.shape[1] != 2:
        raise ValueError(f"interval must have shape (n_rows, 2), got {interval.shape}")
    return interval


def _check_same_shape(truth: tuple[int, ...], prediction: tuple[int, ...]) -> None:
    # Broadcasting (n,) against (n, 1) would silently average an n x n table.
    if truth != prediction:
        raise ValueError(f"truth and prediction must have the same shape, got {truth} and {prediction}")

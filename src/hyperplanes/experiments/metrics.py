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


def log_loss(classes: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the mean of -log of the probability, (n_rows, n_classes), of the class of each row, (n_rows,)."""
    chosen = np.take_along_axis(*_as_classes(classes, probabilities), axis=1)
    return float(-np.mean(np.log(np.maximum(chosen, np.finfo(np.float64).tiny))))


def brier_score(classes: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the mean over rows of the squared distance of the probabilities from 1 for the class and 0 for others."""
    shares, numbers = _as_classes(classes, probabilities)
    return float(np.mean(np.sum(shares**2, axis=1) - 2 * np.take_along_axis(shares, numbers, axis=1)[:, 0] + 1))


def reliability(
    classes: ArrayLike, probabilities: ArrayLike, n_bins: int = 10
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return, for bins of equal width of the probability of the most probable class, three sums over rows.

    (n_bins, 3): how many rows there are, that probability, and how many are of that class. Sums of several sets of rows
    can be added.
    """
    shares, numbers = _as_classes(classes, probabilities)
    confidence, hits = shares.max(axis=1), np.argmax(shares, axis=1) == numbers[:, 0]
    bins = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    sums = [np.bincount(bins, weights=each, minlength=n_bins) for each in (np.ones(len(bins)), confidence, hits)]
    return np.column_stack(sums)


def calibration_error(sums: ArrayLike) -> float:
    """Return the expected calibration error from the sums of `reliability`.

    It is the mean over rows of how far, in their bin, the mean probability is from the share of rows of that class.
    """
    counts, confidence, hits = np.asarray(sums, dtype=np.float64).T
    return float(np.sum(np.abs(confidence - hits)) / np.sum(counts))


def _as_classes(
    classes: ArrayLike, probabilities: ArrayLike
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.float64]], np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """Probabilities (n_rows, n_classes), and numbers of classes (n_rows, 1)."""
    shares, numbers = np.asarray(probabilities, dtype=np.float64), np.asarray(classes, dtype=np.int64)
    if shares.ndim != 2 or numbers.shape != shares.shape[:1]:
        raise ValueError(f"classes must be one for each row of probabilities, got {numbers.shape} and {shares.shape}")
    return shares, numbers[:, None]


def _as_interval(interval: ArrayLike) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    interval = np.asarray(interval, dtype=np.float64)
    if interval.ndim != 2 or interval.shape[1] != 2:
        raise ValueError(f"interval must have shape (n_rows, 2), got {interval.shape}")
    return interval


def _check_same_shape(truth: tuple[int, ...], prediction: tuple[int, ...]) -> None:
    # Broadcasting (n,) against (n, 1) would silently average an n x n table.
    if truth != prediction:
        raise ValueError(f"truth and prediction must have the same shape, got {truth} and {prediction}")

"""What methods and scores are called in tables and figures."""

import re

from hyperplanes.experiments.reproduction.studies import STUDIES

METRICS = {
    "train_rmse": "train RMSE",
    "test_rmse": "test RMSE",
    "fresh_rmse": "RMSE without copies",
    "test_to_truth": "RMSE to the truth",
    "test_lpd": "log density",
    "fresh_lpd": "log density without copies",
    "test_crps": "CRPS",
    "fresh_crps": "CRPS without copies",
    "train_covered": "train: 95% covers",
    "test_covered": "95% covers",
    "train_length": "train: length",
    "test_length": "length",
    "test_function_covered": "95% of f covers",
    "test_function_length": "length of f",
    "seconds": "seconds",
    "job_ratio": "seconds of a job / whole",
    "n_distinct": "distinct sets",
    "with_message": "fits with a message",
}
"""Scores in the order of the columns."""
DIGITS = {
    "test_lpd": 3,
    "fresh_lpd": 3,
    "train_covered": 3,
    "test_covered": 3,
    "seconds": 2,
    "job_ratio": 3,
    "n_distinct": 0,
    "with_message": 2,
}
"""Decimals of a score where not four."""
WITHOUT_SPREAD = ("n_distinct", "with_message")
"""Scores whose standard deviation over repeats says nothing."""
RIVAL_NAMES = {"bart": "BART", "gp": "Gaussian process", "ngboost": "NGBoost"}


def method_name(study: str, method: str) -> str:
    """Of a table's row."""
    if method in STUDIES[study].labels:
        return STUDIES[study].labels[method]
    if found := re.fullmatch(r"(ours|paper)-L(\d+)-R(\d+)", method):
        return f"{sampler_name(found[1])}, L={found[2]}, R={found[3]}"
    if unstopped(method) != method:
        return f"{method_name(study, unstopped(method))}, {method.rpartition('-')[2]} epochs"
    if found := re.fullmatch(r"(ours|paper)-(whole|decmp\d)(-paper)?", method):
        return f"{sampler_name(found[1])}, {found[2]}{' as in the paper' if found[3] else ''}"
    if method == "ours-told":
        return "ours, told |P|"
    if method == "nn-32":
        return "nn, batches of 32"
    return RIVAL_NAMES.get(method, method)


def sampler_name(sampler: str) -> str:
    """Ours or the paper's."""
    return "ours" if sampler == "ours" else "paper's sampler"


def is_rival(method: str) -> bool:
    """Whether a method is neither ours nor the paper's."""
    return method.partition("-")[0] not in ("ours", "paper")


def unstopped(method: str) -> str:
    """The method whose cell holds it: the network, for the network after some epochs."""
    found = re.fullmatch(r"(nn|nn-32)-\d{3,}", method)
    return found[1] if found else method


def of_both_parts(metric: str) -> str:
    """A score's name without training or test: what the two have in common."""
    return metric.removeprefix("train_").removeprefix("test_")

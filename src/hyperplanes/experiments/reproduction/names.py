"""What methods and scores are called in tables and figures."""

import re

METRICS = {
    "train_rmse": "train RMSE",
    "test_rmse": "test RMSE",
    "fresh_rmse": "RMSE without copies",
    "test_to_truth": "RMSE to the truth",
    "test_lpd": "log density",
    "test_crps": "CRPS",
    "train_covered": "train: 95% covers",
    "test_covered": "95% covers",
    "train_length": "train: length",
    "test_length": "length",
    "test_function_covered": "95% of f covers",
    "test_function_length": "length of f",
    "seconds": "seconds",
    "job_ratio": "seconds of a job / whole",
}
"""Scores in the order of the columns."""
DIGITS = {"seconds": 2, "job_ratio": 3, "test_lpd": 3, "train_covered": 3, "test_covered": 3}
"""Decimals of a score where not four."""
RIVAL_NAMES = {"bart": "BART", "gp": "Gaussian process", "ngboost": "NGBoost"}


def method_name(method: str) -> str:
    """Of a table's row."""
    if found := re.fullmatch(r"(ours|paper)-L(\d+)-R(\d+)", method):
        return f"{sampler_name(found[1])}, L={found[2]}, R={found[3]}"
    if unstopped(method) != method:
        return f"{method_name(unstopped(method))}, {method.rpartition('-')[2]} epochs"
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

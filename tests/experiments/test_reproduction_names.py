import pytest

from hyperplanes.experiments.reproduction.names import method_name, unstopped


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("ours", "ours"),
        ("ours-told", "ours, told |P|"),
        ("paper-L1000-R50", "paper's sampler, L=1000, R=50"),
        ("ours-decmp1-paper", "ours, decmp1 as in the paper"),
        ("nn-32", "nn, batches of 32"),
        ("nn-200", "nn, 200 epochs"),
        ("nn-32-1000", "nn, batches of 32, 1000 epochs"),
        ("svm_l", "svm_l"),
    ],
)
def test_names_of_methods(method, name):
    assert method_name("wine", method) == name


def test_xgboost_is_named_after_its_sizes():
    assert method_name("wine", "xgb") == method_name("abalone", "xgb") == "XGBoost, 40 trees, 100 bootstraps"
    assert method_name("sim4", "xgb") == "XGBoost, 40 trees, 1000 bootstraps"


def test_a_stopped_network_is_in_the_cell_of_the_whole_one():
    assert [unstopped(method) for method in ("nn-100", "nn-32-100", "nn-32", "nn")] == ["nn", "nn-32", "nn-32", "nn"]

import doctest

import pytest

from hyperplanes.estimators import classifier, regressor


@pytest.mark.parametrize("module", [classifier, regressor], ids=lambda module: module.__name__)
def test_the_example_in_the_docstring_runs(module):
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0

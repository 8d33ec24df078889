import doctest

from hyperplanes.estimators import regressor


def test_the_example_in_the_docstring_runs():
    results = doctest.testmod(regressor)
    assert results.attempted > 0
    assert results.failed == 0

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperplanes.estimators.numerals import readable


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (21_430.4, 4, "21,430"),
        (21_433.6, 4, "21,434"),
        (2024, 4, "2024"),
        (9999.96, 4, "10,000"),
        (-1234.567, 6, "-1234.57"),
        (-123_456.789, 6, "-123,457"),
        (9_999_999, 4, "9,999,999"),
        (1.2345e7, 4, "1.234e+07"),
        (0.00012345, 3, "0.000123"),
        (1.5e-5, 4, "1.5e-05"),
        (0.5, 4, "0.5"),
        (-0.0, 4, "0"),
        (100.0, 2, "100"),
    ],
)
def test_numbers_are_written_as_people_write_them(value, digits, text):
    assert readable(value, digits) == text


@given(st.floats(-1e300, 1e300), st.integers(1, 8))
def test_what_is_written_is_the_number_rounded(value, digits):
    written = float(readable(value, digits).replace(",", ""))
    assert written == pytest.approx(value, rel=0.5 * 10.0 ** (1 - digits) * (1 + 1e-9), abs=1e-300)

"""Numbers as people read them."""

from math import floor, log10

LARGEST, SMALLEST = 1e7, 1e-4
"""Beyond these a number is written as a power of ten."""
FROM_SEPARATED = 10_000
"""Thousands are set apart from here on: 2024 may be a year."""


def readable(value: float, digits: int = 4) -> str:
    """A number rounded to so many digits, or to a whole one: 21,430 rather than 2.143e+04."""
    value = float(value) + 0.0  # no minus zero
    size = abs(value)
    if size > 0 and not SMALLEST <= size < LARGEST:
        return f"{value:.{digits}g}"
    decimals = digits - 1 - floor(log10(size)) if size > 0 else 0
    text = f"{value:,.{max(decimals, 0)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text if abs(float(text.replace(",", ""))) >= FROM_SEPARATED else text.replace(",", "")

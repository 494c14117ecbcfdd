"""Format a computed number with as many digits as its error leaves."""

import math

from tutelage.papers.row import Row

DIGITS = 10  # of a number whose error is rounding only
ROUNDED_ZERO = 1e-13


def computed_text(row: Row) -> str:
    """Format the computed number of a row with its uncertainty, or return its words.

    >>> from tutelage.papers.row import unpublished
    >>> computed_text(unpublished("α_c", 45.91372021, 2e-6))
    '45.9137202 ± 2.0e-06'
    >>> computed_text(unpublished("rate", 0.49, 0.0203))
    '0.490 ± 0.020'
    >>> computed_text(unpublished("zero up to rounding", 3.179891592e-17, 0.0))
    '3e-17'
    """
    if row.words:
        return row.words
    value, error = row.computed, row.uncertainty
    if not math.isfinite(value):
        return "—"
    if abs(value) < ROUNDED_ZERO:
        return f"{value:.1g}" if value else "0"  # all its digits are rounding error
    if not error or not math.isfinite(error):
        return f"{value:.{DIGITS}g}"
    places = 1 - math.floor(math.log10(error))  # two digits of the error
    if error < 1e-4 * max(1.0, abs(value)) or not 0 <= places <= 6:
        digits = max(1, places + _before_the_point(value))
        return f"{value:.{min(digits, 15)}g} ± {error:.1e}"
    return f"{value:.{places}f} ± {error:.{places}f}"


def _before_the_point(value: float) -> int:
    return 1 + math.floor(math.log10(abs(value))) if value else 0

"""A number with a bound on its error."""

from typing import Any, NamedTuple

from tutelage._types import FloatOrArray


class Estimate(NamedTuple):
    """A number or an array of shape (...), and a bound on its absolute error."""

    value: Any
    error: Any


def number(value: FloatOrArray, error: FloatOrArray) -> Estimate:
    """Return an `Estimate` of Python floats."""
    return Estimate(float(value), float(error))

"""A number together with how wrong it may be."""

from typing import Any, NamedTuple

from tutelage._types import FloatOrArray


class Estimate(NamedTuple):
    """A number or an array of shape (...), and a bound on its absolute error."""

    value: Any
    error: Any


def number(value: FloatOrArray, error: FloatOrArray) -> Estimate:
    """An `Estimate` of plain numbers."""
    return Estimate(float(value), float(error))

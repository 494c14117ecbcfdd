"""A number together with how wrong it may be."""

from typing import Any, NamedTuple


class Estimate(NamedTuple):
    """A number or an array of shape (...), and a bound on its absolute error."""

    value: Any
    error: Any


def number(value: Any, error: Any) -> Estimate:
    """An `Estimate` of plain numbers."""
    return Estimate(float(value), float(error))

"""A number together with how wrong it may be."""

from typing import Any, NamedTuple


class Estimate(NamedTuple):
    """A number or an array of shape (...), and a bound on its absolute error."""

    value: Any
    error: Any

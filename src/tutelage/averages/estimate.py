"""A number together with how wrong it may be."""

from typing import NamedTuple

from jaxtyping import Array, Float


class Estimate(NamedTuple):
    """A Gaussian average and a bound on its absolute error, both of shape (...)."""

    value: Float[Array, "..."]
    error: Float[Array, "..."]

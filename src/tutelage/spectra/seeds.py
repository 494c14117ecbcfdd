"""Seeds of random numbers."""

from numbers import Integral
from typing import Any

from tutelage.checks import InputError


def check_seed(seed: Any) -> int:
    """A whole number of at least 0.

    >>> check_seed(7)
    7
    """
    whole = isinstance(seed, Integral) and not isinstance(seed, bool)
    if not whole or int(seed) < 0:
        raise InputError("seed", repr(seed), "it has to be a whole number of at least 0", "seed=0")
    return int(seed)

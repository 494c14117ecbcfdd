"""Seeds of random numbers."""

from numbers import Integral
from typing import Any

from tutelage._checks import InputError


def check_seed(seed: Any) -> int:
    """Validate a seed: a whole number from 0 to 2⁶³ - 1.

    >>> check_seed(7)
    7
    """
    whole = isinstance(seed, Integral) and not isinstance(seed, bool)
    if not whole or not 0 <= int(seed) < 2**63:
        allowed = "it has to be a whole number from 0 to 2⁶³ - 1"
        raise InputError("seed", repr(seed), allowed, "seed=0")
    return int(seed)

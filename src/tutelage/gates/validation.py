"""Validation of arguments of gates: noise, fields, weights of a network."""

import math
from typing import Any

import numpy as np
from jaxtyping import Array

from tutelage._checks import InputError, finite_array, finite_number, is_traced, short_repr
from tutelage._given import ArrayLike
from tutelage._jax import jnp

HINT = "beta=1.0; 0 for pure noise, math.inf for none"


def check_beta(value: Any, infinite: bool = True, hint: str = HINT) -> Any:
    """Check one β ≥ 0; ∞ is allowed only where the limit exists; traced values pass."""
    if infinite and isinstance(value, float) and value == math.inf:
        return value
    return finite_number("beta", value, at_least=0.0, hint=hint)


def check_betas(value: ArrayLike, infinite: bool = True) -> Any:
    """Check one or more β ≥ 0; traced values pass."""
    if is_traced(value):
        return value
    try:
        beta = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("beta", short_repr(value), "it has to be a number", HINT) from None
    wrong = ~(beta >= 0) | (np.isinf(beta) & (not infinite))
    if np.any(wrong) or isinstance(value, bool):
        received = f"{float(beta[wrong][0]):g}" if np.any(wrong) else repr(value)
        allowed = "it has to be at least 0" + ("" if infinite else " and finite")
        raise InputError("beta", received, allowed, HINT)
    return beta


def check_fields(value: ArrayLike) -> Array:
    """Check finite numbers of any shape; traced values pass."""
    return jnp.asarray(value if is_traced(value) else finite_array("field", value, 1e300), float)

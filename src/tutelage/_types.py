"""Annotations that several packages share."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Array, Float

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
else:
    # A function that takes numbers, lists or arrays refuses everything else with an `InputError`.
    # A check of types at run time would come before it.
    ArrayLike = Any

if TYPE_CHECKING:
    AnyArray = Array
else:
    # Outside compiled functions NumPy's arrays stand for JAX's; formulas are the same for both.
    AnyArray = Array | np.ndarray

# A number that may be traced.
Scalar = float | Float[Array, ""]

__all__ = ["AnyArray", "ArrayLike", "Scalar"]

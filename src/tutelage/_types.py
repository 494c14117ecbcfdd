"""Annotations that several packages share."""

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Array, Float

# Arrays of NumPy or of JAX, for formulas that are the same for both: outside of compiled functions
# NumPy avoids compilation. Static checkers cannot infer which of the two is returned.
if TYPE_CHECKING:
    AnyArray = Any
else:
    AnyArray = Array | np.ndarray

# A number that may be traced.
Scalar = float | Float[Array, ""]
# A number or an array of them, in NumPy or in JAX.
FloatOrArray = float | Float[AnyArray, "..."]
# `numpy` or `jax.numpy`.
ArrayModule = ModuleType

__all__ = [
    "AnyArray",
    "ArrayModule",
    "FloatOrArray",
    "Scalar",
]

"""Annotations that several packages share."""

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Array, Float

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
else:
    # Functions that take numbers, lists or arrays refuse everything else with an `InputError`,
    # which a check of annotations at run time must not anticipate.
    ArrayLike = Any

# Arrays of NumPy or of JAX, for formulas that are the same for both: outside of compiled functions
# NumPy has nothing to compile.  Static checkers cannot follow which of the two comes back.
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
    "ArrayLike",
    "ArrayModule",
    "FloatOrArray",
    "Scalar",
]

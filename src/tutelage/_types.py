"""Annotations that several packages share."""

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Array, Float

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
else:
    # Functions of numbers, lists or arrays refuse other values with an `InputError` of their own,
    # so the run-time check of annotations must accept everything here.
    ArrayLike = Any

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
    "ArrayLike",
    "ArrayModule",
    "FloatOrArray",
    "Scalar",
]

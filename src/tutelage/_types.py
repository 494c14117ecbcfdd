"""Annotations that several packages share."""

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Array, Float, Key

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike
else:
    # A function that takes numbers, lists or arrays refuses everything else with an `InputError`.
    # A check of types at run time would come before it.
    ArrayLike = Any
    # Matplotlib is imported when something is drawn.
    Axes = Any
    Figure = Any

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
# Keys of random numbers.
Keys = Key[Array, "..."]

__all__ = [
    "AnyArray",
    "ArrayLike",
    "ArrayModule",
    "Axes",
    "Figure",
    "FloatOrArray",
    "Keys",
    "Scalar",
]

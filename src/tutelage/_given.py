"""Annotations of arguments as users give them.

Functions that check an argument themselves refuse every other value with an `InputError`, which a
check of annotations at run time must not anticipate: only static checkers see these types.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    CheckedInside = Annotated[T, "checked inside the function"]
else:
    # Numbers, lists or arrays.
    ArrayLike = Any

    class CheckedInside:
        """Annotation that accepts any value at run time; the function itself checks the type."""

        def __class_getitem__(cls, kind: object) -> object:
            return Any


# A function of time, and a rate: a number, one number for each run, or a function of time.
TimeFunction = CheckedInside[Callable[[Any], Any]]
RateLike = ArrayLike | TimeFunction
# The name of a file or folder.
FileName = CheckedInside[str | os.PathLike[str]]

__all__ = ["ArrayLike", "CheckedInside", "FileName", "RateLike", "TimeFunction"]

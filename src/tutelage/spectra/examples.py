"""Examples to classify: inputs and labels, with their validation."""

from typing import NamedTuple

import numpy as np

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_array
from tutelage._given import ArrayLike
from tutelage._names import with_checked_arguments


@with_checked_arguments
class Examples(NamedTuple):
    """m inputs of n features, each with a label; `examples` makes and checks them.

    inputs: shape (m, n); labels: whole numbers 0 … classes − 1, shape (m,); name: for figures.
    """

    inputs: np.ndarray
    labels: np.ndarray
    classes: int
    name: str = "examples"

    def sizes(self, *hidden: int) -> tuple[int, ...]:
        """Layer sizes of a classifier of these examples: one output for two classes.

        >>> examples([[0.0, 1.0], [1.0, 0.0]], [0, 1]).sizes(8, 2)
        (2, 8, 2, 1)
        """
        return (self.inputs.shape[1], *hidden, 1 if self.classes == 2 else self.classes)


@validated
def examples(inputs: ArrayLike, labels: ArrayLike, name: str = "examples") -> Examples:
    """Check inputs and labels, and return them as `Examples`.

    Args:
        inputs: finite numbers, shape (m, n).
        labels: the class of each, 0, 1, …: shape (m,), or (m, 1) as MATLAB writes it.
        name: for figures and files.

    Raises:
        InputError: NaN, shapes that do not fit, labels that are not 0, 1, … with every class seen.
    """
    X = finite_array("inputs", inputs)
    if X.ndim != 2 or 0 in X.shape:
        allowed = "there have to be rows of features"
        raise InputError("inputs", f"shape {X.shape}", allowed, "an array of shape (examples, n)")
    y = _classes(labels)
    if len(y) != len(X):
        allowed = f"there are {len(X)} inputs"
        raise InputError("labels", f"{len(y)} labels", allowed, "one label for each row of inputs")
    return Examples(X, y, int(y.max()) + 1, name)


def _classes(labels: ArrayLike) -> np.ndarray:
    """Check labels: whole numbers from 0 on without gaps, at least two."""
    values = finite_array("labels", labels)
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.ndim != 1 or len(values) == 0:
        hint = "np.argmax(labels, axis=1) if a row marks the class"
        raise InputError(
            "labels", f"shape {values.shape}", "it has to be a one-dimensional array", hint
        )
    classes = np.unique(values)
    if len(classes) < 2 or not np.array_equal(classes, np.arange(len(classes))):
        listed = ", ".join(f"{value:g}" for value in classes[:6]) + (
            ", …" if len(classes) > 6 else ""
        )
        raise InputError(
            "labels",
            f"the values {listed}",
            "classes are 0, 1, …, at least two of them and none left out",
            "np.unique(labels, return_inverse=True)[1]",
        )
    return values.astype(int)

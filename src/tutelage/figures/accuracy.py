"""Errors of several methods against one parameter."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# Exact results have the error 0, which a logarithmic axis cannot show: a tenth of a rounding.
FLOOR = 2.0**-53 / 10


def accuracy(
    parameter: Sequence[float],
    errors: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    ylabel: str,
    ax: Any = None,
) -> Any:
    """Draw absolute errors on logarithmic axes, one curve for each method.

    Args:
        parameter: abscissa, positive, shape (n,).
        errors: name of the method -> its absolute errors, each of shape (n,).
        xlabel: what the parameter is, with its symbol.
        ylabel: what the error is of, with its symbol.
        ax: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.
    """
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    for name, error in errors.items():
        ax.plot(parameter, np.maximum(error, FLOOR), marker=".", label=name)
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    ax.grid(alpha=0.3)
    ax.legend()
    return ax

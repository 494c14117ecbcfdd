"""Published numbers against computed ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tutelage.figures.accuracy import FLOOR

COLOURS = {"agrees": "tab:green", "corrected": "tab:orange", "differs": "tab:red"}


def agreement(
    items: Sequence[str], errors: Sequence[float], verdicts: Sequence[str], *, ax: Any = None
) -> Any:
    """Draw |computed − published|, one line for each published number.

    Args:
        items: what each number is.
        errors: |computed − published|, shape (n,).
        verdicts: "agrees", "corrected" or "differs" for each.
        ax: Axes to draw on; a new figure when left out.

    Returns:
        The Axes drawn on.
    """
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(8.0, 1.2 + 0.2 * len(items)), layout="constrained")
    place = np.arange(len(items))
    for verdict, colour in COLOURS.items():
        chosen = np.array([v == verdict for v in verdicts], dtype=bool)
        if chosen.any():
            shown = np.maximum(np.asarray(errors, dtype=float)[chosen], FLOOR)
            ax.plot(shown, place[chosen], "o", color=colour, label=verdict)
    ax.set(xscale="log", xlabel="|computed − published|")
    ax.set_yticks(place, items, fontsize=7)
    ax.invert_yaxis()
    ax.grid(axis="x", alpha=0.3)
    ax.legend()
    return ax

"""Students in the plane, as a film (behind tian2020, Figure 2)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tutelage._checks import InputError, positive_integer
from tutelage.figures.deep import boundaries

if TYPE_CHECKING:
    from tutelage.deep.network import Network


def boundary_animation(
    path: "Network", teacher: "Network", every: int = 1, width: float = 0.6
) -> Any:
    """Film where the nodes of a student in the plane begin to fire, while it learns.

    Args:
        path: a batch of students with two inputs, such as `tutelage.deep.theorems.descent` records.
        teacher: with two inputs.
        every: how many steps lie between two of them, for the title.
        width: half the side of the square that is shown.

    Returns:
        A matplotlib Animation with a frame for each student; ``film.save("plane.gif",
        writer=PillowWriter(fps=8))`` writes it.
    """
    import matplotlib.pyplot as plt
    from matplotlib.animation import FuncAnimation

    if np.ndim(path.weights[0]) != 3 or path.widths[0] != 2:
        shape = f"weights of shape {np.shape(path.weights[0])}"
        raise InputError("path", shape, "it has to be a batch of networks with two inputs")
    positive_integer("every", every, "every=1")
    figure, axes = plt.subplots(figsize=(4.6, 4.6), layout="constrained")

    def show(frame: int) -> Any:
        axes.clear()
        boundaries(at(path, frame), teacher, width, axes)
        axes.set_title(f"step {every * frame}")
        return axes.lines

    return FuncAnimation(figure, show, frames=len(path.weights[0]), interval=125)


def at(path: "Network", record: int) -> "Network":
    """One network of a path."""
    return type(path)(tuple(W[record] for W in path.weights), tuple(b[record] for b in path.biases))

"""What does the activation change in how a committee learns?

Three students learn from three teachers with nine activations, from the same start and with the
learning rate η = 0.5.  All have a plateau; its height and its length differ.  The left panel has
activations that are linear plus an even function.  The right panel has odd ones, and the sigmoid,
which is odd up to a constant.  Softplus, erf and sigmoid are still on their plateaus at α = 200.
Writes activations_online.csv to docs/pictures and draws it as activations_online.png:

    python examples/10_activations_online.py [FOLDER]
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import tutelage as tl
from tutelage.figures.line_styles import DASHES
from tutelage.figures.style import colour, new_panels
from tutelage.figures.text import finish

EVEN = {
    "ReLU": tl.ReLU(),
    "leaky ReLU, slope 0.2": tl.LeakyReLU(0.2),
    "GELU": tl.GELU(),
    "Swish": tl.Swish(),
    "softplus": tl.Softplus(),
}
ODD = {
    "erf": tl.Erf(),
    "tanh": tl.Tanh(),
    "sin": tl.Activation.from_function(jnp.sin, parity="odd"),
    "sigmoid": tl.Sigmoid(),
}
RATE, UNTIL = 0.5, 200.0
TIMES = np.concatenate([[0.0], np.geomspace(0.1, UNTIL, 200)])


def curve(g: tl.Activation) -> np.ndarray:
    three = tl.Committee(3, g)
    scenario = tl.Scenario(three, three)
    start = tl.Overlaps(Q=np.diag([0.1, 0.15, 0.2]), R=1e-3 * np.eye(3), T=scenario.T)
    run = tl.online.evolve(scenario, start, RATE, until=UNTIL, times=TIMES, tolerance=1e-8)
    return run["generalization_error"].reindex(time=TIMES).values


def save(curves: dict[str, np.ndarray], file: Path) -> None:
    """The error over time, one column for each activation."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["time", *(name.replace(",", "") for name in curves)])
        for time, *errors in zip(TIMES, *curves.values(), strict=True):
            writer.writerow([f"{time:.6g}", *(f"{error:.4e}" for error in errors)])


def draw(curves: dict[str, np.ndarray]) -> plt.Figure:
    with tl.figures.style():
        panels = new_panels(2, sharey=True)
        titles = ("linear plus even", "odd, and a constant for the sigmoid")
        for axes, names, title in zip(panels, (EVEN, ODD), titles, strict=True):
            for number, name in enumerate(names):
                style = {"color": colour(number), "linestyle": DASHES[number], "label": name}
                axes.loglog(TIMES[1:], curves[name][1:], **style)
            axes.set(xlabel=r"$\alpha$", ylim=(1e-6, 2), title=title)
            finish(axes, below=True)
        panels[0].set_ylabel(r"$\varepsilon_g$")
    return panels[0].figure


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    curves = {name: curve(g) for name, g in (EVEN | ODD).items()}
    save(curves, folder / "activations_online.csv")
    draw(curves).savefig(folder / "activations_online.png", dpi=150)


if __name__ == "__main__":
    main()

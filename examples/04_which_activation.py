"""Which activation lets hidden units specialize smoothly?

In equilibrium a student of K units needs a load α (examples per weight, times the inverse
temperature) before its units specialize.  For erf the specialized state appears long before the
unspecialized state disappears.  For the ReLU both happen at almost the same load.  The kernel of
the activation decides this.  The figure shows the size of the jump in R - S against K.  Writes
which_activation.csv to docs/pictures and draws it as which_activation.png:

    python examples/04_which_activation.py [FOLDER]
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")


import numpy as np

import tutelage as tl
from tutelage.figures.style import colour, new_panels
from tutelage.figures.text import finish

ACTIVATIONS = {
    "erf": tl.Erf(),
    "tanh": tl.Tanh(),
    "softplus": tl.Softplus(),
    "GELU": tl.GELU(),
    "Swish": tl.Swish(),
    "ReLU": tl.ReLU(),
}
UNITS = (2, 3, 4, 5, 7, 10, 20, 50, 100, 1000)


def compute() -> dict[str, list[float]]:
    """The jump of |R - S| where the specialized state wins, for every K."""
    return {
        name: [float(tl.equilibrium.transitions(g, K).jump or 0.0) for K in UNITS]
        for name, g in ACTIVATIONS.items()
    }


def save(jumps: dict[str, list[float]], file: Path) -> None:
    """One column for each activation."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["K", *jumps])
        for row, K in enumerate(UNITS):
            writer.writerow([K, *(f"{values[row]:.6f}" for values in jumps.values())])


def draw(jumps: dict[str, list[float]], file: Path) -> None:
    with tl.figures.style():
        panels = new_panels(2)
        for axes, scale in zip(panels, ("linear", "log"), strict=True):
            for number, (name, values) in enumerate(jumps.items()):
                style = {"color": colour(number), "marker": "os^vDP"[number], "fillstyle": "none"}
                drawn = np.where(np.array(values) > 0, values, np.nan) if scale == "log" else values
                axes.plot(UNITS, drawn, label=name, **style)
            axes.set(xlabel="$K$", ylabel=r"$|R - S|$ at $\alpha_c$", xscale="log", yscale=scale)
            finish(axes, below=True)
        panels[0].figure.suptitle("Jump of the specialization at the transition")
    panels[0].figure.savefig(file, dpi=150)


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    jumps = compute()
    save(jumps, folder / "which_activation.csv")
    draw(jumps, folder / "which_activation.png")


if __name__ == "__main__":
    main()

"""Does an orthogonalized gradient leave the plateau sooner?

Two erf students learn from two teachers in steps with N fresh examples each.  Every optimizer has
the constant learning rate with which it leaves the plateau in the fewest steps.  Units on the
plateau are nearly equal: the gradient is large along their sum and small along their difference.
Muon makes both steps equally long, and the difference (right) grows faster.  Because each of its
steps has the same length, it does not settle: the error stays at a level that the rate determines.
Writes optimizers_on_the_plateau.csv to docs/pictures and draws it as a PNG file:

    python examples/17_optimizers_on_the_plateau.py [FOLDER]
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import tutelage as tl
from tutelage.figures.line_styles import DASHES
from tutelage.figures.style import colour, new_panels
from tutelage.figures.text import finish

TWO = tl.Committee(2, tl.Erf())
SCENARIO = tl.Scenario(student=TWO, teacher=TWO)
START = tl.Overlaps(Q=np.diag([0.2, 0.3]), R=0.02 * np.eye(2), T=np.eye(2))
STEPS = 200
RATES = {  # the best of 25 for one example per input
    "plain": (tl.optimizers.Plain(), 1.07),
    "momentum": (tl.optimizers.Momentum(0.9), 0.095),
    "normalized": (tl.optimizers.Normalized(), 0.095),
    "Muon": (tl.optimizers.Muon(), 0.134),
}


def difference(run: xr.Dataset) -> np.ndarray:
    """|R_1 - R_2|, which has to grow before the students leave the plateau."""
    apart = run["R"].isel(student=0) - run["R"].isel(student=1)
    return np.asarray(np.sqrt((apart**2).sum("teacher")))


def save(runs: dict[str, xr.Dataset], file: Path) -> None:
    """The error after every step, one column for each optimizer."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["step", *runs])
        columns = [run["generalization_error"].values for run in runs.values()]
        for step, *errors in zip(range(STEPS + 1), *columns, strict=True):
            writer.writerow([step, *(f"{error:.4e}" for error in errors)])


def draw(runs: dict[str, xr.Dataset]) -> plt.Figure:
    """The error, and the difference of the students."""
    with tl.figures.style():
        left, right = new_panels(2)
        for number, (name, run) in enumerate(runs.items()):
            style = {"color": colour(number), "linestyle": DASHES[number], "label": name}
            left.semilogy(run["generalization_error"].values, **style)
            right.semilogy(difference(run), **style)
        left.set(xlabel="steps", ylabel=r"$\varepsilon_g$")
        right.set(xlabel="steps", ylabel=r"$|\mathbf{R}_1 - \mathbf{R}_2|$")
        for axes in (left, right):
            finish(axes, below=True)
    return left.figure


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    runs = {
        name: tl.online.iterate(SCENARIO, START, rate, steps=STEPS, batch=1.0, optimizer=optimizer)
        for name, (optimizer, rate) in RATES.items()
    }
    save(runs, folder / "optimizers_on_the_plateau.csv")
    draw(runs).savefig(folder / "optimizers_on_the_plateau.png", dpi=150)
    for name, run in runs.items():
        below = np.flatnonzero(run["generalization_error"].values < 0.0058)
        print(f"{name}: half the plateau after {below[0] if len(below) else 'more'} steps")


if __name__ == "__main__":
    main()

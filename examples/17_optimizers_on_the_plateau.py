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

TWO = tl.Committee(2, tl.Erf())
SCENARIO = tl.Scenario(student=TWO, teacher=TWO)
START = tl.Overlaps(Q=np.diag([0.2, 0.3]), R=0.02 * np.eye(2), T=np.eye(2))
STEPS = 200
RATES = {  # the best of 25 for one example per input
    "plain": (tl.optimizers.Plain(), 1.07),
    "momentum": (tl.optimizers.Momentum(0.9), 0.095),
    "normalized": (tl.optimizers.Normalized(), 0.095),
    "muon": (tl.optimizers.Muon(), 0.134),
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
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 3.8), layout="constrained")
    for name, run in runs.items():
        left.semilogy(run["generalization_error"].values, label=name)
        right.semilogy(difference(run), label=name)
    left.set(xlabel="steps", ylabel=r"$\varepsilon_g$")
    right.set(xlabel="steps", ylabel=r"$|R_1 - R_2|$")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    return figure


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

"""Does a schedule of the learning rate beat the best constant one?

Two ReLU students learn from two teachers with T = diag(1, 2), the setting of citton2025.  They
should reach the error 1e-4 as soon as possible.  The best constant learning rate, η = 0.93, reaches
it at α = 92.6.  A schedule with one switch is a tenth faster: a small learning rate while the
students find what the teachers have in common, then a large one to leave the plateau.  After a slow
start the students differ more at the beginning of the plateau (right), and this difference has to
grow before they leave it.  Writes learning_rate_schedule.csv to docs/pictures and draws it as
learning_rate_schedule.png:

    python examples/09_learning_rate_schedule.py [FOLDER]
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

TWO = tl.Committee(2, tl.ReLU())
SCENARIO = tl.Scenario(student=TWO, teacher=TWO, teacher_overlaps=[[1, 0], [0, 2]])
START = tl.Overlaps(Q=[[0.1, 0], [0, 0.2]], R=[[1e-3, 0], [0, 1e-3]], T=SCENARIO.T)
ERROR, BOUNDS, UNTIL = 1e-4, (0.1, 1.2), 100.0
TIMES = np.linspace(0.0, UNTIL, 401)


def save(runs: dict[str, xr.Dataset], file: Path) -> None:
    """The error over time, one column for each run."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["time", *runs])
        columns = [run["generalization_error"].values for run in runs.values()]
        for time, *errors in zip(TIMES, *columns, strict=True):
            writer.writerow([f"{time:g}", *(f"{error:.4e}" for error in errors)])


def draw(runs: dict[str, xr.Dataset]) -> plt.Figure:
    """Draw the error, and the distance of the students, which has to grow to leave the plateau."""
    with tl.figures.style():
        left, right = new_panels(2)
        for number, (name, run) in enumerate(runs.items()):
            style = {"color": colour(number), "linestyle": DASHES[number], "label": name}
            left.semilogy(TIMES, run["generalization_error"], **style)
            distance = run["R"].isel(student=0) - run["R"].isel(student=1)
            right.semilogy(TIMES, np.sqrt((distance**2).sum("teacher")), **style)
        left.axhline(ERROR, color="0.4", linestyle=":")
        left.set(xlabel=r"$\alpha$", ylabel=r"$\varepsilon_g$", ylim=(3e-5, 2))
        right.set(xlabel=r"$\alpha$", ylabel=r"$|\mathbf{R}_1 - \mathbf{R}_2|$")
        finish(left)
        finish(right)
    return left.figure


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    best = tl.online.best_schedule(SCENARIO, START, ERROR, pieces=2, bounds=BOUNDS)
    constant = float(best.constant.learning_rate.value)
    slow, fast = (float(rate) for rate in best.schedule.rates)
    switch = float(best.schedule.switches[0])
    rates = {
        "best constant rate": constant,
        "best rate with one switch": best.schedule,
        "the slow start alone": slow,
    }
    runs = {
        name: tl.online.evolve(SCENARIO, START, rate, until=UNTIL, times=TIMES)
        for name, rate in rates.items()
    }
    save(runs, folder / "learning_rate_schedule.csv")
    draw(runs).savefig(folder / "learning_rate_schedule.png", dpi=150)
    print(f"constant: η = {constant:.3f}, error {ERROR:g} at α = {best.constant.time.value:.2f}")
    print(f"switched: η = {slow:.3f} up to α = {switch:.2f}, then {fast:.3f};", end=" ")
    print(f"α = {best.time.value:.2f}")


if __name__ == "__main__":
    main()

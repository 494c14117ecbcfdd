"""Where does gradient descent end, and does the size of the first weights matter?

Twelve ReLU students learn from twelve teachers in the limit η → 0.  Many starts end in minima with
anti-aligned students instead of the solution.  Starts of three sizes are compared.  Writes
where_descent_ends.csv to docs/pictures and draws it as where_descent_ends.png:

    python examples/15_where_descent_ends.py [FOLDER]
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

SCALES = (0.1, 1.0, 3.0)
STARTS = 128
TWELVE = tl.Committee(12, tl.ReLU())
SCENARIO = tl.Scenario(student=TWELVE, teacher=TWELVE)


def reached(scale: float) -> xr.Dataset:
    """The minima in which some start ends."""
    levels = tl.online.landscape(SCENARIO, starts=STARTS, scale=scale)
    return levels.isel(level=levels["runs"].values > 0)


def save(minima: list[xr.Dataset], file: Path) -> None:
    """One row for each scale and minimum."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["scale", "error", "share", "standard error"])
        for scale, levels in zip(SCALES, minima, strict=True):
            for error, share, width in zip(
                levels["generalization_error"].values,
                levels["share"].values,
                levels["share_error"].values,
                strict=True,
            ):
                writer.writerow([scale, f"{error:.10f}", f"{share:.6f}", f"{width:.6f}"])


def draw(minima: list[xr.Dataset], file: Path) -> None:
    """Ladders of minima, one for each scale."""
    with tl.figures.style("screen"):
        figure, panels = plt.subplots(1, len(SCALES), figsize=(13, 4), layout="constrained")
        top = max(float(levels["generalization_error"].max()) for levels in minima)
        for panel, scale, levels in zip(panels, SCALES, minima, strict=True):
            panel.set(title=f"norms of {scale:g} at the start", ylim=(-0.05 * top, 1.08 * top))
            tl.figures.landscape(levels, axes=panel)
        figure.savefig(file)
        plt.close(figure)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    minima = [reached(scale) for scale in SCALES]
    save(minima, folder / "where_descent_ends.csv")
    draw(minima, folder / "where_descent_ends.png")
    for scale, levels in zip(SCALES, minima, strict=True):
        solved = float(np.sum(levels["share"].values[levels["family"].values == "solution"]))
        print(f"norms of {scale:g}: {100 * solved:.0f} % of the starts reach the solution")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs/pictures")

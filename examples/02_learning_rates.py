"""What does a larger learning rate do to the plateau?

Two ReLU students learn from two teachers with T = diag(1, 2), the setting of citton2025.  At first
both students learn what the teachers have in common, and stay on a plateau of the error until they
specialize.  A larger learning rate η lifts the plateau.  It shortens the plateau only up to a
certain rate: beyond η = 1.217 the error rises before it falls, and beyond η = 1.258 the weights
grow without bound.  Writes learning_rates.csv to docs/pictures and draws it as learning_rates.png:

    python examples/02_learning_rates.py [FOLDER]
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import xarray as xr

import tutelage as tl

RATES = np.array([0.3, 0.6, 0.9, 1.2, 1.24, 1.255])


def compute() -> xr.Dataset:
    """One run for each learning rate, all in one call."""
    two = tl.Committee(2, tl.ReLU())
    scenario = tl.Scenario(student=two, teacher=two, teacher_overlaps=[[1, 0], [0, 2]])
    start = tl.Overlaps(Q=[[0.1, 0], [0, 0.2]], R=[[1e-3, 0], [0, 1e-3]], T=scenario.T)
    times = np.linspace(0.0, 160.0, 161)
    return tl.online.evolve(scenario, start, learning_rate=RATES, until=160.0, times=times)


def save(runs: xr.Dataset, file: Path) -> None:
    """One column for each learning rate."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["time", *(f"eta = {rate:g}" for rate in RATES)])
        for time, errors in zip(
            runs["time"].values, runs["generalization_error"].values.T, strict=True
        ):
            writer.writerow([f"{time:g}", *(f"{error:.6e}" for error in errors)])


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    runs = compute()
    save(runs, folder / "learning_rates.csv")
    axes = tl.figures.error(runs)
    axes.set_ylim(1e-4, 10)
    axes.set_title("two ReLU students, teachers of norms² 1 and 2")
    axes.figure.savefig(folder / "learning_rates.png", dpi=150)


if __name__ == "__main__":
    main()

"""Does a student that has seen enough examples specialize at once?

Five erf units do not.  Weights of N = 1500 inputs are drawn from the Gibbs density at a load that
grows and then falls again (oostwal2019, Sec. III A).  Beyond α_c = 45.9 the specialized state is
the better one, but the weights stay unspecialized far beyond this load, until the unspecialized
state disappears.  On the way down they stay specialized to α_s = 44.3.  The lines are the minima of
the free energy, which the sampling does not use.  Writes hysteresis.csv to docs/pictures and draws
it as hysteresis.png:

    python examples/07_hysteresis.py [FOLDER]
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import xarray as xr

import tutelage as tl

K = 5
LOADS = np.arange(36.0, 77.0, 4.0)


def compute() -> xr.Dataset:
    """Four runs, up and down."""
    five = tl.Committee(K, tl.Erf())
    scenario = tl.Scenario(five, five, output_scale=K**-0.5)
    return tl.equilibrium.hysteresis(scenario, LOADS, dimension=1500, sweeps=60, runs=4)


def minima() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """R - S of the two stable branches over the load."""
    curve = tl.equilibrium.learning_curve(tl.Erf(), K, np.linspace(34.0, 78.0, 441))
    branches = {}
    for number, kind in enumerate(curve["kind"].values):
        states = curve.isel(branch=number)
        if bool(states["stable"].any()):
            values = (states["R"] - states["S"]).where(states["stable"]).values
            branches[f"minimum, {kind}"] = (curve["load"].values, values)
    return branches


def save(found: xr.Dataset, file: Path) -> None:
    """R - S, one column for each way and run."""
    table = found["specialization"].transpose("load", "direction", "run").values
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        runs = range(1, found.sizes["run"] + 1)
        writer.writerow(["load", *(f"{way} {run}" for way in ("up", "down") for run in runs)])
        for load, row in zip(found["load"].values, table, strict=True):
            writer.writerow([f"{load:g}", *(f"{value:.4f}" for value in row.ravel())])


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    result = compute()
    save(result, folder / "hysteresis.csv")
    axes = tl.figures.hysteresis(result, theory=minima())
    axes.set_title("five erf units, 1500 inputs")
    axes.figure.savefig(folder / "hysteresis.png", dpi=150)


if __name__ == "__main__":
    main()

"""Which learning rate and weight decay leave the smallest error, and for which units?

Two students learn from two orthogonal teachers, with noise on the labels, until α = 100.  One call
of `tl.sweeps.run` computes all learning rates, weight decays and three kinds of units.  ReLU units
are best at a rate of about 0.4; their remaining error comes from the noise, which grows with the
rate.  Erf units need a larger rate.  Leaky units, closer to linear, do not get below 0.02 at any
rate by then.  A decay of less than 0.001 hardly matters, and a decay of 0.1 costs much.  Norms grow
without bound where the picture is grey.  Writes rate_and_decay.csv to docs/pictures and draws it as
rate_and_decay.png:

    python examples/12_rate_and_decay.py [FOLDER]
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import xarray as xr

import tutelage as tl

RATES = np.linspace(0.1, 2.1, 21)
DECAYS = np.array([0.0, 1e-4, 1e-3, 1e-2, 1e-1])
UNITS = [tl.ReLU(), tl.LeakyReLU(0.5), tl.Erf()]


def compute() -> xr.Dataset:
    """The last error of each run."""
    two = tl.Committee(2, tl.ReLU())
    scenario = tl.Scenario(two, two, label_noise=0.1)
    start = tl.Overlaps(Q=[[0.2, 0], [0, 0.3]], R=[[1e-2, 0], [0, 1e-2]], T=scenario.T)
    return tl.sweeps.run(
        tl.online.evolve,
        over={"learning_rate": RATES, "weight_decay": DECAYS, "activation": UNITS},
        scenario=scenario,
        start=start,
        until=100.0,
        times=np.linspace(0.0, 100.0, 11),
        keep=tl.sweeps.last("generalization_error"),
        workers=1,  # the default is one process for each core
    )


def save(study: xr.Dataset, file: Path) -> None:
    """A row for each rate and decay, a column for each kind of units; -1 where norms diverge."""
    errors = study["generalization_error"].where(study["outcome"] != "diverged", -1.0)
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["learning_rate", "weight_decay", *study["activation"].values])
        for rate in RATES:
            for decay in DECAYS:
                row = errors.sel(learning_rate=rate, weight_decay=decay).values
                writer.writerow([f"{rate:g}", f"{decay:g}", *(f"{error:.6e}" for error in row)])


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    study = compute()
    save(study, folder / "rate_and_decay.csv")
    axes = tl.figures.sweep(study)
    axes[0].figure.suptitle("Error at the end, label noise 0.1")
    axes[0].figure.savefig(folder / "rate_and_decay.png", dpi=150)


if __name__ == "__main__":
    main()

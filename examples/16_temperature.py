"""How many examples does a student need, and does noise in the training help?

Infinitely many ReLU units learn examples with noisy labels (ς = 0.3) at a temperature T.  The first
picture has the phases over T and the examples per weight, α̃ = P/(KN).  The second has the overlap
R with the teacher at four temperatures.  At T = ς² = 0.09 the student samples the posterior of the
teacher.  A colder student is closer to the teacher, as long as replica symmetry is stable (thick
lines).  The data have both errors, next to those of sampled networks of four units.  Writes
temperature.csv to docs/pictures, and draws temperature.png:

    python examples/16_temperature.py [FOLDER]
"""

import csv
import math
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import xarray as xr

import tutelage as tl
from tutelage.figures.style import new_panels

UNIT, NOISE, K, N, LOAD = tl.ReLU(), 0.3, 4, 40, 5.0
TEMPERATURES = (0.0, 0.02, 0.09, 0.3)
LOADS = np.linspace(0.0, 5.0, 126)


def diagram() -> xr.Dataset:
    """Phases over temperature and load."""
    return tl.sweeps.run(
        tl.equilibrium.phases,
        {"temperature": np.geomspace(0.01, 1.0, 25)},
        activation=UNIT,
        units=math.inf,
        loads=np.linspace(0.1, 6.0, 60),
        label_noise=NOISE,
        workers=1,
    )


def curves() -> list[xr.Dataset]:
    """States over the load at four temperatures."""
    setting = {"label_noise": NOISE}
    return [
        tl.equilibrium.learning_curve(UNIT, math.inf, LOADS, temperature=T, **setting)
        for T in TEMPERATURES
    ]


def sampled(temperature: float, load: float) -> xr.Dataset:
    """Networks of four units that learn drawn examples, from the teacher on."""
    committee = tl.Committee(K, UNIT)
    scenario = tl.Scenario(committee, committee, output_scale=K**-0.5, label_noise=NOISE)
    return tl.equilibrium.sample(
        scenario,
        examples=round(load * K * N),
        temperature=temperature,
        dimension=N,
        sweeps=100,
        runs=4,
        start="teacher",
    )


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    axes = new_panels(2, (10.5, 4.4))
    tl.figures.temperature_diagram(diagram(), axes[0])
    tl.figures.temperature_states(curves(), axes[1])
    axes[0].figure.savefig(folder / "temperature.png", dpi=150)
    with (folder / "temperature.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        columns = ("theory", "sampled", "standard error")
        errors = {"ε_g": "generalization_error", "ε_t": "training_error"}
        writer.writerow(["temperature", "load", *(f"{e}, {c}" for e in errors for c in columns)])
        for T in (0.09, 0.3):
            drawn = sampled(T, LOAD)
            state, *_ = tl.equilibrium.states(
                UNIT, math.inf, LOAD, temperature=T, label_noise=NOISE
            )
            row = [T, LOAD]
            for name in errors.values():
                here = drawn.sel(quantity=name)
                row += [getattr(state, name), float(here["mean"]), float(here["standard_error"])]
            writer.writerow(f"{x:.4f}" for x in row)


if __name__ == "__main__":
    main()

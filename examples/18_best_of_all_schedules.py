"""Which schedule of the learning rate is the best of all if labels are noisy?

One linear student learns from a teacher whose labels have noise ς = 0.5, until its error is 0.02.
The best constant learning rate needs a compromise: a large rate forgets fast, a small one averages
the noise.  The optimal schedule begins large and falls.  For a linear unit it is known in closed
form, η = E/(E + ς²) with E = Q - 2R + T, and the search finds it.  Writes
best_of_all_schedules.csv to docs/pictures and draws it as a PNG file:

    python examples/18_best_of_all_schedules.py [FOLDER]
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from scipy.optimize import brentq

import tutelage as tl
from tutelage.figures.line_styles import DASHES
from tutelage.figures.style import colour, new_panels
from tutelage.figures.text import finish

NOISE, ERROR = 0.5, 0.02
ONE = tl.Committee(1, tl.Linear())
SCENARIO = tl.Scenario(student=ONE, teacher=ONE, label_noise=NOISE)
START = tl.Overlaps(Q=[[0.5]], R=[[0.2]], T=SCENARIO.T)


def closed_form(times: np.ndarray) -> np.ndarray:
    """Return the optimal learning rate of a linear unit."""
    first = float(START.Q[0, 0] - 2 * START.R[0, 0] + START.T[0, 0])

    def time_until(E: float) -> float:
        return NOISE**2 * (1 / E - 1 / first) + np.log(first / E)

    errors = [brentq(lambda E, t=t: time_until(E) - t, 1e-6, first) for t in times]
    return np.array([E / (E + NOISE**2) for E in errors])


def save(times: np.ndarray, columns: dict[str, np.ndarray], file: Path) -> None:
    """Save the learning rates and errors over time."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["time", *columns])
        for time, *values in zip(times, *columns.values(), strict=True):
            writer.writerow([f"{time:.4f}", *(f"{value:.4e}" for value in values)])


def draw(times: np.ndarray, columns: dict[str, np.ndarray]) -> plt.Figure:
    """Draw learning rates on the left and errors on the right."""
    with tl.figures.style():
        left, right = new_panels(2)
        for number, name in enumerate(("best constant", "best of all")):
            style = {"color": colour(number), "linestyle": DASHES[number], "label": name}
            left.plot(times, columns[f"{name}: learning rate"], **style)
            right.semilogy(times, columns[f"{name}: error"], **style)
        left.plot(
            times[::10], columns["closed form: learning rate"][::10], "k.", label="E/(E + ς²)"
        )
        right.axhline(ERROR, color="0.4", linestyle=":")
        left.set(xlabel=r"$\alpha$", ylabel=r"$\eta$", ylim=(0, None))
        right.set(xlabel=r"$\alpha$", ylabel=r"$\varepsilon_g$")
        for axes in (left, right):
            finish(axes, below=True)
    return left.figure


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    best = tl.online.best_control(SCENARIO, START, error=ERROR, knots=20)
    constant = tl.online.best_learning_rate(SCENARIO, START, ERROR)
    times = np.round(np.linspace(0.0, best.time.value, 101), 4)
    columns = {"closed form: learning rate": closed_form(times)}
    rates = {"best constant": constant.learning_rate.value, "best of all": best.schedule}
    for name, rate in rates.items():
        run: xr.Dataset = tl.online.evolve(
            SCENARIO, START, rate, until=float(times[-1]), times=times
        )
        eta = rate(times) if callable(rate) else np.full(len(times), rate)
        columns[f"{name}: learning rate"] = np.asarray(eta)
        columns[f"{name}: error"] = run["generalization_error"].values
    save(times, columns, folder / "best_of_all_schedules.csv")
    draw(times, columns).savefig(folder / "best_of_all_schedules.png", dpi=150)
    print(f"best constant rate {rates['best constant']:.3f}: α = {constant.time.value:.3f}")
    print(f"best of all schedules: α = {best.time.value:.3f}")


if __name__ == "__main__":
    main()

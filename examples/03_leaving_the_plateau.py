"""How long do networks of N inputs stay on their plateau?

Two ReLU students learn from two teachers, and start without any preference: R = 0.  In the theory
of infinite N the students stay equal and never leave the plateau.  In a finite network the first
examples create a preference of size 1/√N, which grows as e^{λα}; λ is the positive eigenvalue of
the saddle.  The network leaves after a random time that grows as ln N/(2λ).  Writes
leaving_the_plateau.csv to docs/pictures and draws it as leaving_the_plateau.png:

    python examples/03_leaving_the_plateau.py [FOLDER]
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
from tutelage.figures.style import colour, new_panels
from tutelage.figures.text import finish

SIZES = (100, 300, 1000, 3000, 10000)
RUNS, UNTIL, RATE = 128, 80.0, 1.0
TWO = tl.Committee(2, tl.ReLU())
SCENARIO = tl.Scenario(student=TWO, teacher=TWO)


def start(preference: float) -> tl.Overlaps:
    """R_in = preference · δ_in."""
    return tl.Overlaps(Q=np.diag([0.2, 0.3]), R=preference * np.eye(2), T=SCENARIO.T)


def simulate(saddle: tl.online.Plateau) -> list[xr.Dataset]:
    """Escape times for every N: the moment at which the error falls below half of the plateau."""
    assert saddle.height is not None, "the error stays there for a while"
    height = saddle.height.value
    options = {"until": UNTIL, "runs": RUNS, "times": np.linspace(0.0, UNTIL, 321)}
    return [
        tl.simulation.escape_times(
            tl.simulation.chain(SCENARIO, start(0.0), RATE, dimension=N, seed=N, **options),
            height=height,
        )
        for N in SIZES
    ]


def save(escapes: list[xr.Dataset], file: Path) -> None:
    """One row for each N."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["N", "runs", "escaped", "median", "lower quartile", "upper quartile"])
        for one in escapes:
            N, count, escaped, median = (
                one.attrs[name] for name in ("dimension", "run_count", "escaped", "median")
            )
            quartiles = (f"{q:.6f}" for q in np.nanquantile(later(one), [0.25, 0.75]))
            writer.writerow([N, count, escaped, f"{median:.6f}", *quartiles])


def later(one: xr.Dataset) -> np.ndarray:
    """Escape times; a run that has not left will do so after the end."""
    return one["escape_time"].fillna(10 * UNTIL).values


def growth_of_the_median(escapes: list[xr.Dataset]) -> tuple[float, float]:
    """Slope of the median over ln N; its standard error from runs drawn again."""
    times, second = np.array([later(one) for one in escapes]), np.random.default_rng(0)

    def slope(times: np.ndarray) -> float:
        return float(np.polyfit(np.log(SIZES), np.median(times, axis=1), 1)[0])

    drawn = (second.integers(RUNS, size=times.shape) for _ in range(200))
    slopes = [slope(np.take_along_axis(times, which, axis=1)) for which in drawn]
    return slope(times), float(np.std(slopes))


def draw(escapes: list[xr.Dataset], growth: float) -> plt.Figure:
    """Draw the escapes, and the median escape time over ln N with the slope of the theory."""
    with tl.figures.style():
        left, right = new_panels(2)
        tl.figures.escapes(escapes, left)
        N, medians = np.array(SIZES), np.array([one.attrs["median"] for one in escapes])
        quartiles = np.array([np.quantile(later(one), [0.25, 0.75]) for one in escapes]).T
        bars = np.abs(quartiles - medians)
        right.errorbar(N, medians, bars, fmt="o", color=colour(0), label="median and quartiles")
        slope = 1 / (2 * growth)
        through = np.mean(medians - slope * np.log(N))
        label = rf"$\ln N/(2\lambda)$ + const., $\lambda = {growth:.4f}$"
        right.plot(N, through + slope * np.log(N), "--", color=colour(1), label=label)
        right.set(xscale="log", xlabel="$N$", ylabel=r"escape time $\alpha$")
        finish(right)
    return left.figure


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    saddle = tl.online.plateau(SCENARIO, start(1e-3), RATE)
    assert saddle is not None and saddle.point is not None, "units that start apart have one"
    growth = float(saddle.point.eigenvalues[0].real)
    escapes = simulate(saddle)
    save(escapes, folder / "leaving_the_plateau.csv")
    draw(escapes, growth).savefig(folder / "leaving_the_plateau.png", dpi=150)
    slope, error = growth_of_the_median(escapes)
    print(
        f"for each factor e of N the median grows by {slope:.2f} ± {error:.2f}; "
        f"1/(2λ) = {1 / (2 * growth):.2f}"
    )


if __name__ == "__main__":
    main()

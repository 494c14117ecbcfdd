"""Beyond straat2019 and citton2025: when finite networks leave their plateau.

`tutelage.online.stationary.escape` has the law of the times.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr

from tutelage import online, simulation
from tutelage.activations import ReLU
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.online import FixedPoint, Flow
from tutelage.online.stationary.escape import MIDDLE_HALF
from tutelage.papers.beyond.drawing_online import escape_distribution, escape_growth, side_by_side
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

RATE = 1.0
# Number of runs and last time α, by N.  97 % of the runs escape within 30 of the median time.
QUICK = {100: (1024, 60.0), 200: (1024, 60.0), 600: (512, 60.0), 2000: (160, 60.0)}
FULL = {
    100: (4096, 60.0),
    300: (4096, 60.0),
    1000: (4096, 64.0),
    3000: (2048, 68.0),
    10_000: (1024, 70.0),
    30_000: (384, 75.0),
    100_000: (128, 80.0),
}
ASYMPTOTIC = (
    200  # runs with smaller N leave later than ln N/(2λ) predicts: by 0.35 ± 0.2 at N = 100
)
RESAMPLES = 300  # samples drawn again for standard errors
NOTE_SLOPE = (
    "straat2019 and citton2025 describe the saddle, but not when a finite network leaves it. The "
    "theory gives 1/(2λ) = {:.4f} with λ = {:.6f} from the linearized equations, for large N: N = "
    "100 was excluded after its result had been seen. The error is one standard error over runs "
    "drawn again."
)
NOTE_WIDTH = (
    "From the times of all N together, each minus the median of its N. The law of ln|Z| with a "
    "normal number Z gives {:.4f}; the error is one standard error over runs drawn again."
)
NOTE_EIGENVALUE = (
    "η = 1, K = M = 2, T = 1: the rate at which the preference grows. straat2019 has its limit for "
    "η → 0. Second route: a run next to the saddle (tests/papers/test_beyond.py)."
)


def compute(full: bool) -> Iterator[Row | Figure]:
    """Compute escape times for every N, their distribution, and their growth with N."""
    data = times(full)
    yield side_by_side(data, escape_distribution, escape_growth)
    growth = float(saddle().eigenvalues[0].real)
    error = Flow(scenario()).moments.error(saddle().overlaps)
    yield unpublished("Escape: eigenvalue λ of the saddle, η = 1", growth, error, NOTE_EIGENVALUE)
    note = NOTE_SLOPE.format(1 / (2 * growth), growth)
    yield unpublished("Escape: growth of the median time with ln N", *slope(data), note)
    item = "Escape: λ times the width of the middle half of all times"
    width, error = quartiles(data)
    yield unpublished(item, growth * width, growth * error, NOTE_WIDTH.format(MIDDLE_HALF))


def scenario() -> Scenario:
    two = Committee(2, ReLU())
    return Scenario(two, two)


def start(preference: float = 0.0) -> Overlaps:
    """The start of straat2019, Fig. 2, whose preference is 10⁻³."""
    return Overlaps(Q=np.diag([0.2, 0.3]), R=preference * np.eye(2), T=np.eye(2))


@cache
def saddle() -> FixedPoint:
    """Return the saddle near which runs linger at η = 1."""
    near = Overlaps(Q=[[0.9, 0.3], [0.3, 0.9]], R=np.full((2, 2), 0.5), T=np.eye(2))
    return online.fixed_point(scenario(), near, RATE)


@cache
def times(full: bool = False) -> xr.Dataset:
    """Escape times over N and run: NaN beyond the last run of an N, infinite for runs that have not
    left.
    """
    sizes = FULL if full else QUICK
    table = np.full((len(sizes), max(runs for runs, _ in sizes.values())), np.nan)
    for row, (N, (runs, until)) in enumerate(sizes.items()):
        at = np.linspace(0.0, until, int(4 * until) + 1)
        options = {"dimension": N, "until": until, "runs": runs, "seed": N, "times": at}
        ensemble = simulation.chain(scenario(), start(), RATE, **options)
        left = simulation.escape_times(ensemble, height=saddle().generalization_error)
        table[row, :runs] = left["escape_time"].fillna(np.inf).values
    return xr.Dataset(
        {"escape_time": (("dimension", "run"), table, {"symbol": "α"})},
        coords={"dimension": list(sizes)},
        attrs={
            "growth": float(saddle().eigenvalues[0].real),
            "asymptotic": ASYMPTOTIC,
        },
    )


def _rows(data: xr.Dataset) -> list[np.ndarray]:
    return [row[~np.isnan(row)] for row in data["escape_time"].values]


def slope(data: xr.Dataset) -> tuple[float, float]:
    """Fit d median/d ln N by least squares, weighted with the runs of each N; also its standard
    error.
    """
    data = data.sel(dimension=data["dimension"] >= ASYMPTOTIC)
    rows, generator = _rows(data), np.random.default_rng(0)
    x, weights = np.log(data["dimension"].values), np.sqrt([len(row) for row in rows])

    def fitted(medians: list[float]) -> float:
        return float(np.polynomial.polynomial.polyfit(x, medians, 1, w=weights)[1])

    drawn = np.array(
        [np.median(generator.choice(row, (RESAMPLES, len(row))), axis=1) for row in rows]
    )
    spread = float(np.std([fitted(list(medians)) for medians in drawn.T]))
    return fitted([float(np.median(row)) for row in rows]), spread


def quartiles(data: xr.Dataset) -> tuple[float, float]:
    """Width of the middle half of all times, relative to the median of their N; also its standard
    error.
    """
    pooled = np.concatenate([row - np.median(row) for row in _rows(data)])
    generator = np.random.default_rng(1)
    drawn = generator.choice(pooled, (RESAMPLES, len(pooled)))

    def width(sample: np.ndarray) -> np.ndarray:
        low, high = np.quantile(sample, [0.25, 0.75], axis=-1, method="lower")
        return high - low

    return float(width(pooled)), float(np.std(width(drawn)))


SECTIONS = (
    Section(
        "escape",
        "The law of the escape from the plateau",
        "Two ReLU students of two teachers that start without a preference (R = 0, η = 1), "
        "simulated by the overlap chain. Left: fraction of runs that have left the plateau, "
        "against time from the median of their N; the dashed curve is the law of −ln|Z|/λ, Z a "
        "normal number, with λ from the linearized equations and nothing fitted. Right: the median "
        "(bars: middle half) against N, and a line of the slope 1/(2λ). In the papers networks are "
        "infinite, and the start determines the length of a plateau. In a finite network chance "
        "determines it, and its spread does not shrink with N.",
        compute,
        "128 to 4096 runs for N up to 10⁵ instead of 160 to 1024 for N up to 2000; about ten "
        "minutes",
    ),
)

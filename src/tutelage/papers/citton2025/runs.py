"""The runs of citton2025: K = M = 2 and T = diag(1, 2), from the start of Fig. 1."""

from functools import cache

import numpy as np
import xarray as xr

from tutelage import online, simulation
from tutelage.activations import Erf, ReLU
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.online import branch

RUNS, DIMENSION = 10, 1000  # of the simulations of Fig. 1
ORDER = 10  # Sec. 3: "we expand the activation function up to order N = 10"
# Rates of Fig. 2a, our choice: from small ones to beyond the divergence, on both sides of each
# critical one.
RATES = (0.25, 0.5, 0.75, 1.0, 1.2, 1.24, 1.256, 1.27)
SMALL_RATES = (0.04, 0.02, 0.01)
SIGMOIDAL_RATES = (0.5, 1.0, 1.5, 2.0, 2.4, 4.0, 8.0)  # Erf solves the rule up to η = 2.45

# Overlaps of K = M = 2 with the graded teacher T = diag(1, 2): students first, then teachers.
START = [  # Fig. 1: Q_ik = k/10 δ_ik, R_in = 10⁻³ δ_in
    [0.1, 0.0, 1e-3, 0.0],
    [0.0, 0.2, 0.0, 1e-3],
    [1e-3, 0.0, 1.0, 0.0],
    [0.0, 1e-3, 0.0, 2.0],
]
PLATEAU = [  # the symmetric fixed point of Fig. 2 at η = 1, to six digits
    [1.345386, 0.542161, 0.458277, 1.050455],
    [0.542161, 1.345386, 0.458277, 1.050455],
    [0.458277, 0.458277, 1.0, 0.0],
    [1.050455, 1.050455, 0.0, 2.0],
]


def scenario() -> Scenario:
    two = Committee(2, ReLU())
    return Scenario(two, two, teacher_overlaps=[[1.0, 0.0], [0.0, 2.0]])


def sigmoidal_scenario() -> Scenario:
    two = Committee(2, Erf())
    return Scenario(two, two, teacher_overlaps=[[1.0, 0.0], [0.0, 2.0]])


def start() -> Overlaps:
    return _overlaps(START)


def plateau() -> Overlaps:
    return _overlaps(PLATEAU)


def _overlaps(C: list[list[float]]) -> Overlaps:
    x, y = np.arange(2), np.arange(2, 4)
    blocks = (np.ix_(x, x), np.ix_(x, y), np.ix_(y, y))
    return Overlaps(*(np.array(C)[block] for block in blocks))


@cache
def fig_1() -> xr.Dataset:
    return online.evolve(scenario(), start(), learning_rate=1.0, until=100.0)


@cache
def simulated_1() -> xr.Dataset:
    """Simulate ten runs with d = 1000 by the chain, without corrected first steps."""
    options = {"dimension": DIMENSION, "until": 100.0, "runs": RUNS, "seed": 1}
    return simulation.chain(scenario(), start(), 1.0, **options, times=_times())


@cache
def corrected_1() -> xr.Dataset:
    """Simulate networks with d = 1000, with fluctuations removed in the first d examples.

    More than ten: their times on the plateau scatter so much that ten decide nothing.
    """
    options = {"dimension": DIMENSION, "until": 100.0, "runs": 4 * RUNS, "seed": 1}
    return simulation.network(
        scenario(), start(), 1.0, **options, times=_times(), corrected_start=True
    )


def _times() -> np.ndarray:
    return np.linspace(0.0, 100.0, 201)


@cache
def fig_2a() -> xr.Dataset:
    return online.evolve(scenario(), start(), learning_rate=np.array(RATES), until=200.0)


@cache
def fig_2b() -> xr.Dataset:
    """Follow the symmetric plateau from η = 0.05 up to its fold, and part of the branch behind the
    fold.
    """
    return branch(scenario(), plateau(), learning_rate=0.05, until=1.3, max_steps=50)


def up_to_fold() -> xr.Dataset:
    """Return the branch of Fig. 2b up to the fold."""
    points = fig_2b()
    return points.isel(point=slice(0, int(np.argmax(points["learning_rate"].values)) + 1))


@cache
def small(eta: float) -> xr.Dataset:
    """Run to ηα = 60; the number 0 is the limit η → 0."""
    until = 60.0 / (eta or 1.0)
    return online.evolve(scenario(), start(), learning_rate=eta, until=until)


@cache
def sigmoidal() -> xr.Dataset:
    """Return the runs of Fig. 2a with Erf instead of ReLU."""
    rates = np.array(SIGMOIDAL_RATES)
    return online.evolve(sigmoidal_scenario(), start(), learning_rate=rates, until=400.0)


@cache
def fixed_points(eta: float) -> tuple[online.FixedPoint, ...]:
    return tuple(online.fixed_points(scenario(), eta, starts=20))

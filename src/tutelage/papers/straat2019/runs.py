"""The runs of straat2019: curves of the theory, and the simulations of Figs. 1 and 2.

For more than one unit the paper leaves the η² term out: the limit η → 0, with time in units of
1/η.  It does not state the number of runs in its averages.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import xarray as xr

from tutelage import online, simulation
from tutelage.activations import Activation, Erf, ReLU
from tutelage.model import Committee, Overlaps, Scenario

RATES = (0.1, 0.5, 1.0, 1.5, 1.9, 2.1)  # of Fig. 1, right; a choice of ours
RATE_2 = 0.1  # of Fig. 2
LAST_TIME = 2000.0  # the slowest of the runs of Figs. 3 and 4 no longer moves by a printed digit
ACTIVATIONS: dict[str, Activation] = {"ReLU": ReLU(), "Erf": Erf()}


class Limit(NamedTuple):
    """The limit of a curve, and an estimate of its error."""

    value: float
    uncertainty: float


def runs_of(full: bool) -> int:
    """Return the number of simulated runs."""
    return 100 if full else 10


@cache
def fig_1_left() -> xr.Dataset:
    return online.evolve(scenario(1, 1), single_start(), learning_rate=0.1, until=200.0)


@cache
def fig_1_right() -> xr.Dataset:
    """Return runs at several rates, with errors below 1e-12, which the figure shows."""
    problem = scenario(1, 1), single_start(), np.array(RATES)
    return online.evolve(*problem, until=50.0, tolerance=1e-13)


@cache
def simulated_1(eta: float, until: float, runs: int) -> xr.Dataset:
    """Simulate N = 1000; the chain has the law of a network with Gaussian inputs."""
    times = np.linspace(0.0, until, 101)
    problem = (scenario(1, 1), single_start(), eta)
    return simulation.chain(*problem, dimension=1000, until=until, runs=runs, seed=1, times=times)


@cache
def fig_2(eta: float = 0, until: float = 50.0) -> xr.Dataset:
    return online.evolve(scenario(2, 2), start_2(), learning_rate=eta, until=until)


@cache
def fig_2_erf() -> xr.Dataset:
    """Return the run of Fig. 2 with Erf, which stays longer on its plateau."""
    return online.evolve(scenario(2, 2, "Erf"), start_2(), learning_rate=0, until=400.0)


@cache
def simulated_2(runs: int) -> xr.Dataset:
    """Simulate N = 10⁴, η = 0.1; recorded more often up to the plateau."""
    times = np.concatenate([np.arange(0.0, 100.0), np.arange(100.0, 501.0, 4.0)])
    problem = (scenario(2, 2), start_2(), RATE_2)
    return simulation.chain(*problem, dimension=10_000, until=500.0, runs=runs, seed=2, times=times)


@cache
def fig_3(activation: str, until: float = LAST_TIME) -> xr.Dataset:
    start = Overlaps(Q=np.diag([0.2, 0.3, 0.25]), R=_only_r_11(3, 2), T=np.eye(2))
    return online.evolve(scenario(3, 2, activation), start, learning_rate=0, until=until)


@cache
def fig_4(until: float = LAST_TIME, activation: str = "ReLU") -> xr.Dataset:
    start = Overlaps(Q=0.2 * np.eye(2), R=_only_r_11(2, 3), T=np.eye(3))
    return online.evolve(scenario(2, 3, activation), start, learning_rate=0, until=until)


def scenario(K: int, M: int, activation: str = "ReLU") -> Scenario:
    g = ACTIVATIONS[activation]
    return Scenario(Committee(K, g), Committee(M, g))


def single_start() -> Overlaps:
    return Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])


def start_2() -> Overlaps:
    return Overlaps(Q=np.diag([0.2, 0.3]), R=1e-3 * np.eye(2), T=np.eye(2))


def _only_r_11(K: int, M: int) -> np.ndarray:
    R = np.zeros((K, M))
    R[0, 0] = 1e-3
    return R


def fixed_point_near(run: xr.Dataset, time: float, activation: str = "ReLU") -> online.FixedPoint:
    """Find the fixed point next to a run in the limit η → 0 at a time ηα."""
    at = run.sel(time=time, method="nearest")
    K, M = run.sizes["student"], run.sizes["teacher"]
    # A run is accurate to its tolerance, 1e-9 per step.
    state = Overlaps(Q=at["Q"].values, R=at["R"].values, T=np.eye(M), rounding=1e-8)
    return online.fixed_point(scenario(K, M, activation), state, learning_rate=0)


@cache
def plateau_2() -> online.FixedPoint:
    """Find the symmetric fixed point near which the run of Fig. 2 lingers."""
    return fixed_point_near(fig_2(), 12.0)


def limit(curve: xr.DataArray) -> Limit:
    """Return the last value of a curve over time, and nine times its change in the last tenth of
    it.

    A quantity that falls as 1/time, as near the solutions for K > M, has as much left to go.
    """
    before, end = float(curve.interp(time=0.9 * float(curve["time"][-1]))), float(curve[-1])
    return Limit(end, 9 * abs(end - before))

"""Networks that learn drawn examples at a temperature, compared with the theory of K → ∞.

Every run draws sets of examples, and two replicas learn each set (`tutelage.equilibrium.sample`).
The runs are stored in ``recorded/temperature.nc``; `measured` computes them again.
"""

import math
from typing import NamedTuple

import numpy as np
import xarray as xr

from tutelage import equilibrium
from tutelage.activations import GELU, Activation, Erf, ReLU, Swish
from tutelage.model import Committee, Scenario

QUANTITIES = ("R", "q", "invariant_overlap", "generalization_error", "training_error")
UNITS: dict[str, Activation] = {"erf": Erf(), "ReLU": ReLU(), "GELU": GELU(), "Swish": Swish()}


class SampledRun(NamedTuple):
    """One sampled network.

    load: α̃ = P/(KN).
    sweeps: recorded after as many of warm-up.
    sets: of examples.
    """

    activation: str
    K: int
    N: int
    load: float
    temperature: float
    start: str = "teacher"
    sweeps: int = 200
    sets: int = 6

    @property
    def name(self) -> str:
        return (
            f"{self.activation}, K = {self.K}, N = {self.N}, α̃ = {self.load:g}, "
            f"T = {self.temperature:g}, {self.start}"
        )


# Runs that measure the gap to K → ∞: for erf units, and for ReLU units with more and more inputs.
SIZES = (
    *(SampledRun("erf", K, 6 * K, 9.0, 0.1) for K in (4, 8)),
    SampledRun("erf", 16, 96, 9.0, 0.1, sweeps=60, sets=4),
)
STARTS = (SampledRun("erf", 4, 24, 9.0, 0.1, "random", sweeps=100, sets=4),)
INPUTS = tuple(SampledRun("ReLU", 4, N, 3.0, 0.1, sweeps=100, sets=4) for N in (24, 60, 200))
COLD = tuple(
    SampledRun(name, 8, 80, 1.0, T, sweeps=100, sets=4)
    for T in (0.01, 0.003)
    for name in ("ReLU", "GELU", "Swish")
)
# β → 0 at α = α̃/T: eqs. (14) to (16) of oostwal2019.
HOT_LOAD = 30.0
HOT = tuple(SampledRun("erf", 2, 12, HOT_LOAD * T, T, sweeps=150) for T in (1.0, 4.0, 16.0))
RUNS = (*SIZES, *STARTS, *INPUTS, *COLD, *HOT)


def scenario(run: SampledRun) -> Scenario:
    committee = Committee(run.K, UNITS[run.activation])
    return Scenario(committee, committee, output_scale=1 / math.sqrt(run.K))


def sampled(run: SampledRun) -> xr.Dataset:
    """Return means over the sets of examples, with standard errors."""
    drawn = equilibrium.sample(
        scenario(run),
        examples=round(run.load * run.K * run.N),
        temperature=run.temperature,
        dimension=run.N,
        sweeps=run.sweeps,
        runs=run.sets,
        seed=1,
        start=run.start,
    )
    numbers = drawn[["mean", "standard_error"]].sel(quantity=list(QUANTITIES))
    return numbers.reset_coords(drop=True).assign(
        autocorrelation_time=float(drawn["autocorrelation_time"].mean()),
        acceptance=float(drawn["acceptance"].mean()),
        theory=("quantity", theory(run)),
    )


def theory(run: SampledRun) -> np.ndarray:
    """Return the theoretical values of `QUANTITIES` for K → ∞, in the state a run should reach.

    Runs from a random start reach R = 0 if such a state exists, all others the largest R.  The
    invariant overlap of a state is its R.
    """
    states = equilibrium.states(
        UNITS[run.activation], math.inf, run.load, temperature=run.temperature
    )
    specialized = [s for s in states if s.R > 0]
    state = max(specialized, key=lambda s: s.R) if specialized else states[0]
    if run.start == "random":
        state = next((s for s in states if s.R == 0), state)
    return np.array([
        state.R, state.q, state.R, state.generalization_error, state.training_error
    ])  # fmt: skip


def measured(runs: tuple[SampledRun, ...] = RUNS) -> xr.Dataset:
    """Return all runs, by name."""
    joined = xr.concat([sampled(run) for run in runs], "run", combine_attrs="drop")
    return joined.assign_coords(run=[run.name for run in runs])

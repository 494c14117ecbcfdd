"""Students with more or fewer units than their teacher: where R ceases to be uniform.

K = 2 students, or M = 2 teachers, can be exchanged, which changes the sign of the deviations from
R_in = R that lead away.  A cubic term is forbidden, as it is for K = M = 2, and the transition can
be continuous; for K, M ≥ 3 the symmetry allows one.
"""

import math
from typing import NamedTuple

import numpy as np
import xarray as xr

from tutelage import equilibrium
from tutelage.activations import Activation, Erf, ReLU
from tutelage.equilibrium import Minimum
from tutelage.model import Committee, Scenario


class Case(NamedTuple):
    """Students, teachers, and the range of loads that is scanned."""

    name: str
    activation: Activation
    students: int
    teachers: int
    first: float
    last: float

    @property
    def label(self) -> str:
        return f"{self.name}, K = {self.students}, M = {self.teachers}"

    @property
    def scenario(self) -> Scenario:
        student, teacher = (Committee(n, self.activation) for n in (self.students, self.teachers))
        return Scenario(student, teacher, output_scale=self.students**-0.5)


CASES = (
    Case("ReLU", ReLU(), 2, 3, 5.0, 10.0),
    Case("ReLU", ReLU(), 3, 2, 4.0, 8.0),
    Case("erf", Erf(), 2, 3, 25.0, 60.0),
    Case("erf", Erf(), 3, 2, 20.0, 50.0),
)
STARTS = 12
SCANNED = {False: 5, True: 15}
MOST_STEPS = 8  # of the search, each of which leaves a twentieth of the way to go, or less
PRECISE = 1e-4  # relative to the load
UNIFORM = "unspecialized"


def threshold(case: Case, full: bool = False) -> xr.Dataset:
    """The spread of R over the load, and in the attributes the load at which it begins.

    Where all R_in are the same, the lowest eigenvalue of the matrix of second derivatives vanishes
    at the transition: the load is extrapolated to there, from loads closer and closer to it.
    ``load_error`` is what the last of them has changed; ``below`` is that last one, where the
    uniform state is still the lowest.
    """
    seen = {load: _lowest(case, load) for load in np.linspace(case.first, case.last, SCANNED[full])}
    load, error = 0.0, math.inf
    for _ in range(MOST_STEPS):
        if error < PRECISE * load:
            break
        closer = _next(seen)
        seen[closer] = _lowest(case, closer)
        load, before = (_extrapolated(seen, without) for without in (0, 1))
        error = abs(load - before)
    below, above = _interval(seen)
    if not below < load < above:
        raise ArithmeticError(f"no transition of {case.label} between {below} and {above}")
    return _dataset(seen).assign_attrs(
        label=case.label,
        load=load,
        load_error=error,
        below=below,
        beyond=seen[max(seen)].name,
    )


def _lowest(case: Case, load: float) -> Minimum:
    """Return the state of lowest free energy."""
    return equilibrium.minima(case.scenario, float(load), starts=STARTS)[0]


def _interval(seen: dict[float, Minimum]) -> tuple[float, float]:
    """The last load with a uniform state of lowest free energy, and the first with another."""
    return (
        max(x for x in seen if seen[x].name == UNIFORM),
        min(x for x in seen if seen[x].name != UNIFORM),
    )


def _next(seen: dict[float, Minimum]) -> float:
    """A load close to the transition but below it, as far as is known."""
    low, high = _interval(seen)
    load = _extrapolated(seen)
    below = load - 0.05 * (load - low)
    return below if low < below < high else 0.5 * (low + high)


def _extrapolated(seen: dict[float, Minimum], without: int = 0) -> float:
    """The load at which the lowest eigenvalue of the uniform state is zero.

    Below the transition the eigenvalue is known; a parabola through the last three goes on,
    without as many of the very last as said.
    """
    loads = sorted(x for x in seen if seen[x].name == UNIFORM)
    loads = loads[: len(loads) - without][-3:]
    values = [seen[x].eigenvalues[0] for x in loads]
    return float(np.polynomial.Polynomial.fit(values, loads, len(loads) - 1)(0.0))


def _spread(state: Minimum) -> float:
    """The largest difference of overlaps of one student with two teachers."""
    return float(np.max(np.ptp(np.asarray(state.overlaps.R), axis=1)))


def _dataset(seen: dict[float, Minimum]) -> xr.Dataset:
    loads = sorted(seen)
    columns = {
        "spread": [_spread(seen[x]) for x in loads],
        "generalization_error": [seen[x].generalization_error for x in loads],
        "lowest_eigenvalue": [float(seen[x].eigenvalues[0]) for x in loads],
    }
    data = {name: ("load", values) for name, values in columns.items()}
    return xr.Dataset(data, {"load": ("load", loads, {"symbol": "α"})})

"""Students with more or fewer units than their teacher: where R ceases to be uniform.

K = 2 students, or M = 2 teachers, can be exchanged, which changes the sign of the deviations from
R_in = R that lead away.  A cubic term is forbidden, as it is for K = M = 2, and the transition can
be continuous; for K, M ≥ 3 the symmetry allows one.
"""

from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import brentq

from tutelage import equilibrium
from tutelage.activations import Activation, Erf, ReLU
from tutelage.equilibrium import Minimum
from tutelage.model import Committee, Scenario


class MismatchedPair(NamedTuple):
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
    MismatchedPair("ReLU", ReLU(), 2, 3, 5.0, 10.0),
    MismatchedPair("ReLU", ReLU(), 3, 2, 4.0, 8.0),
    MismatchedPair("erf", Erf(), 2, 3, 25.0, 60.0),
    MismatchedPair("erf", Erf(), 3, 2, 20.0, 50.0),
)
STARTS = 12
SCANNED = {False: 5, True: 15}
CLOSE = 1e-2  # relative to the load; closer to it the minimum is too flat for descents to converge
UNIFORM = "unspecialized"
ROUNDINGS = 4 * float(np.finfo(np.float64).eps)  # of the sum of three terms
SMALL = 1e-6


class Onset(NamedTuple):
    """The load at which the uniform state becomes unstable, with its rounding error, and R and C
    there.
    """

    load: float
    error: float
    R: float
    C: float


def onset(case: MismatchedPair) -> Onset:
    """Solve for the load at which deviations from a uniform R begin to grow.

    All R_in are R and all Q_ij are C.  With A = 1 + (K−1)C − KMR², the uniform state has

        ακ'(R) = R/A,      αKκ'(C) = 1/A − 1/(1−C),

    and deviations of R whose rows and columns add up to zero cost (1/(1−C) − ακ''(R))/2 each,
    which vanishes at the onset.  C follows from q = Rκ''(R)/κ'(R), and the remaining equation is

        κ'(R) = Rκ''(R) + KRκ'(C).
    """
    kernel, K, M = equilibrium.kernel_of(case.activation), case.students, case.teachers

    def C(R: float) -> float:
        q = R * kernel.second(R) / kernel.first(R)
        return float((q - 1 + K * M * R**2) / (K - 1 + q))

    def excess(R: float) -> float:
        return float(kernel.first(R) - R * kernel.second(R) - K * R * kernel.first(C(R)))

    def load(R: float) -> float:
        return 1 / ((1 - C(R)) * float(kernel.second(R)))

    R = brentq(excess, SMALL, M**-0.5 - SMALL, xtol=1e-16, rtol=ROUNDINGS)
    ends = R - SMALL, R + SMALL
    per_excess = (load(ends[1]) - load(ends[0])) / (excess(ends[1]) - excess(ends[0]))
    error = ROUNDINGS * (load(R) + abs(per_excess) * float(kernel.first(R)))
    return Onset(load(R), error, R, C(R))


def threshold(case: MismatchedPair, full: bool = False) -> xr.Dataset:
    """Compute the spread of R over the load; the attributes hold the load at which it begins.

    The load is that of `onset`.  Whether the uniform state is the lowest up to there is decided by
    descents, which know nothing of it; ``below`` is the last load with a uniform state.
    """
    first = onset(case)
    near = first.load * (1 + CLOSE * np.array([-1, 1]))
    loads = sorted({*np.linspace(case.first, case.last, SCANNED[full]), *near})
    minima = {float(load): _lowest(case, load) for load in loads}
    wrong = [load for load in minima if (minima[load].name == UNIFORM) != (load < first.load)]
    if wrong:
        raise ArithmeticError(f"{case.label} has another lowest state at {wrong}")
    return _dataset(minima).assign_attrs(
        label=case.label,
        load=first.load,
        load_error=first.error,
        below=max(load for load in minima if load < first.load),
        beyond=minima[max(minima)].name,
    )


def _lowest(case: MismatchedPair, load: float) -> Minimum:
    """Return the state of lowest free energy."""
    return equilibrium.minima(case.scenario, float(load), starts=STARTS)[0]


def _spread(state: Minimum) -> float:
    """Return the largest difference between the overlaps of one student with two teachers."""
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

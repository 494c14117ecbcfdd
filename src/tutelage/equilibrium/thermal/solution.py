"""All branches of extrema over the load, at one temperature."""

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from tutelage._checks import InputError
from tutelage._types import FloatOrArray
from tutelage.activations import Activation
from tutelage.equilibrium.kernel.kernel import is_hashable
from tutelage.equilibrium.symmetric.branches import Branch, BranchCurve, follow_branches, states_at
from tutelage.equilibrium.symmetric.theory import Point, Theory
from tutelage.equilibrium.thermal.quenched import QuenchedTheory
from tutelage.equilibrium.thermal.setting import ThermalSetting
from tutelage.equilibrium.thermal.two_units import FEWER_NODES, check_quadrature
from tutelage.equilibrium.thermal.values import Values

# Rounding of the logarithm of a load, some terms of order one.
ROUNDING = 64 * float(np.finfo(np.float64).eps)
MAX_QUADRATURE_ERROR = 5e-4  # relative to a load, for two smooth units
# Values of ln(1 − q) on which α̃ of the states R = 0 < q is sampled, and q = 0, where it begins.
LOG_P_GRID = np.concatenate(
    [np.log(np.geomspace(1e-14, 0.5, 300)), np.log1p(-np.geomspace(0.499, 1e-3, 150)), [0.0]]
)


@dataclass(frozen=True)
class ThermalBranch:
    """A branch of extrema, with at most one per load.

    kind: "unspecialized" (R = q = 0), "agreeing" (R = 0 < q), "R > S" or "R < S".
    theory: the theory that computes its values.
    points: loads -> states, NaN where no state exists.
    """

    kind: str
    theory: Any
    points: Callable[[np.ndarray], Point]

    def values(self, loads: np.ndarray) -> Values:
        """Return the values of its states, NaN where no state exists."""
        points = self.points(loads)
        exists = np.isfinite(points.V)
        columns = np.full((len(Values._fields), len(loads)), np.nan)
        if np.any(exists):
            values = self.theory.values(loads[exists], Point(*(x[exists] for x in points)))
            columns[:, exists] = np.stack(np.broadcast_arrays(*values))
        return Values(*columns)


class PerfectTheory:
    """R = q = 1 at T = 0 without noise: χ = 1/((α̃−1) κ̃'(1)) for α̃ > 1.

    slope: κ̃'(1).
    has_replicas: False for the annealed theory, which has neither χ nor a replicon.
    """

    def __init__(self, slope: float, has_replicas: bool):
        self.slope, self.has_replicas = slope, has_replicas

    def values(self, load: FloatOrArray, point: Point) -> Values:
        one, zero = np.ones_like(load), np.zeros_like(load)
        missing = np.nan * one
        return Values(
            R=one,
            q=one,
            susceptibility=1 / ((load - 1) * self.slope) if self.has_replicas else missing,
            generalization_error=zero,
            training_error=zero,
            free_energy_per_unit=-np.inf * one,
            curvature=np.inf * one,
            replicon=1 - 1 / load if self.has_replicas else missing,
        )


class LinearTheory:
    """Linear units, κ̃ = 0: R = q = 0 at every load, and the error is label noise only."""

    def __init__(self, setting: ThermalSetting):
        self.setting = setting

    def values(self, load: np.ndarray, point: Point) -> Values:
        T, noise = self.setting.temperature, self.setting.noise
        one, zero = np.ones_like(load), np.zeros_like(load)
        missing = np.nan * one
        annealed = self.setting.approximation == "annealed"
        # The annealed theory has ½ ln(1 + βς²) instead of ½ βς², and no ½ ln β.
        if annealed:
            slope = 0.5 * (np.log1p(noise / T) if T > 0 else np.log(noise or 1.0))
        else:
            slope = 0.5 * noise / T if T > 0 else np.inf
        energy = np.zeros_like(load)
        if noise > 0:
            energy[load > 0] = slope * load[load > 0]
        return Values(
            R=zero,
            q=zero,
            susceptibility=missing,
            generalization_error=zero,
            training_error=0.5 * noise * (T / (T + noise) if annealed and noise else 1.0) * one,
            free_energy_per_unit=energy,
            curvature=one,
            replicon=missing if annealed else one,
        )


@dataclass(frozen=True)
class Solution:
    """All curves and branches at one temperature.

    curves: the specialized curve of the theory, and at T = 0 with noise that of q → 1.
    branches: every branch of extrema.
    """

    setting: ThermalSetting
    curves: list[BranchCurve]
    branches: list[ThermalBranch]

    @property
    def theories(self) -> list[Any]:
        """The theory of each curve."""
        minimizers = self.setting.minimizers
        return [self.setting.theory] if minimizers is None else [self.setting.theory, minimizers]


def solved(setting: ThermalSetting) -> Solution:
    """Compute every branch of extrema of a setting."""
    if setting.is_linear:
        flat = ThermalBranch("unspecialized", LinearTheory(setting), setting.theory.unspecialized)
        return Solution(setting, [BranchCurve([], [], None)], [flat])
    theory, minimizers = setting.theory, setting.minimizers
    theories = [theory] if minimizers is None else [theory, minimizers]
    curves = [follow_branches(each) for each in theories]
    if setting.has_quadrature:
        error, instead = quadrature_error(setting, curves[0]), "temperature=1.0, tl.ReLU()"
        check_quadrature(setting.temperature, error, MAX_QUADRATURE_ERROR, "loads", instead)
    branches = [ThermalBranch("unspecialized", theory, theory.unspecialized)]
    if isinstance(theory, QuenchedTheory):
        branches += _agreeing(theory)
    if minimizers is not None:
        branches.append(ThermalBranch("agreeing", minimizers, minimizers.agreeing))
    for each, of_theory in zip(theories, curves, strict=True):
        branches += _specialized(each, of_theory)
    if setting.learns_perfectly:
        perfect = PerfectTheory(
            float(setting.kernel.tilde_first(1.0)), setting.approximation == "quenched"
        )
        branches.append(ThermalBranch("R > S", perfect, _beyond_one))
    return Solution(setting, curves, branches)


def quadrature_error(setting: ThermalSetting, curves: BranchCurve) -> float:
    """The largest relative change of the loads at V = 0 and at folds when fewer quadrature nodes
    are used.
    """
    coarse, changes = replace(setting, nodes=FEWER_NODES).theory, []
    for point in (curves.start, *curves.folds):
        if point is not None:
            load = setting.theory.slope(point)[0]
            changes.append(abs(float(coarse.slope(coarse.at(point.V, point))[0] / load - 1)))
    return float(np.max(np.nan_to_num(changes, nan=np.inf), initial=0.0))


def _beyond_one(loads: np.ndarray) -> Point:
    """Return R = 1 at loads above 1, NaN below."""
    R = np.where(loads > 1, 1.0, np.nan)
    return Point(R, 0 * R, 0 * R)


def _specialized(theory: Theory, curves: BranchCurve) -> list[ThermalBranch]:
    """Return one thermal branch per branch of the curves."""

    def along(branch: Branch) -> Callable[[np.ndarray], Point]:
        def points(loads: np.ndarray) -> Point:
            states = states_at(theory, branch, loads)
            return Point(*(np.where(states.V == 0, np.nan, x) for x in states))

        return points

    kinds = {1: "R > S", -1: "R < S"}
    branches = sorted(
        curves.branches, key=lambda branch: -branch.sign
    )  # of two branches with equal free energies, R > S comes first
    return [ThermalBranch(kinds[branch.sign], theory, along(branch)) for branch in branches]


def _agreeing(theory: QuenchedTheory) -> list[ThermalBranch]:
    """States R = 0 < q, one branch for each stretch of ln(1 − q) on which α̃ is monotonic."""
    with np.errstate(divide="ignore", invalid="ignore"):
        loads = np.log(theory.agreeing_load(LOG_P_GRID))
    good = np.flatnonzero(np.isfinite(loads))
    if len(good) < 2:
        return []
    d, loads = LOG_P_GRID[good], loads[good]
    turns = _turns(loads)
    ends = [0, *turns, len(d) - 1]
    stretches = [slice(i, j + 1) for i, j in itertools.pairwise(ends)]
    return [ThermalBranch("agreeing", theory, _inverse(theory, d[s], loads[s])) for s in stretches]


def _turns(values: np.ndarray) -> np.ndarray:
    """Return the places where values begin to grow or to fall, by more than rounding."""
    steps = np.flatnonzero(np.abs(np.diff(values)) > ROUNDING)
    grows = np.diff(values)[steps] > 0
    return steps[1:][grows[1:] != grows[:-1]]


def _inverse(
    theory: QuenchedTheory, d: np.ndarray, log_loads: np.ndarray
) -> Callable[[np.ndarray], Point]:
    """Return a function from loads to the states R = 0 < q where the load is monotonic."""
    order = slice(None) if log_loads[-1] > log_loads[0] else slice(None, None, -1)
    d, log_loads = d[order], log_loads[order]

    def at(load: float) -> float:
        if not load > 0 or not log_loads[0] <= math.log(load) <= log_loads[-1]:
            return math.nan
        i = int(np.clip(np.searchsorted(log_loads, math.log(load)), 1, len(d) - 1))

        def excess(x: float) -> float:
            return float(np.log(theory.agreeing_load(x))) - math.log(load)

        if excess(d[i - 1]) * excess(d[i]) > 0:  # rounding at the end of a stretch
            return float(d[i])
        return float(brentq(excess, d[i - 1], d[i], xtol=1e-300, rtol=4e-15))

    def points(loads: np.ndarray) -> Point:
        solved_points = np.array([at(float(load)) for load in loads])
        zero = np.where(np.isnan(solved_points), np.nan, 0.0)
        return Point(zero, solved_points, zero)

    return points


def check_loads_within(solution: Solution, argument: str, load: float) -> None:
    """Refuse loads at which the overlaps equal the teacher within rounding, for T > 0."""
    outward = [p for p in solution.curves[0].branches if p.outward]
    reach = max((float(np.max(p.load)) for p in outward), default=math.inf)
    if solution.setting.temperature > 0 and load > reach:
        raise InputError(
            argument,
            f"{load:g}",
            f"beyond {reach:.3g} the overlaps equal those of the teacher within rounding",
            f"{reach:.3g}",
        )


@functools.lru_cache(maxsize=16)
def _stored(activation: Activation, *rest: float | str) -> Solution:
    return solved(ThermalSetting.of(activation, *rest))


def solution_of(activation: Activation, setting: ThermalSetting) -> Solution:
    """Return the solution of a setting, cached per activation."""
    if not is_hashable(activation):
        return solved(setting)
    return _stored(
        activation, setting.temperature, setting.noise, setting.approximation, setting.units
    )

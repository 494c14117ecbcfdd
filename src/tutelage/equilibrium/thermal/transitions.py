"""Specialization transitions at a finite temperature."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize_scalar

from tutelage._findings import Finding
from tutelage._types import FloatOrArray
from tutelage.averages import Estimate
from tutelage.equilibrium.symmetric.branches import FLAT, Branch, BranchCurve
from tutelage.equilibrium.symmetric.coexistence import (
    EPSILON,
    ROUNDINGS,
    coexistence,
    load_of,
)
from tutelage.equilibrium.symmetric.theory import Point, Theory
from tutelage.equilibrium.thermal.quenched import QuenchedTheory
from tutelage.equilibrium.thermal.setting import ThermalSetting
from tutelage.equilibrium.thermal.solution import Solution, quadrature_error
from tutelage.equilibrium.thermal.states import ThermalState, extrema

# Multiples of several scales of R at which the load is compared with its limit R → 0.
R_MULTIPLES = np.array([1.0, 2.0, 4.0])
R_SCALES = 0.005 / 4.0 ** np.arange(10)
# Relative error of the bend above which it is not reported.
MAX_RELATIVE_ERROR = 0.1
SMALLEST_DIVISOR = 1e-300
LOADS = ("appears", "coexists", "unstable")
NO_SPECIALIZATION = (
    "κ̃'' vanishes: mixtures of linear students have the same output, and none specializes"
)
NO_COEXISTENCE = (
    "below the Nishimori temperature T = ς² the state R = 0 is a glass: equal "
    "replica-symmetric free energies define no transition"
)


@dataclass(frozen=True, repr=False)
class ThermalTransitions(Finding):
    """The specialization transition at a temperature, K → ∞ or K = 2; loads are α̃ = P/(KN).

    appears: α̃_s, where a specialized minimum appears.
    coexists: α̃_c, where it has the free energy of the unspecialized state.
    unstable: where the state R = 0, or R = S for K = 2, turns unstable towards R − S.
    agreement: where students first agree with each other in the state R = 0: continuously at α̃_g
        if c_2 ≠ 0, and discontinuously at α̃_K, a one-step glass, if c_2 = 0.
    order: "continuous", "discontinuous" or "none", read off the branch.
    bend: dα̃/d(R²) for R → 0, in R − S for K = 2: positive at a continuous transition.
    jump: R of the specialized state at ``coexists``, R − S for K = 2.
    replica_symmetric: whether replica symmetry is stable in the specialized state at ``coexists``,
        or at ``appears`` if there is no coexistence, or where a continuous branch begins.
    specialized, unspecialized: the two states there.
    temperature, approximation: of the setting.
    reasons: why a field is None, by its name.
    """

    appears: Estimate | None
    coexists: Estimate | None
    unstable: Estimate | None
    agreement: Estimate | None
    order: Literal["continuous", "discontinuous", "none"]
    bend: Estimate | None
    jump: float | None
    replica_symmetric: bool | None
    specialized: ThermalState | None
    unspecialized: ThermalState | None
    temperature: float
    approximation: str
    reasons: Mapping[str, str] = field(default_factory=dict)


def transitions_of(solution: Solution) -> ThermalTransitions:
    """Return the transitions of a solution; the error of a quadrature is added to their loads."""
    setting = solution.setting
    transitions = _nothing(setting) if setting.is_linear else _of_curves(solution)
    if not setting.has_quadrature or transitions.appears is None:
        return transitions
    relative = quadrature_error(setting, solution.curves[0])
    loads = [name for name in LOADS if getattr(transitions, name) is not None]
    wider: dict[str, Any] = {name: _widened(getattr(transitions, name), relative) for name in loads}
    reasons = {
        **transitions.reasons,
        "bend": "the quadrature of two smooth units has too few digits",
    }
    return replace(transitions, **wider, bend=None, reasons=reasons)


def _widened(load: Estimate, relative: float) -> Estimate:
    return Estimate(load.value, load.error + relative * load.value)


def _of_curves(solution: Solution) -> ThermalTransitions:
    setting, curves = solution.setting, solution.curves
    reasons = dict[str, str]()
    theory, start = _beginning(solution)
    unstable = None if start is None else load_of(theory, start)
    if unstable is None:
        reasons["unstable"] = "κ̃''(0) = 0: the state R = 0 is a minimum at every load"
    lowest, branch = _lowest(setting, curves)
    latest = math.inf if unstable is None else unstable.value
    continuous = unstable is not None and lowest >= latest * (1 - ROUNDINGS * EPSILON)
    bend = None
    if start is not None:
        curve = curves[solution.theories.index(theory)]
        bend = _bend(theory, curve, start, latest, reasons)
    if bend is None:
        nowhere = "the load is quadratic in R only next to R = 0, within rounding"
        reasons.setdefault("bend", reasons.get("unstable", nowhere))
    appears = Estimate(lowest, ROUNDINGS * EPSILON * lowest)
    coexists, jump = _coexistence(
        setting, curves[0], branch, continuous, appears, unstable, reasons
    )
    states = extrema(solution, (coexists or appears).value)
    agreement = _agreement(setting, reasons)
    if jump is None:
        reasons["jump"] = reasons["coexists"]
    specialized: ThermalState | None
    symmetric: bool | None
    if continuous:
        specialized, symmetric = None, _begins_symmetric(theory, latest, start)
        reasons["specialized"] = "the transition is continuous: the branch begins at R = 0"
    else:
        specialized, symmetric = _specialized(states, jump, reasons)
    return ThermalTransitions(
        appears=appears,
        coexists=coexists,
        unstable=unstable,
        agreement=agreement,
        order="continuous" if continuous else "discontinuous",
        bend=bend,
        jump=jump,
        replica_symmetric=symmetric,
        specialized=specialized,
        unspecialized=next(s for s in states if s.kind == "unspecialized"),
        temperature=setting.temperature,
        approximation=setting.approximation,
        reasons=reasons,
    )


def _beginning(solution: Solution) -> tuple[Theory, Point | None]:
    """Return where a branch begins at R = 0, at the lowest load, with its theory.

    At T = 0 with noise it may begin where students do not interpolate the examples.
    """
    pairs = zip(solution.theories, solution.curves, strict=True)
    starts = [(theory, curve.start) for theory, curve in pairs if curve.start]
    nowhere = solution.setting.theory, None
    return min(starts, key=lambda x: load_of(*x).value, default=nowhere)


def _nothing(setting: ThermalSetting) -> ThermalTransitions:
    names = ("appears", "coexists", "unstable", "agreement", "bend", "jump", "replica_symmetric")
    none = dict.fromkeys((*names, "specialized", "unspecialized"))
    return ThermalTransitions(
        **none,
        order="none",
        temperature=setting.temperature,
        approximation=setting.approximation,
        reasons=dict.fromkeys(none, NO_SPECIALIZATION),
    )


def _lowest(setting: ThermalSetting, curves: list[BranchCurve]) -> tuple[float, Branch | None]:
    """Return the lowest load of a specialized minimum R > 0, and its branch; None for R = q = 1."""
    branches = [p for c in curves for p in c.branches if p.outward and p.sign > 0]
    branch = min(branches, key=lambda p: float(np.min(p.load)), default=None)
    lowest = math.inf if branch is None else float(np.min(branch.load))
    if setting.learns_perfectly and lowest > 1:
        return 1.0, None
    return lowest, branch


def _coexistence(
    setting: ThermalSetting,
    curves: BranchCurve,
    branch: Branch | None,
    continuous: bool,
    appears: Estimate,
    unstable: Estimate | None,
    reasons: dict[str, str],
) -> tuple[Estimate | None, float | None]:
    """Return α̃_c and R at α̃_c; None, with a reason, where equal free energies do not define a
    transition.
    """
    if continuous:
        return unstable, 0.0
    if branch is None:  # R = q = 1, whose free energy is lower than any other as T → 0
        return appears, 1.0
    if setting.approximation == "quenched" and setting.temperature < setting.noise:
        reasons["coexists"] = NO_COEXISTENCE
        return None, None
    fold = next((f for f in curves.folds if f.V == branch.inner.V), None)
    if fold is None:
        reasons["coexists"] = "the specialized branch does not begin at a fold"
        return None, None
    point, load = coexistence(setting.theory, branch, fold, unstable)
    return load, float(point.V)


def _begins_symmetric(theory: Any, load: float, start: Point | None) -> bool:
    """Return whether Λ ≥ 0 where the branch begins; on the Nishimori line Λ = 0."""
    replicon = float(theory.replicon(load, start))
    return math.isnan(replicon) or replicon >= -ROUNDINGS * EPSILON


def _bend(
    theory: Theory, curves: BranchCurve, start: Point, load: float, reasons: dict[str, str]
) -> Estimate | None:
    """dα̃/d(R²) at R = 0 of the branch that begins there; None, with a reason, if the load begins
    linearly.

    The quadratic law holds up to some R, which vanishes with T: of several scales of R the one
    with the smallest error is used.  None where it is below all of them.
    """
    slope = float(theory.slope(start)[1])
    if abs(slope) > FLAT * load:
        reasons["bend"] = f"the load begins linearly, with the slope {slope:.6g} in R"
        return None
    branches = [
        p for p in curves.branches if p.V[0] == 0 and p.V[-1] > R_SCALES[-1] * R_MULTIPLES[-1]
    ]
    if not branches:
        return None
    branch = min(branches, key=lambda p: abs(float(p.load[0]) - load))
    R = np.outer(R_SCALES, R_MULTIPLES)
    points = theory.at(R.ravel(), _next_to(branch, R.ravel()))
    slopes = (theory.slope(points)[0].reshape(R.shape) - load) / R**2
    # Two extrapolations to R = 0, whose difference is the error.
    near = (4 * slopes[:, 0] - slopes[:, 1]) / 3
    far = (4 * slopes[:, 1] - slopes[:, 2]) / 3
    error = 2 * np.abs(near - far) + ROUNDINGS * EPSILON * load / R_SCALES**2
    error = np.where(np.isfinite(error), error, np.inf)
    best = int(np.argmin(error / np.maximum(np.abs(near), SMALLEST_DIVISOR)))
    bend = Estimate(float(near[best]), float(error[best]))
    return bend if bend.error < MAX_RELATIVE_ERROR * abs(bend.value) else None


def _next_to(branch: Branch, R: np.ndarray) -> Point:
    """Return the computed points of a branch next to given R."""
    index = np.argmin(np.abs(branch.V[:, None] - R), axis=0)
    return Point(branch.V[index], branch.d[index], branch.c[index])


def _specialized(
    states: list[ThermalState], jump: float | None, reasons: dict[str, str]
) -> tuple[ThermalState | None, bool | None]:
    """Return the specialized state with R next to the jump, or with the largest R, and whether
    replica symmetry is stable in it; None, with a reason, if there is no such state.
    """
    key = (lambda s: s.S - s.R) if jump is None else (lambda s: abs(s.R - s.S - jump))
    state = min((s for s in states if s.R > s.S), key=key, default=None)
    if state is None:
        reasons["specialized"] = reasons["replica_symmetric"] = "R = q = 1 above this load"
        return None, None
    return state, state.replica_symmetric


def _agreement(setting: ThermalSetting, reasons: dict[str, str]) -> Estimate | None:
    """Return the load at which replicas begin to agree: α̃_g for c_2 ≠ 0, α̃_K for c_2 = 0."""
    theory = setting.theory
    if not isinstance(theory, QuenchedTheory):
        reasons["agreement"] = "the annealed free energy has no replicas"
        return None
    load = theory.agreement_load()
    return glass_load(theory) if load is None else Estimate(load, ROUNDINGS * EPSILON * load)


def glass_load(theory: QuenchedTheory) -> Estimate:
    """α̃_K, where a one-step glass R = 0 < q of odd units appears, with its parameter m → 1.

    α̃_K = min_q [ln(1−q) + q]/[ln(1−u) + u (T−ς²)/(T+κ̃(1))],      u = κ̃(q)/(T+κ̃(1)).
    """
    width = theory.temperature + theory.near.top
    tilt = (theory.temperature - theory.noise) / width

    def load(d: FloatOrArray) -> Any:
        p = np.exp(d)
        u = (theory.near.top - theory.near.drop(p)) / width
        with np.errstate(divide="ignore"):
            return (d + 1 - p) / (np.log1p(-np.minimum(u, 1.0)) + u * tilt)

    grid = np.linspace(math.log(1e-12), math.log(0.999), 600)
    i = int(np.clip(np.argmin(load(grid)), 1, len(grid) - 2))
    minimum = minimize_scalar(
        load, bounds=(grid[i - 1], grid[i + 1]), method="bounded", options={"xatol": 1e-9}
    )
    return Estimate(float(minimum.fun), float(ROUNDINGS * EPSILON * minimum.fun))

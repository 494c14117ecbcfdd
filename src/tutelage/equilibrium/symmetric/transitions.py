"""Specialization transitions: the loads α at which the minima of βf change."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal, overload

import numpy as np
from scipy.optimize import brentq

from tutelage._arguments import validated
from tutelage._findings import Finding
from tutelage._given import CheckedInside
from tutelage.activations import Activation
from tutelage.averages import Estimate
from tutelage.equilibrium.symmetric.branches import Branch, BranchCurve, follow_branches, state_at
from tutelage.equilibrium.symmetric.coexistence import EPSILON, ROUNDINGS, coexistence, load_of
from tutelage.equilibrium.symmetric.states import State, describe
from tutelage.equilibrium.symmetric.theory import Point, Theory, theory_of
from tutelage.equilibrium.thermal.setting import setting_of
from tutelage.equilibrium.thermal.solution import solution_of
from tutelage.equilibrium.thermal.transitions import (
    ThermalTransitions,
    transitions_of as thermal_transitions_of,
)

Kind = Literal["continuous", "discontinuous", "none"]
# Above this multiple of the lowest load, eigenvalues differ so much in size that their signs are
# rounding.
MAX_LOAD_FACTOR = 1e6


@dataclass(frozen=True, repr=False)
class Transitions(Finding):
    """The specialization transition of one activation and one number of units.

    appears: α_s, where a specialized state appears; at a continuous transition α_c.
    coexists: α_c, where it has the free energy of the unspecialized state.
    unstable: where the unspecialized state loses its stability, in all overlaps at once (α_d of
        ``oostwal2019`` section III A (d)); None if it never does.
    order: "continuous", "discontinuous" or "none".
    jump: |R − S| of the specialized state at ``coexists``.
    width: ``unstable`` − ``appears``, the range of loads in which both states coexist.
    slope: dα/d(R − S) at R = S.  Permutation symmetry forbids a cubic term in R − S only for
        K = 2; for K ≥ 3 the slope does not vanish, and the state on the side with the falling
        load has the lower free energy.
    exponent: of |R − S| ∝ (α − α_c)^exponent, fitted; None if the transition is discontinuous.
    specialized, unspecialized: the two states at ``coexists``.
    opposite: where the state of the other sign (R < S if R > S appears; R < 0 of a single unit)
        becomes a minimum among site-symmetric states.
    opposite_stable: where that state becomes a minimum in all overlaps; None if it never does.
    reasons: why a field is None, by its name.
    """

    appears: Estimate | None
    coexists: Estimate | None
    unstable: Estimate | None
    order: Kind
    jump: float | None = None
    width: float | None = None
    slope: float | None = None
    exponent: Estimate | None = None
    specialized: State | None = None
    unspecialized: State | None = None
    opposite: Estimate | None = None
    opposite_stable: Estimate | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)


@overload
def transitions(activation: Activation, units: CheckedInside[float]) -> Transitions: ...


@overload
def transitions(
    activation: Activation,
    units: CheckedInside[float],
    *,
    temperature: float | str,
    approximation: str = "quenched",
    label_noise: float = 0.0,
) -> ThermalTransitions: ...


@validated
def transitions(
    activation: Activation,
    units: CheckedInside[float],
    *,
    temperature: float | str | None = None,
    approximation: str = "quenched",
    label_noise: float = 0.0,
) -> Transitions | ThermalTransitions:
    """Find the loads at which a specialized state appears, is lowest, and is the only minimum.

    Args:
        activation: g, the same for student and teacher.
        units: K: 1, 2, … or ``math.inf``.
        temperature, approximation, label_noise: as in `states`; the loads are then α̃ = P/(KN), and
            the result is a `ThermalTransitions`.

    Raises:
        InputError: if an argument cannot be used.

    >>> import tutelage as tl
    >>> loads = tl.equilibrium.transitions(tl.Erf(), units=2)
    >>> print(f"{loads.coexists.value:.6f}", loads.order)
    23.675957 continuous
    >>> import math
    >>> cold = tl.equilibrium.transitions(tl.ReLU(), math.inf, temperature=0.1)
    >>> print(f"{cold.coexists.value:.6f}")  # 2πT + π/2 − 1
    1.199115
    """
    setting = setting_of(activation, units, temperature, approximation, label_noise)
    if setting is not None:
        return thermal_transitions_of(solution_of(activation, setting))
    theory = theory_of(activation, units)
    return transitions_of(theory, follow_branches(theory))


def transitions_of(theory: Theory, branch_curve: BranchCurve) -> Transitions:
    """Return the transitions of a theory with a given specialized curve."""
    lowest = _lowest(theory, branch_curve)
    transitions = _specialization(theory, branch_curve, lowest)
    sign = -1 if lowest is not None and lowest.V < 0 else 1
    opposite, opposite_stable, reasons = _opposite(theory, branch_curve, sign)
    return replace(
        transitions,
        opposite=opposite,
        opposite_stable=opposite_stable,
        reasons={**transitions.reasons, **reasons},
    )


def _specialization(theory: Theory, branch_curve: BranchCurve, lowest: Point | None) -> Transitions:
    """Return the transitions, without the fields of the state opposite in sign."""
    if lowest is None:
        return _nothing(theory)
    if not theory.has_flat_state:
        return _jump_of_one_unit(theory, branch_curve, lowest)
    unstable = _unstable(theory, branch_curve)
    if lowest.V == 0:
        return _continuous(theory, branch_curve, lowest, unstable)
    return _discontinuous(theory, branch_curve, lowest, unstable)


def _lowest(theory: Theory, branch_curve: BranchCurve) -> Point | None:
    """Return the state of lowest load on the specialized curve: a fold, or V = 0.

    A single unit that grows from R = 0 jumps between states R > 0; states R < 0 lie on a separate
    curve, at loads where κ'(R) < 0, and their free energy is never the lowest.
    """
    candidates = [*branch_curve.folds, *([branch_curve.start] if branch_curve.start else [])]
    if not theory.has_flat_state:
        candidates = [point for point in candidates if point.V > 0]
    return min(candidates, key=lambda p: theory.slope(p)[0], default=None)


def _unstable(theory: Theory, branch_curve: BranchCurve) -> Estimate | None:
    return None if branch_curve.start is None else load_of(theory, branch_curve.start)


def _nothing(theory: Theory) -> Transitions:
    if theory.units == 1:
        why = "a single unit cannot specialize: R grows smoothly with the load"
    else:
        why = "κ'' vanishes: mixtures of linear students have the same output, and none specializes"
    said = ("order", "opposite", "opposite_stable", "reasons")
    reasons = {f.name: why for f in fields(Transitions) if f.name not in said}
    return Transitions(appears=None, coexists=None, unstable=None, order="none", reasons=reasons)


def _continuous(
    theory: Theory, branch_curve: BranchCurve, start: Point, unstable: Estimate | None
) -> Transitions:
    """Describe a transition whose load is lowest at V = 0."""
    load = load_of(theory, start)
    state = describe(theory, load.value, start)
    return Transitions(
        appears=load,
        coexists=load,
        unstable=unstable,
        order="continuous",
        jump=0.0,
        width=0.0,
        slope=0.0,
        exponent=_exponent(theory, branch_curve, load.value),
        specialized=state,
        unspecialized=state,
    )


def _exponent(theory: Theory, branch_curve: BranchCurve, load: float) -> Estimate:
    """Fit d ln V/d ln(α − α_c) to V = 0.01 … 0.04; the error is the curvature of that line."""
    V = np.array([0.01, 0.02, 0.04])
    branch = max((p for p in branch_curve.branches if p.sign > 0), key=lambda p: p.V[-1])
    near = branch.point(int(np.searchsorted(branch.V, V[0])))
    loads = np.array([theory.slope(theory.moved(float(x), near))[0] for x in V])
    local = np.diff(np.log(V)) / np.diff(np.log(loads - load))
    # Corrections are of order V²: four times smaller for the first pair than for the second.
    return Estimate(float((4 * local[0] - local[1]) / 3), float(abs(local[1] - local[0])))


def _discontinuous(
    theory: Theory, branch_curve: BranchCurve, fold: Point, unstable: Estimate | None
) -> Transitions:
    """Describe a transition that begins at a fold V ≠ 0."""
    appears = load_of(theory, fold)
    branch = next(p for p in branch_curve.branches if p.outward and p.inner.V == fold.V)
    point, coexists = coexistence(theory, branch, fold, unstable)
    reasons = {"exponent": "the transition is discontinuous"}
    if unstable is None:
        why = "κ''(0) = 0: for K → ∞ the unspecialized state is stable at any load"
        reasons |= dict.fromkeys(("unstable", "width", "slope"), why)
    return Transitions(
        appears=appears,
        coexists=coexists,
        unstable=unstable,
        order="discontinuous",
        jump=abs(point.V),
        width=None if unstable is None else unstable.value - appears.value,
        slope=float(theory.slope(branch_curve.start)[1]) if branch_curve.start else None,
        specialized=describe(theory, coexists.value, point),
        unspecialized=describe(theory, coexists.value, theory.unspecialized(coexists.value)),
        reasons=reasons,
    )


def _jump_of_one_unit(theory: Theory, branch_curve: BranchCurve, fold: Point) -> Transitions:
    """Describe a jump of a single unit between two states R > 0 of one curve."""
    own = [p for p in branch_curve.branches if p.outward and p.sign > 0]
    after = next(p for p in own if p.inner.V == fold.V)
    before = min(own, key=lambda p: abs(p.inner.V))
    appears, ends = float(theory.slope(fold)[0]), float(np.max(before.load))

    def both(load: float) -> list[Point]:
        return [state_at(theory, p, load) or p.inner for p in (before, after)]

    def difference(load: float) -> float:
        low, high = both(load)
        return theory.free_energy(load, high) - theory.free_energy(load, low)

    load = brentq(difference, appears, ends, rtol=4 * EPSILON)
    low, high = both(load)
    gap = abs(theory.error(low) - theory.error(high))
    error = ROUNDINGS * EPSILON * (1 + load) / gap
    reasons = {"exponent": "the transition is discontinuous", "slope": "R − S does not exist"}
    return Transitions(
        appears=load_of(theory, fold),
        coexists=Estimate(float(load), float(error)),
        unstable=Estimate(ends, ROUNDINGS * EPSILON * ends),
        order="discontinuous",
        jump=abs(high.V - low.V),
        width=ends - appears,
        specialized=describe(theory, load, high),
        unspecialized=describe(theory, load, low),
        reasons=reasons,
    )


def _opposite(
    theory: Theory, branch_curve: BranchCurve, sign: int
) -> tuple[Estimate | None, Estimate | None, dict[str, str]]:
    """Return the loads above which the state with R − S of the other sign is a minimum.

    With them, why they are None.
    """
    branches = [p for p in branch_curve.branches if p.outward and p.sign == -sign]
    if not branches:
        why = "there is no state of the other sign"
        return None, None, dict.fromkeys(("opposite", "opposite_stable"), why)
    branch = min(branches, key=lambda p: theory.slope(p.inner)[0])
    stable = _becomes_stable(theory, branch)
    bound = f"{MAX_LOAD_FACTOR:g} times the lowest"
    why = f"some change of the overlaps lowers βf at every load up to {bound}"
    return load_of(theory, branch.inner), stable, {} if stable else {"opposite_stable": why}


def _becomes_stable(theory: Theory, branch: Branch) -> Estimate | None:
    """Return the lowest load above which every eigenvalue is positive."""
    points = Point(branch.V, branch.d, branch.c)
    stable = theory.stable(branch.load, points)[0]
    order = np.argsort(branch.load)[::-1]
    order = order[branch.load[order] < MAX_LOAD_FACTOR * np.min(branch.load)]
    failing = np.flatnonzero(~stable[order])
    if not len(failing):
        return load_of(theory, branch.inner)
    last = int(failing[0])
    if last == 0:
        return None
    inside, outside = branch.point(int(order[last - 1])), float(branch.V[order[last]])

    def lowest(V):
        point = theory.moved(float(V), inside)
        return describe(theory, theory.slope(point)[0], point).lowest_eigenvalue

    if lowest(outside) > -ROUNDINGS * EPSILON:  # next to V = 0, where the eigenvalue vanishes
        return load_of(theory, branch.inner)
    V = brentq(lowest, outside, inside.V, xtol=1e-15, rtol=1e-14)
    load = theory.slope(theory.moved(float(V), inside))[0]
    ends = theory.slope(inside)[0] - theory.slope(theory.moved(outside, inside))[0]
    per_eigenvalue = abs(ends / (lowest(inside.V) - lowest(outside)))
    return Estimate(load, ROUNDINGS * EPSILON * (load + per_eigenvalue))

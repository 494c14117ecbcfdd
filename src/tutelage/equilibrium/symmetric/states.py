"""Every site-symmetric stationary state at a load, with its stability."""

import functools
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from tutelage._arguments import validated
from tutelage._checks import finite_number
from tutelage._findings import Finding
from tutelage._given import CheckedInside
from tutelage.activations import Activation
from tutelage.equilibrium.symmetric.branches import (
    BranchCurve,
    check_reach,
    follow_branches,
    state_at,
)
from tutelage.equilibrium.symmetric.stability import HessianBlock
from tutelage.equilibrium.symmetric.theory import Point, Theory, theory_of
from tutelage.equilibrium.thermal.setting import setting_of
from tutelage.equilibrium.thermal.solution import check_loads_within, solution_of
from tutelage.equilibrium.thermal.states import ThermalState, extrema, pair_extrema

# Rounding errors of the Hessian of βf/K = α ε_g − s/K, whose terms are of order one.
ROUNDING = 16 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, repr=False)
class State(Finding):
    """A stationary state of βf.

    kind: "unspecialized" (R = S), "R > S" or "R < S"; "R > 0" or "R < 0" for a single unit.
    load: α.
    R, S, C: order parameters of ``oostwal2019`` eq. (10); for a single unit S and C are NaN.
    generalization_error: ε_g.
    free_energy_per_unit: βf/K up to the constant of eq. (18).
    hessian: second derivatives of βf in (R, S, C), shape (3, 3); for K = 1 and K → ∞ that of
        βf/K in R, shape (1, 1).
    blocks: all eigenvalues of the Hessian in the K² + K(K−1)/2 overlaps R_ij and Q_ij, by
        irreducible representation, with multiplicities.
    units: K.
    """

    kind: str
    load: float
    R: float
    S: float
    C: float
    generalization_error: float
    free_energy_per_unit: float
    hessian: np.ndarray = field(repr=False)
    blocks: tuple[HessianBlock, ...] = field(repr=False)
    units: float

    also = ("lowest_eigenvalue", "stable")

    @property
    def brief(self) -> str:
        words = "stable" if self.stable else "not stable"
        orders = ", ".join(
            f"{n} = {getattr(self, n):.6g}" for n in "RSC" if self.units != 1 or n == "R"
        )
        return f"{self.kind}: {orders}, ε_g = {self.generalization_error:.6g}, {words}"

    @property
    def free_energy(self) -> float:
        """βf of eq. (20); infinite for infinite K."""
        return self.units * self.free_energy_per_unit

    @property
    def lowest_eigenvalue(self) -> float:
        """The smallest eigenvalue of the full Hessian."""
        return min(float(block.eigenvalues[0]) for block in self.blocks)

    @property
    def site_stable(self) -> bool:
        """True for a local minimum among site-symmetric states."""
        return bool(self.blocks[0].eigenvalues[0] > 0)

    @property
    def stable(self) -> bool:
        """True for a local minimum in all overlaps; at a transition it is False (GLOSSARY.md)."""
        return self.lowest_eigenvalue > ROUNDING * (1 + self.load)


@overload
def states(
    activation: Activation, units: CheckedInside[float], load: float, *, saddles: bool = False
) -> tuple[State, ...]: ...


@overload
def states(
    activation: Activation,
    units: CheckedInside[float],
    load: float,
    *,
    saddles: bool = False,
    temperature: float | str,
    approximation: str = "quenched",
    label_noise: float = 0.0,
) -> tuple[ThermalState, ...]: ...


@validated
def states(
    activation: Activation,
    units: CheckedInside[float],
    load: float,
    *,
    saddles: bool = False,
    temperature: float | str | None = None,
    approximation: str = "quenched",
    label_noise: float = 0.0,
) -> tuple[State | ThermalState, ...]:
    """List all minima of the site-symmetric free energy, the lowest free energy first.

    Args:
        activation: g, the same for student and teacher.
        units: K, the same for both: 1, 2, … or ``math.inf``.
        load: α = βP/(KN) ≥ 0, not the time of on-line learning; with a temperature α̃ = P/(KN).
        saddles: also list the stationary states that are no minima.
        temperature: T = 1/β ≥ 0, or "bayes" for the variance of the label noise; by default the
            limit of high temperature.  States are then `ThermalState`, those with stable replica
            symmetry first; ``units`` has to be ``math.inf`` or 2.
        approximation: "quenched" (replica symmetric) or "annealed", with a temperature.
        label_noise: standard deviation ς of the labels, with a temperature.

    ``stable`` of a state is True if it is a minimum in all overlaps as well.

    Raises:
        InputError: if an argument cannot be used.

    >>> import tutelage as tl
    >>> for state in tl.equilibrium.states(tl.Erf(), units=5, load=46.0):
    ...     print(state.kind, f"{state.R:.6f} {state.generalization_error:.6f}", state.stable)
    R > S 0.649022 0.013321 True
    unspecialized 0.198284 0.016661 True
    >>> cold = tl.equilibrium.states(tl.Erf(), np.inf, load=9.0, temperature=0.1)
    >>> [f"{state.kind}: R = {state.R:.4f}, q = {state.q:.4f}" for state in cold]
    ['R > S: R = 0.8132, q = 0.6672', 'unspecialized: R = 0.0000, q = 0.0000']
    """
    alpha = float(finite_number("load", load, at_least=0.0, hint="load=10.0"))
    setting = setting_of(
        activation, units, temperature, approximation, label_noise, is_for_states=True
    )
    if setting is not None and setting.is_quenched_pair:
        return tuple(s for s in pair_extrema(setting, alpha) if saddles or s.site_stable)
    if setting is not None:
        solution = solution_of(activation, setting)
        check_loads_within(solution, "load", alpha)
        return tuple(s for s in extrema(solution, alpha) if saddles or s.site_stable)
    theory = theory_of(activation, units)
    branch_curve = follow_branches(theory)
    check_reach("load", branch_curve, alpha)
    points = stationary(theory, branch_curve, alpha)
    listed = [s for s in points if saddles or s.site_stable]
    return tuple(sorted(listed, key=functools.cmp_to_key(_compare)))


def _compare(a: State, b: State) -> int:
    """Order states by free energy; if symmetry makes them equal, the larger R comes first."""
    difference = a.free_energy_per_unit - b.free_energy_per_unit
    equal = abs(difference) < ROUNDING * (1 + a.load)
    return int(np.sign(b.R - a.R if equal else difference))


def stationary(theory: Theory, branch_curve: BranchCurve, load: float) -> list[State]:
    """Return all stationary states at a load: the unspecialized one, and one per branch."""
    states = []
    if theory.has_flat_state:
        states.append(describe(theory, load, theory.unspecialized(load)))
    for branch in branch_curve.branches:
        point = state_at(theory, branch, load)
        if point is not None and (point.V != 0 or not states):
            states.append(describe(theory, load, point))
    return states


def kind_of(theory: Theory, V: float) -> str:
    """Name a state by the sign of V."""
    if V == 0:
        return "unspecialized"
    return f"R {'>' if V > 0 else '<'} {'0' if theory.units == 1 else 'S'}"


def describe(theory: Theory, load: float, point: Point) -> State:
    """Make a `State` of a point."""
    R, S, C = (float(x) for x in theory.order(point))
    return State(
        kind=kind_of(theory, point.V),
        load=load,
        R=R,
        S=S,
        C=C,
        generalization_error=float(theory.error(point)),
        free_energy_per_unit=float(theory.free_energy(load, point)),
        hessian=theory.hessian(load, point),
        blocks=tuple(theory.blocks(load, point)),
        units=theory.units,
    )

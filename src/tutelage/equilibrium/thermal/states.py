"""Extrema of the free energy at a load and a temperature, as findings."""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tutelage._findings import Finding
from tutelage.equilibrium.thermal.quenched_pair import QuenchedPairTheory
from tutelage.equilibrium.thermal.setting import ThermalSetting
from tutelage.equilibrium.thermal.solution import Solution

# Free energies are sums of some terms of order one.
ROUNDING_TOLERANCE = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, repr=False)
class ThermalState(Finding):
    """An extremum of the free energy at a temperature, of K → ∞ units or of K = 2.

    kind: "unspecialized" (R = q = 0; R = S for K = 2), "agreeing" (R = 0 < q: students agree with
        each other but not with the teacher), "R > S" or "R < S".
    load: α̃ = P/(KN).
    scaled_load: α = α̃/T, the load of the limit of high temperature; None at T = 0.
    R: overlap of a student with its teacher.
    q: overlap of two replicas of a student; for the annealed theory R² + S².
    susceptibility: χ = (1 − q)/T where q → 1 for T → 0; None elsewhere.
    generalization_error: ε_g = κ̃(1) − κ̃(R), without the noise of the labels.
    training_error: mean of ½ (σ − τ)² over the examples, τ with its noise.
    free_energy_per_unit: βf/K; at T = 0, where it is infinite, its limit without (α̃/2) ln β,
        infinite only where a training error stays.
    curvature: d²(βf/K)/dR² with q at its extremum, for K = 2 in
        R − S: negative for a saddle.
    replicon: Λ; where it is negative replica symmetry is broken, and the numbers are those of an
        unstable ansatz.  None for the annealed theory.
    S, C: overlaps with the other teacher and with the other student, 0 for K → ∞.
    units: K.
    """

    kind: str
    load: float
    temperature: float
    scaled_load: float | None
    R: float
    q: float
    susceptibility: float | None
    generalization_error: float
    training_error: float
    free_energy_per_unit: float
    curvature: float
    replicon: float | None
    S: float
    C: float
    units: float
    approximation: str
    reasons: Mapping[str, str] = field(default_factory=dict)

    also = ("stable", "replica_symmetric")

    @property
    def site_stable(self) -> bool:
        """True for a local minimum in R."""
        return self.curvature > 0

    @property
    def replica_symmetric(self) -> bool:
        """True where replica symmetry is stable, Λ > 0, and for the annealed theory."""
        return self.replicon is None or self.replicon > 0

    @property
    def stable(self) -> bool:
        """True for a local minimum in R at which replica symmetry is stable."""
        return self.site_stable and self.replica_symmetric

    @property
    def energy_per_unit(self) -> float:
        """α̃ times the training error: f/K for T → 0."""
        return self.load * self.training_error

    @property
    def brief(self) -> str:
        words = "stable" if self.stable else "not stable"
        if not self.replica_symmetric:
            words = "replica symmetry is unstable"
        return (
            f"{self.kind}: R = {self.R:.6g}, q = {self.q:.6g}, "
            f"ε_g = {self.generalization_error:.6g}, {words}"
        )


def extrema(solution: Solution, load: float) -> list[ThermalState]:
    """Return all extrema at a load, in the order of `_compare`."""
    loads = np.array([load])
    states = []
    for branch in solution.branches:
        values = branch.values(loads)
        if np.isfinite(values.R[0]):
            numbers = {name: float(x[0]) for name, x in values._asdict().items()}
            states.append(_state(solution.setting, branch.kind, load, numbers))
    return sorted(states, key=functools.cmp_to_key(_compare))


def pair_extrema(setting: ThermalSetting, load: float) -> list[ThermalState]:
    """Return the states of two units with the quenched free energy, in the order of `_compare`."""
    theory = QuenchedPairTheory(
        setting.activation, setting.kernel, setting.temperature, setting.noise
    )
    states = [
        _state(setting, kind, load, {name: float(x) for name, x in values._asdict().items()})
        for kind, values in theory.states(load)
    ]
    return sorted(states, key=functools.cmp_to_key(_compare))


def _compare(a: ThermalState, b: ThermalState) -> int:
    """Order states: replica-symmetrically stable ones first, then by free energy, then by
    decreasing R.

    Free energies that differ by rounding are equal; infinite ones are compared by their energies.
    """
    if a.replica_symmetric != b.replica_symmetric:
        return -1 if a.replica_symmetric else 1
    for x, y in (
        (a.free_energy_per_unit, b.free_energy_per_unit),
        (a.energy_per_unit, b.energy_per_unit),
    ):
        if x != y and not math.isclose(
            x, y, rel_tol=ROUNDING_TOLERANCE, abs_tol=ROUNDING_TOLERANCE
        ):
            return -1 if x < y else 1
    return int(np.sign(b.R - a.R))


def _state(
    setting: ThermalSetting, kind: str, load: float, numbers: dict[str, Any]
) -> ThermalState:
    """Make a `ThermalState`, with reasons for its missing values."""
    T, reasons = setting.temperature, {}
    if T == 0:
        reasons["scaled_load"] = "α̃/T is infinite at T = 0"
    if math.isnan(numbers["susceptibility"]):
        numbers["susceptibility"], reasons["susceptibility"] = None, "q < 1"
    if math.isnan(numbers["replicon"]):
        numbers["replicon"] = None
        reasons["replicon"] = "the annealed free energy has no replicas"
    return ThermalState(
        kind=kind,
        load=load,
        units=setting.units,
        temperature=T,
        scaled_load=load / T if T > 0 else None,
        approximation=setting.approximation,
        reasons=reasons,
        **numbers,
    )

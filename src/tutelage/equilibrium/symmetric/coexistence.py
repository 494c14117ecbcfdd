"""Coexistence: the load at which two states have the same free energy."""

import math
from typing import Any

import numpy as np

from tutelage._types import FloatOrArray
from tutelage.averages import Estimate
from tutelage.equilibrium.symmetric.branches import Branch
from tutelage.equilibrium.symmetric.theory import MAX_STEPS, Point, Theory
from tutelage.solve.newton import newton

EPSILON = float(np.finfo(np.float64).eps)
# Newton's method solves for (d, c), and so for loads, to some tens of rounding errors.
ROUNDINGS = 64.0
# Free energies of states closer than this are compared by integrating their slopes.
MAX_INTEGRATED_V = 0.1
# Relative change of V below which one more Newton step reaches rounding.
SWITCH_TOLERANCE = 1e-6
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def load_of(theory: Theory, point: Point) -> Estimate:
    """Return the load of a point of the specialized curve, with its rounding error."""
    load = float(theory.slope(point)[0])
    return Estimate(load, ROUNDINGS * EPSILON * load)


def _is_close(fold: Point, unstable: Estimate | None) -> bool:
    return abs(fold.V) < MAX_INTEGRATED_V and unstable is not None


def coexistence(
    theory: Theory, branch: Branch, fold: Point, unstable: Estimate | None
) -> tuple[Point, Estimate]:
    """Return the state on the outer branch with the same free energy as the unspecialized state."""
    close = _is_close(fold, unstable)
    difference = _integrated if close else _difference
    # Next to V = 0 the load is α_0 + aV + bV², whose minimum is at V = -a/2b, and the difference is
    # ∝ ∫ (a + 2bV) V² dV, which vanishes at -2a/3b.
    last = theory.moved(4 / 3 * fold.V, fold) if close else _first_guess(theory, branch)
    first, scale = last.V, abs(last.V * _rate(theory, last)) or 1.0
    inner, outer = sorted((fold.V, 4 * fold.V if close else math.copysign(1.0, fold.V)))

    def excess(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nonlocal last
        last = theory.moved(float(x[0]), last)
        return (np.array([difference(theory, last)]) / scale,
                np.array([[_rate(theory, last)]]) / scale)  # fmt: skip

    root = newton(
        excess,
        np.array([first]),
        steps=MAX_STEPS,
        tolerance=SWITCH_TOLERANCE,
        allowed=lambda x: (inner < x[..., 0]) & (x[..., 0] < outer),
    )
    point = theory.moved(float(root.x[0]) if root.converged else first, last)
    load = float(theory.slope(point)[0])
    return point, Estimate(load, _error(theory, point, fold, load, unstable))


def _first_guess(theory: Theory, branch: Branch) -> Point:
    """Return the computed point next to which the specialized state gets the lower free energy."""
    points = Point(branch.V, branch.d, branch.c)
    order = np.argsort(branch.load)
    won = _difference(theory, points)[order] < 0
    return branch.point(int(order[np.argmax(won)]))


def _rate(theory: Theory, point: Point) -> float:
    """Return d/dV of the difference of free energies: the difference of errors times dα/dV."""
    load, rate = theory.slope(point)
    return float(rate * _gap(theory, load, point))


def _gap(theory: Theory, load: FloatOrArray, point: Point) -> Any:
    """Return the difference in ∂(βf/K)/∂α between a state and the unspecialized one."""
    return theory.load_derivative(point) - theory.load_derivative(theory.unspecialized(load))


def _difference(theory: Theory, point: Point) -> Any:
    """βf/K of a specialized state minus that of the unspecialized one at its load."""
    load = theory.slope(point)[0]
    return theory.free_energy(load, point) - theory.free_energy(load, theory.unspecialized(load))


def _integrated(theory: Theory, point: Point) -> float:
    """Return the difference of free energies as an integral of d(βf/K)/dα = ε_g from V = 0.

    Free energies of states that differ by V agree to V³, their errors to V²: the integral of the
    difference of errors has digits that the difference of free energies loses.
    """
    nodes = theory.at(point.V * (1 + NODES) / 2, point)
    loads, rates = theory.slope(nodes)
    return float(point.V / 2 * (WEIGHTS @ (rates * _gap(theory, loads, nodes))))


def _error(
    theory: Theory, point: Point, fold: Point, load: float, unstable: Estimate | None
) -> float:
    """Return the error of the load: the rounding of the free energies divided by their slope, at
    most the bracket.
    """
    gap = abs(_gap(theory, load, point))
    size = 1 + abs(theory.free_energy(load, point)) + load * abs(theory.load_derivative(point))
    rounding = EPSILON * size
    if not _is_close(fold, unstable):
        rounding /= gap
    bracket = math.inf if unstable is None else unstable.value - theory.slope(fold)[0]
    return float(min(4 * rounding, bracket) + ROUNDINGS * EPSILON * load)

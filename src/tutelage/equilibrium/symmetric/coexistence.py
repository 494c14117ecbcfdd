"""Where two states have the same free energy."""

import math

import numpy as np
from scipy.optimize import brentq

from tutelage.averages import Estimate
from tutelage.equilibrium.symmetric.pieces import Piece
from tutelage.equilibrium.symmetric.site import Point
from tutelage.equilibrium.symmetric.theory import Theory

EPSILON = float(np.finfo(np.float64).eps)
# Newton's method leaves (d, c) some tens of roundings off; loads inherit them.
ROUNDINGS = 64.0
# Free energies of states closer than this are compared by integrating their slopes.
CLOSE = 0.1
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def load_of(theory: Theory, point: Point) -> Estimate:
    """α of a point of the specialized curve, with its rounding."""
    load = float(theory.slope(point)[0])
    return Estimate(load, ROUNDINGS * EPSILON * load)


def _is_close(fold: Point, unstable: Estimate | None) -> bool:
    return abs(fold.V) < CLOSE and unstable is not None


def coexistence(
    theory: Theory, piece: Piece, fold: Point, unstable: Estimate | None
) -> tuple[Point, Estimate]:
    """The state on the outer piece whose free energy is that of the unspecialized state."""
    close = _is_close(fold, unstable)
    difference = _integrated if close else _difference
    last = fold

    def excess(V):
        nonlocal last
        last = theory.at(float(V), last) or last
        return difference(theory, last)

    inner, outer = fold.V, 4 * fold.V if close else (1 - 1e-6) * math.copysign(1, fold.V)
    outer = max(outer, piece.V[0]) if fold.V < 0 else min(outer, piece.V[-1])
    if close and not excess(inner) * excess(outer) < 0:
        # Too close to V = 0 for digits of the difference.  There α ≈ α_0 + aV + bV², which turns
        # at V = -a/2b, and the difference is ∝ ∫ (a + 2bV) V² dV, which vanishes at -2a/3b.
        V = 4 / 3 * fold.V
    else:
        V = brentq(excess, inner, outer, xtol=1e-300, rtol=1e-11 if close else 1e-14)
    point = theory.at(float(V), last) or last
    load = float(theory.slope(point)[0])
    return point, Estimate(load, _error(theory, point, fold, load, unstable))


def _difference(theory: Theory, point: Point) -> float:
    """βf/K of a specialized state minus that of the unspecialized one at its load."""
    load = theory.slope(point)[0]
    return theory.free_energy(load, point) - theory.free_energy(load, theory.unspecialized(load))


def _integrated(theory: Theory, point: Point) -> float:
    """The same by d(βf/K)/dα = ε_g along both, from V = 0, where they are one.

    Free energies of states that differ by V agree to V³, their errors to V²: the integral of the
    difference of errors keeps digits that the difference of free energies does not have.
    """
    nodes = theory.at_many(point.V * (1 + NODES) / 2, point)
    loads, rates = theory.slope(nodes)
    difference = theory.error(nodes) - theory.error(theory.unspecialized_many(loads))
    return float(WEIGHTS @ (rates * difference))


def _error(
    theory: Theory, point: Point, fold: Point, load: float, unstable: Estimate | None
) -> float:
    """Rounding of what was compared over its slope in α, or the bracket, whichever is less."""
    gap = abs(theory.error(point) - theory.error(theory.unspecialized(load)))
    rounding = EPSILON * (1 + abs(theory.free_energy(load, point)) + load * theory.error(point))
    if not _is_close(fold, unstable):
        rounding /= gap
    bracket = math.inf if unstable is None else unstable.value - theory.slope(fold)[0]
    return float(min(4 * rounding, bracket) + ROUNDINGS * EPSILON * load)

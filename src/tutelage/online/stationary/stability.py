"""Learning rates where fixed points lose stability, and where their branches have folds."""

import numpy as np
from scipy.optimize import brentq

from tutelage._checks import ComputationError
from tutelage.averages.estimate import Estimate, number
from tutelage.model import Overlaps, Scenario
from tutelage.model.timing import rate_of
from tutelage.online.flow import Flow
from tutelage.online.linearization import linearized, system
from tutelage.online.stationary.points import fixed_point, polished
from tutelage.online.stationary.solutions import (
    derivatives,
    jacobian_error,
    nearest_solution,
)
from tutelage.online.steps import Steps
from tutelage.solve.continuation import Special, Test, along_parameter, follow

CLOSE = 1e-12
CLOSED_IN = 4 * float(np.finfo(float).eps)  # relative width of the interval of a root
TOO_LARGE = 1e3  # norms on a branch that goes to infinity
# Learning rates between which the unspecialized saddle is followed.
LOWEST, HIGHEST = 0.02, 1000.0


def loss_of_stability(flow: Flow, run: Steps, eta: float, top: float) -> Estimate | None:
    """Find η with max Re λ = 0 on the branch of the attractor; None if the attractor is not
    isolated.
    """
    y = _solution(flow, run)
    solved = y is not None
    y = _polished(flow, run, eta) if y is None else y
    if y is None or _stability(linearized(flow, y, eta).jacobian) < CLOSE:
        return None
    if not solved:
        return _first_sign_change(flow, y, eta, lambda place: _stability(place.J[:, :-1]), top)
    # The solution does not depend on η. It is not polished: C is singular there, and J has another
    # limit in a state that is moved by rounding.
    F, G = derivatives(flow, y)
    etas = np.linspace(eta, top, 65)
    below = np.flatnonzero([_stability(F + eta * G) < 0 for eta in etas])
    return _root(flow, y, etas[below[0] - 1], etas[below[0]]) if below.size else None


def _solution(flow: Flow, run: Steps) -> np.ndarray | None:
    """Return the exact solution in which a run ends, a fixed point at every η; None if it ends
    elsewhere.

    C is singular there, so that Newton's method would not come as close.
    """
    return nearest_solution(flow, run.states[-1]) if run.outcome == "converged" else None


def _polished(flow: Flow, run: Steps, eta: float) -> np.ndarray | None:
    """Return the fixed point at the end of a run, or None."""
    try:
        return polished("start", flow, rate_of(eta), run.states[-1])[0]
    except ComputationError:
        return None


def _root(flow: Flow, y: np.ndarray, low: float, high: float) -> Estimate:
    """Find where a solution loses its stability, with the error that derivatives cause."""
    F, G = derivatives(flow, y)

    def stability(eta: float) -> float:
        return _stability(F + eta * G)

    eta = float(brentq(stability, low, high, xtol=CLOSED_IN, rtol=CLOSED_IN))
    slope = (stability(low) - stability(high)) / (high - low)
    noise = jacobian_error(flow, y, eta, _stability)
    return number(eta, noise / slope + 2 * CLOSED_IN * eta)


def fold(flow: Flow, y: np.ndarray, eta: float, top: float) -> Estimate | None:
    """Find η with dη/ds = 0 on the branch through (y, η); None if there is no fold below top."""
    return _first_sign_change(flow, y, eta, along_parameter, top)


def saddle_vanishes(scenario: Scenario, Q: float, C: float, R: float) -> Estimate | None:
    """Find the fold dη/ds = 0 where an unspecialized saddle meets another fixed point.

    Q, C, R: all Q_ii, all Q_ik and all R_in of the saddle in the limit η → 0.
    """
    # At every η > 0 students differ in their parts orthogonal to the teachers. For odd units these
    # vanish as η → 0, and identical students are on another branch.
    own = max(Q - C, 0.0) + 0.5 * LOWEST
    near = Overlaps(
        Q=own * np.eye(scenario.K) + C, R=np.full((scenario.K, scenario.M), R), T=scenario.T
    )
    first = fixed_point(scenario, near, LOWEST).overlaps
    flow = Flow(scenario)
    return fold(flow, flow.vector(first), LOWEST, HIGHEST)


def solution_loses_stability(scenario: Scenario) -> Estimate:
    """Find η at which the largest eigenvalue of f_1' + η f_2' at Q = R = T is zero."""
    solution = Overlaps(Q=scenario.T, R=scenario.T, T=scenario.T)
    flow, high = Flow(scenario), LOWEST
    y = flow.vector(solution)
    F, G = derivatives(flow, y)
    while _stability(F + high * G) > 0:
        high *= 2
    return _root(flow, y, high / 2, high)


def _stability(jacobian: np.ndarray) -> float:
    """Compute -max Re λ in units of η: positive if every disturbance decays."""
    return -float(np.max(np.linalg.eigvals(jacobian).real))


def _first_sign_change(
    flow: Flow, y: np.ndarray, eta: float, test: Test, top: float
) -> Estimate | None:
    """Find the first η at which a test function changes sign on the branch through (y, η)."""

    def ending(u: np.ndarray, met: list[Special]) -> str | None:
        return "met" if met else "to infinity" if np.max(np.abs(u)) > TOO_LARGE else None

    curve = follow(system(flow), y, eta, until=top, tests={"met": test}, ending=ending)
    if not curve.specials:
        return None
    special = curve.specials[0]
    return number(special.point[-1], special.error + CLOSE)

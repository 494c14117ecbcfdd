"""Where fixed points lose their stability, and where a branch of them turns round."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from tutelage._checks import InputError
from tutelage._jax import jnp
from tutelage.averages.estimate import Estimate, number
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import to_overlaps, to_vector, unchecked
from tutelage.model.timing import rate_of
from tutelage.online.flow import Flow
from tutelage.online.linearization import first_order, linearized, second_order, system
from tutelage.online.stationary.points import fixed_point, polished
from tutelage.online.steps import Steps
from tutelage.solve.continuation import Special, Test, along_parameter, follow

CLOSE = 1e-12
TOO_LARGE = 1e3  # norms on a branch that goes to infinity
# Learning rates between which the unspecialized saddle is followed.
LOWEST, HIGHEST = 0.02, 1000.0


def loss_of_stability(flow: Flow, run: Steps, eta: float, top: float) -> Estimate | None:
    """Where max Re λ = 0 on the branch of the attractor; None if it is no isolated point."""
    y = _attractor(flow, run, eta)
    if y is None:
        return None
    here = linearized(flow, y, eta)
    if _stability(here.jacobian) < CLOSE:
        return None
    if np.max(np.abs(here.by_rate)) > CLOSE:
        return _met(flow, y, eta, lambda place: _stability(place.J[:, :-1]), top)
    return _stays(lambda eta: _stability(linearized(flow, y, eta).jacobian), eta, top)


def _stays(stability: Callable[[float], float], eta: float, top: float) -> Estimate | None:
    """The root for a solution that does not depend on η.

    It must not move by rounding either: beside it, where C is singular, J has another limit.
    """
    etas = np.linspace(eta, top, 65)
    below = np.flatnonzero([stability(eta) < 0 for eta in etas])
    if not below.size:
        return None
    low, high = etas[below[0] - 1], etas[below[0]]
    root = brentq(stability, low, high, xtol=1e-14, rtol=1e-14)
    slope = (stability(low) - stability(high)) / (high - low)
    return number(root, 1e-12 / slope)


def _attractor(flow: Flow, run: Steps, eta: float) -> np.ndarray | None:
    """The end of a run, polished; solutions are exact, as C is singular there."""
    end = to_overlaps(jnp.asarray(run.states[-1]), flow.scenario.T, flow.scenario.K)
    if run.outcome == "converged" and end.K == end.M:
        teacher = np.argmax(np.asarray(end.R), axis=1)
        T = np.asarray(flow.scenario.T)
        y = np.asarray(to_vector(unchecked(T[np.ix_(teacher, teacher)], T[teacher], T)))
        y = np.append(y, run.states[-1][len(y) :])
        if np.max(np.abs(linearized(flow, y, eta).rates)) < CLOSE:
            return y
    try:
        return polished("start", flow, rate_of(eta), run.states[-1])[0]
    except InputError:
        return None


def fold(flow: Flow, y: np.ndarray, eta: float, top: float) -> Estimate | None:
    """Where dη/ds = 0 on the branch through (y, η); None if it does not turn round below top."""
    return _met(flow, y, eta, along_parameter, top)


def saddle_vanishes(scenario: Scenario, Q: float, C: float, R: float) -> Estimate | None:
    """Where an unspecialized saddle meets another fixed point, dη/ds = 0 along their curve.

    Q, C, R: all Q_ii, all Q_ik and all R_in of the saddle in the limit η → 0.
    """
    # At every η > 0 students differ in what they have besides the teachers; odd ones as η → 0
    # do not, and identical students have a curve of their own.
    own = max(Q - C, 0.0) + 0.5 * LOWEST
    near = Overlaps(
        Q=own * np.eye(scenario.K) + C, R=np.full((scenario.K, scenario.M), R), T=scenario.T
    )
    first = fixed_point(scenario, near, LOWEST).overlaps
    return fold(Flow(scenario), np.asarray(to_vector(first)), LOWEST, HIGHEST)


def solution_loses_stability(scenario: Scenario) -> Estimate:
    """The learning rate at which the largest eigenvalue of f_1' + η f_2' at Q = R = T is zero."""
    solution = Overlaps(Q=scenario.T, R=scenario.T, T=scenario.T)
    flow, y = Flow(scenario), np.asarray(to_vector(solution))
    F, G = (order(flow, y)[1] for order in (first_order, second_order))

    def growth(eta: float) -> float:
        return -_stability(F + eta * G)

    high = LOWEST
    while growth(high) < 0:
        high *= 2
    eta = brentq(growth, high / 2, high, xtol=1e-13)
    slope = (growth(high) - growth(high / 2)) / (high / 2)
    return number(eta, (flow.moments.error(solution) + 1e-12) / slope)


def _stability(jacobian: np.ndarray) -> float:
    """-max Re λ in units of η: positive as long as every disturbance decays."""
    return -float(np.max(np.linalg.eigvals(jacobian).real))


def _met(flow: Flow, y: np.ndarray, eta: float, test: Test, top: float) -> Estimate | None:
    """η where a test first changes its sign along the branch of fixed points through (y, η)."""

    def ending(u: np.ndarray, met: list[Special]) -> str | None:
        return "met" if met else "to infinity" if np.max(np.abs(u)) > TOO_LARGE else None

    curve = follow(system(flow), y, eta, until=top, tests={"met": test}, ending=ending)
    if not curve.specials:
        return None
    found = curve.specials[0]
    return number(found.point[-1], found.error + CLOSE)

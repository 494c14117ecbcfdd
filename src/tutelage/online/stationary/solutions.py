"""Exact solutions: students that equal teachers, fixed points at every learning rate.

At a solution δ_i = 0, and the Jacobian in units of η is F + ηG.  The covariance of students and
teachers is singular there, and derivatives of averages contain the square root of its smallest
eigenvalue (`tutelage.averages.pairs`): at a distance ε from a solution F and G differ by √ε.
Everything about a solution is therefore computed exactly at it.

Other branches of fixed points end at a solution, where an eigenvalue of F + ηG vanishes.  Their
distance is of the order (η - η*)²; on the other side C is not positive semi-definite.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigvals

from tutelage._jax import jnp
from tutelage.averages.estimate import Estimate, number
from tutelage.model import Overlaps
from tutelage.online.flow import Flow
from tutelage.online.linearization import decays, first_order, second_order
from tutelage.solve.continuation import System

Eigenvalue = Callable[[np.ndarray], float]  # of a Jacobian

# Largest rate at an exact solution, relative to the overlaps: the error of closed forms
# (`tutelage.online.moments.base.EXACT`).
SOLVED = 1e-10
# Factor on an error that is estimated from three values.
SAFETY = 10.0
# Solutions of det(F + ηG) = 0 that count as real, relative to their size.
REAL = 1e-6
# Step of η for the slope of an eigenvalue, relative to η.
SLOPE_STEP = 1e-4


def nearest_solution(flow: Flow, y: Float[np.ndarray, " d"]) -> np.ndarray | None:
    """The state in which each student equals its nearest teacher, if it is a solution at every
    η.
    """
    scenario = flow.scenario
    state = flow.overlaps(jnp.asarray(y), scenario.T)
    if state.K != state.M or scenario.label_noise or np.any(decays(flow)):
        return None
    T = np.asarray(scenario.T)
    # The nearest teacher by |J_i - B_n|² - Q_ii, not by R_in, which is larger for a longer teacher.
    teacher = np.argmin(np.diag(T) - 2 * np.asarray(state.R), axis=1)
    solution = {"Q": T[np.ix_(teacher, teacher)], "R": T[teacher]}
    x = flow.layout.vector(flow.layout.arrays(y) | solution)
    return x if residual(flow, x) < SOLVED else None


def distance(x: Float[np.ndarray, " d"], y: Float[np.ndarray, " d"]) -> float:
    """The largest difference of two states, relative to overlaps where these exceed 1."""
    return float(np.max(np.abs(x - y)) / max(1.0, np.max(np.abs(x))))


def residual(flow: Flow, y: Float[np.ndarray, " d"]) -> float:
    """Return the largest rate relative to T, at a solution the error of the averages."""
    rates = [order(flow, y)[0] for order in (first_order, second_order)]
    return float(np.max(np.abs(rates)) / np.max(np.abs(np.asarray(flow.scenario.T))))


def derivatives(flow: Flow, y: Float[np.ndarray, " d"]) -> tuple[np.ndarray, np.ndarray]:
    """Return F and G of the Jacobian F + ηG at a solution."""
    return first_order(flow, y)[1], second_order(flow, y)[1]


def linear_system(flow: Flow, y: Float[np.ndarray, " d"]) -> System:
    """Return the equations linearized around a solution y, (F + ηG)(x − y) = 0."""
    F, G = derivatives(flow, y)

    def equations(x: np.ndarray, eta: float) -> tuple[np.ndarray, np.ndarray]:
        J = F + eta * G
        return J @ (x - y), np.column_stack([J, G @ (x - y)])

    return equations


def stability_change(flow: Flow, y: Float[np.ndarray, " d"], near: float) -> Estimate | None:
    """The η > 0 closest to a value at which an eigenvalue of F + ηG vanishes, with its error."""
    F, G = derivatives(flow, y)
    etas = eigvals(F, -G)
    etas = etas[np.isfinite(etas)]
    real = etas.real[(np.abs(etas.imag) <= REAL * np.abs(etas)) & (etas.real > 0)]
    if not len(real):
        return None
    eta = float(real[np.argmin(np.abs(real - near))])
    h = SLOPE_STEP * eta
    change = abs(_smallest(F + (eta + h) * G)) + abs(_smallest(F + (eta - h) * G))
    return number(eta, jacobian_error(flow, y, eta, _smallest) * 2 * h / change)


def _smallest(J: np.ndarray) -> float:
    """The eigenvalue of smallest size."""
    values = np.linalg.eigvals(J)
    return float(values[np.argmin(np.abs(values))].real)


def jacobian_error(
    flow: Flow, y: Float[np.ndarray, " d"], eta: float, function: Eigenvalue
) -> float:
    """Error of an eigenvalue at a solution, from derivatives, rates, and the order of students."""
    F, G = derivatives(flow, y)
    state = flow.overlaps(jnp.asarray(y), flow.scenario.T)
    noise = flow.moments.derivative_error(state) * float(np.linalg.norm(F + eta * G))
    return noise + residual(flow, y) + SAFETY * _spread_over_names(flow, state, eta, function)


def _spread_over_names(flow: Flow, state: Overlaps, eta: float, function: Eigenvalue) -> float:
    """Measure the rounding error of an eigenvalue: its change when students are reordered.

    Derivatives of averages of several fields have a root where two of them coincide.
    """
    if flow.trained or not flow.scenario.student.uniform:
        return 0.0
    Q, R = (np.asarray(x) for x in (state.Q, state.R))
    values = []
    for names in (np.arange(len(Q)), np.roll(np.arange(len(Q)), 1), np.arange(len(Q))[::-1]):
        F, G = derivatives(flow, flow.layout.vector({"Q": Q[np.ix_(names, names)], "R": R[names]}))
        values.append(function(F + eta * G))
    return float(np.ptp(values))

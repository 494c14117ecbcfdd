"""Learning rate and weight decay that minimize the error for drifting teachers.

Students that learn too slowly are late, and those that learn fast are noisy; weight decay removes
outdated parts of the weights (Biehl and Schwarze 1993).  With f(y, η, γ) = 0 of the stationary
state y, in units of η, and its error ε_g(y),

    ∂ε_g/∂η = -∇ε_g · (∂f/∂y)⁻¹ ∂f/∂η,      ∂ε_g/∂γ = -∇ε_g · (∂f/∂y)⁻¹ ∂f/∂γ:

exact derivatives, of which the minimum is a root.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.optimize import minimize

from tutelage._arguments import validated
from tutelage._checks import ComputationError, InputError, finite_number
from tutelage._findings import Finding
from tutelage._jax import jax, jnp
from tutelage.averages.estimate import Estimate, number
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.model.scenario import check_fits
from tutelage.model.timing import rate_of
from tutelage.online.flow import Flow
from tutelage.online.linearization import linearized
from tutelage.online.stationary.points import FixedPoint, describe, polished
from tutelage.runs.stored_jit import stored_jit

# Numbers of learning rates and of weight decays in the first grid.
GRID_RATES, GRID_DECAYS = 25, 4
# Step of the differences of exact first derivatives, and distance from a bound within which the
# minimum counts as beyond it; both in ln η, and in weight decays relative to the drift.
DIFFERENCE_STEP, BOUND_DISTANCE = 1e-3, 1e-6
# Largest number of searches from the lowest points of the grid.
MAX_SEARCHES = 8
# Steps of Newton's method after the search; each squares the distance from the minimum.
NEWTON_STEPS = 3
# Largest last step at a minimum, in ln η and in weight decays relative to the drift.
LARGEST_LAST_STEP = 1e-3


@dataclass(frozen=True, repr=False)
class BestTracking(Finding):
    """The result of `best_tracking`.

    learning_rate: η.
    weight_decay: γ.
    generalization_error: the least ε_g.
    point: the stationary state with this error.
    """

    learning_rate: Estimate
    weight_decay: Estimate
    generalization_error: Estimate
    point: FixedPoint


@validated
def best_tracking(
    scenario: Scenario,
    start: Overlaps,
    *,
    bounds: tuple[float, float] = (0.05, 4.0),
    decay_bounds: tuple[float, float] | None = None,
    readout_rate: float = 0.0,
    batch: int = 1,
    method: Method | str | None = None,
) -> BestTracking:
    """Find the learning rate and weight decay that minimize the error for drifting teachers.

    (η, γ) = argmin ε_g of the stable state that Newton's method finds from ``start``.  Specialized
    and unspecialized students have separate minima: 25 learning rates are tried first, for each of
    4 weight decays, and the lowest valley is searched.

    Args:
        scenario: student and teacher, with drift δ > 0.
        start: where each search begins; the solution, Q = R = T for K = M, is a good one.
        bounds: the lowest and the highest learning rate that is tried.
        decay_bounds: those of the weight decay; without them it is the scenario's.
        readout_rate: η_v of the second layer in units of η.
        batch: examples for each step, as in `evolve`.
        method: how averages are computed; the best exact one by default.

    Raises:
        InputError: without drift, if no stable state is found, or if the best learning rate lies
            beyond the bounds.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.Linear())
    >>> scenario = tl.Scenario(one, one, drift=0.1)
    >>> solution = tl.Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])
    >>> best = tl.online.best_tracking(scenario, solution, decay_bounds=(0, 1))
    >>> print(f"{best.learning_rate.value:.6f} {best.weight_decay.value:.6f}")  # η = 1, γ = δ
    1.000000 0.100000
    """
    check_fits("start", scenario, start, batches=((),))
    if float(scenario.drift) == 0:
        raise InputError(
            "scenario",
            "drift = 0",
            "teachers have to drift; fixed teachers are tracked best at the lowest rate",
            "tl.Scenario(..., drift=0.01), or tl.online.best_learning_rate",
        )
    low, high = _ordered("bounds", bounds, above=0.0)
    decays = None if decay_bounds is None else _ordered("decay_bounds", decay_bounds, at_least=0.0)
    flow = Flow(scenario, method, batch=batch, readout_rate=readout_rate)
    state = StableState(flow, flow.vector(start))
    gamma = float(scenario.weight_decay)
    box = np.array([[np.log(low), np.log(high)], decays or (gamma, gamma)])
    minimum = _searched(state, _lowest(state, box), box, float(scenario.drift))
    _check_inside(minimum, box, ("bounds", "decay_bounds"))
    return _described(state, minimum)


class StableState:
    """ε_g of the stable state next to a start, as a function of x = (ln η, γ)."""

    def __init__(self, flow: Flow, start: np.ndarray):
        self.flow, self.start = flow, start

    def at(self, gamma: float) -> Flow:
        """Return the equations with another weight decay."""
        decay = np.asarray(gamma, dtype=np.float64)
        return eqx.tree_at(lambda flow: flow.moments.scenario.weight_decay, self.flow, decay)

    def point(self, x: np.ndarray) -> FixedPoint | None:
        """Return the stationary state; None if it is not stable."""
        flow, rate = self.at(x[1]), rate_of(float(np.exp(x[0])))
        try:
            point = describe(flow, rate, *polished("start", flow, rate, self.start))
        except ComputationError:
            return None
        return point if point.stable else None

    def error(self, x: np.ndarray) -> float:
        """Return ε_g; infinite without a stable state."""
        point = self.point(x)
        return np.inf if point is None else point.generalization_error

    def error_and_gradient(self, x: np.ndarray) -> tuple[float, Float[np.ndarray, " 2"]] | None:
        """Return ε_g and its derivatives with respect to ln η and γ; None without a stable
        state.
        """
        point = self.point(x)
        if point is None:
            return None
        flow, y, eta = self.at(x[1]), point.vector, float(np.exp(x[0]))
        linearization = linearized(flow, y, eta)
        by_decay = -flow.layout.factors("first layer") * y / eta
        change = -np.linalg.solve(
            linearization.jacobian, np.stack([eta * linearization.by_rate, by_decay], axis=1)
        )
        return point.generalization_error, np.asarray(_slope(flow, jnp.asarray(y))) @ change


@stored_jit
def _slope(flow: Flow, y: Float[Array, " d"]) -> Float[Array, " d"]:
    return jax.grad(lambda y: flow.errors(y, flow.scenario.T))(y)


def _lowest(state: StableState, box: Float[np.ndarray, "2 2"]) -> Float[np.ndarray, " 2"]:
    """Return the best point of a grid."""
    (low, high), (least, most) = box.tolist()
    decays = np.linspace(least, most, GRID_DECAYS if most > least else 1)
    grid = [np.array([x, gamma]) for x in np.linspace(low, high, GRID_RATES) for gamma in decays]
    errors = [state.error(x) for x in grid]
    if not np.any(np.isfinite(errors)):
        raise ComputationError(
            "start",
            "none of the learning rates that were tried has a stable state next to this one",
            "students cannot follow their teachers from there",
            "Q = R = T, other bounds, or a smaller drift",
        )
    return grid[int(np.argmin(errors))]


def _check_inside(
    minimum: "ErrorMinimum", box: Float[np.ndarray, "2 2"], names: tuple[str, ...]
) -> None:
    """Refuse a minimum at a bound, except at γ = 0, which is a minimum."""
    for k, name in enumerate(names):
        low, high = box[k]
        if low == high or minimum.free[k] or (k == 1 and minimum.x[1] <= low == 0):
            continue
        show = np.exp if k == 0 else np.asarray
        raise ComputationError(
            name,
            f"between {show(low):g} and {show(high):g} there is no minimum of the error",
            f"it is lowest at {show(minimum.x[k]):g}, or beyond",
            "wider bounds",
        )


class ErrorMinimum(NamedTuple):
    """A minimum of ε_g in a box of x = (ln η, γ).

    free: which coordinates do not stop at its sides.
    step: what the last of Newton's steps has changed.
    softness: how much errors of order one in the derivatives of ε_g would move it.
    """

    x: Float[np.ndarray, " 2"]
    free: Bool[np.ndarray, " 2"]
    step: Float[np.ndarray, " 2"]
    softness: Float[np.ndarray, " 2"]


def _searched(state: StableState, x: np.ndarray, box: np.ndarray, drift: float) -> ErrorMinimum:
    """Find the minimum by a search in the box, then by Newton's method."""
    unit = np.array([1.0, drift])
    largest = 10 * state.error(x)

    def value(z: np.ndarray) -> tuple[float, np.ndarray]:
        result = state.error_and_gradient(z * unit)
        # The search subtracts values, so they are finite also without a stable state.
        return (largest, np.zeros(2)) if result is None else (result[0], result[1] * unit)

    def slope(z: np.ndarray) -> np.ndarray:
        result = state.error_and_gradient(z * unit)
        if result is None:
            received, why = (
                f"the error falls until η = {np.exp(z[0]):g}",
                "there is no stable state there",
            )
            raise ComputationError(
                "scenario and start", received, why, "other bounds, or a smaller drift"
            )
        return (result[1] * unit)[free]

    def curvature(z: np.ndarray) -> np.ndarray:
        axes = DIFFERENCE_STEP * np.eye(2)[free]
        return np.array([(slope(z + e) - slope(z - e)) / (2 * DIFFERENCE_STEP) for e in axes])

    sides = box / unit[:, None]
    z = _descended(value, x / unit, sides)
    free = np.all(np.abs(z - sides.T) > BOUND_DISTANCE, axis=0)
    step, softness = np.zeros((2, 2))
    for _ in range(NEWTON_STEPS if np.any(free) else 0):
        H = curvature(z)
        step[free] = -np.linalg.solve(H, slope(z))
        softness[free] = np.sum(np.abs(np.linalg.inv(H)), axis=1)
        z = z + step
    if np.any(np.abs(step) > LARGEST_LAST_STEP):
        received = f"the slope of the error does not vanish near η = {np.exp(x[0]):g}"
        why = "Newton's method finds no minimum; the state may vanish there"
        raise ComputationError(
            "scenario and start", received, why, "other bounds, or a smaller drift"
        )
    return ErrorMinimum(z * unit, free, np.abs(step) * unit, softness * unit)


def _descended(
    value: Callable[[np.ndarray], tuple[float, np.ndarray]],
    z: np.ndarray,
    sides: Float[np.ndarray, "2 2"],
) -> np.ndarray:
    """Find the minimum next to a point of the grid, by searches in boxes of the size of the grid
    spacing.

    One search over the whole box may leap into another valley, or where there is no state.
    """
    spacing = (sides[:, 1] - sides[:, 0]) / [GRID_RATES - 1, GRID_DECAYS - 1]
    for _ in range(MAX_SEARCHES):
        near = np.clip([z - spacing, z + spacing], sides[:, 0], sides[:, 1])
        z = minimize(value, z, jac=True, bounds=list(near.T), method="L-BFGS-B").x
        stopped = (np.abs(z - near) < BOUND_DISTANCE) & (np.abs(near - sides.T) > BOUND_DISTANCE)
        if not np.any(stopped):
            break
    return z


def _described(state: StableState, minimum: ErrorMinimum) -> BestTracking:
    point = state.point(minimum.x)
    assert point is not None
    (log_eta, gamma), averages = minimum.x, state.flow.moments.error(point.overlaps)
    uncertain, eta = minimum.step + averages * minimum.softness, np.exp(log_eta)
    return BestTracking(
        number(eta, eta * uncertain[0]),
        number(gamma, uncertain[1]),
        number(point.generalization_error, averages),
        point,
    )


def _ordered(argument: str, pair: Sequence[float], **least: float) -> tuple[float, float]:
    """Check a pair (lower bound, upper bound)."""
    low, high = (float(finite_number(argument, x, hint="(0.1, 2.0)", **least)) for x in pair)
    if low >= high:
        raise InputError(argument, f"({low:g}, {high:g})", "the first has to be the lower one")
    return low, high

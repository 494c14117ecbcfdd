"""How to follow teachers that drift: the learning rate and the weight decay with the least error.

Students that learn too slowly are late, and those that learn fast are noisy; weight decay forgets
what is out of date (Biehl and Schwarze 1993).  With f(y, η, γ) = 0 of the stationary state y, in
units of η, and its error ε_g(y),

    ∂ε_g/∂η = -∇ε_g · (∂f/∂y)⁻¹ ∂f/∂η,      ∂ε_g/∂γ = -∇ε_g · (∂f/∂y)⁻¹ ∂f/∂γ:

exact derivatives, of which the minimum is a root.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

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

# Learning rates and weight decays that are tried first.
RATES, DECAYS = 25, 4
# In ln η, and in weight decays relative to the drift: second derivatives by differences of exact
# first ones, and the distance from a bound at which the minimum is taken to lie beyond it.
STEP, AT_BOUND = 1e-3, 1e-6
# A valley is found by the grid: its lowest point is next to there.
SEARCHES = 8
# Each of Newton's steps squares a distance, which a search has made small.
POLISHES = 3
# The last of them is not longer at a minimum, in ln η and in weight decays relative to the drift.
SETTLED = 1e-3


@dataclass(frozen=True, repr=False)
class BestTracking(Finding):
    """learning_rate: η;  weight_decay: γ;  generalization_error: the least ε_g, that of ``point``,
    the stationary state with both."""

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
    """The learning rate, and weight decay, with which students follow drifting teachers best.

    (η, γ) = argmin ε_g of the stable state that Newton's method finds from ``start``.  Students
    that specialize and such that do not have minima of their own: 25 learning rates are tried
    first, for each of 4 weight decays, and the lowest valley is searched.

    Args:
        scenario: who learns from whom, with drift δ > 0.
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
            "teachers have to drift: those that stay are followed best at the lowest rate",
            "tl.Scenario(..., drift=0.01), or tl.online.best_learning_rate",
        )
    low, high = _ordered("bounds", bounds, above=0.0)
    decays = None if decay_bounds is None else _ordered("decay_bounds", decay_bounds, at_least=0.0)
    flow = Flow(scenario, method, batch=batch, readout_rate=readout_rate)
    followed = Followed(flow, flow.vector(start))
    gamma = float(scenario.weight_decay)
    box = np.array([[np.log(low), np.log(high)], decays or (gamma, gamma)])
    minimum = _searched(followed, _lowest(followed, box), box, float(scenario.drift))
    _check_inside(minimum, box, ("bounds", "decay_bounds"))
    return _described(followed, minimum)


class Followed:
    """ε_g of the stable state next to a start, as a function of x = (ln η, γ)."""

    def __init__(self, flow: Flow, start: np.ndarray):
        self.flow, self.start = flow, start

    def at(self, gamma: float) -> Flow:
        """The equations with another weight decay."""
        decay = np.asarray(gamma, dtype=np.float64)
        return eqx.tree_at(lambda flow: flow.moments.scenario.weight_decay, self.flow, decay)

    def point(self, x: np.ndarray) -> FixedPoint | None:
        """The state, if there is one that is stable."""
        flow, rate = self.at(x[1]), rate_of(float(np.exp(x[0])))
        try:
            found = describe(flow, rate, *polished("start", flow, rate, self.start))
        except ComputationError:
            return None
        return found if found.stable else None

    def error(self, x: np.ndarray) -> float:
        """ε_g; infinite without a state."""
        point = self.point(x)
        return np.inf if point is None else point.generalization_error

    def error_and_gradient(self, x: np.ndarray) -> tuple[float, Float[np.ndarray, " 2"]] | None:
        """ε_g, and its derivatives by ln η and by γ."""
        point = self.point(x)
        if point is None:
            return None
        flow, y, eta = self.at(x[1]), point.vector, float(np.exp(x[0]))
        here = linearized(flow, y, eta)
        by_decay = -flow.layout.factors("first layer") * y / eta
        change = -np.linalg.solve(here.jacobian, np.stack([eta * here.by_rate, by_decay], axis=1))
        return point.generalization_error, np.asarray(_slope(flow, jnp.asarray(y))) @ change


@stored_jit
def _slope(flow: Flow, y: Float[Array, " d"]) -> Float[Array, " d"]:
    return jax.grad(lambda y: flow.errors(y, flow.scenario.T))(y)


def _lowest(followed: Followed, box: Float[np.ndarray, "2 2"]) -> Float[np.ndarray, " 2"]:
    """The best of a grid."""
    (low, high), (least, most) = box.tolist()
    decays = np.linspace(least, most, DECAYS if most > least else 1)
    grid = [np.array([x, gamma]) for x in np.linspace(low, high, RATES) for gamma in decays]
    errors = [followed.error(x) for x in grid]
    if not np.any(np.isfinite(errors)):
        raise ComputationError(
            "start",
            "none of the learning rates that were tried has a stable state next to this one",
            "students cannot follow their teachers from there",
            "Q = R = T, other bounds, or a smaller drift",
        )
    return grid[int(np.argmin(errors))]


def _check_inside(minimum: "Minimum", box: Float[np.ndarray, "2 2"], names: Any) -> None:
    """The minimum is one, and not where the search had to stop; at least at γ = 0, which is."""
    for k, name in enumerate(names):
        low, high = box[k]
        if low == high or minimum.free[k] or (k == 1 and minimum.x[1] <= low == 0):
            continue
        show = np.exp if k == 0 else np.asarray
        raise ComputationError(
            name,
            f"between {show(low):g} and {show(high):g} there is no minimum of the error",
            f"it is lowest at {show(minimum.x[k]):g}, or beyond",
            "wider ones",
        )


class Minimum(NamedTuple):
    """Of ε_g in a box of x = (ln η, γ).

    free: which coordinates do not stop at its sides.
    step: what the last of Newton's steps has changed.
    softness: how much errors of order one in the derivatives of ε_g would move it.
    """

    x: Float[np.ndarray, " 2"]
    free: Bool[np.ndarray, " 2"]
    step: Float[np.ndarray, " 2"]
    softness: Float[np.ndarray, " 2"]


def _searched(followed: Followed, x: np.ndarray, box: np.ndarray, drift: float) -> Minimum:
    """The minimum, by a search in the box and then by Newton's method."""
    unit = np.array([1.0, drift])
    largest = 10 * followed.error(x)

    def value(z: np.ndarray) -> tuple[float, np.ndarray]:
        found = followed.error_and_gradient(z * unit)
        # Finite also without a state: the search subtracts values.
        return (largest, np.zeros(2)) if found is None else (found[0], found[1] * unit)

    def slope(z: np.ndarray) -> np.ndarray:
        found = followed.error_and_gradient(z * unit)
        if found is None:
            received, why = f"the error falls until η = {np.exp(z[0]):g}", "there the state is lost"
            raise ComputationError(
                "scenario and start", received, why, "other bounds, or a smaller drift"
            )
        return (found[1] * unit)[free]

    def curvature(z: np.ndarray) -> np.ndarray:
        axes = STEP * np.eye(2)[free]
        return np.array([(slope(z + e) - slope(z - e)) / (2 * STEP) for e in axes])

    sides = box / unit[:, None]
    z = _descended(value, x / unit, sides)
    free = np.all(np.abs(z - sides.T) > AT_BOUND, axis=0)
    step, softness = np.zeros((2, 2))
    for _ in range(POLISHES if np.any(free) else 0):
        H = curvature(z)
        step[free] = -np.linalg.solve(H, slope(z))
        softness[free] = np.sum(np.abs(np.linalg.inv(H)), axis=1)
        z = z + step
    if np.any(np.abs(step) > SETTLED):
        received = f"the slope of the error does not vanish near η = {np.exp(x[0]):g}"
        why = "Newton's method finds no minimum, which may lie where the state is lost"
        raise ComputationError(
            "scenario and start", received, why, "other bounds, or a smaller drift"
        )
    return Minimum(z * unit, free, np.abs(step) * unit, softness * unit)


def _descended(value: Any, z: np.ndarray, sides: Float[np.ndarray, "2 2"]) -> np.ndarray:
    """The minimum next to a point of the grid, by searches as wide as the grid's spacing.

    One search over the whole box may leap into another valley, or where there is no state.
    """
    spacing = (sides[:, 1] - sides[:, 0]) / [RATES - 1, DECAYS - 1]
    for _ in range(SEARCHES):
        near = np.clip([z - spacing, z + spacing], sides[:, 0], sides[:, 1])
        z = minimize(value, z, jac=True, bounds=list(near.T), method="L-BFGS-B").x
        stopped = (np.abs(z - near) < AT_BOUND) & (np.abs(near - sides.T) > AT_BOUND)
        if not np.any(stopped):
            break
    return z


def _described(followed: Followed, minimum: Minimum) -> BestTracking:
    point = followed.point(minimum.x)
    assert point is not None
    (log_eta, gamma), averages = minimum.x, followed.flow.moments.error(point.overlaps)
    uncertain, eta = minimum.step + averages * minimum.softness, np.exp(log_eta)
    return BestTracking(
        number(eta, eta * uncertain[0]),
        number(gamma, uncertain[1]),
        number(point.generalization_error, averages),
        point,
    )


def _ordered(argument: str, pair: Any, **least: float) -> tuple[float, float]:
    """Two numbers, the lower first."""
    low, high = (float(finite_number(argument, x, hint="(0.1, 2.0)", **least)) for x in pair)
    if low >= high:
        raise InputError(argument, f"({low:g}, {high:g})", "the first has to be the lower one")
    return low, high

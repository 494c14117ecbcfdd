"""Trajectories of committees whose units are all alike, for any number of units.

The equations in Q, C, R and S are stiff: with outputs of order one the sum of all students
follows the sum of all teachers K times faster than a student finds its teacher.  An implicit
method with the exact Jacobian takes steps of the slow time; as C and S are of order 1/K where
the fast motion has ended, the variables are Q, (K - 1) C, R and (K - 1) S.
"""

import json
from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Array, Float
from scipy.integrate import solve_ivp

from tutelage._jax import jax, jnp
from tutelage.averages.methods import Method
from tutelage.checks import InputError, finite_number
from tutelage.networks import Scenario
from tutelage.online.integration import OUTCOMES, SOLVED, TOO_LARGE
from tutelage.online.reduced import (
    SymmetricFlow,
    SymmetricScenario,
    SymmetricState,
    symmetric_scenario,
)
from tutelage.online.trajectory import _learning_rate, _times

# Rounding errors of ε_g add up from a few dozen operations.
ROUNDING_UNITS = 16


def evolve_symmetric(
    scenario: Scenario | SymmetricScenario,
    start: SymmetricState,
    learning_rate: float | Callable[[Any], Any],
    until: float,
    times: Any = None,
    tolerance: float = 1e-9,
    method: Method | str | None = None,
) -> xr.Dataset:
    """Integrate the order-parameter equations of a symmetric committee, at any K.

    Args:
        scenario: `SymmetricScenario`, or a `Scenario` with K = M and T_nn = t, T_nm = u.
        start: Q, C, R and S at time 0; a symmetric start stays symmetric.
        learning_rate, until, times, tolerance, method: as in `evolve`, for one run.

    Returns:
        A Dataset with Q, C, R, S and generalization_error over ``time``, and the outcome and the
        end of the run as `evolve` gives them.  A run has converged when the error is below its
        own rounding, about 10⁻¹⁶ K for outputs scaled by 1/√K; it is at rest when the rates fall
        below the tolerance in units of η s_K s_M.  Whether a state at rest is a plateau is
        decided by symmetric disturbances alone.

    Raises:
        InputError: if an argument cannot be used, before any work.

    >>> import tutelage as tl
    >>> many = tl.Committee(1_000_000, tl.Erf())
    >>> scenario = tl.online.SymmetricScenario(many, many, output_scale=1e-3)
    >>> start = tl.online.SymmetricState(Q=0.5, C=0.0, R=0.1, S=0.0)
    >>> run = tl.online.evolve_symmetric(scenario, start, learning_rate=0, until=5e6)
    >>> print(run.attrs["outcome"], f"{run.R[-1]:.4f}")  # a millionth of the time of a plain sum
    reached 0.0952
    """
    finite_number("until", until, above=0.0, hint="until=100")
    finite_number("tolerance", tolerance, above=0.0, hint="tolerance=1e-9")
    times = _times(times, float(until))
    eta = _learning_rate(learning_rate, times)
    if np.ndim(eta) > 0 and not callable(eta):
        raise InputError("learning_rate", f"shape {np.shape(eta)}", "it has to be one number")
    flow = SymmetricFlow(scenario, method)
    y0 = np.asarray(_to_vector(flow, _one_state(flow, start)))
    vectors, ended_at, outcome = _integrate(flow, y0, eta, times, float(tolerance))
    states = _to_state(flow, jnp.asarray(vectors))
    attrs = _parameters(scenario, start, learning_rate, tolerance, method)
    attrs |= {"outcome": outcome, "ended_at": ended_at}
    return _dataset(states, _errors(flow, states), times[: len(vectors)], attrs)


def _integrate(
    flow: SymmetricFlow, y0: np.ndarray, eta: Any, times: np.ndarray, tolerance: float
) -> tuple[np.ndarray, float, str]:
    """States at the times up to the end, when that was, and why."""

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        return np.asarray(_rates(flow, eta, t, y))

    def jacobian(t: float, y: np.ndarray) -> np.ndarray:
        return np.asarray(_jacobian(flow, eta, t, y))

    def event(number: int) -> Any:
        def crossing(t: float, y: np.ndarray) -> float:
            return float(_crossings(flow, eta, t, y, tolerance)[number])

        crossing.terminal = True  # type: ignore[attr-defined]
        return crossing

    beginning = np.asarray(_crossings(flow, eta, 0.0, y0, tolerance))
    if np.any(beginning < 0):
        # What has happened already is not crossed any more.
        ended, last, reason = 0.0, y0, 1 + int(np.argmax(beginning < 0))
        vectors = y0[None] if times[0] == 0 else np.zeros((0, len(y0)))
    else:
        course = solve_ivp(
            rates,
            (0.0, float(times[-1])),
            y0,
            method="LSODA",
            jac=jacobian,
            t_eval=times,
            events=[event(number) for number in range(3)],
            rtol=tolerance,
            atol=tolerance,
        )
        vectors = course.y.T.reshape(-1, len(y0))
        ended, last, reason = _end(course, float(times[-1]))
    outcome = OUTCOMES[reason]
    if outcome == "plateau" and not _grows(flow, eta, ended, last):
        outcome = "converged"
    return vectors, ended, outcome


def _end(course: Any, until: float) -> tuple[float, Any, int]:
    """When, where and why (an index into OUTCOMES) the integration ended."""
    for number, found in enumerate(course.t_events):
        if len(found):
            return float(found[-1]), course.y_events[number][-1], 1 + number
    if course.status == 0:
        return until, None, OUTCOMES.index("reached")
    # A step size that shrinks to nothing is a divergence faster than the bound on the norms.
    ended = float(course.t[-1]) if len(course.t) else 0.0
    return ended, None, OUTCOMES.index("diverged")


def _to_vector(flow: SymmetricFlow, state: SymmetricState) -> Float[Array, "... 4"]:
    n = jnp.maximum(flow.K - 1, 1.0)
    return jnp.stack([state.Q, n * state.C, state.R, n * state.S], axis=-1)


def _to_state(flow: SymmetricFlow, y: Float[Array, "... 4"]) -> SymmetricState:
    n = jnp.maximum(flow.K - 1, 1.0)
    return SymmetricState(y[..., 0], y[..., 1] / n, y[..., 2], y[..., 3] / n)


def _change(flow: SymmetricFlow, eta: Any, t: Any, y: Array) -> SymmetricState:
    return flow(_to_state(flow, y), eta(t) if callable(eta) else eta)


@eqx.filter_jit
def _rates(flow: SymmetricFlow, eta: Any, t: Any, y: Any) -> Array:
    return _to_vector(flow, _change(flow, eta, t, y))


@eqx.filter_jit
def _jacobian(flow: SymmetricFlow, eta: Any, t: Any, y: Any) -> Array:
    return jax.jacfwd(lambda y: _to_vector(flow, _change(flow, eta, t, y)))(y)


@eqx.filter_jit
def _crossings(flow: SymmetricFlow, eta: Any, t: Any, y: Any, tolerance: float) -> Array:
    """Negative where the error has vanished, where norms are too large, where nothing moves."""
    state = _to_state(flow, y)
    error, rounding = flow.error_and_rounding(state)
    solved = error - jnp.maximum(SOLVED, ROUNDING_UNITS * rounding)
    large = TOO_LARGE - jnp.max(jnp.abs(jnp.stack(state)))
    moving = jnp.max(jnp.abs(jnp.stack(_change(flow, eta, t, y))))
    return jnp.stack([solved, large, moving - tolerance * _unit(flow, eta, t)])


def _unit(flow: SymmetricFlow, eta: Any, t: Any) -> Any:
    """η s_K s_M, the rate at which a student moves towards its own teacher."""
    rate = eta(t) if callable(eta) else 1.0 if isinstance(eta, int) else eta
    return rate * jnp.prod(flow.scales)


def _grows(flow: SymmetricFlow, eta: Any, t: float, y: np.ndarray) -> bool:
    """Whether a symmetric disturbance would grow."""
    J = np.asarray(_jacobian(flow, eta, t, y))
    # The fast motion, K times larger, limits how small an eigenvalue can be told from zero.
    smallest = max(1e-9 * float(_unit(flow, eta, t)), 1e-12 * float(np.max(np.abs(J))))
    return bool(np.max(np.linalg.eigvals(J).real) > smallest)


def _one_state(flow: SymmetricFlow, start: Any) -> SymmetricState:
    state = flow.checked(start)
    if state.Q.ndim:
        raise InputError("start", f"Q of shape {state.Q.shape}", "it has to be one state")
    return state


@eqx.filter_jit
def _errors(flow: SymmetricFlow, states: SymmetricState) -> Array:
    return flow.error_and_rounding(states)[0]


def _parameters(
    scenario: Any, start: Any, learning_rate: Any, tolerance: float, method: Any
) -> dict[str, Any]:
    symmetric = symmetric_scenario(scenario)
    few = symmetric.representatives
    described = {
        "units": symmetric.units,
        "student": few.student.activation.name,
        "teacher": few.teacher.activation.name,
        "teacher_overlaps": [float(x) for x in symmetric.teacher_overlaps],
        "output_scale": [float(s) for s in few.output_scale],
        "label_noise": float(few.label_noise),
        "weight_decay": float(few.weight_decay),
    }
    rate = learning_rate.__name__ if callable(learning_rate) else float(learning_rate)
    return {
        "symmetric_scenario": json.dumps(described),
        "start": json.dumps({name: float(x) for name, x in start._asdict().items()}),
        "learning_rate": rate,
        "tolerance": float(tolerance),
        "method": "default" if method is None else str(method),
    }


def _dataset(
    states: SymmetricState, errors: Array, times: np.ndarray, attrs: dict[str, Any]
) -> xr.Dataset:
    numbers = {name: ("time", np.asarray(x)) for name, x in states._asdict().items()}
    return xr.Dataset(
        numbers | {"generalization_error": ("time", np.asarray(errors))},
        coords={"time": ("time", times, {"long_name": "examples per input", "symbol": "α"})},
        attrs=attrs,
    )

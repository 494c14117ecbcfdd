"""Trajectories of permutation-symmetric committees, for any number of units.

The equations in Q, C, R and S are stiff: with outputs of order one the sum of all students
follows the sum of all teachers K times faster than a student finds its teacher.  An implicit
method with the exact Jacobian takes steps of the slow time; as C and S are of order 1/K where
the fast motion has ended, the variables are Q, (K - 1) C, R and (K - 1) S.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Array, Float
from scipy.integrate import solve_ivp

from tutelage._checks import ComputationError, InputError, finite_number
from tutelage._given import ArrayLike
from tutelage._jax import jax, jnp
from tutelage._types import AnyArray, Scalar
from tutelage.averages.methods import Method
from tutelage.model import Scenario, timing
from tutelage.model.timing import Rate, Scheduled, recorded_times, time_axis
from tutelage.online.integration import (
    DIVERGED,
    GROWS,
    MAX_STEPS,
    NOISE,
    OUTCOMES,
    PLATEAU,
    REACHED,
    SOLVED,
    TOO_LARGE,
    Trajectory,
)
from tutelage.online.symmetric.flow import SymmetricFlow
from tutelage.online.symmetric.scenario import (
    SymmetricScenario,
    SymmetricState,
    symmetric_layout,
)
from tutelage.runs.progress import Progress
from tutelage.runs.provenance import recorded

# Rounding errors of ε_g add up from a few dozen operations.
ROUNDING_UNITS = 16
# Number of evaluations between two checks of the progress; most runs take fewer.
LOOK = 5000


@recorded
def evolve_symmetric(
    scenario: Scenario | SymmetricScenario,
    start: SymmetricState,
    learning_rate: Scalar | Callable[[Any], Any],
    *,
    until: float,
    times: ArrayLike | None = None,
    readout_rate: Scalar | Callable[[Any], Any] = 0.0,
    batch: int = 1,
    tolerance: float = 1e-9,
    method: Method | str | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Integrate the order-parameter equations of a symmetric committee, at any K.

    Args:
        scenario: `SymmetricScenario`, or a `Scenario` with K = M and T_nn = t, T_nm = u.
        start: Q, C, R and S at time 0; a symmetric start stays symmetric.
        learning_rate, until, times, readout_rate, batch, tolerance, method, progress: as in
            `evolve`, for one run; all students have one readout v.

    Returns:
        A Dataset with Q, C, R, S and generalization_error over ``time``, with ``readout`` if it
        learns, and the outcome and the
        end of the run as `evolve` gives them for one run.  A run has converged when the error is
        below its own rounding, about 10⁻¹⁶ K for outputs scaled by 1/√K; it is at rest when the
        rates fall below the tolerance in units of η s_K s_M.  Whether a state at rest is a plateau
        is decided by symmetric disturbances alone.

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
    finite_number("tolerance", tolerance, above=0.0, hint="tolerance=1e-9")
    times = recorded_times(times, until)
    readout = timing.readout_rate(readout_rate, times, float(until), runs=False)
    rate = timing.learning_rate(learning_rate, times, float(until), runs=False)
    rate = timing.with_readout_rate(rate, readout)
    flow = SymmetricFlow(scenario, method, batch=batch)
    begin = _one_state(flow, start)._asdict() | {"readout": flow.readout}
    y0 = np.asarray(_vector(flow, begin, readout is not None))
    with Progress(progress, float(until), "time α") as bar:
        trajectory = _integrate(flow, y0, rate, times, float(until), float(tolerance), bar)
    shown_times, vectors = trajectory.until_the_end(times)
    # One shape for all numbers of times up to the next power of two, wherever a run ends.
    padded = np.concatenate(
        [vectors, np.tile(y0, (2 ** len(times).bit_length() - len(vectors), 1))]
    )
    numbers = _blocks(flow, jnp.asarray(padded))
    numbers["generalization_error"] = _errors(flow, jnp.asarray(padded))
    return xr.Dataset(
        {name: ("time", np.asarray(x)[: len(shown_times)]) for name, x in numbers.items()},
        coords={"time": time_axis(shown_times)},
        attrs={
            "outcome": _outcome(flow, rate, trajectory),
            "ended_at": float(trajectory.ended_at),
            "integration_error": NOISE * float(tolerance),
        },
    )


def _integrate(
    flow: SymmetricFlow,
    y0: np.ndarray,
    rate: Rate | Scheduled,
    times: np.ndarray,
    until: float,
    tolerance: float,
    bar: Progress,
) -> Trajectory:
    """Integrate from the start to the end; later times are filled with the start."""
    pace, within = ProgressCheck(until), np.asarray(tolerance)

    # Times are arrays: a number would be a constant of the program and compile it again.
    def rates(t: float, y: np.ndarray) -> np.ndarray:
        pace.check(t)
        return np.asarray(_rates(flow, rate, np.asarray(t), y))

    def jacobian(t: float, y: np.ndarray) -> np.ndarray:
        return np.asarray(_jacobian(flow, rate, np.asarray(t), y))

    def distances(t: float, y: np.ndarray) -> np.ndarray:
        return np.asarray(_distances(flow, rate, np.asarray(t), y, within))

    def nearest(t: float, y: np.ndarray) -> float:
        bar.show(float(t))
        return float(np.min(distances(t, y)))

    nearest.terminal = True  # type: ignore[attr-defined]
    states = np.tile(y0, (len(times), 1))
    if nearest(0.0, y0) < 0:  # events that have happened are not searched for again
        reason = 1 + int(np.argmin(distances(0.0, y0)))
        return Trajectory(states, y0, np.asarray(0.0), np.asarray(reason))
    solution = solve_ivp(
        rates,
        (0.0, until),
        y0,
        method="LSODA",
        jac=jacobian,
        t_eval=times,
        events=nearest,
        rtol=tolerance,
        atol=tolerance,
    )
    states[: len(solution.t)] = solution.y.T.reshape(-1, len(y0))
    if solution.status == 0:
        ended, last, reason = until, states[-1], REACHED
    elif solution.status < 0:  # steps shrink to zero: the run diverges in finite time
        count = len(solution.t)
        ended, last = (solution.t[-1], states[count - 1]) if count else (0.0, y0)
        reason = DIVERGED
    else:
        ended, last = solution.t_events[0][-1], solution.y_events[0][-1]
        reason = 1 + int(np.argmin(distances(ended, last)))
    return Trajectory(states, last, np.asarray(ended), np.asarray(reason))


class ProgressCheck:
    """Refuses runs that would not end: the last time is more than 10⁹ evaluations away.

    It happens where rates are known to fewer digits than the tolerance asks for, as those of
    enormous norms: steps stay as short as the errors are.
    """

    def __init__(self, until: float):
        self._until, self._count, self._then = until, 0, 0.0

    def check(self, t: float) -> None:
        """Count one evaluation, and check the progress at regular intervals."""
        self._count += 1
        if self._count % LOOK:
            return
        advance = max(float(t) - self._then, np.finfo(float).tiny) / LOOK
        left, self._then = self._until - float(t), float(t)
        if left > MAX_STEPS * advance:
            raise ComputationError(
                "until",
                f"the run cannot reach {self._until:g}",
                (
                    f"after {self._count} evaluations the time is {t:.2g}: the steps of the "
                    "integration have become too short"
                ),
                f"until={1e3 * float(t):.1g}, a smaller learning_rate or a larger tolerance",
            )


def _outcome(flow: SymmetricFlow, rate: Rate | Scheduled, trajectory: Trajectory) -> str:
    """Name the outcome: a run at rest has converged unless a symmetric disturbance grows."""
    if trajectory.outcome == PLATEAU and not _grows(
        flow, rate, float(trajectory.ended_at), trajectory.last
    ):
        return "converged"
    return OUTCOMES[int(trajectory.outcome)]


def _vector(flow: SymmetricFlow, blocks: dict[str, Array], learns: bool) -> Float[Array, "... d"]:
    n = jnp.maximum(flow.K - 1, 1.0)
    scaled = {name: n * blocks[name] for name in ("C", "S")}
    return symmetric_layout(learns).vector(blocks | scaled)


def _blocks(flow: SymmetricFlow, y: Float[Array, "... d"]) -> dict[str, Any]:
    """Undo `_vector`: Q, C, R and S, and the readout if it learns."""
    blocks = symmetric_layout(y.shape[-1] > len(SymmetricState._fields)).arrays(y)
    n = jnp.maximum(flow.K - 1, 1.0)
    return blocks | {name: blocks[name] / n for name in ("C", "S")}


def _at(flow: SymmetricFlow, blocks: dict[str, Array]) -> tuple[SymmetricFlow, SymmetricState]:
    """Return the equations with the readout of a state, if it learns, and its overlaps."""
    state = SymmetricState(*(blocks[name] for name in SymmetricState._fields))
    return flow.with_readout(blocks["readout"]) if "readout" in blocks else flow, state


def _change(
    flow: SymmetricFlow, rate: Rate | Scheduled, t: Float[Array, ""], y: Array
) -> dict[str, Array]:
    """Return dQ, dC, dR and dS, and dv if the readout learns."""
    blocks, now = _blocks(flow, y), rate.at(t)
    equations, state = _at(flow, blocks)
    change = equations(state, now)._asdict()
    if "readout" in blocks:
        decay = flow.decays["readout"] * blocks["readout"]
        change["readout"] = (
            now.readout * equations.readout_gradient(equations.checked(state)) - decay
        )
    return change


@eqx.filter_jit
def _rates(
    flow: SymmetricFlow, rate: Rate | Scheduled, t: Float[AnyArray, ""], y: Float[AnyArray, " d"]
) -> Array:
    change = _change(flow, rate, t, y)
    return _vector(flow, change, "readout" in change)


@eqx.filter_jit
def _jacobian(
    flow: SymmetricFlow, rate: Rate | Scheduled, t: Float[AnyArray, ""], y: Float[AnyArray, " d"]
) -> Array:
    return jax.jacfwd(lambda y: _rates(flow, rate, t, y))(y)


@eqx.filter_jit
def _distances(
    flow: SymmetricFlow,
    rate: Rate | Scheduled,
    t: Float[AnyArray, ""],
    y: Float[AnyArray, " d"],
    tolerance: Float[AnyArray, ""],
) -> Array:
    """Compute event functions, negative where a run has ended, in the order of OUTCOMES."""
    blocks = _blocks(flow, y)
    equations, state = _at(flow, blocks)
    error, rounding = equations.error_and_rounding(state)
    largest = jnp.max(jnp.abs(jnp.stack([*blocks.values()])))
    moving = jnp.max(jnp.abs(jnp.stack([*_change(flow, rate, t, y).values()])))
    return jnp.stack(
        [
            error / jnp.maximum(SOLVED, ROUNDING_UNITS * rounding) - 1,
            1 - largest / TOO_LARGE,
            moving / (tolerance * _unit(flow, rate, t)) - 1,
        ]
    )


def _unit(flow: SymmetricFlow, rate: Rate | Scheduled, t: Scalar) -> Any:
    """Compute η s_K s_M, the rate at which a student approaches its teacher."""
    return rate.at(t).unit * jnp.prod(flow.scales)


def _grows(flow: SymmetricFlow, rate: Rate | Scheduled, t: float, y: np.ndarray) -> bool:
    """Return whether a symmetric disturbance grows."""
    J = np.asarray(_jacobian(flow, rate, np.asarray(t), y))
    # Rounding of the fast motion, K times larger, bounds the eigenvalues that differ from zero.
    smallest = max(GROWS * float(_unit(flow, rate, t)), 1e-12 * float(np.max(np.abs(J))))
    return bool(np.max(np.linalg.eigvals(J).real) > smallest)


def _one_state(flow: SymmetricFlow, start: SymmetricState) -> SymmetricState:
    state = flow.checked(start)
    if state.Q.ndim:
        raise InputError("start", f"Q of shape {state.Q.shape}", "it has to be one state")
    return state


@eqx.filter_jit
def _errors(flow: SymmetricFlow, y: Array) -> Array:
    def error(y: Array) -> Array:
        equations, state = _at(flow, _blocks(flow, y))
        return equations.error_and_rounding(state)[0]

    learns = y.shape[-1] > len(SymmetricState._fields)
    return jax.vmap(error)(y) if learns else error(y)

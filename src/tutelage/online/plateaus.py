"""Plateaus: how high, how long, and how both depend on the learning rate.

A plateau is the time a run spends beside a fixed point that it cannot stay at: an unspecialized
saddle (straat2019 section 4, citton2025 section 3).  Its height is the error of that saddle.
Its length is the time between the first and the last moment at which the error of the run is
within a tenth of the height.
"""

from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from tutelage._checks import InputError, finite_array, finite_number
from tutelage._jax import jax, jnp
from tutelage.averages import Estimate
from tutelage.averages.generalization import generalization_error
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import to_overlaps, to_vector
from tutelage.online.flow import Flow
from tutelage.online.stationary import FixedPoint, fixed_point

# "Beside the plateau": an error within a tenth of the height.
BESIDE = 0.1
# Relative to the start: a stable solution takes every run that came this close, and below a
# hundred tolerances (1e-8 at most) the error is that of the integration.
NEARLY_SOLVED = 1e-6
# Relative to T: from here on the terms in η² have outgrown the others.
TOO_LARGE = 1e6
MOST_STEPS = 2**14
# Longest run, in units of 1/η.
LONGEST = 1e5


class Course(NamedTuple):
    """A run at the times the integrator chose, in NumPy.

    times, error, slope: ε_g and dε_g/dα, exact along the flow, shape (t,).
    states: as vectors, shape (t, d).
    outcome: "converged", "diverged" or "reached".
    """

    times: Float[np.ndarray, " t"]
    states: Float[np.ndarray, "t d"]
    error: Float[np.ndarray, " t"]
    slope: Float[np.ndarray, " t"]
    outcome: str

    def crossings(self, level: float) -> np.ndarray:
        """Times at which the error passes a level, from cubics with the exact slopes."""
        above = self.error > level
        return np.array([self._crossing(j, level) for j in np.flatnonzero(above[1:] != above[:-1])])

    def _crossing(self, j: Any, level: float) -> float:
        h = self.times[j + 1] - self.times[j]
        (e0, e1), (s0, s1) = self.error[j : j + 2], h * self.slope[j : j + 2]
        cubic = [2 * (e0 - e1) + s0 + s1, 3 * (e1 - e0) - 2 * s0 - s1, s0, e0 - level]
        roots = np.roots(cubic)
        real = roots.real[np.abs(roots.imag) < 1e-9]
        inside = real[(real > -1e-9) & (real < 1 + 1e-9)]
        share = inside[0] if len(inside) else (level - e0) / (e1 - e0)
        return float(self.times[j] + h * share)


class Plateau(NamedTuple):
    """A plateau of one run.

    point: the saddle beside which the run lingers, with its eigenvalues and the way out.
    height: ε_g of that saddle.
    length: `Estimate` of the time within a tenth of the height.
    begins, ends: the first and the last such time.
    """

    point: FixedPoint
    height: float
    length: Estimate
    begins: float
    ends: float


def plateau(
    scenario: Scenario,
    start: Overlaps,
    learning_rate: float,
    method: Method | str | None = None,
) -> Plateau | None:
    """The plateau on which a run lingers longest, or None if it passes no saddle.

    length = t_last - t_first with |ε_g(t) - height| <= height/10 at both, a definition of ours:
    straat2019 and citton2025 show plateaus and give no number.  The estimated error of the
    length is what a tolerance a hundred times wider changes.

    Args:
        scenario: who learns from whom.
        start: Q, R and T at time 0.
        learning_rate: η > 0.
        method: how averages are computed; the best exact one by default.

    >>> import tutelage as tl
    >>> two = tl.Committee(2, tl.Erf())
    >>> scenario = tl.Scenario(two, two)
    >>> start = tl.Overlaps(Q=[[0.2, 0], [0, 0.3]], R=[[1e-3, 0], [0, 0]], T=scenario.T)
    >>> found = tl.online.plateau(scenario, start, learning_rate=0.1)
    >>> len(found.point.unstable_directions.T)
    1
    """
    finite_number("learning_rate", learning_rate, above=0.0, hint="1.0")
    generalization_error(scenario, start)
    flow, y0, eta = Flow(scenario, method), np.asarray(to_vector(start)), float(learning_rate)
    run = course(flow, y0, eta, until=LONGEST / eta)
    point = saddle(flow, run, eta)
    if point is None:
        return None
    begins, ends = _beside(run, point.generalization_error)
    coarse = _beside(course(flow, y0, eta, LONGEST / eta, 1e-8), point.generalization_error)
    error = abs(coarse[1] - coarse[0] - (ends - begins)) + 1e-9 * ends
    length = number(ends - begins, error)
    return Plateau(point, point.generalization_error, length, begins, ends)


def plateau_over_learning_rates(
    scenario: Scenario,
    start: Overlaps,
    learning_rates: Any,
    method: Method | str | None = None,
) -> xr.Dataset:
    """Height, length and estimated error of the length over ``learning_rate``; NaN without one.

    citton2025 Figure 2 shows them become higher until the saddle is lost.  In that scenario the
    length falls from η = 0.1 to 0.9 and is longer again at 1.1 and above; the eigenvalue of the
    escape is 0.021, 0.128 and 0.119 there.
    """
    rates = finite_array("learning_rates", learning_rates)
    if rates.ndim != 1 or not rates.size or np.any(rates <= 0):
        raise InputError(
            "learning_rates",
            f"{learning_rates!r}",
            "it has to be a list of numbers greater than 0",
            "np.linspace(0.1, 1.2, 12)",
        )
    found = [plateau(scenario, start, eta, method) for eta in rates]
    rows = [
        (p.height, p.length.value, p.length.error) if p else (np.nan, np.nan, np.nan) for p in found
    ]
    height, length, error = np.array(rows).T
    return xr.Dataset(
        {
            "height": ("learning_rate", height, {"long_name": "error of the saddle"}),
            "length": ("learning_rate", length, {"long_name": "time within a tenth of the height"}),
            "length_error": ("learning_rate", error),
        },
        coords={"learning_rate": ("learning_rate", rates, {"symbol": "η"})},
    )


def number(value: Any, error: Any) -> Estimate:
    """An `Estimate` of plain numbers."""
    return Estimate(float(value), float(error))


def saddle(flow: Flow, run: Course, learning_rate: float) -> FixedPoint | None:
    """The unstable fixed point beside which the error of a run changes most slowly."""
    pace = np.abs(run.slope / run.error)
    slow = np.flatnonzero((pace[1:-1] <= pace[:-2]) & (pace[1:-1] <= pace[2:])) + 1
    for j in slow[np.argsort(pace[slow])]:
        near = to_overlaps(jnp.asarray(run.states[j]), flow.scenario.T, flow.scenario.K)
        try:
            point = fixed_point(flow.scenario, near, learning_rate, method=flow.method)
        except InputError:
            continue  # the error was slow there, the overlaps were not
        beside = abs(point.generalization_error - run.error[j]) < BESIDE * run.error[j]
        if beside and point.unstable_directions.shape[1] > 0:
            return point
    return None


def _beside(run: Course, height: float) -> tuple[float, float]:
    """First and last time at which the error is within a tenth of the height."""
    edges = np.sort(np.concatenate([run.crossings(height * (1 + s * BESIDE)) for s in (-1, 1)]))
    first = 0.0 if abs(run.error[0] - height) <= BESIDE * height else edges[0]
    last = run.times[-1] if abs(run.error[-1] - height) <= BESIDE * height else edges[-1]
    return float(first), float(last)


def course(
    flow: Flow,
    start: Float[np.ndarray, " d"],
    learning_rate: float,
    until: float,
    tolerance: float = 1e-10,
    longest_step: float = np.inf,
    solved: float | None = None,
) -> Course:
    """Integrate and keep every step; one compilation serves all learning rates and tolerances.

    solved: the error at which the run counts as converged; a millionth of the first by default.
    """
    y0 = jnp.asarray(start)
    if solved is None:
        state = to_overlaps(y0, flow.scenario.T, flow.scenario.K)
        solved = NEARLY_SOLVED * float(generalization_error(flow.scenario, state, flow.method))
    numbers = (learning_rate, until, tolerance, longest_step, solved)
    out = _course(flow, y0, *(jnp.asarray(x, dtype=jnp.float64) for x in numbers))
    t, y, error, slope, ended_by, failed = (np.asarray(x) for x in out)
    # Steps that grow without bound may fail before the norms pass the bound.
    names = ("converged", "diverged")
    outcome = names[int(np.argmax(ended_by))] if np.any(ended_by) else "reached"
    kept = np.isfinite(t) & np.all(np.isfinite(y), axis=-1)
    return Course(t[kept], y[kept], error[kept], slope[kept], "diverged" if failed else outcome)


@eqx.filter_jit
def _course(flow: Flow, y0: Float[Array, " d"], eta, until, tolerance, longest, solved) -> tuple:
    K, T = flow.scenario.K, flow.scenario.T

    def rates(t, y, _):
        return to_vector(flow(to_overlaps(y, T, K), eta))

    def error(y):
        return generalization_error(flow.scenario, to_overlaps(y, T, K), flow.method)

    def kept(t, y, args):
        return y, *jax.jvp(error, (y,), (rates(t, y, None),))

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(rates),
        diffrax.Dopri5(),
        t0=0.0,
        t1=until,
        dt0=None,
        y0=y0,
        saveat=diffrax.SaveAt(t0=True, steps=True, fn=kept),
        stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance, dtmax=longest),
        event=diffrax.Event(
            [
                lambda t, y, args, **_: error(y) < solved,
                lambda t, y, args, **_: jnp.max(jnp.abs(y)) > TOO_LARGE * jnp.max(T),
            ]
        ),
        max_steps=MOST_STEPS,
        adjoint=diffrax.ForwardMode(),
        throw=False,
    )
    seen = jnp.isfinite(solution.ts)
    lost = jnp.any(seen & ~jnp.all(jnp.isfinite(solution.ys[0]), axis=-1))
    failed = lost | (solution.result == diffrax.RESULTS.dt_min_reached)
    return (
        solution.ts,
        *solution.ys,
        jnp.stack([jnp.asarray(m) for m in solution.event_mask]),
        failed,
    )

"""Optimal control of learning: schedules with the least final error, or that reach an error
soonest.

With controls u(α), the learning rate η, the readout rate η_v and the weight decay γ, the state Ω
follows dΩ/dα = f(Ω, u) (`tutelage.online.flow`).  At an optimum of ln ε_g at a fixed end

    -dΛ/dα = (∂f/∂Ω)ᵀ Λ,   Λ(end) = ∇ ln ε_g,   u(α) = argmin Λ·f(Ω, u) within its bounds,

and the Hamiltonian H = Λ·f is constant (Pontryagin; Saad and Rattray 1997 for on-line learning).
The soonest time to a given error is the end at which the least error equals it: d(ln ε_g)/d(end)
is H, by which Newton's method finds that end.

Controls are linear between knots.  Their values are unknowns of a search with exact gradients
(`tutelage.online.best.discretized`), scaled by the root of the time for which each acts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from tutelage._arguments import validated
from tutelage._checks import ComputationError, InputError, positive_integer
from tutelage._findings import Finding
from tutelage._given import CheckedInside, FileName, RateLike
from tutelage._memory import check_memory
from tutelage.averages.estimate import Estimate, number
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.model.timing import time_axis
from tutelage.online.best.certificate import (
    Certificate,
    hamiltonian_spread_of,
    smallest_increase_of,
)
from tutelage.online.best.coarse import Coarse, search_coarsely
from tutelage.online.best.discretized import Controlled, Path, in_blocks
from tutelage.online.best.first_guess import as_functions, best_constant
from tutelage.online.best.goals import check_goal, checked_bounds
from tutelage.online.best.greedy import greedy_run
from tutelage.online.best.grids import KnotGrid, interpolated
from tutelage.online.best.knots import LinearSchedule
from tutelage.online.best.search import END_ACCURACY, Optimum, Search
from tutelage.online.flow import Flow, errors_of
from tutelage.runs.checkpoint import Checkpoint, digest
from tutelage.runs.progress import Progress
from tutelage.runs.provenance import described
from tutelage.runs.seed import check_seed

# Tolerance of the integration with greedy controls, and the longest run in units of the time that
# the best constant controls need.
GREEDY_TOLERANCE, GREEDY_FACTOR = 1e-10, 100.0
# Times at which the schedule of a user identifies a checkpoint.
SAMPLED_TIMES = np.append(0.0, np.geomspace(0.01, 1000.0, 24))


@dataclass(frozen=True, repr=False)
class BestControl(Finding):
    """The schedules of `best_control`.

    time: α at the end.
    generalization_error: ε_g at the end.
    schedules: a `LinearSchedule` for each control, by name.
    certificate: a `Certificate`; None for greedy control.
    curve: a Dataset over time with the overlaps, generalization_error, the controls by name, and
        ``hamiltonian``, which is Λ·f, where there is a certificate.
    """

    time: Estimate
    generalization_error: Estimate
    schedules: Mapping[str, LinearSchedule]
    certificate: Certificate | None
    curve: xr.Dataset = field(repr=False)
    reasons: Mapping[str, str]

    @property
    def schedule(self) -> LinearSchedule:
        """The schedule of the learning rate, or of the first control if the rate is not
        controlled.
        """
        return self.schedules.get("learning_rate", next(iter(self.schedules.values())))


@validated
def best_control(
    scenario: Scenario,
    start: Overlaps,
    *,
    until: float | None = None,
    error: float | None = None,
    controls: CheckedInside[Mapping[str, tuple[float, float]] | None] = None,
    learning_rate: float | None = None,
    readout_rate: float | None = None,
    greedy: bool = False,
    start_from: CheckedInside[float | Callable[[Any], Any] | Mapping[str, RateLike] | None] = None,
    knots: int = 80,
    batch: int = 1,
    method: Method | str | None = None,
    seed: int = 0,
    checkpoint: FileName | None = None,
    progress: bool = False,
) -> BestControl:
    """Find the schedules with the least error at a given time, or that reach a given error soonest.

    The result is a local optimum; its certificate measures how well the conditions of an optimum
    hold, and whether searches from several schedules agree.

    Args:
        scenario: student and teacher, with teachers that do not drift.
        start: Q, R and T at time 0.
        until: the final time α, at which ε_g is minimized; or
        error: the ε_g that is to be reached soonest, at least 1e-7.
        controls: bounds of the controls by name, of ``learning_rate``, ``readout_rate`` and
            ``weight_decay``; by default {"learning_rate": (0, 3)}.
        learning_rate: η, where it is no control.
        readout_rate: η_v, where it is no control; by default the second layer is fixed.
        greedy: whether to choose at every moment the controls with which ε_g falls fastest.
        start_from: a further start of the search, in addition to the best constant controls, half
            of them and random ones: a schedule of the learning rate, or a mapping from controls to
            numbers or schedules.
        knots: the number of intervals of the schedules; half as many are tried first.
        batch: examples for each step, as in `evolve`.
        method: how averages are computed; the best exact one by default.
        seed: of random first guesses, and of the random perturbations in the certificate.
        checkpoint: a file to which the search writes and from which the same call continues.
        progress: whether to show a bar on a terminal.

    Returns:
        A `BestControl`: ``schedules`` can be given to `evolve` and to simulations, and by
        ``per_step`` to Optax and PyTorch.  The errors of ``time`` and ``generalization_error``
        are the difference between the two resolutions and the error of the integration.

    Raises:
        InputError: if an argument cannot be used, or if a plateau is not left until the end.
        ComputationError: if the error cannot be reached within the bounds.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.Linear())
    >>> start = tl.Overlaps(Q=[[0.5]], R=[[0.2]], T=[[1.0]])
    >>> noisy = tl.Scenario(one, one, label_noise=0.5)
    >>> best = tl.online.best_control(noisy, start, until=5.0, knots=16)
    >>> E = 2 * best.generalization_error.value  # at the end η is E/(E + ς²)
    >>> bool(abs(best.schedule(5.0) - E / (E + 0.25)) < 1e-3)
    True
    """
    box = checked_bounds(scenario, controls, learning_rate, readout_rate)
    given = as_functions(start_from, tuple(box))
    check_goal(scenario, start, until, error)
    check_seed(seed)
    count = positive_integer("knots", knots, "80")
    if count < 4:
        raise InputError("knots", f"{count}", "a schedule has at least 4 intervals", "knots=80")
    learns = "readout_rate" in box or bool(readout_rate)
    flow = Flow(scenario, method, batch=batch, readout_rate=float(learns))
    fixed = {"learning_rate": learning_rate, "readout_rate": readout_rate}
    numbers = {name: np.asarray(x, float) for name, x in fixed.items() if x and name not in box}
    system = Controlled(flow, numbers, tuple(box))
    d, m = flow.layout.size, len(box)
    check_memory(
        "knots", count, lambda n: 8 * n * d * (d + 2 * m + 1), "the Jacobians of its steps"
    )
    search = Search(system, flow.vector(start), np.array([*box.values()], float), until, error)
    identity = {
        name: described(value)
        for name, value in {
            "function": "online.best_control",
            "scenario": scenario,
            "start": start,
            "until": until,
            "error": error,
            "controls": {name: list(x) for name, x in box.items()},
            "fixed": fixed,
            "knots": count,
            "batch": batch,
            "method": method,
            "greedy": greedy,
            "start_from": {name: _samples(one) for name, one in given.items()},
            "seed": seed,
        }.items()
    }
    with Checkpoint(checkpoint, identity) as file, Progress(progress, None, "searches") as bar:
        if greedy:
            return _greedy(search)
        coarse = search_coarsely(search, given, count, seed, file, bar)
        return _refined(search, coarse, seed, bar)


def _samples(schedule: Callable[[Any], Any]) -> str:
    """Describe a schedule of the user by values, without the errors that the search reports."""
    try:
        return digest(*(np.asarray(schedule(float(time)), float) for time in SAMPLED_TIMES))
    except Exception as problem:
        return type(problem).__name__


def _refined(search: Search, coarse: Coarse, seed: int, bar: Progress) -> BestControl:
    """Search with twice as many knots, beginning at the coarse optimum, and certify the result."""
    grid = coarse.grid
    fine = KnotGrid.of(2 * (len(grid.knots) - 1), len(grid.ends) - 1)
    first = interpolated(grid.knots, coarse.values, fine.knots)
    end, best = search.soonest(fine, coarse.end, first)
    bar.add(1)
    certificate = Certificate(
        knots=(len(grid.knots) - 1, len(fine.knots) - 1),
        hamiltonian_spread=(coarse.spread, hamiltonian_spread_of(search, best.path)),
        hamiltonian=float(np.mean(best.path.hamiltonian(search.system))),
        gradient_norm=float(np.linalg.norm(best.gradient)),
        smallest_increase=smallest_increase_of(search, fine, end, best, seed),
        starts=tuple(coarse.starts),
        start_values=tuple(coarse.start_values),
        start_distance=None if np.isnan(coarse.distance) else coarse.distance,
    )
    return _described(search, fine, end, best, coarse.goal, certificate)


def _described(
    search: Search,
    grid: KnotGrid,
    end: float,
    best: Optimum,
    coarse: float,
    certificate: Certificate,
) -> BestControl:
    """Make the result; its errors are differences between two resolutions of schedule and
    integration.
    """
    value = best.path.value
    inexact = abs(search.value(grid.with_half_steps(), end, best.values) - value)
    hamiltonian = best.path.hamiltonian(search.system)
    if search.error is not None:
        inexact = abs(end - coarse) + inexact / abs(certificate.hamiltonian) + END_ACCURACY * end
        time = number(end, inexact)
        error = number(np.exp(value), search.error * END_ACCURACY * abs(end * hamiltonian[-1]))
    else:
        time = number(end, 0.0)
        error = number(np.exp(value), np.exp(value) * (abs(value - coarse) + inexact))
    return _result(search, grid.knots * end, best.values, best.path, time, error, certificate)


def _result(
    search: Search,
    knots: np.ndarray,
    values: np.ndarray,
    run: Path | tuple[np.ndarray, np.ndarray],
    time: Estimate,
    error: Estimate,
    certificate: Certificate | None,
) -> BestControl:
    system = search.system
    times, states = run[:2]
    schedules = {
        name: LinearSchedule(knots, np.clip(values[:, i], *search.bounds[i]))
        for i, name in enumerate(system.names)
    }
    reason = "greedy control minimizes the error of the next moment only and is not optimal"
    reasons = {} if certificate else {"certificate": reason}
    curve = _curve(search, times, states, schedules)
    if isinstance(run, Path):
        curve["hamiltonian"] = ("time", run.hamiltonian(system))
    return BestControl(time, error, schedules, certificate, curve, reasons)


def _curve(
    search: Search, times: np.ndarray, states: np.ndarray, schedules: dict[str, LinearSchedule]
) -> xr.Dataset:
    layout = search.system.flow.layout
    errors = _errors(search.system, states)
    values = {name: ("time", np.asarray(schedule(times))) for name, schedule in schedules.items()}
    return xr.Dataset(
        {
            **layout.variables(states, ("time",)),
            "generalization_error": ("time", errors),
            **values,
        },
        coords={"time": time_axis(times), **layout.coordinates},
        attrs={"outcome": "reached", "ended_at": float(times[-1])},
    )


def _errors(system: Controlled, states: np.ndarray) -> Any:
    return in_blocks(lambda y: errors_of(system.flow, y, system.flow.scenario.T), states)


def _greedy(search: Search) -> BestControl:
    """Apply greedy controls until the final time, or until the error is reached."""
    end = best_constant(search).end
    until, fine = _greedy_run(search, end, GREEDY_TOLERANCE)
    other, coarse = _greedy_run(search, end, 100 * GREEDY_TOLERANCE)
    run, controls = fine
    value, different = run.error[-1], abs(run.error[-1] - coarse[0].error[-1])
    time = number(until, abs(until - other) + GREEDY_TOLERANCE * until)
    error = number(value, different + GREEDY_TOLERANCE * value)
    return _result(search, run.times, controls, (run.times, run.states), time, error, None)


def _greedy_run(search: Search, end: float, tolerance: float) -> tuple[float, Any]:
    """Return the end of greedy control, and the run until then."""
    system, y0, bounds = search.system, search.y0, search.bounds
    if search.error is not None:
        longest, solved = GREEDY_FACTOR * end, 0.99 * search.error
        run, _ = greedy_run(system, y0, longest, bounds, tolerance=tolerance, solved=solved)
        passed = run.crossings(search.error)
        if not len(passed):
            raise ComputationError(
                "error",
                f"greedy control has ε_g = {run.error[-1]:.3g} at α = {run.times[-1]:g}, "
                f"and {search.error:g} is not reached",
                "it stalls where the terms of first order vanish, as on a plateau",
                "greedy=False",
            )
        end = float(passed[0])
    return end, greedy_run(system, y0, end, bounds, tolerance=tolerance)

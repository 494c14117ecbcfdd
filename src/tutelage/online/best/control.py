"""Optimal control of learning: the schedules with the least error at the end, or the soonest end.

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
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy.optimize import minimize

from tutelage._arguments import validated
from tutelage._checks import (
    ComputationError,
    InputError,
    finite_number,
    positive_integer,
    short_repr,
)
from tutelage._findings import Finding
from tutelage.averages.estimate import Estimate, number
from tutelage.averages.generalization import generalization_error
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.model.scenario import check_fits
from tutelage.model.timing import Rate, time_axis
from tutelage.online.best.discretized import (
    CONTROLS,
    Controlled,
    Path,
    in_blocks,
    path,
    value_of,
)
from tutelage.online.best.greedy import greedy_run
from tutelage.online.best.knots import LinearSchedule
from tutelage.online.flow import Flow, errors_of
from tutelage.online.steps import steps
from tutelage.runs.checkpoint import Checkpoint
from tutelage.runs.progress import Progress
from tutelage.runs.provenance import described
from tutelage.runs.seed import check_seed

DEFAULT_CONTROLS = {"learning_rate": (0.0, 3.0)}
# An error below a hundred tolerances of the adaptive integration is that of the integration.
SMALLEST_ERROR = 1e-7
SCAN_TOLERANCE = 1e-9
# Constant learning rates that are tried for the first guess, down to this share of the bound.
SCANNED_RATES, SMALLEST_SHARE = 16, 0.02
# The longest end that is tried for the first guess.
LONGEST_TIME = 1e5
# Knots are at the times T (k/n)^1.5: students move fastest in the beginning.
KNOT_EXPONENT = 1.5
# The fixed steps of the search: at least this many, and no larger error in ln ε_g.
FEWEST_STEPS, MOST_STEPS, STEP_ERROR = 256, 8192, 1e-4
# Value of ln ε_g that the search sees for a run that diverges.
DIVERGED_VALUE = 100.0
SEARCH = {"maxiter": 1000, "maxfun": 2000, "maxcor": 30, "ftol": 1e-12, "gtol": 1e-8, "maxls": 40}
# Newton's method for the end: steps at most, relative accuracy, and the largest change by a step.
MOST_ENDS, END_ACCURACY, LARGEST_FACTOR = 12, 1e-7, 1.5
# Size of the random factors of a first guess, as the standard deviation of their logarithm.
RANDOM_SIZE = 0.3
PERTURBATIONS, SMALLEST_SIZE, LARGEST_SIZE = 20, 1e-3, 0.3


@dataclass(frozen=True, repr=False)
class Certificate(Finding):
    """Evidence that schedules are optimal.

    knots: the numbers of intervals of the two resolutions, coarse and fine.
    hamiltonian_spread: (max H - min H)/|mean H| at both: it vanishes for an exact optimum.
    hamiltonian: mean of H, which is d(ln ε_g)/d(end).
    gradient_norm: of ln ε_g by the scaled unknowns, without those held at a bound.
    smallest_increase: of ln ε_g over random perturbations of the schedules within the bounds.
    starts: names of the schedules from which searches began, at the coarse resolution.
    start_values: ln ε_g that each of them reached, relative to the lowest.
    start_distance: largest root mean square difference of schedules from starts with the lowest
        value, relative to the widths of the bounds; None if one start reached it.
    """

    knots: tuple[int, int]
    hamiltonian_spread: tuple[float, float]
    hamiltonian: float
    gradient_norm: float
    smallest_increase: float
    starts: tuple[str, ...]
    start_values: tuple[float, ...]
    start_distance: float | None

    @property
    def brief(self) -> str:
        return (
            f"spread of H {self.hamiltonian_spread[1]:.1g}, gradient {self.gradient_norm:.1g}, "
            f"perturbations change ln ε_g by {self.smallest_increase:+.1g} at least"
        )


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
        """The schedule of the only control, or of the learning rate."""
        return self.schedules.get("learning_rate", next(iter(self.schedules.values())))


@validated
def best_control(
    scenario: Scenario,
    start: Overlaps,
    *,
    until: float | None = None,
    error: float | None = None,
    controls: Mapping[str, Any] | None = None,
    learning_rate: float | None = None,
    readout_rate: float | None = None,
    greedy: bool = False,
    start_from: Any = None,
    knots: int = 80,
    batch: int = 1,
    method: Method | str | None = None,
    seed: int = 0,
    checkpoint: Any = None,
    progress: bool = False,
) -> BestControl:
    """Find the schedules with the least error at an end, or with the soonest end at an error.

    The result is a local optimum; its certificate says how well the conditions of an optimum hold,
    and whether searches from several schedules agree.

    Args:
        scenario: who learns from whom, with teachers that do not drift.
        start: Q, R and T at time 0.
        until: the end α at which ε_g is least; or
        error: the ε_g that is to be reached soonest, at least 1e-7.
        controls: bounds of the controls by name, of ``learning_rate``, ``readout_rate`` and
            ``weight_decay``; by default {"learning_rate": (0, 3)}.
        learning_rate: η, where it is no control.
        readout_rate: η_v, where it is no control; by default the second layer is fixed.
        greedy: whether to choose at every moment the controls with which ε_g falls fastest.
        start_from: where a search begins, besides the best constant controls, half of them and
            random ones: a schedule of the learning rate, or a mapping from controls to numbers or
            schedules.
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
        InputError: if an argument cannot be used.
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
    box = _bounds(scenario, controls, learning_rate, readout_rate)
    _check_goal(scenario, start, until, error)
    check_seed(seed)
    count = positive_integer("knots", knots, "80")
    if count < 4:
        raise InputError("knots", f"{count}", "a schedule has at least 4 intervals", "80")
    learns = "readout_rate" in box or bool(readout_rate)
    flow = Flow(scenario, method, batch=batch, readout_rate=float(learns))
    fixed = {"learning_rate": learning_rate, "readout_rate": readout_rate}
    numbers = {name: np.asarray(x, float) for name, x in fixed.items() if x and name not in box}
    system = Controlled(flow, numbers, tuple(box))
    search = _Search(system, flow.vector(start), np.array([*box.values()], float), until, error)
    identity = {
        name: described(value)
        for name, value in {
            "function": "online.best_control",
            "scenario": scenario,
            "start": start,
            "goal": [until, error],
            "controls": {name: list(x) for name, x in box.items()},
            "fixed": fixed,
            "knots": count,
            "batch": batch,
        }.items()
    }
    with Checkpoint(checkpoint, identity) as file, Progress(progress, None, "searches") as bar:
        if greedy:
            return _greedy(search, count)
        return _optimal(search, start_from, count, seed, file, bar)


class _Grid(NamedTuple):
    """Knots and ends of steps, as fractions of the end, and how steps depend on knots."""

    knots: Float[np.ndarray, " k"]
    ends: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, intervals: int, fewest: int) -> "_Grid":
        """A grid whose steps are no longer than 1/fewest of the end."""
        knots = (np.arange(intervals + 1) / intervals) ** KNOT_EXPONENT
        counts = np.maximum(2, np.ceil(np.diff(knots) * fewest).astype(int))
        parts = [
            a + (b - a) * np.arange(n) / n
            for a, b, n in zip(knots[:-1], knots[1:], counts, strict=True)
        ]
        return cls(knots, np.append(np.concatenate(parts), 1.0))

    def hats(self) -> Float[np.ndarray, "n k"]:
        """Values at the ends of steps are these times the values at the knots."""
        rows = np.eye(len(self.knots))
        return np.stack([np.interp(self.ends, self.knots, row) for row in rows], axis=1)

    def weights(self) -> Float[np.ndarray, " k"]:
        """The fraction of the time for which each knot acts."""
        d = np.diff(self.knots)
        return 0.5 * (np.append(d, 0.0) + np.append(0.0, d))


class _Optimum(NamedTuple):
    """Values at the knots, shape (k, m), the run with them, and the scaled gradient."""

    values: Float[np.ndarray, "k m"]
    path: Path
    gradient: Float[np.ndarray, "k m"]


class _Search(NamedTuple):
    """A problem of optimal control: system, start, bounds of shape (m, 2), and the goal."""

    system: Controlled
    y0: Float[np.ndarray, " d"]
    bounds: Float[np.ndarray, "m 2"]
    until: float | None
    error: float | None

    def optimum(self, grid: _Grid, end: float, values: np.ndarray) -> _Optimum:
        """The least ln ε_g at a fixed end, from these values at the knots."""
        hats, times, shape = grid.hats(), end * grid.ends, values.shape
        root = np.sqrt(end * grid.weights())[:, None]

        def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
            run = path(self.system, self.y0, times, hats @ (z.reshape(shape) / root))
            if run is None:
                return DIVERGED_VALUE, np.zeros_like(z)
            return run.value, (hats.T @ run.by_control / root).ravel()

        low, high = (np.ones(shape) * self.bounds[:, k] * root for k in (0, 1))
        box = np.stack([low.ravel(), high.ravel()], axis=1)
        first = np.clip(values * root, low, high).ravel()
        z = minimize(
            objective, first, jac=True, method="L-BFGS-B", bounds=box, options=SEARCH
        ).x.reshape(shape)
        run = path(self.system, self.y0, times, hats @ (z / root))
        if run is None:
            received = f"the first schedule diverges before α = {end:g}"
            raise ComputationError(
                "controls", received, "no search can begin there", "lower bounds"
            )
        slope = hats.T @ run.by_control / root
        outwards = ((z <= low) & (slope > 0)) | ((z >= high) & (slope < 0))
        return _Optimum(z / root, run, np.where(outwards, 0.0, slope))

    def soonest(self, grid: _Grid, end: float, values: np.ndarray) -> tuple[float, _Optimum]:
        """The end at which the least error is the goal; a fixed end stays as it is."""
        found = self.optimum(grid, end, values)
        if self.error is None:
            return end, found
        for _ in range(MOST_ENDS):
            excess = found.path.value - np.log(self.error)
            slope = float(np.sum(found.path.by_length * np.diff(grid.ends)))
            longest = LARGEST_FACTOR * end
            following = end - excess / slope if slope < 0 else longest
            following = float(np.clip(following, end / LARGEST_FACTOR, longest))
            if abs(following - end) < END_ACCURACY * end:
                return end, found
            if following > LONGEST_TIME or slope >= 0 > -excess:
                break
            end, found = following, self.optimum(grid, following, found.values)
        raise _unreached(self.error, end)


def _unreached(error: float, end: float) -> ComputationError:
    received = f"{error:g} is not reached until α = {end:g}"
    return ComputationError("error", received, "no schedule that was tried does", "a larger error")


def _optimal(
    search: _Search, start_from: Any, knots: int, seed: int, file: Checkpoint, bar: Progress
) -> BestControl:
    kept = file.load() or {}
    if kept:
        grid = _Grid(kept["knots"], kept["ends"])
        end, values = float(kept["end"]), kept["values"]
        starts = [str(x) for x in kept["starts"]]
        start_values, distance = kept["start_values"].tolist(), float(kept["distance"])
        spread = float(kept["spread"])
        coarse_goal = float(kept["goal"])
    else:
        end, constant = _constant(search)
        grid = _Grid.of(max(2, knots // 2), _step_count(search, end, constant, knots))
        guesses = _guesses(end, grid, constant, start_from, seed, search)
        end, first = search.soonest(grid, end, guesses.pop("constant"))
        bar.add(1)
        optima = {"constant": first}
        for name, values in guesses.items():
            optima[name] = search.optimum(grid, end, values)
            bar.add(1)
        best = min(optima.values(), key=lambda optimum: optimum.path.value)
        if best is not first:
            end, best = search.soonest(grid, end, best.values)
        starts, start_values, distance = _compared(search, grid, optima)
        spread, values = _spread(search, best.path), best.values
        coarse_goal = end if search.error is not None else best.path.value
        file.save(
            {
                "knots": grid.knots,
                "ends": grid.ends,
                "end": np.asarray(end),
                "values": values,
                "starts": np.asarray(starts),
                "start_values": np.asarray(start_values),
                "distance": np.asarray(distance),
                "spread": np.asarray(spread),
                "goal": np.asarray(coarse_goal),
            }
        )
    fine = _Grid.of(2 * (knots // 2), len(grid.ends) - 1)
    end, found = search.soonest(fine, end, _between(grid.knots, values, fine.knots))
    bar.add(1)
    certificate = Certificate(
        knots=(len(grid.knots) - 1, len(fine.knots) - 1),
        hamiltonian_spread=(spread, _spread(search, found.path)),
        hamiltonian=float(np.mean(found.path.hamiltonian(search.system))),
        gradient_norm=float(np.linalg.norm(found.gradient)),
        smallest_increase=_smallest_increase(search, fine, end, found, seed),
        starts=tuple(starts),
        start_values=tuple(float(x) for x in start_values),
        start_distance=None if np.isnan(distance) else float(distance),
    )
    return _described(search, fine, end, found, coarse_goal, certificate)


def _described(
    search: _Search,
    grid: _Grid,
    end: float,
    found: _Optimum,
    coarse: float,
    certificate: Certificate,
) -> BestControl:
    """The result, with errors from two resolutions of the schedule and of the integration."""
    value = found.path.value
    inexact = abs(_halved_steps(search, grid, end, found.values) - value)
    hamiltonian = found.path.hamiltonian(search.system)
    if search.error is not None:
        inexact = abs(end - coarse) + inexact / abs(certificate.hamiltonian) + END_ACCURACY * end
        time = number(end, inexact)
        error = number(np.exp(value), search.error * END_ACCURACY * abs(end * hamiltonian[-1]))
    else:
        time = number(end, 0.0)
        error = number(np.exp(value), np.exp(value) * (abs(value - coarse) + inexact))
    return _result(search, grid.knots * end, found.values, found.path, time, error, certificate)


def _result(
    search: _Search,
    knots: np.ndarray,
    values: np.ndarray,
    run: Any,
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
    reason = "greedy control looks at the present only, and does not claim to be optimal"
    reasons = {} if certificate else {"certificate": reason}
    curve = _curve(search, times, states, schedules)
    if isinstance(run, Path):
        curve["hamiltonian"] = ("time", run.hamiltonian(system))
    return BestControl(time, error, schedules, certificate, curve, reasons)


def _curve(
    search: _Search, times: np.ndarray, states: np.ndarray, schedules: dict[str, LinearSchedule]
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


def _constant(search: _Search) -> tuple[float, Float[np.ndarray, " m"]]:
    """The best of a few constant controls, and the end at which it reaches the error."""
    system, bounds = search.system, search.bounds
    first = dict(zip(system.names, bounds[:, 0], strict=True))
    if "learning_rate" not in first:
        tried = [np.array([*first.values()])]
    else:
        tried = []
        high = bounds[system.names.index("learning_rate"), 1]
        for rate in np.geomspace(SMALLEST_SHARE * high, high, SCANNED_RATES):
            guess = first | {"learning_rate": rate}
            if "readout_rate" in guess:
                guess["readout_rate"] = rate
            tried.append(np.clip([*guess.values()], bounds[:, 0], bounds[:, 1]))
    limit = LONGEST_TIME if search.until is None else float(search.until)
    best, least = None, np.inf
    for values in tried:
        value = _of_constant(search, values, limit)
        if value < least:
            best, least = values, value
            limit = min(limit, 2 * value) if search.until is None else limit
    if best is None:
        if search.error is not None:
            raise _unreached(search.error, LONGEST_TIME)
        received = "every constant control that was tried diverges"
        raise ComputationError("controls", received, "no search can begin", "lower bounds")
    return (least if search.until is None else limit), best


def _of_constant(search: _Search, values: np.ndarray, limit: float) -> float:
    """When the error is reached with constant controls, or the error at the end."""
    named = search.system.fixed | dict(zip(search.system.names, values, strict=True))
    readout = named.get("readout_rate")
    decay = named.get("weight_decay")
    rate: Any = Rate(named["learning_rate"], readout=readout, decay=decay)
    solved = 0.0 if search.error is None else 0.99 * search.error
    run = steps(search.system.flow, search.y0, rate, limit, tolerance=SCAN_TOLERANCE, solved=solved)
    if search.error is None:
        return np.inf if run.outcome == "diverged" else float(run.error[-1])
    passed = run.crossings(search.error)
    return float(passed[0]) if len(passed) else np.inf


def _step_count(search: _Search, end: float, constant: np.ndarray, knots: int) -> int:
    """The number of steps with which ln ε_g of the constant controls is exact enough."""
    count = FEWEST_STEPS
    while count < MOST_STEPS:
        few, more = (
            value_of(search.system, search.y0, end * g.ends, np.tile(constant, (len(g.ends), 1)))
            for g in (_Grid.of(max(2, knots // 2), count), _Grid.of(max(2, knots // 2), 2 * count))
        )
        if abs(few - more) < STEP_ERROR:
            return count
        count *= 2
    return count


def _guesses(
    end: float,
    grid: _Grid,
    constant: np.ndarray,
    start_from: Any,
    seed: int,
    search: _Search,
) -> dict[str, Float[np.ndarray, "k m"]]:
    """Values at the knots from which searches begin; the first is the best constant control."""
    times = end * grid.knots
    flat = np.tile(constant, (len(times), 1))
    guesses = {"constant": flat, "half of it": 0.5 * flat}
    factors = np.exp(RANDOM_SIZE * np.random.default_rng(seed).standard_normal(flat.shape))
    guesses["random"] = np.clip(flat * factors, search.bounds[:, 0], search.bounds[:, 1])
    if start_from is not None:
        given = _as_functions(start_from, search.system.names)
        columns = [
            np.array([float(given[name](t)) for t in times]) if name in given else flat[:, i]
            for i, name in enumerate(search.system.names)
        ]
        guesses["start_from"] = np.stack(columns, axis=1)
    return guesses


def _as_functions(start_from: Any, names: tuple[str, ...]) -> dict[str, Callable[[Any], Any]]:
    """Schedules by name, from a mapping or from one schedule or number."""
    given = start_from if isinstance(start_from, Mapping) else {names[0]: start_from}
    functions = {}
    for name, value in given.items():
        if name not in names:
            received, allowed = f"a schedule of {name!r}", f"the controls are {', '.join(names)}"
            raise InputError("start_from", received, allowed)
        if not callable(value):
            finite_number("start_from", value, at_least=0.0, hint="1.0, or a schedule")
        functions[name] = value if callable(value) else lambda time, value=value: value
    return functions


def _between(old: np.ndarray, values: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Values at other knots."""
    return np.stack([np.interp(new, old, column) for column in values.T], axis=1)


def _compared(
    search: _Search, grid: _Grid, optima: Mapping[str, _Optimum]
) -> tuple[list[str], list[float], float]:
    """Names of the starts, ln ε_g of each over the lowest, and how far schedules differ."""
    values = np.array([optimum.path.value for optimum in optima.values()])
    lowest = float(np.min(values))
    same = [o.values for o, value in zip(optima.values(), values, strict=True)]
    same = [v for v, value in zip(same, values, strict=True) if value - lowest < 1e-4]
    width = search.bounds[:, 1] - search.bounds[:, 0]
    weights = grid.weights()[:, None]
    differences = [
        np.sqrt(np.max(np.sum(weights * ((one - same[0]) / width) ** 2, axis=0)))
        for one in same[1:]
    ]
    distance = float(max(differences)) if differences else np.nan
    return [*optima], [float(x) for x in values - lowest], distance


def _spread(search: _Search, run: Path) -> float:
    """(max H - min H)/|mean H|."""
    H = run.hamiltonian(search.system)
    return float(np.ptp(H) / abs(np.mean(H)))


def _smallest_increase(
    search: _Search, grid: _Grid, end: float, found: _Optimum, seed: int
) -> float:
    """The smallest change of ln ε_g by random perturbations of the values at the knots."""
    draw, hats = np.random.default_rng(seed), grid.hats()
    low, high = search.bounds.T
    changes = []
    for size in np.geomspace(SMALLEST_SIZE, LARGEST_SIZE, PERTURBATIONS):
        noise = size * (high - low) * draw.standard_normal(found.values.shape)
        values = np.clip(found.values + noise, low, high)
        value = value_of(search.system, search.y0, end * grid.ends, hats @ values)
        changes.append(value - found.path.value)
    return float(min(changes))


def _halved_steps(search: _Search, grid: _Grid, end: float, values: np.ndarray) -> float:
    """ln ε_g of the schedules with steps of half the length."""
    middle = 0.5 * (grid.ends[:-1] + grid.ends[1:])
    ends = np.sort(np.concatenate([grid.ends, middle]))
    finer = _between(grid.knots, values, ends)
    return value_of(search.system, search.y0, end * ends, finer)


def _greedy(search: _Search, knots: int) -> BestControl:
    """Greedy controls until the end, or until the error is reached."""
    end, constant = _constant(search)
    grid = _Grid.of(knots, _step_count(search, end, constant, knots))
    system, ends = search.system, grid.ends
    if search.error is not None:
        end = _greedy_end(search, ends, 2 * end)
    states, controls = greedy_run(system, search.y0, end * ends, search.bounds)
    value = float(system.log_error(states[-1]))
    finer = np.sort(np.concatenate([ends, 0.5 * (ends[:-1] + ends[1:])]))
    other = greedy_run(system, search.y0, end * finer, search.bounds)[0][-1]
    inexact = abs(float(system.log_error(other)) - value)
    slope = float(np.abs(np.diff([float(system.log_error(y)) for y in states[-2:]])[0]))
    slope /= end * (ends[-1] - ends[-2])
    time = number(end, 0.0 if search.error is None else inexact / max(slope, 1e-12))
    error = number(np.exp(value), np.exp(value) * inexact)
    return _result(search, end * ends, controls, (end * ends, states), time, error, None)


def _greedy_end(search: _Search, ends: np.ndarray, end: float) -> float:
    """The time at which greedy controls reach the error, on a grid that ends there."""
    assert search.error is not None
    for _ in range(MOST_ENDS):
        states, _ = greedy_run(search.system, search.y0, end * ends, search.bounds)
        log = np.log(np.maximum(np.asarray(_errors(search.system, states)), 1e-300))
        below = np.flatnonzero(log <= np.log(search.error))
        if not len(below) and end > 0.5 * LONGEST_TIME:
            break
        if not len(below):
            end *= 2
            continue
        j = int(below[0])
        share = (np.log(search.error) - log[j - 1]) / (log[j] - log[j - 1])
        following = end * (ends[j - 1] + share * (ends[j] - ends[j - 1]))
        if abs(following - end) < 1e-9 * end:
            return float(end)
        end = float(following)
        # So that the last point is past the error by rounding only, and not before it.
        if j == len(ends) - 1 and abs(share - 1) < 1e-6:
            return end
        end *= 1 + 1e-9
    raise ComputationError(
        "error",
        f"greedy control does not reach {search.error:g} until α = {end:g}",
        "it stalls where the terms of first order vanish, as on a plateau",
        "greedy=False",
    )


def _bounds(
    scenario: Scenario, controls: Any, learning_rate: Any, readout_rate: Any
) -> dict[str, tuple[float, float]]:
    """The bounds of all controls, in the order of `CONTROLS`."""
    controls = DEFAULT_CONTROLS if controls is None else controls
    example = '{"learning_rate": (0, 3)}'
    for name in controls:
        if name not in CONTROLS:
            allowed = f"the controls are {', '.join(CONTROLS)}"
            raise InputError("controls", short_repr(name), allowed, example)
    if not controls:
        raise InputError("controls", "none", "there has to be one", example)
    given = {"learning_rate": learning_rate, "readout_rate": readout_rate}
    for name, value in given.items():
        if value is not None and name in controls:
            raise InputError(name, short_repr(value), "it is a control already", f"without {name}=")
        if value is not None:
            finite_number(name, value, at_least=0.0, hint="1.0")
    if "learning_rate" not in controls and not learning_rate:
        received, allowed = short_repr(learning_rate), "where it is no control it has to be given"
        raise InputError("learning_rate", received, allowed, "learning_rate=1.0")
    return {name: _pair(name, controls[name]) for name in CONTROLS if name in controls}


def _pair(name: str, bounds: Any) -> tuple[float, float]:
    example = f'controls={{"{name}": (0, 3)}}'
    if not isinstance(bounds, tuple | list | np.ndarray) or len(bounds) != 2:
        allowed = f"{name} needs two bounds, the lower one first"
        raise InputError("controls", short_repr(bounds), allowed, example)
    low, high = (float(finite_number("controls", x, at_least=0.0, hint=example)) for x in bounds)
    if low >= high:
        allowed = f"the first bound of {name} has to be the lower one"
        raise InputError("controls", f"({low:g}, {high:g})", allowed, example)
    return low, high


def _check_goal(scenario: Scenario, start: Overlaps, until: Any, error: Any) -> None:
    check_fits("start", scenario, start, batches=((),))
    if (until is None) == (error is None):
        received = "neither" if until is None else "both"
        allowed = "it has to be one of until=... and error=..."
        raise InputError("until and error", received, allowed, "until=60, or error=1e-4")
    if float(scenario.drift) > 0:
        allowed = "teachers that drift have no end: the best rates are constant"
        raise InputError(
            "scenario", f"drift = {scenario.drift}", allowed, "tl.online.best_tracking"
        )
    if until is not None:
        finite_number("until", until, above=0.0, hint="until=60")
        return
    finite_number("error", error, at_least=SMALLEST_ERROR, hint="1e-4")
    first = float(generalization_error(scenario, start))
    if error >= first:
        raise InputError(
            "error", short_repr(error), f"the start has {first:g} already", "a lower one"
        )

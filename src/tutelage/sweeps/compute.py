"""Compute a group of points.

Points of `online.evolve` that differ in real numbers only are one call of
`online.trajectory.evolve_each`, up to `SWEEP_LANES` of them.  One compiled program computes all of
them in parallel and rounds each operation separately: the bits of a run depend neither on the other
runs nor on its position.  Runs of erf units are computed one after the other by the same code.

Averages by conditioning (smooth units) take as many nodes as the hardest run of a call needs;
these runs are computed one by one.
"""

import hashlib
import inspect
import json
import time
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from tutelage._checks import ComputationError, InputError
from tutelage.model import Overlaps, Scenario
from tutelage.model.numbers import NAMES
from tutelage.runs.programs import program_of
from tutelage.runs.public_names import public_function
from tutelage.sweeps.combine import (
    FAILURE,
    as_dataset,
    joined,
    no_failures,
    sorted_points,
    stacked,
    variables,
)
from tutelage.sweeps.points import POINT, identity
from tutelage.sweeps.scenarios import NETWORKS, PARTS, Scenarios, with_parts
from tutelage.sweeps.selection import Last, selected, selected_runs

RATES = ("learning_rate", "readout_rate")
# Variables over time whose last values are computed without the others.
LAST_VARIABLES = {"Q", "R", "readout", "generalization_error"}


class Task(NamedTuple):
    """The part of a study that is the same at all points.

    function: public name of the function.
    fixed: arguments that are not swept.
    keep: the selected part of each result.
    seed: of the study, if the function draws random numbers and its seed is not given.
    """

    function: str
    fixed: dict[str, Any]
    keep: Any
    seed: int | None


def computed(task: Task, points: Sequence[tuple[str, Mapping[str, Any]]]) -> xr.Dataset:
    """Compute a group; return its results along ``point``.

    points: key and values of each point.
    """
    known: Scenarios = {}
    calls = [_attempt(lambda key=key, x=x: arguments(task, key, x, known)) for key, x in points]
    single = {number: call for number, call in enumerate(calls) if isinstance(call, str)}
    every = [number for number in range(len(calls)) if number not in single]
    blocks, order = [], []
    flows: dict[Hashable, Any] = {}
    for some, joint in _joint_calls(task.function, calls, every):
        results = _results(task, [calls[n] for n in some], flows if joint else None)
        if isinstance(results, xr.Dataset):
            blocks.append(results)
            order += some
        else:
            single |= zip(some, results, strict=True)
    if single:
        blocks.append(stacked(list(single.values())))
        order += single
    return sorted_points(joined(blocks), order)


def timed(task: Task, points: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[xr.Dataset, float]:
    """Compute a group; return its results and the seconds it took."""
    begun = time.perf_counter()
    return computed(task, points), time.perf_counter() - begun


def arguments(
    task: Task, key: str, values: Mapping[str, object], known: Scenarios | None = None
) -> dict[str, Any]:
    """Return the arguments of the call at a point: with its scenario, and its seed.

    known: a cache of scenarios for calls with the same objects as values.
    """
    own = _parameters_of(task.function)
    given = {**task.fixed, **values}

    def is_part(name: str, value: object) -> bool:
        """Return whether an argument is part of the scenario; a schedule is an argument of `evolve`
        itself.
        """
        is_number = "scenario" in own and name in NAMES and not callable(value)
        return name in PARTS and (name not in own or is_number)

    parts = {name: x for name, x in given.items() if is_part(name, x)}
    call = {name: x for name, x in given.items() if name not in parts}
    if parts:
        call["scenario"] = with_parts(call["scenario"], parts, known)
    if task.seed is not None:
        call["seed"] = seed_of(task.seed, key)
    return call


@cache
def _parameters_of(function: str) -> tuple[str, ...]:
    return tuple(inspect.signature(public_function(function, "function")).parameters)


def seed_of(seed: int, key: str) -> int:
    """Return the seed of a point, from the seed of the study and the values of the point.

    >>> seed_of(0, '{"load": 1.0}') == seed_of(0, '{"load": 1.0}') != seed_of(0, '{"load": 2.0}')
    True
    """
    digest = np.frombuffer(hashlib.sha256(key.encode()).digest(), dtype=np.uint32)
    sequence = np.random.SeedSequence([seed, *digest.tolist()])
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def _attempt(work: Any) -> Any:
    """Return the result of some work, or the message of its error."""
    try:
        return work()
    except (ComputationError, InputError) as problem:
        return str(problem)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


def _joint_calls(
    function: str, calls: Sequence[Any], numbers: Sequence[int]
) -> list[tuple[list[int], bool]]:
    """Partition calls into joint calls, and others; calls of functions other than `evolve` are
    single.
    """
    if function != "online.evolve":
        return [([number], False) for number in numbers]
    groups: dict[Hashable, list[int]] = defaultdict(list)
    single: list[int] = []
    known: dict[Hashable, Hashable] = {}
    for number in numbers:
        key = _joint_key(calls[number], known)
        (single if key is None else groups[key]).append(number)
    joint = [
        (some[first : first + size], True)
        for some in groups.values()
        for size in [_runs_at_once(calls[some[0]])]
        for first in range(0, len(some), size)
    ]
    return [*joint, *(([number], False) for number in single)]


def _results(
    task: Task, calls: Sequence[dict[str, Any]], flows: dict[Hashable, Any] | None
) -> xr.Dataset | list[Any]:
    """Compute a joint call, or a single one; if a joint call fails, compute each of its calls
    separately.

    A joint call returns a Dataset along ``point``, other calls return a list of results.

    flows: the cache of `evolve_each` for a joint call; None for a single call.
    """
    if flows is not None:
        runs = _attempt(lambda: evolved(calls, task.keep, flows))
        if not isinstance(runs, str):
            part = _attempt(lambda: selected_runs(runs, task.keep))
            return [part] * len(calls) if isinstance(part, str) else _points_of_runs(part)
        if len(calls) > 1:
            every = [_results(task, [call], flows) for call in calls]
            return [one for results in every for one in _listed(results)]
        return [runs]
    (call,) = calls
    attempt = _attempt(lambda: public_function(task.function, "function")(**call))
    if isinstance(attempt, str):
        return [attempt]
    if task.keep is None and not isinstance(attempt, xr.Dataset | list | tuple):
        return [_attempt(lambda: variables(attempt))]
    return [_attempt(lambda: selected(as_dataset(attempt), task.keep))]


def _points_of_runs(runs: xr.Dataset) -> xr.Dataset:
    """Return runs as points that have not failed."""
    points = runs.rename_dims(run=POINT)
    return points.assign({FAILURE: no_failures(points.sizes[POINT])})


def _listed(results: xr.Dataset | list[Any]) -> list[Any]:
    """Return the results of one call as a list for `stacked`."""
    if isinstance(results, list):
        return results
    return [results.isel({POINT: 0}, drop=True).drop_vars(FAILURE)]


def _joint_key(call: Mapping[str, Any], known: dict[Hashable, Hashable]) -> Hashable:
    """Return a key that is equal for calls of `evolve` that are joined; None for calls with several
    runs.

    known: a cache for calls with the same objects and other rates; the objects have to exist as
        long as the cache.
    """
    same = tuple(
        (name, type(x), x == 0) if name in RATES and isinstance(x, int | float) else (name, id(x))
        for name, x in call.items()
    )
    if same not in known:
        known[same] = _described_call(call)
    return known[same]


def _described_call(call: Mapping[str, Any]) -> Hashable:
    """Return the key of `_joint_key`."""
    from tutelage.model.teachers import decorrelates

    scenario, start = call["scenario"], call["start"]
    if not (isinstance(scenario, Scenario) and isinstance(start, Overlaps)):
        return None
    if scenario.leading or start.leading or any(np.ndim(call.get(rate, 0.0)) for rate in RATES):
        return None
    if any(call.get(name) is not None for name in NAMES):  # schedules, which `evolve_each` lacks
        return None
    rates = {name: call[name] for name in RATES if name in call}
    own = ("scenario", "start", *rates)
    others = {name: identity(x) for name, x in call.items() if name not in own}
    drifts = decorrelates(scenario.drift, scenario.T)
    of_parts = (program_of({"scenario": scenario, "start": start}), program_of(rates))
    return of_parts, drifts, json.dumps(others, sort_keys=True)


def _runs_at_once(call: Mapping[str, Any]) -> int:
    from tutelage.averages.methods import Conditional, chosen
    from tutelage.online.flow import SWEEP_LANES

    if not isinstance(call.get("scenario"), Scenario):
        return 1
    units = tuple(getattr(call["scenario"], network).activation for network in NETWORKS)
    methods = _attempt(lambda: chosen(call.get("method"), units))
    return 1 if isinstance(methods, Conditional | str) else SWEEP_LANES


def evolved(
    calls: Sequence[Mapping[str, Any]], keep: object, flows: dict[Hashable, Any] | None = None
) -> xr.Dataset:
    """Integrate runs of `evolve` whose calls differ in numbers only; return them along ``run``.

    flows: the cache of `evolve_each`.
    """
    from tutelage.online.trajectory import Run, evolve_each

    def split(call: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, Any]]:
        own = {name: x for name, x in call.items() if name in Run._fields}
        return own, {name: x for name, x in call.items() if name not in own}

    last = isinstance(keep, Last) and set(keep.names) <= LAST_VARIABLES
    runs = [Run(**split(call)[0]) for call in calls]
    states = evolve_each(runs, **split(calls[0])[1], last=last, flows=flows)
    return states.drop_dims("teacher_2", errors="ignore")

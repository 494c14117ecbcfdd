"""What a worker does with a group of points.

Points that differ in numbers only are one call of `tutelage.online.evolve`, up to `TOGETHER` of
them: one compiled program computes any number of runs up to that, one after the other, so that
what a run gives does not depend on the others, nor on its place.

Averages by conditioning (smooth units) take as many nodes as the hardest run of a call needs, and
there a run is alone.
"""

import dataclasses
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
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.model.numbers import NAMES
from tutelage.runs.provenance import constructor
from tutelage.runs.public_names import function
from tutelage.sweeps.keeping import kept
from tutelage.sweeps.pieces import as_dataset, stacked, variables
from tutelage.sweeps.points import identity
from tutelage.sweeps.scenarios import NETWORKS, PARTS, with_parts

RATES = ("learning_rate", "readout_rate")
JOINED = (*NETWORKS, *NAMES, "teacher_overlaps")


class Task(NamedTuple):
    """What is the same at all points.

    verb: by its public name.
    fixed: arguments that are not swept.
    keep: what of each result.
    seed: of the study, if the verb draws random numbers and nobody says which.
    """

    verb: str
    fixed: dict[str, Any]
    keep: Any
    seed: int | None


def computed(task: Task, points: Sequence[tuple[str, Mapping[str, Any]]]) -> xr.Dataset:
    """The results of a group along ``point``.

    points: key and values of each.
    """
    calls = [_attempt(lambda key=key, x=x: arguments(task, key, x)) for key, x in points]
    results: list[Any] = list(calls)
    every = [number for number, call in enumerate(calls) if not isinstance(call, str)]
    for some in _together(task.verb, calls, every):
        for number, result in zip(some, _results(task, [calls[n] for n in some]), strict=True):
            results[number] = result
    return stacked(results)


def timed(task: Task, points: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[xr.Dataset, float]:
    """The same, and how many seconds it took."""
    begun = time.perf_counter()
    return computed(task, points), time.perf_counter() - begun


def arguments(task: Task, key: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Of the call at a point, with parts of the scenario in their place and a seed of its own."""
    own = _parameters_of(task.verb)
    given = {**task.fixed, **values}
    parts = {name: x for name, x in given.items() if name not in own and name in PARTS}
    call = {name: x for name, x in given.items() if name not in parts}
    if parts:
        call["scenario"] = with_parts(call["scenario"], parts)
    if task.seed is not None:
        call["seed"] = seed_of(task.seed, key)
    return call


@cache
def _parameters_of(verb: str) -> tuple[str, ...]:
    return tuple(inspect.signature(function(verb, "verb")).parameters)


def seed_of(seed: int, key: str) -> int:
    """A seed for a point from that of the study and the point's values, wherever it stands.

    >>> seed_of(0, '{"load": 1.0}') == seed_of(0, '{"load": 1.0}') != seed_of(0, '{"load": 2.0}')
    True
    """
    digest = np.frombuffer(hashlib.sha256(key.encode()).digest(), dtype=np.uint32)
    sequence = np.random.SeedSequence([seed, *digest.tolist()])
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def _attempt(work: Any) -> Any:
    """The result, or why there is none."""
    try:
        return work()
    except (ComputationError, InputError) as problem:
        return str(problem)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


def _together(verb: str, calls: Sequence[Any], numbers: Sequence[int]) -> list[list[int]]:
    """Which calls are one; those of other verbs are single ones."""
    if verb != "online.evolve":
        return [[number] for number in numbers]
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for number in numbers:
        alike[_kind(calls[number]) or number].append(number)
    return [
        some[first : first + size]
        for some in alike.values()
        for size in [_runs_at_once(calls[some[0]])]
        for first in range(0, len(some), size)
    ]


def _results(task: Task, calls: Sequence[dict[str, Any]]) -> list[Any]:
    """Of calls that go together; if that fails, of each alone."""

    def result(found: Any) -> Any:
        if task.keep is None and not isinstance(found, xr.Dataset | list | tuple):
            return _attempt(lambda: variables(found))
        return _attempt(lambda: kept(as_dataset(found), task.keep))

    if task.verb == "online.evolve" and _kind(calls[0]) is not None:
        found = _attempt(lambda: evolved(calls))
        if not isinstance(found, str):
            return [result(run) for run in found]
        if len(calls) > 1:
            return [one for call in calls for one in _results(task, [call])]
        return [found]
    (call,) = calls
    found = _attempt(lambda: function(task.verb, "verb")(**call))
    return [found if isinstance(found, str) else result(found)]


def _kind(call: Mapping[str, Any]) -> Hashable:
    """Equal for calls of `evolve` that differ in numbers only; None for one that has own runs."""
    import jax

    scenario, start = call["scenario"], call["start"]
    rates = {name: call[name] for name in RATES if name in call}
    own = scenario.leading or start.leading if isinstance(scenario, Scenario) else True
    if own or any(np.ndim(rate) for rate in rates.values()):
        return None
    others: dict[str, Any] = {
        name: id(x) if callable(x) else identity(x)
        for name, x in call.items()
        if name not in ("scenario", "start") and not _is_rate(rates.get(name))
    }
    rest = [identity(getattr(scenario, x)) for x in constructor(Scenario) if x not in JOINED]
    networks = [_unjoined(getattr(scenario, network)) for network in NETWORKS]
    texts = json.dumps([others, rest, networks], sort_keys=True)
    return jax.tree.structure(scenario), start.Q.shape, start.R.shape, texts


def _is_rate(value: Any) -> bool:
    """A number of which there may be one for each run: 0 is a limit, and a schedule is for all."""
    return isinstance(value, int | float) and value != 0


def _unjoined(committee: Committee) -> dict[str, Any]:
    """What of a network has to be the same in all runs of a call."""
    every = {name: identity(getattr(committee, name)) for name in constructor(Committee)}
    numbers = {field.name for field in _parameters(committee.activation)}
    unit = {name: x for name, x in every["activation"].items() if name not in numbers}
    weights = [] if committee.readout is None else committee.readout.shape
    return {**every, "activation": unit, "readout": weights}


def _runs_at_once(call: Mapping[str, Any]) -> int:
    from tutelage.averages.methods import Conditional, chosen
    from tutelage.online.flow import TOGETHER

    if not isinstance(call.get("scenario"), Scenario):
        return 1
    units = tuple(getattr(call["scenario"], network).activation for network in NETWORKS)
    found = _attempt(lambda: chosen(call.get("method"), units))
    return 1 if isinstance(found, Conditional | str) else TOGETHER


def evolved(calls: Sequence[Mapping[str, Any]]) -> list[xr.Dataset]:
    """Runs of `evolve` whose calls differ in numbers only."""
    from tutelage.online import evolve

    rates = {
        name: np.array([call[name] for call in calls], dtype=float)
        for name in RATES
        if _is_rate(calls[0].get(name))
    }
    scenario = _joined([call["scenario"] for call in calls])
    start = _starts([call["start"] for call in calls])
    runs = evolve(**{**calls[0], **rates, "scenario": scenario, "start": start})
    return [_of_run(runs, number) for number in range(len(calls))]


def _of_run(runs: xr.Dataset, number: int) -> xr.Dataset:
    """One of several runs, without the numbers by which it is found among them."""
    one = runs.isel(run=number, drop=True)
    return one.drop_vars([name for name in one.coords if name not in one.dims]).drop_dims(
        "teacher_2", errors="ignore"
    )


def _joined(scenarios: Sequence[Scenario]) -> Scenario:
    """One scenario with the numbers of all of them; T of each, so that it has runs in any case."""
    first = scenarios[0]
    given = {name: getattr(first, name) for name in constructor(Scenario)}
    for name in NAMES:
        given[name] = _numbers([getattr(scenario, name) for scenario in scenarios])
    for network in NETWORKS:
        given[network] = _committee([getattr(scenario, network) for scenario in scenarios])
    given["teacher_overlaps"] = np.stack([np.asarray(scenario.T) for scenario in scenarios])
    return Scenario(**given)


def _numbers(values: Sequence[Any]) -> Any:
    if isinstance(values[0], tuple):
        return tuple(_numbers(some) for some in zip(*values, strict=True))
    return np.array([float(x) for x in values])


def _committee(committees: Sequence[Committee]) -> Committee:
    """With one value of each parameter for each run."""
    first = committees[0]
    units = [committee.activation for committee in committees]
    fields = {
        field.name: [getattr(x, field.name) for x in units] for field in _parameters(units[0])
    }
    several = {name: np.array(x) for name, x in fields.items() if len(set(map(float, x))) > 1}
    given = {name: getattr(first, name) for name in constructor(Committee)}
    given["activation"] = dataclasses.replace(units[0], **several) if several else units[0]
    if first.readout is not None:
        given["readout"] = np.stack([np.asarray(committee.readout) for committee in committees])
    return Committee(**given)


def _parameters(activation: Any) -> list[Any]:
    """Fields that are numbers."""
    numbers = (float, int, np.ndarray)
    return [
        f
        for f in dataclasses.fields(activation)
        if isinstance(getattr(activation, f.name), numbers)
    ]


def _starts(starts: Sequence[Overlaps]) -> Overlaps:
    return Overlaps(*(np.stack([np.asarray(getattr(x, name)) for x in starts]) for name in "QRT"))

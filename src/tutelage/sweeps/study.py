"""A study: a function, the points at which it is computed, and the Dataset of all results."""

import inspect
import json
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import xarray as xr

from tutelage._arguments import fits, refuse, validated
from tutelage._checks import InputError, short_repr
from tutelage._findings import Finding
from tutelage._given import FileName
from tutelage._names import WORKERS, unknown_name_error
from tutelage.averages import Estimate
from tutelage.runs import files, program_store
from tutelage.runs.coordinates import array_variable
from tutelage.runs.progress import Progress
from tutelage.runs.provenance import attribute, recorded
from tutelage.runs.public_names import UNRECORDED, only_from_callers, public_function
from tutelage.runs.recompute import from_json
from tutelage.runs.seed import check_seed
from tutelage.sweeps import cluster, engine, store as stores
from tutelage.sweeps.code import versions
from tutelage.sweeps.combine import FAILURE, joined
from tutelage.sweeps.compute import Task
from tutelage.sweeps.groups import Group, Queue, shapes
from tutelage.sweeps.plan import Plan, planned
from tutelage.sweeps.points import (
    POINT,
    Points,
    count_of,
    identity,
    is_known,
    over_of,
    points_of,
    read,
)
from tutelage.sweeps.scenarios import PARTS
from tutelage.sweeps.selection import check_keep

NOT_COMPUTED = "not computed yet"
# A store is loaded if it has at most this many points for each finished one and for the first:
# every point takes about a kilobyte, and a manifest of a few lines can announce millions.
MAX_MISSING_POINTS = 50_000
RESULTS = (xr.Dataset, Finding, Estimate, float, np.ndarray)
# Packages whose functions save, draw and collect results.
ELSEWHERE = ("results", "sweeps", "figures", "papers")


def _mapping(dataset: xr.Dataset, name: str) -> dict[str, Any]:
    """Read an attribute that holds a mapping in JSON."""
    try:
        mapping = json.loads(dataset.attrs[name])
    except (KeyError, TypeError, ValueError, RecursionError):
        mapping = None
    if not isinstance(mapping, dict):
        allowed = f"a study has an attribute {name!r} that contains a JSON object"
        raise InputError("dataset", short_repr(dataset.attrs.get(name)), allowed)
    return mapping


def _function(dataset: xr.Dataset) -> Any:
    return public_function(str(dataset.attrs.get("function", "")), "function")


def _over(dataset: xr.Dataset) -> Any:
    over = _mapping(dataset, "over")
    check_from_file(_function(dataset), over.get("values", {}))
    return over_of(over)


def _fixed(dataset: xr.Dataset) -> Any:
    fixed = _mapping(dataset, "fixed")
    check_from_file(_function(dataset), fixed)
    # Convert values one at a time: as a whole, a mapping with a key "type" would be read as a
    # value.
    return {name: from_json(x, name, "sweeps.run") for name, x in fixed.items()}


def check_from_file(function: Any, arguments: Any) -> None:
    """Refuse recorded arguments that a file must not set: those of `run` itself, and file names of
    ``function``.
    """
    own = set(inspect.signature(run).parameters) - {"seed", "keep"}
    for name in sorted({*own, *only_from_callers(function)} & set(arguments)):
        allowed = f"a file cannot set {name}: only the caller of tl.sweeps.run can"
        raise InputError(
            name, short_repr(arguments[name]), allowed, f"tl.sweeps.run(..., {name}=...)"
        )


# Conversion of recorded arguments that are not plain attributes, for `recompute`. No file can set
# the store, the workers, or whether a study starts over.
FROM_VARIABLES: dict[str, Callable[[xr.Dataset], Any]] = {
    "function": _function,
    "over": _over,
    "fixed": _fixed,
    "store": lambda _: None,
    "workers": lambda _: 1,
    "retry": lambda _: False,
    "start_over": lambda _: False,
}


@recorded(from_variables=FROM_VARIABLES)
def run(
    function: Callable[..., Any],
    over: object,
    *,
    store: Path | None = None,
    keep: object = None,
    workers: int | str | None = None,
    seed: int = 0,
    retry: bool = False,
    start_over: bool = False,
    progress: bool = False,
    **fixed: object,
) -> xr.Dataset:
    """Compute a public function at many points, and put the results into one Dataset.

    Args:
        function: a public function that returns a Dataset, findings or numbers, such as
            ``tl.online.evolve``.
        over: values of its arguments: a mapping of lists, every combination of which is a point;
            or a table with a point in each row, a pandas DataFrame or `zipped`.  Parts of a
            scenario go by their names, too: ``weight_decay``, ``label_noise``, ``drift``,
            ``output_scale``, ``teacher_overlaps``, and ``activation`` and ``units`` of both
            networks, or ``student_units``, ``teacher_activation`` of one.
        store: a folder for finished points.  The same call continues from it, and a call with
            another grid uses its points.
        keep: the stored part of each result: None for everything, names of variables, or `last`.
        workers: processes that compute; None for one on each core of this machine, 1 for this
            process alone, or the address of a Dask scheduler, ``"tcp://HOST:PORT"``.
        seed: of a function that draws random numbers: the seed of each point is made from this
            one and the values of the point.
        retry: whether points that failed are tried again.
        start_over: whether to compute all points again; the existing store is renamed.
        progress: whether to print progress and remaining time.
        fixed: the arguments that are the same at all points.

    Returns:
        A Dataset whose first dimensions are the swept arguments, or ``point`` for a table.
        Values that are neither numbers nor text nor activations are counted from 0.  Findings have
        a variable for each field, with ``_error`` and ``_reason``; several findings are along
        ``number``.  ``failure`` is the reason why a point has no result, and "" where it has one;
        its numbers are missing (NaN).  So are those that a result does not have because it is
        shorter or smaller than others.

    The result of a point depends on its values alone, bit for bit: not on other points, the number
    of workers, or interruptions.

    Raises:
        InputError: if an argument cannot be used, or if the store holds points that were computed
            otherwise.

    >>> import tutelage as tl
    >>> two = tl.Committee(2, tl.Erf())
    >>> scenario = tl.Scenario(two, two)
    >>> errors = run(
    ...     tl.generalization_error,
    ...     over={"activation": [tl.Erf(), tl.ReLU()], "label_noise": [0.0, 0.1]},
    ...     scenario=scenario,
    ...     overlaps=tl.Overlaps(Q=0.25 * np.eye(2), R=np.zeros((2, 2)), T=np.eye(2)),
    ...     workers=1,
    ... )
    >>> errors["value"].dims, errors["activation"].values.tolist()
    (('activation', 'label_noise'), ['Erf', 'ReLU'])
    """
    task, points = _prepared(function, over, keep, seed, store, fixed)
    cluster.check_workers("workers", workers, "workers=2")
    folder = None if store is None else _folder(store, start_over)
    with ExitStack() as stack:
        if folder is not None:
            stack.enter_context(files.locked("store", folder))
        groups, places = _computed(task, points, folder, retry, workers, progress)
    return _arranged(points, groups, places).assign_attrs(
        function=task.function,
        over=json.dumps(points.written()),
        fixed=json.dumps(identity(dict(fixed))),
    )


def plan(
    function: Any,
    over: object,
    *,
    keep: object,
    seed: int,
    store: Path | None = None,
    **fixed: object,
) -> Plan:
    """Estimate the cost of `run` by computing the first points; nothing is written."""
    task, points = _prepared(function, over, keep, seed, store, fixed)
    finished: Mapping[str, Any] = {}
    if store is not None and Path(store).is_dir():
        finished = _read_only(Path(store), task, points).finished(retry=False)
    missing = [number for number, key in enumerate(points.keys()) if key not in finished]
    return planned(task, points, missing, _least(task))


def _read_only(folder: Path, task: Task, points: Points) -> stores.Store:
    return stores.Store(folder, _identity(task, points), put_aside=False)


def _prepared(
    function: Any,
    over: object,
    keep: object,
    seed: int,
    store: FileName | None,
    fixed: Mapping[str, object],
) -> tuple[Task, Points]:
    """Return task and points, after all checks that need no computation."""
    points = points_of(over)
    name = public_name(function)
    _check_arguments(function, name, points, fixed)
    check_keep(keep)
    check_seed(seed)
    if store is not None:
        _check_known(points, fixed)
    return Task(name, dict(fixed), keep, seed if _draws(function, points, fixed) else None), points


def _least(task: Task) -> int:
    """Return the smallest number of points that are computed together."""
    from tutelage.online.flow import SWEEP_LANES

    return SWEEP_LANES if task.function == "online.evolve" else 1


@validated
def load(store: Path) -> xr.Dataset:
    """Load the points of the last run of a store; unfinished points are missing (NaN).

    Args:
        store: the folder that `run` was given.
    """
    folder = Path(store)
    manifest = stores.manifest_of(folder) if folder.is_dir() else None
    if manifest is None:
        raise InputError("store", repr(str(store)), "there is no study in it", 'store="study"')
    groups = list(stores.groups(folder, put_aside=False))
    places = {
        key: (n, i) for n, group in enumerate(groups) for i, key in enumerate(stores.keys(group))
    }
    count = count_of(manifest["points"])
    if count > MAX_MISSING_POINTS * (1 + len(places)):
        allowed = f"it has {len(places)} of {count} points, too few to show"
        raise InputError("store", repr(str(store)), allowed, "tl.sweeps.run(..., store=...)")
    points = read(manifest["points"])
    attrs = {name: attribute(value) for name, value in manifest["identity"].items()}
    written = json.dumps(points.written())
    try:
        return _arranged(points, groups, places).assign_attrs(attrs, over=written)
    except (ValueError, TypeError, LookupError) as problem:
        allowed = f"its groups do not fit together ({problem})"
        raise InputError("store", repr(str(store)), allowed, stores.HINT) from problem


def _computed(
    task: Task, points: Points, folder: Path | None, retry: bool, workers: Any, progress: bool
) -> tuple[list[xr.Dataset], dict[str, tuple[int, int]]]:
    """Compute all points; return groups, and group and position of each point."""
    keys = points.keys()
    store = None
    groups: list[xr.Dataset] = []
    places: dict[str, tuple[int, int]] = {}
    if folder is not None:
        store = stores.Store(folder, _identity(task, points), put_aside=True)
        groups, places = store.groups, store.finished(retry)
        store.begin(points.written())
    first = {key: number for number, key in reversed(list(enumerate(keys)))}
    missing = [number for key, number in first.items() if key not in places]
    count = cluster.cores() if workers is None else workers
    stored = isinstance(count, int) and program_store.is_on()
    queue = Queue(sorted(missing), shapes(points), _least(task), stored=stored)

    def values(group: Group) -> list[tuple[str, dict[str, Any]]]:
        return [(keys[number], points.at(number)) for number in group.numbers]

    with Progress(progress, len(first), "points", per_second=True) as bar:
        bar.start_from(len(first) - len(missing))
        failed = 0
        for group, result in engine.finished(task, queue, values, count):
            names = [keys[number] for number in group.numbers]
            if store is not None:
                store.add(result, names)
            else:
                groups.append(result)
            places |= {key: (len(groups) - 1, place) for place, key in enumerate(names)}
            failed += sum(map(bool, stores.failures(result)))
            if failed:
                bar.rename(f"points, {failed} failed")
            bar.add(len(names))
    _say_failures(points, groups, [places[key] for key in keys])
    return groups, places


def _say_failures(points: Points, groups: list[xr.Dataset], places: list[tuple[int, int]]) -> None:
    """Warn about failed points, with the reason of the first."""
    every = [stores.failures(group) for group in groups]
    failed = [number for number, (group, place) in enumerate(places) if every[group][place]]
    if failed:
        group, place = places[failed[0]]
        where = ", ".join(f"{name} = {short_repr(x)}" for name, x in points.at(failed[0]).items())
        warnings.warn(
            f"{len(failed)} of {len(points)} points failed; the variable failure says why. "
            f"The first, at {where}: {every[group][place]}",
            stacklevel=4,
        )


def _arranged(
    points: Points, groups: list[xr.Dataset], places: Mapping[str, tuple[int, int]]
) -> xr.Dataset:
    """Return all results in the order of the study, with the dimensions of a grid."""
    nothing = xr.Dataset({FAILURE: array_variable((POINT,), np.array([NOT_COMPUTED]))})
    blocks = [*(group.drop_vars(POINT, errors="ignore") for group in groups), nothing]
    keys = points.keys()
    missing = (len(groups), 0)
    used = sorted({places.get(key, missing)[0] for key in keys})
    begins = np.cumsum([0, *(blocks[n].sizes[POINT] for n in used)])
    begin = dict(zip(used, begins.tolist(), strict=False))
    order = [begin[n] + place for n, place in (places.get(key, missing) for key in keys)]
    table = joined([blocks[n] for n in used]).isel({POINT: order})
    return _as_grid(_renamed(table, points), points).assign_coords(points.coordinates())


def _renamed(table: xr.Dataset, points: Points) -> xr.Dataset:
    """Rename variables of the result that have the name of a swept argument."""
    return table.rename(
        {n: f"result_{n}" for n in points.values if n in {*table.variables, *table.dims}}
    )


def _as_grid(table: xr.Dataset, points: Points) -> xr.Dataset:
    if not points.shape:
        return table
    variables = {
        name: array_variable(
            (*points.dims, *x.dims[1:]), x.values.reshape(*points.shape, *x.shape[1:]), x.attrs
        )
        for name, x in table.data_vars.items()
    }
    return xr.Dataset(variables, table.coords)


def _identity(task: Task, points: Points) -> dict[str, Any]:
    """Return everything that has to be equal for points of a store to be reused."""
    signature = inspect.signature(public_function(task.function, "function"))
    defaults = {n: p.default for n, p in signature.parameters.items() if p.default is not p.empty}
    left_out = {*UNRECORDED, *points.values, "seed" if task.seed is not None else ""}
    fixed = {n: x for n, x in {**defaults, **task.fixed}.items() if n not in left_out}
    return {
        "function": task.function,
        "fixed": identity(fixed),
        "keep": identity(task.keep),
        "seed": task.seed,
        "versions": versions(task.function),
    }


def public_name(function: Any) -> str:
    """Return the name of a public function, such as ``online.evolve``."""
    from importlib import import_module

    parts = str(getattr(function, "__module__", "")).split(".")
    name = getattr(function, "__name__", "")
    if parts[0] == "tutelage" and inspect.isfunction(function):
        for count in range(len(parts), 0, -1):
            room = import_module(".".join(parts[:count]))
            if name in getattr(room, "__all__", ()) and getattr(room, name) is function:
                return ".".join([*parts[1:count], name])
    allowed = "it has to be a public function of the package"
    raise InputError("function", short_repr(function), allowed, "tl.online.evolve")


def _check_arguments(function: Any, name: str, points: Points, fixed: Mapping[str, object]) -> None:
    """Check names and types of all arguments, before any work."""
    own = {n: p for n, p in inspect.signature(function).parameters.items() if n not in UNRECORDED}
    kinds = get_type_hints(function)
    _check_result(name, kinds.get("return"))
    twice = sorted(set(fixed) & set(points.values))
    if twice:
        raise InputError(
            twice[0], "a single value, or a list in `over`", "it is fixed or swept, not both"
        )
    parts = PARTS if "scenario" in own else ()
    for argument in (*points.values, *fixed):
        if argument not in own and argument not in parts:
            received = f"an argument that {name} does not have"
            available = [*own, *(part for part in parts if part not in own)]
            if argument in WORKERS:
                allowed = "processes and clusters are given by workers="
                raise InputError(argument, received, allowed, WORKERS[argument])
            raise unknown_name_error(
                argument, received, available, f"there is {', '.join(available)}"
            )
    needed = [n for n, p in own.items() if p.default is p.empty]
    for argument in needed:
        if argument not in fixed and argument not in points.values:
            raise InputError(argument, "nothing", f"{name} needs {', '.join(needed)}")
    for argument, values in {**{n: [x] for n, x in fixed.items()}, **points.values}.items():
        for value in values:
            if not fits(value, kinds.get(argument, Any)):
                refuse(argument, value, kinds[argument])


def _check_result(name: str, kind: Any) -> None:
    """Refuse a function whose result is neither a Dataset nor findings, estimates, numbers or
    arrays.
    """
    if not _is_result(kind) or name.partition(".")[0] in ELSEWHERE:
        allowed = "it has to compute a Dataset, a finding or a number"
        raise InputError("function", f"tl.{name}", allowed, "tl.online.evolve")


def _is_result(kind: Any, known: tuple[type, ...] = RESULTS) -> bool:
    """Return whether a sweep can store results of an annotated type, for a union all its types."""
    if get_origin(kind) in (list, tuple):
        return _is_result((*get_args(kind), None)[0], (Finding,))
    if isinstance(kind, UnionType) or get_origin(kind) is Union:
        return all(_is_result(part, known) for part in get_args(kind))
    return kind is Any or hasattr(kind, "array_type") or _is_class_of(kind, known)


def _is_class_of(kind: Any, known: tuple[type, ...]) -> bool:
    return isinstance(kind, type) and issubclass(kind, known)


def _draws(function: Any, points: Points, fixed: Mapping[str, object]) -> bool:
    """Return whether each point needs a seed."""
    return "seed" in inspect.signature(function).parameters and "seed" not in points.values


def _folder(store: FileName, start_over: bool) -> Path:
    """Return the folder of the store, created if it is missing."""
    folder = Path(store)
    if start_over:
        stores.put_aside(folder)
    return files.check_folder("store", folder, 'store="study"')


def _check_known(points: Points, fixed: Mapping[str, object]) -> None:
    """Refuse values that a store cannot distinguish, such as functions."""
    for name, values in {**{n: [x] for n, x in fixed.items()}, **points.values}.items():
        if not all(is_known(identity(x)) for x in values):
            allowed = "a store cannot distinguish functions of the same name"
            raise InputError(name, "a function", allowed, "store=None")

"""Relabel units, so that runs with different pairings of students and teachers can be averaged.

The law of learning does not change when students are exchanged with their second-layer weights, nor
when teachers with the same overlaps and weights are; a run and its relabelled copy are the same
run.  Students whose second layer does not learn are exchanged if their weights in it are equal.
"""

import json
import math
from collections.abc import Container, Hashable
from itertools import permutations
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage._checks import ComputationError, InputError
from tutelage.model.layout import BLOCKS, Block
from tutelage.runs.provenance import recorded
from tutelage.simulation.statistics import check_runs, problem

MOST_RELABELLINGS = 20_000  # five students with five equal teachers have 14,400


# Blocks of a state at the first and the last time of a run, by name, shapes (2, ...).
_Ends = dict[str, np.ndarray]


@recorded
def aligned(runs: xr.Dataset, reference: xr.Dataset | None = None) -> xr.Dataset:
    """Relabel students, and exchangeable teachers, so that every run ends as the reference does.

    Of all relabellings (π, ρ) with T_ρ(n)ρ(m) = T_nm each run takes the one that makes

        Σ_ik (Q_π(i)π(k) - Q_ik^ref)² + Σ_in (R_π(i)ρ(n) - R_in^ref)² + Σ_ci (v_cπ(i) - v_ci^ref)²

    smallest, with v if it has learned, summed over the last time and the first.  The end decides;
    the first time decides between relabellings with equal ends, and distinguishes students that
    start with different norms.

    Units that are odd, g(-x) = -g(x), and learn in both layers have one more symmetry: J_i → -J_i
    with v_i → -v_i.  Signs are not changed: a run may end with other signs than the reference.

    Args:
        runs: from `tutelage.simulation.chain` or `network`.
        reference: one run, such as the theory; by default the first that has not diverged.

    Returns:
        The runs, relabelled, with ``student_order`` and ``teacher_order``: the number that each
        unit had before.  A run that has diverged is relabelled by its last state.

    >>> import numpy as np, xarray as xr
    >>> R = np.array([[[[1.0, 0.0], [0.0, 1.0]]], [[[0.0, 1.0], [1.0, 0.0]]]])  # units swapped
    >>> Q = np.tile(np.diag([1.0, 1.1]), (2, 1, 1, 1))
    >>> dims = ("run", "time", "student")
    >>> runs = xr.Dataset({"Q": ((*dims, "student_2"), Q), "R": ((*dims, "teacher"), R)})
    >>> runs["generalization_error"] = ("run", "time"), np.zeros((2, 1))
    >>> runs.attrs["scenario"] = '{"teacher_overlaps": [[1, 0], [0, 1]]}'
    >>> aligned(runs)["teacher_order"].values.tolist()
    [[1, 2], [2, 1]]
    """
    check_runs("runs", runs)
    students, teachers = _relabellings(runs)
    target = _reference(runs, reference)
    states = _states(runs, runs)
    each = [{name: x[run] for name, x in states.items()} for run in range(runs.sizes["run"])]
    closest = [_closest(_ends(run), target, students, teachers) for run in each]
    student, teacher = (np.stack(order) for order in zip(*closest, strict=True))
    orders = {"student": student, "student_2": student, "teacher": teacher}
    variables = {name: _relabelled(x, orders) for name, x in runs.data_vars.items()}
    return xr.Dataset(variables, runs.coords, problem(runs)).assign(
        student_order=(("run", "student"), student + 1),
        teacher_order=(("run", "teacher"), teacher + 1),
    )


def _relabelled(x: xr.DataArray, orders: dict[str, np.ndarray]) -> xr.DataArray:
    """Return an observable of every run with its units reordered; orders of shape (runs, units)."""
    if "run" not in x.dims:
        return x
    x = x.transpose("run", ...)
    for dim in orders.keys() & set(x.dims):
        axis = x.get_axis_num(dim)
        index = np.expand_dims(orders[dim], [a for a in range(1, x.ndim) if a != axis])
        x = x.copy(data=np.take_along_axis(x.values, index, axis))
    return x


def _closest(
    ends: _Ends, target: _Ends, students: np.ndarray, teachers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the relabelling with the smallest distance; the identity wins ties."""
    distances = np.zeros((len(teachers), len(students)))
    for number, teacher in enumerate(teachers):
        orders = {"student": students, "student_2": students, "teacher": teacher[None]}
        for block in (block for block in BLOCKS if block.name in ends):
            distances[number] += _squares(ends[block.name], target[block.name], block, orders)
    teacher, student = np.unravel_index(np.argmin(distances), distances.shape)
    return students[student], teachers[teacher]


def _squares(
    x: np.ndarray, y: np.ndarray, block: Block, orders: dict[str, np.ndarray]
) -> Float[np.ndarray, " orders"]:
    """Return the squared distance of a block from another, for every order of its units."""
    axes = range(len(block.dimensions))
    index: Any = [
        np.expand_dims(orders.get(name, np.arange(size)[None]), [1 + a for a in axes if a != axis])
        for axis, (name, size) in enumerate(zip(block.dimensions, x.shape[1:], strict=True))
    ]
    return np.sum((x[(slice(None), *index)] - y[:, None]) ** 2, axis=(0, *(2 + a for a in axes)))


def _ends(state: dict[str, np.ndarray]) -> _Ends:
    present = np.flatnonzero(np.all(np.isfinite(state["R"]), axis=(1, 2)))
    which = present[[0, -1]] if len(present) else [0, -1]
    return {name: x[which] for name, x in state.items()}


def _states(dataset: xr.Dataset, names: Container[Hashable]) -> dict[str, np.ndarray]:
    """Return the blocks of these names, with the axes run (if any), time, and units."""
    blocks = [block for block in BLOCKS if block.name in names]
    return {b.name: dataset[b.name].transpose(..., "time", *b.dimensions).values for b in blocks}


def _reference(runs: xr.Dataset, reference: xr.Dataset | None) -> _Ends:
    if reference is None:
        is_finite = runs["generalization_error"].isel(time=-1).notnull().values
        reference = runs.isel(run=int(np.argmax(is_finite)))
    units = ("student", "teacher", "output")
    sizes = {name: runs.sizes[name] for name in units if name in runs.sizes}
    one = isinstance(reference, xr.Dataset) and "run" not in reference.dims
    complete = one and all(b.name in reference for b in BLOCKS if b.name in runs)
    if not complete or any(reference.sizes.get(n) != size for n, size in sizes.items()):
        raise InputError(
            "reference",
            type(reference).__name__,
            f"it has to be one run with {sizes}",
            "the theory",
        )
    return _ends(_states(reference, runs))


def _scenario(runs: xr.Dataset) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return T and the second layers of students and teachers, shapes (outputs, units)."""
    try:
        scenario = json.loads(runs.attrs["scenario"])
        T = np.array(scenario["teacher_overlaps"], dtype=float)
        units = {name: runs.sizes[name] for name in ("student", "teacher")}
        readouts = {name: scenario.get(name, {}).get("readout") for name in units}
        layers = [np.ones((1, units[n])) if v is None else np.array(v) for n, v in readouts.items()]
        return T, layers
    except (KeyError, ValueError):
        raise InputError(
            "runs",
            "no attribute 'scenario'",
            "the scenario says which teachers are equivalent",
            "a simulation",
        ) from None


def _relabellings(runs: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the orders of students and teachers that leave T and fixed second layers unchanged."""
    K, (T, (v, teacher_v)) = runs.sizes["student"], _scenario(runs)
    if math.factorial(max(K, len(T))) <= MOST_RELABELLINGS:
        students, teachers = (np.array(list(permutations(range(n)))) for n in (K, len(T)))
        same = T[teachers[:, :, None], teachers[:, None, :]] == T
        teachers = _readout_symmetries(teacher_v, teachers[np.all(same, axis=(1, 2))])
        students = students if "readout" in runs else _readout_symmetries(v, students)
        if len(students) * len(teachers) <= MOST_RELABELLINGS:
            return students, teachers
    raise ComputationError(
        "runs",
        f"{K} students and {len(T)} teachers have more than {MOST_RELABELLINGS} relabellings",
        "this is too many to try all",
        "at most 5 students with 5 equal teachers",
    )


def _readout_symmetries(v: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Return the orders of units that leave v_ci unchanged."""
    return orders[np.all(v[:, orders] == v[:, None], axis=(0, 2))]

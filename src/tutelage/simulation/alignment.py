"""Which unit takes which teacher is random: relabel units, so that runs can be averaged.

The law of learning does not change when students are exchanged, nor when teachers with the same
overlaps are; a run and its relabelled copy are the same run.
"""

import json
import math
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage.runs.provenance import recorded
from tutelage.simulation.statistics import check_runs, problem

MOST_RELABELLINGS = 20_000  # five students with five equal teachers have 14,400


class _Ends(NamedTuple):
    """Q, shape (2, K, K), and R, shape (2, K, M), at the first and the last time of a run."""

    Q: np.ndarray
    R: np.ndarray


@recorded
def aligned(runs: xr.Dataset, reference: xr.Dataset | None = None) -> xr.Dataset:
    """Relabel students, and exchangeable teachers, so that every run ends as the reference does.

    Of all relabellings (π, ρ) with T_ρ(n)ρ(m) = T_nm each run takes the one that makes

        Σ_ik (Q_π(i)π(k) - Q_ik^ref)² + Σ_in (R_π(i)ρ(n) - R_in^ref)²

    smallest, summed over the last time and the first.  The end decides; the first time decides
    between relabellings that end alike, and keeps students apart that start with different norms.

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
    students, teachers = _relabellings(runs.sizes["student"], _teacher_overlaps(runs))
    target = _reference(runs, reference)
    Q, R = (runs[name].transpose("run", "time", "student", ...).values for name in "QR")
    closest = [_closest(_ends(q, r), target, students, teachers) for q, r in zip(Q, R, strict=True)]
    student, teacher = (np.stack(order) for order in zip(*closest, strict=True))
    orders = {"student": student, "student_2": student, "teacher": teacher}
    variables = {name: _relabelled(x, orders) for name, x in runs.data_vars.items()}
    return xr.Dataset(variables, runs.coords, problem(runs)).assign(
        student_order=(("run", "student"), student + 1),
        teacher_order=(("run", "teacher"), teacher + 1),
    )


def _relabelled(x: xr.DataArray, orders: dict[str, np.ndarray]) -> xr.DataArray:
    """An observable of every run with its units in other orders, of shape (runs, units)."""
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
    """The relabelling with the smallest distance; the identity is tried first and wins ties."""
    Q = np.stack([q[students[:, :, None], students[:, None, :]] for q in ends.Q])
    from_Q = np.sum((Q - target.Q[:, None]) ** 2, axis=(0, 2, 3))
    distances = []
    for t in teachers:
        R = ends.R[:, students][..., t]
        distances.append(from_Q + np.sum((R - target.R[:, None]) ** 2, axis=(0, 2, 3)))
    teacher, student = np.unravel_index(np.argmin(distances), (len(teachers), len(students)))
    return students[student], teachers[teacher]


def _ends(Q: np.ndarray, R: np.ndarray) -> _Ends:
    present = np.flatnonzero(np.all(np.isfinite(R), axis=(1, 2)))
    which = present[[0, -1]] if len(present) else [0, -1]
    return _Ends(Q[which], R[which])


def _reference(runs: xr.Dataset, reference: Any) -> _Ends:
    if reference is None:
        there = runs["generalization_error"].isel(time=-1).notnull().values
        reference = runs.isel(run=int(np.argmax(there)))
    sizes = {name: runs.sizes[name] for name in ("student", "teacher")}
    one = isinstance(reference, xr.Dataset) and "run" not in reference.dims
    if not one or any(reference.sizes.get(name) != size for name, size in sizes.items()):
        raise InputError(
            "reference",
            type(reference).__name__,
            f"it has to be one run with {sizes}",
            "the theory",
        )
    return _ends(*(reference[name].transpose("time", "student", ...).values for name in "QR"))


def _teacher_overlaps(runs: xr.Dataset) -> np.ndarray:
    try:
        return np.array(json.loads(runs.attrs["scenario"])["teacher_overlaps"], dtype=float)
    except (KeyError, ValueError):
        raise InputError(
            "runs", "no attribute 'scenario'", "it says which teachers are alike", "a simulation"
        ) from None


def _relabellings(K: int, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All orders of the students, and those of the teachers that leave T as it is."""
    counts = [math.factorial(K), math.factorial(len(T))]
    if max(counts) <= MOST_RELABELLINGS:
        students, teachers = (np.array(list(permutations(range(n)))) for n in (K, len(T)))
        same = T[teachers[:, :, None], teachers[:, None, :]] == T
        teachers = teachers[np.all(same, axis=(1, 2))]
        counts[1] = len(teachers)
        if counts[0] * counts[1] <= MOST_RELABELLINGS:
            return students, teachers
    raise InputError(
        "runs",
        f"{K} students and {len(T)} teachers",
        f"more than {MOST_RELABELLINGS} relabellings cannot be tried",
        "at most 5 students with 5 equal teachers",
    )

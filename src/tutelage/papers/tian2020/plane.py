"""Figure 2 of tian2020: convergence of students in the plane, as a picture and as an animation."""

import math
from collections.abc import Iterator

import numpy as np
import xarray as xr

from tutelage import deep
from tutelage.figures.style import new_grid
from tutelage.papers.row import Row, not_comparable, with_note
from tutelage.papers.section import Figure
from tutelage.papers.sequential import sequential_claim
from tutelage.papers.tian2020 import KEY, descents, notes
from tutelage.papers.tian2020.drawing import at, boundaries, boundary_animation

MAX_STAGES = 3  # 12, 24 and 48 starts
LEGENDS = {  # by iteration
    0: "0.03, 0.04, 0.04, 0.04, 0.04, 0.03",
    2: "1.73, 0.78, 0.24, 0.18, 2.12, 1.78",
    10: "2.27, 0.67, 0.01, 0.01, 2.19, 1.83",
    29: "2.27, 0.66, 0.01, 0.00, 2.19, 1.83",
}


def plane() -> Iterator[Row | Figure]:
    """Draw Figure 2: boundaries of two teacher and six student nodes in two dimensions."""
    teachers, paths, every = descents.plane()
    picture, axes = new_grid(1, 4, (14, 3.6))
    for ax, record in zip(axes, LEGENDS, strict=True):
        boundaries(at(paths[0], record), teachers[0], axes=ax)
        ax.set_title(f"Iteration {record}")
    film = boundary_animation(paths[0], teachers[0], every)
    yield Figure(picture, {"": _path(paths[0], teachers[0], every)}, film=film)
    _, left = _unaligned(teachers, paths)
    item = "Fig. 2, ‖v_k‖ of unaligned nodes at the end over the start, logarithm"
    row = sequential_claim(KEY, item, _shrunk, "<", 0.0, runs=descents.STARTS, stages=MAX_STAGES)
    yield with_note(row, notes.PLANE)
    why = "Teacher, start, data and learning rate of the figure are not stated; ours are others."
    yield not_comparable(
        KEY, "Fig. 2, ‖v_k‖ of unaligned nodes at iteration 29", "0.01 and 0.00", left, why
    )
    norms = np.linalg.norm(np.asarray(paths[0].weights[1]), axis=2)
    for iteration, legend in LEGENDS.items():
        item = f"Fig. 2, ‖v_k‖ of the six nodes at iteration {iteration}, the largest"
        yield not_comparable(KEY, item, legend, float(norms[iteration].max()), why)


def _shrunk(first: int, starts: int) -> np.ndarray:
    """Return ln of shrinkage for the starts with these indices, if they have an unaligned node."""
    return np.log(_unaligned(*descents.plane(first, starts)[:2])[0])


def _path(path: deep.Network, teacher: deep.Network, every: int) -> xr.Dataset:
    """Return filters, biases and norms of fan-outs along a path."""
    W, b = np.asarray(path.weights[0]), np.asarray(path.biases[0])
    return xr.Dataset(
        {
            "weights": (("record", "input", "student"), W),
            "biases": (("record", "student"), b),
            "fan_out": (("record", "student"), np.linalg.norm(path.weights[1], axis=2)),
            "teacher_weights": (("input", "teacher"), np.asarray(teacher.weights[0])),
            "teacher_biases": (("teacher",), np.asarray(teacher.biases[0])),
        },
        coords={"record": every * np.arange(len(b))},
    )


def _unaligned(teachers: list[deep.Network], paths: list[deep.Network]) -> tuple[list, float]:
    """Return norms of fan-outs of nodes 0.2 or more from all teacher filters: end over start, and
    end.
    """
    ratios, ends = [], []
    for teacher, path in zip(teachers, paths, strict=True):
        W, T = np.asarray(path.weights[0][-1]), np.asarray(teacher.weights[0])
        cosines = (W / np.linalg.norm(W, axis=0)).T @ T
        free = cosines.max(axis=1) < math.cos(0.2)
        first, last = (np.linalg.norm(path.weights[1][i], axis=1)[free] for i in (0, -1))
        if free.any():
            ratios.append(float(last.mean() / first.mean()))
            ends.append(float(last.mean()))
    return ratios, float(np.mean(ends))

"""Beyond the papers: the plateau with a second layer that learns.

oostwal2019 names adaptive second layers as the next step; straat2019 and citton2025 fix them.
In the limit η → 0 the unspecialized saddle of two students keeps its error when v learns, at the
rate η_v = κη; there is a family of it, and v is where it happens to be when the plateau begins.
What depends on v is the rate at which the plateau is left: students separate such that outputs
hardly change, each at a different rate.

`tutelage.online.stationary.escape` has the laws of λ in v.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr

from tutelage import online
from tutelage.activations import Activation, Erf, ReLU
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.online import Flow
from tutelage.online.stationary.escape import erf_readout_factor, relu_readout_factor
from tutelage.online.stationary.plateaus import LONGEST, saddle
from tutelage.online.steps import steps
from tutelage.papers.beyond.drawing_online import (
    escape_eigenvalues,
    lengths_of_plateaus,
    side_by_side,
)
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

LAWS = {Erf(): erf_readout_factor, ReLU(): relu_readout_factor}
UNITS: tuple[Activation, ...] = tuple(LAWS)
RATIOS = np.array([0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0])
FULL_RATIOS = np.geomspace(0.03, 10.0, 31)
PRINTED_RATIOS = (1.0, 10.0)
START = Overlaps(Q=np.diag([0.2, 0.3]), R=1e-3 * np.eye(2), T=np.eye(2))
NOTE = (
    "K = M = 2, T = 1, η → 0, from Q = diag(0.2, 0.3), R_in = 10⁻³ δ_in, v = v* = 1. The papers "
    "have fixed second layers. Time is αη; a plateau lasts while the error is within a tenth of "
    "that of its saddle. Second route: the growth of R_11 - R_12 along a run, and simulated runs "
    "(tests/papers/test_beyond_readouts.py)."
)

FAMILY_NOTE = (
    "With a second layer that learns the saddles are a family, and λ differs from one to the "
    "other. This is λ of the saddle nearest to the run where ε_g changes most slowly; the error "
    "covers those nearest to the run after a quarter and after half of the plateau."
)
PARTS_OF_PLATEAU = (0.25, 0.5)


def compute(full: bool) -> Iterator[Row | Figure]:
    """Compute lengths and eigenvalues over the ratio of the rates."""
    data = plateaus(tuple(FULL_RATIOS if full else RATIOS))
    yield side_by_side(data, lengths_of_plateaus, escape_eigenvalues)
    for g in UNITS:
        for ratio in (0.0, *PRINTED_RATIOS):
            one = of_one(g, ratio)
            layer = f"η_v = {ratio:g} η" if ratio else "fixed second layer"
            item = f"{_name(g)}, K = M = 2, {layer}: "
            yield unpublished(
                f"{item}length αη of the plateau", one["length"], one["length_error"], NOTE
            )
            error = one["growth_error"] + (spread(g, ratio) if ratio else 0.0)
            note = f"{NOTE} {FAMILY_NOTE}" if ratio else NOTE
            yield unpublished(
                f"{item}eigenvalue λ/η with which it is left", one["growth"], error, note
            )


def problem(g: Activation) -> Scenario:
    """Return the scenario: two students of two teachers, all with v = 1."""
    two = Committee(2, g, [1.0, 1.0])
    return Scenario(two, two)


@cache
def of_one(g: Activation, ratio: float) -> dict[str, float]:
    """Return length and eigenvalue with their errors, the height, and v at the saddle."""
    plateau = online.plateau(problem(g), START, 0, readout_rate=ratio)
    assert plateau.point and plateau.height and plateau.length  # all of these units have a plateau
    growth = float(plateau.point.eigenvalues[0].real)
    flow = Flow(problem(g), readout_rate=ratio)
    coarse = saddle(flow, steps(flow, flow.vector(START), 0.0, LONGEST, tolerance=1e-8), 0.0)
    assert coarse
    # λ depends on the place in the family; where students are identical, half of the digits are
    # lost.
    moved = abs(float(coarse.eigenvalues[0].real) - growth)
    v = plateau.point.readout[0]
    return {
        "length": float(plateau.length.value),
        "length_error": float(plateau.length.error),
        "growth": growth,
        "growth_error": moved + float(np.sqrt(plateau.point.residual)) + 1e-10,
        "height": float(plateau.height.value),
        "v_1": float(v[0]),
        "v_2": float(v[1]),
    }


@cache
def spread(g: Activation, ratio: float) -> float:
    """Return the largest difference between λ at other saddles along the run and that
    of `of_one`.
    """
    plateau = online.plateau(problem(g), START, 0, readout_rate=ratio)
    assert plateau.point and plateau.begins is not None and plateau.ends is not None
    times = [plateau.begins + part * (plateau.ends - plateau.begins) for part in PARTS_OF_PLATEAU]
    run = online.evolve(problem(g), START, 0, readout_rate=ratio, until=times[-1], times=times)
    growth = float(plateau.point.eigenvalues[0].real)
    distances = []
    for i in range(len(times)):
        at = run.isel(time=i)
        # A run is accurate to its tolerance, 1e-9 per step.
        state = Overlaps(Q=at["Q"].values, R=at["R"].values, T=np.eye(2), rounding=1e-7)
        students = Committee(2, g, at["readout"].values.ravel())
        scenario = Scenario(students, Committee(2, g, [1.0, 1.0]))
        point = online.fixed_point(scenario, state, 0, readout_rate=ratio)
        distances.append(abs(float(point.eigenvalues[0].real) - growth))
    return max(distances)


@cache
def plateaus(ratios: tuple[float, ...]) -> xr.Dataset:
    """Tabulate lengths and eigenvalues over units and ratios, and those of a fixed second layer."""
    over, kinds = ("unit", "ratio"), ("length", "growth", "height", "v_1", "v_2")
    rows = [[of_one(g, float(ratio)) for ratio in ratios] for g in UNITS]
    values = {key: (over, np.array([[one[key] for one in row] for row in rows])) for key in kinds}
    fixed = {
        f"fixed_{key}": ("unit", np.array([of_one(g, 0.0)[key] for g in UNITS]))
        for key in ("length", "growth", "height")
    }
    laws = [
        [LAWS[g](np.array([one["v_1"], one["v_2"]])) for one in row]
        for g, row in zip(UNITS, rows, strict=True)
    ]
    return xr.Dataset(
        {**values, **fixed, "law": (over, np.array(laws))},
        coords={
            "unit": [_name(g) for g in UNITS],
            "ratio": ("ratio", list(ratios), {"symbol": "η_v/η"}),
        },
    )


def _name(g: Activation) -> str:
    return type(g).__name__


SECTIONS = (
    Section(
        "layers",
        "The plateau with a second layer that learns",
        "Two students of two teachers, η → 0, η_v = κη, v = 1 at the start. The plateau has the "
        "same error as with a fixed second layer. Left: its length, relative to that. Right: the "
        "eigenvalue λ with which it is left (circles), and its value from v at the saddle alone "
        "(dotted). With ReLU units v grows with the norms, and the plateau becomes shorter the "
        "faster v learns. With erf units v_1 and v_2 separate where v learns fast, one of the "
        "students slows down, and the plateau becomes longer.",
        compute,
        "31 ratios instead of 8",
    ),
)

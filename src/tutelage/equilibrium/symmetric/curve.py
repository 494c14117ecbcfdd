"""Learning curves: every branch of states over the load, stable or not."""

import numpy as np
import xarray as xr

from tutelage._checks import finite_array, increasing_array
from tutelage._given import ArrayLike, CheckedInside
from tutelage._memory import check_memory
from tutelage.activations import Activation
from tutelage.equilibrium.symmetric.branches import (
    Branch,
    BranchCurve,
    check_reach,
    follow_branches,
    states_at,
)
from tutelage.equilibrium.symmetric.states import kind_of
from tutelage.equilibrium.symmetric.theory import Point, Theory, theory_of
from tutelage.equilibrium.thermal.curve import learning_curve_of
from tutelage.equilibrium.thermal.setting import setting_of
from tutelage.equilibrium.thermal.solution import check_loads_within, solution_of
from tutelage.runs.progress import Progress
from tutelage.runs.provenance import recorded

# Memory for all states at one load and for solving for them, measured.
BYTES_PER_LOAD = 1000
# A larger block would delay the progress bar.
LOADS_PER_BLOCK = 2000


@recorded
def learning_curve(
    activation: Activation,
    units: CheckedInside[float],
    loads: ArrayLike,
    *,
    temperature: float | str | None = None,
    approximation: str = "quenched",
    label_noise: float = 0.0,
    progress: bool = False,
) -> xr.Dataset:
    """Follow all branches of site-symmetric states over the load α.

    The specialized states lie on one curve, parametrised by V = R − S and cut where α turns, so
    that unstable parts and folds are found as well as minima.

    Args:
        activation: g, the same for student and teacher.
        units: K: 1, 2, … or ``math.inf``.
        loads: values of α ≥ 0, increasing; of α̃ with a temperature.
        temperature, approximation, label_noise: as in `states`.
        progress: show a bar on a terminal.

    Returns:
        A Dataset over ``branch`` and ``load`` (write ``run["load"]``: ``run.load`` is a method of
        xarray), NaN where a branch has no state:

        - R, S, C, generalization_error, free_energy_per_unit (βf/K);
        - stable: a minimum in all overlaps; site_stable: one among site-symmetric states;
        - kind of each branch: "unspecialized", "R > S" or "R < S";

        and over ``point``, along the whole specialized curve through its folds: curve_load,
        curve_R, curve_S, curve_C, curve_generalization_error.

        With a temperature: R, q, susceptibility, generalization_error, training_error,
        free_energy_per_unit and replicon over ``branch`` and ``load``, replica_symmetric where the
        replicon is positive, and the coordinate ``scaled_load``, α = α̃/T.

    >>> import tutelage as tl
    >>> run = tl.equilibrium.learning_curve(tl.ReLU(), units=2, loads=[5.0, 7.0])
    >>> run["kind"].values.tolist()
    ['unspecialized', 'R < S', 'R > S']
    >>> run["stable"].sel(branch=0).values.tolist()
    [True, False]
    """
    alpha = check_loads(loads)
    check_memory(
        "the number of loads", len(alpha), lambda n: BYTES_PER_LOAD * n, "the states of all loads"
    )
    setting = setting_of(activation, units, temperature, approximation, label_noise)
    if setting is not None:
        solution = solution_of(activation, setting)
        check_loads_within(solution, "loads", float(alpha[-1]))
        return learning_curve_of(solution, alpha, progress)
    theory = theory_of(activation, units)
    branch_curve = follow_branches(theory)
    check_reach("loads", branch_curve, float(alpha[-1]))
    flat = ("unspecialized", theory.unspecialized(alpha))
    rows = [flat] if theory.has_flat_state else []
    with Progress(progress, len(alpha) * len(branch_curve.branches), "states") as bar:
        for branch in branch_curve.branches:
            rows.append((kind_of(theory, branch.sign), _along(theory, branch, alpha, bar)))
    return _dataset(theory, alpha, rows).merge(_parametric(theory, branch_curve))


def _along(theory: Theory, branch: Branch, loads: np.ndarray, bar: Progress) -> Point:
    """Return the states of a branch at all loads, in blocks."""
    parts = []
    for first in range(0, len(loads), LOADS_PER_BLOCK):
        parts.append(states_at(theory, branch, loads[first : first + LOADS_PER_BLOCK]))
        bar.add(len(parts[-1].V))
    return Point(*(np.concatenate(x) for x in zip(*parts, strict=True)))


def _dataset(theory: Theory, loads: np.ndarray, rows: list[tuple[str, Point]]) -> xr.Dataset:
    columns: dict[str, list] = {name: [] for name in (
        "R", "S", "C", "generalization_error", "free_energy_per_unit", "stable", "site_stable",
    )}  # fmt: skip
    for _, points in rows:
        for name, value in _values(theory, loads, points).items():
            columns[name].append(value)
    shape = (len(rows), len(loads))
    return xr.Dataset(
        {
            **{
                name: (("branch", "load"), np.array(v).reshape(shape))
                for name, v in columns.items()
            },
            "kind": ("branch", np.array([kind for kind, _ in rows], dtype="<U13")),
        },
        coords={
            "branch": np.arange(len(rows)),
            "load": ("load", loads, {"long_name": "βP/(KN)", "symbol": "α"}),
        },
    )


def _values(theory: Theory, loads: np.ndarray, points: Point) -> dict[str, np.ndarray]:
    """Return all reported values of the states; NaN and False where a branch has no state."""
    exists = np.isfinite(points.V)
    values = {name: np.full(len(loads), np.nan) for name in "RSC"}
    values |= {
        name: np.full(len(loads), np.nan)
        for name in ("generalization_error", "free_energy_per_unit")
    }
    flags = {name: np.zeros(len(loads), dtype=bool) for name in ("stable", "site_stable")}
    at, load = Point(*(x[exists] for x in points)), loads[exists]
    if len(load):
        for name, value in zip("RSC", theory.order(at), strict=True):
            values[name][exists] = value
        values["generalization_error"][exists] = theory.error(at)
        values["free_energy_per_unit"][exists] = theory.free_energy(load, at)
        flags["stable"][exists], flags["site_stable"][exists] = theory.stable(load, at)
    return values | flags


def _parametric(theory: Theory, branch_curve: BranchCurve) -> xr.Dataset:
    """Return the specialized curve at increasing V."""
    parts = [np.array([p.V, p.d, p.c, p.load]) for p in branch_curve.branches]
    table = np.concatenate(parts, axis=1) if parts else np.zeros((4, 0))
    V, d, c, load = table[:, np.unique(table[0], return_index=True)[1]]
    R, S, C = theory.order(Point(V, d, c))
    error = theory.error(Point(V, d, c))
    named = {"load": load, "R": R, "S": S, "C": C, "generalization_error": error}
    return xr.Dataset({f"curve_{name}": ("point", value) for name, value in named.items()})


def check_loads(loads: ArrayLike) -> np.ndarray:
    """Check loads: α ≥ 0, one or more, increasing."""
    row = np.atleast_1d(finite_array("loads", loads))
    return increasing_array("loads", row, at_least=0.0, hint="np.linspace(0, 100, 1001)")

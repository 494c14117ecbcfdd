"""Phases: the state of lowest free energy at each load.

A phase diagram is a sweep of `phases` over activations.
"""

import numpy as np
import xarray as xr

from tutelage._given import ArrayLike, CheckedInside
from tutelage.activations import Activation
from tutelage.equilibrium.symmetric.branches import (
    BranchCurve,
    check_reach,
    follow_branches,
    states_at,
)
from tutelage.equilibrium.symmetric.curve import check_loads
from tutelage.equilibrium.symmetric.theory import Point, Theory, theory_of
from tutelage.equilibrium.symmetric.transitions import Transitions, transitions_of
from tutelage.equilibrium.thermal.curve import phases_of
from tutelage.equilibrium.thermal.setting import setting_of
from tutelage.equilibrium.thermal.solution import check_loads_within, solution_of
from tutelage.runs.provenance import recorded

PHASES = (
    "unspecialized",
    "unspecialized, specialized metastable",
    "specialized, unspecialized metastable",
    "specialized",
)


@recorded
def phases(
    activation: Activation,
    units: CheckedInside[float],
    loads: ArrayLike,
    *,
    temperature: float | str | None = None,
    approximation: str = "quenched",
    label_noise: float = 0.0,
) -> xr.Dataset:
    """Return the state of lowest free energy at each load, and the loads between the phases.

    Args:
        activation: g of student and teacher.
        units: K: 2, 3, … or ``math.inf``.
        loads: values of α ≥ 0, increasing; of α̃ with a temperature.
        temperature, approximation, label_noise: as in `states`.

    Returns:
        A Dataset over ``load`` with the phase in words (specialized or not, and whether the other
        state is metastable), generalization_error and specialization R − S of the state of lowest
        free energy; and the numbers appears, coexists and unstable (missing without such a load)
        and the order of the transition.  With a temperature also training_error, replica_symmetric
        and agreement, where students first agree with each other but not with the teacher.

    Over a parameter of the activation this is a phase diagram, drawn by
    `tutelage.figures.phase_diagram`:

    >>> import tutelage as tl
    >>> units = [tl.LeakyReLU(slope) for slope in (0.0, 0.5)]
    >>> loads = [5.0, 30.0]
    >>> diagram = tl.sweeps.run(phases, {"activation": units}, units=2, loads=loads, workers=1)
    >>> diagram["phase"].values.tolist()
    [['unspecialized', 'specialized'], ['unspecialized', 'specialized']]
    """
    alpha = check_loads(loads)
    setting = setting_of(activation, units, temperature, approximation, label_noise)
    if setting is not None:
        solution = solution_of(activation, setting)
        check_loads_within(solution, "loads", float(alpha[-1]))
        return phases_of(solution, alpha)
    theory = theory_of(activation, units)
    branch_curve = follow_branches(theory)
    check_reach("loads", branch_curve, float(alpha[-1]))
    transitions = transitions_of(theory, branch_curve)
    lines = [transitions.appears, transitions.coexists, transitions.unstable]
    appears, coexists, unstable = (np.nan if e is None else float(e.value) for e in lines)
    # Comparisons with NaN are False: without a line the phase beyond it does not exist.
    beyond = sum((alpha > line).astype(int) for line in (appears, coexists, unstable))
    points = _lowest(theory, branch_curve, transitions, alpha)
    R, S, _ = theory.order(points)
    specialization = np.asarray(R - S) if np.isfinite(theory.units) else np.asarray(R)
    return xr.Dataset(
        {
            "phase": ("load", np.array(PHASES)[beyond]),
            "generalization_error": ("load", theory.error(points)),
            "specialization": ("load", specialization),
            "appears": appears,
            "coexists": coexists,
            "unstable": unstable,
            "order": transitions.order,
        },
        coords={"load": ("load", alpha, {"long_name": "βP/(KN)", "symbol": "α"})},
    )


def _lowest(
    theory: Theory, branch_curve: BranchCurve, transitions: Transitions, loads: np.ndarray
) -> Point:
    """The state of lowest free energy at each load."""
    table = np.full((3, len(loads)), np.nan)
    won = np.zeros(len(loads), dtype=bool)
    if transitions.coexists is not None and transitions.specialized is not None:
        sign = -1 if transitions.specialized.R < transitions.specialized.S else 1
        outward = [p for p in branch_curve.branches if p.outward and p.sign == sign]
        won = loads > transitions.coexists.value
        table[:, won] = states_at(theory, outward[0 if sign < 0 else -1], loads[won])
    table[:, ~won] = theory.unspecialized(loads[~won])
    return Point(*table)

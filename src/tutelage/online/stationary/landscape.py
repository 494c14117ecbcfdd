"""The landscape of minima: where gradient flow ends, how often, and what the minima are."""

from bisect import bisect_left
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import (
    ComputationError,
    InputError,
    finite_number,
    positive_integer,
)
from tutelage._given import FileName
from tutelage._memory import check_memory
from tutelage.model import Scenario
from tutelage.model.numbers import NUMBERS
from tutelage.model.scenario import check_scenario
from tutelage.online.stationary.landscape_descent import (
    ESCAPED,
    RUNS_PER_BATCH,
    UNSETTLED,
    Atlas,
    random_starts,
    settle,
)
from tutelage.online.stationary.landscape_families import BLOCKS, STEPS_PER_BLOCK, family_count
from tutelage.online.stationary.landscape_gradient import Kind, kind_of
from tutelage.online.stationary.landscape_names import family, multiplicity
from tutelage.runs.checkpoint import Checkpoint, digest
from tutelage.runs.progress import Progress
from tutelage.runs.provenance import recorded
from tutelage.runs.seed import check_seed

# A landscape of K students and M teachers takes 8 bytes times 8 (KM)² in Newton's method,
# 15 KM(K+M)² in addition if units are not two straight lines, and 12 (K+M)² for each state in
# gradient steps.  The largest resident memory of fresh processes, less that of three units, is 0.35
# to 1 of this for K and M from 15 to 120 (benchmarks/landscape_memory.py).
HESSIANS_IN_MEMORY, TANGENTS_IN_MEMORY, PAIR_ARRAYS_IN_MEMORY = 8, 15, 12
# The time before the first random start, which no checkpoint saves: pairs of units per second in
# gradient steps, by the formula of the units; forces that a column of the Hessian costs; operations
# per second with matrices; and Hessians for each family (benchmarks/landscape_time.py).
PAIRS_PER_SECOND: dict[Kind, float] = {"lines": 9e7, "erf": 1.3e8, "gelu": 4.5e7, "other": 1.5e4}
FORCES_PER_COLUMN, OPERATIONS_PER_SECOND, HESSIANS_PER_FAMILY = 2, 1e10, 2
MAX_HOURS = 6.0


@recorded
def landscape(
    scenario: Scenario,
    *,
    starts: int = 200,
    dimension: int | None = None,
    scale: float = 1.0,
    seed: int = 0,
    checkpoint: str | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Find the minima of ε_g in which gradient flow ends, and the share of starts for each.

    In the limit η → 0 student weights follow dw_i/dt = -∂ε_g/∂w_i.  Symmetric families of states
    (k anti-aligned units, units that share a teacher) and random starts are descended with the
    step 1/h_max, h_max the largest curvature.  Newton's method polishes the stationary points, and
    a run counts as ended in a minimum if it is within 0.01 of it and its force is below 0.01
    times the smallest curvature.  Shares depend on ``dimension`` and ``scale``; minima do not, as
    long as the dimension is at least M: every minimum lies in the span of the teachers.

    Args:
        scenario: student and teacher, without weight decay and drift.
        starts: number of random starts, w_i ~ N(0, scale²/dimension).
        dimension: d of the starts, at least the rank of T; K + M by default.
        scale: typical norm of a student at the start.
        seed: of the random starts.
        checkpoint: a file that the work is saved to and continues from.
        progress: whether to show the progress.

    Returns:
        A Dataset over ``level``, stationary points sorted by error: generalization_error, family
        (names are explained in `docs/landscape.md`), multiplicity (states that renaming teachers
        makes of it), index (number of negative curvatures; 0 is a minimum), isolated (False
        along a family of solutions), residual (the largest gradient), runs, share and
        share_error (standard error), R, Q, hessian_eigenvalue (curvatures in the span of the
        teachers, over ``direction``) and transverse_eigenvalue (curvatures in orthogonal
        directions, the eigenvalues of -A_xx).  ``attrs``: start_dimension, unsettled and escaped
        (numbers of runs that have not ended, or whose norms grow without bound), gradients.

    Raises:
        InputError: for linear units, whose error depends on the sum of the weights alone.
        ComputationError: if no stationary point is found.

    >>> import tutelage as tl
    >>> two = tl.Committee(2, tl.ReLU())
    >>> minima = tl.online.landscape(tl.Scenario(two, two), starts=8)
    >>> minima.family.values.tolist(), minima.share.values.tolist()
    (['solution'], [1.0])
    """
    check_landscape(scenario)
    count = positive_integer("starts", starts, "starts=200")
    finite_number("scale", scale, above=0.0, hint="scale=1.0")
    check_seed(seed)
    K, M = scenario.K, scenario.M
    _check_time(scenario)
    _check_memory(scenario, count)
    atlas = Atlas(scenario)
    d = _dimension(dimension, K, atlas.landscape.teachers.shape[1])
    check_memory("starts", count, lambda n: 16 * n * K * (K + M), "the weights of all runs")
    rng = np.random.default_rng(seed)
    W = random_starts(rng, count, K, atlas.landscape.teachers.shape[1], d, float(scale))
    identity = _identity(scenario, count, d, scale, seed)
    ended, gradients = _run(atlas, W, identity, checkpoint, progress)
    if not atlas.points:
        raise ComputationError(
            "scenario",
            f"none of {count} runs and no symmetric state comes to rest",
            "this error seems to have no minimum at finite weights",
            "tl.online.evolve, which shows where a run goes",
        )
    return _dataset(atlas, ended).assign_attrs(
        start_dimension=d,
        unsettled=int(np.sum(ended == UNSETTLED)),
        escaped=int(np.sum(ended == ESCAPED)),
        gradients=gradients,
    )


def check_landscape(scenario: Scenario, argument: str = "scenario") -> None:
    """Refuse a scenario whose error has no minima that gradient flow could end in."""
    check_scenario(scenario)
    for number in NUMBERS:
        if number.is_rate and getattr(scenario, number.name) > 0:
            allowed = "the landscape of ε_g has no such term"
            value = f"{number.name} = {float(getattr(scenario, number.name)):g}"
            raise InputError(argument, value, allowed, "tl.online.fixed_points at a rate η > 0")
    form = scenario.student.activation.closed_form
    straight = form is not None and form.is_piecewise_linear
    if straight and form is not None and not form.modulus:
        raise InputError(
            argument,
            f"students with the unit {scenario.student.activation.name}",
            "their error depends on Σ_i v_i w_i alone, so that no minimum is isolated",
            "tl.ReLU(), tl.Erf() or tl.GELU()",
        )
    without = np.flatnonzero(np.all(np.asarray(scenario.student.weights) == 0, axis=0))
    if len(without):
        numbers = ", ".join(str(i + 1) for i in without)
        allowed = "the error does not depend on its weights, so that no minimum is isolated"
        raise InputError(argument, f"student {numbers} with the readout 0", allowed, "fewer units")


def newton_bytes(K: int, M: int, lines: bool) -> float:
    """Return the memory of Newton's method; ``lines``: units are two straight lines."""
    tangents = 0 if lines else TANGENTS_IN_MEMORY * K * M * (K + M) ** 2
    return 8 * (HESSIANS_IN_MEMORY * (K * M) ** 2 + tangents)


def descent_bytes(K: int, M: int, states: int) -> float:
    """Return the memory of gradient steps of a batch of states."""
    return 8 * PAIR_ARRAYS_IN_MEMORY * states * (K + M) ** 2


def family_seconds(K: int, M: int, kind: Kind) -> float:
    """Estimate the time of one symmetric family: gradient steps, then Newton's method.

    On one core of a busy AMD EPYC processor families took 0.6 to 2.3 times as long with 6 to 30
    units of ReLU, erf and GELU, and 0.5 times with 2 and 3 units of tanh; 14 times with 13 erf
    students of 12 teachers, where Newton's method needs 14 steps.
    """
    pair_rate, weights = PAIRS_PER_SECOND[kind], K * M
    force = K * (K + M) / pair_rate
    a_hessian = FORCES_PER_COLUMN * weights * force + weights**3 / OPERATIONS_PER_SECOND
    return BLOCKS * STEPS_PER_BLOCK * force + HESSIANS_PER_FAMILY * a_hessian


def _check_memory(scenario: Scenario, starts: int) -> None:
    """Refuse committees whose curvatures or symmetric families do not fit in memory."""
    K, M, lines = scenario.K, scenario.M, kind_of(scenario) == "lines"
    states = max(family_count(scenario), min(starts, RUNS_PER_BATCH))
    units = "the units of the student"
    check_memory(units, K, lambda K: newton_bytes(K, M, lines), "the Hessian")
    check_memory(units, K, lambda K: descent_bytes(K, M, states), "the overlaps of all units")


def _check_time(scenario: Scenario) -> None:
    """Refuse committees whose symmetric families take too much time."""
    K, M, kind = scenario.K, scenario.M, kind_of(scenario)
    families = family_count(scenario)

    def hours(K: int) -> float:
        return families * family_seconds(K, M, kind) / 3600

    if hours(K) > MAX_HOURS:
        largest = bisect_left(range(K), True, key=lambda units: hours(units) > MAX_HOURS) - 1
        smaller = f"{largest} units or fewer" if largest > 0 else "fewer teachers"
        raise InputError(
            "the units of the student",
            str(K),
            f"the {families} symmetric families of {M} teachers would take about "
            f"{hours(K):.0f} hours, and at most {MAX_HOURS:g} are allowed",
            smaller,
        )


def _dimension(dimension: int | None, K: int, rank: int) -> int:
    if dimension is None:
        return K + rank
    d = positive_integer("dimension", dimension, f"dimension={K + rank}")
    if d < rank:
        allowed = f"the teachers span {rank} dimensions"
        raise InputError("dimension", str(d), allowed, f"dimension={rank} or more")
    return d


def _identity(
    scenario: Scenario, starts: int, dimension: int, scale: float, seed: int
) -> dict[str, Any]:
    """Collect everything that the result of the runs depends on."""
    arrays = (scenario.T, scenario.student.weights, scenario.teacher.weights)
    return {
        "computation": "landscape",
        "starts": starts,
        "dimension": dimension,
        "scale": float(scale),
        "seed": seed,
        "student": f"{scenario.K} {scenario.student.activation!r}",
        "teacher": f"{scenario.M} {scenario.teacher.activation!r}",
        "output_scale": [float(x) for x in scenario.output_scale],
        "T": digest(*arrays),
    }


def _run(
    atlas: Atlas,
    W: np.ndarray,
    identity: dict[str, object],
    checkpoint: FileName | None,
    progress: bool,
) -> tuple[np.ndarray, int]:
    """Descend all runs, batch after batch; return the minimum of each and the gradients taken."""
    count, r = len(W), atlas.landscape.teachers.shape[1]
    ended, gradients, finished = np.full(count, UNSETTLED), 0, 0
    with Checkpoint(checkpoint, identity) as file, Progress(progress, count, "runs") as bar:
        saved = file.load()
        if saved is None:
            atlas.add_families()
        else:
            for weights in saved["points"].reshape(-1, atlas.landscape.scenario.K, r):
                atlas.add(weights, steps=0)
            ended[:], gradients, finished = (
                saved["ended"],
                int(saved["gradients"]),
                int(saved["done"]),
            )
            bar.start_from(finished)
        for first in range(finished, count, RUNS_PER_BATCH):
            batch = slice(first, min(first + RUNS_PER_BATCH, count))
            ended[batch], taken = settle(atlas, W[batch])
            gradients += taken
            points = np.array([point.weights for point in atlas.points])
            state = {"ended": ended, "points": points}
            counts = {"gradients": np.array(gradients), "done": np.array(batch.stop)}
            file.update(state | counts)
            bar.show(batch.stop)
    return ended, gradients


def _dataset(atlas: Atlas, ended: np.ndarray) -> xr.Dataset:
    order = sorted(range(len(atlas.points)), key=lambda n: atlas.points[n].error)
    points, runs = [atlas.points[n] for n in order], len(ended)
    B, scenario = atlas.landscape.teachers, atlas.landscape.scenario
    counts = np.array([np.sum(ended == n) for n in order])
    # One additional run of each outcome keeps the error of a share of 0 or 1 above zero.
    likely = (counts + 1) / (runs + 2)
    of_level: dict[str, Any] = {
        "generalization_error": [p.error for p in points],
        "family": np.array([family(atlas.landscape, p.weights, p.error) for p in points]),
        "multiplicity": np.array([float(multiplicity(scenario, p.weights, B)) for p in points]),
        "index": np.array([p.spectrum.negative for p in points]),
        "isolated": np.array([p.is_isolated for p in points]),
        "residual": [p.force for p in points],
        "runs": counts,
        "share": counts / runs,
        "share_error": np.sqrt(likely * (1 - likely) / runs),
    }
    W = np.array([p.weights for p in points])
    return xr.Dataset(
        {
            **{name: ("level", np.asarray(values)) for name, values in of_level.items()},
            "R": (("level", "student", "teacher"), W @ B.T),
            "Q": (("level", "student", "student_2"), W @ np.swapaxes(W, -1, -2)),
            "hessian_eigenvalue": (
                ("level", "direction"),
                np.array([p.spectrum.hessian for p in points]),
            ),
            "transverse_eigenvalue": (
                ("level", "student"),
                np.array([p.spectrum.transverse for p in points]),
            ),
        },
        coords={
            "student": np.arange(1, scenario.K + 1),
            "student_2": np.arange(1, scenario.K + 1),
            "teacher": np.arange(1, scenario.M + 1),
        },
    )

"""Beyond citton2025: every fixed point between η = 0 and 1.3, and the minima of many units.

"A complete study of the role these fixed points play in the training dynamics is left to a future
project" (citton2025, section 3).  Here fixed points are sought at several learning rates by
Newton's method from many starts, each is followed in η in both directions, and runs from four
kinds of starts show which of them are visited.  For many units the minima at η → 0 come in
families of anti-aligned units (docs/physics/online.md).
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import xarray as xr

from tutelage import figures, online
from tutelage.activations import ReLU
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.online import Flow
from tutelage.online.stationary.plateaus import saddle
from tutelage.online.stationary.stability import solution_loses_stability
from tutelage.online.steps import steps
from tutelage.papers import recorded
from tutelage.papers.citton2025.runs import start as fig_1_start
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

# Learning rates at which fixed points are sought, and the ends of all branches.
RATES = (0.05, 0.5, 1.0, 1.15, 1.2, 1.24, 1.256, 1.27, 1.3)
LOWEST, HIGHEST = 0.02, 1.4
STARTS, SEED = 60, 0
# Stationary points at η = 0 whose errors differ by less than SAME_ERROR are one point, or one line
# of points.  A point continues to η > 0 if a fixed point at SMALL_RATE is within CONTINUES of it.
SAME_ERROR, SMALL_RATE, CONTINUES = 1e-9, 0.02, 0.05
MOST_AT_ZERO = 8
# Distances in η from the learning rate above which the run of citton2025 diverges.
NEXT_TO_DIVERGENCE = 1e-7
# A fixed point is on a branch if all of its overlaps are within this of it.
ON_BRANCH = 2e-2
# Rates and kinds of starts of the runs: students small or large, with a small or large preference.
RUN_RATES = (0.1, 0.5, 1.0, 1.2, 1.25, 1.256, 1.26, 1.29)
CHANGING = 1.256  # from here on runs do not all end at the solution
# Size of the random part orthogonal to the teachers, of that along them, and of the solution.
START_KINDS = {
    "small": (0.3, 1e-3, 0.0),
    "small, aligned": (0.3, 0.3, 0.0),
    "large": (1.5, 1e-3, 0.0),
    "next to the solution": (0.1, 0.03, 1.0),
}
RUNS_PER_KIND, UNTIL = 8, 2000.0
DIRECTIONS = 7  # R and Q of two students and two teachers
ZERO_EIGENVALUE = 1e-7
SOLVED = 1e-6  # an error of zero, up to the remainder at the end of a run
UNITS, DIMENSION, RUNS = 17, 34, 10_000
NOTE = (
    f"ReLU, K = M = 2, T = diag(1, 2), exact in η. Newton's method from {STARTS} random and all "
    f"symmetric starts at η = {', '.join(map(str, RATES))}; each point followed between "
    f"η = {LOWEST} and {HIGHEST}. A search from starts proves no completeness."
)
NOTE_ZERO = (
    "Gradient flow, all orthogonal directions included. At η > 0 the noise of the steps gives "
    "students a part orthogonal to the teachers, Q ∝ -η/λ with the eigenvalues λ of A_xx: where a "
    "λ is positive the solution of the equations has a negative norm and is no state."
)
NOTE_SHARES = (
    f"ReLU, K = M = {UNITS}, w_i ~ N(0, 1/d), d = {DIMENSION}, {RUNS} starts, gradient descent "
    "with the step 1/h_max. A run counts if its force is below 0.01 of the smallest curvature. "
    "Eigenvalues by overlaps: tests/online/stationary/test_landscape.py."
)


def scenario() -> Scenario:
    """The setting of citton2025."""
    two = Committee(2, ReLU())
    return Scenario(two, two, np.diag([1.0, 2.0]))


def compute(full: bool) -> Iterator[Row | Figure]:
    """Yield the figure and rows of all branches, saddles and minima; a full run computes the data
    again.
    """
    measures: dict[str, Callable[[], xr.Dataset]] = {
        "branches": measured,
        "branch_ends": branch_ends,
        "seventeen": seventeen,
    }
    before = {name: recorded.load_recorded("beyond", name) for name in measures}
    return recorded.show_recorded(
        before, lambda: {name: measure() for name, measure in measures.items()}, _shown, full
    )


def _shown(data: Mapping[str, xr.Dataset]) -> Iterator[Row | Figure]:
    yield _figure(data)
    yield from _rows(data)


def seventeen() -> xr.Dataset:
    """Return the minima of seventeen units, without their weights."""
    committee = Committee(UNITS, ReLU())
    every = online.landscape(
        Scenario(committee, committee), starts=RUNS, dimension=DIMENSION, seed=SEED
    )
    return minima_of(every)


def minima_of(levels: xr.Dataset) -> xr.Dataset:
    """Return the minima of a landscape for drawing, without their weights."""
    return levels.isel(level=levels["index"].values == 0).drop_vars(["R", "Q"])


@cache
def measured() -> xr.Dataset:
    """Collect all branches, padded with NaN, and the visits of runs."""
    data = recorded.part("branches", _all_padded)
    branches = unpadded(data)
    runs = recorded.part("visits", lambda: xr.Dataset(visits(branches)))
    data = xr.merge([data, runs], combine_attrs="drop")
    return data.assign_coords(rate=list(RUN_RATES), kind=list(START_KINDS))


def branch_ends() -> xr.Dataset:
    """Return the stationary points at η = 0, and the branches next to which runs linger that
    nearly diverge: ``recorded/branch_ends.nc``.
    """
    zero = recorded.part("zero", lambda: xr.Dataset(at_zero()))
    boundary = recorded.part("boundary", _boundary)
    return xr.merge([zero, boundary], combine_attrs="drop")


def _boundary() -> xr.Dataset:
    branches = unpadded(recorded.load_recorded("beyond", "branches"))
    return xr.Dataset({"boundary": ("branch", next_to_divergence(branches))})


def _all_padded() -> xr.Dataset:
    return xr.concat([_padded(one) for one in all_branches()], "branch", combine_attrs="drop")


def all_branches() -> list[xr.Dataset]:
    """Follow branches through all fixed points found; each branch once, the smallest
    error first.
    """
    s, branches = scenario(), list[xr.Dataset]()
    for eta in RATES:
        for point in online.fixed_points(s, eta, starts=STARTS, seed=SEED):
            if not any(_contains(one, eta, point.overlaps) for one in branches):
                branches.append(_both_ways(s, point.overlaps, eta))
    return sorted(branches, key=lambda one: float(one.generalization_error.min()))


def _both_ways(s: Scenario, start: Overlaps, eta: float) -> xr.Dataset:
    """Follow a branch to smaller and to larger learning rates, and join both parts."""
    down, up = (
        online.branch(s, start, eta, until=end, step=0.03, max_steps=400)
        for end in (LOWEST, HIGHEST)
    )
    backwards = down.isel(point=slice(None, 0, -1))
    pieces = [x.drop_dims("special") for x in (backwards, up)]
    along = xr.concat(pieces, "point", combine_attrs="drop")
    specials = [x[[v for v in x if "special" in x[v].dims]] for x in (down, up)]
    joined = xr.concat(specials, "special", combine_attrs="drop")
    return xr.merge([along, joined], combine_attrs="drop")


def _contains(branch: xr.Dataset, eta: float, state: Overlaps) -> bool:
    """Return whether a branch passes next to a state, with students in either order."""
    for Q, R in crossings(branch, eta):
        for order in permutations(range(len(R))):
            p = list(order)
            gap = [R[p] - np.asarray(state.R), Q[np.ix_(p, p)] - np.asarray(state.Q)]
            if max(float(np.max(np.abs(x))) for x in gap) < ON_BRANCH:
                return True
    return False


def crossings(branch: xr.Dataset, eta: float) -> Iterator[list[np.ndarray]]:
    """Yield Q and R of a branch at a learning rate, interpolated between its points."""
    rates, Q, R = branch.learning_rate.values, branch.Q.values, branch.R.values
    for j in np.flatnonzero(np.diff(np.sign(rates - eta)) != 0):
        share = (eta - rates[j]) / (rates[j + 1] - rates[j])
        yield [(1 - share) * x[j] + share * x[j + 1] for x in (Q, R)]


def visits(branches: list[xr.Dataset]) -> dict[str, Any]:
    """Count runs that linger next to each branch as a saddle, that reach the solution, and that
    diverge.
    """
    shape = (len(RUN_RATES), len(START_KINDS))
    counts = np.zeros((*shape, len(branches)), int)
    solved, diverged = np.zeros(shape, int), np.zeros(shape, int)
    flow = Flow(scenario())
    for i, eta in enumerate(RUN_RATES):
        rng = np.random.default_rng(SEED)
        for k, kind in enumerate(START_KINDS.values()):
            for _ in range(RUNS_PER_KIND):
                run = steps(flow, flow.vector(_start(rng, *kind)), eta, UNTIL)
                diverged[i, k] += run.outcome == "diverged"
                solved[i, k] += run.outcome == "converged" and run.error[-1] < SOLVED
                point = saddle(flow, run, eta)
                if point is not None:
                    for b, one in enumerate(branches):
                        counts[i, k, b] += _contains(one, eta, point.overlaps)
    over = ("rate", "kind")
    return {
        "visits": ((*over, "branch"), counts),
        "solved": (over, solved),
        "diverged": (over, diverged),
    }


def at_zero() -> dict[str, Any]:
    """Return errors and indices of the stationary points of gradient flow, η = 0, and whether
    each continues to learning rates above 0.
    """
    s = scenario()
    points = sorted(
        online.fixed_points(s, 0.0, starts=STARTS, seed=SEED), key=lambda p: p.generalization_error
    )
    errors = np.array([p.generalization_error for p in points])
    groups = np.split(np.arange(len(points)), np.flatnonzero(np.diff(errors) > SAME_ERROR) + 1)
    above = online.fixed_points(s, SMALL_RATE, starts=STARTS, seed=SEED)
    rows = []
    for group in groups[:MOST_AT_ZERO]:
        members = [points[n] for n in group]
        index = min(int(np.sum(p.eigenvalues.real > ZERO_EIGENVALUE)) for p in members)
        gap = min(distance(p.overlaps, other.overlaps) for p in members for other in above)
        rows.append((errors[group[0]], index, len(group), gap < CONTINUES))
    padded = [*rows, *[(np.nan, 0, 0, False)] * (MOST_AT_ZERO - len(rows))]
    names = ("zero_error", "zero_index", "zero_points", "zero_continues")
    columns = zip(*padded, strict=True)
    return {n: ("zero", np.array(x)) for n, x in zip(names, columns, strict=True)}


def distance(first: Overlaps, second: Overlaps) -> float:
    """Return the largest difference of overlaps, with students in the better order."""
    gaps = []
    for order in permutations(range(len(np.asarray(first.R)))):
        p = list(order)
        R, Q = np.asarray(first.R)[p], np.asarray(first.Q)[np.ix_(p, p)]
        pairs = ((R, second.R), (Q, second.Q))
        gaps.append(max(float(np.max(np.abs(a - np.asarray(b)))) for a, b in pairs))
    return min(gaps)


def next_to_divergence(branches: list[xr.Dataset]) -> np.ndarray:
    """Count for each branch the runs of citton2025 just below and just above divergence that
    linger next to it.
    """
    s, start, flow = scenario(), fig_1_start(), Flow(scenario())
    rate = online.critical_learning_rates(s, start).diverges
    assert rate is not None
    counts = np.zeros(len(branches), int)
    for sign in (-1, 1):
        eta = float(rate.value) + sign * NEXT_TO_DIVERGENCE
        point = saddle(flow, steps(flow, flow.vector(start), eta, UNTIL), eta)
        if point is not None:
            for b, one in enumerate(branches):
                counts[b] += _contains(one, eta, point.overlaps)
    return counts


def _start(rng: np.random.Generator, size: float, preference: float, known: float) -> Overlaps:
    """Draw students of random norms up to ``size`` and random overlaps, mixed with the solution."""
    B = np.hstack([np.diag(np.sqrt([1.0, 2.0])), np.zeros((2, 2))])
    along = preference * rng.standard_normal((2, 2))
    J = known * B + np.hstack([along, np.diag(size * rng.uniform(0.5, 1.0, 2))])
    return Overlaps(Q=J @ J.T, R=J @ B.T, T=np.diag([1.0, 2.0]))


def _padded(branch: xr.Dataset, points: int = 640, specials: int = 6) -> xr.Dataset:
    """Pad a branch with NaN, so that branches of different lengths fit into one file."""
    lengths = {"point": points, "special": specials, "direction": DIRECTIONS}
    sizes = {name: length - branch.sizes[name] for name, length in lengths.items()}
    kinds = branch.special_kind.astype(object)
    unused = ["special_kind", "eigenvalue_imaginary", "special_Q", "special_R"]
    numbers = branch.drop_vars(unused)
    padded = numbers.pad({name: (0, n) for name, n in sizes.items()}, constant_values=np.nan)
    names = [*kinds.values.tolist(), *[""] * sizes["special"]]
    return padded.assign(special_kind=("special", np.array(names, dtype="U12")))


def unpadded(data: xr.Dataset) -> list[xr.Dataset]:
    branches = []
    for number in range(data.sizes["branch"]):
        one = data.isel(branch=number)
        points = np.flatnonzero(np.isfinite(one.learning_rate.values))
        specials = np.flatnonzero(np.isfinite(one.special_learning_rate.values))
        branches.append(one.isel(point=points, special=specials))
    return branches


def _figure(data: Mapping[str, xr.Dataset]) -> Figure:
    from tutelage.figures.style import new_panels

    left, right = new_panels(2)
    branches = unpadded(data["branches"])
    figures.all_branches(branches, axes=left)
    left.set_yscale("symlog", linthresh=1.0)
    left.set_ylim(bottom=-0.3)
    figures.landscape(data["seventeen"], axes=right)
    return Figure(left.figure, data)


def _rows(data: Mapping[str, xr.Dataset]) -> Iterator[Row]:
    branches = unpadded(data["branches"])
    yield unpublished("citton2025's setting: branches of fixed points", len(branches), 0.0, NOTE)
    for number, one in enumerate(branches, start=1):
        yield from _branch_rows(number, one)
    lost = solution_loses_stability(scenario())
    words = "The solution loses its stability at η"
    yield unpublished(words, float(lost.value), float(lost.error), NOTE)
    visited = data["branches"]["visits"].sum(("rate", "kind")).values
    runs = len(RUN_RATES) * len(START_KINDS) * RUNS_PER_KIND
    for number, count in enumerate(visited, start=1):
        note = f"{NOTE} {runs} runs at η = {', '.join(map(str, RUN_RATES))}."
        yield unpublished(f"Branch {number}: runs that linger next to it", float(count), 0.0, note)
    for i in np.flatnonzero(np.array(RUN_RATES) >= CHANGING):
        for k, kind in enumerate(START_KINDS):
            eta = RUN_RATES[i]
            solved, diverged = (int(data["branches"][x][i, k]) for x in ("solved", "diverged"))
            words = f"η = {eta}, starts {kind}: of {RUNS_PER_KIND} runs, those that"
            yield unpublished(f"{words} reach the solution", float(solved), 0.0, NOTE)
            yield unpublished(f"{words} diverge", float(diverged), 0.0, NOTE)
    minima = data["seventeen"]
    for level in np.flatnonzero(minima["runs"].values > 0):
        one = minima.isel(level=int(level))
        name = f"K = M = {UNITS}, {one.family.item()}"
        yield unpublished(f"{name}: ε_g", float(one.generalization_error), 1e-12, NOTE_SHARES)
        share = float(one.share), float(one.share_error)
        yield unpublished(f"{name}: share of starts", *share, NOTE_SHARES)
    yield from _zero_rows(data["branch_ends"])


def _zero_rows(data: xr.Dataset) -> Iterator[Row]:
    """Describe the stationary points at η = 0, and the runs next to divergence."""
    for n in np.flatnonzero(np.isfinite(data["zero_error"].values)):
        one = data.isel(zero=int(n))
        kind = "a line of points" if int(one.zero_points) > 1 else "isolated"
        goes_on = "continues to η > 0" if bool(one.zero_continues) else "only at η = 0"
        words = f"η = 0, stationary point {n + 1} (index {int(one.zero_index)}, {kind}, {goes_on})"
        error = float(one.zero_error)
        error = error if error > SAME_ERROR else 0.0  # a solution, up to rounding
        yield unpublished(f"{words}: ε_g", error, SAME_ERROR, NOTE_ZERO)
    for number, count in enumerate(data["boundary"].values, start=1):
        words = f"citton2025's run 10⁻⁷ below and above divergence: lingers next to branch {number}"
        yield unpublished(words, float(count), 0.0, NOTE)


def _branch_rows(number: int, one: xr.Dataset) -> Iterator[Row]:
    rates, errors = one.learning_rate.values, one.generalization_error.values
    index = np.sum(one.eigenvalue.values > 1e-7, axis=1)
    middle = int(np.argmin(errors))
    kinds = f"index {', '.join(map(str, sorted(set(index.tolist()))))}"
    if np.sum(np.isfinite(one.eigenvalue.values[0])) < DIRECTIONS:
        kinds = "identical students"
    words = f"Branch {number} ({kinds}; η from {rates.min():.3g} to {rates.max():.4g})"
    yield unpublished(f"{words}: least ε_g", float(errors[middle]), 1e-8, NOTE)
    for kind, eta, error in zip(
        one.special_kind.values, one.special_learning_rate.values, one.special_error.values,
        strict=True,
    ):  # fmt: skip
        yield unpublished(f"Branch {number}: {kind} at η", float(eta), float(error) + 1e-9, NOTE)


SECTIONS = (
    Section(
        "landscape",
        "All fixed points of citton2025's setting, and the minima of many units",
        "Left: errors of all fixed points that were found over the learning rate, thick where they "
        "are stable, otherwise with the number of unstable directions; two students, teachers of "
        "the norms 1 and √2. Right: minima of gradient flow for seventeen units, and the share of "
        "random starts that end in each.",
        compute,
        "all data computed again, ten minutes",
        lambda: recorded.digest("beyond"),
    ),
)

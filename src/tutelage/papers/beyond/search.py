"""Beyond citton2025: a second, larger search for fixed points of its setting.

`tutelage.papers.beyond.landscape` follows all branches that it has found.  Here Newton's method
begins at many random states of five kinds, at some of the learning rates of the first search and
at others.  Every fixed point that it reaches is compared with the recorded branches at the same
learning rate.
"""

from collections.abc import Callable, Iterator

import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage import online
from tutelage._checks import ComputationError
from tutelage.figures.text import finish
from tutelage.model import Overlaps, Scenario
from tutelage.model.timing import Rate, rate_of
from tutelage.online import Flow
from tutelage.online.stationary.identical import are_identical, embedding, flow_of_one, merged
from tutelage.online.stationary.points import POLISHED, is_state, settled
from tutelage.online.steps import steps
from tutelage.papers import recorded
from tutelage.papers.beyond.landscape import crossings, distance, scenario, unpadded
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

# Learning rates of the search, starts of each kind at each of them, and their seed.
RATES = (0.02, 0.3, 0.9, 1.1, 1.2, 1.256, 1.28, 1.3)
STARTS, SEED = 160, 1
STEPS, TOO_LARGE = 40, 1e6
# Norms of random students, as powers of ten, and the time at which Newton's method takes over from
# a run.
LEAST_NORM, LARGEST_NORM = -1.5, 1.5
LONGEST_RUN = 1e3
# Fixed points are equal if all overlaps agree to this; next to a solution, where the covariance is
# singular, Newton's method ends within NEXT_TO_SOLUTION.
EQUAL_TOLERANCE, NEXT_TO_SOLUTION = 1e-5, 1e-3
MOST_NEW = 32
# Probability of a coincidence that is accepted.
UNLIKELY = 0.05
# Names of the recorded branches, in their order.
BRANCHES = ("solution", "large norms", "plateau", "identical students")
TEACHERS = np.diag(np.sqrt([1.0, 2.0]))

Draw = Callable[[np.random.Generator], Float[np.ndarray, "K n"]]


def searched() -> xr.Dataset:
    """Search at every learning rate: the content of ``recorded/search.nc``."""
    parts = recorded.in_parts("search", RATES, search_at)
    joined = xr.concat(parts, "rate", combine_attrs="drop")
    return joined.assign_coords(rate=list(RATES), kind=list(KINDS))


def random_students(rng: np.random.Generator) -> np.ndarray:
    """Draw weights of any norm with components along the teachers and orthogonal to them."""
    return 10 ** rng.uniform(LEAST_NORM, LARGEST_NORM) * rng.standard_normal((2, 4)) / 2


def along_teachers(rng: np.random.Generator) -> np.ndarray:
    """Draw weights nearly in the span of the teachers."""
    across = 10 ** rng.uniform(-3.0, 0.0) * rng.standard_normal((2, 2))
    along = 10 ** rng.uniform(-1.0, 1.0) * rng.standard_normal((2, 2))
    return np.hstack([along, across])


def symmetric_students(rng: np.random.Generator) -> np.ndarray:
    """Draw students with equal overlaps that differ in their parts orthogonal to the teachers."""
    along = 10 ** rng.uniform(LEAST_NORM, LARGEST_NORM) * rng.standard_normal(2)
    own, common = 10 ** rng.uniform(LEAST_NORM, LARGEST_NORM, 2)
    shift = common * rng.standard_normal()
    return np.array([[*along, own + shift, shift], [*along, shift, own + shift]])


# "runs" begin at random students, and "identical" students are searched as one student.
KINDS: dict[str, Draw] = {
    "random": random_students,
    "along the teachers": along_teachers,
    "symmetric": symmetric_students,
    "runs": random_students,
    "identical": random_students,
}


def search_at(eta: float) -> xr.Dataset:
    """Search at one learning rate; count starts that end at each branch, or at a new point."""
    flow, rate = Flow(scenario()), rate_of(eta)
    known, names = known_points(eta)
    branches = len(unpadded(recorded.load_recorded("beyond", "branches")))
    counts = np.zeros((len(KINDS), branches), int)
    arrived, unknown = np.zeros(len(KINDS), int), np.zeros(len(KINDS), int)
    new: list[np.ndarray] = []
    for k, (kind, draw) in enumerate(KINDS.items()):
        rng = np.random.default_rng((SEED, k, round(1e6 * eta)))
        for _ in range(STARTS):
            y = _end(flow, rate, kind, draw(rng), rng)
            if y is None:
                continue
            arrived[k] += 1
            state = flow.overlaps(y, flow.scenario.T)
            gaps = np.array([distance(state, point) for point in known])
            near = int(np.argmin(gaps)) if len(gaps) else -1
            allowed = NEXT_TO_SOLUTION if _solves(known[near]) else EQUAL_TOLERANCE
            if gaps[near] < allowed * max(1.0, float(np.max(np.abs(y)))):
                counts[k, names[near]] += 1
                continue
            unknown[k] += 1
            if len(new) < MOST_NEW and all(
                distance(state, flow.overlaps(x, flow.scenario.T)) > EQUAL_TOLERANCE for x in new
            ):
                new.append(y)
    states = np.full((MOST_NEW, flow.layout.size), np.nan)
    states[: len(new)] = np.array(new).reshape(-1, flow.layout.size)
    return xr.Dataset(
        {
            "starts": STARTS,
            "arrived": ("kind", arrived),
            "at_branch": (("kind", "branch"), counts),
            "at_no_branch": ("kind", unknown),
            "new_points": len(new),
            "new_state": (("new", "overlap"), states),
        }
    )


def _solves(state: Overlaps) -> bool:
    T = np.asarray(state.T)
    return distance(state, Overlaps(Q=T, R=T, T=T)) < EQUAL_TOLERANCE


def _end(
    flow: Flow, rate: Rate, kind: str, J: np.ndarray, rng: np.random.Generator
) -> np.ndarray | None:
    """Return the fixed point to which Newton's method leads from students J, if there is one."""
    Q, R = J @ J.T, J[:, :2] @ TEACHERS.T
    y = np.asarray(flow.layout.vector({"Q": Q, "R": R}))
    if kind == "runs":
        run = steps(flow, y, rate.first, 10 ** rng.uniform(0.0, np.log10(LONGEST_RUN)))
        y = run.states[-1]
    if kind == "identical":
        return _identical_end(flow, rate, J[0])
    end, residual = settled(flow, rate, y, STEPS)
    if residual > POLISHED or np.max(np.abs(end)) > TOO_LARGE or not is_state(flow, end):
        return None
    # The Jacobian of identical students is found from one student in their place.
    return None if are_identical(flow.layout.arrays(end)["Q"], flow.readout(end)) else end


def _identical_end(flow: Flow, rate: Rate, w: np.ndarray) -> np.ndarray | None:
    single, their_rate = merged(flow.scenario, rate)
    alone = flow_of_one(flow, single)
    z = alone.layout.vector({"Q": np.array([[w @ w]]), "R": w[None, :2] @ TEACHERS.T})
    end, residual = settled(alone, their_rate, np.asarray(z), STEPS)
    if residual > POLISHED or np.max(np.abs(end)) > TOO_LARGE or not is_state(alone, end):
        return None
    return embedding(flow.layout) @ end


def known_points(eta: float) -> tuple[list[Overlaps], list[int]]:
    """Return the fixed points of the recorded branches at a learning rate, with their branches."""
    points, names = list[Overlaps](), list[int]()
    for number, one in enumerate(unpadded(recorded.load_recorded("beyond", "branches"))):
        for Q, R in crossings(one, eta):
            state = Overlaps(Q=Q, R=R, T=scenario().T, rounding=1e-6)
            point = _polished(scenario(), state, eta)
            if point is not None and all(distance(point, p) > EQUAL_TOLERANCE for p in points):
                points.append(point)
                names.append(number)
    return points, names


def _polished(s: Scenario, state: Overlaps, eta: float) -> Overlaps | None:
    """Return the fixed point next to a state of a branch."""
    Q, R = np.asarray(state.Q), np.asarray(state.R)
    if _solves(state):
        return Overlaps(Q=s.T, R=s.T, T=s.T)
    if np.ptp(Q) < 1e-6 * np.max(np.abs(Q)):
        norm = float(np.sqrt(Q[0, 0] - np.sum((R[0] / np.diag(TEACHERS)) ** 2)))
        w = np.array([*(R[0] / np.diag(TEACHERS)), norm, 0.0])
        flow = Flow(s)
        end = _identical_end(flow, rate_of(eta), w)
        return None if end is None else flow.overlaps(end, s.T)
    try:
        return online.fixed_point(s, state, eta).overlaps
    except ComputationError:
        return None


def missed_share(starts: int) -> float:
    """Return the share of starts below which a fixed point is missed with a probability of 5 %.

    >>> f"{missed_share(200):.5f}"
    '0.01487'
    """
    return float(1 - UNLIKELY ** (1 / starts))


def show(full: bool) -> Iterator[Row | Figure]:
    """Yield the picture and the rows of the recorded search."""
    return recorded.show_recorded(
        recorded.load_recorded("beyond", "search"), searched, _shown, full
    )


def _shown(data: xr.Dataset) -> Iterator[Row | Figure]:
    yield _figure(data)
    yield from _rows(data)


def _figure(data: xr.Dataset) -> Figure:
    from tutelage.figures.style import new_panels

    (axes,) = new_panels(1)
    counts = data.at_branch.sum("kind")
    for number, words in enumerate(BRANCHES):
        axes.plot(data.rate, counts.isel(branch=number), ".-", label=words)
    axes.plot(data.rate, data.at_no_branch.sum("kind"), "k--", label="none of them")
    axes.set(xlabel=r"$\eta$", ylabel="starts that end at the branch")
    finish(axes)
    return Figure(axes.figure, {"": data})


def _rows(data: xr.Dataset) -> Iterator[Row]:
    starts, rates = int(data.starts.values[0]), data.sizes["rate"]
    kinds = data.kind.values.tolist()
    note = (
        f"{starts} starts of each of {len(kinds)} kinds ({', '.join(kinds)}) at η = "
        f"{', '.join(map(str, data.rate.values))}; Newton's method from each, or from a run at a "
        "random time. A search from starts proves no completeness."
    )
    words = "citton2025's setting, second search"
    total = starts * len(kinds)
    yield unpublished(f"{words}: starts", float(total * rates), 0.0, note)
    yield unpublished(
        f"{words}: starts that end at a fixed point", float(data.arrived.sum()), 0.0, note
    )
    new = float(data.new_points.sum())
    yield unpublished(f"{words}: fixed points on none of the branches", new, 0.0, note)
    share = missed_share(total)
    bound = f"{note} A fixed point to which this share leads is missed with a probability of 5 %."
    yield unpublished(f"{words}: share of starts at one η, 95 % bound", share, 0.0, bound)
    for number, count in enumerate(data.at_branch.sum(("rate", "kind")).values, start=1):
        yield unpublished(f"{words}: starts that end at branch {number}", float(count), 0.0, note)


SECTIONS = (
    Section(
        "search",
        "A second search for fixed points of citton2025's setting",
        "The number of random starts from which Newton's method ends at each branch of fixed "
        "points, over the learning rate; dashed: at a fixed point on none of them.",
        show,
        "searched again, minutes",
        lambda: recorded.digest("beyond"),
    ),
)

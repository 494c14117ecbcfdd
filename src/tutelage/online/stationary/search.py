"""Search for fixed points by Newton's method from many starts."""

import math
from collections.abc import Iterable, Iterator
from itertools import combinations_with_replacement, islice

import equinox as eqx
import numpy as np
from jaxtyping import Float

from tutelage._arguments import validated
from tutelage._checks import finite_number, positive_integer
from tutelage._jax import jnp
from tutelage.activations import Activation
from tutelage.averages.methods import Method
from tutelage.model import Scenario
from tutelage.model.scenario import check_scenario
from tutelage.model.timing import Rate, rate_of
from tutelage.online.flow import Flow, errors_of
from tutelage.online.linearization import rates_and_jacobian
from tutelage.online.stationary.identical import (
    are_identical,
    describe_identical,
    flow_of_one,
    merged,
)
from tutelage.online.stationary.points import (
    POLISHED,
    FixedPoint,
    describe,
    is_state,
    relative,
    settled,
)
from tutelage.runs.progress import Progress
from tutelage.runs.seed import check_seed

# Largest number of Newton steps from one start; convergence takes about ten.
STEPS = 30
# States are the same if their invariants agree to this: at a singular Jacobian a residual of
# 1e-12 leaves the state uncertain by 1e-6.
EQUAL_TOLERANCE = 1e-6
# Errors below this count as zero.
PERFECT = 1e-9
# Larger norms count as infinite.
TOO_LARGE = 1e6
# Symmetric starts: coefficients of the sum of all teachers, and of a direction that is different
# for each student.
SYMMETRIC = ((-0.1, 0.1), (0.3, 0.5), (0.5, 0.5), (0.5, 1.0), (1.0, 1.0), (0.2, 3.0))


@validated
def fixed_points(
    scenario: Scenario,
    learning_rate: float,
    *,
    starts: int = 50,
    seed: int = 0,
    readout_rate: float = 0.0,
    batch: int = 1,
    method: Method | str | None = None,
    progress: bool = False,
) -> list[FixedPoint]:
    """Find fixed points, up to permutations of units, sorted by error.

    Newton's method begins at the perfect solution, at students that follow one teacher each, at
    symmetric states, at states of slow motion on the way from small random weights, and at
    random weights of all sizes.  Identical students are sought as one student in their place
    (`tutelage.online.stationary.identical`), because for activations with a kink the rates have no
    derivative there; ``splitting`` of the `FixedPoint` is then not zero.

    States that differ by a permutation which leaves T unchanged are counted once.  Where solutions
    without error form a family (K > M: students share a teacher in any proportion, and some
    eigenvalues are zero) one member represents the family.  States in which some but not all
    students are identical are found only if the rates have a derivative there.

    Args:
        scenario: student and teacher.
        learning_rate: η >= 0; the number 0 is the limit η → 0.
        starts, seed: how many random starts, and their seed; more may find more.
        readout_rate: η_v of the second layer, as in `evolve`; with one v is part of the state.
        batch: examples for each step, as in `evolve`.
        method: how averages are computed; the best exact one by default.
        progress: whether to print progress and remaining time.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.Erf())
    >>> [point.stable for point in tl.online.fixed_points(tl.Scenario(one, one), 1.0, starts=5)]
    [True]
    """
    check_scenario(scenario)
    finite_number("learning_rate", learning_rate, at_least=0.0, hint="1.0")
    positive_integer("starts", starts, "starts=50")
    check_seed(seed)
    rate = rate_of(float(learning_rate))
    ratio = relative(readout_rate, learning_rate)
    flow = Flow(scenario, method, batch=batch, readout_rate=ratio)
    collection = _Collection(flow)
    identical = scenario.K > 1 and (flow.trained or scenario.student.uniform)
    single, their_rate = merged(scenario, rate)
    total = _count(scenario, starts) + (_count(single, starts) if identical else 0)
    with Progress(progress, total, "starts") as bar:
        if identical:
            for z in _identical(flow_of_one(flow, single), their_rate, seed, starts, bar):
                collection.add(describe_identical(flow, rate, z))
        for y, residual in _arrivals(flow, rate, seed, starts, bar):
            collection.add_state(flow, rate, y, residual)
    return sorted(collection.points, key=lambda point: point.generalization_error)


def _identical(flow: Flow, rate: Rate, seed: int, starts: int, bar: Progress) -> list[np.ndarray]:
    """Find (R_n, Q, K v_c) of the fixed points with identical students."""
    collection = _Collection(flow)
    for y, residual in _arrivals(flow, rate, seed, starts, bar):
        collection.add_state(flow, rate, y, residual)
    return [point.vector for point in collection.points]


class _Collection:
    """Fixed points that differ by more than a permutation."""

    def __init__(self, flow: Flow):
        self.flow = flow
        self.points: list[FixedPoint] = []
        self.keys: list[np.ndarray] = []

    def add_state(self, flow: Flow, rate: Rate, y: np.ndarray, residual: float) -> None:
        Q = flow.layout.arrays(y)["Q"]
        # Identical students are searched for as one student; here their Jacobian would be wrong.
        if not are_identical(Q, flow.readout(y)) and not self._knows(_invariants(flow, y)):
            self.add(describe(flow, rate, y, residual))

    def add(self, point: FixedPoint) -> None:
        key = _invariants(self.flow, point.vector)
        if self._knows(key) or any(_one_family(self.flow, point, other) for other in self.points):
            return
        self.points.append(point)
        self.keys.append(key)

    def _knows(self, key: np.ndarray) -> bool:
        return any(
            np.allclose(key, other, rtol=EQUAL_TOLERANCE, atol=EQUAL_TOLERANCE)
            for other in self.keys
        )


def _invariants(flow: Flow, y: np.ndarray) -> np.ndarray:
    """Compute ε_g, the spectrum of C and sorted overlaps, which renaming units does not change."""
    T, blocks = flow.scenario.T, flow.layout.arrays(y)
    spectrum = np.linalg.eigvalsh(np.asarray(flow.overlaps(jnp.asarray(y), T).covariance))
    entries = [np.diag(blocks["Q"]), *blocks.values()]
    parts = [spectrum, *(np.sort(x, axis=None) for x in entries)]
    return np.concatenate([[float(errors_of(flow, jnp.asarray(y), T))], *parts])


def _one_family(flow: Flow, a: FixedPoint, b: FixedPoint) -> bool:
    """Return whether two fixed points have zero error and are connected by redundant students or
    readouts.
    """
    spare = flow.trained or flow.scenario.K > flow.scenario.M
    return spare and max(a.generalization_error, b.generalization_error) < PERFECT


def _arrivals(
    flow: Flow, rate: Rate, seed: int, starts: int, bar: Progress
) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the fixed points to which Newton's method converges, and their residuals."""
    for states in _starts(flow, rate, np.random.default_rng(seed), starts):
        for start in states:
            y, residual = settled(flow, rate, start, STEPS)
            # Rates of units that saturate vanish at infinity, which is not a fixed point.
            near = residual < POLISHED and np.max(np.abs(y)) < TOO_LARGE
            if near and is_state(flow, y):
                yield y, residual
        bar.add(1)


def _count(scenario: Scenario, count: int) -> int:
    """Return the largest number of starts that `_starts` yields."""
    pairings = min(count, math.comb(scenario.M + scenario.K - 1, scenario.K))
    return 1 + pairings + len(SYMMETRIC) + max(1, count // 5) + count


def _starts(
    flow: Flow, rate: Rate, rng: np.random.Generator, count: int
) -> Iterator[Iterable[Float[np.ndarray, " v"]]]:
    """Yield the initial states of the search: one for each start, or several along a
    run from it.
    """
    K, M = flow.scenario.K, flow.scenario.M
    T, v = np.asarray(flow.scenario.T), np.asarray(flow.scenario.student.weights)
    values, vectors = np.linalg.eigh(T)
    B = np.hstack([vectors * np.sqrt(np.maximum(values, 0.0)), np.zeros((M, K))])
    private = np.hstack([np.zeros((K, M)), np.eye(K)])

    def state(J: np.ndarray, v: np.ndarray = v) -> np.ndarray:
        return np.asarray(flow.layout.vector({"Q": J @ J.T, "R": J @ B.T, "readout": v}))

    yield [state(*solution) for solution in _solutions(flow, B)]
    for teachers in islice(combinations_with_replacement(range(M), K), count):
        yield [state(B[list(teachers)] + 0.3 * private)]
    for shared, own in SYMMETRIC:
        yield [state(shared * np.sum(B, axis=0) + own * private)]
    for _ in range(max(1, count // 5)):
        yield _slow_states(flow, rate, state(0.1 * rng.standard_normal((K, M + K)) + 0.1 * private))
    size = np.sqrt(np.mean(np.diag(T)))
    for scale in 10.0 ** rng.uniform(-1.0, 1.0, count):
        J = size * scale * rng.standard_normal((K, M + K)) / np.sqrt(M + K)
        yield [state(J, v * (1 + rng.standard_normal(v.shape)) if flow.trained else v)]


def _solutions(flow: Flow, B: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield weights and readouts of students that reproduce the teacher, if that is possible."""
    scenario = flow.scenario
    g, h = scenario.student.activation, scenario.teacher.activation
    (v, teachers), K, M = (np.asarray(x) for x in scenario.readouts), scenario.K, scenario.M
    if eqx.tree_equal(g, h) is not True or K < M:
        return
    if flow.trained:  # superfluous students have readout 0
        s_K = float(scenario.output_scale[0])
        yield (
            np.vstack([B, np.eye(K - M, B.shape[1], M)]),
            np.pad(teachers / s_K, ((0, 0), (0, K - M))),
        )
    elif K == M and np.array_equal(v, teachers):
        yield B, v
    elif _is_homogeneous(g) and np.all(v == v[:, :1]) and np.all(teachers == v[:, :1]):
        # g(x) = Σ g(x/n): the last teacher's students share it
        shares = np.arange(1.0, K - M + 2)
        yield np.vstack([B[:-1], np.outer(shares / np.sum(shares), B[-1])]), v


def _is_homogeneous(g: Activation) -> bool:
    return g.closed_form is not None and g.closed_form.is_homogeneous


def _slow_states(flow: Flow, rate: Rate, y: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the states along a run at which the motion is slowest, and the last one.

    Linearly implicit Euler steps of length 1/η need nothing that Newton's method does not.
    """
    way, speeds = [], []
    for _ in range(60):
        f, J = rates_and_jacobian(flow, rate, y)
        if not (np.all(np.isfinite(f)) and np.all(np.isfinite(J))) or np.max(np.abs(f)) > 1e3:
            break  # the run diverges; slow states before that are used
        way.append(y)
        speeds.append(float(np.max(np.abs(f))))
        try:
            y = y + np.linalg.solve(np.eye(len(f)) - J, f)
        except np.linalg.LinAlgError:
            break  # an eigenvalue of exactly η: the implicit step does not exist
    for k in range(1, len(way) - 1):
        if speeds[k - 1] >= speeds[k] <= speeds[k + 1]:
            yield way[k]
    yield from way[-1:]

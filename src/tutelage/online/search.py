"""All fixed points that Newton's method reaches from many starts."""

import math
from collections.abc import Iterable, Iterator
from itertools import combinations_with_replacement, islice

import equinox as eqx
import numpy as np
from jaxtyping import Float

from tutelage._checks import finite_number, positive_integer
from tutelage._door import door
from tutelage._jax import jnp
from tutelage.activations.piecewise import PiecewiseLinear
from tutelage.averages.generalization import generalization_error
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import to_overlaps, to_vector, unchecked
from tutelage.model.scenario import check_scenario
from tutelage.model.timing import Rate, rate_of
from tutelage.online.flow import Flow
from tutelage.online.identical import are_identical, describe_identical, one_for_all
from tutelage.online.linearization import rates_and_jacobian
from tutelage.online.stationary import (
    POLISHED,
    FixedPoint,
    describe,
    is_state,
    settled,
)
from tutelage.runs.progress import Progress
from tutelage.runs.seed import check_seed

# Newton steps from one start; those that arrive need about ten.
STEPS = 30
# States are the same if their invariants agree to this: at a singular Jacobian a residual of
# 1e-12 leaves the state uncertain by 1e-6.
SAME = 1e-6
# Errors below this are zero for such a state.
PERFECT = 1e-9
# Larger norms are on the way to infinity.
TOO_LARGE = 1e6
# Symmetric starts: of all teachers together, and of each student alone.
SYMMETRIC = ((-0.1, 0.1), (0.3, 0.5), (0.5, 0.5), (0.5, 1.0), (1.0, 1.0), (0.2, 3.0))


@door
def fixed_points(
    scenario: Scenario,
    learning_rate: float,
    *,
    starts: int = 50,
    seed: int = 0,
    batch: int = 1,
    method: Method | str | None = None,
    progress: bool = False,
) -> list[FixedPoint]:
    """The fixed points that can be reached, up to permutations of units, best error first.

    Newton's method begins at the perfect solution, at students that follow one teacher each, at
    symmetric states, at states of slow motion on the way from small random weights, and at
    random weights of all sizes.  Identical students are sought as one student in their place
    (`tutelage.online.identical`), because for activations with a kink the rates have no
    derivative there; the `FixedPoint` says so in ``splitting``.

    Permutations that leave T as it is are counted once.  Where solutions without error form a
    family (K > M: students share a teacher in any proportion, and some eigenvalues are zero) one
    member stands for all.  States in which some but not all students are identical are found
    only if the rates have a derivative there.

    Args:
        scenario: who learns from whom.
        learning_rate: η >= 0; the number 0 is the limit η → 0.
        starts, seed: how many random starts, and their seed; more may find more.
        batch: examples for each step, as in `evolve`.
        method: how averages are computed; the best exact one by default.
        progress: whether to say how far it is and how long it will take.

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
    flow, found = Flow(scenario, method, batch=batch), _Collection(scenario)
    single, their_rate = one_for_all(scenario, rate)
    total = _count(scenario, starts) + (_count(single, starts) if scenario.K > 1 else 0)
    with Progress(progress, total, "starts") as bar:
        if scenario.K > 1:
            alone = Flow(single, method, batch=batch)
            for z in _identical(alone, their_rate, seed, starts, bar):
                found.add(describe_identical(flow, rate, z))
        for y, residual in _arrivals(flow, rate, seed, starts, bar):
            found.add_state(flow, rate, y, residual)
    return sorted(found.points, key=lambda point: point.generalization_error)


def _identical(flow: Flow, rate: Rate, seed: int, starts: int, bar: Progress) -> list[np.ndarray]:
    """(R_n, Q) of the fixed points with identical students."""
    found = _Collection(flow.scenario)
    for y, residual in _arrivals(flow, rate, seed, starts, bar):
        found.add_state(flow, rate, y, residual)
    return [np.asarray(to_vector(point.overlaps)) for point in found.points]


class _Collection:
    """Fixed points that differ by more than a permutation."""

    def __init__(self, scenario: Scenario):
        self.scenario = scenario
        self.points: list[FixedPoint] = []
        self.keys: list[np.ndarray] = []

    def add_state(self, flow: Flow, rate: Rate, y: np.ndarray, residual: float) -> None:
        state = to_overlaps(jnp.asarray(y), self.scenario.T, self.scenario.K)
        # Identical students were found as one student; here the Jacobian would be wrong.
        known = are_identical(np.asarray(state.Q)) or self._knows(_invariants(self.scenario, state))
        if not known:
            self.add(describe(flow, rate, y, residual))

    def add(self, point: FixedPoint) -> None:
        key = _invariants(self.scenario, point.overlaps)
        if self._knows(key) or any(
            _one_family(self.scenario, point, other) for other in self.points
        ):
            return
        self.points.append(point)
        self.keys.append(key)

    def _knows(self, key: np.ndarray) -> bool:
        return any(np.allclose(key, other, rtol=SAME, atol=SAME) for other in self.keys)


def _invariants(scenario: Scenario, state: Overlaps) -> np.ndarray:
    """Numbers that do not change when units are renamed: ε_g, the spectrum of C, all entries."""
    Q, R, C = (np.asarray(x) for x in (state.Q, state.R, state.covariance))
    error = float(generalization_error(scenario, state))
    others = np.sort(Q[np.triu_indices(len(Q), 1)])
    parts = ([error], np.linalg.eigvalsh(C), np.sort(np.diag(Q)), others, np.sort(R, axis=None))
    return np.concatenate(parts)


def _one_family(scenario: Scenario, a: FixedPoint, b: FixedPoint) -> bool:
    """Both are perfect, and there are more students than needed."""
    return scenario.K > scenario.M and max(a.generalization_error, b.generalization_error) < PERFECT


def _arrivals(
    flow: Flow, rate: Rate, seed: int, starts: int, bar: Progress
) -> Iterator[tuple[np.ndarray, float]]:
    """Where Newton's method ends, if that is a state and does not move."""
    for states in _starts(flow, rate, np.random.default_rng(seed), starts):
        for start in states:
            y, residual = settled(flow, rate, start, STEPS)
            # Rates of units that saturate vanish at infinity, which is not a fixed point.
            near = residual < POLISHED and np.max(np.abs(y)) < TOO_LARGE
            if near and is_state(flow.scenario, y):
                yield y, residual
        bar.add(1)


def _count(scenario: Scenario, count: int) -> int:
    """How many starts `_starts` has, at most."""
    pairings = min(count, math.comb(scenario.M + scenario.K - 1, scenario.K))
    return 1 + pairings + len(SYMMETRIC) + max(1, count // 5) + count


def _starts(
    flow: Flow, rate: Rate, rng: np.random.Generator, count: int
) -> Iterator[Iterable[Float[np.ndarray, " v"]]]:
    """One state for each start, or several on the way from it."""
    K, M = flow.scenario.K, flow.scenario.M
    T = np.asarray(flow.scenario.T)
    values, vectors = np.linalg.eigh(T)
    B = np.hstack([vectors * np.sqrt(np.maximum(values, 0.0)), np.zeros((M, K))])
    private = np.hstack([np.zeros((K, M)), np.eye(K)])
    yield [_vector(J, B) for J in _solutions(flow.scenario, B)]
    for teachers in islice(combinations_with_replacement(range(M), K), count):
        yield [_vector(B[list(teachers)] + 0.3 * private, B)]
    for shared, own in SYMMETRIC:
        yield [_vector(shared * np.sum(B, axis=0) + own * private, B)]
    for _ in range(max(1, count // 5)):
        J = 0.1 * rng.standard_normal((K, M + K)) + 0.1 * private
        yield _slow_states(flow, rate, _vector(J, B))
    size = np.sqrt(np.mean(np.diag(T)))
    for scale in 10.0 ** rng.uniform(-1.0, 1.0, count):
        yield [_vector(size * scale * rng.standard_normal((K, M + K)) / np.sqrt(M + K), B)]


def _solutions(scenario: Scenario, B: np.ndarray) -> Iterator[np.ndarray]:
    """Student weights that repeat the teacher, if it can be repeated."""
    g, h = scenario.student.activation, scenario.teacher.activation
    (s_K, s_M), K, M = scenario.output_scale, scenario.K, scenario.M
    spare = K - M
    if eqx.tree_equal(g, h) is not True or s_K != s_M or spare < 0:
        return
    if spare == 0:
        yield B
    elif isinstance(g, PiecewiseLinear):  # g(x) = Σ g(x/n): the last teacher's students share it
        shares = np.arange(1.0, spare + 2)
        yield np.vstack([B[:-1], np.outer(shares / np.sum(shares), B[-1])])


def _slow_states(flow: Flow, rate: Rate, y: np.ndarray) -> Iterator[np.ndarray]:
    """States on the way from a start at which the motion is slowest, and the last one.

    Linearly implicit Euler steps of length 1/η need nothing that Newton's method does not.
    """
    way, speeds = [], []
    for _ in range(60):
        f, J = rates_and_jacobian(flow, rate, y)
        if not (np.all(np.isfinite(f)) and np.all(np.isfinite(J))) or np.max(np.abs(f)) > 1e3:
            break  # it diverges; slow states before that count
        way.append(y)
        speeds.append(float(np.max(np.abs(f))))
        try:
            y = y + np.linalg.solve(np.eye(len(f)) - J, f)
        except np.linalg.LinAlgError:
            break  # an eigenvalue of exactly η: there is no such step
    for k in range(1, len(way) - 1):
        if speeds[k - 1] >= speeds[k] <= speeds[k + 1]:
            yield way[k]
    yield from way[-1:]


def _vector(J: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.asarray(to_vector(unchecked(jnp.asarray(J @ J.T), jnp.asarray(J @ B.T), B @ B.T)))

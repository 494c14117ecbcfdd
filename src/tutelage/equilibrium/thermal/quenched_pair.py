"""Quenched free energy of K = 2 units, in the replica symmetric form.

Students overlap with teachers by R and S, with each other by C, and two replicas by q (the same
unit) and q' (the other unit).  On sums and differences of the two units, i = ±,

    U± = R ± S,      Q± = 1 ± C,      q± = q ± q',      D± = Q± − q±,      gap± = q± − U±²

    βf/K = −¼ Σ_i [ln D_i + gap_i/D_i] − α̃ ⟨L⟩,      L = ln ⟨exp(−β [σ(x) − τ(y) − ςζ]²/2)⟩_z
    x_i = U_i y_i + gap_i^½ ξ_i + D_i^½ z_i

for standard Gaussian y, ξ, ζ and z, with x± = (x_1 ± x_2)/√2.  With L_i = ∂L/∂x_i at a given z the
stationary points, by Price's theorem, are the fixed points of

    1/D_i = μ − 2α̃ ⟨L_ii⟩,    gap_i = 2α̃ D_i² ⟨L_i²⟩,    U_i = 2α̃ D_i (⟨y_i L_i⟩ − U_i ⟨L_ii⟩)

with μ from D+ + gap+ + U+² + D− + gap− + U−² = 2.  The derivatives of L are moments of z with the
weight of a student: nothing is differentiated, so that kinks do no harm.  The mean of
½ [σ − τ − ςζ]² with that weight is the training error.

Replica symmetry is stable where all eigenvalues of

    δ_ik δ_jl − 2α̃ (D_i D_j D_k D_l)^½ ⟨L_ik L_jl⟩

on changes of q_ij between two replicas are positive; Λ is the smallest one.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from tutelage._checks import ComputationError
from tutelage._jax import jax, jnp
from tutelage.activations import Activation
from tutelage.equilibrium.kernel.kernel import Kernel
from tutelage.equilibrium.symmetric.branches import follow_branches, state_at
from tutelage.equilibrium.symmetric.finite import FiniteTheory
from tutelage.equilibrium.symmetric.theory import Point
from tutelage.equilibrium.thermal.two_units import check_quadrature
from tutelage.equilibrium.thermal.values import Values

ROOT = math.sqrt(2)


class NodeCounts(NamedTuple):
    """Numbers of nodes of each field: y of the teachers, ξ, the noise ζ, and z."""

    y: int
    xi: int
    zeta: int
    z: int


# The rough rule leads starts to their fixed points, and the difference of the others is the error.
FINE, COARSE, ROUGH = NodeCounts(20, 8, 5, 14), NodeCounts(16, 7, 4, 12), NodeCounts(10, 6, 3, 10)
SMALLEST_WEIGHT = 1e-10
POINTS_PER_BLOCK = 512
# Half-range rules come from a rule with this many points, up to a field without weight.
LARGEST_FIELD, FIELD_POINTS = 9.0, 400
MAX_ITERATIONS, TOLERANCE = 400, 1e-9
# Of V, below which a state is unspecialized; distance of equal states; q − U² of starts in units of
# its largest value; step of the slope in V.
SMALLEST_V, SAME, FIRST_GAP, STEP_IN_V = 1e-4, 1e-5, 0.2, 1e-3
SLOPE_TOLERANCE = 1e-7  # of overlaps, for slopes in V
MAX_QUADRATURE_ERROR = 5e-3  # of overlaps


class PairOverlaps(NamedTuple):
    """U_i, D_i and gap_i, i = ±; shape (2,) each."""

    U: np.ndarray
    D: np.ndarray
    gap: np.ndarray

    @property
    def q(self) -> np.ndarray:
        """q±."""
        return self.gap + self.U**2

    @property
    def C(self) -> float:
        """Overlap of the two students."""
        Q = self.D + self.q
        return float(Q[0] - Q[1]) / 2


class ReplicaAverages(NamedTuple):
    """Averages over teachers, examples and replicas.

    log: ⟨L⟩.
    error: ⟨½ (σ − τ − ςζ)²⟩, with the weight of a student.
    along: ⟨y_i L_i⟩.
    squares: ⟨L_i²⟩.
    bend: ⟨L_ii⟩.
    pairs: ⟨L_ik L_jl⟩ with indices i, j, k, l.
    """

    log: float
    error: float
    along: np.ndarray
    squares: np.ndarray
    bend: np.ndarray
    pairs: np.ndarray


def _gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    x, w = np.polynomial.hermite_e.hermegauss(count)
    return x, w / np.sum(w)


@functools.cache
def half_range(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss rule for x > 0 of a standard Gaussian and its mirror image: 2 ``count`` nodes.

    From a fine rule by the Lanczos process (Golub and Welsch 1969).
    """
    t, w = np.polynomial.legendre.leggauss(FIELD_POINTS)
    x = LARGEST_FIELD * (1 + t) / 2
    v = np.sqrt(w * np.exp(-(x**2) / 2))
    basis = [v / np.linalg.norm(v)]
    diagonal, off_diagonal = [], []
    for _ in range(count):
        u = x * basis[-1]
        diagonal.append(float(u @ basis[-1]))
        for b in (*basis, *basis):  # a second pass removes the rounding of the first one
            u = u - (u @ b) * b
        off_diagonal.append(float(np.linalg.norm(u)))
        basis.append(u / off_diagonal[-1])
    J = np.diag(diagonal) + np.diag(off_diagonal[:-1], 1) + np.diag(off_diagonal[:-1], -1)
    nodes, vectors = np.linalg.eigh(J)
    weights = vectors[0] ** 2 / 2
    return np.concatenate([-nodes[::-1], nodes]), np.concatenate([weights[::-1], weights])


class PairAverage:
    """Quadrature over the fields of teachers and students.

    noise: the variance ς² of the labels.
    """

    def __init__(self, activation: Activation, beta: float, noise: float, nodes: NodeCounts = FINE):
        self.beta = beta
        unit = jax.jit(activation)
        self.unit = lambda x: np.asarray(unit(jnp.asarray(x)))
        y, w = half_range(nodes.y // 2) if activation.kinks else _gauss(nodes.y)
        xi, v = _gauss(nodes.xi)
        zeta, u = _gauss(nodes.zeta) if noise else (np.zeros(1), np.ones(1))
        # Exchanging both students and both teachers changes the sign of y−, ξ− and z−.
        once = np.triu(np.ones((len(y), len(y)))) + np.triu(np.ones((len(y), len(y))), 1)
        weights = np.einsum("ij,k,l,m->ijklm", once * np.outer(w, w), v, v, u).ravel()
        grid = np.stack([x.ravel() for x in np.meshgrid(y, y, xi, xi, zeta, indexing="ij")])
        large = weights > SMALLEST_WEIGHT * np.max(weights)
        y1, y2, *rest = grid[:, large]
        self.weights = weights[large] / np.sum(weights[large])
        self.y = np.stack([y1 + y2, y1 - y2]) / ROOT
        self.xi = np.stack(rest[:2])
        self.labels = (self.unit(y1) + self.unit(y2)) / ROOT + math.sqrt(noise) * rest[2]
        z, wz = _gauss(nodes.z)
        self.z = np.stack([x.ravel() for x in np.meshgrid(z, z, indexing="ij")])
        plus, minus = self.z
        powers = np.stack([np.ones_like(plus), plus, minus, plus**2, plus * minus, minus**2])
        self.powers = (powers * np.outer(wz, wz).ravel()).T

    def __call__(self, at: PairOverlaps) -> ReplicaAverages:
        total: Any = 0.0
        for first in range(0, len(self.weights), POINTS_PER_BLOCK):
            total = total + self._block(at, slice(first, first + POINTS_PER_BLOCK))
        pairs = total[8:].reshape(2, 2, 2, 2)
        return ReplicaAverages(total[0], total[1], total[2:4], total[4:6], total[6:8], pairs)

    def _block(self, at: PairOverlaps, part: slice) -> np.ndarray:
        """Return the averages of `ReplicaAverages` over a block of nodes, one after the other."""
        outer = at.U[:, None] * self.y[:, part] + np.sqrt(at.gap)[:, None] * self.xi[:, part]
        plus, minus = outer[..., None] + (np.sqrt(at.D)[:, None] * self.z)[:, None]
        outputs = (self.unit((plus + minus) / ROOT) + self.unit((plus - minus) / ROOT)) / ROOT
        halved = 0.5 * (outputs - self.labels[part, None]) ** 2
        lowest = np.min(halved, axis=-1, keepdims=True)
        density = np.exp(-self.beta * (halved - lowest))
        moments = density @ self.powers
        norm = moments[:, 0]
        error = (density * halved) @ self.powers[:, 0] / norm
        one = (moments[:, 1:3] / norm[:, None]).T
        two = (moments[:, [3, 4, 4, 5]] / norm[:, None]).T.reshape(2, 2, -1)
        L1 = one / np.sqrt(at.D)[:, None]
        scale = np.sqrt(np.outer(at.D, at.D))[..., None]
        L2 = (two - np.eye(2)[..., None] - one[:, None] * one[None]) / scale
        w = self.weights[part]
        log = np.log(norm) - self.beta * lowest[:, 0]
        return np.concatenate([
            [w @ log, w @ error],
            (self.y[:, part] * L1) @ w,
            L1**2 @ w,
            np.einsum("iip,p->i", L2, w),
            np.einsum("ikp,jlp,p->ijkl", L2, L2, w, optimize=True).ravel(),
        ])  # fmt: skip


class QuenchedPairTheory:
    """States of two units at a temperature above 0, quenched.

    noise: the variance ς² of the labels.
    """

    def __init__(self, activation: Activation, kernel: Kernel, temperature: float, noise: float):
        self.kernel, self.temperature, self.noise = kernel, temperature, noise
        self.average, self.coarser, self.rough = (
            PairAverage(activation, 1 / temperature, noise, nodes)
            for nodes in (FINE, COARSE, ROUGH)
        )

    def states(self, load: float) -> list[tuple[str, Values]]:
        """Return the kinds and values of all fixed points next to states of high temperature.

        R < S mirrors R > S.
        """
        starts = self._starts(load)
        states = []
        for at in self._solved(load, [x for x in starts if x.U[1] == 0]):
            kind = "agreeing" if at.gap[1] > 0 else "unspecialized"
            states.append((kind, self.values(load, at)))
        for at in self._solved(load, [x for x in starts if x.U[1] > 0]):
            values = self.values(load, at)
            states += [("R > S", values), ("R < S", values._replace(R=values.S, S=values.R))]
        return states

    def _starts(self, load: float) -> list[PairOverlaps]:
        """Return states of high temperature at several effective loads, with q between."""
        hot, starts = FiniteTheory(self.kernel, 2), []
        curves = follow_branches(hot)
        top = float(self.kernel.tilde(1.0))
        for width in (self.temperature, self.temperature + self.noise + 2 * top):
            points: list[Point | None] = [hot.unspecialized(load / width)]
            points += [state_at(hot, b, load / width) for b in curves.branches if b.sign > 0]
            for point in points:
                if point is None:
                    continue
                R, S, C = (float(x) for x in hot.order(point))
                U = np.array([R + S, float(point.V)])
                own = np.array([1 + C, 1 - C]) - U**2
                gap = FIRST_GAP * own
                starts.append(PairOverlaps(U, own - gap, gap))
                if U[1] == 0:
                    gap = gap * np.array([1.0, 0.0])
                    starts.append(PairOverlaps(U, own - gap, gap))
        return starts

    def _solved(self, load: float, starts: list[PairOverlaps]) -> list[PairOverlaps]:
        """Return the different fixed points to which starts lead, without those at V = 0 of starts
        V > 0, and with gap− = 0 where it vanishes within the tolerance.
        """
        rough: list[PairOverlaps] = []
        for start in starts:
            at = self.solve(load, start, self.rough, V=_held(start))
            if start.U[1] > 0 and at.U[1] < SMALLEST_V:
                continue
            if at.U[1] == 0 and at.gap[1] < SMALLEST_V**2:
                at = at._replace(gap=at.gap * np.array([1.0, 0.0]))
            if all(_distance(at, other) > SAME for other in rough):
                rough.append(at)
        return [self._refined(load, at) for at in rough]

    def solve(
        self,
        load: float,
        at: PairOverlaps,
        average: PairAverage | None = None,
        *,
        V: float | None = None,
        tolerance: float = TOLERANCE,
    ) -> PairOverlaps:
        """Iterate to a fixed point; V is held fixed if it is given."""
        average = average or self.average
        for _ in range(MAX_ITERATIONS):
            new = _mapped(average(at), load, at, V)
            change = _distance(new, at)
            at = new
            if change < tolerance:
                return at
            if V is None and 0 < at.U[1] < SMALLEST_V:
                return at._replace(U=at.U * np.array([1.0, 0.0]))
        raise ComputationError(
            "load",
            f"no fixed point of two units at the load {load:g}",
            f"after {MAX_ITERATIONS} steps overlaps still change by {change:.1g}: next to a "
            "transition they converge slowly",
            "a load further away from it, or tl.equilibrium.sample(..., examples=...)",
        )

    def _refined(self, load: float, rough: PairOverlaps) -> PairOverlaps:
        """Return a fixed point of the finer quadrature; refuse temperatures at which too few digits
        remain.
        """
        coarse = self.solve(load, rough, self.coarser, V=_held(rough))
        at = self.solve(load, coarse, V=_held(rough))
        error, instead = _distance(at, coarse), "temperature=0.5, a lower load"
        check_quadrature(self.temperature, error, MAX_QUADRATURE_ERROR, "overlaps", instead)
        return at

    def values(self, load: float, at: PairOverlaps) -> Values:
        """Return the reported numbers of a state."""
        moments, (U, V), C, q = self.average(at), at.U, at.C, at.q
        hot = FiniteTheory(self.kernel, 2)
        point = Point(V, hot.K * (U - 1), hot.K**2 * C)
        return Values(
            R=(U + V) / 2,
            q=float(np.sum(q)) / 2,
            susceptibility=math.nan,
            generalization_error=float(hot.error(point)),
            training_error=moments.error,
            free_energy_per_unit=_entropy(at) - load * moments.log,
            curvature=self.curvature(load, at),
            replicon=_replicon(moments, load, at),
            S=(U - V) / 2,
            C=C,
        )

    def curvature(self, load: float, at: PairOverlaps) -> float:
        """d²(βf/K)/dV² with all other overlaps at their extremum, a difference of slopes.

        Its sign decides, so that the coarser quadrature serves.  The slope is [V − V']/(2D−), V'
        the next V of the iteration.
        """
        V = float(at.U[1])

        def slope(V: float) -> float:
            gap = np.maximum(at.gap, np.array([0.0, STEP_IN_V**2]))
            start = at._replace(U=np.array([at.U[0], V]), gap=gap)
            held = self.solve(load, start, self.coarser, V=V, tolerance=SLOPE_TOLERANCE)
            moments = self.coarser(held)
            drive = moments.along[1] - V * moments.bend[1]
            return float(V / held.D[1] - 2 * load * drive) / 2

        return (slope(V + STEP_IN_V) - slope(V - STEP_IN_V)) / (2 * STEP_IN_V)


def _mapped(
    moments: ReplicaAverages, load: float, at: PairOverlaps, V: float | None = None
) -> PairOverlaps:
    """Return the next overlaps of the iteration; V replaces that of the equations."""
    bend = 2 * load * moments.bend
    squares = np.where(at.gap == 0, 0.0, 2 * load * moments.squares)
    drive = 2 * load * moments.along - bend * at.U

    def overlaps(mu: float) -> PairOverlaps:
        D = 1 / (mu - bend)
        U = D * drive if V is None else np.array([D[0] * drive[0], V])
        return PairOverlaps(U, D, D**2 * squares)

    def excess(mu: float) -> float:
        new = overlaps(mu)
        return float(np.sum(new.D + new.q)) - 2

    low = float(np.max(bend))
    width = 1 + abs(low)
    while excess(low + width) > 0:
        width *= 2
    return overlaps(brentq(excess, low + 1e-9 * width, low + width, xtol=1e-14))


def _held(at: PairOverlaps) -> float | None:
    """V = 0 of an unspecialized state, which is held; None where V is free."""
    return 0.0 if at.U[1] == 0 else None


def _distance(a: PairOverlaps, b: PairOverlaps) -> float:
    return max(float(np.max(np.abs(x - y))) for x, y in zip(a, b, strict=True))


def _entropy(at: PairOverlaps) -> float:
    """−¼ Σ [ln D + gap/D]."""
    return -0.25 * float(np.sum(np.log(at.D) + at.gap / at.D))


def _replicon(moments: ReplicaAverages, load: float, at: PairOverlaps) -> float:
    """Λ: the smallest eigenvalue of the stability matrix of replicas."""
    root = np.sqrt(at.D)
    scale = np.einsum("i,j,k,l->ijkl", root, root, root, root)
    matrix = np.eye(4) - 2 * load * (moments.pairs * scale).reshape(4, 4)
    return float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[0])

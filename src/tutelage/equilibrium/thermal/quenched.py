"""Quenched free energy of K → ∞ units at any temperature, in the replica symmetric form.

Students of norm one learn P = α̃ K N examples at temperature T = 1/β; the energy is Σ_μ ½ (σ − τ)²
with outputs scaled by 1/√K and Gaussian noise of variance ς² on the labels (``oostwal2019``
eqs. (14) to (16) before the limit β → 0).  R is the overlap with the unit's own teacher, q that of
two replicas of a unit, and κ̃ the kernel without its linear part, which is learned at once:

    βf/K = −½ ln(1−q) − (q−R²)/(2(1−q)) + (α̃/2) [ln(1 + βA) + β(B + ς²)/(1 + βA)]
    A = κ̃(1) − κ̃(q),      B = κ̃(1) − 2κ̃(R) + κ̃(q)

at its stationary points

    R/(1−q) = α̃ κ̃'(R)/(T+A),      (q−R²)/(1−q)² = α̃ (B+ς²) κ̃'(q)/(T+A)².

The first equation gives the load of a pair (R, q); what remains is one equation for q at given R,

    (q−R²) κ̃'(R)/R = (1−q) (B+ς²) κ̃'(q)/(T+A).

Everything is written in T and p = 1 − q: T = 0 with p > 0, where students interpolate the examples,
needs no limit.  The unknown is d = ln[(1−q)/(1−R²)] ≤ 0, whose range does not depend on R.
Replica symmetry is stable where the replicon

    Λ = 1 − α̃ p² [κ̃'(q)² + (B+ς²) κ̃''(q)]/(T+A)²

is positive.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from tutelage._types import FloatOrArray
from tutelage.equilibrium.kernel.kernel import Kernel
from tutelage.equilibrium.symmetric.scalar import InfiniteTheory
from tutelage.equilibrium.symmetric.theory import FOLD_TOLERANCE, Equations, Order, Point
from tutelage.equilibrium.thermal.near_one import NearOne
from tutelage.equilibrium.thermal.sheets import follow_roots
from tutelage.equilibrium.thermal.values import ReportsValues

# Newton steps towards a fold, and the relative difference of their Jacobian.
FOLD_STEPS, FOLD_DIFFERENCE = 12, 1e-5
STENCIL = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]])


class TeacherTerms(NamedTuple):
    """Terms of the equations that depend on R alone.

    own: 1 − R².
    ratio, rate: κ̃'(R)/R and its derivative.
    error: 2 [κ̃(1) − κ̃(R)] + ς².
    """

    R: np.ndarray
    own: np.ndarray
    ratio: np.ndarray
    rate: np.ndarray
    error: np.ndarray

    def at(self, index: Any) -> "TeacherTerms":
        """Return the terms at the selected values of R."""
        return TeacherTerms(*(x[index] for x in self))


class SaddlePointTerms(NamedTuple):
    """Terms of the equations of a state (R, q).

    p: 1 − q.
    gap: q − R².
    A, B, D: see the module; B includes the noise ς², and D is T + A.
    q1, q2: κ̃'(q) and κ̃''(q).
    half: p κ̃'(q)/D.
    """

    p: np.ndarray
    gap: np.ndarray
    A: np.ndarray
    B: np.ndarray
    D: np.ndarray
    q1: np.ndarray
    q2: np.ndarray
    half: np.ndarray


class QuenchedTheory(ReportsValues, InfiniteTheory):
    """Theory of states (R, q) at a temperature T ≥ 0; V is R, d is ln[(1−q)/(1−R²)], and c = 0.

    noise: the variance ς² of the labels.
    """

    def __init__(self, kernel: Kernel, temperature: float, noise: float = 0.0):
        super().__init__(kernel)
        self.temperature, self.noise = temperature, noise
        self.near = NearOne(kernel)

    def order(self, point: Point) -> Order:
        """R, S = 0 and C = 0; q is that of `replica_overlap`."""
        return super().order(point)

    def replica_overlap(self, point: Point) -> Any:
        """q."""
        R, d = np.asarray(point.V, dtype=float), np.asarray(point.d, dtype=float)
        return R**2 - (1 - R) * (1 + R) * np.expm1(d)

    def unspecialized(self, load: FloatOrArray) -> Point:
        """R = q = 0 at every load."""
        return Point(*np.zeros((3, *np.shape(load))))

    def is_inside(self, point: Point) -> Any:
        return (np.abs(point.V) < 1) & (np.asarray(point.d) <= 0)

    def teacher_terms(self, R: Any) -> TeacherTerms:
        """Return the terms that depend on R alone."""
        R = np.asarray(R, dtype=float)
        error = 2 * self.near.drop(1 - R) + self.noise
        return TeacherTerms(R, (1 - R) * (1 + R), *self._ratio(R), error)

    def terms(self, teacher: TeacherTerms, d: np.ndarray) -> SaddlePointTerms:
        """Return the terms that depend on q."""
        p, gap = teacher.own * np.exp(d), -teacher.own * np.expm1(d)
        A, q1, q2 = self.near(p, teacher.R**2 + gap)
        D = self.temperature + A
        return SaddlePointTerms(p, gap, A, teacher.error - A, D, q1, q2, p * q1 / D)

    def _terms_at(self, point: Point) -> tuple[TeacherTerms, SaddlePointTerms]:
        R, d = np.broadcast_arrays(
            np.asarray(point.V, dtype=float), np.asarray(point.d, dtype=float)
        )
        teacher = self.teacher_terms(R)
        return teacher, self.terms(teacher, d)

    def residual(self, teacher: TeacherTerms, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Return F of the equation of q, ∂F/∂d, and the size of the two terms that F subtracts."""
        return _residual(teacher, self.terms(teacher, d))

    def equations(self, point: Point) -> Equations:
        """The equation of q at given R, and 1/α̃ = (1−q) (κ̃'(R)/R)/(T+A)."""
        teacher, x = self._terms_at(point)
        R, own, ratio, rate, _ = teacher
        F, F_d, _ = _residual(teacher, x)
        inverse = x.p * ratio / x.D
        turn = -2 * R / own  # ∂ ln p/∂R at given d
        along = -2 * R * ratio + x.gap * rate + 2 * x.half * R * ratio + turn * F_d
        in_load = inverse * (1 - x.half)
        none, one = np.zeros_like(F), np.ones_like(F)
        return Equations(
            F=np.stack([F, none], -1),
            J=np.stack([F_d, none, none, one], -1).reshape(*F.shape, 2, 2),
            along=np.stack([along, none], -1),
            inverse=inverse,
            gradient=np.stack([x.p * rate / x.D + turn * in_load, in_load, none], -1),
        )

    def fold(self, left: Point, right: Point) -> Point:
        """Solve F = 0 and dα̃/dR = 0 for (R, d), by Newton's method with a Jacobian of differences.

        Bisection takes over where Newton's method leaves the interval: it solves for d anew at
        every R, which takes four times as long.
        """
        x = 0.5 * (np.array(left[:2]) + np.array(right[:2]))
        for _ in range(FOLD_STEPS):
            scale = FOLD_DIFFERENCE * np.array([min(abs(x[0]), 1 - abs(x[0])), abs(x[1])])
            residual = self._fold_residual(*(x + scale * STENCIL).T)
            J = (residual[1:3] - residual[3:]).T / (2 * scale)
            if not np.all(np.isfinite(J)) or np.linalg.det(J) == 0:
                break
            step = np.linalg.solve(J, residual[0])
            x = x - step
            if not (left.V < x[0] < right.V and x[1] < 0):
                break
            if np.all(np.abs(step) <= FOLD_TOLERANCE * np.abs(x)):
                return self.at(float(x[0]), Point(x[0], x[1], 0.0))
        return super().fold(left, right)

    def _fold_residual(self, R: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return F and −(∂F/∂d) d(1/α̃)/dR along the curve F = 0, on the last axis."""
        at = self.equations(Point(R, d, np.zeros_like(R)))
        F, F_R, F_d = at.F[..., 0], at.along[..., 0], at.J[..., 0, 0]
        return np.stack([F, at.gradient[..., 1] * F_R - at.gradient[..., 0] * F_d], -1)

    def error(self, point: Point) -> Any:
        """ε_g = κ̃(1) − κ̃(R)."""
        return self.near.drop(1 - np.asarray(point.V, dtype=float))

    def sheets(self) -> list[Point]:
        """All solutions (R, q), as curves at increasing R."""
        return follow_roots(self)

    def free_energy(self, load: FloatOrArray, point: Point) -> Any:
        """βf/K − (α̃/2) ln(1 + βκ̃(1)), without terms that all states at a load share."""
        _, x = self._terms_at(point)
        entropy = 0.5 * (np.log(x.p) + x.gap / x.p)
        return load * self._per_load(x) - entropy

    def load_derivative(self, point: Point) -> Any:
        """∂/∂α̃ of `free_energy`, with 1 + βA = (1 + βκ̃(1)) (1 − κ̃(q)/(T + κ̃(1)))."""
        return self._per_load(self._terms_at(point)[1])

    def _per_load(self, x: SaddlePointTerms) -> Any:
        top = self.temperature + self.near.top
        return (np.log1p((x.A - self.near.top) / top) + x.B / x.D) / 2

    @property
    def common(self) -> float:
        """½ ln(1 + βκ̃(1)), the term omitted in `load_derivative`; at T = 0 without ½ ln β."""
        T, top = self.temperature, self.near.top
        return 0.5 * (math.log1p(top / T) if T > 0 else math.log(top))

    def training_error(self, point: Point) -> Any:
        """⟨½ (σ − τ)²⟩ over the training examples: ∂(βf/K)/∂β /α̃."""
        (_, x), T = self._terms_at(point), self.temperature
        return 0.5 * T * (x.A / x.D + T * x.B / x.D**2)

    def replicon(self, load: FloatOrArray, point: Point) -> Any:
        """Λ; replica symmetry is stable where it is positive."""
        _, x = self._terms_at(point)
        with np.errstate(invalid="ignore", over="ignore"):
            return 1 - load * (x.p / x.D) ** 2 * (x.q1**2 + x.B * x.q2)

    def _curvature(self, load: FloatOrArray, point: Point) -> np.ndarray:
        """d²(βf/K)/dR² with q eliminated: φ_RR − φ_Rq²/φ_qq."""
        (R, _, ratio, _, _), x = self._terms_at(point)
        RR = 1 / x.p - load * self.kernel.second(R) / x.D
        Rq = R / x.p**2 - load * R * ratio * x.q1 / x.D**2
        bend = x.q1**2 + x.B * x.q2 + 2 * x.B * x.q1**2 / x.D
        qq = -1 / (2 * x.p**2) - x.gap / x.p**3 + load / 2 * bend / x.D**2
        # At R = 0 both order parameters decouple, also where q is marginal, qq = 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(RR - np.where(R == 0, 0.0, Rq**2 / qq))

    def matrices(self, load: FloatOrArray, point: Point) -> dict[str, np.ndarray]:
        """The second derivative in R, and the replicon of fluctuations between replicas."""
        own, between = self._curvature(load, point), self.replicon(load, point)
        return {
            "trivial": np.asarray(own)[..., None, None],
            "replicon": np.asarray(between)[..., None, None],
        }

    # The load at which the state R = q = 0 becomes unstable.

    def specialization_load(self) -> float | None:
        """α̃ = (T + κ̃(1))/κ̃''(0), where R = q = 0 turns unstable towards R; None if it never does.

        κ̃''(0) is 2c_2².  Below the Nishimori temperature T = ς² students agree with each other
        first (`agreement_load`).
        """
        bend = float(self.kernel.second(0.0))
        return (self.temperature + self.near.top) / bend if bend > 0 else None

    def agreement_load(self) -> float | None:
        """α̃_g = (T + κ̃(1))²/(κ̃''(0) (κ̃(1) + ς²)), where q grows from 0 at R = 0."""
        first = self.specialization_load()
        return (
            None
            if first is None
            else first * (self.temperature + self.near.top) / (self.near.top + self.noise)
        )

    def agreeing_load(self, d: FloatOrArray) -> Any:
        """α̃ of the state R = 0 with a given ln(1−q): q/(1−q)² = α̃ (B+ς²) κ̃'(q)/(T+A)²."""
        d = np.asarray(d, dtype=float)
        x = self.terms(self.teacher_terms(0.0), d)
        ratio = self._ratio(-np.expm1(d))[0]  # κ̃'(q)/q
        with np.errstate(divide="ignore", invalid="ignore"):
            return (x.D / x.p) ** 2 / (x.B * ratio)


def _residual(teacher: TeacherTerms, x: SaddlePointTerms) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return F = gap κ̃'(R)/R − p B κ̃'(q)/D, ∂F/∂d, and the size of both terms."""
    first, second = x.gap * teacher.ratio, x.half * x.B
    # A falls with q at the rate κ̃'(q), B grows with it; ∂/∂d is −p ∂/∂q at given R.
    in_d = second - x.p * (x.p * x.q2 * x.B + x.p * x.q1**2) / x.D - x.half * second
    return first - second, -x.p * teacher.ratio - in_d, np.abs(first) + np.abs(second)

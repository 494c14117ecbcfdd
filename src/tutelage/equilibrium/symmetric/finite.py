"""Stationary points of the site-symmetric free energy for 2 ≤ K < ∞, with one scaling.

For R_ii = R, R_ij = S, Q_ij = C (``oostwal2019`` eqs. (10), (19), (20)) let U = R + (K−1)S and
V = R − S.  With A = 1 + (K−1)C − U² and B = 1 − C − V² a stationary point has

    αKκ'(R) = U/A + (K−1)V/B,   αKκ'(S) = U/A − V/B,   αKκ'(C) = 1/A − 1/B.

α and the reciprocals can be eliminated.  With D = [κ'(R) − κ'(S)]/V, which becomes κ''(R) at
V = 0, a specialized state is a pair (U, C) for a given V, and its load follows:

    U [Kκ'(C) + D] = Kκ'(S) + VD,      DB = [κ'(C) + D/K] KA,      α = 1/(DB).

For large K the units learn the linear part at once: U − 1 and A are of order 1/K, C of order
1/K².  The unknowns here are therefore d = K(U − 1) and c = K²C, of order one for every K.

In the unspecialized state V = 0 and B = 1 − C.  The third condition gives KA for a given C, and
with it U from A = 1 + (K−1)C − U²; what remains is one equation for C,

    U [κ'(C) + 1/(αKB)] = κ'(S).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from tutelage._types import FloatOrArray
from tutelage.equilibrium.kernel.kernel import Kernel
from tutelage.equilibrium.symmetric import tracing
from tutelage.equilibrium.symmetric.stability import (
    antisymmetric_block,
    pairs_block,
    standard_block,
    trivial_block,
)
from tutelage.equilibrium.symmetric.theory import (
    MAX_STEPS,
    TOLERANCE,
    Equations,
    Order,
    Point,
    Theory,
    divided,
)
from tutelage.solve.newton import newton


class Overlap(NamedTuple):
    """R, S and C, and the two factors of the entropy, KA and B."""

    R: Any
    S: Any
    C: Any
    KA: Any
    B: Any


class FiniteTheory(Theory):
    """Theory of one activation and a finite number of units K ≥ 2."""

    def __init__(self, kernel: Kernel, units: int):
        self.kernel, self.units = kernel, float(units)
        self.K, self.n = float(units), 1.0 / units
        self.tilde_at_one = float(kernel.tilde(1.0))
        self.size = _size_of_unknowns(kernel)

    def overlap(self, point: Point) -> Overlap:
        """R, S, C, KA and B of a point, without differences of large numbers."""
        n, (V, d, c) = self.n, point
        S = n * (1 - V + n * d)
        C = n * n * c
        KA = (1 - n) * c - d * (2 + n * d)
        return Overlap(V + S, S, C, KA, (1 - V) * (1 + V) - C)

    def error(self, point: Point) -> Any:
        """ε_g = κ(1) − κ(R) + (K−1)[½κ(0) + ½κ(C) − κ(S)]   (``oostwal2019`` eq. (9)).

        The linear part of κ contributes κ'(0) [½(K−1)C − (U−1)], the constant nothing.
        """
        n, k, (_, d, c) = self.n, self.kernel, point
        at = self.overlap(point)
        linear = k.slope * n * (0.5 * (1 - n) * c - d)
        others = (self.K - 1) * (0.5 * k.tilde(at.C) - k.tilde(at.S))
        return linear + self.tilde_at_one - k.tilde(at.R) + others

    def free_energy(self, load: FloatOrArray, point: Point) -> Any:
        """βf/K = α ε_g − s/K, s = ½ ln A + ½(K−1) ln B   (eqs. (19), (20))."""
        n, at = self.n, self.overlap(point)
        entropy = 0.5 * n * np.log(n * at.KA) + 0.5 * (1 - n) * np.log(at.B)
        return load * self.error(point) - entropy

    def order(self, point: Point) -> Order:
        at = self.overlap(point)
        return Order(at.R, at.S, at.C)

    def is_inside(self, point: Point) -> Any:
        at = self.overlap(point)
        return (np.abs(at.R) < 1) & (np.abs(at.S) < 1) & (np.abs(at.C) < 1)

    def is_state(self, point: Point) -> Any:
        """True where the entropy is a number and the load of the specialized curve positive."""
        at = self.overlap(point)
        return (at.B > 0) & (at.KA > 0) & (divided(self.kernel, self.n, point.V, at.R, at.S)[0] > 0)

    def trace(self) -> Point:
        return tracing.trace(self)

    def limit(self, V: np.ndarray) -> Point:
        """States of the specialized curve for large K, the starting guess for every K.

        κ'(0) d = (1−V)[κ''(0) − D] and κ'(0)(c − 2d) = D(1−V²).  If κ is even, R = V and
        S = C = 0 are the states of every K.
        """
        k, n = self.kernel, self.n
        if k.slope == 0:
            return Point(V, self.K * (V - 1), np.zeros_like(V))
        at_zero = V == 0
        D = k.tilde_first(np.clip(V, -1, 1)) / np.where(at_zero, 1.0, V)
        D = np.where(at_zero, k.second(0.0), D)
        d = (1 - V) * (k.second(0.0) - D) / k.slope * (1 - n)
        return Point(V, d, 2 * d + D * (1 - V) * (1 + V) / k.slope)

    def equations(self, point: Point) -> Equations:
        """The two equations for (d, c) at a given V, and 1/α = DB."""
        n, k, V, d = self.n, self.kernel, point.V, point.d
        at = self.overlap(point)
        D, D_V, D_U = divided(k, n, V, at.R, at.S)
        D_d = n * D_U
        pair = np.stack([at.S, at.C])
        (t_S, t_C), (k2_S, k2_C) = k.tilde_first(pair), k.second(pair)
        k1_C = k.slope + t_C
        P, KA_d = k1_C + n * D, -2 * (1 + n * d)
        F = np.stack([d * P - self.K * (t_S - t_C) - (V - 1) * D, D * at.B - P * at.KA], -1)
        J = np.stack([
            P + n * d * D_d - n * k2_S - (V - 1) * D_d,
            n * k2_C * (1 + n * d),
            D_d * at.B - n * D_d * at.KA - P * KA_d,
            -n * n * D - n * n * k2_C * at.KA - P * (1 - n),
        ], -1)  # fmt: skip
        along = np.stack([
            n * d * D_V + k2_S - D - (V - 1) * D_V,
            D_V * at.B - 2 * V * D - n * D_V * at.KA,
        ], -1)  # fmt: skip
        gradient = np.stack([D_V * at.B - 2 * V * D, D_d * at.B, -n * n * D + 0 * D], -1)
        return Equations(F, J.reshape(*np.shape(D), 2, 2), along, D * at.B, gradient)

    def unspecialized(self, load: FloatOrArray) -> Point:
        """The state R = S at a load; R = S = C = 0 at load 0, and for activations without a linear
        part.
        """
        loads = np.atleast_1d(np.asarray(load, dtype=float))
        d, c = np.full(len(loads), -self.K), np.zeros(len(loads))
        learns = loads > 0
        if self.kernel.slope > 0 and np.any(learns):
            d[learns], c[learns] = self._unspecialized(loads[learns])
        return Point(*(x.reshape(np.shape(load))[()] for x in (0 * d, d, c)))

    def _unspecialized(self, loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve for d and c by Newton's method, or by bisection where it fails."""

        def residual(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            value, slope, d = self._excess(loads, self.size * x[:, 0])
            scale = 1 + np.abs(d) + 1 / loads
            # where the function falls, a step leads to another root
            slope = np.where(slope > 0, slope, np.nan)
            return (value / scale)[:, None], (self.size * slope / scale)[:, None, None]

        start = self._linear_kernel(loads)[:, None] / self.size
        root = newton(residual, start, steps=MAX_STEPS, tolerance=TOLERANCE)
        c = self.size * root.x[:, 0]
        for i in np.flatnonzero(~root.converged):
            c[i] = self._bracketed(float(loads[i]))
        return self._excess(loads, c)[2], c

    def _excess(self, load: FloatOrArray, c: FloatOrArray) -> tuple[Any, Any, Any]:
        """The equation at c, its derivative, and d; NaN where no U belongs to c."""
        n, k = self.n, self.kernel
        C = n * n * np.asarray(c)
        allowed = np.abs(C) < 1
        C = np.where(allowed, C, 0.0)
        rest, B = 1 / (load * (1 - C)), 1 - C
        t_C, k2_C = k.tilde_first(C), k.second(C)
        P = k.slope + t_C + n * rest
        P_c = n * n * (k2_C + n * rest / B)
        KA = 1 / (load * P)
        w = KA - (1 - n) * np.asarray(c)  # n d² + 2 d + w = 0
        allowed = allowed & (n * w < 1)
        root = np.sqrt(np.where(allowed, 1 - n * w, 1.0))
        d = -w / (1 + root)
        d_c = (KA * P_c / P + 1 - n) / (2 * root)
        S = np.where(allowed, n * (1 + n * d), 0.0)
        t_S, k2_S = k.tilde_first(S), k.second(S)
        value = d * P - self.K * (t_S - t_C) + rest
        slope = d_c * P + d * P_c - n * k2_S * d_c + n * k2_C + n * n * rest / B
        return tuple(np.where(allowed, x, np.nan) for x in (value, slope, d))  # type: ignore

    def _bracketed(self, load: float) -> float:
        """Solve by bisection, between the lowest C at which U is real and C = 1."""
        K = self.K
        low, high = -(K**2) / (K - 1) * (1 - 1e-12), K * K * (1 - 1e-12)

        def excess(c):
            value = float(self._excess(load, c)[0])
            return -1.0 if math.isnan(value) else value  # below the lowest C: C has to grow

        return float(brentq(excess, low, high, xtol=1e-15, rtol=1e-15 * 4))

    def _linear_kernel(self, load: np.ndarray) -> np.ndarray:
        """c for κ' = κ'(0) everywhere; with t = αKκ'(0), y = A/B = 1 − U is a root of

            t y³ − (2t+1) y² + (2−K − (K−1)t) y + K−1 = 0,

        the one between 0 and 1; the other two are negative and beyond 1 (Viète's formula).
        """
        K, t = self.K, load * self.K * self.kernel.slope
        b, c, d = -(2 + 1 / t), (2 - K) / t - (K - 1), (K - 1) / t
        p, q = c - b * b / 3, (2 * b**3 - 9 * b * c + 27 * d) / 27
        r = 2 * np.sqrt(-p / 3)
        angle = np.arccos(np.clip(3 * q / (p * r), -1, 1)) / 3
        y = np.clip(r * np.cos(angle - 2 * math.pi / 3) - b / 3, 1e-300, 1.0)
        for _ in range(3):  # recover digits lost in the differences above
            step = (((y + b) * y + c) * y + d) / ((3 * y + 2 * b) * y + c)
            y = np.clip(y - step, 1e-300, 1.0)
        return K * K * (1 - (1 - y) / (t * y))

    def hessian(self, load: float, point: Point) -> np.ndarray:
        """Second derivatives of βf(R, S, C), ``oostwal2019`` eq. (20), shape (3, 3)."""
        K, k, at = self.K, self.kernel, self.overlap(point)
        A, U, V = self.n * at.KA, 1 + self.n * point.d, point.V
        dU, dV = np.array([1, K - 1, 0.0]), np.array([1, -1, 0.0])
        dA = np.array([-2 * U, -2 * (K - 1) * U, K - 1])
        dB = np.array([-2 * V, 2 * V, -1.0])
        k2 = k.second(np.array([at.R, at.S, at.C]))
        energy = load * K * k2 * np.array([-1, -(K - 1), (K - 1) / 2])
        mean = np.outer(dA, dA) / (2 * A**2) + np.outer(dU, dU) / A
        rest = np.outer(dB, dB) / (2 * at.B**2) + np.outer(dV, dV) / at.B
        return np.diag(energy) + mean + (K - 1) * rest

    def matrices(self, load: FloatOrArray, point: Point) -> dict[str, np.ndarray]:
        """Return the blocks of all representations of K units."""
        K, at = self.K, self.overlap(point)
        k2 = self.kernel.second(np.stack([at.R, at.S, at.C]))
        a, b, U, V = K / at.KA, 1 / at.B, 1 + self.n * point.d, point.V
        blocks = {
            "trivial": trivial_block(load, K, U, V, a, b, k2),
            "standard": standard_block(load, K, U, V, a, b, k2),
        }
        if K > 3:
            blocks["[K-2, 2]"] = pairs_block(load, V, b, k2[1], k2[2])
        if K > 2:
            blocks["[K-2, 1, 1]"] = antisymmetric_block(load, b, k2[1])
        return blocks


def _size_of_unknowns(kernel: Kernel) -> float:
    """Return κ''(0)/κ'(0), the size of d and c (`FiniteTheory.limit`), or 1 if it is larger.

    Newton's method stops at steps that are rounding relative to 1 + |x|.  For nearly linear units
    d and c are far below 1; in units of their size all their digits are found.  A power of two
    rounds nothing.
    """
    if kernel.slope == 0:
        return 1.0
    ratio = float(kernel.second(0.0)) / kernel.slope
    return 2.0 ** math.floor(math.log2(ratio)) if 0 < ratio < 1 else 1.0

"""The site-symmetric free energy and its stationary points, scaled so that every K is alike.

For R_ii = R, R_ij = S, Q_ij = C (``oostwal2019`` eqs. (10), (19), (20)) let U = R + (K−1)S and
V = R − S.  With A = 1 + (K−1)C − U² and B = 1 − C − V² a stationary point has

    αKκ'(R) = U/A + (K−1)V/B,   αKκ'(S) = U/A − V/B,   αKκ'(C) = 1/A − 1/B.

α and the reciprocals can be eliminated.  With D = [κ'(R) − κ'(S)]/V, which becomes κ''(R) at
V = 0, a specialized state is a pair (U, C) for a given V, and its load follows:

    U [Kκ'(C) + D] = Kκ'(S) + VD,      DB = [κ'(C) + D/K] KA,      α = 1/(DB).

For large K the units learn the linear part at once: U − 1 and A are of order 1/K, C of order
1/K².  The unknowns here are therefore d = K(U − 1) and c = K²C, of order one for every K.
"""

from typing import Any, NamedTuple

import numpy as np

from tutelage.equilibrium.kernel.kernel import Kernel

# Below this |V| differences over V are integrals over the derivative: Gauss–Legendre with ten
# points is exact to (|V|/2r)^20, r ≥ 0.1 the distance to a singularity at ±1 that matters.
SMALL = 0.02
_X, _W = np.polynomial.legendre.leggauss(10)
NODES, WEIGHTS = (1 + _X) / 2, _W / 2  # on [0, 1]


class Point(NamedTuple):
    """V = R − S, d = K(U − 1), c = K²C: numbers, or arrays of the same shape."""

    V: Any
    d: Any
    c: Any


class Overlap(NamedTuple):
    """R, S and C, and the two factors of the entropy, KA and B."""

    R: Any
    S: Any
    C: Any
    KA: Any
    B: Any


class Site:
    """One activation and a number of units K ≥ 2."""

    def __init__(self, kernel: Kernel, units: int):
        self.kernel, self.K, self.n = kernel, float(units), 1.0 / units
        self.tilde_at_one = float(kernel.tilde(1.0))

    def overlap(self, point: Point) -> Overlap:
        """R, S, C, KA and B of a point; no difference of large numbers is taken."""
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

    def free_energy(self, load: Any, point: Point) -> Any:
        """βf/K = α ε_g − s/K, s = ½ ln A + ½(K−1) ln B   (eqs. (19), (20))."""
        n, at = self.n, self.overlap(point)
        entropy = 0.5 * n * np.log(n * at.KA) + 0.5 * (1 - n) * np.log(at.B)
        return load * self.error(point) - entropy

    def load(self, point: Point) -> Any:
        """α = 1/(DB) of a specialized point; infinite or negative where there is none."""
        at = self.overlap(point)
        with np.errstate(divide="ignore"):
            return 1 / (self.divided(point.V, at)[0] * at.B)

    def divided(self, V: Any, at: Overlap) -> tuple[Any, Any, Any]:
        """D = [κ'(R) − κ'(S)]/V, and its derivatives in V and in U with the other held."""
        if np.ndim(V) == 0:
            return self._integrated(V, at) if abs(V) < SMALL else self._differences(V, at)
        small, found = np.abs(V) < SMALL, np.empty((3, *np.shape(V)))
        for mask, method in ((small, self._integrated), (~small, self._differences)):
            part = at._replace(R=at.R[mask], S=at.S[mask])
            found[:, mask] = np.stack(method(V[mask], part))
        return found[0], found[1], found[2]

    def _differences(self, V, at):
        n, k = self.n, self.kernel
        ends = np.stack([at.S, at.R])
        first, second = k.tilde_first(ends), k.second(ends)
        D = (first[1] - first[0]) / V
        return D, ((1 - n) * second[1] + n * second[0] - D) / V, n * (second[1] - second[0]) / V

    def _integrated(self, V, at):
        rho = np.multiply.outer(V, NODES) + np.asarray(at.S)[..., None]
        third = self.kernel.third(rho) * WEIGHTS
        D = self.kernel.second(rho) @ WEIGHTS
        return D, third @ (NODES - self.n), self.n * np.sum(third, axis=-1)


class Equations(NamedTuple):
    """Two residuals, their derivatives in (d, c), and their derivative in V."""

    F: np.ndarray
    J: np.ndarray
    along: np.ndarray


def specialized(site: Site, point: Point) -> tuple[Equations, tuple[Any, np.ndarray]]:
    """The two equations for (d, c) at a given V; and DB = 1/α with its gradient in (V, d, c)."""
    n, k, V, d = site.n, site.kernel, point.V, point.d
    at = site.overlap(point)
    D, D_V, D_U = site.divided(V, at)
    D_d = n * D_U
    pair = np.stack([at.S, at.C])
    (t_S, t_C), (k2_S, k2_C) = k.tilde_first(pair), k.second(pair)
    k1_C = k.slope + t_C
    P, KA_d = k1_C + n * D, -2 * (1 + n * d)
    F = np.stack([d * P - site.K * (t_S - t_C) - (V - 1) * D, D * at.B - P * at.KA], -1)
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
    return Equations(F, J.reshape(*np.shape(D), 2, 2), along), (D * at.B, gradient)

"""The free energy of oostwal2019 in 30 digits, written from eqs. (11), (12), (19) and (20).

Nothing here comes from the library.  Roots are found by mpmath's own Newton iteration, from
starting points that a caller may take anywhere.
"""

from mpmath import mp

mp.dps = 30


def erf_kernel():
    """κ, κ' and κ'' of erf(x/√2)."""
    return (
        lambda r: 2 / mp.pi * mp.asin(r / 2),
        lambda r: 2 / mp.pi / mp.sqrt(4 - r**2),
        lambda r: 2 / mp.pi * r / (4 - r**2) ** mp.mpf("1.5"),
    )


def relu_kernel():
    """κ, κ' and κ'' of max(0, x)."""
    return (
        lambda r: r / 4 + (mp.sqrt(1 - r**2) + r * mp.asin(r)) / (2 * mp.pi),
        lambda r: mp.mpf(1) / 4 + mp.asin(r) / (2 * mp.pi),
        lambda r: 1 / (2 * mp.pi * mp.sqrt(1 - r**2)),
    )


def leaky_kernel(slope):
    """κ, κ' and κ'' of (1 + slope) x/2 + (1 − slope) |x|/2, from that of |x|; slope is a float."""
    odd, even = ((1 + mp.mpf(slope)) / 2) ** 2, 2 / mp.pi * ((1 - mp.mpf(slope)) / 2) ** 2
    return (
        lambda r: odd * r + even * (mp.sqrt(1 - r**2) + r * mp.asin(r)),
        lambda r: odd + even * mp.asin(r),
        lambda r: even / mp.sqrt(1 - r**2),
    )


KERNELS = {"Erf": erf_kernel(), "ReLU": relu_kernel()}


class Landscape:
    """βf(R, S, C) = αKε_g − s for one kernel and K units."""

    def __init__(self, kernel, K):
        result = KERNELS[kernel] if isinstance(kernel, str) else kernel
        self.kappa, self.first, self.second = result
        self.K = K

    def error(self, R, S, C):
        k, K = self.kappa, self.K
        zero, one = mp.mpf(0), mp.mpf(1)
        return k(one) - k(R) + (K - 1) * (k(zero) / 2 + k(C) / 2 - k(S))

    def free_energy(self, a, R, S, C):
        K = self.K
        A, B = 1 + (K - 1) * C - (R + (K - 1) * S) ** 2, 1 - C - (R - S) ** 2
        return a * K * self.error(R, S, C) - mp.log(A) / 2 - (K - 1) * mp.log(B) / 2

    def gradient(self, a, R, S, C):
        """−∂βf/∂R, −∂βf/∂S/(K−1), 2∂βf/∂C/(K−1)."""
        K = self.K
        U, V = R + (K - 1) * S, R - S
        A, B = 1 + (K - 1) * C - U**2, 1 - C - V**2
        return [
            a * K * self.first(R) - U / A - (K - 1) * V / B,
            a * K * self.first(S) - U / A + V / B,
            a * K * self.first(C) - 1 / A + 1 / B,
        ]

    def hessian(self, a, R, S, C):
        """Second derivatives of βf in (R, S, C)."""

        def f(*x):
            return self.free_energy(a, *x)

        return mp.matrix(3, 3) + mp.matrix(
            [
                [mp.diff(f, (R, S, C), tuple(int(i == k) + int(j == k) for k in range(3)))
                 for j in range(3)]
                for i in range(3)
            ]
        )  # fmt: skip

    def coexistence(self, start, tolerance=1e-40):
        """α, R, S, C of the specialized and x, C of the unspecialized state, at equal βf."""

        def equations(a, R, S, C, x, C0):
            flat = self.gradient(a, x, x, C0)
            difference = self.free_energy(a, R, S, C) - self.free_energy(a, x, x, C0)
            return [*self.gradient(a, R, S, C), flat[0], flat[2], difference]

        return mp.findroot(equations, start, tol=tolerance, maxsteps=60)

    def instability(self, start):
        """α, R = S and C where the unspecialized state has α B κ''(R) = 1."""

        def equations(a, x, C):
            flat = self.gradient(a, x, x, C)
            return [flat[0], flat[2], a * (1 - C) * self.second(x) - 1]

        return mp.findroot(equations, start, tol=1e-40)

    def fold(self, start):
        """α, R, S, C where the Hessian of a specialized state is singular."""

        def equations(a, R, S, C):
            return [*self.gradient(a, R, S, C), mp.det(self.hessian(a, R, S, C))]

        return mp.findroot(equations, start, tol=1e-25, maxsteps=60)

    def state(self, a, start):
        """R, S, C of the stationary state next to a start."""
        return mp.findroot(lambda R, S, C: self.gradient(mp.mpf(a), R, S, C), start, tol=1e-40)

"""κ̃ as a function of p = 1 − ρ, so that κ̃(1) − κ̃(ρ) and κ̃'' keep all digits next to ρ = 1.

With cos θ = ρ the functions

    [κ̃(1) − κ̃(ρ)]/p,        κ̃'(ρ),        κ̃''(ρ) sin θ   (without the sine if g has no kink)

are smooth in θ, also for an activation with kinks.  They are tabulated as Chebyshev polynomials on
panels that shrink towards θ = 0, and evaluated at θ = 2 asin √(p/2), which keeps the digits of p.
"""

import math
from typing import Any

import numpy as np

from tutelage._types import FloatOrArray
from tutelage.equilibrium.kernel.kernel import Kernel
from tutelage.equilibrium.kernel.table import chebyshev_coefficients, chebyshev_points

# Beyond this p there is no cancellation, and the kernel itself has full relative accuracy at small
# ρ.
MAX_TABULATED_P = 0.7
POINTS_PER_PANEL = 20
ORDERS = np.arange(POINTS_PER_PANEL)
PANELS = 8  # each four times as wide as the previous one
_X, _W = np.polynomial.legendre.leggauss(20)
NODES, WEIGHTS = (1 + _X) / 2, _W / 2  # on [0, 1]


def angle(p: FloatOrArray) -> np.ndarray:
    """θ with cos θ = 1 − p."""
    return 2 * np.arcsin(np.sqrt(np.asarray(p, dtype=float) / 2))


class NearOne:
    """κ̃(1) − κ̃(1 − p), κ̃'(1 − p) and κ̃''(1 − p), accurate relative to p.

    top, slope: κ̃(1) and κ̃'(1).

    >>> import tutelage as tl
    >>> from tutelage.equilibrium.kernel.kernel import kernel_of
    >>> near = NearOne(kernel_of(tl.ReLU()))
    >>> print(f"{float(near.drop(1e-12)):.6e}")  # κ̃'(1) p to first order, κ̃'(1) = 1/4
    2.499998e-13
    """

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.top = float(kernel.tilde(1.0))
        self.slope = float(kernel.tilde_first(1.0))
        self.is_kinked = not math.isfinite(float(kernel.second(1.0)))
        end = float(angle(MAX_TABULATED_P)) * (1 + 1e-12)
        self._edges = np.concatenate([[0.0], end * 4.0 ** np.arange(1 - PANELS, 1)])
        low, high = self._edges[:-1, None], self._edges[1:, None]
        theta = (low + high + (high - low) * chebyshev_points(POINTS_PER_PANEL)) / 2
        values = np.stack(self._values(theta))
        # (panel, order, function)
        self._coefficients = np.moveaxis(chebyshev_coefficients(np.moveaxis(values, -1, 0)), -1, 0)

    def __call__(
        self, p: FloatOrArray, rho: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The drop κ̃(1) − κ̃, and κ̃' and κ̃'', at ρ = 1 − p; for p next to 1, ρ has more digits."""
        p = np.asarray(p, dtype=float)
        near = p < MAX_TABULATED_P
        if near.all():
            return self._from_table(p)
        values = np.empty((3, *p.shape))
        values[:, near] = self._from_table(p[near])
        k, rho = self.kernel, (1 - p if rho is None else rho)[~near]
        values[:, ~near] = self.top - k.tilde(rho), k.tilde_first(rho), k.second(rho)
        return values[0], values[1], values[2]

    def drop(self, p: FloatOrArray) -> Any:
        """κ̃(1) − κ̃(1 − p)."""
        return self(p)[0][()]

    def _from_table(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        theta = angle(p)
        panel = np.searchsorted(self._edges[1:-1], theta)
        low, high = self._edges[panel], self._edges[panel + 1]
        x = np.clip((2 * theta - low - high) / (high - low), -1, 1)
        polynomials = np.cos(np.arccos(x)[..., None] * ORDERS)
        values = np.einsum("...n,...nk->...k", polynomials, self._coefficients[panel])
        drop, first, second = values[..., 0], values[..., 1], values[..., 2]
        if self.is_kinked:
            with np.errstate(divide="ignore"):
                second = second / np.sin(theta)
        return drop * p, first, second

    def _values(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute the tabulated functions; κ̃(1) − κ̃ is ∫_0^θ κ̃'(cos t) sin t dt."""
        t = theta[..., None] * NODES
        slopes = self.kernel.tilde_first(np.cos(t)) * np.sin(t)
        drop = theta * (slopes @ WEIGHTS) / (2 * np.sin(theta / 2) ** 2)
        # 1 − cos θ has rounding errors: κ̃'' sin θ is evaluated at the rounded cosine, where it is
        # smooth.
        rho = np.minimum(np.cos(theta), np.nextafter(1.0, 0.0))
        sine = np.sqrt((1 - rho) * (1 + rho)) if self.is_kinked else 1.0
        return drop, self.kernel.tilde_first(np.cos(theta)), self.kernel.second(rho) * sine

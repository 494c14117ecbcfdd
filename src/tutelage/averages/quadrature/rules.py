"""Nodes and weights for one standard normal coordinate, and the factor of a covariance.

Smooth fields use the trapezoidal rule on [-L, L], which converges exponentially for
analytic functions (Trefethen and Weideman, SIAM Rev. 56 (2014) 385).  A function with
its nearest singularity at distance d from the real axis leaves an error exp(-2πd/h),
cutting the tails one of exp(-L²/2); with d = π/2, the poles of tanh at unit variance,
the two are equal for L³ = π² n.  Fields with kinks use Gauss-Legendre panels that end
exactly at the kinks.
"""

from functools import lru_cache
from math import erfc

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jnp

# Beyond 8.6 standard deviations lies less than 2⁻⁵³ of the mass.
FARTHEST = 8.6
# Smaller remainders of a correlation matrix are rounding errors of a few units of 2⁻⁵³; dropping
# them changes no correlation by more.
RANK_TOLERANCE = 4e-15
# Squares and cubes of the inverse standard deviation of larger variances stay below 1e308.
SMALLEST_VARIANCE = 1e-100
# Longest panel in units of t = asinh(x/δ), per node.
LONGEST_STRETCH = 0.4


def half_width(nodes: int) -> float:
    """L(n) = (π² n)^(1/3), at most the range in which float64 resolves the Gaussian density."""
    width: float = (np.pi**2 * nodes) ** (1 / 3)
    return min(FARTHEST, width)


def narrowest_transition(nodes: int) -> float:
    """Smallest width δ of a transition that the panels resolve; the error of narrower ones is
    bounded by the width.
    """
    return half_width(nodes) / float(np.sinh(LONGEST_STRETCH * nodes / 2))


def first_node(nodes: int) -> float:
    """Return the distance from a kink to the next node, on a panel without stretching."""
    return half_width(nodes) * float(_legendre(-(-nodes // 2))[0][0])


def cut_off(nodes: int, axes: int) -> float:
    """Estimate the integral beyond ±L on all axes: the Gaussian weight there, times L."""
    L = half_width(nodes)
    return axes * L * erfc(L / np.sqrt(2))


@lru_cache
def trapezoid(nodes: int, shifted: bool) -> tuple[np.ndarray, np.ndarray]:
    """Equidistant nodes on [-L, L] with normalised Gaussian weights.

    The shifted nodes lie half-way between the others: their error has the opposite sign.
    """
    L = half_width(nodes)
    x = np.linspace(-L, L, nodes)
    x = (x[1:] + x[:-1]) / 2 if shifted else x
    w = np.exp(-0.5 * x**2)
    return x, w / w.sum()


@lru_cache
def _legendre(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    t, w = np.polynomial.legendre.leggauss(nodes)
    return (t + 1) / 2, w / 2


def panels(
    breaks: list[Float[Array, ""]], layer: Float[Array, ""], nodes: int
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Return Gauss-Legendre rules on the intervals of [-L, L] between breaks, about `nodes` in all.

    In each half of a piece x = edge ± δ sinh(t) with δ the width of the narrowest `layer` at
    the edges: nodes are dense there at every scale from δ to 1 (Johnston and Elliott, Int. J.
    Numer. Meth. Eng. 62 (2005) 564).
    """
    L = half_width(nodes)
    edges = jnp.sort(jnp.clip(jnp.stack(breaks), -L, L))
    middles = (edges[1:] + edges[:-1]) / 2
    ends = jnp.concatenate([jnp.array([-L]), jnp.repeat(middles, 2), jnp.array([L])])
    t, w = _legendre(-(-nodes // (2 * len(breaks))))
    length = ends - jnp.repeat(edges, 2)
    farthest = jnp.arcsinh(length / layer)[:, None]
    t, w = t[None], w[None]
    x = jnp.repeat(edges, 2)[:, None] + layer * jnp.sinh(farthest * t)
    jacobian = jnp.abs(farthest) * layer * jnp.cosh(farthest * t)
    weights = jacobian * w * jnp.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
    return x.ravel(), weights.ravel()


def factor(C: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """Lower triangular L with C = L Lᵀ for every positive semi-definite C.

    Elimination with the largest remainder first, so that the dropped rounding errors are small in
    every entry; a rotation then makes the factor triangular in the given order.  Used for
    values alone: derivatives come from Price's theorem, and square roots of vanishing
    pivots are never differentiated.
    """
    variance = jnp.diagonal(C)
    varies = variance > SMALLEST_VARIANCE
    s = jnp.sqrt(jnp.where(varies, variance, 1.0))
    S = jnp.where(varies[:, None] & varies[None], C / s[:, None] / s[None], 0.0)
    columns = []
    for _ in range(len(C)):
        pivot = jnp.argmax(jnp.diagonal(S))
        size = S[pivot, pivot]
        keep = size > RANK_TOLERANCE
        column = jnp.where(keep, S[:, pivot] / jnp.sqrt(jnp.where(keep, size, 1.0)), 0.0)
        S = S - jnp.outer(column, column)
        columns.append(column)
    R = jnp.linalg.qr(jnp.stack(columns), mode="r")
    signs = jnp.where(jnp.diagonal(R) < 0, -1.0, 1.0)
    return jnp.where(varies, s, 0.0)[:, None] * (signs[:, None] * R).T

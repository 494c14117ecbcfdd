"""The unspecialized state, R = S, at a given load.

With U = KS the stationarity conditions are αKκ'(S) = U/A and αKκ'(C) = 1/A − 1/B, B = 1 − C.
The second one gives KA for a given C, and with it U from A = 1 + (K−1)C − U²; what remains is

    U [κ'(C) + 1/(αKB)] = κ'(S),

one equation for C, written for d = K(U − 1) and c = K²C so that nothing cancels at large K.
"""

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq

from tutelage.equilibrium.symmetric.site import Point, Site

STEPS = 40
POLISHED = 1e-15
NOISE = 1e-11  # a step below this that does not shrink is rounding


def unspecialized_point(site: Site, load: float) -> Point:
    """The state with R = S; R = S = C = 0 if the load is zero or nothing linear can be learned."""
    points = unspecialized_points(site, np.array([load]))
    return Point(0.0, float(points.d[0]), float(points.c[0]))


def unspecialized_points(site: Site, loads: np.ndarray) -> Point:
    """The same at many loads."""
    d, c = np.full(len(loads), -site.K), np.zeros(len(loads))
    if site.kernel.slope > 0:
        learns = loads > 0
        d[learns], c[learns] = _solve(site, loads[learns])
    return Point(np.zeros(len(loads)), d, c)


def _solve(site: Site, loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """d and c by Newton steps from the linear kernel, or between brackets where they fail."""
    c = np.array([_linear_kernel(site, float(load)) for load in loads])
    todo, last = np.ones(len(c), dtype=bool), np.full(len(c), np.inf)
    for _ in range(STEPS):
        value, slope, _ = _excess(site, loads[todo], c[todo])
        step = np.where(slope > 0, value / np.where(slope > 0, slope, 1.0), np.nan)
        c[todo] -= step
        size = np.abs(step) / (1 + np.abs(c[todo]))
        done = np.isnan(size) | (size < POLISHED) | ((size < NOISE) & (size >= 0.5 * last[todo]))
        last[todo] = size
        todo[todo] = ~done
        if not np.any(todo):
            break
    for i in np.flatnonzero(todo | np.isnan(c)):
        c[i] = _bracketed(site, float(loads[i]))
    return _excess(site, loads, c)[2], c


def _excess(site: Site, load: Any, c: Any) -> tuple[Any, Any, Any]:
    """The equation at c, its derivative, and d; NaN where no U belongs to c."""
    n, k = site.n, site.kernel
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
    value = d * P - site.K * (t_S - t_C) + rest
    slope = d_c * P + d * P_c - n * k2_S * d_c + n * k2_C + n * n * rest / B
    return tuple(np.where(allowed, x, np.nan) for x in (value, slope, d))  # type: ignore


def _bracketed(site: Site, load: float) -> float:
    """Between the lowest C at which U is real and C = 1."""
    K = site.K
    low, high = -(K**2) / (K - 1) * (1 - 1e-12), K * K * (1 - 1e-12)

    def excess(c):
        value = float(_excess(site, load, c)[0])
        return -1.0 if math.isnan(value) else value  # below the lowest C: C has to grow

    return float(brentq(excess, low, high, xtol=1e-15, rtol=1e-15 * 4))


def _linear_kernel(site: Site, load: float) -> float:
    """c for κ' = κ'(0) everywhere, where y = A/B = 1 − U is the root of one equation in (0, 1)."""
    K, t = site.K, load * site.K * site.kernel.slope

    def excess(y):
        A = (1 - y) / t
        return A - K + (K - 1) * A / y + (1 - y) ** 2

    y = brentq(excess, 1e-300, 1.0, xtol=1e-300, rtol=1e-12)
    return K * K * (1 - (1 - y) / (t * y))

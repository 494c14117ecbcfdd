"""The free energy as a function of the specialization R − S, which shows the kind of a transition.

βf(V)/K is the lowest βf/K of all site-symmetric states with R − S = V at a load; its stationary
points are the stationary states.  For K = 1 and K → ∞ there is one order parameter, R, which is V.
For finite K the lowest value over d = K(U − 1) and c = K²C is found by Newton's method on

    ∂/∂d:  α ∂ε_g/∂d − (n/2) ∂(KA)/∂d / KA = 0,
    ∂/∂c:  α ∂ε_g/∂c − (n/2)(1 − n)/KA + (n²/2)(1 − n)/B = 0,        n = 1/K,

with KA = (1−n)c − d(2 + nd) and B = 1 − V² − C of `tutelage.equilibrium.symmetric.finite`.
"""

import numpy as np
import xarray as xr

from tutelage._checks import finite_number, increasing_array
from tutelage._given import ArrayLike, CheckedInside
from tutelage._memory import check_memory
from tutelage.activations import Activation
from tutelage.equilibrium.symmetric.finite import FiniteTheory
from tutelage.equilibrium.symmetric.stability import is_positive
from tutelage.equilibrium.symmetric.theory import MAX_STEPS, Point, Theory, theory_of
from tutelage.runs.provenance import recorded
from tutelage.solve.newton import newton

# Tolerance of derivatives with terms of order one 1/K: one more Newton step reaches rounding.
TOLERANCE = 1e-10
BYTES = 2000  # memory for one value, measured


@recorded
def free_energy(
    activation: Activation, units: CheckedInside[float], load: float, specialization: ArrayLike
) -> xr.Dataset:
    """The lowest free energy of site-symmetric states with a given R − S.

    Args:
        activation: g, the same for student and teacher.
        units: K: 1, 2, … or ``math.inf``.
        load: α = βP/(KN) ≥ 0.
        specialization: values of V = R − S, increasing; R itself for a single unit.

    Returns:
        A Dataset over ``specialization``: free_energy_per_unit (βf/K), generalization_error, R, S
        and C of the state that has it; NaN where no student has this R − S.

    >>> import tutelage as tl
    >>> curve = tl.equilibrium.free_energy(tl.Erf(), 5, 46.0, [0.0, 0.3, 0.5632])
    >>> [f"{x:.6f}" for x in curve["free_energy_per_unit"].values]  # two minima, and between them
    ['1.196714', '1.199312', '1.196428']
    """
    theory = theory_of(activation, units)
    alpha = float(finite_number("load", load, at_least=0.0, hint="load=10.0"))
    V = increasing_array("specialization", specialization, hint="np.linspace(-0.9, 0.9, 181)")
    check_memory("the number of values", len(V), lambda n: BYTES * n, "the states of all values")
    states = _lowest(theory, alpha, V)
    R, S, C = theory.order(states)
    with np.errstate(invalid="ignore", divide="ignore"):
        energy, error = theory.free_energy(alpha, states), theory.error(states)
    variables = {
        "free_energy_per_unit": energy,
        "generalization_error": error,
        "R": R,
        "S": S,
        "C": C,
    }
    variables = {name: np.where(np.isfinite(states.V), x, np.nan) for name, x in variables.items()}
    axis = ("specialization", V, {"long_name": "specialization", "symbol": "R − S"})
    return xr.Dataset({n: ("specialization", x) for n, x in variables.items()}, {axis[0]: axis})


def _lowest(theory: Theory, load: float, V: np.ndarray) -> Point:
    """The states of lowest free energy at each V; NaN where no state exists."""
    if not isinstance(theory, FiniteTheory):
        inside = np.where(np.abs(V) < 1, V, np.nan)
        return Point(inside, 0 * inside, 0 * inside)
    start = _start(theory, load, V)

    def slopes(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _derivatives(theory, load, Point(V, x[..., 0], x[..., 1]))

    def allowed(x: np.ndarray) -> np.ndarray:
        return _is_student(theory, Point(V, x[..., 0], x[..., 1]))

    x = np.where(allowed(start)[..., None], start, np.nan)
    root = newton(slopes, x, steps=MAX_STEPS, tolerance=TOLERANCE, allowed=allowed)
    is_minimum = root.converged & is_positive(slopes(root.x)[1])
    d, c = np.moveaxis(root.x, -1, 0)
    return Point(*(np.where(is_minimum, x, np.nan) for x in (V, d, c)))


def _is_student(theory: FiniteTheory, point: Point) -> np.ndarray:
    """Return whether there are weights with these overlaps."""
    at = theory.overlap(point)
    with np.errstate(invalid="ignore"):
        return theory.is_inside(point) & (at.KA > 0) & (at.B > 0)


def _start(theory: FiniteTheory, load: float, V: np.ndarray) -> np.ndarray:
    """d and c of the unspecialized state, with C limited to the largest value at V, and its KA."""
    n, flat = theory.n, theory.unspecialized(load)
    KA = float(theory.overlap(flat).KA)
    c = np.minimum(flat.c, 0.5 * (1 - V) * (1 + V) / n**2)
    w = KA - (1 - n) * c  # n d² + 2 d + w = 0
    with np.errstate(invalid="ignore"):
        d = -w / (1 + np.sqrt(1 - n * w))
    return np.stack([d, c], -1)


def _derivatives(theory: FiniteTheory, load: float, point: Point) -> tuple[np.ndarray, np.ndarray]:
    """∂(βf/K)/∂(d, c) and the matrix of second derivatives, at given V."""
    n, k, at = theory.n, theory.kernel, theory.overlap(point)
    pair = np.stack([at.R, at.S, at.C])
    pair = np.where(np.abs(pair) < 1, pair, np.nan)
    (t_R, t_S, t_C), (k2_R, k2_S, k2_C) = k.tilde_first(pair), k.second(pair)
    KA, KA_d, KA_c, B = at.KA, -2 * (1 + n * point.d), 1 - n, at.B
    # S and R change with d as n², and K − 1 = (1 − n)/n.
    error_d = -n * k.slope - n**2 * t_R - n * (1 - n) * t_S
    error_c = 0.5 * n * (1 - n) * (k.slope + t_C)
    first = np.stack([
        load * error_d - 0.5 * n * KA_d / KA,
        load * error_c - 0.5 * n * KA_c / KA + 0.5 * (1 - n) * n**2 / B,
    ], -1)  # fmt: skip
    dd = -load * n**4 * (k2_R + (1 / n - 1) * k2_S) + n**2 / KA + 0.5 * n * (KA_d / KA) ** 2
    dc = 0.5 * n * KA_d * KA_c / KA**2
    cc = 0.5 * (1 - n) * (load * n**3 * k2_C + n * (1 - n) / KA**2 + n**4 / B**2)
    second = np.stack([dd, dc, dc, cc], -1).reshape(*np.shape(KA), 2, 2)
    return first, second

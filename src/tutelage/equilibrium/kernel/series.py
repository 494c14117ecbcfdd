"""Hermite coefficients to thousands of orders, for kernels without a closed form.

    c_n = ∫ dz √φ(z) ψ_n(z) g(z),        ψ_n = h_n √φ

on Gauss–Legendre panels that shrink by halves towards 0 and towards every kink.  The orders are
run through one after the other and none is stored, so that 4096 of them take a tenth of a second.

The range of the series Σ c_n² ρⁿ follows from Parseval's identity: the omitted part at ρ = 1 is
⟨g²⟩ − Σ c_n², ⟨g'²⟩ − Σ n c_n² and ⟨g''²⟩ − Σ n(n−1) c_n², and it shrinks like |ρ|^N.
"""

import math
from typing import NamedTuple

import numpy as np

from tutelage._checks import InputError
from tutelage._jax import jnp
from tutelage.activations import Activation
from tutelage.activations.panels import graded_edges, on_panels

# √φ(38) = 1e-157 is above the smallest float: integrands are checked up to here, where they must
# vanish.
LIMIT = 38.0
POINTS = 16
ORDERS = (128, 512, 4096)
EPSILON = float(np.finfo(np.float64).eps)
# Error of Σ n² c_n² over N coefficients, each with an error of ε‖g‖ times some operations.
COMPLETE = 1e-12
# Relative difference of ⟨g²⟩ between two rules that both resolve g.
RESOLVED = 1e-7
# κ̃'(1/2) of less than this share of κ̃(1): the c_n of small n, whose squares decide where the
# unspecialized state loses its stability, are rounding.
FAINTEST = 1e-14


class SeriesData(NamedTuple):
    """c_n² for n = 0 … N, and the largest |ρ| at which the series holds to rounding."""

    squares: np.ndarray
    reach: float


def hermite_data(g: Activation) -> SeriesData:
    """Compute c_n² up to the first order that exhausts ⟨g''²⟩, at most 4096.

    In closed form where there is one, and else by quadrature.
    """
    for order in ORDERS:
        z, w = nodes(order, [float(kink.position) for kink in g.kinks])
        f = values_with_weight(g, z)
        closed = g.hermite_series(order, jnp.ones(()))
        c = _known(g, _coefficients(order, z, w * f)) if closed is None else np.asarray(closed[0])
        squares, square = c**2, float(w @ f**2)
        if _is_complete(g, squares, z, w):
            _check_spread(g, squares, square)
            return SeriesData(squares, 1.0)
    _check_resolved(g, square, order)
    _check_spread(g, squares, square)
    # 37 = −ln 2⁻⁵³; the factor n³ of a third derivative is compensated by the decay of the squares.
    return SeriesData(squares, math.exp(-37.0 / order))


def _check_resolved(g: Activation, square: float, order: int) -> None:
    """Refuse activations that the nodes do not resolve: a finer rule gives another ⟨g²⟩."""
    z, w = nodes(4 * order, [float(kink.position) for kink in g.kinks])
    difference = abs(float(w @ values_with_weight(g, z) ** 2) - square)
    if not difference <= RESOLVED * square:
        raise InputError(
            "activation",
            (
                f"{g.name}, whose <g²> has a relative error of {difference / square:.0e} on "
                f"{len(z)} nodes"
            ),
            "the kernel <g(u) g(w)> needs a function that these nodes resolve",
            "a smaller slope or frequency",
        )


def _check_spread(g: Activation, squares: np.ndarray, square: float) -> None:
    """Refuse activations that oscillate so fast that κ̃ is only rounding error except next to ρ =
    ±1.
    """
    n, rest = np.arange(2, len(squares)), square - squares[0] - squares[1]
    if rest > COMPLETE * square and n @ (squares[2:] * 0.5 ** (n - 1.0)) < FAINTEST * rest:
        raise InputError(
            "activation",
            f"{g.name}, which oscillates so fast that <g(u) g(w)> vanishes to rounding for fields "
            "with a correlation of 1/2",
            "the equations need its value there",
            "a lower frequency; for sin(ωx) ω may be up to 8",
        )


def nodes(order: int, kinks: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of ∫dz on [−LIMIT, LIMIT]; ψ_n oscillates with wave number √n."""
    per_unit = max(1, math.ceil(math.sqrt(order) / 4))
    return on_panels(graded_edges(LIMIT, [0.0, *kinks], per_unit), POINTS)


def values_with_weight(g: Activation, z: np.ndarray) -> np.ndarray:
    """√φ(z) g(z); refused if its square has not vanished at the ends."""
    with np.errstate(over="ignore", invalid="ignore"):
        f = np.asarray(g(z)) * root_density(z)
    size = np.abs(f)
    end = max(size[0], size[-1])
    if not np.all(np.isfinite(f)) or end > 1e-9 * np.max(size):
        raise InputError(
            "activation",
            f"{g.name}, for which |g(x)|² exp(-x²/2) does not vanish for large |x|",
            "the kernel <g(u) g(w)> needs a finite second moment <g²>",
            "an activation that grows more slowly than exp(x²/4)",
        )
    return f


def root_density(z: np.ndarray) -> np.ndarray:
    """√φ(z)."""
    return (2 * math.pi) ** -0.25 * np.exp(-(z**2) / 4)


def _coefficients(order: int, z: np.ndarray, wf: np.ndarray) -> np.ndarray:
    """Σ wf ψ_n for n = 0 … order, by √(n+1) ψ_{n+1} = z ψ_n − √n ψ_{n−1}."""
    matter = np.abs(wf) > 1e-30 * np.max(np.abs(wf))
    z, wf = z[matter], wf[matter]
    below, current = np.zeros_like(z), root_density(z)
    c = np.empty(order + 1)
    for n in range(order + 1):
        c[n] = wf @ current
        below, current = current, (z * current - math.sqrt(n) * below) / math.sqrt(n + 1)
    return c


def _known(g: Activation, c: np.ndarray) -> np.ndarray:
    """Set coefficients that vanish by symmetry, or are below ε‖g‖, to zero."""
    c = np.where(np.abs(c) < 4 * EPSILON * np.linalg.norm(c), 0.0, c)
    if g.odd_part_slope is not None:
        c[1::2] = 0.0
        c[1] = g.odd_part_slope
    if g.even_part_level is not None:
        c[0::2] = 0.0
        c[0] = g.even_part_level
    return c


def _is_complete(g: Activation, squares: np.ndarray, z: np.ndarray, w: np.ndarray) -> bool:
    """Return whether the orders exhaust ⟨g''²⟩; false with a kink, where it is infinite."""
    if any(abs(float(kink.jump)) > 0 for kink in g.kinks):
        return False
    n = np.arange(len(squares))
    total = w @ (np.asarray(g.second_derivative(z)) * root_density(z)) ** 2
    return bool(abs(total - (n * (n - 1)) @ squares) <= COMPLETE * total)

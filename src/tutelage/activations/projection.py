"""Hermite coefficients by quadrature, for activations without a closed form.

    c_n(q) = g(0) δ_n0 + ∫ dz √φ(z) ψ_n(z) [g(√q z) − g(0)],     ψ_n = h_n √φ

with Gauss–Legendre panels.  The panels shrink by halves towards z = 0 and towards every
declared kink, so that steep functions (Sigmoid and Swish with a large β, a large variance)
cost nothing extra: poles at any distance above 2⁻¹⁶ from these points are resolved.
The error is the largest difference from two rules with fewer points, plus truncation and
rounding.  The derivative in q is not taken through √q but from Stein's lemma,

    dc_n/dq = ½ c_n[g''] + ½ √(n/(n−1)) c_{n−2}[g'']     (n ≥ 2; g'' with its deltas)

and ½ c_0[g''] for n = 0, ½ c_1[g''] + c_0[g']/(2√q) for n = 1: accurate down to q = 0.
"""

from typing import TYPE_CHECKING

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage.activations.hermite import (
    EPSILON,
    HermiteCoefficients,
    hermite_functions,
    safe_sqrt,
)

if TYPE_CHECKING:
    from tutelage.activations.base import Activation

# |ψ_n| < 0.69 for every n and z (Cramér's inequality), so that for bounded g the integrand
# beyond L = 13 is below √φ(13) < 1e-18 whatever the order.
LIMIT = 13.0
HALVINGS = 16
# Here φ is zero in float64, and the recurrence of the ψ_n has not overflowed.
FAR = 60.0
# The finest rule answers, the others judge it.  One of them has an even, one an odd number of
# points: an undeclared kink that one of them overlooks by symmetry is seen by the other.
POINTS = (16, 11, 10)
# Variances per batch: bounds the memory to about 50 MB at order 10.
BATCH = 512


def project(g: "Activation", order: int, q: Float[Array, "..."]) -> HermiteCoefficients:
    """c_0 … c_order of g at each variance q, with bounds on the errors."""

    values, error = _compiled(_parameters_as_arrays(g), order, q.ravel())
    shape = (*q.shape, order + 1)
    return HermiteCoefficients(values.reshape(shape), error.reshape(shape))


@eqx.filter_jit
def _compiled(g, order: int, q: Float[Array, " batch"]):
    def single(variance):
        return _coefficients(g, variance, order=order)

    return jax.lax.map(single, q, batch_size=BATCH)


def _parameters_as_arrays(g: "Activation") -> "Activation":
    """So that another β does not compile again: equinox takes a Python float for a constant."""
    return jax.tree.map(lambda p: jnp.asarray(p) if isinstance(p, float) else p, g)


@eqx.filter_custom_jvp
def _coefficients(g, q, *, order):
    """Values and errors at one variance, with the derivative in it from Stein's lemma."""
    return _integrals(g, q, order)


def _integrals(g, q, order: int) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    s = safe_sqrt(q)
    rules = _rules(order, _centres(g, s))
    g_zero = g(0.0)
    finest, *coarser = (_projection(order, z, w, g(s * z) - g_zero) for z, w in rules)
    difference = jnp.max(jnp.stack([jnp.abs(finest - c) for c in coarser]), axis=0)
    error = difference + _truncation(order, g, s) + _rounding(order, g, s, *rules[0])
    values = finest.at[0].add(g_zero)
    values, error = _known(g, s, values, error)
    return values, jax.lax.stop_gradient(error)


@_coefficients.def_jvp
def _coefficients_jvp(primals, tangents, *, order):
    (g, q), (g_dot, q_dot) = primals, tangents
    values, error = _coefficients(g, q, order=order)
    values_dot = jnp.zeros_like(values)
    if jax.tree.leaves(g_dot):
        _, (values_dot, _) = eqx.filter_jvp(lambda g: _integrals(g, q, order), (g,), (g_dot,))
    if q_dot is not None:
        values_dot = values_dot + q_dot * _derivative_in_variance(g, q, order)
    return (values, error), (values_dot, jnp.zeros_like(error))


def _derivative_in_variance(g, q, order: int) -> Float[Array, " n"]:
    """dc_n/dq by Stein's lemma; where it is infinite (q = 0) it is given as zero."""
    s = safe_sqrt(q)
    inverse = jnp.where(q > 0, 1 / jnp.where(q > 0, s, 1.0), 0.0)
    z, w = _rules(order, _centres(g, s))[0]
    b = _projection(order, z, w, g.second_derivative(s * z))
    for position, jump in g.kinks:
        at = jnp.clip(position * inverse, -FAR, FAR)
        psi = hermite_functions(order, at)
        b = b + jump * inverse * psi * psi[0]
    n = np.arange(order + 1)
    shifted = jnp.concatenate([jnp.zeros(2), b])[: order + 1]
    slope = 0.5 * b + 0.5 * np.sqrt(n / np.maximum(n - 1, 1)) * shifted
    mean_derivative = _projection(0, z, w, g.derivative(s * z))[0]
    slope = slope + (n == 1) * 0.5 * inverse * mean_derivative
    known = _known_orders(g, order)
    exact = (n == 1) * 0.5 * inverse * _or_zero(g.odd_part_slope)
    return jnp.where(known, exact, slope)


def _projection(order: int, z, w, f) -> Float[Array, " n"]:
    """Σ_j w_j √φ(z_j) ψ_n(z_j) f_j."""
    psi = hermite_functions(order, z)
    return psi @ (w * psi[0] * f)


def _truncation(order: int, g, s):
    """The largest |integrand| over the last unit of z on either side: bounds both tails."""
    z = np.linspace(LIMIT - 1, LIMIT, 16)
    z = np.concatenate([-z, z])
    psi = hermite_functions(order, z)
    return jnp.max(jnp.abs(psi * psi[0] * (g(s * z) - g(0.0))), axis=-1)


def _rounding(order: int, g, s, z, w):
    """ε ‖g‖ per operation (Cauchy–Schwarz), with n operations in the recurrence of ψ_n."""
    norm = jnp.sqrt(_projection(0, z, w, g(s * z) ** 2)[0])
    return (8.0 + np.arange(order + 1)) * EPSILON * norm


def _known_orders(g, order: int) -> np.ndarray:
    """True where a symmetry of g gives the coefficient."""
    n = np.arange(order + 1)
    odd, even = g.odd_part_slope is not None, g.even_part_level is not None
    return ((n % 2 == 1) & odd) | ((n % 2 == 0) & even)


def _known(g, s, values, error):
    """Put in what symmetry gives exactly."""
    order = values.size - 1
    n = np.arange(order + 1)
    exact = (n == 0) * _or_zero(g.even_part_level) + (n == 1) * s * _or_zero(g.odd_part_slope)
    known = _known_orders(g, order)
    return jnp.where(known, exact, values), jnp.where(known, 2 * EPSILON * abs(exact), error)


def _or_zero(number):
    return 0.0 if number is None else number


def _centres(g, s) -> list:
    """Kinks in units of z, clipped to the interval; those at zero are centres already."""
    positions = [kink.position for kink in g.kinks if kink.position != 0]
    reach = jnp.where(s > 0, s, 1.0)
    return [jnp.where(s > 0, jnp.clip(p / reach, -LIMIT, LIMIT), LIMIT) for p in positions]


def _rules(order: int, centres: list) -> list[tuple[Array, Array]]:
    """Nodes and weights of each rule on the panels."""
    edges = _edges(order, centres)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    rules = []
    for points in POINTS:
        x, w = np.polynomial.legendre.leggauss(points)
        nodes = middle[:, None] + half[:, None] * x
        rules.append((jnp.asarray(nodes.ravel()), jnp.asarray((half[:, None] * w).ravel())))
    return rules


def _edges(order: int, centres: list) -> Float[Array, " edges"]:
    """Equal panels out to ±LIMIT, halved again and again towards 0 and each centre.

    ψ_n oscillates with wave number √n at most: on panels of width 4/√n, four radians, the
    coarsest rule still has all digits.
    """
    per_unit = max(1, int(np.ceil(np.sqrt(order) / 4)))
    equal = np.arange(1, int(LIMIT) * per_unit + 1) / per_unit
    halves = equal[0] * 0.5 ** np.arange(HALVINGS, 0, -1)
    right = np.concatenate([halves, equal])
    edges = np.concatenate([-right[::-1], [0.0], right])
    if not centres:
        return edges
    fan = np.concatenate([-halves[::-1], [0.0], halves])
    extra = [jnp.clip(c + fan, -LIMIT, LIMIT) for c in centres]
    return jnp.sort(jnp.concatenate([edges, *extra]))

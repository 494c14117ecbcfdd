"""Hermite coefficients by quadrature, for activations without a closed form.

    c_n(q) = g(0) δ_n0 + ∫ dz √φ(z) ψ_n(z) [g(√q z) − g(0)],     ψ_n = h_n √φ

with Gauss–Legendre panels that shrink towards z = 0 and towards every declared kink: Sigmoid and
Swish with a large β, or a large variance, cost nothing extra. The error is the largest difference
from two rules with fewer points, plus truncation, rounding and a bound for places where g changes
too fast between nodes.

The derivative in q is not taken through √q but from Stein's lemma,

    dc_n/dq = ½ c_n[g''] + ½ √(n/(n−1)) c_{n−2}[g'']     (n ≥ 2; g'' with its deltas)

and ½ c_0[g''] for n = 0, ½ c_1[g''] + c_0[g']/(2√q) for n = 1: accurate down to q = 0.
"""

from typing import TYPE_CHECKING

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage.activations.hermite import EPSILON, HermiteCoefficients, hermite_functions, safe_sqrt
from tutelage.activations.panels import graded_edges, on_panels

if TYPE_CHECKING:
    from tutelage.activations.base import Activation

# |ψ_n| < 0.69 for every n and z (Cramér's inequality), so that for bounded g the integrand
# beyond L = 13 is below √φ(13) < 1e-18 whatever the order.
LIMIT = 13.0
TAIL = np.concatenate([sign * np.linspace(LIMIT, 2 * LIMIT, 64) for sign in (-1, 1)])
# Here φ is zero in float64, and the recurrence of the ψ_n has not overflowed.
VANISHED = 60.0
# The finest rule gives the value, the other rules its error. One of them has an even, one an odd
# number of points: an undeclared kink that one rule misses by symmetry is found by the other.
POINTS = (16, 11, 10)
# A panel is unresolved if its last Legendre coefficients decay more slowly than this, over four
# orders. At this rate of decay (a ratio of 0.6) the coarser rules still have four digits, so that
# the difference of the rules is a reliable error.
DECAY = 8.0
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
    """Convert parameters to arrays: equinox compiles again for every Python float."""
    return jax.tree.map(lambda p: jnp.asarray(p) if isinstance(p, float) else p, g)


@eqx.filter_custom_jvp
def _coefficients(g, q, *, order):
    """Compute values and errors at one variance; the derivative with respect to q follows from
    Stein's lemma.
    """
    return _integrals(g, q, order)


def _integrals(g, q, order: int) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    s = safe_sqrt(q)
    z, rules = _panels(order, _centres(g, s))
    z = jnp.concatenate([z, TAIL])
    psi = hermite_functions(order, z)
    basis = psi * psi[:1]  # φ h_n: the same for every variance of a batch, unlike f
    g_zero = g(0.0)
    f = g(s * z) - g_zero
    finest, *coarser = (basis[:, at] @ (w * f[at]) for at, w in rules)
    difference = jnp.max(jnp.stack([jnp.abs(finest - c) for c in coarser]), axis=0)
    at, w = rules[0]
    norm = jnp.sqrt(jnp.sum(w * (psi[0, at] * (f[at] + g_zero)) ** 2))
    # Cauchy–Schwarz: ε‖g‖ per operation, with n operations in the recurrence of ψ_n.
    rounding = (8.0 + np.arange(order + 1)) * EPSILON * norm
    tail = _truncation(basis[:, -TAIL.size :] * f[None, -TAIL.size :])
    error = difference + tail + rounding + _unresolved(f[at], jnp.abs(basis[:, at]) * w[None])
    values, error = _known(g, s, finest.at[0].add(g_zero), error)
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
    """dc_n/dq by Stein's lemma; 0 at q = 0, where it is infinite."""
    s = safe_sqrt(q)
    inverse = jnp.where(q > 0, 1 / jnp.where(q > 0, s, 1.0), 0.0)
    z, ((at, w), *_) = _panels(order, _centres(g, s))
    x, psi = s * z[at], hermite_functions(order, z[at])
    b = psi @ (w * psi[0] * g.second_derivative(x))
    for position, jump in g.kinks:
        psi_there = hermite_functions(order, jnp.clip(position * inverse, -VANISHED, VANISHED))
        b = b + jump * inverse * psi_there * psi_there[0]
    mean_slope = jnp.sum(w * psi[0] ** 2 * g.derivative(x))
    n = np.arange(order + 1)
    two_below = jnp.concatenate([jnp.zeros(2), b])[: order + 1]
    slope = 0.5 * b + 0.5 * np.sqrt(n / np.maximum(n - 1, 1)) * two_below
    slope = slope + (n == 1) * 0.5 * inverse * mean_slope
    exact = (n == 1) * 0.5 * inverse * _or_zero(g.odd_part_slope)
    return jnp.where(_known_orders(g, order), exact, slope)


def _unresolved(f: Float[Array, " nodes"], mass: Float[Array, "n nodes"]) -> Float[Array, " n"]:
    """Bound the error of panels on which g is not resolved because it has a step or a bend
    inside.

    There all rules may have the same error, so that their difference is no estimate.  The last
    Legendre coefficients of g on such a panel do not decay; they are of the size of the uncertainty
    of g between the nodes, which counts with the mass ∫|ψ_n √φ| of the panel.
    """
    points = POINTS[0]
    x, w = np.polynomial.legendre.leggauss(points)
    k = np.arange(points // 2, points)
    legendre = np.polynomial.legendre.legvander(x, points - 1)[:, k]
    a = jnp.abs(f.reshape(-1, points) @ (w[:, None] * legendre * (k + 0.5)))
    middle, last = jnp.max(a[:, : len(k) // 2], axis=1), jnp.max(a[:, len(k) // 2 :], axis=1)
    open_panels = jnp.where(DECAY * last > middle, 2 * last, 0.0)
    return jnp.sum(mass.reshape(len(mass), -1, points), axis=-1) @ open_panels


def _truncation(size) -> Float[Array, " n"]:
    """Bound the integral beyond ±LIMIT: the largest |integrand| in TAIL, times its length.

    Infinite if the integrand still grows at the end, or g cannot be computed there.
    """
    size = jnp.abs(size).reshape(len(size), 2, -1)
    largest = jnp.max(size, axis=-1)
    unknown = jnp.isnan(largest) | ((size[..., -1] == largest) & (largest > 0))
    return LIMIT * jnp.sum(jnp.where(unknown, jnp.inf, largest), axis=-1)


def _known_orders(g, order: int) -> np.ndarray:
    """True where a symmetry of g gives the coefficient."""
    n = np.arange(order + 1)
    odd, even = g.odd_part_slope is not None, g.even_part_level is not None
    return ((n % 2 == 1) & odd) | ((n % 2 == 0) & even)


def _known(g, s, values, error):
    """Insert the coefficients that symmetry gives exactly."""
    order = values.size - 1
    n = np.arange(order + 1)
    level, slope = _or_zero(g.even_part_level), _or_zero(g.odd_part_slope)
    exact = jnp.where(n == 0, level, jnp.where(n == 1, s * slope, 0.0))
    by_symmetry = _known_orders(g, order)
    return jnp.where(by_symmetry, exact, values), jnp.where(
        by_symmetry, 2 * EPSILON * abs(exact), error
    )


def _or_zero(number):
    return 0.0 if number is None else number


def _centres(g, s) -> list:
    """Return kinks in units of z, clipped to the interval; 0 is always a centre."""
    positions = [kink.position for kink in g.kinks if kink.position != 0]
    reach = jnp.where(s > 0, s, 1.0)
    return [jnp.where(s > 0, jnp.clip(p / reach, -LIMIT, LIMIT), LIMIT) for p in positions]


def _panels(order: int, centres: list) -> tuple[Array, list[tuple[slice, Array]]]:
    """Return the nodes of all rules in one array; for each rule its slice and its weights.

    ψ_n oscillates with wave number √n at most: on panels of width 4/√n, four radians, the
    coarsest rule still has all digits.
    """
    per_unit = max(1, int(np.ceil(np.sqrt(order) / 4)))
    edges = graded_edges(LIMIT, [0.0, *centres], per_unit)
    nodes, rules, start = [], [], 0
    for points in POINTS:
        x, w = on_panels(edges, points)
        rules.append((slice(start, start + x.size), jnp.asarray(w)))
        nodes.append(jnp.asarray(x))
        start += x.size
    return jnp.concatenate(nodes), rules

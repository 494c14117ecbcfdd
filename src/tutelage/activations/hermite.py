"""Normalised Hermite coefficients: definitions, and helpers that their closed forms share.

With h_n = He_n/√n! (probabilists' Hermite polynomials, ⟨h_n(z) h_m(z)⟩ = δ_nm for a
standard Gaussian z) the coefficients of an activation g at variance q are

    c_n(q) = ⟨h_n(z) g(√q z)⟩,        g(√q z) = Σ_n c_n(q) h_n(z).

``citton2025`` section 2.2 writes ⟨H_n, g⟩ = √n! c_n(1).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._checks import InputError, finite_array, is_traced
from tutelage._given import ArrayLike
from tutelage._jax import jax, jnp, match_rank

EPSILON = float(np.finfo(np.float64).eps)


class HermiteCoefficients(NamedTuple):
    """Coefficients c_0 … c_order in the last axis, and their absolute errors.

    Errors of closed forms bound the rounding.  Those of quadrature are estimates, made so as
    not to understate; no estimate sees a spike of the user's that lies between its nodes.
    """

    values: Float[Array, "... n"]
    error: Float[Array, "... n"]


def safe_sqrt(q: Float[Array, "..."]) -> Float[Array, "..."]:
    """√q with the derivative 0 in place of ∞ at q = 0, so that no product is inf · 0."""
    positive = q > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, q, 1.0)), 0.0)


def hermite_at_zero(order: int) -> np.ndarray:
    """h_0(0) … h_order(0): h_2k(0) = (−1)^k (2k−1)!!/√(2k)!, zero for odd n.

    A running product, because log-gamma loses two digits at order 200.
    """
    h = np.zeros(order + 1)
    n = np.arange(2, order + 1, 2)
    h[0] = 1.0
    h[2::2] = np.cumprod(-np.sqrt((n - 1) / n))
    return h


def hermite_functions(order: int, z: Float[Array, "..."]) -> Float[Array, "n ..."]:
    """ψ_n(z) = h_n(z) √φ(z) for n = 0 … order, with φ the standard Gaussian density.

    √(n+1) ψ_{n+1} = z ψ_n − √n ψ_{n−1}.  Bounded for every n and z (Cramér), where the
    polynomials themselves would overflow.
    """
    z = jnp.asarray(z, float)
    n = jnp.arange(order, dtype=float)

    def step(pair, n):
        below, current = pair
        above = (z * current - jnp.sqrt(n) * below) / jnp.sqrt(n + 1)
        return (current, above), above

    first = (2 * np.pi) ** -0.25 * jnp.exp(-(z**2) / 4)
    _, rest = jax.lax.scan(step, (jnp.zeros_like(first), first), n)
    return jnp.concatenate([first[None], rest])


def powers(x: Float[Array, "..."], count: int) -> Float[Array, "... n"]:
    """1, x, … x^(count-1) as running products, whose derivatives at x = 0 are finite."""
    factors = jnp.broadcast_to(x[..., None], (*x.shape, max(count - 1, 0)))
    ones = jnp.ones((*x.shape, min(count, 1)))
    return jnp.concatenate([ones, jnp.cumprod(factors, axis=-1)], axis=-1)


def with_rounding(values: Float[Array, "... n"]) -> HermiteCoefficients:
    """Add bounds on rounding errors to closed-form coefficients: two more products per order."""
    products = 4.0 + 2.0 * np.arange(values.shape[-1])
    rounding = match_rank(products, values) * EPSILON * jnp.abs(values)
    return HermiteCoefficients(values, jax.lax.stop_gradient(rounding))


def derivative_coefficients(
    values: ArrayLike, variance: ArrayLike = 1.0, at_zero: ArrayLike = 0.0
) -> Float[Array, "... n"]:
    """Compute the Hermite coefficients of g' from those of g; the order is one lower.

        c_n[g'](q) = √(n+1) c_{n+1}[g](q) / √q        (Stein)

    The derivative is the weak one, so that the rule goes through kinks; applied twice it
    gives g'' with its delta functions.  Applied to ``error`` it carries the bounds along.

    Args:
        values: c_0 … c_order of g, in the last axis.
        variance: q ≥ 0, of shape ``values.shape[:-1]`` or broadcastable to it.
        at_zero: g'(0).  At q = 0 the coefficients of g no longer know it: the answer there
            is ``at_zero`` for n = 0 and zero for the rest.
    """
    values = jnp.asarray(values, float)
    if values.ndim == 0 or values.shape[-1] < 2:
        raise InputError(
            "values",
            f"shape {values.shape}",
            "the derivative needs the coefficients c_0 and c_1 at least",
            "hermite(order) with an order of at least 1",
        )
    q = check_variance(variance)[..., None]
    n = np.arange(1.0, values.shape[-1])
    positive = q > 0
    root = safe_sqrt(jnp.where(positive, q, 1.0))
    regular = match_rank(np.sqrt(n), values) * values[..., 1:] / match_rank(root, values)
    return jnp.where(positive, regular, jnp.where(n == 1, jnp.asarray(at_zero)[..., None], 0.0))


def check_order(order: Any) -> int:
    """Check an order: a whole number of at least zero; order 0 is the mean alone."""
    whole = isinstance(order, (int, np.integer)) and not isinstance(order, bool)
    if not whole or order < 0:
        raise InputError(
            "order",
            repr(order),
            "it has to be a whole number of at least 0",
            "order=10, the order of citton2025",
        )
    return int(order)


def check_variance(variance: object) -> Float[Array, "..."]:
    """Check a variance: finite and at least zero; traced values pass."""
    if is_traced(variance):
        return jnp.asarray(variance, float)
    q = finite_array("variance", variance)
    if np.any(q < 0):
        raise InputError(
            "variance",
            f"{q.min():g}",
            "a variance has to be at least 0",
            "the diagonal of the covariance, Q_ii or T_nn",
        )
    return jnp.asarray(q)

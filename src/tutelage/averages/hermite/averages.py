"""Gaussian averages of every activation by Hermite expansion (Mehler, Kibble, Slepian).

With c_n the normalised Hermite coefficients of g at the variance of its field, b_n those of g'
and ρ = C_uw/√(C_uu C_ww),

    I2 = Σ_{n≤N} c_n(u) c_n(w) ρⁿ,

I3 follows by Stein's lemma and I4 is the series (1) of `citton2025`, whose convention fixes
the truncation: where g is taken to order N, g' is taken to order N − 1.  Each truncated
series is the exact average of the product of truncated expansions, at every covariance.

Derivatives are weak ones, right through kinks.  I2 and I3 converge everywhere, with rigorous
bounds.  I4 converges where no eigenvalue of the correlation matrix exceeds 2, and need not
elsewhere: there the error bound may be as large as the average.
"""

from math import factorial

import numpy as np
from jaxtyping import Array, Float

from tutelage._checks import InputError
from tutelage._jax import jax, jnp, match_rank
from tutelage._memory import check_memory
from tutelage.activations import Activation
from tutelage.activations.hermite import powers
from tutelage.averages.estimate import Estimate
from tutelage.averages.hermite import bounds
from tutelage.averages.hermite.coefficients import Expansion, expand, expand_derivative
from tutelage.averages.hermite.series import series
from tutelage.runs.stored_jit import stored_jit

EPSILON = float(np.finfo(float).eps)
# Smaller variances count as zero: the inverse square root of larger ones has a finite derivative
# in float64.
SMALLEST_VARIANCE = 1e-200
# Covariances per block of I4, and numbers per block of its largest table (8 bytes each).
COVARIANCES_PER_BATCH, LARGEST_TABLE = 128, 4_000_000
# Bytes per term of the series: four indices, and the coefficients with these indices.
TERM = 64
# The largest n with a finite √n! in float64.
MAX_ORDER = 170


@stored_jit
def i2(
    activations: tuple[Activation, Activation], C: Float[Array, "... 2 2"], *, order: int = 10
) -> Estimate:
    """⟨g(u) h(w)⟩ = Σ_{n≤N} c_n(u) c_n(w) ρⁿ  (Mehler).

    The error is at most √(tail_g tail_h) |ρ|^{N+1} by Cauchy and Schwarz.

    Arguments:
        activations: (g, h).
        C: covariance of (u, w), shape (..., 2, 2).
        order: N, at least 1.
    """
    q, _, rho = _variances_and_correlations(C)
    g = expand(activations[0], order, q[..., 0])
    h = expand(activations[1], order, q[..., 1])
    return _mehler(g, h, rho[..., 0, 1])


@stored_jit
def i3(
    activations: tuple[Activation, Activation], C: Float[Array, "... 3 3"], *, order: int = 10
) -> Estimate:
    """⟨g'(u) v h(w)⟩ = C_uv ⟨g''(u) h(w)⟩ + C_vw ⟨g'(u) h'(w)⟩  (Stein), each by Mehler:

        I3 = √q_v [ρ_uv Σ_{n≤N−2} √(n+1) b_{n+1}(u) c_n(w) ρⁿ + ρ_vw √q_w Σ_{n<N} b_n(u) b_n(w) ρⁿ],

    with ρ = ρ_uw.  √(n+1) b_{n+1}/√q_u are the coefficients of g'', delta functions included;
    they need not be square-summable, but √n c_n(w) = √q_w b_{n−1}(w) bounds the rest of the sum:

        Σ_{n≥M} √(n+1) |b_{n+1}(u) c_n(w) ρⁿ| ≤ √(1 + 1/M) √q_w √(tail_g' tail_h') |ρ|^M.

    Arguments:
        activations: (g, h).
        C: covariance of (u, v, w), shape (..., 3, 3).
        order: N, at least 1.
    """
    q, s, rho = _variances_and_correlations(C)
    dg = expand_derivative(activations[0], order - 1, q[..., 0])
    dh = expand_derivative(activations[1], order - 1, q[..., 2])
    h = expand(activations[1], order, q[..., 2])
    uv, uw, vw = rho[..., 0, 1], rho[..., 0, 2], rho[..., 1, 2]
    curved, sloped = _curved(dg, dh, h, s[..., 2], uw), _mehler(dg, dh, uw)
    value = s[..., 1] * (uv * curved.value + vw * s[..., 2] * sloped.value)
    error = s[..., 1] * (jnp.abs(uv) * curved.error + jnp.abs(vw) * s[..., 2] * sloped.error)
    return Estimate(value, jax.lax.stop_gradient(error))


@stored_jit
def i4(
    activations: tuple[Activation, Activation, Activation, Activation],
    C: Float[Array, "... 4 4"],
    *,
    order: int = 10,
) -> Estimate:
    """⟨g1'(u) g2'(v) h(w) k(z)⟩, `citton2025` eq. (1) with n_1, n_2 ≤ N − 1 and n_3, n_4 ≤ N.

    The error is the smallest of the bounds of `_hermite_bounds`.

    Arguments:
        activations: (g1, g2, h, k).
        C: covariance of (u, v, w, z), shape (..., 4, 4).
        order: N, at least 1; `citton2025` uses 10.
    """
    check_memory("order", order, lambda n: TERM * (n + 1) ** 4, "the terms of its series")
    if order > MAX_ORDER:
        allowed = f"√n! is beyond the largest float above {MAX_ORDER}"
        raise InputError("order", str(order), allowed, "order=20, or method='quadrature'")
    batch = C.shape[:-2]
    flat = C.reshape(-1, 4, 4)
    count = flat.shape[0]
    together = max(1, min(COVARIANCES_PER_BATCH, LARGEST_TABLE // order**4, count))
    steps = -(-count // together)
    padding = jnp.zeros((steps * together - count, 4, 4))
    blocks = jnp.concatenate([flat, padding]).reshape(steps, together, 4, 4)
    results = jax.lax.map(lambda block: _kibble_slepian(activations, block, order), blocks)
    return Estimate(*(r.reshape(-1)[:count].reshape(batch) for r in results))


def _kibble_slepian(
    activations: tuple[Activation, ...], C: Float[Array, "batch 4 4"], order: int
) -> Estimate:
    q, _, correlations = _variances_and_correlations(C)
    rho = jnp.stack([correlations[:, a, b] for a, b in bounds.PAIRS])
    g1, g2, h, k = activations
    expansions = (
        expand_derivative(g1, order - 1, q[:, 0]),
        expand_derivative(g2, order - 1, q[:, 1]),
        expand(h, order, q[:, 2]),
        expand(k, order, q[:, 3]),
    )
    value = _series(expansions, rho)
    error = _error(*jax.lax.stop_gradient((value, rho)), _without_derivatives(expansions))
    return Estimate(value, error)


def _series(expansions: bounds.Four, rho: Float[Array, "6 batch"]) -> Float[Array, " batch"]:
    roots = [np.sqrt([float(factorial(n)) for n in range(len(e.present))]) for e in expansions]
    coefficients = tuple((e.values * r[None]).T for e, r in zip(expansions, roots, strict=True))
    return series(coefficients, rho, tuple(e.present for e in expansions))


def _error(S: Array, rho: Array, expansions: bounds.Four) -> Float[Array, " batch"]:
    positive = tuple(e._replace(values=jnp.abs(e.values)) for e in expansions)
    order = len(expansions[2].present) - 1
    size = _series(positive, jnp.abs(rho))
    bound = jnp.minimum(bounds.always(S, expansions), bounds.where_moderate(rho, expansions))
    if order >= bounds.LOWEST_ORDER:
        smaller = [
            _series(tuple(e.below(len(e.present) - 1 - less) for e in positive), jnp.abs(rho))
            for less in (2, 4)
        ]
        guess = bounds.extrapolated(order, size, *smaller)
        bound = jnp.minimum(bound, jnp.where(bounds.representative(expansions), guess, jnp.inf))
    return bound + 16 * EPSILON * size + bounds.from_coefficients(expansions)


def _without_derivatives(expansions: bounds.Four) -> bounds.Four:
    stop = jax.lax.stop_gradient
    return tuple(
        Expansion(stop(e.values), stop(e.error), stop(e.square), stop(e.norm4), e.present)
        for e in expansions
    )


def _mehler(f: Expansion, g: Expansion, rho: Float[Array, "..."]) -> Estimate:
    """Σ f_n g_n ρⁿ with √(tail_f tail_g) |ρ|^{N+1}."""
    left_out = jnp.sqrt(f.tail * g.tail) * jnp.abs(rho) ** f.values.shape[-1]
    error = left_out + _coefficient_error(f, g, rho)
    return Estimate(_sum(f.values, g.values, rho), jax.lax.stop_gradient(error))


def _curved(dg: Expansion, dh: Expansion, h: Expansion, s_w: Array, rho: Array) -> Estimate:
    """√q_u ⟨g''(u) h(w)⟩ = Σ_{n≤N−2} √(n+1) b_{n+1} c_n ρⁿ, with the bound of `i3`."""
    M = dg.values.shape[-1] - 1
    root = match_rank(np.sqrt(np.arange(1.0, M + 1)), dg.values)
    f = dg._replace(values=root * dg.values[..., 1:], error=root * dg.error[..., 1:])
    c = h.below(M - 1)
    first = max(M, 1)
    left_out = s_w * jnp.sqrt((1 + 1 / first) * dg.tail * dh.below(first - 2).tail)
    left_out = left_out * jnp.abs(rho) ** first
    if M == 0:  # the bound by √n c_n does not hold for n = 0
        left_out = left_out + jnp.sqrt(dg.tail * h.square)
    return Estimate(_sum(f.values, c.values, rho), left_out + _coefficient_error(f, c, rho))


def _sum(f: Float[Array, "... n"], g: Float[Array, "... n"], rho: Array) -> Float[Array, "..."]:
    return jnp.sum(f * g * powers(rho, f.shape[-1]), axis=-1)


def _coefficient_error(f: Expansion, g: Expansion, rho: Array) -> Float[Array, "..."]:
    """Return the error due to errors of the coefficients and to rounding of their products."""
    a, b = jnp.abs(f.values), jnp.abs(g.values)
    count = a.shape[-1]
    each = a * g.error + b * f.error + f.error * g.error + 2 * count * EPSILON * a * b
    return jnp.sum(each * jnp.abs(powers(rho, count)), axis=-1)


def _variances_and_correlations(C: Float[Array, "... d d"]) -> tuple[Array, Array, Array]:
    """q_i = C_ii, √q_i and ρ_ij; a field of variance zero is a constant, with ρ = 0."""
    q = jnp.diagonal(C, axis1=-2, axis2=-1)
    varies = q > SMALLEST_VARIANCE
    s = jnp.sqrt(jnp.where(varies, q, 1.0))
    both_vary = varies[..., :, None] & varies[..., None, :]
    rho = jnp.where(both_vary, C / s[..., :, None] / s[..., None, :], 0.0)
    return jnp.where(varies, q, 0.0), jnp.where(varies, s, 0.0), rho

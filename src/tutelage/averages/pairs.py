"""First-order terms from two-point averages: the mean Jacobian of the signals.

With δ_i = g'(x_i) Σ_a G_ia g_a(f_a) over all fields f, Stein's lemma gives for every jointly
Gaussian z

    ⟨δ_i z⟩ = Σ_a A_ia Cov(f_a, z),
    A_ia = ⟨∂δ_i/∂f_a⟩ = G_ia ⟨g'(x_i) g_a'(f_a)⟩ + [a = i] Σ_b G_ib ⟨g''(x_i) g_b(f_b)⟩

(docs/physics/averages.md).  Units with a closed form are g(x) = o + m x + d |x| + e erf(x/√2),
where both averages are elementary; `tutelage.averages.conditional` has the others.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp, match_rank, ordered_sum, small_product
from tutelage.activations import Activation
from tutelage.activations.base import form_of
from tutelage.averages.arcsines import arcsines, determinant
from tutelage.averages.orthant.rows import PRIVATE
from tutelage.averages.orthant.twofold import minor

ROOT = math.sqrt(2 / math.pi)


class UnitCoefficients(NamedTuple):
    """m, d, e and o of the unit of every field (`ClosedForm`); zero for terms that the unit lacks.

    Each of shape (n,), or None for terms that all units lack, which formulas leave out.
    """

    m: Array | None
    d: Array | None
    e: Array | None
    o: Array | None

    def reshaped(self, reshape: Callable[[Array], Array]) -> "UnitCoefficients":
        """Return coefficients of another shape."""
        return UnitCoefficients(*(None if x is None else reshape(x) for x in self))


def unit_coefficients(units: list[tuple[Activation, int]]) -> UnitCoefficients:
    """Stack the coefficients of the units; each entry is (activation, number of equal units)."""
    forms, counts = [form_of(g) for g, _ in units], [count for _, count in units]

    def of_fields(values: tuple[Any, ...]) -> Array | None:
        if all(x is None for x in values):
            return None
        numbers = [jnp.asarray(0.0 if x is None else x, dtype=jnp.float64) for x in values]
        return jnp.concatenate(
            [jnp.broadcast_to(x, (count,)) for x, count in zip(numbers, counts, strict=True)]
        )

    return UnitCoefficients(*map(of_fields, zip(*forms, strict=True)))


def first_order(
    units: UnitCoefficients,
    C: Float[Array, "... n n"],
    G: Float[Array, "... K n"],
    kinks: bool = True,
) -> Float[Array, "... K n"]:
    """⟨δ_i f_v⟩ = Σ_a A_ia C_av for the first K fields.

    kinks: whether the first K units may have d; what that takes costs most.

    The parts with d of both units are taken together (`_with_kinks`): each of them has an infinite
    derivative where the fields coincide, their sum a finite one.
    """
    G = match_rank(G, C)
    A = _without_kinks(units, C, G)
    if not kinks:
        return small_product(A, C)
    return _with_kinks(C, A, _moduli(units, G))


def mean_jacobian(
    units: UnitCoefficients, C: Float[Array, "... n n"], G: Float[Array, "... K n"]
) -> Float[Array, "... K n"]:
    """A_ia = ⟨∂δ_i/∂f_a⟩, for distinct fields."""
    G = match_rank(G, C)
    if units.d is None:
        return _without_kinks(units, C, G)
    K, W = G.shape[-2], _moduli(units, G)
    arcsine, area, variance = arcsines(C, K)
    along = ordered_sum(W * area, axis=-1, keepdims=True) / variance
    return _without_kinks(units, C, G) + W * arcsine + _on_diagonal(along, C)


def _moduli(units: UnitCoefficients, G: Float[Array, "... K n"]) -> Float[Array, "... K n"]:
    """Multiply G by the coefficient of the |z| |z'| term of each pair of units."""
    d: Any = units.d  # some student has it
    products = 2 / math.pi * jnp.outer(d[: G.shape[-2]], d)
    moduli: Array = G * match_rank(products, G)
    return moduli


def _on_diagonal(x: Float[Array, "... K 1"], C: Float[Array, "... n n"]) -> Float[Array, "... K n"]:
    """x_i where i = a, and 0 elsewhere."""
    return jnp.where(np.eye(x.shape[-2], C.shape[-1], dtype=bool), x, 0.0)


def _without_kinks(
    units: UnitCoefficients, C: Float[Array, "... n n"], G: Float[Array, "... K n"]
) -> Float[Array, "... K n"]:
    """Return A minus the contribution of the |z| parts of both units."""
    K = G.shape[-2]
    own = units.reshaped(lambda x: match_rank(x[:K, None], C))
    units = units.reshaped(lambda x: match_rank(x, C))
    variance = jnp.diagonal(C, axis1=-2, axis2=-1)
    rows, columns = variance[..., :K, None], variance[..., None, :]
    # Parts of ⟨g'(x_i) g_a'(f_a)⟩ and of ⟨g''(x_i) g_a(f_a)⟩.
    slopes, curvature, lines = list[Any](), list[Any](), None
    if own.m is not None and units.m is not None:
        lines = own.m, units.m
        slopes.append(own.m * units.m)
    if own.e is not None and units.e is not None:
        e = own.e, units.e
        more = _of_error_functions(e, lines, C[..., :K, :], rows, columns)
        slopes, curvature = slopes + more[0], curvature + more[1]
    if own.d is not None and units.o is not None:
        # The constant part of a unit only meets the delta function of g'': ⟨g''⟩ = 2 d p(0).
        density = ROOT / 2 / jnp.sqrt(jnp.where(rows > 0, rows, 1.0))
        curvature.append(2 * own.d * units.o * density)
    A = G * sum(slopes, 0.0)
    if curvature:
        A = A + _on_diagonal(ordered_sum(G * sum(curvature), axis=-1, keepdims=True), C)
    return A


def _of_error_functions(
    e: tuple[Array, Array],
    m: tuple[Array, Array] | None,
    c: Array,
    rows: Array,
    columns: Array,
) -> tuple[list[Array], list[Array]]:
    """Return the parts with e of ⟨g'(x_i) g_a'(f_a)⟩ and of ⟨g''(x_i) g_a(f_a)⟩.

    e, m: coefficients of x_i and of f_a;  c: C_ia;  rows, columns: C_ii and C_aa.
    """
    # erf' = √(2/π) exp(-x²/2): a Gaussian factor adds one to the inverse variance.
    Lambda = determinant(rows, c, columns) + 1 + rows + columns
    of_erf = e[0] * e[1] * (2 / math.pi) / jnp.sqrt(Lambda)
    if m is None:
        return [of_erf], [-c / (1 + rows) * of_erf]
    of_line = ROOT * e[0] * m[1] / jnp.sqrt(1 + rows)
    other = ROOT * m[0] * e[1] / jnp.sqrt(1 + columns)
    return [of_erf, of_line, other], [-c / (1 + rows) * (of_erf + of_line)]


@jax.custom_jvp
def _with_kinks(
    C: Float[Array, "... n n"], A: Float[Array, "... K n"], W: Float[Array, "... K n"]
) -> Float[Array, "... K n"]:
    """Σ_a {[A_ia + W_ia asin(ρ_ia)] C_av + W_ia (√(C_ii C_aa - C_ia²)/C_ii) C_iv}."""
    arcsine, area, variance = arcsines(C, W.shape[-2])
    along = ordered_sum(W * area, axis=-1, keepdims=True) / variance
    factor = A + W * arcsine
    return small_product(factor, C) + along * C[..., : W.shape[-2], :]


@_with_kinks.defjvp
def _with_kinks_tangent(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """With κ_v = Cov(a, v | i) and κ'_v = Cov(i, v | a), the derivatives are κ_v/√… by C_ia,
    κ'_v/(2√…) by C_aa and (C_aa κ'_v/√… - 2 C_iv √…/C_ii)/(2 C_ii) by C_ii.

    Both are of the order of the area √… or smaller; where that is rounding they count as zero.
    """
    (C, A, W), (dC, dA, dW) = primals, tangents
    K, n = W.shape[-2], C.shape[-1]
    arcsine, area, rows = arcsines(C, K)
    variance = jnp.diagonal(C, axis1=-2, axis2=-1)
    columns = jnp.where(variance > 0, variance, 1.0)[..., None, :]
    c = C[..., :K, :]
    least = jnp.sqrt(area**2 + 2 * PRIVATE**2 * rows * columns)
    inverse = jnp.where(np.eye(K, n, dtype=bool), 0.0, W / least)
    between = jnp.sqrt(determinant(variance[..., :, None], C, variance[..., None, :]))
    C_iv, C_av = c[..., :, None, :], C[..., None, :, :]
    C_ii, C_aa, C_ia = rows[..., None], columns[..., None], c[..., :, :, None]
    of_i, of_a = between[..., :K, None, :], between[..., None, :, :]
    area_ia = jnp.where(np.eye(K, n, dtype=bool), 0.0, area)[..., None]
    kappa = _bounded(minor(C_ii, C_ia, C_iv, C_av) / C_ii, area_ia * of_i / C_ii)
    other = _bounded(minor(C_aa, C_ia, C_av, C_iv) / C_aa, area_ia * of_a / C_aa)
    d_variance = jnp.diagonal(dC, axis1=-2, axis2=-1)
    d_c, d_ii, d_aa = dC[..., :K, :], d_variance[..., :K, None], d_variance[..., None, :]
    change = jnp.einsum("...iav,...ia->...iv", kappa, inverse * d_c)
    half = 0.5 * inverse * (d_aa + columns / rows * d_ii)
    change = change + jnp.einsum("...iav,...ia->...iv", other, half)
    shrinks = ordered_sum(W * area, axis=-1, keepdims=True) / rows**2 * d_ii
    along = ordered_sum(W * area, axis=-1, keepdims=True) / rows
    change = change + (A + W * arcsine) @ dC + along * dC[..., :K, :] - shrinks * c
    return _with_kinks(C, A, W), change + _with_kinks(C, dA, dW)


def _bounded(x: Array, bound: Array) -> Array:
    """Clip to the bounds of Cauchy and Schwarz, which a rounded covariance can violate."""
    return jnp.clip(x, -bound, bound)

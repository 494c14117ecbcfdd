"""Error functions: ⟨δ_i δ_k⟩ in closed form for all fields at once.

g' = √(2/π) exp(-x²/2) is a Gaussian factor: under the weight of two of them fields are Gaussian
with the covariance Σ of fields given x_i + u = x_k + v = 0, where u and v are independent noise of
variance 1, and erf averages as usual,

    ⟨δ_i δ_k⟩ = (2/π)/√Λ [Σ_ab G_ia G_kb (2/π) asin ξ_ab + h_i h_k + ς² (vᵀv)_ik],
    ξ_ab = Σ_ab/√((1 + Σ_aa)(1 + Σ_bb)),   Σ_ab = C_ab - u_a u_b - w_a w_b,
    u_a = C_ia/√(1 + C_ii),   w_a = (C_ka - C_ik C_ia/(1 + C_ii)) √((1 + C_ii)/Λ),
    Λ = (1 + C_ii)(1 + C_kk) - C_ik²,   h_i = Σ_c v_ci o_c,

with G of `tutelage.averages.generalization.couplings` times the factors e of both error functions,
v times those of the students, and o_c the constant output Σ_a r_ca offset_a.  The terms are those
of Saad and Solla (1995).  Of the K² n² terms K (K + 1) n (n + 1)/4 differ, n = K + M; each of them
is computed once, and takes about 50 floating-point operations.

Pairs (a, b) are taken as (a, a + s) for s = 0 … n/2, indices modulo n: the terms of one s are made
of slices of arrays, where lists of indices would not compile to vector instructions.  The fields a
are the last axis: with the pairs (i, k) there a right-hand side takes 1.1 to 3 times as long.

Plain arithmetic is enough here: noise of variance 1 keeps every denominator away from 0, and where
Σ is a difference of large numbers, at norms q ≫ 1, Λ is large, too.  An entry of ⟨δ_i δ_k⟩ is off
by a few units of the last place times √q: below 1e-12 for norms of 10⁶, where runs end.
"""

import math

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import has_wide_vectors, jax, jnp, match_rank, ordered_sum, small_product
from tutelage.averages.generalization import coefficients
from tutelage.averages.methods import ErfClosedForm, Method
from tutelage.averages.orthant.angle import arcsine
from tutelage.averages.pairs import unit_coefficients
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import upper_triangle
from tutelage.online.moments.base import EXACT, Moments, exact_first_order

# Fewer fields are padded: LLVM compiles a loop over four fields to scalar code, and a right-hand
# side for K = M = 2 would take 0.47 instead of 0.30 μs.
MIN_FIELDS = 5
# With more shifts than these, a loop replaces the single expression.
UNROLLED_SHIFTS = 8


class ErfMoments(Moments):
    """Exact averages of error functions with any offsets."""

    @staticmethod
    def supports(scenario: Scenario, method: Method) -> bool:
        return isinstance(method, ErfClosedForm)

    @property
    def fits_one_kernel(self) -> bool:
        return not self.has_long_loops

    @property
    def uses_wide_vectors(self) -> bool:
        return has_wide_vectors()

    @property
    def is_faster_serially(self) -> bool:
        return True

    @property
    def has_long_loops(self) -> bool:
        return _shifts(self.scenario.K + self.scenario.M) > UNROLLED_SHIFTS

    @property
    def terms(self) -> int:
        # A term is one arcsine, which takes 4 ns; an average of four fields takes about 100 ns.
        return super().terms // 25 + 1

    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        return exact_first_order(self.scenario, overlaps)

    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        C, K = jnp.asarray(overlaps.covariance), self.scenario.K
        e, o = self._sizes_and_offsets
        r = coefficients(self.scenario)
        output, r = ordered_sum(r * o[None], axis=-1), r * e[None]
        v = -r[:, :K]
        i, k = np.triu_indices(K)
        more = max(0, MIN_FIELDS - C.shape[-1])
        C = jnp.pad(C, [(0, 0)] * (C.ndim - 2) + [(0, more)] * 2)
        r = jnp.pad(r, [(0, 0), (0, more)])
        G, h = small_product(v.T, r), small_product(output[None], v)[0]
        constant = (jnp.outer(h, h) + self.scenario.label_noise**2 * small_product(v.T, v))[i, k]
        own, other, between = 1 + C[..., i, i], 1 + C[..., k, k], C[..., i, k]
        Lambda = own * other - between**2
        u = C[..., i, :] / jnp.sqrt(own)[..., None]
        w = C[..., k, :] - C[..., i, :] * (between / own)[..., None]
        w = w * jnp.sqrt(own / Lambda)[..., None]
        signs = 2 / math.pi * _sum_of_arcsines(C, u, w, G[i], G[k])
        # XLA would compute a product twice, for (i, k) and (k, i), but not a division.
        signs = signs + match_rank(constant, signs)
        return (signs / (math.pi / 2 * jnp.sqrt(Lambda)))[..., upper_triangle(K)]

    def error(self, overlaps: Overlaps) -> float:
        return EXACT

    @property
    def _sizes_and_offsets(self) -> tuple[Array, Array]:
        """The factor e and the offset o of the error function of every field."""
        sides = [(c.activation, c.units) for c in (self.scenario.student, self.scenario.teacher)]
        units = unit_coefficients(sides)
        assert units.e is not None
        return units.e, jnp.zeros_like(units.e) if units.o is None else units.o


def _sum_of_arcsines(
    C: Float[Array, "... n n"],
    u: Float[Array, "... pairs n"],
    w: Float[Array, "... pairs n"],
    G_i: Float[Array, "pairs n"],
    G_k: Float[Array, "pairs n"],
) -> Float[Array, "... pairs"]:
    """Return Σ_ab G_ia G_kb asin ξ_ab; (a, b) and (b, a) are one term."""
    n = C.shape[-1]
    half = n // 2
    a = np.arange(n + half) % n
    covariance = C[..., a[:n], a[:n] + np.arange(half + 1)[:, None] - n]
    variance = jnp.diagonal(C, axis1=-2, axis2=-1)[..., None, :]
    inverse = 1 / jnp.sqrt(1 + variance - u * u - w * w)
    weights = (match_rank(x, C) for x in (G_i, G_k))
    # XLA computes a concatenated array once, not again for every shift that reads it.
    fields = tuple(jnp.concatenate([x, x[..., :half]], axis=-1) for x in (u, w, inverse, *weights))

    def terms(s: int | Array) -> Array:
        """Return G_ia G_kb asin ξ_ab + G_ib G_ka asin ξ_ba for all a, and b = a + s."""
        u_a, w_a, inverse_a, ia, ka = (x[..., :n] for x in fields)
        u_b, w_b, inverse_b, ib, kb = (_slice(x, s, n, -1) for x in fields)
        C_ab = _slice(covariance, s, 1, -2)
        xi = (C_ab - u_a * u_b - w_a * w_b) * (inverse_a * inverse_b)
        return (ia * kb + ib * ka) * arcsine(xi)

    total = 0.5 * terms(0)  # (a, a) is one term
    end = _shifts(n)
    if end <= UNROLLED_SHIFTS:
        total = sum((terms(s) for s in range(1, end)), total)
    else:
        total = jax.lax.fori_loop(1, end, lambda s, total: total + terms(s), total)
    if end == half:  # each pair (a, a + n/2) occurs twice: half as many terms would be scalar code
        total = total + 0.5 * terms(half)
    return ordered_sum(total, axis=-1)


def _slice(x: Array, start: int | Array, size: int, axis: int) -> Array:
    """Return x[start : start + size] along an axis."""
    if isinstance(start, int):  # traced in one operation instead of seven
        return jax.lax.slice_in_dim(x, start, start + size, axis=axis)
    return jax.lax.dynamic_slice_in_dim(x, start, size, axis)


def _shifts(n: int) -> int:
    """Return the number of shifts s = 0, 1, … for which all pairs (a, a + s) are different."""
    return n - n // 2

"""Bounds on the error of the truncated Kibble-Slepian series of I4.

Two statements that hold always, and one extrapolation.

**Gaussian Hölder inequality** (Chen, Dafnis and Paouris, Adv. Math. 280 (2015) 643): fields of
unit variance with correlation matrix P ≤ p·1 have |⟨Π f_i⟩| ≤ Π ‖f_i‖_p.  P ≤ 4·1 always
holds, so that |I4 − S_N| ≤ |S_N| + Π ‖f_i‖₄.

**Where P ≤ 2·1** the norms are those of the expansions themselves.  Exchange f_i for its
truncation one after the other: the omitted part of f_i begins at order M_i = N_i + 1, and a
function that begins at order M survives a rescaling of its field's correlations by 1/s at the
price s^M.  The smallest s that keeps 0 ≤ P ≤ 2·1 is the larger of the multiple correlation
coefficients R_i of field i in P and in 2·1 − P:

    |I4 − S_N| ≤ Σ_i s_i^{M_i} √tail_i Π_{j≠i} ‖f_j‖₂.

**Extrapolation.** With every coefficient and correlation replaced by its absolute value, the
error is at most what the series of positive terms still has to come.  Two shells of it (two
orders each, because coefficients vanish at every other order) give its decay, which is taken
for a power of the order: ⟨θ(u)θ(v)⟩ at ρ → 1 leaves no more than that.
"""

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jnp
from tutelage.averages.hermite.coefficients import NORM_ROUNDING, Expansion

# Rounding error of determinants of correlation matrices, sums of 24 products of numbers up to 1.
DETERMINANT_ROUNDING = 1e-14
# Safety factor: products of coefficients with different powers decay more slowly at higher orders.
SAFETY = 3.0
# Lowest order with enough and sufficiently regular shells.
LOWEST_ORDER = 6
# A decay slower than n^−p with this p does not count as convergence.
SLOWEST_POWER = 1.2
# If the last orders contain less than this part of the omitted sum (a polynomial of higher degree,
# say), they are no basis for an extrapolation.
LAST_ORDERS, SMALLEST_SHARE = 4, 0.02

Four = tuple[Expansion, ...]  # of the fields u, v, w, z
PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))


def always(S: Array, expansions: Four) -> Float[Array, " batch"]:
    """The bound |S_N| + Π ‖f_i‖₄, which always holds."""
    return jnp.abs(S) + _product([e.norm4 for e in expansions])


def where_moderate(rho: Float[Array, "6 batch"], expansions: Four) -> Float[Array, " batch"]:
    """The bound for a correlation matrix P ≤ 2·1; infinite for other P."""
    R2_plus, definite = _multiple_correlations(rho)
    R2_minus, moderate = _multiple_correlations(-rho)
    s2 = jnp.clip(jnp.maximum(R2_plus, R2_minus), 0.0, 1.0)
    norms = [jnp.sqrt(e.square) for e in expansions]
    bound = jnp.zeros(rho.shape[1])
    for i, e in enumerate(expansions):
        others = _product([x for j, x in enumerate(norms) if j != i])
        bound += s2[i] ** (0.5 * e.values.shape[-1]) * jnp.sqrt(e.tail) * others
    return jnp.where(definite & moderate, bound, jnp.inf)


def extrapolated(order: int, largest: Array, middle: Array, smallest: Array) -> Array:
    """Extrapolate the rest of a positive series from orders N, N − 2, N − 4; infinite if they fall
    too slowly.

    Shells like n^−p at n = N − 1 and N − 3 leave N/(2(p − 1)) times the last one, more than
    any faster decay with the same ratio of shells.
    """
    last, before = largest - middle, middle - smallest
    happens = (last > 0) & (before > 0)
    ratio = jnp.where(happens, last, 1.0) / jnp.where(happens, before, 1.0)
    p = -jnp.log(ratio) / np.log((order - 1) / (order - 3))
    clear = happens & (p > SLOWEST_POWER)
    rest = last * (1 + order / (2 * (jnp.where(clear, p, 2.0) - 1)))
    return jnp.where(clear, SAFETY * rest, jnp.where(last > 0, jnp.inf, 0.0))


def representative(expansions: Four) -> Array:
    """Return whether the last orders of every expansion are representative of the
    truncated ones.
    """
    answer = jnp.asarray(True)
    for e in expansions:
        last = jnp.sum(e.values[..., -LAST_ORDERS:] ** 2, axis=-1)
        complete = e.tail <= 2 * NORM_ROUNDING * e.square
        answer = answer & (complete | (last >= SMALLEST_SHARE * e.tail))
    return answer


def from_coefficients(expansions: Four) -> Float[Array, " batch"]:
    """First order in the errors of c_n: ‖Σ ε_n h_n‖₄ ≤ Σ 3^{n/2} ε_n (hypercontractivity)."""
    norms = [e.norm4 for e in expansions]
    bound = jnp.zeros(norms[0].shape)
    for i, e in enumerate(expansions):
        others = _product([x for j, x in enumerate(norms) if j != i])
        growth = 3 ** (0.5 * np.arange(e.error.shape[-1]))
        bound += e.error @ growth * others
    return bound


def _product(factors: list[Array]) -> Array:
    result = factors[0]
    for x in factors[1:]:
        result = result * x
    return result


def _multiple_correlations(rho: Array) -> tuple[Float[Array, "4 batch"], Array]:
    """Upper bounds of R_i² = 1 − det P/det P_(without i), and whether P is positive definite."""
    P = _matrix(rho)
    whole = _determinant(P)
    minors = [_determinant([[P[a][b] for b in rest] for a in rest]) for rest in _RESTS]
    R2 = jnp.stack(
        [1 - (whole - DETERMINANT_ROUNDING) / (jnp.abs(m) + DETERMINANT_ROUNDING) for m in minors]
    )
    definite = (whole > DETERMINANT_ROUNDING) & (minors[3] > 0) & (jnp.abs(rho[0]) < 1)
    return R2, definite


_RESTS = tuple(tuple(j for j in range(4) if j != i) for i in range(4))


def _matrix(rho: Array) -> list[list[Array]]:
    P = [[jnp.ones(rho.shape[1])] * 4 for _ in range(4)]
    for (a, b), r in zip(PAIRS, rho, strict=True):
        P[a][b] = P[b][a] = r
    return P


def _determinant(M: list[list[Array]]) -> Array:
    """Laplace's expansion: elementary operations on the whole batch."""
    if len(M) == 1:
        return M[0][0]
    minors = (_determinant([row[:j] + row[j + 1 :] for row in M[1:]]) for j in range(len(M)))
    expanded: Array = sum((-1) ** j * M[0][j] * minor for j, minor in enumerate(minors))
    return expanded

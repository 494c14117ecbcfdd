"""The four-dimensional Kibble-Slepian series as a contraction of small tables.

    I4 = Σ Π_{i<j} ρ_ij^{n_ij}/n_ij!  Π_i √n_i! c_{n_i},    n_i = Σ_j n_ij

(`citton2025` eq. (1), with ⟨H_n, f⟩ = √n! c_n).  Two of the six sums factor: n_12 enters only
the coefficients of fields 1 and 2, and n_34 only those of 3 and 4.  With j = n_13, k = n_14,
m = n_23, n = n_24 and p_i(ρ) = ρⁱ/i!,

    e(s, t) = Σ_i p_i(ρ_12) A_{i+s} B_{i+t},      f(s, t) = Σ_i p_i(ρ_34) C_{i+s} D_{i+t},

    I4 = Σ_jkmn p_j(ρ_13) p_k(ρ_14) p_m(ρ_23) p_n(ρ_24) e(j+k, m+n) f(j+m, k+n):

2365 terms instead of 31 460 at order 10, fewer where coefficients vanish identically.
"""

from functools import lru_cache

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jnp

Present = tuple[bool, ...]


@lru_cache
def _pairs_present(first: Present, second: Present) -> np.ndarray:
    """Return a table, True at (s, t) where both first[i + s] and second[i + t] exist for some i."""
    present = np.zeros((len(first), len(second)), bool)
    for s in range(len(first)):
        for t in range(len(second)):
            present[s, t] = any(x and y for x, y in zip(first[s:], second[t:], strict=False))
    return present


@lru_cache
def terms(present: tuple[Present, ...]) -> np.ndarray:
    """Return all (j, k, m, n) with a contribution, one per row.

    Every n_i has its own largest order, one less than the length of its pattern.
    """
    n1, n2, n3, n4 = (len(p) - 1 for p in present)
    j, k, m, n = np.indices((min(n1, n3) + 1, min(n1, n4) + 1, min(n2, n3) + 1, min(n2, n4) + 1))
    inside = (j + k <= n1) & (m + n <= n2) & (j + m <= n3) & (k + n <= n4)
    rows = np.stack([x[inside] for x in (j, k, m, n)], axis=-1)
    e, f = _pairs_present(*present[:2]), _pairs_present(*present[2:])
    keep = e[rows[:, 0] + rows[:, 1], rows[:, 2] + rows[:, 3]]
    keep &= f[rows[:, 0] + rows[:, 2], rows[:, 1] + rows[:, 3]]
    remaining: np.ndarray = rows[keep]
    return remaining


def series(
    coefficients: tuple[Float[Array, "_ #batch"], ...],
    rho: Float[Array, "6 batch"],
    present: tuple[Present, ...],
) -> Float[Array, " batch"]:
    """Sum the truncated series; the batch is the last axis, where memory is contiguous.

    Arguments:
        coefficients: √n! c_n of the four fields.
        rho: correlations 12, 13, 14, 23, 24, 34.
        present: which coefficients do not vanish identically.
    """
    A, B, C, D = coefficients
    p = _powers(rho, max(len(c) for c in coefficients))
    e, f = _pair_table(p[:, 0], A, B), _pair_table(p[:, 5], C, D)
    U = p[:, None, 1] * p[None, :, 2]
    V = p[:, None, 3] * p[None, :, 4]
    j, k, m, n = terms(present).T
    return jnp.sum(
        _pick(U, j, k) * _pick(V, m, n) * _pick(e, j + k, m + n) * _pick(f, j + m, k + n), axis=0
    )


def _powers(rho: Float[Array, "6 batch"], count: int) -> Float[Array, "n 6 batch"]:
    """ρⁿ/n! by running products, whose derivatives at ρ = 0 are finite (those of pow are not)."""
    factors = rho[None] / np.arange(1.0, count)[:, None, None]
    return jnp.concatenate([jnp.ones((1, *rho.shape)), jnp.cumprod(factors, axis=0)])


def _pair_table(p: Array, first: Array, second: Array) -> Float[Array, "s t batch"]:
    """Σ_i p_i first_{i+s} second_{i+t}."""
    count = min(len(first), len(second))
    first, second = _shifted(first)[:, :count], _shifted(second)[:, :count]
    return jnp.sum((first * p[None, :count])[:, None] * second[None], axis=2)


def _shifted(c: Float[Array, "n batch"]) -> Float[Array, "n n batch"]:
    """c_{i+s} at (s, i), zero beyond the last order."""
    n = len(c)
    padded = jnp.concatenate([c, jnp.zeros((n - 1, *c.shape[1:]))])
    return padded[np.arange(n)[:, None] + np.arange(n)]


def _pick(table: Float[Array, "s t batch"], row: np.ndarray, column: np.ndarray) -> Array:
    """Return table[row, column] through one flat index: it compiles and runs five times faster."""
    flat = (row * table.shape[1] + column).astype(np.int32)
    return table.reshape(-1, table.shape[-1])[flat]

"""Lanczos iteration: reduce a large symmetric matrix to a small tridiagonal one."""

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxtyping import Array, Float, Int

from tutelage._jax import jax, jnp


class Tridiagonal(NamedTuple):
    """T = Vᵀ H V with orthonormal columns V = (v, …): the diagonal and the first off-diagonal.

    The last entry of ``off_diagonal`` belongs to the step that was not taken.  Where the Krylov
    space of v is exhausted, off-diagonal entries are zero; later entries do not belong to H, and
    have no weight in the `quadrature`.
    """

    diagonal: Float[Array, " steps"]
    off_diagonal: Float[Array, " steps"]


def tridiagonal(
    product: Callable[[Any], Any], start: Float[Array, " n"], steps: int
) -> Tridiagonal:
    """β_j v_{j+1} = H v_j − α_j v_j − β_{j−1} v_{j−1}, with every v orthogonal to all before.

    Without that, rounding makes copies of eigenvalues that were found already (Golub and Van
    Loan, Section 10.3); twice is enough (Parlett, The Symmetric Eigenvalue Problem, Section 6.9).

    Args:
        product: v → H v.
        start: v, of any length but zero.
        steps: at most as many as v has entries.

    >>> H = jnp.diag(jnp.array([1.0, 2.0, 4.0]))
    >>> a, b = tridiagonal(lambda v: H @ v, jnp.ones(3), 3)
    >>> jnp.linalg.eigvalsh(jnp.diag(a) + jnp.diag(b[:2], 1) + jnp.diag(b[:2], -1)).round(12)
    Array([1., 2., 4.], dtype=float64)
    """
    n = start.size

    def step(j: Int[Array, ""], carry: tuple[Array, Array, Array]) -> Any:
        V, a, b = carry
        w = product(V[j])
        α = w @ V[j]
        scale = jnp.linalg.norm(w)
        for _ in range(2):  # rows that have not been computed are zero
            w = w - V.T @ (V @ w)
        β = jnp.linalg.norm(w)
        # A smaller w is rounding: the Krylov space is exhausted, and v_{j+1} = 0.
        β = jnp.where(β > n * jnp.finfo(float).eps * scale, β, 0.0)
        V = V.at[j + 1].set(jnp.where(β > 0, w / jnp.where(β > 0, β, 1.0), 0.0))
        return V, a.at[j].set(α), b.at[j].set(β)

    V = jnp.zeros((steps + 1, n)).at[0].set(start / jnp.linalg.norm(start))
    _, a, b = jax.lax.fori_loop(0, steps, step, (V, jnp.zeros(steps), jnp.zeros(steps)))
    return Tridiagonal(a, b)


def quadrature(T: Tridiagonal) -> tuple[Float[Array, " steps"], Float[Array, " steps"]]:
    """Nodes θ_k and weights w_k with vᵀ f(H) v = Σ_k w_k f(θ_k), exact for degree < 2 steps.

    θ_k are the eigenvalues of T and w_k the squared first entries of its eigenvectors (Golub and
    Meurant, Matrices, Moments and Quadrature, Chapter 6); |v| = 1.
    """
    a, b = T
    θ, S = jnp.linalg.eigh(jnp.diag(a) + jnp.diag(b[:-1], 1) + jnp.diag(b[:-1], -1))
    return θ, S[0] ** 2

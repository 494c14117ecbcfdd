"""The free energy over all overlaps: its coordinates, gradient and Hessian."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage.averages.methods import Method
from tutelage.equilibrium.kernel.pair_error import PairError
from tutelage.model import Scenario
from tutelage.runs.stored_jit import stored_jit

# Eigenvalues of T below this fraction of the largest are rounding errors.
_RANK = 1e-12


class FreeEnergyLandscape(eqx.Module):
    """βf = α K ε_g - ½ ln det(Q - R T⁺ Rᵀ), oostwal2019 eqs. (16) and (18), for any K, M and T.

    A student is a unit vector.  Its r components A along an orthonormal basis of the teachers'
    span (R = A Bᵀ with T = B Bᵀ) and a Cholesky factor L of the rest of Q describe all
    overlaps,

        R = A Bᵀ,    Q = A Aᵀ + L Lᵀ,    row i of (A, L) = (z_i, 1)/√(1 + |z_i|²),

    with z_i ∈ ℝ^(r + i - 1) free of any constraint: every z is a positive definite covariance,
    every one is reached, and the entropy is s = Σ ln L_ii = -½ Σ ln(1 + |z_i|²).  T may be
    singular; where it is not, det C = det T · det(Q - R T⁻¹ Rᵀ), so that this s differs from
    ½ ln det C by a constant, and vanishes for students orthogonal to everything.
    """

    error: PairError
    basis: Float[Array, "M r"]

    def __init__(self, scenario: Scenario, method: Method | str | None = None):
        self.error = PairError(scenario, method)
        values, vectors = np.linalg.eigh(np.asarray(scenario.T))
        is_direction = values > _RANK * max(values[-1], 0.0)
        basis = vectors[:, is_direction] * np.sqrt(values[is_direction])
        # The symmetric root keeps the names of the teachers: A = R where T is the identity.
        self.basis = jnp.asarray(basis @ vectors.T if np.all(is_direction) else basis)

    @property
    def rank(self) -> int:
        """r, the dimension of the teachers' span."""
        return self.basis.shape[1]

    @property
    def size(self) -> int:
        """K r + K (K - 1)/2, the number of free coordinates."""
        K = self.error.scenario.K
        return K * self.rank + K * (K - 1) // 2

    @stored_jit
    def vectors(self, z: Float[Array, " d"]) -> Float[Array, "K n"]:
        """Students as unit vectors (A, L): A in a basis of the teachers' span, L in Gram–Schmidt
        directions outside.
        """
        K, r = self.error.scenario.K, self.rank
        # A product with a matrix of zeros and ones, because scattering z is ten times slower in
        # batches.
        place = np.zeros((K, r + K, self.size))
        place[(*np.tril_indices(K, r - 1, r + K), np.arange(self.size))] = 1.0
        raw = jnp.eye(K, r + K, r) + place @ z
        return raw / jnp.sqrt(jnp.sum(raw**2, axis=1, keepdims=True))

    @stored_jit
    def coordinates(self, vectors: Float[Array, "K n"]) -> Float[Array, " d"]:
        """z of students given by lower triangular (A, L); undoes `vectors`."""
        K, r = self.error.scenario.K, self.rank
        raw = vectors / jnp.diagonal(vectors, offset=r)[:, None]
        return raw[np.tril_indices(K, r - 1, r + K)]

    @stored_jit
    def overlaps(self, z: Float[Array, " d"]) -> tuple[Float[Array, "K K"], Float[Array, "K M"]]:
        """Q and R."""
        V = self.vectors(z)
        K = self.error.scenario.K
        return jnp.where(np.eye(K, dtype=bool), 1.0, V @ V.T), V[:, : self.rank] @ self.basis.T

    def free_energy(self, z: Float[Array, " d"], load: Array | float) -> Float[Array, ""]:
        """βf."""
        return load * self.error.scenario.K * self.error(self._pairs(z)) - self.entropy(z)

    @stored_jit
    def entropy(self, z: Float[Array, " d"]) -> Float[Array, ""]:
        """s = Σ ln L_ii."""
        return jnp.sum(jnp.log(jnp.diagonal(self.vectors(z), offset=self.rank)))

    def derivatives(
        self, z: Float[Array, " d"], load: Array | float
    ) -> tuple[Float[Array, ""], Float[Array, " d"], Float[Array, "d d"]]:
        """βf, its gradient and its Hessian with respect to z.

        The pairs of ε_g do not mix: two derivatives of one function of one overlap are all that
        is needed, and the second-order polynomial with these is differentiated instead of ε_g.
        """
        K = self.error.scenario.K
        Q, R = self.overlaps(z)
        pairs = self.error.pairs(Q, R)
        value = self.error(pairs)
        (q1, r1), (q2, r2) = (
            self.error.split(f(pairs)) for f in (self.error.first, self.error.second)
        )
        q1, q2 = (jnp.zeros((K, K)).at[np.triu_indices(K, 1)].set(q) for q in (q1, q2))

        def osculating(z: Array) -> Array:
            V = self.vectors(z)
            dQ, dR = V @ V.T - Q, V[:, : self.rank] @ self.basis.T - R
            students = jnp.sum(q1 * dQ + 0.5 * q2 * dQ**2)
            teachers = jnp.sum(r1 * dR + 0.5 * r2 * dR**2)
            return load * K * (value + students + teachers) - self.entropy(z)

        return osculating(z), jax.grad(osculating)(z), jax.hessian(osculating)(z)

    def hessian(self, z: Float[Array, " d"], load: Array | float) -> Float[Array, "d d"]:
        """∂²βf in the overlaps themselves: A_in row by row, then Q_ik for i < k.

        These are the coordinates of oostwal2019, Sec. III: for T = 1 the K M + K (K - 1)/2
        numbers R_in and Q_ik.
        """
        V = self.vectors(z)
        students, teachers = self.error.split(self.error.second(self._pairs(z)))
        along = jnp.einsum("im,mn,mo->ino", teachers, self.basis, self.basis)
        energy = jax.scipy.linalg.block_diag(*along, jnp.diag(students))
        L, A = V[:, self.rank :], V[:, : self.rank]
        return load * self.error.scenario.K * energy + _curvature_of_entropy(L, A)

    def _pairs(self, z: Float[Array, " d"]) -> Float[Array, " p"]:
        return self.error.pairs(*self.overlaps(z))


def _curvature_of_entropy(L: Float[Array, "K K"], A: Float[Array, "K r"]) -> Float[Array, "d d"]:
    """-∂²s = ½ tr(W ∂P W ∂P) - ½ tr(W ∂²P) with P = Q - A Aᵀ = L Lᵀ and W = P⁻¹.

    Along A_in, ∂P = -(e_i A_nᵀ + A_n e_iᵀ), and ∂²P = -2 e_i e_jᵀ for A_in and A_jn; along Q_ik,
    ∂P = e_i e_kᵀ + e_k e_iᵀ.
    """
    K, r = A.shape
    e = np.eye(K)
    W = jax.scipy.linalg.cho_solve((L, True), e)
    i, k = np.triu_indices(K, 1)
    one_sided = jnp.concatenate(
        [
            -jnp.einsum("ia,bn->inab", e, A).reshape(K * r, K, K),
            jnp.asarray(np.einsum("pa,pb->pab", e[i], e[k])),
        ]
    )
    moved = W @ (one_sided + jnp.swapaxes(one_sided, 1, 2))
    twice = jax.scipy.linalg.block_diag(jnp.kron(W, jnp.eye(r)), jnp.zeros((len(i), len(i))))
    return 0.5 * jnp.einsum("aij,bji->ab", moved, moved) + twice

"""The factor of the overlaps, and its change by one example.

With orthonormal directions e_m in the space of the teachers and f_j outside it,

    B_n = Σ_m P_nm e_m,   J_i = Σ_m U_im e_m + Σ_j L_ij f_j,

so that T = PPᵀ, R = UPᵀ and Q = UUᵀ + LLᵀ.  Overlaps made of P, U and L are positive
semi-definite whatever the entries are; a factor is rounded, never a covariance, and the
solution, where L vanishes, is a point like any other.

An example ξ has the components z_m along e_m, z_j along f_j, and the length χ in the direction h
of what remains.  Learning turns J_i into d J_i + a_i ξ:

    U ← dU + a zᵀ,   L ← [dL + a zᵀ, aχ],

the latter in the directions f_1, …, f_K and h.  Rotating these among themselves makes L a lower
triangle again, and leaves one direction in which no vector lies: it is free for the next h.

Several examples at once, J_i + Σ_β a_iβ ξ_β, need no more directions than there are students: what
remains of the ξ_β is isotropic, so that with a = Aqᵀ, A a lower triangle and q orthonormal, it is
as if min(b, K) such vectors had been learned with the coefficients A.

Teachers that drift turn e_m into c e_m + √(1 - c²) u_m, with u_m a random orthonormal frame outside
their space.  With the first directions outside along u_m, L is [V, L'], so that

    U ← cU + √(1 - c²) V,   L ← [cV - √(1 - c²) U, L'],

and P, a diagonal, is unchanged.  Of teachers that are not orthogonal B_n itself becomes
c B_n + √(1 - c²) |B_n| u_n, with u_n as before; all vectors have then the components

    B: [cP, √(1 - c²) diag |B_n|, 0],   J: [U, V, L']

along e_m, u_n and the rest, of which rotations make a triangle again, with another P.
"""

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage._types import Scalar
from tutelage.model import Overlaps

TINY = float(np.finfo(float).tiny)
# Up to this number of students every entry is a separate array, which is two or three times as fast
# on a GPU; for more, columns are twice as fast on a CPU and compile within seconds.
FEW_UNITS = {"cpu": 2, "gpu": 4}


class Factors(NamedTuple):
    """The factors P, U and L of given overlaps; P and L are lower triangular."""

    P: Float[np.ndarray, "... M M"]
    U: Float[np.ndarray, "... K M"]
    L: Float[np.ndarray, "... K K"]


def factorize(overlaps: Overlaps) -> Factors:
    """Return P, U and L with T = PPᵀ, R = UPᵀ, Q = UUᵀ + LLᵀ, also for singular overlaps.

    An eigendecomposition gives some factor of the covariance with the teachers first, and
    rotations (a QR decomposition of its transpose) make it lower triangular.

    >>> import tutelage as tl
    >>> start = factorize(tl.Overlaps(Q=[[1.0]], R=[[0.6]], T=[[1.0]]))
    >>> [round(float(x), 12) for x in (start.P[0, 0], start.U[0, 0], start.L[0, 0])]
    [1.0, 0.6, 0.8]
    """
    M = overlaps.M
    C = np.roll(np.asarray(overlaps.covariance), M, axis=(-2, -1))
    values, vectors = np.linalg.eigh(C)
    # Eigenvalues that are rounding errors are set to zero: their roots would be as large as 10⁻⁸.
    rounding = C.shape[-1] * np.finfo(float).eps * values[..., -1:]
    F = vectors * np.sqrt(np.where(values > rounding, values, 0.0))[..., None, :]
    upper = np.linalg.qr(np.swapaxes(F, -1, -2), mode="r")
    signs = np.where(np.diagonal(upper, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    lower = np.swapaxes(upper * signs[..., None], -1, -2)
    return Factors(lower[..., :M, :M], lower[..., M:, :M], lower[..., M:, M:])


class Example(NamedTuple):
    """Inputs: components z along the M directions e_m, then the K directions f_j, and χ."""

    z: list[Float[Array, " runs"]]
    rest: Float[Array, " runs"]


class BatchInputs(NamedTuple):
    """Inputs of b examples: components z along the M directions e_m, and the lower triangle of
    the rest, which represents min(b, K) directions.
    """

    z: list[Float[Array, "b runs"]]
    rest: Float[Array, "m m runs"]


def factor(
    P: Float[Array, "runs_or_1 M M"], U: Float[Array, "runs K M"], L: Float[Array, "runs K K"]
) -> "Entries | Columns":
    """The factors of a batch: P of shape (1 or runs, M, M), U (runs, K, M) and L (runs, K, K)."""
    few = U.shape[1] <= FEW_UNITS.get(jax.default_backend(), 2)
    return (Entries if few else Columns).of(P, U, L)


class Entries(eqx.Module):
    """P, U and L of a batch of runs, row by row, every entry an array over runs."""

    P: list[list[Float[Array, " runs_or_1"]]]
    U: list[list[Float[Array, " runs"]]]
    L: list[list[Float[Array, " runs"]]]

    @classmethod
    def of(
        cls,
        P: Float[Array, "runs_or_1 M M"],
        U: Float[Array, "runs K M"],
        L: Float[Array, "runs K K"],
    ) -> "Entries":
        """Convert factors whose first axis is the run."""
        K, M = U.shape[1:]
        return cls(
            P=[[P[:, n, m] for m in range(n + 1)] for n in range(M)],
            U=[[U[:, i, m] for m in range(M)] for i in range(K)],
            L=[[L[:, i, j] for j in range(i + 1)] for i in range(K)],
        )

    def fields(self, ξ: Example) -> tuple[list[Array], list[Array]]:
        """x_i = J_i·ξ = Σ_m U_im z_m + Σ_j L_ij z_j and y_n = B_n·ξ = Σ_m P_nm z_m."""
        x = [_dot(u + row, ξ.z) for u, row in zip(self.U, self.L, strict=True)]
        return x, [_dot(p, ξ.z) for p in self.P]

    def learned(self, d: Scalar, a: list[Array], ξ: Example) -> "Entries":
        """Return the factor of d J_i + a_i ξ."""
        M = len(self.P)
        rows = zip(a, self.U, self.L, strict=True)
        wide = [
            [d * entry + a_i * z for entry, z in zip(u + v, ξ.z, strict=False)]
            + [a_i * z for z in (*ξ.z[M + len(v) :], ξ.rest)]
            for a_i, u, v in rows
        ]
        U, L = [row[:M] for row in wide], lower_triangle([row[M:] for row in wide])
        return Entries(self.P, U, L)

    def columns(self) -> "Columns":
        """Return the factors as `Columns`."""
        return Columns(*(_columns(rows) for rows in (self.P, self.U, self.L)))

    def from_columns(self, other: "Columns") -> "Entries":
        """Undo `columns`."""
        P = [[other.P[m][n] for m in range(n + 1)] for n in range(len(self.P))]
        U = [[column[i] for column in other.U] for i in range(len(self.U))]
        L = [[other.L[j][i] for j in range(i + 1)] for i in range(len(self.L))]
        return Entries(P, U, L)

    def overlaps(self) -> tuple[Float[Array, "runs K K"], Float[Array, "runs K M"]]:
        """Q = UUᵀ + LLᵀ and R = UPᵀ."""
        rows = [u + v for u, v in zip(self.U, self.L, strict=True)]
        Q = [jnp.stack([_dot(a, b) for b in rows], axis=-1) for a in rows]
        R = [jnp.stack([_dot(u, p) for p in self.P], axis=-1) for u in self.U]
        return jnp.stack(Q, axis=-2), jnp.stack(R, axis=-2)


def _columns(rows: list[list[Array]]) -> Float[Array, "columns rows runs"]:
    """Return rows as columns, padded with zeros."""
    zero, longest = jnp.zeros_like(rows[0][0]), max(map(len, rows))
    columns = [[row[j] if j < len(row) else zero for row in rows] for j in range(longest)]
    return jnp.stack([jnp.stack(column) for column in columns])


def lower_triangle(rows: list[list[Array]]) -> list[list[Array]]:
    """Return the rows of the lower triangular L with LLᵀ = AAᵀ, for A with more columns than rows.

    Row by row, a Householder reflection turns what lies beyond the diagonal onto it.  Lengths are
    sums of squares, so that nothing cancels; a row of zeros stays one.
    """
    rows = [list(row) for row in rows]
    for i, row in enumerate(rows):
        head, tail = row[i], row[i + 1 :]
        length = jnp.sqrt(_dot(row[i:], row[i:]))
        v = [head + jnp.copysign(length, head), *tail]
        half_square = length * jnp.abs(v[0])
        scale = jnp.where(half_square > TINY, 1 / jnp.maximum(half_square, TINY), 0.0)
        for other in rows[i + 1 :]:
            projection = scale * _dot(v, other[i:])
            other[i:] = [x - projection * e for x, e in zip(other[i:], v, strict=True)]
        row[i:] = [-jnp.copysign(length, head)]
    return rows


def _dot(a: list[Array], b: list[Array]) -> Array:
    """Return Σ_j a_j b_j over the entries of the shorter row."""
    first, *others = [x * y for x, y in zip(a, b, strict=False)]
    return sum(others, start=first)


class Columns(eqx.Module):
    """P, U and L of a batch of runs, columns first, runs last."""

    P: Float[Array, "M M runs_or_1"]
    U: Float[Array, "M K runs"]
    L: Float[Array, "K K runs"]

    @classmethod
    def of(
        cls,
        P: Float[Array, "runs_or_1 M M"],
        U: Float[Array, "runs K M"],
        L: Float[Array, "runs K K"],
    ) -> "Columns":
        """Convert factors whose first axis is the run."""
        return cls(*(jnp.transpose(jnp.asarray(x), (2, 1, 0)) for x in (P, U, L)))

    def fields(self, ξ: Example) -> tuple[list[Array], list[Array]]:
        """x_i = J_i·ξ = Σ_m U_im z_m + Σ_j L_ij z_j and y_n = B_n·ξ = Σ_m P_nm z_m."""
        # Columns are computed one at a time: how XLA rounds a sum along an axis depends on the
        # number of runs.
        z = [component[None] for component in ξ.z]
        return list(_dot([*self.U, *self.L], z)), list(_dot([*self.P], z))

    def learned(self, d: Scalar, a: list[Array], ξ: Example) -> "Columns":
        """Return the factor of d J_i + a_i ξ."""
        M, z, A = len(self.P), jnp.stack(ξ.z), jnp.stack(a)
        # Not dU + azᵀ: the product that is rounded before the sum, and so the result, would depend
        # on the number of runs.
        U = self.U - (1 - d) * self.U + A[None] * z[:M, None]
        return Columns(self.P, U, add_outer(d * self.L, A, z[M:], ξ.rest))

    def columns(self) -> "Columns":
        """Return these factors, which are `Columns` already."""
        return self

    def from_columns(self, other: "Columns") -> "Columns":
        """Return the argument, which already has this type."""
        return other

    def learned_batch(self, d: Scalar, a: list[Array], ξ: BatchInputs) -> "Columns":
        """Return the factor of d J_i + Σ_β a_iβ ξ_β."""
        M, A = len(self.P), jnp.swapaxes(jnp.stack(a), 0, 1)  # (b, K, runs)
        moved = jnp.stack([jnp.sum(A * z[:, None], axis=0) for z in ξ.z])
        few = A if len(A) <= len(a) else triangle(A)
        outside = jnp.stack([jnp.sum(few * column[:, None], axis=0) for column in ξ.rest])
        L = triangle(jnp.concatenate([d * self.L + moved[M:], outside]))
        return Columns(self.P, d * self.U + moved[:M], L)

    def after_drift(self, c: Scalar, s: Scalar, frame: Float[Array, "units M runs"]) -> "Columns":
        """Return the factor after e_m has become c e_m + s u_m.

        frame: M normal vectors, in the directions f_1, …, f_K and M more.
        """
        V, L = self._along(frame)
        outside = jnp.concatenate([c * V - s * self.U, L])
        return Columns(self.P, c * self.U + s * V, triangle(outside))

    def after_drift_with_norms(
        self, c: Scalar, s: Scalar, frame: Float[Array, "units M runs"]
    ) -> "Columns":
        """Return the factor after B_n has become c B_n + s |B_n| u_n; P has an axis of runs."""
        M, (V, L) = len(self.P), self._along(frame)
        norms = jnp.sqrt(jnp.sum(self.P * self.P, axis=0))
        steps = s * jnp.eye(M)[:, :, None] * norms[None]
        teachers = jnp.concatenate([c * self.P, steps, jnp.zeros((len(L), *norms.shape))])
        students = jnp.concatenate([self.U, V, L])
        both = triangle(jnp.concatenate([teachers, students], axis=1))
        return Columns(both[:M, :M], both[:M, M:], both[M:, M:])

    def _along(self, frame: Float[Array, "units M runs"]) -> tuple[Array, Array]:
        """Return components of students outside the teachers' space: along u_m, and the rest."""
        M, runs = len(self.P), self.L.shape[-1]
        students = jnp.concatenate([self.L, jnp.zeros((M, len(self.L), runs))])
        both = triangle(jnp.concatenate([frame, students], axis=1))
        # A reflection fixes u_m up to its sign; the law of the normal vector is symmetric.
        sign = jnp.stack([jnp.copysign(1.0, both[m, m]) for m in range(M)])
        return sign[:, None] * both[:M, M:], both[M:, M:]

    def overlaps(self) -> tuple[Float[Array, "runs K K"], Float[Array, "runs K M"]]:
        """Q = UUᵀ + LLᵀ and R = UPᵀ.

        On a CPU one run after the other: how sums are rounded depends on the length of arrays.
        """

        def one(P: Float[Array, "M M"], U: Float[Array, "M K"], L: Float[Array, "K K"]) -> Any:
            both = jnp.concatenate([U, L])
            Q = jnp.sum(both[:, :, None] * both[:, None], axis=0)
            return Q, jnp.sum(U[:, :, None] * P[:, None], axis=0)

        runs = self.L.shape[-1]
        P, U, L = (
            jnp.moveaxis(jnp.broadcast_to(x, (*x.shape[:-1], runs)), -1, 0)
            for x in (self.P, self.U, self.L)
        )
        if jax.default_backend() == "cpu":
            return jax.lax.map(lambda factors: one(*factors), (P, U, L))
        return jax.vmap(one)(P, U, L)


def triangle(columns: Float[Array, "c r runs"]) -> Float[Array, "r r runs"]:
    """`lower_triangle` of a matrix given by its columns, c >= r of them, for a batch of runs."""
    for i in range(columns.shape[1]):
        part = columns[i:]
        row = part[:, i]
        length = jnp.sqrt(jnp.sum(row * row, axis=0))
        v = row.at[0].add(jnp.copysign(length, row[0]))
        half_square = length * jnp.abs(v[0])
        scale = jnp.where(half_square > TINY, 1 / jnp.maximum(half_square, TINY), 0.0)
        projections = scale[None] * jnp.sum(v[:, None] * part, axis=0)
        part = part - v[:, None] * projections[None]
        reflected = jnp.zeros_like(row).at[0].set(-jnp.copysign(length, row[0]))
        columns = jnp.concatenate([columns[:i], part.at[:, i].set(reflected)])
    return columns[: columns.shape[1]]


def add_outer(
    L: Float[Array, "K K runs"],
    a: Float[Array, "K runs"],
    z: Float[Array, "K runs"],
    χ: Float[Array, " runs"],
) -> Float[Array, "K K runs"]:
    """Return the columns of a lower triangle with the Gram matrix of [L + a zᵀ, aχ], in O(K²).

    Rotations that turn (z, χ) into a vector along the first direction make [L, 0] a Hessenberg
    matrix; a is added to its first column; K more rotations make it a triangle again (Golub and
    Van Loan, Matrix Computations, 4th edition, section 6.5.1).  What is left of entries that
    should vanish is of the order of the rounding of their row.
    """
    columns = [*L, jnp.zeros_like(L[0])]
    length = χ
    for j in reversed(range(len(L))):
        length = _rotate(columns, j, z[j], length)
    columns[0] = columns[0] + a * length[None]
    for i in range(len(L)):
        _rotate(columns, i, columns[i][i], columns[i + 1][i])
    return jnp.stack(columns[:-1])


def _rotate(columns: list[Array], j: int, p: Array, q: Array) -> Array:
    """Rotate columns j and j + 1, in place, such that (p, q) becomes (r, 0); returns r."""
    r = jnp.sqrt(p * p + q * q)
    inverse = 1 / jnp.maximum(r, TINY)
    c, s = jnp.where(r > TINY, p * inverse, 1.0)[None], (q * inverse)[None]
    first, second = columns[j], columns[j + 1]
    columns[j], columns[j + 1] = c * first + s * second, c * second - s * first
    return r

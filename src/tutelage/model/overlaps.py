"""Overlaps: the order parameters Q, R and T of a student and a teacher."""

import re
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from tutelage._arguments import validated
from tutelage._checks import (
    ROUNDING,
    InputError,
    covariance,
    finite_array,
    finite_number,
    is_plain_covariance,
    is_traced,
    positive_integer,
    real_array,
    shape_of,
)
from tutelage._given import ArrayLike
from tutelage._html import matrix_table, side_by_side
from tutelage._jax import jax_array, jnp
from tutelage._module import PlainModule
from tutelage._names import with_checked_arguments
from tutelage._types import AnyArray, ArrayModule

LONGEST_LINE = 100
MOST_ENTRIES = 36  # of a matrix that is shown in full
NEXT = "\n" + " " * len("Overlaps(")


@with_checked_arguments
class Overlaps(PlainModule):
    """Q_ik = J_i·J_k, R_in = J_i·B_n, T_nm = B_n·B_m for students J and teachers B.

    The fields x_i = J_i·ξ and y_n = B_n·ξ have the covariance C = [[Q, R], [Rᵀ, T]], which has
    to be symmetric and positive semi-definite up to rounding.  Leading axes are batches.

    Q: shape (..., K, K);  R: shape (..., K, M);  T: shape (..., M, M).
    rounding: how far from symmetric and positive semi-definite, relative to the largest entry,
        still counts as rounding.  A state taken from a run is known to the run's tolerance:
        ``Overlaps(Q=..., R=..., T=..., rounding=1e-8)``.

    >>> import tutelage as tl
    >>> tl.Overlaps(Q=[[1.0]], R=[[0.5]], T=[[1.0]]).covariance.tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """

    Q: Float[Array, "... K K"]
    R: Float[Array, "... K M"]
    T: Float[Array, "... M M"]

    def __init__(self, Q: ArrayLike, R: ArrayLike, T: ArrayLike, *, rounding: float = ROUNDING):
        _shapes(Q, R, T)
        if is_traced((Q, R, T)):
            Q, R, T = (jnp.asarray(x, dtype=jnp.float64) for x in (Q, R, T))
            self._set_fields(Q=Q, R=R, T=T)
            return
        rounding = finite_number("rounding", rounding, at_least=0.0, hint="1e-8")
        Q, R, T = real_array("Q", Q), real_array("R", R), real_array("T", T)
        if not is_plain_covariance(_blocks(np, Q, R, T)):
            Q, T = covariance("Q", Q, rounding=rounding), covariance("T", T, rounding=rounding)
            R = finite_array("R", R)
            covariance("[[Q, R], [R.T, T]]", _blocks(np, Q, R, T), rounding=rounding)
        self._set_fields(Q=jax_array(Q), R=jax_array(R), T=jax_array(T))

    def __repr__(self) -> str:
        """Represent a state by its numbers to six digits, a batch of states by its shapes."""
        if is_traced((self.Q, self.R, self.T)) or self.leading:
            shapes = ", ".join(f"{name}: {np.shape(getattr(self, name))}" for name in "QRT")
            return f"Overlaps({shapes})"
        parts = [f"{name}={_shown(getattr(self, name))}" for name in "QRT"]
        line = f"Overlaps({', '.join(parts)})"
        return line if len(line) <= LONGEST_LINE else f"Overlaps({f',{NEXT}'.join(parts)})"

    def _repr_html_(self) -> str:
        """Q, R and T as shaded cells, for notebooks."""
        if is_traced((self.Q, self.R, self.T)):
            return f"<pre>{self!r}</pre>"
        return side_by_side(matrix_table(name, getattr(self, name)) for name in "QRT")

    @property
    def K(self) -> int:
        """Number of student units."""
        return self.R.shape[-2]

    @property
    def M(self) -> int:
        """Number of teacher units."""
        return self.R.shape[-1]

    @property
    def leading(self) -> tuple[int, ...]:
        """The shape of the leading axes, () for a single state."""
        return np.broadcast_shapes(*(x.shape[:-2] for x in (self.Q, self.R, self.T)))

    @property
    def covariance(self) -> Float[Array, "... {self.K+self.M} {self.K+self.M}"]:
        """C = [[Q, R], [Rᵀ, T]], students first."""
        C: Array = _blocks(jnp, self.Q, self.R, self.T)
        return C

    @property
    def rounding(self) -> float:
        """The smallest ``rounding`` with which these overlaps pass validation."""
        needed = ROUNDING
        Q, R, T = (np.asarray(x) for x in (self.Q, self.R, self.T))
        whole = _blocks(np, Q, R, T)
        try:  # a matrix with a Cholesky factor has no negative eigenvalue beyond its rounding
            np.linalg.cholesky(whole)
            return needed
        except np.linalg.LinAlgError:
            pass
        for C in (Q, T, whole):
            scale = np.max(np.abs(C), axis=(-2, -1)) + np.finfo(float).tiny
            lowest = np.min(np.linalg.eigvalsh(C)[..., 0] / scale)
            needed = max(needed, -2 * float(lowest))
        return needed

    @classmethod
    def from_weights(cls, student: ArrayLike, teacher: ArrayLike) -> "Overlaps":
        """Compute the overlaps of weight vectors: J of shape (..., K, N), B of shape (..., M, N).

        oostwal2019 divides by N: pass weights/√N.

        >>> import tutelage as tl
        >>> tl.Overlaps.from_weights([[3.0, 4.0]], [[1.0, 0.0]]).R.tolist()
        [[3.0]]
        """
        J, B = finite_array("student", student), finite_array("teacher", teacher)
        for argument, W in (("student", J), ("teacher", B)):
            if W.ndim < 2 or 0 in W.shape:
                raise InputError(argument, f"shape {W.shape}", "its shape has to be (units, N)")
        if J.shape[-1] != B.shape[-1]:
            raise InputError(
                "teacher",
                f"vectors with {B.shape[-1]} components",
                f"the student's have {J.shape[-1]}",
                "weights over the same inputs",
            )
        J_, B_ = np.swapaxes(J, -1, -2), np.swapaxes(B, -1, -2)
        return cls(Q=J @ J_, R=J @ B_, T=B @ B_)

    @validated
    def to_weights(
        self, dimension: int, seed: int = 0
    ) -> tuple[Float[Array, "... K N"], Float[Array, "... M N"]]:
        """Compute weights J and B in N dimensions from overlaps, exact to rounding, also for
        singular overlaps.

        dimension: N >= K + M.
        seed: of the random orthonormal frame in which the vectors lie.

        >>> import tutelage as tl
        >>> same = tl.Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])  # student = teacher
        >>> J, B = same.to_weights(100)
        >>> bool(abs(J - B).max() < 1e-15)
        True
        """
        N = positive_integer("dimension", dimension)
        n = self.K + self.M
        if n > N:
            raise InputError("dimension", repr(N), f"{n} vectors need at least {n} dimensions")
        # An eigendecomposition allows singular matrices; eigenvalues of -1e-16 are rounding
        # errors and count as zero.
        values, vectors = np.linalg.eigh(np.asarray(self.covariance))
        factor = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
        frame, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((N, n)))
        weights = factor @ frame.T
        return jax_array(weights[..., : self.K, :]), jax_array(weights[..., self.K :, :])


def _shown(matrix: Array) -> str:
    """Format a matrix, on one line if it fits; large matrices are cut in the middle."""
    text = np.array2string(
        np.asarray(matrix),
        separator=", ",
        threshold=MOST_ENTRIES,
        edgeitems=2,
        formatter={"float_kind": lambda x: f"{x:z.6g}"},
        prefix=NEXT[1:] + "  ",
    )
    line = re.sub(r"\s*\n\s*", " ", text)
    return line if len(line) + len(NEXT) <= LONGEST_LINE else text


def _blocks(
    xp: ArrayModule,
    Q: Float[AnyArray, "... K K"],
    R: Float[AnyArray, "... K M"],
    T: Float[AnyArray, "... M M"],
) -> Any:
    if Q.ndim + R.ndim + T.ndim > 6:
        batch = xp.broadcast_shapes(Q.shape[:-2], R.shape[:-2], T.shape[:-2])
        Q, R, T = (xp.broadcast_to(x, batch + x.shape[-2:]) for x in (Q, R, T))
    upper = xp.concatenate([Q, R], axis=-1)
    lower = xp.concatenate([xp.swapaxes(R, -1, -2), T], axis=-1)
    return xp.concatenate([upper, lower], axis=-2)


def _shapes(Q: ArrayLike, R: ArrayLike, T: ArrayLike) -> None:
    """Check that Q is K x K, R is K x M, T is M x M, and that leading axes can be broadcast."""
    q, r, t = shape_of("Q", Q), shape_of("R", R), shape_of("T", T)
    if len(r) < 2 or 0 in r[-2:]:
        raise InputError("R", f"shape {r}", "its shape has to be (..., K, M), K and M at least 1")
    K, M = r[-2:]
    for argument, shape, size, letter in (("Q", q, K, "K"), ("T", t, M, "M")):
        if shape[-2:] != (size, size):
            raise InputError(
                argument,
                f"shape {shape}",
                f"R has shape {r}, so it has to be (..., {size}, {size})",
                f"one row and one column for each of the {letter} = {size} units",
            )
    try:
        np.broadcast_shapes(q[:-2], r[:-2], t[:-2])
    except ValueError:
        raise InputError(
            "Q, R, T", f"leading axes {q[:-2]}, {r[:-2]}, {t[:-2]}", "batches have to match"
        ) from None

"""States and scenarios of permutation-symmetric committees.

If K = M and units differ only in the teacher that they learn,

    Q_ii = Q,  Q_ik = C,  R_ii = R,  R_in = S,  T_nn = t,  T_nm = u   (i ≠ k, n ≠ m).
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._arguments import validated
from tutelage._checks import ROUNDING, InputError, covariance, finite_number, is_traced
from tutelage._given import CheckedInside
from tutelage._jax import jnp
from tutelage._names import with_checked_arguments
from tutelage._types import FloatOrArray
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.model.layout import BLOCKS, Layout
from tutelage.model.numbers import numbers_of, with_numbers
from tutelage.model.scenario import Numbers, check_scenario
from tutelage.model.teachers import check_orthogonal


@with_checked_arguments
class SymmetricState(NamedTuple):
    """Overlaps Q_ii = Q, Q_ik = C, R_ii = R, R_in = S, all of one shape (...).

    With a single unit C and S do not exist, and their values are not used.

    >>> import tutelage as tl
    >>> tl.online.SymmetricState(Q=0.5, C=0.1, R=0.2, S=0.0).overlaps(2).Q.tolist()
    [[0.5, 0.1], [0.1, 0.5]]
    """

    Q: Any
    C: Any
    R: Any
    S: Any

    def overlaps(self, units: int, teacher_overlaps: tuple[float, float] = (1.0, 0.0)) -> Overlaps:
        """All K² overlaps; ``teacher_overlaps`` is (t, u)."""
        pairs = ((self.Q, self.C), (self.R, self.S), teacher_overlaps)
        return Overlaps(*(matrix(units, *pair) for pair in pairs))


# Entries of a block: of a unit with its partner, and of two different units.
ENTRIES = {"Q": ("Q", "C"), "R": ("R", "S"), "readout": ("readout",)}


@cache
def symmetric_layout(learns: bool) -> Layout:
    """Return the layout of Q, C, R and S, and v of a second layer that learns."""
    blocks = {block.name: block for block in BLOCKS}
    return Layout(
        tuple(
            blocks[name]._replace(name=entry, symbol=entry, dimensions=(), symmetric=False)
            for name, entries in ENTRIES.items()
            for entry in entries
            if learns or name != "readout"
        ),
        {},
    )


class SymmetricScenario(Numbers):
    """A scenario of K = M units without its K² teacher overlaps.

    student, teacher: `Committee` of the same number K of units; activations may differ.
    teacher_overlaps: (t, u) = (T_nn, T_nm).
    numbers: those of a `Scenario`, such as label_noise; an output_scale of 1/√K is natural for
        large K.

    >>> import tutelage as tl
    >>> many = tl.Committee(1_000_000, tl.ReLU())
    >>> tl.online.SymmetricScenario(many, many, output_scale=1e-3).units
    1000000
    """

    student: Committee
    teacher: Committee
    teacher_overlaps: tuple[Any, Any]

    @validated
    @with_numbers
    def __init__(
        self,
        student: Committee,
        teacher: Committee,
        teacher_overlaps: tuple[float, float] = (1.0, 0.0),
        **numbers: CheckedInside[float],
    ):
        K, M = student.units, teacher.units
        if K != M:
            raise InputError(
                "scenario", f"{K} students and {M} teachers", "a symmetric one has K = M"
            )
        t, u = (finite_number("teacher_overlaps", x) for x in teacher_overlaps)
        if not is_traced((t, u)):
            covariance("teacher_overlaps", [[[t + (K - 1) * u]], [[t - u]]] if K > 1 else [[t]])
        self._set_fields(student=student, teacher=teacher, teacher_overlaps=(t, u))
        for side, committee in (("student", student), ("teacher", teacher)):
            shape = committee.weights.shape
            if shape != (1, committee.units) or not committee.uniform:
                raise InputError(
                    side,
                    f"a readout of shape {shape}",
                    "a symmetric one has one output, and the same weight for all units",
                    "readout=np.full(units, 0.5)",
                )
        one = Scenario(
            Committee(1, student.activation),
            Committee(1, teacher.activation),
            **numbers,
        )
        check_scenario(one)
        self._set_fields(**numbers_of(one))
        check_orthogonal(self.drift, matrix(2 if K > 1 else 1, t, u))

    @property
    def scales(self) -> tuple[Any, Any]:
        """s_K v and s_M v*."""
        v, teacher = (float(c.weights[0, 0]) for c in (self.student, self.teacher))
        return self.output_scale[0] * v, self.output_scale[1] * teacher

    @property
    def units(self) -> int:
        """K."""
        return self.student.units

    @classmethod
    def from_scenario(cls, scenario: Scenario) -> "SymmetricScenario":
        """Convert a full scenario whose T has one number on and one off the diagonal."""
        T, M = np.asarray(scenario.T), scenario.M
        t, u = float(T[0, 0]), float(T[0, -1]) if M > 1 else 0.0
        largest = float(np.max(np.abs(T - np.asarray(matrix(M, t, u)))))
        if largest > ROUNDING * abs(t):
            raise InputError(
                "scenario",
                f"teacher overlaps that differ by {largest:.3g} from unit to unit",
                "a symmetric one has T_nn = t and T_nm = u for all n and m",
                "tl.online.evolve, which takes every T",
            )
        return cls(
            scenario.student,
            scenario.teacher,
            (t, u),
            **numbers_of(scenario),
        )


def symmetric_scenario(scenario: Scenario | SymmetricScenario) -> SymmetricScenario:
    """Return a symmetric scenario unchanged; convert a full scenario."""
    if isinstance(scenario, SymmetricScenario):
        return scenario
    return SymmetricScenario.from_scenario(scenario)


def matrix(
    units: int, diagonal: FloatOrArray, off_diagonal: FloatOrArray
) -> Float[Array, "... n n"]:
    """Return the matrix with one number on the diagonal and another one off it."""
    a, b = jnp.asarray(diagonal, float), jnp.asarray(off_diagonal, float)
    return jnp.where(np.eye(units, dtype=bool), a[..., None, None], b[..., None, None])


def check_positive(K: int, state: SymmetricState, t: float, u: float) -> None:
    """Refuse a covariance that is not positive semi-definite.

    That of all 2K fields has the eigenvalues of two matrices, one of them K - 1 times.

    A = Q + (K - 1) C - (R + (K - 1) S)²/(t + (K - 1) u) >= 0 and B = Q - C - (R - S)²/(t - u) >= 0.
    """

    def block(q: np.ndarray, r: np.ndarray, t: float) -> np.ndarray:
        return np.stack([q, r, r, np.broadcast_to(t, np.shape(q))], -1).reshape(*np.shape(q), 2, 2)

    Q, C, R, S = state
    if K == 1:
        covariance("state [[Q, R], [R, t]]", block(Q, R, t))
        return
    covariance("state [[Q - C, R - S], [R - S, t - u]]", block(Q - C, R - S, t - u))
    n = K - 1
    covariance(
        "state [[Q + (K-1) C, R + (K-1) S], [R + (K-1) S, t + (K-1) u]]",
        block(Q + n * C, R + n * S, t + n * u),
    )

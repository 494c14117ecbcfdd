"""Committees, and the scenario of a student that learns from a teacher."""

import copy
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._arguments import validated
from tutelage._checks import (
    ROUNDING,
    InputError,
    covariance,
    finite_array,
    is_traced,
    positive_integer,
    shape_of,
)
from tutelage._given import ArrayLike
from tutelage._html import matrix_table, rows_table, side_by_side
from tutelage._jax import jax_array, jnp
from tutelage._memory import check_memory
from tutelage._module import PlainModule
from tutelage._names import with_checked_arguments
from tutelage._types import AnyArray
from tutelage.activations import Activation
from tutelage.model.numbers import NUMBERS, flat, mapped, numbers_of
from tutelage.model.overlaps import Overlaps
from tutelage.model.teachers import check_orthogonal


@with_checked_arguments
class Committee(PlainModule):
    """A network with one hidden layer: outputs are sums of hidden units with one activation.

    σ_c = Σ_i v_ci g(x_i)

    units: K for a student, M for a teacher.
    activation: g.
    readout: v, the weights of the second layer, shape (units,) for one output or (outputs, units);
        by default all are 1, which is the soft committee machine.  Shape (n, outputs, units) for
        n runs.  A student's is where it begins, if it learns (``readout_rate``).

    >>> import tutelage as tl
    >>> tl.Committee(3, tl.ReLU(), readout=[1, -1, 0.5]).readout.tolist()
    [[1.0, -1.0, 0.5]]
    """

    units: int = eqx.field(static=True)
    activation: Activation
    readout: Float[AnyArray, "... outputs units"] | None

    @validated
    def __init__(self, units: int, activation: Activation, readout: ArrayLike | None = None):
        units = positive_integer("units", units, "a committee of 2 or more")
        readout = None if readout is None else _readout(readout, units)
        self._set_fields(units=units, activation=activation, readout=readout)

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return 1 if self.readout is None else self.readout.shape[-2]

    @property
    def uniform(self) -> bool:
        """Whether all units have the same readout weights, so that they can be relabelled."""
        return self.readout is None or bool(np.all(np.ptp(np.asarray(self.readout), axis=-1) == 0))

    @property
    def weights(self) -> Float[AnyArray, "... outputs units"]:
        """v_ci as an array, also if all weights are 1."""
        return jax_array(np.ones((1, self.units))) if self.readout is None else self.readout


class Numbers(PlainModule):
    """The numbers of a scenario, those of the table `tutelage.model.numbers.NUMBERS`."""

    output_scale: tuple[Any, Any]
    label_noise: Any
    weight_decay: Any
    drift: Any
    readout_decay: Any

    def __init__(self, **numbers: Any):
        self._set_fields(**numbers)


@with_checked_arguments
class Scenario(Numbers):
    """A student that learns from a teacher.

    σ_c = s_K Σ_i v_ci g(x_i),   τ_c = s_M Σ_n v*_cn g*(y_n),   ε = ½ Σ_c (σ_c - τ_c)²

    student, teacher: `Committee`; sizes, activations and readouts v, v* may differ, and they have
        the same number of outputs.
    teacher_overlaps: T_nm, shape (M, M); by default the identity.  Shape (n, M, M) for n runs.
    output_scale: s, one number for both or the pair (s_K, s_M); 1 in straat2019 and citton2025,
        1/√K in oostwal2019.
    label_noise: standard deviation ς of Gaussian noise on each of the teacher's outputs.
    weight_decay: γ >= 0, of the first layer.
    readout_decay: γ_v >= 0, of a second layer that learns.
    drift: δ >= 0, the rate of a random walk of the teachers that keeps their norms: R_in decays at
        the rate δ, and T_nm for n ≠ m at 2δ; ``teacher_overlaps`` are those at time 0.

    `tutelage.online.evolve` also takes an array of any of these numbers, and of the parameter of an
    activation (``tl.LeakyReLU([0.1, 0.2])``), one value for each run.

    >>> import tutelage as tl
    >>> two = tl.Committee(2, tl.ReLU())
    >>> scenario = tl.Scenario(student=two, teacher=two, teacher_overlaps=[[1, 0], [0, 2]])
    >>> scenario.K, scenario.M, scenario.T.shape
    (2, 2, (2, 2))
    """

    student: Committee
    teacher: Committee
    T: Float[Array, "... M M"]
    # Whether student and teacher have equal units: their averages are then compiled once.
    same_activation: bool = eqx.field(static=True)

    @validated
    def __init__(
        self,
        student: Committee,
        teacher: Committee,
        teacher_overlaps: ArrayLike | None = None,
        *,
        output_scale: ArrayLike = 1.0,
        label_noise: ArrayLike = 0.0,
        weight_decay: ArrayLike = 0.0,
        drift: ArrayLike = 0.0,
        readout_decay: ArrayLike = 0.0,
    ):
        arguments = locals()
        g, h = student.activation, teacher.activation
        self._set_fields(
            student=student,
            teacher=teacher,
            same_activation=eqx.tree_equal(g, h) is True,
            T=_teacher_overlaps(teacher_overlaps, teacher.units),
            **{number.name: number.checked(arguments[number.name]) for number in NUMBERS},
        )
        _check_outputs(student, teacher)
        lengths = {len(x) for x in self._per_run}
        if len(lengths) > 1:
            raise InputError(
                "scenario",
                f"arrays of {' and '.join(map(str, sorted(lengths)))} numbers",
                "all need the same length, one number for each run",
            )

    def _repr_html_(self) -> str:
        """Student, teacher, T and all numbers as tables, for notebooks."""
        given = [(n.name, getattr(self, n.name)) for n in NUMBERS]
        rows = [("student", self.student), ("teacher", self.teacher), *given]
        table = rows_table("Scenario", ((name, str(value)) for name, value in rows))
        return side_by_side([table, matrix_table("T", self.T)])

    @property
    def _per_run(self) -> list[np.ndarray | Array]:
        """Numbers, parameters and matrices that have one value per run."""
        student, teacher = self.student, self.teacher
        numbers = [x for x in flat(numbers_of(self)) if type(x) is not float and np.ndim(x) == 1]
        units = [*student.activation.per_run.values(), *teacher.activation.per_run.values()]
        arrays = (self.T, student.readout, teacher.readout)
        return [*numbers, *units, *(x for x in arrays if x is not None and x.ndim == 3)]

    @property
    def leading(self) -> tuple[int, ...]:
        """() or (n,), the leading axis of numbers that differ between n runs."""
        per_run = self._per_run
        return per_run[0].shape[:1] if per_run else ()

    def split_runs(self) -> list["Scenario"]:
        """Return one scenario per run; a list of this one if nothing differs between runs."""

        def of_run(run: int) -> Scenario:
            def one(x: Any) -> Any:
                return float(x[run]) if np.ndim(x) == 1 else x

            def array(x: Array | None) -> Array | None:
                return x[run] if x is not None and x.ndim == 3 else x

            student, teacher = (
                Committee(c.units, c.activation.of_run(run), array(c.readout))
                for c in (self.student, self.teacher)
            )
            return Scenario(
                student,
                teacher,
                array(self.T),
                **mapped(one, numbers_of(self)),
            )

        return [of_run(run) for run in range(*self.leading)] if self.leading else [self]

    def without_shared_activation(self) -> "Scenario":
        """Return the scenario as if student and teacher had different units."""
        other = copy.copy(self)
        object.__setattr__(other, "same_activation", False)
        return other

    @property
    def K(self) -> int:
        """Number of student units."""
        return self.student.units

    @property
    def M(self) -> int:
        """Number of teacher units."""
        return self.teacher.units

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.student.outputs

    @property
    def readouts(self) -> tuple[Float[Array, "... outputs K"], Float[Array, "... outputs M"]]:
        """s_K v and s_M v*: the weights of the units in the outputs."""
        s_K, s_M = self.output_scale
        return s_K * self.student.weights, s_M * self.teacher.weights

    def with_readout(self, v: ArrayLike) -> "Scenario":
        """Return the scenario with another second layer of the student, without validation."""
        student = copy.copy(self.student)
        object.__setattr__(student, "readout", v)
        other = copy.copy(self)
        object.__setattr__(other, "student", student)
        return other

    def with_numbers(self, values: Mapping[str, Any]) -> "Scenario":
        """Return the scenario with other numbers (`tutelage.model.numbers`), one value of each."""
        other = copy.copy(self)
        for number in NUMBERS:
            if number.name in values:
                object.__setattr__(other, number.name, number.checked(values[number.name]))
        return other

    @property
    def teacher_overlaps(self) -> Float[Array, "... M M"]:
        """T."""
        return self.T


def check_scenario(
    scenario: Scenario, *, batched: bool = False, time_dependent_T: bool = False
) -> None:
    """Check the numbers of a scenario.

    batched: whether its numbers may have one value per run.
    time_dependent_T: whether T may change with time, as drifting teachers with overlaps make it.
    """
    if not batched and scenario.leading:
        raise InputError(
            "scenario",
            f"arrays of {scenario.leading[0]} values",
            "each of its numbers has to be a single value",
            "tl.online.evolve, which takes one value per run, or a loop over scenario.split_runs()",
        )
    if not time_dependent_T:
        check_orthogonal(scenario.drift, scenario.T)


def check_fits(
    argument: str,
    scenario: Scenario,
    overlaps: Overlaps,
    *,
    batches: tuple[tuple[int, ...], ...] | None = None,
    any_teacher: bool = False,
    batched: bool = False,
    time_dependent_T: bool = False,
) -> None:
    """Check that overlaps have the numbers of units and the T of a scenario.

    batches: the shapes that leading axes may have, ((),) for one state; by default any.
    any_teacher: True if T may differ from the scenario's.
    batched, time_dependent_T: see `check_scenario`.
    """
    check_scenario(scenario, batched=batched, time_dependent_T=time_dependent_T)
    if (overlaps.K, overlaps.M) != (scenario.K, scenario.M):
        raise InputError(
            argument,
            f"{overlaps.K} students and {overlaps.M} teachers",
            f"the scenario has {scenario.K} and {scenario.M}",
            f"R of shape ({scenario.K}, {scenario.M})",
        )
    if batches is not None and overlaps.leading not in batches:
        allowed = " or ".join(map(str, batches))
        allowed = "it has to be one state" if batches == ((),) else f"they have to be {allowed}"
        raise InputError(argument, f"leading axes {overlaps.leading}", allowed)
    same = overlaps.T is scenario.T  # equal small arrays are one array (`jax_array`)
    if same or any_teacher or is_traced((scenario.T, overlaps.T)):
        return
    T, given = np.asarray(scenario.T), np.asarray(overlaps.T)
    comparable = T.ndim == 2 or T.shape == given.shape  # one T, or one per run
    if not comparable or np.any(np.abs(given - T) > ROUNDING * np.max(np.abs(T))):
        raise InputError(
            argument, "another T than the scenario's", "they have to agree", "T=scenario.T"
        )


def _readout(value: ArrayLike, units: int) -> Float[Array, "... outputs units"]:
    """Check v; return it with shape (outputs, units), or (n, outputs, units) for n runs."""
    if is_traced(value):
        traced = jnp.asarray(value, dtype=jnp.float64)
        return traced[None] if traced.ndim == 1 else traced
    v = finite_array("readout", value)
    if v.ndim not in (1, 2, 3) or 0 in v.shape or v.shape[-1] != units:
        raise InputError(
            "readout",
            f"shape {v.shape}",
            f"its shape has to be ({units},), or (outputs, {units}), or (n, outputs, {units}) "
            "for n runs",
            f"readout={[1.0] * min(units, 4)}" if units <= 4 else "np.ones(units)",
        )
    if np.any(np.all(v == 0, axis=(-2, -1) if v.ndim > 1 else -1)):
        raise InputError(
            "readout",
            "zeros only",
            "at least one weight has to differ from 0; otherwise nothing is learned",
        )
    return jax_array(v[None] if v.ndim == 1 else v)


def _check_outputs(student: Committee, teacher: Committee) -> None:
    if student.outputs != teacher.outputs:
        raise InputError(
            "teacher",
            f"{teacher.outputs} outputs",
            f"the student has {student.outputs}",
            "readouts of shape (outputs, units) with as many rows for both",
        )


def _teacher_overlaps(value: ArrayLike | None, M: int) -> Float[Array, "... M M"]:
    check_memory("the units of the teacher", M, lambda M: 40 * M**2, "their overlaps")
    if value is None:
        return jax_array(np.eye(M))
    if is_traced(value):
        return jnp.asarray(value, dtype=jnp.float64)
    shape = shape_of("teacher_overlaps", value)
    if len(shape) not in (2, 3) or 0 in shape:
        allowed = f"its shape has to be ({M}, {M}), or (n, {M}, {M}) for n runs"
        raise InputError("teacher_overlaps", f"shape {shape}", allowed)
    return jax_array(covariance("teacher_overlaps", value, M))

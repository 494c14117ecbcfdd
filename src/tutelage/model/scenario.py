"""Who teaches, who learns: committees and the scenario that joins them."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._checks import (
    InputError,
    covariance,
    finite_number,
    is_traced,
    positive_integer,
)
from tutelage._jax import jnp
from tutelage.activations import Activation


class Committee(eqx.Module):
    """A soft committee machine: a sum of hidden units with one activation, fixed output weights.

    units: K for a student, M for a teacher.
    activation: g.
    """

    units: int = eqx.field(static=True)
    activation: Activation

    def __init__(self, units: int, activation: Activation):
        self.units = positive_integer("units", units, "a committee of 2 or more")
        if not isinstance(activation, Activation):
            raise InputError(
                "activation",
                repr(activation),
                "it has to be an Activation",
                "tl.ReLU(), tl.Erf() or tl.Activation.from_function(f)",
            )
        self.activation = activation


class Scenario(eqx.Module):
    """A student committee that learns from a teacher committee.

    σ = s_K Σ_i g(x_i),   τ = s_M Σ_n g*(y_n),   ε = ½ (σ - τ)²

    student, teacher: `Committee`; sizes and activations may differ.
    teacher_overlaps: T_nm, shape (M, M); by default the identity.
    output_scale: s, one number for both or the pair (s_K, s_M); 1 in straat2019 and citton2025,
        1/√K in oostwal2019.
    label_noise: standard deviation ς of Gaussian noise on the teacher's output.
    weight_decay: γ >= 0.

    >>> import tutelage as tl
    >>> two = tl.Committee(2, tl.ReLU())
    >>> scenario = tl.Scenario(student=two, teacher=two, teacher_overlaps=[[1, 0], [0, 2]])
    >>> scenario.K, scenario.M, scenario.T.shape
    (2, 2, (2, 2))
    """

    student: Committee
    teacher: Committee
    T: Float[Array, "M M"]
    output_scale: tuple[Any, Any]
    label_noise: Any
    weight_decay: Any

    def __init__(
        self,
        student: Committee,
        teacher: Committee,
        teacher_overlaps: Any = None,
        *,
        output_scale: Any = 1.0,
        label_noise: Any = 0.0,
        weight_decay: Any = 0.0,
    ):
        self.student = _committee("student", student)
        self.teacher = _committee("teacher", teacher)
        self.T = _teacher_overlaps(teacher_overlaps, teacher.units)
        self.output_scale = _output_scale(output_scale)
        self.label_noise = finite_number("label_noise", label_noise, at_least=0.0)
        self.weight_decay = finite_number("weight_decay", weight_decay, at_least=0.0)

    @property
    def K(self) -> int:
        """Number of student units."""
        return self.student.units

    @property
    def M(self) -> int:
        """Number of teacher units."""
        return self.teacher.units

    @property
    def teacher_overlaps(self) -> Float[Array, "M M"]:
        """T."""
        return self.T


def _committee(argument: str, value: Any) -> Committee:
    if not isinstance(value, Committee):
        raise InputError(
            argument, repr(value), "it has to be a Committee", "tl.Committee(2, tl.ReLU())"
        )
    return value


def _teacher_overlaps(value: Any, M: int) -> Float[Array, "M M"]:
    if value is None:
        return jnp.asarray(np.eye(M))  # made by NumPy: nothing to compile
    if is_traced(value):
        return jnp.asarray(value, dtype=jnp.float64)
    if np.ndim(value) != 2:
        raise InputError(
            "teacher_overlaps", f"shape {np.shape(value)}", f"its shape has to be ({M}, {M})"
        )
    return jnp.asarray(covariance("teacher_overlaps", value, M))


def _output_scale(value: Any) -> tuple[Any, Any]:
    """(s_K, s_M)."""
    pair = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(pair) != 2:
        raise InputError(
            "output_scale", repr(value), "it has to be one number or two, (s_K, s_M)", "1.0"
        )
    s_K, s_M = (finite_number("output_scale", s, above=0.0) for s in pair)
    return s_K, s_M

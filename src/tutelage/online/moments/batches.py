"""Lists of averages of one kind, in batches of equal shape, and their values.

An average takes several of the K + M fields, some of them more than once.  Two index tuples
have the same shape if the same arguments coincide and the activations are equal.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jnp
from tutelage._module import Module
from tutelage.activations import Activation
from tutelage.averages import Estimate
from tutelage.averages.methods import Hermite, Method, Orthant, Quadrature

# Arguments with an activation; the second one of I3 is the plain field.
ARGUMENTS = {"i3": (0, 2), "i4": (0, 1, 2, 3), "slopes": (0, 1)}


class Batch(NamedTuple):
    """Index tuples of one shape.

    same: for every argument the first one that is the same field.
    teachers: for every argument whether the field is a teacher's.
    fields: shape (count, arguments).
    weights: shape (targets, count); what each average contributes to each target.
    """

    same: tuple[int, ...]
    teachers: tuple[bool, ...]
    fields: np.ndarray
    weights: np.ndarray


def batches(
    tuples: Iterable[tuple[tuple[int, ...], int, float]], targets: int, students: int
) -> list[Batch]:
    """Sort (fields, target, weight) into batches; equal tuples are computed once."""
    groups: dict[tuple, dict[tuple[int, ...], dict[int, float]]] = defaultdict(dict)
    for fields, target, weight in tuples:
        same = tuple(fields.index(field) for field in fields)
        teachers = tuple(field >= students for field in fields)
        by_target = groups[same, teachers].setdefault(fields, defaultdict(float))
        by_target[target] += weight
    return [
        Batch(same, teachers, np.array(list(members)), _matrix(list(members.values()), targets))
        for (same, teachers), members in groups.items()
    ]


def _matrix(columns: list[dict[int, float]], targets: int) -> np.ndarray:
    matrix = np.zeros((targets, len(columns)))
    for j, column in enumerate(columns):
        for target, weight in column.items():
            matrix[target, j] = weight
    return matrix


class Averages(Module):
    """Averages of the units of a student and a teacher, a batch at a time.

    units: g of the student and of the teacher.
    method: how they are computed.
    """

    units: tuple[Activation, Activation]
    method: Method

    @property
    def coincidences(self) -> bool:
        """Return whether coinciding fields among the arguments have to be recognised."""
        return isinstance(self.method, Orthant | Hermite)

    def sums(self, kind: str, batch: Batch, C: Float[Array, "... n n"]) -> Array:
        """Return Σ weight × average for every target."""
        return self.estimates(kind, batch, C).value @ jnp.asarray(batch.weights).T

    def estimates(self, kind: str, batch: Batch, C: Float[Array, "... n n"]) -> Estimate:
        """Return all averages of the batch; ``kind`` is "i3", "i4" or "slopes"."""
        units = tuple(self.units[batch.teachers[a]] for a in ARGUMENTS[kind])
        covariances = C[..., batch.fields[:, :, None], batch.fields[:, None, :]]
        method = self._method(kind, units, batch)
        # Only exact orthant moments have to know which arguments are the same field.
        options = {"same": batch.same} if isinstance(method, Orthant) else {}
        function = getattr(method.module, kind)
        return function(units, covariances, **options, **method.options())

    def _method(self, kind: str, units: tuple[Activation, ...], batch: Batch) -> Method:
        """Return the method of a batch: the series only for four different fields (citton2025)."""
        if isinstance(self.method, Hermite) and Orthant().supports(units):
            different = batch.same == (0, 1, 2, 3)
            return self.method if kind == "i4" and different else Orthant()
        if isinstance(self.method, Hermite) and kind == "slopes":
            return Quadrature()
        return self.method

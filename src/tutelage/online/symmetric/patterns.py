"""Averages of a permutation-symmetric committee: index patterns and their multiplicities.

Fields 0 … k - 1 are the students that represent all, k … 2k - 1 the teachers.  Unit 0 learns;
unit 1 is "another one".  The fields that the equations sum over belong to those units or to
further ones, and only the number p of further units decides how often a pattern occurs.
"""

import abc
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jnp, numbers_to_arrays
from tutelage.activations import Activation
from tutelage.activations.base import form_of
from tutelage.activations.closed import ClosedForm
from tutelage.averages.methods import Method, Orthant
from tutelage.averages.orthant import sums
from tutelage.averages.orthant.sums import Sums
from tutelage.online.moments.batches import Averages, Batch, batches
from tutelage.online.moments.signs import has_known_slopes

REPRESENTATIVES = 4
# Axes: targets, number of further units, number of teachers among the summed fields.
SHAPES = {"i3": (4, 2, 2), "i4": (2, 3, 3), "slopes": (2,)}
Tuples = list[tuple[tuple[int, ...], int, float]]


def _patterns(given: int, fields: int, k: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield units of the summed fields up to permutations, and the number of additional units."""
    patterns: list[tuple[tuple[int, ...], int]] = [((), given)]
    for _ in range(fields):
        patterns = [
            ((*units, a), max(used, a + 1))
            for units, used in patterns
            for a in range(min(used + 1, k))
        ]
    return ((units, used - given) for units, used in patterns)


@cache
def _tuples(kind: str, k: int) -> Tuples:
    """List all averages for k representatives.

    Each is (fields, target, weight), as `batches` takes them.
    """
    place = np.arange(int(np.prod(SHAPES[kind]))).reshape(SHAPES[kind])
    if kind == "slopes":
        return [((0, unit), int(place[unit]), 1.0) for unit in range(min(k, 2))]
    tuples: Tuples = []
    if kind == "i3":
        for v, unit in ((v, v % 2) for v in range(4) if v % 2 < k):
            for ((a,), p), n in product(_patterns(1 + unit, 1, k), range(2)):
                tuples.append(((0, unit + k * (v // 2), a + k * n), int(place[v, p, n]), 1.0))
        return tuples
    for unit in range(min(k, 2)):
        for ((a, b), p), n in product(_patterns(1 + unit, 2, k), range(3)):
            # A pair of a student and a teacher occurs in both orders, and counts twice.
            summed = sorted((a + k * (n == 2), b + k * (n >= 1)))
            weight = 2.0 if n == 1 else 1.0
            tuples.append(((0, unit, *summed), int(place[unit, p, n]), weight))
    return tuples


class PatternAverages(eqx.Module):
    """Sums of averages over all patterns; base class of the implementations.

    single: the units of a student and a teacher, and how single averages are computed.
    k: number of students and teachers that represent all.
    """

    single: Averages
    k: int = eqx.field(static=True)

    @abc.abstractmethod
    def __call__(self, kind: str, C: Float[Array, "... n n"]) -> Float[Array, "..."]:
        """Return sums over all patterns with p further units, by the number of teachers."""


class SignPatterns(PatternAverages):
    """Exact, for piecewise linear units: each moment of signs is computed once.

    sums: of every kind, written out in moments; slopes are in their weights, which are data.
    """

    sums: dict[str, Sums]

    def __call__(self, kind: str, C: Float[Array, "... n n"]) -> Float[Array, "..."]:
        return self.sums[kind](C).reshape(*C.shape[:-2], *SHAPES[kind])


class SinglePatterns(PatternAverages):
    """Any units and any method: one average for every pattern."""

    def __call__(self, kind: str, C: Float[Array, "... n n"]) -> Float[Array, "..."]:
        total = jnp.zeros(())
        for batch in pattern_batches(kind, self.k, self.single.coincidences):
            total = total + self.single.sums(kind, batch, C)
        return total.reshape(*C.shape[:-2], *SHAPES[kind])


def pattern_averages(
    units: tuple[Activation, Activation], method: Method, K: int
) -> PatternAverages:
    """Choose the implementation of the averages of a symmetric committee."""
    single, k = Averages(numbers_to_arrays(units), method), min(K, REPRESENTATIVES)
    if not (isinstance(method, Orthant) and has_known_slopes(*units)):
        return SinglePatterns(single, k)
    forms = [form_of(g) for g in units]
    return SignPatterns(single, k, {kind: _written_out(kind, k, *forms) for kind in SHAPES})


@cache
def pattern_batches(kind: str, k: int, coincidences: bool) -> list[Batch]:
    """Group averages in batches; without ``coincidences`` one for each choice of activations."""
    sorted_out = batches(_tuples(kind, k), int(np.prod(SHAPES[kind])), k)
    if coincidences:
        return sorted_out
    groups: dict[tuple[bool, ...], list[Batch]] = defaultdict(list)
    for batch in sorted_out:
        groups[batch.teachers].append(batch)
    return [
        Batch(
            tuple(range(len(teachers))),
            teachers,
            np.concatenate([batch.fields for batch in members]),
            np.concatenate([batch.weights for batch in members], axis=1),
        )
        for teachers, members in groups.items()
    ]


@cache
def _written_out(kind: str, k: int, g: ClosedForm, h: ClosedForm) -> Sums:
    """Expand the sums in moments, each of which is then computed once."""
    parts: list[list[sums.Expansion]] = [[] for _ in range(int(np.prod(SHAPES[kind])))]
    for fields, target, weight in _tuples(kind, k):
        slopes = [sums.slope(g, f) for f in (fields[:1] if kind == "i3" else fields[:2])]
        between = [sums.plain(fields[1])] if kind == "i3" else []
        values = [sums.value(h if f >= k else g, f) for f in fields[2:]]
        parts[target].append(sums.scaled(sums.multiplied(*slopes, *between, *values), weight))
    return Sums([sums.added(part) for part in parts])

"""Sums of many averages of piecewise linear units over one covariance.

The equations of motion are sums of hundreds of I3 and I4 that share their fields.  Written out
in moments of signs (`_moments`) they are linear combinations of three kinds of numbers,

    C_ab,    ⟨z_a z_b s_c s_d⟩,    ⟨|z_a| |z_b| s_c s_d⟩  (all four different),

each of which is computed once, in one batch, whatever the number of units.  A field that occurs
several times is one field: s² = 1 and z s = |z|, so that no sum knows a sign twice.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from tutelage._jax import jax, jnp, ordered_sum
from tutelage._module import Module
from tutelage.activations.closed import ClosedForm
from tutelage.averages.orthant import moments as _moments, shared

Key = tuple[tuple[int, ...], tuple[int, ...]]  # fields in front, signs; both sorted
Expansion = dict[Key, float]


def value(g: ClosedForm, field: int) -> Expansion:
    """g(z) = m z + d |z|."""
    return _written(g, line=((field,), ()), modulus=((field,), (field,)))


def slope(g: ClosedForm, field: int) -> Expansion:
    """g'(z) = m + d sgn z."""
    return _written(g, line=((), ()), modulus=((), (field,)))


def _written(g: ClosedForm, **keys: Key) -> Expansion:
    return {keys[name]: coefficient for name, coefficient in g.terms.items()}


def plain(field: int) -> Expansion:
    """z."""
    return {((field,), ()): 1.0}


def scaled(expansion: Expansion, factor: float) -> Expansion:
    """factor × expansion."""
    return {key: factor * coefficient for key, coefficient in expansion.items()}


def added(expansions: Iterable[Expansion]) -> Expansion:
    """Σ expansions."""
    total: Expansion = defaultdict(float)
    for expansion in expansions:
        for key, coefficient in expansion.items():
            total[key] += coefficient
    return dict(total)


def multiplied(*expansions: Expansion) -> Expansion:
    """Π expansions, with s² = 1."""
    total: Expansion = defaultdict(float)
    for terms in itertools.product(*(expansion.items() for expansion in expansions)):
        fields = sorted(f for (front, _), _ in terms for f in front)
        signs: set[int] = set()
        for (_, behind), _ in terms:
            signs ^= set(behind)
        total[tuple(fields), tuple(sorted(signs))] += math.prod(c for _, c in terms)
    return dict(total)


# equal keys give one object, by which compiled programs are found
@dataclass(frozen=True, eq=False)
class MomentList:
    """The moments that occur, by kind: its name, and fields and signs of each moment."""

    groups: tuple[tuple[str, np.ndarray, np.ndarray], ...]

    @property
    def count(self) -> int:
        """The number of moments."""
        return sum(len(members) for _, members, _ in self.groups)


class SumTerms(NamedTuple):
    """The moments that occur in given sums, in the order of their groups, and their coefficients.

    Data, not part of a program.
    """

    places: Int[np.ndarray, "sums terms"]
    weights: Float[np.ndarray, "sums terms"]


class Sums(Module):
    """Averages of expansions: one number for each, from the covariance of all fields.

    moments: the averaged moments, which are static.
    terms: of all sums with one term, with two, …; none is read that is not there.
    order: position of every sum.
    """

    moments: MomentList = eqx.field(static=True)
    terms: tuple[SumTerms, ...]
    order: Int[np.ndarray, " sums"]

    def __init__(self, expansions: Sequence[Expansion]):
        even = [
            {k: c for k, c in expansion.items() if (len(k[0]) + len(k[1])) % 2 == 0}
            for expansion in expansions
        ]
        keys = tuple(dict.fromkeys(key for expansion in even for key in expansion))
        self.moments = _by_kind(keys)
        members = np.concatenate([members for _, members, _ in self.moments.groups])
        place = {keys[number]: where for where, number in enumerate(members)}
        lengths = np.array([len(expansion) for expansion in even])
        groups = [np.flatnonzero(lengths == length) for length in np.unique(lengths)]
        self.terms = tuple(
            SumTerms(
                np.array([[place[key] for key in even[row]] for row in rows], dtype=int),
                np.array([list(even[row].values()) for row in rows]),
            )
            for rows in groups
        )
        self.order = np.argsort(np.concatenate(groups))

    def __call__(self, C: Float[Array, "... n n"]) -> Float[Array, "... sums"]:
        """⟨expansion⟩ for every expansion, over fields with the covariance C."""
        values = self.values(C)
        parts = [
            ordered_sum(values[..., part.places] * part.weights, axis=-1) for part in self.terms
        ]
        return jnp.concatenate(parts, axis=-1)[..., self.order]

    def weights(
        self, factors: Float[np.ndarray, "rows sums_of_a_row"]
    ) -> Float[np.ndarray, "rows moments"]:
        """Return, for each row of factors, the coefficient of every moment in Σ factor × sum."""
        weights = np.zeros((len(factors), self.moments.count))
        sums = np.argsort(self.order)
        for part in self.terms:
            own, sums = sums[: len(part.places)], sums[len(part.places) :]
            row, factor = own // factors.shape[1], factors.ravel()[own]
            np.add.at(weights, (row[:, None], part.places), factor[:, None] * part.weights)
        return weights

    def values(self, C: Float[Array, "... n n"]) -> Float[Array, "... moments"]:
        """All moments."""
        return _values(0.5 * (C + jnp.swapaxes(C, -1, -2)), self.moments)


@cache
def _by_kind(keys: tuple[Key, ...]) -> MomentList:
    kinds: dict[str, list[int]] = defaultdict(list)
    for number, (fields, signs) in enumerate(keys):
        kinds[f"{len(fields)}{len(signs)}"].append(number)
    return MomentList(
        tuple(
            (kind, np.array(members), _indices([keys[j] for j in members]))
            for kind, members in kinds.items()
        )
    )


def _indices(keys: list[Key]) -> np.ndarray:
    """Return fields and signs of each key in one row; with four signs, those without a field come
    first.
    """
    rows = []
    for fields, signs in keys:
        if len(signs) == 4 and fields:
            rows.append([*(s for s in signs if s not in fields), *fields])
        else:
            rows.append([*fields, *signs])
    return np.array(rows, dtype=int).reshape(len(keys), -1)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _values(C: Float[Array, "... n n"], moments: MomentList) -> Float[Array, "... moments"]:
    """Compute all moments; pairs and tetrahedra that several moments share are computed once."""
    pairs = shared.pairs_of(C)
    together = {
        "02": shared.sign_moments,
        "22": shared.pair_moments,
        "24": shared.quad_moments,
    }
    parts = [
        together[kind](pairs, fields) if kind in together else _plain_moment(kind, C, fields)
        for kind, _, fields in moments.groups
    ]
    return jnp.concatenate(parts, axis=-1)


@_values.defjvp
def _values_jvp(moments: MomentList, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """Derivatives moment by moment: they are bounded where fields coincide.

    The values come from the same formulas, which the derivatives need: the shared ones would be
    traced and compiled in addition.
    """
    return jax.jvp(lambda C: one_by_one(C, moments), primals, tangents)


def one_by_one(C: Float[Array, "... n n"], moments: MomentList) -> Float[Array, "... moments"]:
    """Compute all moments one by one: no intermediate result is shared."""
    unit, amplitude = shared.normalized(C)
    parts = [
        _plain_moment(kind, C, fields)
        if kind in ("00", "20")
        else _moment(kind, unit, amplitude, fields)
        for kind, _, fields in moments.groups
    ]
    return jnp.concatenate(parts, axis=-1)


def _plain_moment(kind: str, C: Float[Array, "... n n"], f: np.ndarray) -> Float[Array, "... keys"]:
    """Return the moments without signs, of no field or of two."""
    return jnp.ones((*C.shape[:-2], len(f))) if kind == "00" else C[..., f[:, 0], f[:, 1]]


def _moment(
    kind: str, unit: Float[Array, "... n n"], amplitude: Float[Array, "... n"], f: np.ndarray
) -> Float[Array, "... keys"]:
    """Compute the moments of one kind for all keys; a kind is the number of fields and the number
    of signs.

    unit, amplitude: of `shared.normalized`.
    """
    places = itertools.combinations_with_replacement(range(f.shape[1]), 2)
    of_moments = unit[..., f[:, :, None], f[:, None, :]]
    C = {(i, j): of_moments[..., i, j] for i, j in places}
    match kind:
        case "02":
            return _moments.pair_sign(C, 0, 1)
        case "22":
            moment, a, b = _moments.pair_moment(C, 0, 1, 2, 3), 0, 1
        case "04":
            return _moments.quad_sign(C)
        case "24":
            moment, a, b = _moments.quad_moment(C), 2, 3
        case _:
            raise AssertionError(kind)  # no other products of two slopes and two values exist
    return amplitude[..., f[:, a]] * amplitude[..., f[:, b]] * moment

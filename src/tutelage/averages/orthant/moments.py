"""Averages of products of signs and fields: the building blocks of every orthant average.

With s_c = sgn z_c and jointly Gaussian z:

    pair_sign      ⟨s_c s_d⟩             = (2/π) (π/2 - θ_cd)
    pair_moment    ⟨z_a z_b s_c s_d⟩
    triple_moment  ⟨z_a s_1 s_2 s_3⟩
    quad_sign      ⟨s_1 s_2 s_3 s_4⟩
    quad_moment    ⟨|z_3| |z_4| s_1 s_2⟩

Stein's lemma, applied until no field is left in front, gives one term for every pair of signs,

    ⟨z_a z_b Π_S s⟩ = C_ab ⟨Π_S s⟩ + (2/π) Σ_{c<d} w_cd ⟨Π_{S∖cd} s⟩ given z_c = z_d = 0,
    w_cd = sin θ_cd (A_p B_p - A_m B_m),

with A_p and A_m the components of a along the bisectors of c and d: the two terms of the
recursion that belong to one pair are taken together, and w_cd vanishes with θ_cd instead of
being a difference of two large numbers.

Derivatives come from Price's theorem, ∂⟨F⟩/∂C_ij = ⟨∂_i ∂_j F⟩: a derivative of a sign is a
delta function, that is, a condition z_i = 0 and a moment of lower order.  They are finite on
singular covariances too; where the true one-sided derivative is infinite (two signs of
fields that coincide), the private coordinate of `_rows` bounds it by about 1e11.

All functions expect the entries of a covariance with diagonal of order one (`orthant.normalised`).
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial

from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage.averages.orthant.angle import angle
from tutelage.averages.orthant.rows import PAIRS, PRIVATE, Covariance, Entries, at, computed_once
from tutelage.averages.orthant.tetrahedron import tetrahedron
from tutelage.averages.orthant.twofold import minor

Number = Float[Array, "..."]
# The covariance as the only argument of a differentiable function, or its tangent.
Primals = tuple[Covariance]
TWO_OVER_PI = 2 / math.pi


def determinant(C: Covariance, c: int, d: int) -> Number:
    """C_cc C_dd - C_cd², not below zero."""
    return jnp.maximum(minor(at(C, c, c), at(C, c, d), at(C, c, d), at(C, d, d)), 0.0)


def pair_angle(C: Covariance, c: int, d: int) -> Number:
    """θ_cd, the angle between two fields."""
    return angle(jnp.sqrt(determinant(C, c, d)), at(C, c, d))


def _area(C: Covariance, c: int, d: int, private: float = PRIVATE) -> Number:
    """√(C_cc C_dd - C_cd²), never zero, for denominators."""
    return jnp.sqrt(determinant(C, c, d) + 2 * private**2 * at(C, c, c) * at(C, d, d))


def _given(C: Covariance, x: int, i: int, j: int) -> Number:
    """C_xx times the covariance of i and j given z_x = 0."""
    if x in (i, j):
        return jnp.zeros_like(at(C, x, x))
    # The rounding of the bound by Cauchy and Schwarz, for the reason given in `_components`.
    bound = _area(C, x, i) * _area(C, x, j)
    return bounded(minor(at(C, x, x), at(C, x, j), at(C, i, x), at(C, i, j)), bound)


def _given_two(C: Covariance, x: int, y: int, i: int, j: int) -> Number:
    """The covariance of i and j given z_x = z_y = 0."""
    if {x, y} & {i, j}:
        return jnp.zeros_like(at(C, x, x))
    explained = _given(C, x, i, y) * _given(C, x, j, y) / _area(C, x, y) ** 2
    return (_given(C, x, i, j) - explained) / at(C, x, x)


def _stacked(C: Covariance, selections: Iterable[Sequence[int]]) -> Covariance:
    """The covariances of several selections of fields, stacked along a new first axis.

    A function of all selections at once is compiled in a fraction of the time.
    """
    selections = list(selections)
    places = itertools.combinations_with_replacement(range(len(selections[0])), 2)
    return {(i, j): jnp.stack([at(C, s[i], s[j]) for s in selections]) for i, j in places}


# One pair of signs ------------------------------------------------------------------------


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def pair_sign(C: Covariance, c: int, d: int) -> Number:
    """⟨s_c s_d⟩ = (2/π) asin ρ_cd."""
    return 1.0 - TWO_OVER_PI * pair_angle(C, c, d)


@pair_sign.defjvp
def _pair_sign_jvp(c: int, d: int, primals: Primals, tangents: Primals) -> tuple[Number, Number]:
    (C,), (dC,) = primals, tangents
    slope = {(c, d): TWO_OVER_PI / _area(C, c, d)}
    return pair_sign(C, c, d), _change(C, dC, slope, degree={c: 0, d: 0}, value=None)


@partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3, 4))
def pair_moment(C: Covariance, a: int, b: int, c: int, d: int) -> Number:
    """⟨z_a z_b s_c s_d⟩ = C_ab ⟨s_c s_d⟩ + (2/π) w_cd; a and b may be c and d or other fields."""
    return at(C, a, b) * pair_sign(C, c, d) + TWO_OVER_PI * weight(C, a, b, c, d)


def weight(C: Covariance, a: int, b: int, c: int, d: int) -> Number:
    """w_cd = sin θ (A_p B_p - A_m B_m), with p and m the bisectors of the fields c and d.

    tan(θ/2) = |û_c - û_d| / |û_c + û_d| turns it into
    ½ [(a·p)(b·p) tan(θ/2) - (a·m)(b·m) / tan(θ/2)] with p = û_c + û_d, m = û_c - û_d.
    """
    root_c, root_d = jnp.sqrt(at(C, c, c)), jnp.sqrt(at(C, d, d))
    # The numerators that are divided by the tangent vanish with its square, so the smallest floor
    # suffices.
    norm, dot, area = root_c * root_d, at(C, c, d), _area(C, c, d, private=1e-15)
    tangent = jnp.where(dot > 0, area / (norm + jnp.abs(dot)), (norm + jnp.abs(dot)) / area)
    cosine = 1 / jnp.sqrt(1 + tangent**2)  # of θ/2
    p, m = 2 * cosine, 2 * cosine * tangent
    a_p, a_m = _components(C, a, c, d, root_c, root_d, p, m)
    b_p, b_m = _components(C, b, c, d, root_c, root_d, p, m)
    return 0.5 * (a_p * b_p * tangent - a_m * b_m / tangent)


def _components(
    C: Covariance, a: int, c: int, d: int, root_c: Number, root_d: Number, p: Number, m: Number
) -> tuple[Number, Number]:
    """a·(û_c + û_d) and a·(û_c - û_d), not larger than |a| times the lengths p and m.

    A rounded covariance can violate that bound of Cauchy and Schwarz; numerators over a small angle
    must not be larger than the angle allows.
    """
    a_c, a_d, size = at(C, a, c) / root_c, at(C, a, d) / root_d, jnp.sqrt(at(C, a, a))
    return bounded(a_c + a_d, size * p), bounded(a_c - a_d, size * m)


def bounded(x: Number, bound: Number) -> Number:
    """x, clipped to ±bound."""
    return jnp.clip(x, -bound, bound)


@pair_moment.defjvp
def _pair_moment_jvp(
    a: int, b: int, c: int, d: int, primals: Primals, tangents: Primals
) -> tuple[Number, Number]:
    (C,), (dC,) = primals, tangents
    # ∂/∂C_ij for a field i and a sign j: 2⟨δ(z_j) z_other s_k⟩, with the other field and sign.
    conditions = {"ac": (c, b, d), "ad": (d, b, c), "bc": (c, a, d), "bd": (d, a, c)}
    S = _stacked(C, conditions.values())
    slopes = TWO_OVER_PI * _given(S, 0, 1, 2) / (at(S, 0, 0) * _area(S, 0, 2))
    by = dict(zip(conditions, slopes, strict=True))
    by["cd"] = TWO_OVER_PI * _given_two(C, c, d, a, b) / _area(C, c, d)
    # Signs do not change when their fields are scaled, so Euler's identity gives the diagonal.
    c_c = -(at(C, a, c) * by["ac"] + at(C, b, c) * by["bc"] + at(C, c, d) * by["cd"])
    d_d = -(at(C, a, d) * by["ad"] + at(C, b, d) * by["bd"] + at(C, c, d) * by["cd"])
    change = (
        pair_sign(C, c, d) * at(dC, a, b)
        + by["ac"] * at(dC, a, c)
        + by["ad"] * at(dC, a, d)
        + by["bc"] * at(dC, b, c)
        + by["bd"] * at(dC, b, d)
        + by["cd"] * at(dC, c, d)
        + 0.5 * c_c / at(C, c, c) * at(dC, c, c)
        + 0.5 * d_d / at(C, d, d) * at(dC, d, d)
    )
    return pair_moment(C, a, b, c, d), change


# Three signs ------------------------------------------------------------------------------


@jax.custom_jvp
def triple_moment(C: Covariance) -> Number:
    """⟨z_0 s_1 s_2 s_3⟩ = √(2/π) Σ_x C_0x/√C_xx ⟨s_k s_l⟩ given z_x = 0."""
    terms = (at(C, 0, x) * slope for x, slope in _triple_slopes(C).items())
    return sum(terms, jnp.zeros(()))


def _triple_slopes(C: Covariance) -> dict[int, Number]:
    """∂⟨z_0 s_1 s_2 s_3⟩/∂C_0x = 2⟨δ(z_x) s_k s_l⟩ for x = 1, 2, 3."""
    # An independent field turns the triangle of three signs into a tetrahedron, whose edges at that
    # field are the sides of the triangle; here it replaces the field 0.
    zero, one = jnp.zeros_like(at(C, 1, 1)), jnp.ones_like(at(C, 1, 1))
    signs = C | {(0, 0): one, (0, 1): zero, (0, 2): zero, (0, 3): zero}
    edges = tetrahedron(signs, _pair_angles(signs)).edges
    return {
        x: math.sqrt(TWO_OVER_PI) * _edge_sign(edges[0, x]) / jnp.sqrt(at(C, x, x))
        for x in (1, 2, 3)
    }


@triple_moment.defjvp
def _triple_moment_jvp(primals: Primals, tangents: Primals) -> tuple[Number, Number]:
    (C,), (dC,) = primals, tangents
    slopes = {(0, x): slope for x, slope in _triple_slopes(C).items()}
    signs = ((1, 2, 3), (1, 3, 2), (2, 3, 1))
    S = _stacked(C, [(x, y, k, 0) for x, y, k in signs])
    variance = jnp.maximum(_given_two(S, 0, 1, 2, 2), 0.0) + PRIVATE**2 * at(S, 2, 2)
    mean = math.sqrt(TWO_OVER_PI) * _given_two(S, 0, 1, 3, 2) / jnp.sqrt(variance)
    by_signs = TWO_OVER_PI * mean / _area(S, 0, 1)
    slopes |= {(x, y): slope for (x, y, _), slope in zip(signs, by_signs, strict=True)}
    change = _change(C, dC, slopes, degree={1: 0, 2: 0, 3: 0}, value=None)
    return triple_moment(C), change


# Four signs -------------------------------------------------------------------------------


@jax.custom_jvp
def quad_sign(C: Covariance) -> Number:
    """⟨s_0 s_1 s_2 s_3⟩ = 16 P_4 - 7 + (2/π) Σ θ_ij."""
    angles = _pair_angles(C)
    return _quad_sign(tetrahedron(C, angles).volume, angles)


@quad_sign.defjvp
def _quad_sign_jvp(primals: Primals, tangents: Primals) -> tuple[Number, Number]:
    (C,), (dC,) = primals, tangents
    edges = tetrahedron(C, _pair_angles(C)).edges
    areas = _area(_stacked(C, PAIRS), 0, 1)
    slopes = {
        pair: TWO_OVER_PI * _edge_sign(edges[pair]) / area
        for pair, area in zip(PAIRS, areas, strict=True)
    }
    return quad_sign(C), _change(C, dC, slopes, degree=dict.fromkeys(range(4), 0), value=None)


@jax.custom_jvp
def quad_moment(C: Covariance) -> Number:
    """⟨s_0 s_1 |z_2| |z_3|⟩ = C_23 ⟨s s s s⟩ + (2/π) Σ_{c<d} w_cd ⟨s_k s_l⟩ given z_c = z_d = 0."""
    angles = _pair_angles(C)
    volume, edges = tetrahedron(C, angles)
    moment = at(C, 2, 3) * _quad_sign(volume, angles)
    for c, d in PAIRS:
        moment = moment + TWO_OVER_PI * weight(C, 2, 3, c, d) * _edge_sign(edges[c, d])
    return moment


@quad_moment.defjvp
def _quad_moment_jvp(primals: Primals, tangents: Primals) -> tuple[Number, Number]:
    (C,), (dC,) = primals, tangents
    angles = _pair_angles(C)
    volume, edges = tetrahedron(C, angles)
    volume, edges = computed_once((volume, edges))
    slopes = {(2, 3): _quad_sign(volume, angles), (0, 1): _both_given(C, edges[0, 1])}
    slopes |= _one_given(C, edges)
    value = quad_moment(C)
    return value, _change(C, dC, slopes, degree={0: 0, 1: 0, 2: 1, 3: 1}, value=value)


def _both_given(C: Covariance, edge: Number) -> Number:
    """4⟨δ(z_0) δ(z_1) |z_2| |z_3|⟩."""
    S = _stacked(C, [(0, 1, 2, 2), (0, 1, 3, 3), (0, 1, 2, 3)])
    *variances, between = _given_two(S, 0, 1, 2, 3)
    v2, v3 = (jnp.maximum(v, 0.0) for v in variances)
    moment: Array = between * (edge - math.pi / 2) + jnp.sqrt(v2 * v3) * jnp.sin(edge)
    return TWO_OVER_PI**2 * moment / _area(C, 0, 1)


def _one_given(C: Covariance, edges: Entries) -> Entries:
    """2⟨δ(z_i) z_b s s s⟩ = (2/π) Σ_e C_be/√(C_ii C_ee) ⟨s_k s_l⟩, each given z_i = z_e = 0.

    Keyed by i and the field a other than b: the derivative by C_ia.
    """
    terms = [(i, b, e) for i in (0, 1) for b in (2, 3) for e in range(4) if e != i]
    S = _stacked(C, terms)
    components = _given(S, 0, 1, 2) / (at(S, 0, 0) * _area(S, 0, 2))
    total: Entries = defaultdict(lambda: jnp.zeros(()))
    for (i, b, e), component in zip(terms, components, strict=True):
        total[i, 5 - b] += TWO_OVER_PI * component * _edge_sign(at(edges, i, e))
    return total


def _pair_angles(C: Covariance) -> Entries:
    return computed_once({(c, d): pair_angle(C, c, d) for c, d in PAIRS})


def _quad_sign(volume: Number, angles: Entries) -> Number:
    return 16 * volume - 7 + TWO_OVER_PI * sum(angles.values())


def _edge_sign(edge: Number) -> Number:
    """⟨s_k s_l⟩ given z_c = z_d = 0, from the length of the edge cd."""
    return TWO_OVER_PI * edge - 1


def _change(
    C: Covariance, dC: Covariance, slopes: Entries, degree: dict[int, int], value: Number | None
) -> Number:
    """Σ ∂_ij dC_ij with the diagonal from Euler's identity.

    A moment of degree k in the field i obeys 2 C_ii ∂_ii + Σ_j C_ij ∂_ij = k · value.
    """
    slopes = computed_once(slopes)
    total = sum((slope * at(dC, i, j) for (i, j), slope in slopes.items()), jnp.zeros(()))
    for i, k in degree.items():
        around = sum(slope * at(C, p, q) for (p, q), slope in slopes.items() if i in (p, q))
        rest = -around if value is None or not k else k * value - around
        total = total + 0.5 * rest / at(C, i, i) * at(dC, i, i)
    return total

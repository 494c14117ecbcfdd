"""Exact Gaussian averages to 30 digits and more, sharing nothing with the library.

    i2(("relu", "erf"), C)                  <g(u) h(w)>
    i3(("relu", 0.1), C)                    <g'(u) v h(w)>
    i4(("relu", "relu", "relu", "relu"), C) <g1'(u) g2'(v) h(w) k(z)>
    i4_relu(C)                              the same, shorter
    i4_derivative(activations, C)           D with d I4 = sum_ab D_ab dC_ab for symmetric dC

An activation is "relu", "linear", "erf" (meaning erf(x/sqrt 2)) or a number s, the slope of
s x + (1 - s) max(0, x). A covariance is anything with rows of numbers: a float64 array (every
entry is taken exactly), integers, Fractions, mpf. `from_rows(rows)` makes one out of the rows of
a factor, without rounding, so that a covariance can be exactly singular. All decisions (is a
field zero, are two fields proportional, what is the rank) are made in rational arithmetic; there
is no threshold anywhere. A covariance that is not exactly positive semi-definite is refused.

A field of variance zero stands for an infinitesimal one, independent of everything: sgn -> 0,
theta -> 1/2. Everything else is a limit-free statement about the given covariance.

**One notation for all activations.** g(x) = x (m + d sgn x) and g'(x) = m + d sgn x for a
piecewise-linear unit, m = (1 + s)/2, d = (1 - s)/2. With e a private standard normal number,
erf(x/sqrt 2) = <sgn(x + e)>_e and its derivative is <2 delta(x + e)>_e. So every average is a sum
of moments <linear fields x signs of fields>, some of them at vanishing other fields.

**The route.** `sign_moment` lowers the degree with Stein's lemma until only signs are left: two
give (2/pi) asin rho; four of full rank the volume of a spherical tetrahedron, in dilogarithms;
four of rank 3 the areas of the faces into which four great circles cut the sphere; four of rank 2
an alternating sum of angles. `reference_polar.py` is a second route, without recursion and
volumes; it shares the exact covariances, their conditioning and <sgn sgn> with this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import prod

from mpmath import mp

Matrix = tuple[tuple[Fraction, ...], ...]
Tag = str | float | Fraction

# Float64 covariances come with 1 - |rho| down to 1e-16 and determinants down to 1e-50; square
# roots and angles near 0 or pi then cost at most half of these digits.
WORKING_DIGITS = 100


# ---------------------------------------------------------------- exact covariances


def fraction(x) -> Fraction:
    """The number x as a ratio of integers: exact for int, float, Fraction and mpf."""
    if isinstance(x, mp.mpf):
        sign, mantissa, exponent, _ = x._mpf_
        return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return x if isinstance(x, Fraction) else Fraction(x.item() if hasattr(x, "item") else x)


def real(x: Fraction):
    """A ratio of integers rounded to the working precision."""
    return mp.mpf(x.numerator) / x.denominator


def from_rows(rows: Sequence[Sequence]) -> Matrix:
    """C = L L^T without rounding, for the rows of L."""
    L = [[fraction(x) for x in row] for row in rows]
    return tuple(tuple(sum(x * y for x, y in zip(a, b, strict=True)) for b in L) for a in L)


@cache
def _checked(C: Matrix) -> Matrix:
    if any(C[a][b] != C[b][a] for a in range(len(C)) for b in range(a)):
        raise ValueError("covariance: not symmetric")
    rank(C)
    return C


def covariance(C) -> Matrix:
    """A symmetric positive semi-definite matrix of exact numbers, or ValueError."""
    return _checked(tuple(tuple(fraction(x) for x in row) for row in C))


def given_zero(C: Matrix, c: int) -> Matrix:
    """Covariance given z_c = 0; row and column c become zero."""
    scaled = [x / C[c][c] for x in C[c]]
    return tuple(tuple(C[a][b] - C[a][c] * scaled[b] for b in range(len(C))) for a in range(len(C)))


def rank(C: Matrix) -> int:
    """Exact rank by symmetric elimination, which also proves C positive semi-definite."""
    done = 0
    while any(C[a][a] for a in range(len(C))):
        c = next(a for a in range(len(C)) if C[a][a])
        if C[c][c] < 0:
            break
        C, done = given_zero(C, c), done + 1
    if any(x for row in C for x in row):
        raise ValueError("covariance: not positive semi-definite in exact arithmetic")
    return done


def proportional(C: Matrix, a: int, b: int) -> int:
    """+1 or -1 where z_b is a positive or negative multiple of z_a, otherwise 0."""
    if C[a][b] ** 2 != C[a][a] * C[b][b]:
        return 0
    return 1 if C[a][b] > 0 else -1


def sign(x) -> int:
    return (x > 0) - (x < 0)


def reduced(C: Matrix, signs: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """A product of signs without its proportional pairs: sgn(x) sgn(-2 x) = -1."""
    for a, b in combinations(signs, 2):
        if s := proportional(C, a, b):
            factor, rest = reduced(C, tuple(c for c in signs if c not in (a, b)))
            return s * factor, rest
    return 1, signs


# ---------------------------------------------------------------- Stein's lemma and volumes


def two_signs(C: Matrix, a: int, b: int):
    """<sgn z_a sgn z_b> = (2/pi) asin rho, written with an angle that is accurate at both ends."""
    spread = real(C[a][a] * C[b][b] - C[a][b] ** 2)
    return 2 * mp.atan2(real(C[a][b]), mp.sqrt(spread)) / mp.pi


def sign_moment(C: Matrix, linear: tuple[int, ...], signs: tuple[int, ...]):
    """<prod_{b in linear} z_b prod_{c in signs} sgn z_c> by Stein's lemma,

    <z_b F> = sum_c C_bc <dF/dz_c>,   d sgn(z_c)/dz_c = 2 delta(z_c).
    """
    if (len(linear) + len(signs)) % 2 or any(C[c][c] == 0 for c in (*linear, *signs)):
        return mp.zero
    factor, signs = reduced(C, signs)
    if factor < 0:
        return -sign_moment(C, linear, signs)
    if not linear:
        return _signs_only(C, signs)
    b, rest = linear[0], linear[1:]
    total = mp.zero
    for i, c in enumerate(rest):
        if C[b][c]:
            total += real(C[b][c]) * sign_moment(C, rest[:i] + rest[i + 1 :], signs)
    for i, c in enumerate(signs):
        if C[b][c]:
            density = 1 / mp.sqrt(2 * mp.pi * real(C[c][c]))
            left = sign_moment(given_zero(C, c), rest, signs[:i] + signs[i + 1 :])
            total += 2 * real(C[b][c]) * density * left
    return total


def _signs_only(C: Matrix, signs: tuple[int, ...]):
    if not signs:
        return mp.one
    if len(signs) == 2:
        return two_signs(C, *signs)
    return four_signs(tuple(tuple(C[a][b] for b in signs) for a in signs))


@cache
def four_signs(C: Matrix):
    """<sgn z_1 sgn z_2 sgn z_3 sgn z_4> of fields no two of which are proportional."""
    by_rank = {2: _four_signs_in_a_plane, 3: _four_signs_in_space, 4: _four_signs_full_rank}
    return by_rank[rank(C)](C)


def plane_coordinates(C: Matrix, a: int, b: int) -> list[tuple]:
    """Components of every field in the plane of z_a and z_b, z_a along the first axis."""
    D = given_zero(C, a)
    first, second = mp.sqrt(real(C[a][a])), mp.sqrt(real(D[b][b]))
    return [(real(C[a][c]) / first, real(D[b][c]) / second) for c in range(len(C))]


def _four_signs_in_a_plane(C: Matrix):
    """Rank 2: the lines z_a = 0, sorted by angle, bound four sectors of alternating sign."""
    fields = plane_coordinates(C, 0, 1)
    lines = sorted((mp.atan2(y, x) + mp.pi / 2) % mp.pi for x, y in fields)
    widths = [b - a for a, b in zip(lines, [*lines[1:], lines[0] + mp.pi], strict=True)]
    inside = lines[0] + widths[0] / 2
    first = prod(sign(x * mp.cos(inside) + y * mp.sin(inside)) for x, y in fields)
    return first * (widths[0] - widths[1] + widths[2] - widths[3]) / mp.pi


def _four_signs_in_space(C: Matrix):
    """Rank 3: four great circles cut the sphere into 8 triangles and 6 quadrangles.

    They are coloured like a chessboard by the product of the signs. Both patterns +-sgn(lambda)
    of the linear relation sum_a lambda_a z_a = 0 are missing, which tells the triangles' colour.
    Adding the areas (sum of angles - (n - 2) pi) with their colours, and z_c z_d having the sign
    of -lambda_c lambda_d where z_a = z_b = 0,

        <signs> = -s_1 s_2 s_3 s_4 [1 + sum_{a<b} s_a s_b (2/pi) asin rho_ab],   s = sgn lambda.

    Where lambda_a = 0, three circles meet in a point and either value of s_a gives the same.
    """
    s = [sign(x) or 1 for x in linear_relation(C)]
    pairs = combinations(range(4), 2)
    return -prod(s) * (1 + sum(s[a] * s[b] * two_signs(C, a, b) for a, b in pairs))


def linear_relation(C: Matrix) -> list[Fraction]:
    """lambda with sum_a lambda_a z_a = 0, for four fields of rank 3: a column of adj(C)."""
    return max(
        ([_cofactor(C, a, b) for a in range(4)] for b in range(4)),
        key=lambda x: abs(sum(map(abs, x))),
    )


def _cofactor(C: Matrix, a: int, b: int) -> Fraction:
    (p, q, r), (s, t, u), (v, w, x) = (
        [C[i][j] for j in range(4) if j != b] for i in range(4) if i != a
    )
    return (-1) ** (a + b) * (p * (t * x - u * w) - q * (s * x - u * v) + r * (s * w - t * v))


def _four_signs_full_rank(C: Matrix):
    """16 P_4 = 1 + sum_{a<b} <sgn sgn> + <sgn sgn sgn sgn> with P_4 from the tetrahedron."""
    pairs = {(a, b): two_signs(C, a, b) for a, b in combinations(range(4), 2)}
    # The wall z_a = 0 meets the wall z_b = 0 at the angle pi/2 + asin rho inside the orthant.
    dihedral = {ab: mp.pi * (1 + x) / 2 for ab, x in pairs.items()}
    return 8 * tetrahedron(dihedral) / mp.pi**2 - 1 - sum(pairs.values())


def tetrahedron(dihedral: dict):
    """Volume on the unit three-sphere, of which the whole is 2 pi^2.

    With a_j = exp(-i theta_j), z the root of modulus below 1 of

        (1-z)(1-abde z)(1-acdf z)(1-bcef z) = (1+abc z)(1+aef z)(1+bdf z)(1+cde z)

    other than 0, and L half the sum of the dilogarithms of what is multiplied by z (those of the
    right-hand side with a minus sign), modulo 2 pi^2

        V = -Re L - pi arg z + (sum_{j<4} theta_j theta_{j+3} + pi sum_j theta_j - 3 pi^2) / 2.

    The angles 1, 2, 3 belong to the edges at one vertex, 4, 5, 6 to the opposite edges.

    The dilogarithms and the equation for z are those of Murakami and Yano for the tetrahedron.
    The choice of the root and the five coefficients of V are not quoted from a paper: they were
    found by a least-squares fit to twelve values of the second route, which gave -1, -1, 1/2, 1/2,
    -3/2 to 14 digits. What proves them are the tests that do not use that route: the seven
    Coxeter tetrahedra, and Plackett's identity for all derivatives of V.
    """
    # Walls 0, 1, 2 meet in one vertex, in the edges 12, 02, 01; opposite to these: 03, 13, 23.
    theta = [dihedral[ab] for ab in ((1, 2), (0, 2), (0, 1), (0, 3), (1, 3), (2, 3))]
    a, b, c, d, e, f = (mp.expj(-t) for t in theta)
    left = (mp.one, a * b * d * e, a * c * d * f, b * c * e * f)
    right = (-a * b * c, -a * e * f, -b * d * f, -c * d * e)
    # The constant and the fourth power of z cancel; the two roots besides 0 have inverse moduli.
    _, q0, q1, q2, _ = (x - y for x, y in zip(_expand(left), _expand(right), strict=True))
    root = mp.sqrt(q1 * q1 - 4 * q0 * q2)
    z = min((-q1 + root) / (2 * q2), (-q1 - root) / (2 * q2), key=abs)
    L = sum(mp.polylog(2, x * z) for x in left) - sum(mp.polylog(2, x * z) for x in right)
    opposite = sum(theta[j] * theta[j + 3] for j in range(3))
    volume = (opposite + mp.pi * sum(theta) - mp.re(L) - 3 * mp.pi**2) / 2 - mp.pi * mp.arg(z)
    # An orthant is at most half of the sphere.
    whole = 2 * mp.pi**2
    return (volume + whole / 4) % whole - whole / 4


def _expand(roots: Sequence) -> list:
    """Coefficients of prod_x (1 - x z) in powers of z."""
    c = [mp.one]
    for x in roots:
        c = [p - x * q for p, q in zip([*c, 0], [0, *c], strict=True)]
    return c


# Tetrahedra whose mirror images tile the sphere (Coxeter): pairs of walls at the angle π/m, the
# others at right angles, and the order of the group that the mirrors generate.
COXETER = {
    "A4": ({(0, 1): 3, (1, 2): 3, (2, 3): 3}, 120),
    "B4": ({(0, 1): 4, (1, 2): 3, (2, 3): 3}, 384),
    "D4": ({(0, 1): 3, (0, 2): 3, (0, 3): 3}, 192),
    "F4": ({(0, 1): 3, (1, 2): 4, (2, 3): 3}, 1152),
    "H4": ({(0, 1): 5, (1, 2): 3, (2, 3): 3}, 14400),
    "H3 x A1": ({(0, 1): 5, (1, 2): 3}, 240),
    "A3 x A1": ({(0, 1): 3, (1, 2): 3}, 48),
    "A2 x A2": ({(0, 1): 3, (2, 3): 3}, 36),
    "I2(7) x I2(9)": ({(0, 1): 7, (2, 3): 9}, 252),
    "A1 x A1 x A1 x A1": ({}, 16),
}


# ---------------------------------------------------------------- the averages


def slope_of(tag: Tag) -> Fraction | None:
    """The slope s of a piecewise-linear unit, or None for "erf"."""
    named = {"relu": Fraction(0), "linear": Fraction(1), "erf": None}
    return named[tag] if isinstance(tag, str) else fraction(tag)


def _value(tag: Tag, field: int) -> list:
    """g(z) as terms (coefficient, linear fields, signs, fields set to zero)."""
    s = slope_of(tag)
    if s is None:
        return [(Fraction(1), (), (field,), ())]
    return [((1 + s) / 2, (field,), (), ()), ((1 - s) / 2, (field,), (field,), ())]


def _derivative(tag: Tag, field: int) -> list:
    """g'(z) in the same form."""
    s = slope_of(tag)
    if s is None:
        return [(Fraction(2), (), (), (field,))]
    return [((1 + s) / 2, (), (), ()), ((1 - s) / 2, (), (field,), ())]


def _average(factors: list[list], C: Matrix, blurred: Sequence[int]):
    """Expand a product of sums of terms; the fields in `blurred` get a private unit noise."""
    C = tuple(
        tuple(x + (a == b and a in blurred) for b, x in enumerate(row)) for a, row in enumerate(C)
    )
    terms = [(Fraction(1), (), (), ())]
    for factor in factors:
        terms = [
            (x[0] * y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3]) for x in terms for y in factor
        ]
    return sum((_term(C, *term) for term in terms if term[0]), mp.zero)


def _term(C: Matrix, coefficient: Fraction, linear: tuple, signs: tuple, zeros: tuple):
    total = real(coefficient)
    for c in zeros:
        total /= mp.sqrt(2 * mp.pi * real(C[c][c]))
        C = given_zero(C, c)
    return total * sign_moment(C, linear, signs)


def _blurred(activations: Sequence[Tag], fields: Sequence[int]) -> list[int]:
    return [f for tag, f in zip(activations, fields, strict=True) if slope_of(tag) is None]


def i2(activations: Sequence[Tag], C):
    """<g(u) h(w)> for C in the order u, w."""
    g, h = activations
    with mp.workdps(WORKING_DIGITS):
        return _average([_value(g, 0), _value(h, 1)], covariance(C), _blurred(activations, (0, 1)))


def i3(activations: Sequence[Tag], C):
    """<g'(u) v h(w)> for C in the order u, v, w."""
    g, h = activations
    factors = [_derivative(g, 0), [(Fraction(1), (1,), (), ())], _value(h, 2)]
    with mp.workdps(WORKING_DIGITS):
        return _average(factors, covariance(C), _blurred(activations, (0, 2)))


def i4(activations: Sequence[Tag], C):
    """<g1'(u) g2'(v) h(w) k(z)> for C in the order u, v, w, z."""
    g1, g2, h, k = activations
    factors = [_derivative(g1, 0), _derivative(g2, 1), _value(h, 2), _value(k, 3)]
    with mp.workdps(WORKING_DIGITS):
        return _average(factors, covariance(C), _blurred(activations, range(4)))


def i4_relu(C):
    """<theta(u) theta(v) w theta(w) z theta(z)>."""
    return i4(("relu",) * 4, C)


def i4_derivative(activations: Sequence[Tag], C) -> list[list]:
    """The symmetric D with d I4 = sum_ab D_ab dC_ab, by central differences in exact numbers.

    With the step 2^-100 the error is about 1e-60 (the third derivative permitting: for
    1 - |rho| = e it grows like e^(-5/2)), far above the rounding of 100 digits.
    """
    C, h = covariance(C), Fraction(1, 2**100)

    def moved(a: int, b: int, step: Fraction) -> Matrix:
        return tuple(
            tuple(x + step * ((i, j) in {(a, b), (b, a)}) for j, x in enumerate(row))
            for i, row in enumerate(C)
        )

    D = [[mp.zero] * 4 for _ in C]
    with mp.workdps(WORKING_DIGITS):
        for a, b in [*combinations(range(4), 2), *((a, a) for a in range(4))]:
            change = i4(activations, moved(a, b, h)) - i4(activations, moved(a, b, -h))
            D[a][b] = D[b][a] = change / real(2 * h) / (1 if a == b else 2)
    return D


def erf_four_point(C):
    """I4 of four error functions: Λ0, Λ1, Λ2 and Λ4 of Saad and Solla (1995)."""
    c = mp.matrix(C)
    for a in range(4):
        c[a, a] += 1
    L4 = c[0, 0] * c[1, 1] - c[0, 1] ** 2

    def Lambda(a, b):
        crossed = c[0, 1] * (c[0, a] * c[1, b] + c[0, b] * c[1, a])
        return L4 * c[a, b] - c[1, a] * c[1, b] * c[0, 0] - c[0, a] * c[0, b] * c[1, 1] + crossed

    sine = Lambda(2, 3) / mp.sqrt(Lambda(2, 2) * Lambda(3, 3))
    return 4 / mp.pi**2 / mp.sqrt(L4) * mp.asin(sine)

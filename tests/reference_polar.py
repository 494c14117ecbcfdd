"""A second, independent route to I4 of piecewise-linear units: polar coordinates in a plane.

    i4_polar(("relu", 0.1, "relu", "linear"), C)      activations and C as in `reference.i4`

No Stein recursion, no orthant probability, no volume: the fields w and z span a plane; given its
polar coordinates (r, psi), the other two fields are noisy, the radial integral is elementary and
the angle is left to Gauss-Legendre panels, graded towards the known complex singularities of the
integrand. All ranks are covered exactly; where the noise vanishes, the integrand has jumps at
known angles. Averages with two signs only are elementary in the plane of these two fields.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product

from mpmath import mp
from reference import (
    Matrix,
    Tag,
    covariance,
    given_zero,
    plane_coordinates,
    real,
    reduced,
    sign,
    slope_of,
    two_signs,
)

DIGITS = 60
# A panel is accepted when every singularity lies outside its Bernstein ellipse of this radius, so
# that Gauss-Legendre errs by about ELLIPSE**(-2 NODES) = 1e-34.
ELLIPSE = 3
NODES = 36


def i4_polar(activations: Sequence[Tag], C):
    """<g1'(u) g2'(v) h(w) k(z)> for C in the order u, v, w, z, without the activation "erf".

    Expands g' = m + d sgn and g = x (m + d sgn x); an odd number of signs averages to zero.
    """
    C = covariance(C)
    with mp.workdps(DIGITS):
        slopes = [real(slope_of(tag)) for tag in activations]
        total = mp.zero
        for chosen in product((0, 1), repeat=4):
            c = mp.fprod((1 - s if on else 1 + s) / 2 for s, on in zip(slopes, chosen, strict=True))
            if c and sum(chosen) % 2 == 0:
                total += c * signed_product(C, tuple(i for i in range(4) if chosen[i]))
        return total


@cache
def signed_product(C: Matrix, signs: tuple[int, ...]):
    """<w z prod_{c in signs} sgn z_c>, with w, z the fields 2 and 3."""
    if any(C[c][c] == 0 for c in (2, 3, *signs)):
        return mp.zero
    factor, signs = reduced(C, signs)
    if len(signs) == 4:
        return factor * four_fold(C)
    return factor * (two_fold(C, *signs) if signs else real(C[2][3]))


# ---------------------------------------------------------------- two signs


def two_fold(C: Matrix, a: int, b: int):
    """<w z sgn z_a sgn z_b> in the plane of z_a, z_b, which are not proportional.

    The parts of w and z outside the plane contribute their covariance times <sgn sgn>; those
    inside, as complex numbers W and Z, with <r^2> = 2 the sectors' integrals of
    (W.n)(Z.n) = Re[W conj(Z) + conj(W Z) exp(2 i psi)] / 2.
    """
    fields = plane_coordinates(C, a, b)
    W, Z = mp.mpc(*fields[2]), mp.mpc(*fields[3])

    def integral(psi):
        return mp.re(W * mp.conj(Z)) * psi / 2 + mp.im(mp.conj(W * Z) * mp.expj(2 * psi)) / 4

    first, second = sorted(_line(fields[c]) for c in (a, b))
    n = mp.cos_sin((first + second) / 2)
    inside = sign(_dot(fields[a], n)) * sign(_dot(fields[b], n))
    middle, turn = integral(second), integral(first + mp.pi)
    outside_plane = real(given_zero(given_zero(C, a), b)[2][3])
    sectors = inside * (middle - integral(first) - (turn - middle))
    return outside_plane * two_signs(C, a, b) + 2 * sectors / mp.pi


def _dot(x: tuple, n: tuple):
    return x[0] * n[0] + x[1] * n[1]


def _line(x: tuple):
    """The angle in [0, pi) of the line on which the linear function x vanishes."""
    return (mp.atan2(x[1], x[0]) + mp.pi / 2) % mp.pi


# ---------------------------------------------------------------- four signs


def four_fold(C: Matrix):
    """<sgn u sgn v |w| |z|>, no two of the fields proportional, by a single integral.

    In the plane of w, z let w = r w(n), z = r z(n) for the direction n at angle psi. Given r and
    n, the fields i = u, v are r alpha_i(n) + noise of covariance S, and

        (1/2 pi) int_0^{2 pi} |w(n)| |z(n)| radial(n) dpsi,
        radial(n) = int_0^oo r^3 exp(-r^2/2) <sgn u sgn v | r n> dr.
    """
    u, v, w, z = plane_coordinates(C, 2, 3)
    radial, jumps, poles = _radial((u, v), given_zero(given_zero(C, 2), 3))

    def integrand(psi):
        n = mp.cos_sin(psi)
        return abs(_dot(w, n) * _dot(z, n)) * radial(n)

    edges = sorted(_line(x) for x in (w, z, *jumps))
    poles = [s + k * mp.pi for s in poles for k in (-1, 0, 1, 2)]
    half_turn = sum(
        _gauss_legendre(integrand, p, q)
        for start, end in zip(edges, [*edges[1:], edges[0] + mp.pi], strict=True)
        if start < end
        for p, q in _panels(start, end, poles)
    )
    return half_turn / mp.pi


def _radial(alpha: Sequence[tuple], S: Matrix) -> tuple[Callable, Sequence[tuple], list]:
    """The radial integral as a function of n, the linear functions at whose zeros it jumps, and
    its complex singularities; one case for each number of independent noises."""
    noisy = [i for i in (0, 1) if S[i][i]]
    if not noisy:
        return (lambda n: 2 * sign(_dot(alpha[0], n) * _dot(alpha[1], n))), alpha, []
    a = {i: tuple(x / mp.sqrt(real(S[i][i])) for x in alpha[i]) for i in noisy}
    poles = [s for i in noisy for s in _poles(a[i])]
    if len(noisy) == 1:
        return _one_noisy(a[noisy[0]], alpha[1 - noisy[0]]), [alpha[1 - noisy[0]]], poles
    radial, c, free = _both_noisy(a, S)
    return (radial, [], [*poles, *_poles(a[0], c[0])]) if free else (radial, c, poles)


def _one_noisy(a: tuple, sharp: tuple) -> Callable:
    """<sgn sgn> = sgn(sharp) erf(r a/sqrt 2): with p = 1 + a^2, the integral a (1/p + 2)/sqrt p."""

    def radial(n):
        slope = _dot(a, n)
        p = 1 + slope * slope
        return sign(_dot(sharp, n)) * slope * (1 / p + 2) / mp.sqrt(p)

    return radial


def _both_noisy(a: dict[int, tuple], S: Matrix) -> tuple[Callable, list[tuple], bool]:
    """Integration by parts gives 2 <sgn sgn | 0> + int (r^2 + 2) exp(-r^2/2) d<sgn sgn>/dr dr.

    kappa is the correlation of the noises. Field i crosses zero with the rate a_i and leaves for
    the other one erf(r c_i/sqrt 2), c_0 = (a_1 - kappa a_0)/sqrt(1 - kappa^2) and c_1 likewise.
    With p = 1 + a^2 and x = c/sqrt p

        int_0^oo (r^2 + 2) exp(-p r^2/2) erf(r c/sqrt 2) dr
            = sqrt(2/(pi p)) [(1/p + 2) atan x + x/(p (1 + x^2))].

    One common noise, kappa = +-1, is the limit x -> +-oo.
    """
    norm = mp.sqrt(real(S[0][0] * S[1][1]))
    kappa, free = real(S[0][1]) / norm, mp.sqrt(real(S[0][0] * S[1][1] - S[0][1] ** 2)) / norm
    c = [tuple((a[1 - i][k] - kappa * a[i][k]) / (free or 1) for k in (0, 1)) for i in (0, 1)]
    at_zero = 4 * mp.atan2(kappa, free) / mp.pi

    def crossing(slope, c):
        p = 1 + slope * slope
        root = mp.sqrt(p)
        x = c / root
        angle, tail = (mp.atan(x), x / (p * (1 + x * x))) if free else (sign(x) * mp.pi / 2, 0)
        return 2 / mp.pi * slope / root * ((1 / p + 2) * angle + tail)

    def radial(n):
        return at_zero + sum(crossing(_dot(a[i], n), _dot(c[i], n)) for i in (0, 1))

    return radial, c, bool(free)


# ---------------------------------------------------------------- the angular integral


def _poles(*functions: tuple) -> list:
    """Where 1 + sum of (linear function)^2 vanishes, up to conjugation: one angle or none."""
    A, B, D = (sum(f[j] * f[k] for f in functions) for j, k in ((0, 0), (0, 1), (1, 1)))
    # In t = tan psi: (1 + D) t^2 + 2 B t + (1 + A) = 0, with a negative discriminant.
    t = (-B + mp.sqrt(mp.mpc(B * B - (1 + A) * (1 + D)))) / (1 + D)
    # The tangent takes the value i nowhere: then the sum is the same in all directions.
    return [mp.atan(t)] if t != mp.j else []


def _panels(start, end, poles: Sequence) -> list[tuple]:
    middle, half = (start + end) / 2, (end - start) / 2
    for s in poles:
        t = (s - middle) / half
        root = mp.sqrt(t * t - 1)
        if max(abs(t + root), abs(t - root)) < ELLIPSE:
            return _panels(start, middle, poles) + _panels(middle, end, poles)
    return [(start, end)]


@cache
def _legendre(points: int) -> list[tuple]:
    """Nodes and weights on [-1, 1], by Newton's method on the three-term recurrence."""
    with mp.workdps(DIGITS + 10):
        rule = []
        for k in range(points):
            x = mp.cos(mp.pi * (k + mp.mpf(3) / 4) / (points + mp.mpf(1) / 2))
            # The start is good to two digits or more; six doublings reach 70 digits.
            for _ in range(7):
                before, now = mp.one, x
                for n in range(2, points + 1):
                    before, now = now, ((2 * n - 1) * x * now - (n - 1) * before) / n
                slope = points * (before - x * now) / (1 - x * x)
                x -= now / slope
            rule.append((x, 2 / ((1 - x * x) * slope * slope)))
        return rule


def _gauss_legendre(f: Callable, start, end):
    middle, half = (start + end) / 2, (end - start) / 2
    return half * sum(weight * f(middle + half * x) for x, weight in _legendre(NODES))

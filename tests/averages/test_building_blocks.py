"""Twofold numbers, angles, rows and tetrahedra: the parts of the exact average."""

import functools
from fractions import Fraction

import numpy as np
import pytest
import reference
from mpmath import mp

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.averages.orthant import sums, twofold
from tutelage.averages.orthant.angle import ARCSINE, ARCTANGENT, angle, arcsine, arctangent
from tutelage.averages.orthant.moments import _pair_angles
from tutelage.averages.orthant.rows import PAIRS, rows
from tutelage.averages.orthant.tetrahedron import tetrahedron

EPSILON = np.finfo(float).eps
TWOFOLD = 2.0**-76  # 79 bits, and a few operations


def entries(C):
    return {(i, j): jnp.asarray(C)[..., i, j] for i in range(4) for j in range(i, 4)}


volume_and_edges = jax.jit(lambda E: tetrahedron(E, _pair_angles(E)))


def exactly(x: twofold.Twofold) -> Fraction:
    return Fraction(float(x.hi)) + Fraction(float(x.lo))


@pytest.mark.parametrize("compiled", [False, True])
def test_twofold_arithmetic_has_79_bits(compiled):
    """Also when the compiler is free to fuse operations."""

    def operations(a, b, c, d):
        x, y = twofold.product(a, b), twofold.product(c, d)
        return x, twofold.add(x, y), twofold.multiply(x, y), twofold.divide(x, y)

    function = jax.jit(operations) if compiled else operations
    for a, b, c, d in jnp.asarray(np.random.default_rng(0).normal(size=(200, 4))):
        computed = function(a, b, c, d)
        A, B, C, D = (Fraction(float(x)) for x in (a, b, c, d))
        expected = A * B, A * B + C * D, A * B * C * D, A * B / (C * D)
        sizes = abs(A * B), abs(A * B) + abs(C * D), abs(A * B * C * D), abs(A * B / (C * D))
        for value, exact, size in zip(computed, expected, sizes, strict=True):
            assert abs(exactly(value) - exact) <= TWOFOLD * size


def test_minor_keeps_the_digits_that_cancel():
    """1.3 · 0.7 - 0.91 is 5.5e-17 with the float64 numbers closest to these."""
    a, b, d = (jnp.asarray(x) for x in (1.3, np.sqrt(0.91), 0.7))
    expected = Fraction(1.3) * Fraction(0.7) - Fraction(float(np.sqrt(0.91))) ** 2
    assert abs(Fraction(float(twofold.minor(a, b, b, d))) - expected) <= TWOFOLD


def test_twofold_numbers_have_the_derivatives_of_numbers():
    """The lost bits are constants: d(ad - bc)/da = d."""
    gradient = jax.grad(twofold.minor, argnums=(0, 1, 2, 3))(*jnp.asarray([1.25, 0.3, 0.7, 0.1]))
    assert np.allclose(gradient, (0.1, -0.7, -0.3, 1.25), rtol=4 * EPSILON, atol=0)


def test_angle_is_the_arctangent():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=2000), np.abs(rng.normal(size=2000)) * 10 ** rng.uniform(-16, 16, 2000)
    computed = angle(jnp.asarray(y), jnp.asarray(x))
    for value, a, b in zip(computed, y, x, strict=True):
        assert abs(mp.mpf(float(value)) - mp.atan2(a, b)) <= 3 * EPSILON


POLYNOMIALS = {  # (f(s)/s - 1)/s² as a function of s², and the largest s
    "asin": (ARCSINE, mp.asin, lambda: mp.mpf(1) / 2),
    "atan": (ARCTANGENT, mp.atan, lambda: mp.sqrt(2) - 1),
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_angles_interpolate_at_chebyshev_nodes(name):
    """Computed again with 60 digits; between the nodes the error is below a tenth of a unit."""
    coefficients, function, largest = POLYNOMIALS[name]
    count = len(coefficients)

    def exact(z):
        return (function(mp.sqrt(z)) / mp.sqrt(z) - 1) / z

    with mp.workdps(60):
        low, high = mp.mpf(10) ** -25, largest() ** 2
        nodes = [
            (high + low + (high - low) * mp.cos(mp.pi * (j + 0.5) / count)) / 2
            for j in range(count)
        ]
        powers = mp.matrix([[z**k for k in range(count)] for z in nodes])
        expected = mp.lu_solve(powers, mp.matrix([exact(z) for z in nodes]))
        errors = [
            z * abs(exact(z) - sum(c * z**k for k, c in enumerate(expected)))
            for z in (high * j / 101 for j in range(1, 101))
        ]
    assert coefficients == tuple(float(c) for c in expected)
    assert max(errors) <= 0.1 * EPSILON


def units_off(values, exact):
    """Errors in units of the last place."""
    pairs = zip(np.asarray(values), exact, strict=True)
    return max(abs(mp.mpf(float(x)) - y) / float(np.spacing(abs(float(y)))) for x, y in pairs)


@pytest.mark.parametrize("compiled", [False, True])
def test_arcsine_and_arctangent_are_right_to_two_units(compiled):
    """On both sides of the selects, close to ±1, and for numbers of every size."""
    rng, jit = np.random.default_rng(7), jax.jit if compiled else lambda f: f
    below, above = np.nextafter(0.5, 0), np.nextafter(0.5, 1)
    near = 1 - 10.0 ** rng.uniform(-16, 0, 300)
    tiny = 10.0 ** rng.uniform(-300, 0, 300)
    x = np.concatenate([rng.uniform(-1, 1, 1000), near, -tiny, [0.5, below, above]])
    y, positive = tiny * rng.choice([-1, 1], 300), np.abs(rng.normal(size=300)) * tiny[::-1]
    with mp.workdps(30):
        assert units_off(jit(arcsine)(jnp.asarray(x)), [mp.asin(a) for a in x]) <= 2
        exact = [mp.atan2(a, b) for a, b in zip(y, positive, strict=True)]
        assert units_off(jit(arctangent)(jnp.asarray(y), jnp.asarray(positive)), exact) <= 2


def test_arcsine_and_arctangent_at_their_ends():
    """Values and signs of zeros as NumPy has them; NaN beyond ±1."""
    ends = np.array([0.0, -0.0, 1.0, -1.0])
    assert str(np.asarray(arcsine(jnp.asarray(ends)))) == str(np.arcsin(ends))
    assert np.all(np.isnan(arcsine(jnp.asarray([np.nextafter(1.0, 2.0), np.inf, -np.inf, np.nan]))))
    y = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 2.0, 0.0, -0.0])
    x = np.array([1.0, 1.0, 0.0, 0.0, 3.0, 3.0, np.inf, 0.0, 0.0])
    assert str(np.asarray(arctangent(jnp.asarray(y), jnp.asarray(x)))) == str(np.arctan2(y, x))
    zero, two = jnp.asarray(0.0), jnp.asarray(2.0)
    assert jax.grad(arcsine)(zero) == 1 and jax.grad(arctangent)(zero, two) == 0.5


def test_angle_of_nothing_is_zero():
    assert angle(jnp.zeros(()), jnp.zeros(())) == 0


@pytest.mark.parametrize("gap", 10.0 ** -np.arange(1, 17))
def test_rows_see_angles_that_cosines_have_lost(gap):
    """Fields 0 and 3 differ by 1 - ρ = gap, and their rows by √(2 gap), to the last digit."""
    C = np.eye(4) + 0.3 * (np.ones((4, 4)) - np.eye(4))
    C[0, 3] = C[3, 0] = 1 - gap
    L, _ = rows(entries(C))
    L = np.array(L)
    assert np.allclose(np.sum(L * L, axis=1), 1, rtol=4 * EPSILON)
    distances = np.linalg.norm(L[:, None] - L[None], axis=-1)
    smallest = np.min(distances[~np.eye(4, dtype=bool)])
    expected = np.sqrt(2 * float(1 - Fraction(C[0, 3])))
    # The private coordinates of 1e-11 add their squares.
    assert abs(smallest - expected) <= 4 * EPSILON + 1e-22 / expected


@pytest.mark.parametrize("name", reference.COXETER)
def test_volume_is_one_part_of_the_tiled_sphere(name):
    mirrors, order = reference.COXETER[name]
    C = np.eye(4)
    for (i, j), m in mirrors.items():
        C[i, j] = C[j, i] = -np.cos(np.pi / m)
    for shift in range(4):  # every field takes every place
        E = entries(np.roll(C, (shift, shift), axis=(0, 1)))
        # A handful of terms of order one, each rounded.
        assert abs(volume_and_edges(E).volume - 1 / order) <= 8 * EPSILON


def test_volumes_of_all_sixteen_orthants_fill_the_sphere():
    A = np.random.default_rng(2).normal(size=(50, 4, 4))
    C = A @ np.swapaxes(A, -1, -2)
    signs = 1 - 2 * np.array(list(np.ndindex(2, 2, 2, 2)))
    E = entries(C * (signs[:, None, :, None] * signs[:, None, None, :]))
    total = np.sum(volume_and_edges(E).volume, axis=0)
    assert np.all(np.abs(total - 1) <= 64 * EPSILON)


def test_volume_changes_with_an_angle_by_the_edge():
    """Schläfli: dP_4 = -ℓ_cd dθ_cd/4π², with ρ = cos θ; error of a central difference h²."""
    A, h = np.random.default_rng(3).normal(size=(4, 4)), 1e-5
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    C = A @ A.T
    E = entries(C)
    edges = volume_and_edges(E).edges
    for pair in PAIRS:
        volumes = []
        for sign in (1, -1):
            turned = E | {pair: jnp.cos(jnp.arccos(E[pair]) + sign * h)}
            volumes.append(volume_and_edges(turned).volume)
        slope = (volumes[0] - volumes[1]) / (2 * h)
        assert abs(slope + edges[pair] / (4 * np.pi**2)) <= 1e-9


def fields_of(kind):
    """Six fields with a covariance that is regular, has a silent field, or has a rank of 3."""
    W = np.random.default_rng(31).normal(size=(6, 3 if kind == "rank 3" else 8))
    if kind == "coinciding":
        W[3] = W[1]
    if kind == "silent":
        W[2] = 0
    return jnp.asarray(W @ W.T)


@functools.cache
def products():
    """Every product of two slopes and two values of ReLUs: the shared moments, and each moment
    separately.
    """
    relu = tl.ReLU().closed_form
    four = [
        sums.multiplied(
            *(sums.slope(relu, f) for f in fields[:2]), *(sums.value(relu, f) for f in fields[2:])
        )
        for fields in (
            (0, 1, 2, 3),
            (0, 2, 1, 3),
            (4, 5, 1, 3),
            (0, 1, 4, 4),
            (5, 5, 2, 2),
            (0, 1, 0, 1),
        )
    ]
    two = sums.multiplied(sums.slope(relu, 0), sums.slope(relu, 3))
    moments = sums.Sums([*four, two]).moments

    return moments, jax.jit(lambda C: (sums._values(C, moments), sums.one_by_one(C, moments)))


@pytest.mark.parametrize("kind", ["regular", "coinciding", "silent", "rank 3"])
def test_moments_with_shared_parts_are_those_computed_one_by_one(kind):
    """On regular and singular covariances."""
    moments, pair = products()
    assert {group[0] for group in moments.groups} >= {"02", "20", "22", "24"}
    C = fields_of(kind)
    result, one_by_one = pair(C)
    # Singular covariances: both have the private coordinate, 1e-11.
    rounding = 1e-13 if kind in ("regular", "silent") else 1e-10
    assert np.all(np.abs(result - one_by_one) <= rounding * np.max(np.diag(C)))

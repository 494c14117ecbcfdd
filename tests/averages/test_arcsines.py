"""asin ρ of pairs of fields, as a quotient of short polynomials."""

import numpy as np
import pytest
from mpmath import mp

from tutelage._jax import jax, jnp
from tutelage.averages.arcsines import DENOMINATOR, NUMERATOR, arcsines

EPSILON = np.finfo(float).eps
TWOFOLD = 2.0**-76  # of the determinant, relative to the product of the variances


def atan_quotient(z):
    return mp.atan(mp.sqrt(z)) / mp.sqrt(z)


def test_the_quotient_interpolates_at_chebyshev_nodes():
    """Computed again with 60 digits; between the nodes the error is below a tenth of a unit."""
    degree = len(NUMERATOR) - 1
    with mp.workdps(60):
        largest = (mp.sqrt(2) - 1) ** 2
        nodes = [
            largest * (1 + mp.cos(mp.pi * (j + mp.mpf(1) / 2) / (2 * degree))) / 2
            for j in range(2 * degree)
        ]
        powers = [[z**k for k in range(1, degree + 1)] for z in nodes]
        exact = [atan_quotient(z) for z in nodes]
        rows = [
            [*row, *(-f * power for power in row)] for row, f in zip(powers, exact, strict=True)
        ]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([f - 1 for f in exact]))
        expected = [float(x) for x in solution]

        def quotient(z):
            above, below = (
                sum(c * z**k for k, c in enumerate(polynomial))
                for polynomial in (NUMERATOR, DENOMINATOR)
            )
            return above / below

        between = [largest * j / 301 for j in range(1, 301)]
        errors = [abs(quotient(z) / atan_quotient(z) - 1) for z in between]
    assert list(NUMERATOR[1:]) == expected[:degree]
    assert list(DENOMINATOR[1:]) == expected[degree:]
    assert NUMERATOR[0] == DENOMINATOR[0] == 1
    assert max(errors) <= 0.1 * EPSILON


def pairs_of_fields(rng, count):
    """Variances and covariances from orthogonal to parallel, of norms of many sizes."""
    scale = 10.0 ** rng.uniform(-6, 6, (count, 2))
    gap = 10.0 ** rng.uniform(-17, 0, count)
    rho = np.where(rng.random(count) < 0.5, 1 - gap, gap) * rng.choice([-1, 1], count)
    C = np.zeros((count, 2, 2))
    C[:, 0, 0], C[:, 1, 1] = scale.T
    C[:, 0, 1] = C[:, 1, 0] = rho * np.sqrt(scale[:, 0] * scale[:, 1])
    return C


@pytest.mark.parametrize("compiled", [False, True])
def test_angles_and_areas_of_pairs_are_right_to_the_last_digits(compiled):
    """Against mpmath, with the numbers of the matrix as they are: also where they nearly cancel."""
    C = pairs_of_fields(np.random.default_rng(3), 400)
    function = jax.jit(arcsines, static_argnums=1) if compiled else arcsines
    pairs = function(jnp.asarray(C), 2)
    quotient, area = np.asarray(pairs.arcsine), np.asarray(pairs.area)
    with mp.workdps(50):
        for k, ((p, c), (_, q)) in enumerate(C):
            p, c, q = map(mp.mpf, (float(p), float(c), float(q)))
            exact = mp.sqrt(max(p * q - c * c, 0))
            for i, a in ((0, 1), (1, 0)):
                assert abs(quotient[k, i, a] - mp.atan2(c, exact)) <= 2 * EPSILON
                lost = TWOFOLD * p * q / max(exact, mp.mpf(10) ** -200)
                assert abs(area[k, i, a] - exact) <= 5 * EPSILON * exact + lost
    assert np.array_equal(quotient[:, 0, 0], np.full(len(C), np.pi / 2))
    assert np.all(area[:, 0, 0] == 0)


def test_orthogonal_parallel_and_constant_fields_are_exact():
    """Such fields stay so in a run: asin ρ is 0 or ±π/2, and the area of parallel fields 0."""
    fields = np.array([[3.0, 0], [0, 0.7], [6.0, 0], [-1.5, 0], [0, 0]])
    pairs = arcsines(jnp.asarray(fields @ fields.T), len(fields))
    half = np.pi / 2
    expected = [
        [half, 0, half, -half, 0],
        [0, half, 0, 0, 0],
        [half, 0, half, -half, 0],
        [-half, 0, -half, half, 0],
        [0, 0, 0, 0, 0],
    ]
    assert np.array_equal(np.asarray(pairs.arcsine), expected)
    parallel = np.abs(expected) > 1
    assert np.all(np.asarray(pairs.area)[parallel] == 0)
    assert np.all(np.asarray(pairs.rows)[:, 0] == [9.0, 0.7**2, 36.0, 2.25, 1.0])

"""The table of problems and its references are themselves tested here.

Two routes to every exact value of piecewise-linear units, closed forms from the literature for
I2, I3 and for erf, four-dimensional quadrature for mixed units, sampling, and identities.
"""

from itertools import combinations, product

import numpy as np
import pytest
import reference
import reference_polar
from mpmath import mp
from problems import ACTIVATED, COMMITTEES, VALUES, Problem, exact, problems, random_covariance

# The second route integrates to about 1e-34 in units of the natural scale.
DIGITS_25 = mp.mpf(10) ** -25


def named(*selected: Problem, fast: int = 1):
    """One test for each problem; if ``fast`` is n, only every n-th belongs to the fast ones."""
    cases = [
        pytest.param(p, marks=[pytest.mark.slow] * bool(k % fast)) for k, p in enumerate(selected)
    ]
    return pytest.mark.parametrize("problem", cases, ids=str)


def mpf_entries(C: reference.Matrix) -> list[list]:
    with mp.workdps(60):
        return [[reference.real(x) for x in row] for row in C]


# ---------------------------------------------------------------- the table


def test_names_are_unique():
    names = [p.name for p in problems()]
    assert len(names) == len(set(names))


def test_covariances_are_float64_symmetric_and_cannot_be_changed():
    for p in problems():
        assert p.covariance.dtype == np.float64
        assert (p.covariance == p.covariance.T).all()
        assert not p.covariance.flags.writeable


def test_float64_covariances_are_exact_unless_rounded():
    for p in problems():
        as_stored = tuple(tuple(map(reference.fraction, row)) for row in p.covariance)
        assert (as_stored == p.exact_covariance) == ("rounded" not in p.tags)


def test_well_conditioned_problems_reach_up_to_a_condition_number_of_ten_thousand():
    conditions = [p.condition for p in problems("i4", {"random", "relu"})]
    assert max(conditions) <= 1e4
    assert max(conditions) > 1e3
    variances = np.concatenate([np.diag(p.covariance) for p in problems("i4", {"random", "relu"})])
    assert variances.min() < 1e-3
    assert variances.max() > 1e2


def test_every_decade_of_near_proportionality_is_present():
    for (p, q), s, k in product(((0, 1), (0, 2), (2, 3)), (1, -1), range(1, 17)):
        pair = ",".join("uvwz"[c] for c in (p, q))
        rho = s * (1 - 10.0**-k)
        assert any(x.covariance[p, q] == rho for x in problems("i4", {"near singular", pair}))


@pytest.mark.parametrize(
    "tags",
    [
        *({f"rank {r}", g} for r in (1, 2, 3) for g in ("identical fields", "opposite fields")),
        *({f"rank {r}", "proportional"} for r in (1, 2, 3)),
        *({f"rank {r}", "dependent"} for r in (2, 3)),
        *({f"rank {r}", "zero field"} for r in (0, 1, 2, 3)),
        *({"committee", x} for x in ("repeated", "full rank", "near singular")),
        *({x, "full rank"} for x in ("erf", "mixed", "leaky", "linear")),
        {"student = teacher"},
        {"rounded"},
    ],
    ids=lambda tags: ", ".join(sorted(tags)),
)
def test_there_are_problems_with(tags):
    assert problems("i4", tags)


def test_geometric_tags_agree_with_linear_algebra_in_floating_point():
    for p in problems(without="near singular"):
        if "near" in p.name:
            continue
        assert f"rank {np.linalg.matrix_rank(p.covariance, tol=1e-12)}" in p.tags
        assert ("zero field" in p.tags) == bool((np.diag(p.covariance) == 0).any())


def test_indefinite_covariances_are_refused():
    with pytest.raises(ValueError, match="positive semi-definite"):
        reference.i2(("relu", "relu"), [[1.0, 1.0], [1.0, np.nextafter(1.0, 0.0)]])
    with pytest.raises(ValueError, match="symmetric"):
        reference.i2(("relu", "relu"), [[1.0, 0.5], [0.25, 1.0]])


# ---------------------------------------------------------------- two routes to I4


@named(*problems("i4", "piecewise linear"), fast=12)
def test_both_routes_agree_to_25_digits(problem):
    second = reference_polar.i4_polar(problem.activations, problem.exact_covariance)
    assert abs(exact(problem) - second) <= DIGITS_25 * problem.scale


@named(*problems("i4", {"random", "relu"})[::8])
def test_any_order_of_the_walls_gives_the_same_volume(problem):
    """The tetrahedron's formula distinguishes a vertex; the tetrahedron does not."""
    with mp.workdps(reference.WORKING_DIGITS):
        C = problem.exact_covariance
        orders = ((0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0))
        a, b, c = (
            reference.four_signs(tuple(tuple(C[i][j] for j in o) for i in o)) for o in orders
        )
        assert max(abs(a - b), abs(a - c)) < mp.mpf(10) ** -60


def equicorrelated(rho):
    return [[reference.fraction(1) if a == b else rho for b in range(4)] for a in range(4)]


def test_orthants_known_in_closed_form():
    """Four fields of correlation 1/2 are differences x_i - x_0: positive with probability 1/5."""
    half = reference.covariance(equicorrelated(reference.fraction(1) / 2))
    with mp.workdps(50):
        assert abs(orthant(half) - mp.mpf(1) / 5) < mp.mpf(10) ** -45


@pytest.mark.parametrize("name", reference.COXETER)
def test_images_of_a_coxeter_tetrahedron_tile_the_sphere(name):
    """Its volume is 2 pi^2 / (order of the group); walls not joined in the diagram are at 90."""
    diagram, order = reference.COXETER[name]
    with mp.workdps(60):
        pairs = combinations(range(4), 2)
        volume = reference.tetrahedron({ab: mp.pi / diagram.get(ab, 2) for ab in pairs})
        assert abs(volume - 2 * mp.pi**2 / order) < mp.mpf(10) ** -55


@named(*problems("i4", {"random", "relu"})[8::4], fast=2)
def test_volume_obeys_plackett(problem):
    """dP_4/dC_ab = density of z_a = z_b = 0 times Prob(z_c, z_d > 0 | z_a = z_b = 0)."""
    C, h = problem.exact_covariance, reference.fraction(2.0**-100)
    with mp.workdps(reference.WORKING_DIGITS):
        for a, b in combinations(range(4), 2):
            c, d = (x for x in range(4) if x not in (a, b))
            change = orthant(moved(C, a, b, h)) - orthant(moved(C, a, b, -h))
            density = 1 / (2 * mp.pi * mp.sqrt(reference.real(C[a][a] * C[b][b] - C[a][b] ** 2)))
            given = reference.given_zero(reference.given_zero(C, a), b)
            expected = density * (1 + reference.two_signs(given, c, d)) / 4
            assert abs(change / reference.real(2 * h) - expected) < DIGITS_25 * density


def orthant(C: reference.Matrix):
    """Prob(all four positive)."""
    pairs = sum(reference.two_signs(C, a, b) for a, b in combinations(range(4), 2))
    return (1 + pairs + reference.four_signs(C)) / 16


def moved(C: reference.Matrix, a: int, b: int, step) -> reference.Matrix:
    pair = {(a, b), (b, a)}
    return tuple(
        tuple(x + step * ((i, j) in pair) for j, x in enumerate(row)) for i, row in enumerate(C)
    )


def test_independent_and_identical_fields():
    with mp.workdps(40):
        assert abs(reference.i4_relu(np.eye(4)) - 1 / (8 * mp.pi)) < mp.mpf(10) ** -35
    assert reference.i4_relu(np.ones((4, 4))) == 0.5
    assert reference.i4_relu(-np.ones((4, 4)) + 2 * np.kron(np.eye(2), np.ones((2, 2)))) == 0


@pytest.mark.parametrize(
    "pair", ["u,w", *(pytest.param(x, marks=pytest.mark.slow) for x in ("u,v", "w,z"))]
)
def test_singular_values_are_limits_of_nearly_singular_ones(pair):
    """I4 moves by no more than the angle between the two fields, sqrt(2 (1 - |rho|))."""
    family = {p.name.split(" for ")[0]: exact(p) for p in problems("i4", {"near singular", pair})}
    for word, k in product(("1 - rho", "1 + rho"), range(1, 16)):
        here, next_one = (family[f"i4[relu, relu, relu, relu] {word} = 1e-{n}"] for n in (k, k + 1))
        assert abs(here - next_one) <= mp.sqrt(2 * mp.mpf(10) ** -k)


# ---------------------------------------------------------------- closed forms


def arc_cosine(A, B, c):
    """<x_+ y_+> for variances A, B and covariance c (Cho and Saul 2009, order 1)."""
    root = mp.sqrt(A * B - c * c)
    return (root + c * (mp.pi / 2 + mp.atan2(c, root))) / (2 * mp.pi)


@named(*problems("i2", "relu", without="zero field"))
def test_i2_of_relu_is_the_arc_cosine_kernel(problem):
    with mp.workdps(60):
        (A, c), (_, B) = mpf_entries(problem.exact_covariance)
        assert abs(exact(problem) - arc_cosine(A, B, c)) < mp.mpf(10) ** -50


@named(*problems("i3", "relu", without="zero field"))
def test_i3_of_relu_is_equation_6_of_straat2019(problem):
    with mp.workdps(60):
        (uu, uv, uw), (_, _, vw), (_, _, ww) = mpf_entries(problem.exact_covariance)
        root = mp.sqrt(uu * ww - uw * uw)
        value = uv * root / (2 * mp.pi * uu) + vw / 4 + vw * mp.atan2(uw, root) / (2 * mp.pi)
        assert abs(exact(problem) - value) < mp.mpf(10) ** -50


@named(*problems(tags="erf"))
def test_erf_has_the_closed_forms_of_saad_and_solla(problem):
    """Saad and Solla, Phys. Rev. E 52 (1995) 4225, appendix."""
    with mp.workdps(60):
        C = mpf_entries(problem.exact_covariance)
        value = {"i2": erf_i2, "i3": erf_i3, "i4": erf_i4}[problem.kind](C)
        assert abs(exact(problem) - value) < mp.mpf(10) ** -50


def erf_i2(C):
    return 2 / mp.pi * mp.asin(C[0][1] / mp.sqrt((1 + C[0][0]) * (1 + C[1][1])))


def erf_i3(C):
    (uu, uv, uw), (_, _, vw), (_, _, ww) = C
    L3 = (1 + uu) * (1 + ww) - uw**2
    return 2 / mp.pi * (vw * (1 + uu) - uv * uw) / ((1 + uu) * mp.sqrt(L3))


def erf_i4(C):
    (uu, uv, uw, uz), (_, vv, vw, vz), (_, _, ww, wz), (_, _, _, zz) = C
    L4 = (1 + uu) * (1 + vv) - uv**2
    L0 = L4 * wz - vw * vz * (1 + uu) - uw * uz * (1 + vv) + uv * uw * vz + uv * uz * vw
    L1 = L4 * (1 + ww) - vw**2 * (1 + uu) - uw**2 * (1 + vv) + 2 * uv * uw * vw
    L2 = L4 * (1 + zz) - vz**2 * (1 + uu) - uz**2 * (1 + vv) + 2 * uv * uz * vz
    return 4 / mp.pi**2 / mp.sqrt(L4) * mp.asin(L0 / mp.sqrt(L1 * L2))


@named(*(p for p in problems("i2") if p.activations in {("relu", "erf"), ("linear", "erf")}))
def test_erf_sees_only_the_odd_part_of_the_other_unit(problem):
    """<x erf(y/sqrt 2)> = C_xy <2 phi(y)>, and the odd part of the ReLU is x/2."""
    with mp.workdps(60):
        (_, c), (_, B) = mpf_entries(problem.exact_covariance)
        odd = 1 if problem.activations[0] == "linear" else mp.mpf(1) / 2
        value = odd * c * mp.sqrt(2 / mp.pi / (1 + B))
        assert abs(exact(problem) - value) < mp.mpf(10) ** -50


# ---------------------------------------------------------------- brute force


def erf(x):
    """erf(x/sqrt 2) at a few points."""
    return np.vectorize(lambda t: float(mp.erf(t / mp.sqrt(2))))(x)


def value(tag, x, error_function):
    if tag == "erf":
        return error_function(x)
    s = float(reference.slope_of(tag))
    return s * x + (1 - s) * np.maximum(x, 0)


def derivative(tag, x):
    if tag == "erf":
        return np.sqrt(2 / np.pi) * np.exp(-x * x / 2)
    s = float(reference.slope_of(tag))
    return (1 + s) / 2 + (1 - s) / 2 * np.sign(x)


def factors(problem: Problem, X, error_function) -> list[np.ndarray]:
    """g', x or g of each field, whichever stands in the average."""
    tags = dict(zip(ACTIVATED[problem.kind], problem.activations, strict=True))
    return [
        value(tags.get(a, "linear"), x, error_function)
        if a in VALUES[problem.kind]
        else derivative(tags[a], x)
        for a, x in enumerate(X)
    ]


def tensor_quadrature(problem: Problem, points: int) -> float:
    """Gauss-Legendre on both sides of the kinks, against the density, out to 9 deviations."""
    t, weight = np.polynomial.legendre.leggauss(points)
    t, weight = np.concatenate([t - 1, t + 1]) / 2, np.concatenate([weight, weight]) / 2
    deviation = np.sqrt(np.diag(problem.covariance))
    X = [9 * s * t for s in deviation]
    F = [f * 9 * s * weight for f, s in zip(factors(problem, X, erf), deviation, strict=True)]
    P = np.linalg.inv(problem.covariance)
    n = len(X)
    # exp(-x P x / 2) is a product over single fields and pairs of fields.
    pair = {(a, b): np.exp(-P[a, b] * np.outer(X[a], X[b])) for a, b in combinations(range(n), 2)}
    own = [f * np.exp(-P[a, a] * x * x / 2) for a, (f, x) in enumerate(zip(F, X, strict=True))]
    letters = "abcd"[:n]
    terms = [letters[a] + letters[b] for a, b in pair] + list(letters)
    total = np.einsum(",".join(terms) + "->", *pair.values(), *own, optimize=True)
    return float(total * np.sqrt(np.linalg.det(P) / (2 * np.pi) ** n))


SMOOTH_ENOUGH = [p for p in problems(tags="random") if p.condition < 15]


@named(*SMOOTH_ENOUGH, fast=4)
def test_tensor_quadrature_agrees_for_all_units(problem):
    """Thirty points a side resolve densities of this condition number to rounding errors."""
    assert abs(tensor_quadrature(problem, 30) - float(exact(problem))) < 1e-13 * problem.scale


SAMPLED = [
    *problems("i4", {"random", "relu"})[::5],
    # Almost opposite fields are positive together too rarely for a sample of a million.
    *[p for p in problems("i4", "near singular") if "1 + rho" not in p.name][::5],
    *problems("i4", "dependent")[::4],
    *problems("i4", "zero field")[::3],
    *problems("i4", "committee")[::6],
    *problems("i4", "rounded"),
    *problems("i4", {"mixed", "rank 3"})[::5],
    *problems("i3", "mixed")[::9],
]


@pytest.fixture(scope="module")
def normal_numbers():
    return np.random.default_rng(1).normal(size=(4, 1_000_000))


@named(*SAMPLED, fast=6)
def test_sampling_agrees_within_five_standard_errors(problem, normal_numbers):
    eigenvalues, axes = np.linalg.eigh(problem.covariance)
    factor = axes * np.sqrt(np.maximum(eigenvalues, 0))
    X = factor @ normal_numbers[: len(factor)]
    noise = np.random.default_rng(2)

    def blurred_sign(x):
        """Has the mean erf(x/sqrt 2), and is cheap for a million numbers."""
        return np.sign(x + noise.normal(size=x.shape))

    sample = np.prod(factors(problem, X, blurred_sign), axis=0)
    error = 5 * sample.std() / np.sqrt(sample.size) + 1e-15 * problem.scale
    assert abs(sample.mean() - float(exact(problem))) <= error


# ---------------------------------------------------------------- derivatives


DIFFERENTIATED = [
    *problems("i4", {"random", "relu"})[8::10],
    *problems("i4", {"random", "mixed"})[::5],
]


@named(*(p for p in DIFFERENTIATED if "piecewise linear" in p.tags), fast=3)
def test_derivative_obeys_euler_in_the_norm_of_each_field(problem):
    """I4 does not change with the norms of u and v and is linear in those of w and z."""
    D = reference.i4_derivative(problem.activations, problem.covariance)
    C = mpf_entries(problem.exact_covariance)
    for a, degree in enumerate((0, 0, 1, 1)):
        with mp.workdps(60):
            change = 2 * mp.fdot(D[a], C[a])
            assert abs(change - degree * exact(problem)) < DIGITS_25 * problem.scale


@named(*problems("i4", {"random", "relu"})[9::10], fast=4)
def test_derivative_obeys_price(problem):
    """d I4 / d C_uv = <delta(u) delta(v) w_+ z_+> and d I4 / d C_wz = Prob(all positive)."""
    D = reference.i4_derivative(problem.activations, problem.covariance)
    C = problem.exact_covariance
    with mp.workdps(60):
        given = mpf_entries(reference.given_zero(reference.given_zero(C, 0), 1))
        density = 1 / (2 * mp.pi * mp.sqrt(reference.real(C[0][0] * C[1][1] - C[0][1] ** 2)))
        kernel = arc_cosine(given[2][2], given[3][3], given[2][3])
        assert abs(2 * D[0][1] - density * kernel) < DIGITS_25 * abs(D[0][1])
        assert abs(2 * D[2][3] - orthant(C)) < DIGITS_25


def test_site_symmetric_overlaps_are_invariant_under_permutations_of_the_units():
    for C in COMMITTEES.values():
        K = len(C) // 2
        swap = [1, 0, *range(2, K)]
        order = [*swap, *(K + c for c in swap)]
        assert (C[np.ix_(order, order)] == C).all()


def test_random_covariances_have_the_condition_number_asked_for():
    C = random_covariance(np.random.default_rng(0), 4, 100.0)
    # The extreme eigenvalue 1/100 carries a rounding error of a few 1e-16.
    assert abs(np.linalg.cond(C) - 100) < 1e-10

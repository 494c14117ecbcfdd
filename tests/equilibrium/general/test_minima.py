"""Minima over all overlaps: derivatives, the states of the paper, and other states."""

import itertools
import math

import equinox as eqx
import numpy as np
import pytest
from scipy.optimize import root

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.equilibrium.general import descent, minima as search
from tutelage.equilibrium.general.landscape import FreeEnergyLandscape
from tutelage.equilibrium.general.minima import minima
from tutelage.equilibrium.general.starts import starts as starting_points


def scenario(K, M, student, teacher=None, T=None):
    """Outputs scaled by 1/√K, as in oostwal2019."""
    return tl.Scenario(
        tl.Committee(K, student), tl.Committee(M, teacher or student), T, output_scale=K**-0.5
    )


# κ'(ρ) at unit norms, oostwal2019 eqs. (26) and (27), for a second route through numpy alone.
SLOPES = {
    "relu": lambda r: 0.25 + np.arcsin(r) / (2 * np.pi),
    "erf": lambda r: 2 / np.pi / np.sqrt(4 - r * r),
}
KERNELS = {
    "relu": lambda r: r / 4 + (np.sqrt(1 - r * r) + r * np.arcsin(r)) / (2 * np.pi),
    "erf": lambda r: 2 / np.pi * np.arcsin(r / 2),
}
ACTIVATIONS = {"relu": tl.ReLU(), "erf": tl.Erf()}


def site_symmetric(name, K, load, guess):
    """R, S, C, βf and ε_g from the three equations of stationarity in (R, S, C)."""
    slope, kappa = SLOPES[name], KERNELS[name]

    def AB(x):
        R, S, C = x
        return 1 + (K - 1) * C - (R + (K - 1) * S) ** 2, 1 - C - (R - S) ** 2

    def equations(x):
        R, S, C = x
        (A, B), U, V = AB(x), R + (K - 1) * S, R - S
        return [
            load * K * slope(R) - U / A - (K - 1) * V / B,
            load * K * slope(S) - U / A + V / B,
            load * K * slope(C) - 1 / A + 1 / B,
        ]

    solution = root(equations, guess, tol=1e-14)
    R, S, C = solution.x
    A, B = AB(solution.x)
    assert np.max(np.abs(equations(solution.x))) < 1e-9 * load
    error = kappa(1) - kappa(R) + (K - 1) * (kappa(0) / 2 + kappa(C) / 2 - kappa(S))
    return R, S, C, load * K * error - 0.5 * math.log(A) - 0.5 * (K - 1) * math.log(B), error


def matrices(K, R, S, C):
    eye = np.eye(K)
    return C + (1 - C) * eye, S + (R - S) * eye


UNEQUAL = [[1.0, 0.3], [0.3, 2.0]]
LANDSCAPES = [
    scenario(3, 2, tl.ReLU(), T=UNEQUAL),
    scenario(2, 2, tl.Erf(1.0), tl.LeakyReLU(0.2), T=UNEQUAL),
    scenario(2, 3, tl.LeakyReLU(0.1), tl.Erf(0.5), T=np.ones((3, 3)) + np.diag([0.0, 0.0, 1.0])),
    scenario(2, 1, tl.Swish(1.0), tl.ReLU()),
]


@pytest.mark.parametrize(
    "case",
    [
        LANDSCAPES[0],
        pytest.param(LANDSCAPES[1], marks=pytest.mark.slow),
        *(pytest.param(case, marks=pytest.mark.slow) for case in LANDSCAPES[2:4]),
    ],
    ids=["graded", "mixed", "singular", "swish"],
)
def test_error_and_entropy_are_those_of_the_covariance(case):
    """ε_g by `generalization_error`; s = ½ ln det C - ½ ln det T wherever T is not singular."""
    landscape = FreeEnergyLandscape(case)
    z = jnp.asarray(np.random.default_rng(1).normal(size=landscape.size))

    @jax.jit
    def found(z):
        Q, R = landscape.overlaps(z)
        error = landscape.error(landscape.error.pairs(Q, R))
        return Q, R, error, landscape.coordinates(landscape.vectors(z)), landscape.entropy(z)

    Q, R, error, second, entropy = map(np.asarray, found(z))
    state = tl.Overlaps(Q, R, case.T)
    exact = tl.generalization_error(case, state)
    # Swish is a polynomial through values of a quadrature: 1e-14 for each of a few pairs.
    np.testing.assert_allclose(error, exact, atol=2e-13)
    np.testing.assert_allclose(np.diag(Q), 1.0, atol=0)
    np.testing.assert_allclose(second, z, rtol=1e-13)
    if landscape.rank == case.M:
        half = [0.5 * np.linalg.slogdet(np.asarray(x))[1] for x in (state.covariance, case.T)]
        np.testing.assert_allclose(entropy, half[0] - half[1], rtol=1e-12)


@pytest.mark.parametrize(
    "case",
    [LANDSCAPES[2], pytest.param(LANDSCAPES[0], marks=pytest.mark.slow)],
    ids=["singular", "graded"],
)
def test_derivatives_are_those_of_the_free_energy(case):
    """Central differences with h = 1e-5: errors h² and ε/h, both near 1e-10 of terms of size 10."""
    landscape, load, h = FreeEnergyLandscape(case), 4.0, 1e-5
    z = np.random.default_rng(2).normal(size=landscape.size)
    value = jax.jit(jax.vmap(lambda z: landscape.free_energy(z, load)))
    every = jax.jit(jax.vmap(lambda z: landscape.derivatives(z, load)))
    steps = h * np.eye(landscape.size)
    there, gradient, H = (np.asarray(x[0]) for x in every(jnp.asarray(z[None])))
    np.testing.assert_allclose(there, value(z[None])[0], rtol=1e-14)
    differences = (value(z + steps) - value(z - steps)) / (2 * h)
    np.testing.assert_allclose(gradient, differences, atol=1e-8)
    differences = (every(z + steps)[1] - every(z - steps)[1]) / (2 * h)
    np.testing.assert_allclose(H, differences, atol=1e-8)


def test_hessian_in_the_overlaps_is_the_second_derivative_in_the_overlaps():
    """By automatic differentiation of αKε_g - ½ ln det(Q - A Aᵀ), written out here."""
    case = scenario(3, 2, tl.Erf(), T=UNEQUAL)
    landscape, load, (i, k) = FreeEnergyLandscape(case), 5.0, np.triu_indices(3, 1)
    z = jnp.asarray(np.random.default_rng(3).normal(size=landscape.size))

    def free_energy(x):
        A, q = x[:6].reshape(3, 2), x[6:]
        Q = jnp.eye(3).at[i, k].set(q).at[k, i].set(q)
        error = landscape.error(landscape.error.pairs(Q, A @ landscape.basis.T))
        return load * 3 * error - 0.5 * jnp.linalg.slogdet(Q - A @ A.T)[1]

    V = np.asarray(landscape.vectors(z))
    x = np.concatenate([V[:, :2].ravel(), (V @ V.T)[i, k]])
    exact = jax.jit(jax.hessian(free_energy))(x)
    result = eqx.filter_jit(landscape.hessian)(z, load)
    np.testing.assert_allclose(result, exact, rtol=1e-10, atol=1e-10)


def test_the_free_energy_does_not_depend_on_names():
    case = scenario(3, 3, tl.ReLU())
    landscape, rng = FreeEnergyLandscape(case), np.random.default_rng(4)
    Q, R = (np.asarray(x) for x in landscape.overlaps(jnp.asarray(rng.normal(size=12))))
    for students, teachers in itertools.product(itertools.permutations(range(3)), repeat=2):
        q, r = Q[np.ix_(students, students)], R[np.ix_(students, teachers)]
        L = np.linalg.cholesky(q - r @ r.T)
        z = landscape.coordinates(jnp.asarray(np.hstack([r, L])))
        there = landscape.free_energy(z, 7.0)
        if students == teachers == (0, 1, 2):
            here = there
        np.testing.assert_allclose(there, here, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "load", "R"),
    [("erf", lambda R: math.pi * R * math.sqrt(4 - R * R) / (2 * (1 - R * R)), 0.8),
     pytest.param("relu", lambda R: 4 * math.pi * R / ((1 - R * R) * (math.pi + 2 * math.asin(R))),
                  0.6, marks=pytest.mark.slow)],
)  # fmt: skip
def test_a_single_unit_is_in_the_state_of_appendix_c(name, load, R):
    """oostwal2019 eqs. (32) and (33): α as a function of R."""
    state, *others = minima(scenario(1, 1, ACTIVATIONS[name]), load(R), starts=8)
    assert not others and state.found == 8 and state.stable and state.name == "single unit"
    np.testing.assert_allclose(state.overlaps.R[0, 0], R, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("name", "K", "load", "guess"),
    [("relu", 2, 12.0, [0.85, 0.1, 0.0]),
     pytest.param("relu", 3, 9.0, [0.7, 0.1, 0.0], marks=pytest.mark.slow),
     pytest.param("erf", 3, 60.0, [0.85, 0.04, 0.0], marks=pytest.mark.slow)],
)  # fmt: skip
def test_the_lowest_minimum_is_the_specialized_state_of_the_paper(name, K, load, guess):
    R, S, C, free_energy, error = site_symmetric(name, K, load, guess)
    state = minima(scenario(K, K, ACTIVATIONS[name]), load, starts=16)[0]
    assert state.name == "specialized" and state.stable and state.residual < 1e-13
    expected_Q, expected_R = matrices(K, R, S, C)
    # The second route is a root finder with a residual of 1e-9, relative to α.
    np.testing.assert_allclose(state.overlaps.R, expected_R, atol=1e-9)
    np.testing.assert_allclose(state.overlaps.Q, expected_Q, atol=1e-9)
    np.testing.assert_allclose(state.free_energy, free_energy, rtol=1e-12)
    np.testing.assert_allclose(state.generalization_error, error, atol=1e-9)


def test_below_the_transition_all_units_do_the_same():
    """ReLU, K = 2: α_c = 6.094."""
    case = scenario(2, 2, tl.ReLU())
    assert [s.name for s in minima(case, 6.0, starts=16)] == ["unspecialized"]
    assert [s.name for s in minima(case, 6.2, starts=16)] == ["specialized"]


def test_without_load_students_are_orthogonal_to_everything():
    """βf = -½ ln det C: its Hessian at C = 1 is the identity."""
    state, *others = minima(scenario(2, 2, tl.ReLU()), 0.0, starts=16)
    assert not others and state.free_energy == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(state.overlaps.covariance, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(state.eigenvalues, 1.0, rtol=1e-12)


@pytest.mark.slow
def test_collinear_teachers_are_one_teacher_of_twice_the_output():
    """T singular: y_1 = y_2, so that τ = 2 s g(y); the same as M = 1 with twice the scale."""
    two = tl.Committee(2, tl.ReLU())
    same = tl.Scenario(two, two, [[1, 1], [1, 1]], output_scale=0.7)
    double = tl.Scenario(two, tl.Committee(1, tl.ReLU()), output_scale=(0.7, 1.4))
    first, second = (minima(case, 20.0, starts=8)[0] for case in (same, double))
    np.testing.assert_allclose(first.overlaps.R[:, :1], second.overlaps.R, atol=1e-12)
    np.testing.assert_allclose(first.free_energy, second.free_energy, rtol=1e-12)
    np.testing.assert_allclose(first.eigenvalues, second.eigenvalues, rtol=1e-9)


@pytest.mark.slow
def test_a_longer_teacher_cannot_be_learned_by_students_of_norm_one():
    """ReLU, K = M = 1: R → √T and ε_g → ¼(√T - 1)² at infinite load, here up to O(1/α)."""
    state = minima(scenario(1, 1, tl.ReLU(), T=[[4.0]]), 1e6, starts=8)[0]
    np.testing.assert_allclose(state.overlaps.R[0, 0], 2.0, atol=1e-5)
    np.testing.assert_allclose(state.generalization_error, 0.25, atol=1e-5)


@pytest.mark.slow
def test_more_students_than_teachers_and_more_teachers_than_students():
    over = minima(scenario(3, 2, tl.ReLU()), 20.0, starts=16)
    assert [s.name for s in over] == ["2 of 3 students specialized, student 3 unspecialized"]
    under = minima(scenario(2, 3, tl.ReLU()), 20.0, starts=16)
    assert [s.name for s in under] == [
        "1 of 2 students specialized, student 2 is on teachers {2, 3}"
    ]
    assert all(s.stable and s.residual < 1e-13 for s in over + under)


def free_energy_of(name, K, load, Q, R):
    """βf of any Q and R for T = 1, in numpy alone."""
    kappa = KERNELS[name]
    among = (kappa(Q).sum() - kappa(np.diag(Q)).sum()) / 2 - kappa(R).sum()
    error = kappa(1) + (K - 1) * kappa(0) / 2 + among / K
    return load * K * error - 0.5 * np.linalg.slogdet(Q - R @ R.T)[1]


@pytest.mark.parametrize(
    ("name", "load", "guess"),
    [("relu", 9.0, [-0.04, 0.5, 0.04]), ("erf", 100.0, [-0.115, 0.562, 0.0137])],
)
def test_negative_specialization_of_three_units_is_a_saddle(name, load, guess):
    """oostwal2019 has R < S as a minimum; in all overlaps it has a descending direction for K = 3.

    Each student avoids one teacher; the way down lets it choose between the other two, round
    the circle.  Second differences of βf in numpy along that way confirm the eigenvalue.
    """
    K = 3
    R, S, C, free_energy, _ = site_symmetric(name, K, load, guess)
    assert R < S
    landscape = FreeEnergyLandscape(scenario(K, K, ACTIVATIONS[name]))
    Q, overlaps = matrices(K, R, S, C)
    L = np.linalg.cholesky(Q - overlaps @ overlaps.T)
    z = landscape.coordinates(jnp.asarray(np.hstack([overlaps, L])))
    eigenvalues, vectors = np.linalg.eigh(landscape.hessian(z, load))
    assert eigenvalues[0] < -0.1 < 0.1 < eigenvalues[1]
    around = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]]) / math.sqrt(6)
    np.testing.assert_allclose(abs(vectors[:9, 0] @ around.ravel()), 1.0, rtol=1e-9)
    here, there, opposite = (
        free_energy_of(name, K, load, Q, overlaps + h * around) for h in (0.0, 1e-3, -1e-3)
    )
    np.testing.assert_allclose(here, free_energy, rtol=1e-12)
    # Fourth derivatives times h²/12 and rounding of 1e-14/h² are both below 1e-3.
    np.testing.assert_allclose((there + opposite - 2 * here) / 1e-6, eigenvalues[0], rtol=2e-3)


def test_a_descent_that_ends_on_a_saddle_is_not_listed(monkeypatch):
    """K = 2 erf units beyond α_c = 23.7: from a symmetric start the gradient leads to R = S."""
    load, case = 40.0, scenario(2, 2, tl.Erf())
    landscape = FreeEnergyLandscape(case)
    Q, R = matrices(2, 0.3, 0.3, 0.1)
    start = np.hstack([R, np.linalg.cholesky(Q - R @ R.T)])
    symmetric = np.asarray(landscape.coordinates(jnp.asarray(start)))
    usual = np.asarray(starting_points(landscape, 3, 0))

    def begins(*starts):
        monkeypatch.setattr(search, "starting_points", lambda *_: jnp.asarray(starts))

    begins(*[symmetric] * 4)
    ends = descent.descend(landscape, load, jnp.asarray([symmetric] * 4))
    spectra = search._described(landscape, jnp.asarray(load), ends.place.z)[0]
    assert np.max(spectra[:, 0]) < -0.1 and np.max(ends.step) < search.CONVERGED_STEP  # on a saddle
    with pytest.raises(tl.InputError, match="no descent converged"):
        minima(case, load, starts=4)
    begins(symmetric, *usual)
    result = minima(case, load, starts=4)
    assert all(state.stable for state in result)
    assert sum(state.found for state in result) == len(usual)


@pytest.mark.slow
def test_large_relu_committees_have_partially_negative_minima():
    """Appendix D of oostwal2019 for one, for seven and for all students: K = 8, α = 20."""
    results = {s.name: s for s in minima(scenario(8, 8, tl.ReLU()), 20.0, starts=27)}
    assert list(results)[:2] == [
        "specialized",
        "7 of 8 students specialized, 1 of 8 students negatively specialized",
    ]
    assert all(state.stable and state.residual < 1e-12 for state in results.values())
    R, S, C, free_energy, error = site_symmetric("relu", 8, 20.0, [-0.61, 0.225, 0.0])
    state = results["negatively specialized"]
    np.testing.assert_allclose(state.overlaps.R, matrices(8, R, S, C)[1], atol=1e-9)
    np.testing.assert_allclose(state.free_energy, free_energy, rtol=1e-11)
    np.testing.assert_allclose(state.generalization_error, error, atol=1e-9)


@pytest.mark.slow
def test_erf_states_coexist_at_the_transition():
    """erf, K = 5: both minima at α = 46.6, within 0.02 of equal free energies."""
    result = minima(scenario(5, 5, tl.Erf()), 46.6)
    assert [state.name for state in result] == ["specialized", "unspecialized"]
    for state, guess in zip(result, ([0.66, 0.08, 0.0], [0.198, 0.198, 0.0]), strict=True):
        R, S, C, free_energy, _ = site_symmetric("erf", 5, 46.6, guess)
        np.testing.assert_allclose(state.overlaps.R, matrices(5, R, S, C)[1], atol=1e-9)
        np.testing.assert_allclose(state.free_energy, free_energy, rtol=1e-11)


@pytest.mark.parametrize("load", [-1.0, math.nan, math.inf, "a", [1.0]])
def test_a_load_that_is_none_is_refused(load):
    with pytest.raises(tl.InputError, match=r"^load"):
        minima(scenario(1, 1, tl.Erf()), load)


@pytest.mark.parametrize("starts", [0, -1, 1.5, True])
def test_no_starts_are_refused(starts):
    with pytest.raises(tl.InputError, match=r"^starts"):
        minima(scenario(1, 1, tl.Erf()), 1.0, starts=starts)


def test_something_else_than_a_scenario_is_refused():
    with pytest.raises(tl.InputError, match=r"^scenario"):
        minima(tl.Committee(1, tl.Erf()), 1.0)

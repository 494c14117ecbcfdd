"""Fixed points with known positions and eigenvalues, and the search for all of them."""

import dataclasses

import numpy as np
import pytest
from scenarios import GRADED, ONE, PERCEPTRON, TWO, to_vector

import tutelage as tl
from tutelage.model.timing import rate_of
from tutelage.online.flow import Flow
from tutelage.online.linearization import linearized
from tutelage.online.stationary import search
from tutelage.online.stationary.search import fixed_points


@pytest.fixture(scope="module")
def single():
    return PERCEPTRON


@pytest.fixture(scope="module")
def graded():
    return GRADED


@pytest.fixture(scope="module")
def graded_points(graded):
    return fixed_points(graded, 1.0, starts=8)


def symmetric(scenario, R_1, R_2, Q_11, Q_12):
    Q = [[Q_11, Q_12], [Q_12, Q_11]]
    return tl.Overlaps(Q=Q, R=[[R_1, R_2], [R_1, R_2]], T=scenario.T)


@pytest.mark.parametrize("eta", [0.1, 0.5, 1.0, 1.9, 2.0, 2.5])
def test_eigenvalues_of_the_single_relu_at_its_solution(single, eta):
    """{-η/2, η²/2 - η}: straat2019, section 3.1, where the covariance is singular."""
    solution = tl.Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])
    point = tl.online.fixed_point(single, solution, eta)
    expected = sorted([-eta / 2, eta**2 / 2 - eta], reverse=True)
    # At a double eigenvalue (η = 1) a rounding error e of the Jacobian moves it by √e.
    tolerance = 1e-7 if eta == 1.0 else 1e-9
    np.testing.assert_allclose(point.eigenvalues, expected, atol=tolerance)
    assert point.stable == (eta < 2)  # η_c = 2


@pytest.mark.parametrize("eta", [0.5, 1.1])
def test_every_eigenvalue_at_the_solution_for_two_orthogonal_teachers(graded, eta):
    """With students B_i + e_i and active units θ_i, σ - τ = Σ θ_i e_i·ξ to first order.

    Along the teachers ⟨θ_i θ_j y_n²⟩ and ⟨θ_i θ_j y_n y_m⟩ give -η (1/2 ± 1/4 ± 1/2π).  Orthogonal
    to them E_ij = e_i·e_j moves by -η⟨θ_i θ_k⟩ E_kj and η²⟨θ_i θ_j θ_k θ_l⟩ E_kl with ⟨θ_i⟩ = 1/2,
    ⟨θ_1 θ_2⟩ = 1/4: E_11 - E_22 on its own, E_11 + E_22 together with E_12.
    """
    solution = tl.Overlaps(Q=graded.T, R=graded.T, T=graded.T)
    point = tl.online.fixed_point(graded, solution, eta)
    along = [-eta * (0.5 + a / 4 + b / (2 * np.pi)) for a in (-1, 1) for b in (-1, 1)]
    together = [
        [-eta + 0.75 * eta**2, -eta + eta**2],
        [-eta / 4 + eta**2 / 4, -eta + eta**2 / 2],
    ]
    across = [-eta + eta**2 / 4, *np.linalg.eigvals(together)]
    # Regularising the singular covariance by 1e-8 in its factor moves derivatives by as much.
    np.testing.assert_allclose(np.sort(point.eigenvalues), np.sort(along + across), atol=1e-8)


def test_the_plateau_of_two_students_in_the_limit_of_small_learning_rates():
    """straat2019, section 3.2: R ≈ 0.52, λ = 0.24 along (1, -1, -1, 1)/2."""
    scenario = tl.Scenario(TWO, TWO)
    point = tl.online.fixed_point(scenario, symmetric(scenario, 0.5, 0.5, 0.7, 0.4), 0)
    # The reference values have six digits.
    np.testing.assert_allclose(point.overlaps.R, 0.524579, atol=5e-7)
    Q = [[0.717756, 0.382977], [0.382977, 0.717756]]
    np.testing.assert_allclose(point.overlaps.Q, Q, atol=5e-7)
    away = point.unstable_directions
    assert away.shape == (7, 1) and not point.stable
    assert abs(point.eigenvalues[0] - 0.239237) < 5e-7
    expected = np.array([1, -1, -1, 1, 0, 0, 0]) / 2
    np.testing.assert_allclose(abs(away[:, 0] @ expected), 1.0, atol=1e-9)
    assert point.labels == ("R_11", "R_12", "R_21", "R_22", "Q_11", "Q_12", "Q_22")


def test_solution_plateau_and_identical_students_are_found(graded, graded_points):
    """The three kinds of citton2025, section 3, each once."""
    solution, plateau, identical = graded_points[:3]
    assert solution.stable and abs(solution.generalization_error) < 1e-14
    np.testing.assert_allclose(np.sort(np.diag(solution.overlaps.Q)), [1, 2], atol=1e-12)
    # The reference values have six digits.
    np.testing.assert_allclose(plateau.overlaps.R, [[0.458277, 1.050455]] * 2, atol=5e-7)
    np.testing.assert_allclose(plateau.overlaps.Q[0], [1.345386, 0.542161], atol=5e-7)
    assert plateau.unstable_directions.shape[1] == 1
    assert np.ptp(identical.overlaps.Q) == 0 and not identical.stable
    for point in graded_points:
        assert point.residual < 1e-12
        C = np.asarray(point.overlaps.covariance)
        assert np.linalg.eigvalsh(C)[0] > -1e-9 * np.max(C)


def test_identical_students_part_at_a_rate_with_infinite_derivative(graded, graded_points):
    """dν/dα = c √ν, c = η² ⟨τ² | x = 0⟩ / (π √Q), for the distance √ν of two ReLU students."""
    (point,) = (p for p in graded_points if p.splitting > 0)
    R, Q = np.asarray(point.overlaps.R)[0], float(point.overlaps.Q[0, 0])
    conditional = np.asarray(graded.T) - np.outer(R, R) / Q
    pairs = np.array([conditional[np.ix_([n, m], [n, m])] for n in (0, 1) for m in (0, 1)])
    tau_squared = float(np.sum(tl.averages.i2(tl.ReLU(), pairs)))
    # Extrapolation from distances of 1e-3 leaves a relative error of order 1e-9.
    assert point.splitting == pytest.approx(tau_squared / (np.pi * np.sqrt(Q)), rel=1e-7)
    assert point.eigenvalues[0] == np.inf and np.all(np.isfinite(point.eigenvalues[1:]))
    # Q_12 alone changes ν by -2, so that ∂Q_12'/∂Q_12 = ∂ν'/∂ν = c/(2√ν) to leading order.
    y = np.asarray(to_vector(point.overlaps)).copy()
    distance = 1e-4
    y[5] -= 0.5 * distance**2
    slope = linearized(Flow(graded), y, 1.0).jacobian[5, 5]
    assert slope == pytest.approx(point.splitting / (2 * distance), rel=1e-2)


def test_one_state_is_asked_for(single):
    pair = tl.Overlaps(Q=[[[1.0]], [[0.5]]], R=[[[1.0]], [[0.5]]], T=[[1.0]])
    with pytest.raises(tl.InputError, match="one state"):
        tl.online.fixed_point(single, pair, 1.0)


def test_the_number_of_starts_and_the_rate_are_checked(single):
    with pytest.raises(tl.InputError, match="starts"):
        fixed_points(single, 1.0, starts=0)
    with pytest.raises(tl.InputError, match="learning_rate"):
        fixed_points(single, -1.0)
    with pytest.raises(tl.InputError, match="scenario"):
        fixed_points("ReLU", 1.0)


def test_noise_leaves_no_state_beyond_the_critical_learning_rate():
    """K = M = 1 with noise has its fixed point at R = 1 and Q < R² for η > 2: not a state."""
    noisy = tl.Scenario(ONE, ONE, label_noise=0.1)
    near = tl.Overlaps(Q=[[1.1]], R=[[1.0]], T=[[1.0]])
    assert tl.online.fixed_point(noisy, near, 1.5).stable
    with pytest.raises(tl.ComputationError, match="start: Newton's method leaves"):
        tl.online.fixed_point(noisy, near, 2.5)


@pytest.mark.slow
def test_erf_students_have_their_known_plateau():
    """Saad and Solla 1995: R = 1/√(2·3), Q = C = 1/3 for K = M = 2 as η → 0, one way out."""
    two = tl.Committee(2, tl.Erf())
    points = fixed_points(tl.Scenario(two, two), 0, starts=20)
    assert points[0].stable and abs(points[0].generalization_error) < 1e-14
    plateau = points[1]
    np.testing.assert_allclose(plateau.overlaps.Q, 1 / 3, atol=1e-12)
    np.testing.assert_allclose(plateau.overlaps.R, 1 / np.sqrt(6), atol=1e-12)
    assert plateau.unstable_directions.shape[1] == 1


@pytest.mark.slow
def test_a_family_of_solutions_is_reported_once():
    """Three ReLU students, two teachers: two of them share a teacher in any proportion."""
    scenario = tl.Scenario(tl.Committee(3, tl.ReLU()), tl.Committee(2, tl.ReLU()))
    points = fixed_points(scenario, 0, starts=10)
    perfect = [point for point in points if point.generalization_error < 1e-9]
    assert len(perfect) == 1 and not perfect[0].stable
    assert perfect[0].unstable_directions.shape[1] == 0
    assert np.min(np.abs(perfect[0].eigenvalues)) < 1e-7


def shared_teacher(share, error=0.0):
    """Two students that share one teacher, J_1 = a B and J_2 = (1 - a) B."""
    J = np.array([[share], [1 - share]])
    nothing = np.zeros(5, dtype=complex)
    return tl.online.FixedPoint(
        overlaps=tl.Overlaps.from_weights(J, np.ones((1, 1))),
        readout=np.ones((1, 2)),
        residual=0.0,
        eigenvalues=nothing,
        eigenvectors=np.eye(5, dtype=complex),
        labels=("R_11", "R_21", "Q_11", "Q_12", "Q_22"),
        generalization_error=error,
    )


@pytest.mark.parametrize(("error", "kept"), [(0.0, 1), (0.1, 2)])
def test_one_member_of_a_family_without_error_is_listed(error, kept):
    """K = 2 > M = 1: the same student function for every share a; states with an error differ."""
    result = search._Collection(Flow(tl.Scenario(TWO, ONE)))
    for share in (0.3, 0.4, 0.7):  # the last is the first with its students renamed
        result.add(shared_teacher(share, error))
    assert len(result.points) == kept


def test_a_step_that_does_not_exist_ends_the_way_and_not_the_search(graded, monkeypatch):
    """An eigenvalue of exactly η during the search from a start, as met by chance at η = 1.25."""

    def singular(matrix, vector):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(np.linalg, "solve", singular)
    flow = Flow(graded)
    y = flow.vector(tl.Overlaps.from_weights(np.eye(2), np.diag([1.0, np.sqrt(2.0)])))
    states = list(search._slow_states(flow, rate_of(1.0), y))
    assert len(states) == 1 and np.array_equal(states[0], y)


def test_an_unstable_point_prints_its_unstable_directions_and_growth_rate():
    """A noisy teacher of one unit, and two students too many that stay identical by symmetry."""
    scenario = tl.Scenario(tl.Committee(3, tl.Erf()), tl.Committee(1, tl.Erf()), label_noise=0.1)
    Q = 0.53 * np.eye(3) - 0.08
    start = tl.Overlaps(Q=Q, R=[[0.29]] * 3, T=[[1.0]])
    point = tl.online.fixed_point(scenario, start, 1.0)
    assert not point.stable
    grows = point.eigenvalues.real > 1e-6
    assert 0 < np.sum(grows) < len(grows)
    words = f"unstable: {np.sum(grows)} of {len(grows)} directions lead away, growth rate at most "
    assert f"stability             {words}{np.max(point.eigenvalues.real):.4g}\n" in repr(point)
    assert "leave it; tl.online.evolve,\n" in repr(point)
    # The rate at which a run leaves: log of the distance against time, by `evolve` itself.
    direction = point.unstable_directions[:, 0].real
    shifted = tl.Overlaps(
        Q=point.overlaps.Q, R=point.overlaps.R + 1e-4 * direction[:3, None], T=point.overlaps.T
    )
    run = tl.online.evolve(scenario, shifted, 1.0, times=[0.0, 40.0, 80.0], until=80.0)
    away = np.ptp(run.R.values, axis=(1, 2))
    rate = np.log(away[2] / away[1]) / 40
    np.testing.assert_allclose(rate, np.max(point.eigenvalues.real), rtol=0.05)


def test_a_stable_or_marginal_point_prints_its_stability():
    one = tl.Committee(1, tl.Erf())
    solved = tl.Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])
    point = tl.online.fixed_point(tl.Scenario(one, one), solved, 1.0)
    slowest = -np.max(point.eigenvalues.real)
    assert f"stable: every small disturbance decays, at the rate {slowest:.4g} or" in repr(point)
    values = np.array([0.0, *point.eigenvalues[1:]])
    marginal = dataclasses.replace(point, eigenvalues=values)
    assert "marginal: no direction leads away, but 1 of 2 eigenvalues vanish" in repr(marginal)

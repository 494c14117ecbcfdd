"""Minima of the error as a function of weights: gradients, curvatures, names, shares."""

import re
from itertools import permutations

import numpy as np
import pytest
import xarray as xr
from scenarios import eigenvalues_by_overlaps

import tutelage as tl
from tutelage._jax import jnp
from tutelage.online.flow import Flow
from tutelage.online.stationary.landscape_descent import Atlas, random_starts, settle
from tutelage.online.stationary.landscape_families import (
    descended,
    family_count,
    family_starts,
)
from tutelage.online.stationary.landscape_gradient import Landscape, errors, forces
from tutelage.online.stationary.landscape_hessian import hessian, polished, spectrum
from tutelage.online.stationary.landscape_names import family, multiplicity

# docs/physics/online.md: errors of k = 0 … 4 anti-aligned units at K = M = 17, to five digits.
LEVELS = (0.0, 0.01280, 0.02477, 0.03617, 0.04709)
UNITS = (tl.ReLU(), tl.LeakyReLU(0.2), tl.Erf(0.5), tl.GELU())


def committees(K, M, g, T=None, **numbers):
    return tl.Scenario(tl.Committee(K, g), tl.Committee(M, g), T, **numbers)


def differences(function, x, step=1e-5):
    """Central differences of a function of an array, over all of its entries."""
    change = [step * unit.reshape(x.shape) for unit in np.eye(x.size)]
    return np.array([(function(x + c) - function(x - c)) / (2 * step) for c in change])


@pytest.fixture(scope="module")
def of_six():
    """K = M = 6: the smallest committee with a minimum besides the solution."""
    return tl.online.landscape(committees(6, 6, tl.ReLU()), starts=8)


@pytest.mark.parametrize(
    "g",
    [pytest.param(g, id=g.name, marks=[pytest.mark.slow] * (g.name == "GELU")) for g in UNITS],
)
def test_the_force_is_the_slope_of_the_error_in_overlaps(g):
    scenario = committees(3, 2, g, [[1, 0.3], [0.3, 2]])
    landscape, rng = Landscape(scenario), np.random.default_rng(1)
    B = np.hstack([landscape.teachers, np.zeros((2, 2))])
    W = rng.standard_normal((3, 4)) / 2

    def error(w):
        return float(tl.generalization_error(scenario, tl.Overlaps(w @ w.T, w @ B.T, scenario.T)))

    force = np.asarray(forces(landscape, jnp.asarray(W[None])))[0]
    # Third derivatives of order one and rounding of 1e-16/step.
    np.testing.assert_allclose(-force.ravel(), differences(error, W), atol=1e-9)
    np.testing.assert_allclose(errors(landscape, jnp.asarray(W[None]))[0], error(W), atol=1e-12)


@pytest.mark.parametrize("g", UNITS, ids=lambda g: g.name)
def test_the_hessian_is_the_derivative_of_the_force(g):
    landscape = Landscape(committees(3, 2, g, [[1, 0.3], [0.3, 2]]))
    W = np.random.default_rng(2).standard_normal((3, 2))

    def force(w):
        return np.asarray(forces(landscape, jnp.asarray(w[None])))[0].ravel()

    np.testing.assert_allclose(hessian(landscape, W), -differences(force, W), atol=1e-8)


def test_curvatures_by_weights_and_by_overlaps_are_the_same(of_six):
    """-h, and λ_i + λ_j of A_xx: the overlaps' Jacobian shares no formula with the Hessian."""
    scenario = committees(6, 6, tl.ReLU())
    landscape, flow = Landscape(scenario), Flow(scenario, limit=True)
    for level in (0, 2, 4):
        point = of_six.isel(level=level)
        state = tl.Overlaps(point.Q.values, point.R.values, scenario.T)
        values = eigenvalues_by_overlaps(flow, state)
        outward = -point.transverse_eigenvalue.values
        i, k = np.triu_indices(6)
        every = np.concatenate([-point.hessian_eigenvalue.values, outward[i] + outward[k]])
        # Where students equal teachers the overlaps' formulas are regularized by 1e-8.
        atol = 1e-7 if level == 0 else 1e-10
        np.testing.assert_allclose(values, np.sort(every)[::-1], atol=atol)
        second = spectrum(landscape, point.R.values)
        np.testing.assert_allclose(second.hessian, point.hessian_eigenvalue, atol=1e-12)


def test_the_solution_has_the_curvatures_of_the_literature():
    """K = M = 1: h = 1/2 by hand; two orthogonal units: 1/4 - 1/(2π) is the smallest."""
    one = tl.online.landscape(committees(1, 1, tl.ReLU()), starts=2)
    np.testing.assert_allclose(one.hessian_eigenvalue.values, [[0.5]], atol=1e-12)
    two = tl.online.landscape(committees(2, 2, tl.ReLU()), starts=2)
    np.testing.assert_allclose(
        two.hessian_eigenvalue[0, 0], 0.25 - 1 / (2 * np.pi), rtol=0, atol=1e-12
    )


def test_six_units_have_one_minimum_with_an_anti_aligned_unit(of_six):
    named = dict(zip(of_six.family.values, of_six["index"].values, strict=True))
    assert named["1 anti-aligned"] == 0 and named["2 anti-aligned"] > 0
    assert of_six.share[0] == 1 and of_six.attrs["unsettled"] == 0
    for level in range(of_six.sizes["level"]):
        point = of_six.isel(level=level)
        exact = tl.generalization_error(
            committees(6, 6, tl.ReLU()),
            tl.Overlaps(point.Q.values, point.R.values, np.eye(6)),
        )
        assert abs(float(exact) - float(point.generalization_error)) < 1e-14


@pytest.mark.parametrize(("k", "onset"), [(1, 6), (2, 8)])
def test_families_become_minima_at_the_stated_size(k, onset):
    for K in (onset - 1, onset):
        landscape = Landscape(committees(K, K, tl.ReLU()))
        start = family_starts(landscape.scenario)[2 * k]
        (W,) = descended(landscape, [start], 1.0 / (K / 4 + 0.7))
        root = polished(landscape, W)
        assert root.converged and family(landscape, root.x, 1.0) == f"{k} anti-aligned"
        assert (spectrum(landscape, root.x).negative == 0) == (onset == K)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "onset"), [(3, 10), (4, 11), (5, 13)])
def test_larger_families_become_minima_at_the_stated_size(k, onset):
    test_families_become_minima_at_the_stated_size(k, onset)


@pytest.mark.slow
def test_levels_of_seventeen_units():
    scenario = committees(17, 17, tl.ReLU())
    atlas = Atlas(scenario)
    starts = family_starts(scenario)[: 2 * len(LEVELS) : 2]
    flow = Flow(scenario, limit=True)
    for level, start in zip(LEVELS, starts, strict=True):
        point = atlas.points[atlas.add(descended(atlas.landscape, [start], atlas.rate)[0])]
        W = point.weights
        exact = tl.generalization_error(scenario, tl.Overlaps(W @ W.T, W, np.eye(17)))
        # Rounding of a sum of 1156 terms whose sizes add up to 100.
        assert point.is_minimum and abs(float(exact) - point.error) < 1e-12
        assert abs(point.error - level) < 6e-6
        if level > 0:
            largest = eigenvalues_by_overlaps(flow, tl.Overlaps(W @ W.T, W, np.eye(17)))[0]
            assert abs(-point.smallest_curvature - largest) < 1e-10


def test_multiplicity_counts_all_states_that_renaming_teachers_makes(of_six):
    scenario = committees(4, 4, tl.ReLU())
    rows = np.random.default_rng(0).standard_normal((4, 4))
    rows[:, 1] = rows[:, 0]  # two teachers that can be exchanged

    def states(R):
        renamed = (R[:, list(order)] for order in permutations(range(4)))
        return len({tuple(sorted(map(tuple, r))) for r in renamed})

    assert multiplicity(scenario, rows, np.eye(4)) == states(rows) == 12
    assert multiplicity(scenario, np.eye(4), np.eye(4)) == states(np.eye(4)) == 1
    graded = committees(4, 4, tl.ReLU(), np.diag([1.0, 1, 1, 2]))
    assert multiplicity(graded, rows, np.eye(4)) == 3
    counts = dict(zip(of_six.family.values, of_six.multiplicity.values, strict=True))
    assert counts["1 anti-aligned"] == 6 and counts["2 anti-aligned"] == 15


def test_a_run_next_to_a_saddle_does_not_count_as_ended():
    """Two students between two teachers: the error of the saddle is stationary, not a minimum."""
    atlas = Atlas(committees(2, 2, tl.ReLU()))
    saddle = polished(atlas.landscape, np.full((2, 2), 0.5) + 1e-3 * np.eye(2)).x
    number = atlas.add(saddle)
    point = atlas.points[number]
    tried = np.full(1, np.inf)
    numbers = atlas.settled(saddle[None], np.zeros(1), np.array([point.error]), tried)
    assert not point.is_minimum and numbers[0] < 0
    away = saddle + 1e-9 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    ended, _ = settle(atlas, away[None].copy())
    assert atlas.points[ended[0]].error < 1e-12


def test_starts_have_the_overlaps_of_gaussian_weights_in_any_dimension():
    rng = np.random.default_rng(3)
    for d, columns in ((3, 3), (4, 4), (50, 5)):
        W = random_starts(rng, 20_000, 2, 3, d, 0.7)
        assert W.shape == (20_000, 2, columns)
        q = 0.49
        # Means, and the variances 2q²/d of Q_ii and q²/d of Q_12; four standard errors each.
        norms, mutual = np.sum(W[:, 0] ** 2, -1), np.sum(W[:, 0] * W[:, 1], -1)
        assert abs(norms.mean() - q) < 4 * q * np.sqrt(2 / d / len(W))
        assert abs(np.var(mutual) / (q**2 / d) - 1) < 4 * np.sqrt((2 + 12 / d) / len(W))
        assert abs(np.var(W[:, :, :3]) / (q / d) - 1) < 4 * np.sqrt(2 / (6 * len(W)))


def test_a_checkpoint_continues_with_the_same_result(tmp_path, monkeypatch):
    from tutelage.online.stationary import landscape as module

    monkeypatch.setattr(module, "RUNS_PER_BATCH", 2)
    scenario, path = committees(2, 2, tl.ReLU()), tmp_path / "runs.npz"
    whole = tl.online.landscape(scenario, starts=4)
    descend, calls = module.settle, []

    def interrupted(atlas, W):
        calls.append(len(W))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return descend(atlas, W)

    monkeypatch.setattr(module, "settle", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tl.online.landscape(scenario, starts=4, checkpoint=str(path))
    second = tl.online.landscape(scenario, starts=4, checkpoint=str(path))
    assert len(calls) == 3
    xr.testing.assert_equal(second, whole)
    with pytest.raises(tl.InputError, match="seed"):
        tl.online.landscape(scenario, starts=4, seed=1, checkpoint=str(path))


@pytest.mark.parametrize(
    ("scenario", "keywords", "argument"),
    [
        (committees(2, 2, tl.ReLU()), {"starts": 0}, "starts"),
        (committees(2, 2, tl.ReLU()), {"dimension": 1}, "dimension"),
        (committees(2, 2, tl.ReLU()), {"scale": 0.0}, "scale"),
        (committees(2, 2, tl.Linear()), {}, "Linear"),
        (committees(2, 2, tl.ReLU(), weight_decay=0.1), {}, "weight_decay"),
        (committees(3000, 3000, tl.ReLU()), {}, "units of the student"),
        (committees(5000, 3, tl.ReLU()), {}, "units of the student.*(less|fewer)"),
        (committees(2, 2, tl.ReLU()), {"starts": 10**12}, "starts=[0-9]+ or less"),
        (
            tl.Scenario(tl.Committee(2, tl.ReLU(), [1, 0]), tl.Committee(1, tl.ReLU())),
            {},
            "student 2",
        ),
    ],
)
def test_bad_input_is_refused_by_name(scenario, keywords, argument):
    with pytest.raises(tl.InputError, match=argument):
        tl.online.landscape(scenario, **keywords)


@pytest.mark.parametrize(("students", "teachers"), [(2, 2), (2, 5), (5, 3), (4, 4)])
def test_the_number_of_families_is_known_before_they_are_built(students, teachers):
    for T in (None, np.diag(np.arange(1.0, teachers + 1))):
        scenario = committees(students, teachers, tl.ReLU(), T)
        count, starts = family_count(scenario), len(family_starts(scenario))
        # Where no unit is anti-aligned, or all are, one kind of additional units is missing.
        assert starts == count if students <= teachers else 0 <= count - starts <= 4


def test_the_memory_of_a_landscape_grows_as_measured():
    """The law by its powers, and three peaks measured in fresh processes."""
    from tutelage.online.stationary.landscape import descent_bytes, newton_bytes

    assert (
        newton_bytes(40, 80, True) == newton_bytes(80, 40, True) == 4 * newton_bytes(40, 40, True)
    )
    rest = [newton_bytes(K, K, False) - newton_bytes(K, K, True) for K in (40, 80)]
    assert rest[1] == 16 * rest[0] > 0
    assert descent_bytes(80, 80, 81) == 2 * descent_bytes(40, 40, 162)
    for estimate, mebibytes in (
        (newton_bytes(40, 40, True), 132.7),
        (newton_bytes(24, 24, False), 139.1),
        (descent_bytes(80, 80, 162), 342.4),
    ):
        assert 0.5 * estimate < mebibytes * 2**20 <= estimate


@pytest.mark.slow
@pytest.mark.parametrize("g", [tl.Erf(), tl.GELU()], ids=["Erf", "GELU"])
def test_additional_smooth_units_fall_silent_at_the_solution(g):
    """Smooth units have a slope at zero weights: a solution with a silent unit is a minimum."""
    minima = tl.online.landscape(committees(3, 2, g), starts=20).isel(level=slice(0, 2))
    assert minima.attrs["unsettled"] == 0 and int(minima.runs.sum()) == 20
    assert minima.family.values[0] == "solution" and bool(minima.isolated[0])
    assert np.sort(np.diag(minima.Q.values[0]))[0] < 1e-12
    if g != tl.Erf():
        return
    # Three erf students have a minimum with an error, here by quadrature over both inputs.
    x, w = np.polynomial.hermite_e.hermegauss(60)
    xi = np.stack(np.meshgrid(x, x)).reshape(2, -1)
    weight = np.outer(w, w).ravel() / (2 * np.pi)

    def error(W):
        return 0.5 * weight @ (g(W @ xi).sum(0) - g(xi).sum(0)) ** 2

    W = minima.R.values[1]
    assert minima["index"].values.tolist() == [0, 0]
    assert abs(error(W) - float(minima.generalization_error[1])) < 1e-12
    assert np.max(np.abs(differences(error, W))) < 1e-10


@pytest.mark.parametrize("kind", ["lines", "erf", "gelu", "other"])
def test_the_time_of_a_landscape_grows_as_its_gradients_and_its_matrices(kind):
    """Few units: all pairs in each step.  Many units: (KM)³ operations."""
    from tutelage.online.stationary.landscape import PAIRS_PER_SECOND, family_seconds

    small = family_seconds(2, 2, kind)
    assert small == pytest.approx(4000 * 8 / PAIRS_PER_SECOND[kind], rel=0.02)
    assert family_seconds(4, 4, kind) == pytest.approx(4 * small, rel=0.05)
    many = family_seconds(10**6, 10**6, kind)
    assert family_seconds(2 * 10**6, 10**6, kind) == pytest.approx(8 * many, rel=0.05)


def test_a_committee_whose_families_take_days_is_refused_before_any_work(monkeypatch):
    """Memory alone would let it pass; the suggested number of units passes."""
    from tutelage.online.stationary import landscape as module

    monkeypatch.setattr(module, "check_memory", lambda *arguments, **keywords: None)
    monkeypatch.setattr(module, "Atlas", None)
    with pytest.raises(tl.InputError, match=r"24 symmetric families .* hours") as refusal:
        tl.online.landscape(committees(5000, 3, tl.ReLU()))
    largest = int(re.search(r"Try: (\d+) units or fewer", str(refusal.value)).group(1))
    module._check_time(committees(largest, 3, tl.ReLU()))
    with pytest.raises(tl.InputError, match="hours"):
        module._check_time(committees(largest + 1, 3, tl.ReLU()))


def one_anti_aligned(K):
    """K ε_g of the family with one anti-aligned unit: five numbers, by NumPy alone."""
    pattern = np.full((K, K), 1)
    np.fill_diagonal(pattern, 0)
    pattern[:-1, -1], pattern[-1, :-1], pattern[-1, -1] = 2, 3, 4

    def angles(W):
        J = np.vstack([W, np.eye(K)])
        C, q = W @ J.T, np.sum(J**2, axis=1)
        area = np.sqrt(np.maximum(q[:K, None] * q - C**2, 0.0))
        area[np.arange(K), np.arange(K)] = 0.0
        return J, C, q, area, np.arctan2(area, C)

    def force(x):
        W = x[pattern]
        J, _, q, area, theta = angles(W)
        sign = np.repeat([-1.0, 1.0], K)
        along = (sign * area).sum(1) / (2 * np.pi * q[:K])
        F = (sign * (np.pi - theta) / (2 * np.pi)) @ J + along[:, None] * W
        return np.bincount(pattern.ravel(), F.ravel()) / np.bincount(pattern.ravel())

    def error(x):
        W = x[pattern]
        _, C, _, area, theta = angles(W)
        products = (area + C * (np.pi - theta)) / (2 * np.pi)
        teachers = (np.eye(K) * np.pi + (1 - np.eye(K))) / (2 * np.pi)
        return 0.5 * (products[:, :K].sum() - 2 * products[:, K:].sum() + teachers.sum())

    x = np.array([1.0, 0.0, 0.05, 0.2 * 6 / K, -0.6])
    for _ in range(3000):
        x = x + force(x) / (K / 4 + 0.7)  # the largest curvature
    for _ in range(6):
        steps = 1e-6 * np.eye(5)
        J = np.array([(force(x + s) - force(x - s)) / 2e-6 for s in steps]).T
        x = x - np.linalg.solve(J, force(x))
    assert np.max(np.abs(force(x))) < 1e-13 and x[4] < 0
    return K * error(x)


def test_the_family_by_five_numbers_has_the_same_error(of_six):
    level = of_six.family.values.tolist().index("1 anti-aligned")
    assert abs(one_anti_aligned(6) / 6 - float(of_six.generalization_error[level])) < 1e-13


@pytest.mark.slow
def test_the_error_of_one_anti_aligned_unit_falls_as_the_number_of_units_grows():
    """K ε_g → 1/2 - 2/π² with corrections in powers of K^(-1/2), MATHEMATICS section 12."""
    sizes = np.array([25, 36, 50, 70, 100])
    values = [one_anti_aligned(K) for K in sizes]
    cubic, quartic = (np.polyfit(sizes**-0.5, values, degree)[-1] for degree in (3, 4))
    # The difference of the two fits estimates the error of either.
    assert abs(quartic - (0.5 - 2 / np.pi**2)) < 2 * abs(quartic - cubic) < 3e-3

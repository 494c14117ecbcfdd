"""Minima as scenarios change, and after a unit has been added."""

import numpy as np
import pytest
from scenarios import eigenvalues_by_overlaps

import tutelage as tl
from tutelage.online.flow import Flow
from tutelage.online.stationary.landscape_added import best_direction, with_added_unit
from tutelage.online.stationary.landscape_gradient import Landscape


def committees(K, M, g, T=None):
    return tl.Scenario(tl.Committee(K, g), tl.Committee(M, g), T)


def state(level, T):
    return tl.Overlaps(Q=level.Q.values, R=level.R.values, T=T)


@pytest.fixture(scope="module")
def anti_aligned():
    """The minimum of K = M = 6 with one anti-aligned unit."""
    levels = tl.online.landscape(committees(6, 6, tl.ReLU()), starts=1)
    return levels.isel(level=levels.family.values.tolist().index("1 anti-aligned"))


def test_correlated_teachers_turn_a_minimum_into_a_saddle(anti_aligned):
    """The change of stability is found again in the overlaps' Jacobian, on both sides."""
    scenario, T = committees(6, 6, tl.ReLU()), np.full((6, 6), 0.5) + 0.5 * np.eye(6)
    to = committees(6, 6, tl.ReLU(), T)
    path = tl.online.minimum_path(scenario, state(anti_aligned, scenario.T), to=to)
    assert path.attrs["ended"] == "becomes a saddle"
    lost = float(path.special_parameter[0])
    assert np.all(np.diff(path.parameter) > 0) and path["index"].values[-1] > 0
    for point in (0, -1):
        p = float(path.parameter[point])
        mixed = committees(6, 6, tl.ReLU(), (1 - p) * np.eye(6) + p * T)
        at = tl.Overlaps(path.Q.values[point], path.R.values[point], mixed.T)
        largest = eigenvalues_by_overlaps(Flow(mixed, limit=True), at)[0]
        assert (largest > 0) == (p > lost)
        np.testing.assert_allclose(-largest, path.smallest_curvature[point], atol=1e-9)


@pytest.mark.slow
def test_a_leaky_slope_leads_to_the_minimum_of_leaky_units(anti_aligned):
    relu, leaky = (committees(6, 6, g) for g in (tl.ReLU(), tl.LeakyReLU(0.1)))
    path = tl.online.minimum_path(relu, state(anti_aligned, relu.T), to=leaky)
    levels = tl.online.landscape(leaky, starts=1)
    there = levels.isel(level=levels.family.values.tolist().index("1 anti-aligned"))
    assert path.attrs["ended"] == "reached"
    np.testing.assert_allclose(
        path.generalization_error[-1], there.generalization_error, atol=1e-12
    )


def test_an_added_unit_lowers_the_error_along_the_best_direction(anti_aligned):
    scenario = committees(6, 6, tl.ReLU())
    start = state(anti_aligned, scenario.T)
    path = tl.online.added_unit(scenario, start, until=1500.0)
    wider = with_added_unit(scenario)
    W, gain = anti_aligned.R.values, path.attrs["gain"]
    u = path.direction.values
    assert abs(u @ u - 1) < 1e-12

    def error(t, u=u):
        J = np.vstack([W, t * u])
        return float(tl.generalization_error(wider, tl.Overlaps(J @ J.T, J, scenario.T)))

    # dε/dt = -F(u) at t = 0: a one-sided difference of second order.
    h = 1e-4
    slope = (-3 * error(0.0) + 4 * error(h) - error(2 * h)) / (2 * h)
    assert gain > 0 and abs(slope + gain) < 1e-7
    rng = np.random.default_rng(5)
    others = rng.standard_normal((50, 6))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    assert max(error(0.0) - error(1e-4, v) for v in others) < gain * 1e-4
    # The minimum opens to the solution, next to the teacher of the anti-aligned unit.
    assert path.generalization_error[-1] < 1e-4 < path.generalization_error[0]
    anti = np.argmin(np.min(W, axis=1))
    assert np.argmax(u) == np.argmin(W[anti]) and u.max() > 0.9
    np.testing.assert_allclose(path.R.values[0, -1], 1e-3 * u, atol=1e-15)


def test_at_a_minimum_no_change_of_a_single_student_lowers_the_error(anti_aligned):
    """F vanishes at the directions of the students: the minimum is stationary in their norms."""
    scenario = committees(6, 6, tl.ReLU())
    W = anti_aligned.R.values
    landscape = Landscape(with_added_unit(scenario))
    gain = best_direction(landscape, W)[1]
    assert gain > 0.01
    for w in W:
        J = np.vstack([W, 1e-6 * w])
        change = tl.generalization_error(
            with_added_unit(scenario), tl.Overlaps(J @ J.T, J, scenario.T)
        )
        assert abs(float(change) - float(anti_aligned.generalization_error)) < 1e-11


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda s, x: tl.online.minimum_path(s, x, to=committees(2, 3, tl.ReLU())), "to"),
        (lambda s, x: tl.online.minimum_path(s, x, to=committees(2, 2, tl.GELU())), "to"),
        (lambda s, x: tl.online.minimum_path(s, x, to=s, step=0.0), "step"),
        (lambda s, x: tl.online.minimum_path(s, x, to=committees(2, 2, tl.LeakyReLU(1))), "to: "),
        (
            lambda s, x: tl.online.minimum_path(
                s, x, to=tl.Scenario(s.student, s.teacher, weight_decay=0.1)
            ),
            "to: .*weight_decay",
        ),
        (lambda s, x: tl.online.added_unit(s, x, until=0.0), "until"),
        (
            lambda s, x: tl.online.added_unit(
                s, tl.Overlaps(Q=2 * np.eye(2), R=np.eye(2), T=np.eye(2))
            ),
            "orthogonal",
        ),
        (
            lambda s, x: tl.online.minimum_path(
                s, tl.Overlaps(Q=np.eye(2) / 4, R=np.eye(2) / 2, T=np.eye(2)), to=s
            ),
            "stationary",
        ),
        (lambda s, x: tl.online.added_unit(committees(2, 2, tl.Erf()), x), "Erf"),
    ],
)
def test_bad_input_is_refused_by_name(call, argument):
    scenario = committees(2, 2, tl.ReLU())
    solution = tl.Overlaps(Q=np.eye(2), R=np.eye(2), T=np.eye(2))
    with pytest.raises(tl.InputError, match=argument):
        call(scenario, solution)

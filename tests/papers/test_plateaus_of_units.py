"""Plateaus of many activations: every number by a second route.

Fast: averages over two fields at the recorded saddles.  Slow: runs of finite networks, the length
of a plateau read off a curve, and a recorded unit computed again.
"""

import numpy as np
import pytest

import tutelage as tl
from tutelage.online.stationary.stability import solution_loses_stability
from tutelage.papers import recorded
from tutelage.papers.beyond import plateaus

K = plateaus.SIZE
RECORDED = recorded.load_recorded("beyond", "plateaus")
SLOPES = {"ReLU": 0.0, "leaky ReLU, slope 0.2": 0.2}  # of x < 0


def on_a_grid(f, variances, covariance):
    """⟨f(x) f(y)⟩ by the trapezoidal rule: exponentially exact where f is analytic."""
    (a, b), c = variances, covariance
    z = np.arange(-9.0, 9.01, 0.15)
    u, v = np.meshgrid(z, z)
    w = np.exp(-0.5 * (u**2 + v**2))
    x, y = np.sqrt(a) * u, c / np.sqrt(a) * u + np.sqrt(max(b - c * c / a, 0.0)) * v
    return float(np.sum(w * np.asarray(f(x)) * np.asarray(f(y))) / np.sum(w))


def kernel(name, variances, c):
    """k, k' and k'' in the covariance of the fields."""
    g = plateaus.units()[name]
    if name not in SLOPES:
        functions = (g, g.derivative, g.second_derivative)
        return [on_a_grid(f, variances, c) for f in functions]
    # g = s x + (1 - s) x₊, the second part as in Cho and Saul (2009).
    s, (a, b) = SLOPES[name], variances
    root, angle = np.sqrt(max(a * b - c * c, 0.0)), np.arcsin(min(c / np.sqrt(a * b), 1.0))
    t = 1 - s
    return [
        (s + t / 2) ** 2 * c + t**2 * (root + c * angle) / (2 * np.pi),
        (s + t / 2) ** 2 + t**2 * angle / (2 * np.pi),
        t**2 / (2 * np.pi * root) if root else np.inf,
    ]


def saddle(name):
    one = RECORDED.sel(unit=name)
    return [float(one[key]) for key in ("Q", "C", "R")]


@pytest.mark.parametrize("name", plateaus.NAMES)
def test_the_eigenvalue_is_that_of_averages_over_two_fields(name):
    Q, C, R = saddle(name)
    _, slope, curvature = kernel(name, (Q, 1.0), R)
    growth = curvature - slope / R + K * kernel(name, (Q, Q), C)[1]
    # Odd units have Q = C where both move quadratically: Newton's method finds half the digits.
    assert growth == pytest.approx(float(RECORDED["growth"].sel(unit=name)), abs=1e-7)


@pytest.mark.parametrize("name", plateaus.NAMES)
def test_the_height_is_that_of_averages_over_two_fields(name):
    Q, C, R = saddle(name)
    students = K * kernel(name, (Q, Q), Q)[0] + K * (K - 1) * kernel(name, (Q, Q), C)[0]
    teachers = K * kernel(name, (1, 1), 1.0)[0] + K * (K - 1) * kernel(name, (1, 1), 0.0)[0]
    error = 0.5 * (students - 2 * K**2 * kernel(name, (Q, 1), R)[0] + teachers)
    one = RECORDED.sel(unit=name)
    assert abs(error - float(one["height"])) < float(one["height_error"]) + 1e-12


@pytest.mark.parametrize("name", plateaus.NAMES)
def test_students_of_a_plateau_do_not_move(name):
    """⟨δ_i y_n⟩ ∝ k' - [(K - 1) k_C' + D] R and ⟨δ_i x_k⟩ = 0 with the same D."""
    Q, C, R = saddle(name)
    slope, other = kernel(name, (Q, 1.0), R)[1], kernel(name, (Q, Q), C)[1]
    D = slope / R - (K - 1) * other
    assert K * slope * R == pytest.approx(other * (Q + (K - 2) * C) + D * C, abs=1e-8)  # Newton


def test_what_students_have_besides_the_teachers_sums_to_zero():
    """Σ_ik (Q_ik - R_i · R_k) = 0; a saddle is known to the root of rounding."""
    Q, C, R = (RECORDED[key].values for key in ("Q", "C", "R"))
    assert pytest.approx(K**2 * R**2, abs=1e-6) == Q + (K - 1) * C


def test_lengths_are_set_by_the_eigenvalue_and_this_by_the_first_coefficient_beyond_the_linear():
    even = np.abs(RECORDED["c2"].values) > 1e-9
    assert list(RECORDED["unit"].values[~even]) == ["erf", "tanh", "sin", "sigmoid"]
    product = (RECORDED["growth"] * RECORDED["length"]).values
    for kind in (even, ~even):
        assert np.max(product[kind]) < 1.4 * np.min(product[kind])
    c = np.where(even, RECORDED["c2"], RECORDED["c3"]) ** 2
    for kind in (even, ~even):
        assert np.all(np.diff(RECORDED["growth"].values[kind][np.argsort(c[kind])]) > 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", plateaus.QUICK)
def test_the_length_can_be_read_off_a_curve(name):
    one = RECORDED.sel(unit=name)
    s, height = plateaus.scenario(plateaus.units()[name]), float(one["height"])
    times = np.linspace(0, 200, 8001)
    run = tl.online.evolve(s, plateaus.start(), 0, until=200, times=times)
    beside = np.abs(run["generalization_error"].values - height) <= 0.1 * height
    length = np.ptp(run["time"].values[: len(beside)][beside])
    assert abs(length - float(one["length"])) < 2 * 0.025  # two steps of the recorded times


def test_the_solution_becomes_unstable_where_it_is_recorded():
    exact, stored = (
        solution_loses_stability(plateaus.scenario(plateaus.units()["erf"])),
        RECORDED.sel(unit="erf"),
    )
    error = exact.error + float(stored["unstable_error"])
    assert abs(float(stored["unstable"]) - exact.value) < error


@pytest.mark.slow
@pytest.mark.parametrize("name", plateaus.NAMES)
def test_disturbed_solutions_heal_below_the_recorded_rate_and_grow_above(name):
    s = plateaus.scenario(plateaus.units()[name])
    away = 3e-3 * np.random.default_rng(16).normal(size=(K, 2 * K))  # in every direction
    start = tl.Overlaps.from_weights(np.eye(K, 2 * K) + away, np.eye(K, 2 * K))
    critical = float(RECORDED["unstable"].sel(unit=name))
    for share, grows in ((0.9, False), (1.1, True)):
        # Not longer: norms of units without bounds then grow to where averages are expensive.
        run = tl.online.evolve(s, start, share * critical, until=30, times=[0.0, 30.0])
        first, last = run["generalization_error"].values
        assert last > 10 * first if grows else last < 0.1 * first, (share, first, last)


@pytest.mark.slow
@pytest.mark.parametrize("name", plateaus.QUICK)
def test_the_saddle_turns_round_at_the_recorded_rate(name):
    """Followed from η = 0.1, where students have different parts outside the teachers' span."""
    s, (Q, C, R) = plateaus.scenario(plateaus.units()[name]), saddle(name)
    start = tl.Overlaps(Q=(Q - C + 0.02) * np.eye(K) + C, R=np.full((K, K), R), T=s.T)
    along = tl.online.branch(s, start, 0.1, until=10.0, step=0.1, max_steps=250)
    first = float(along["special_learning_rate"][0])
    assert str(along["special_kind"].values[0]) == "fold"
    assert first == pytest.approx(float(RECORDED["vanishes"].sel(unit=name)), abs=1e-9)  # Newton


@pytest.mark.slow
def test_what_is_recorded_is_computed_again():
    second, one = plateaus.measured(("GELU",)).isel(unit=0), RECORDED.sel(unit="GELU")
    for key in ("height", "length", "growth"):
        error = float(second[f"{key}_error"] + one[f"{key}_error"])
        assert abs(float(second[key] - one[key])) < error + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", plateaus.NAMES)
def test_finite_networks_follow_the_curve_of_every_unit(name):
    """From a start that prefers, so that chance does not decide who specializes."""
    s = plateaus.scenario(plateaus.units()[name])
    start = tl.Overlaps(Q=0.2 * np.eye(K), R=0.3 * np.eye(K), T=s.T)
    times = np.linspace(0, 20, 21)
    theory = tl.online.evolve(s, start, 0.5, until=20, times=times, tolerance=1e-8)
    options = {"dimension": 1000, "runs": 64, "seed": 16, "times": times}
    runs = tl.simulation.chain(s, start, 0.5, until=20, **options)
    comparison = tl.simulation.compare(theory, runs)
    assert comparison.agrees, str(comparison)
    # and would not follow that of a rate 5 percent larger
    other = tl.online.evolve(s, start, 0.525, until=20, times=times, tolerance=1e-8)
    assert not tl.simulation.compare(other.drop_attrs(), runs).agrees

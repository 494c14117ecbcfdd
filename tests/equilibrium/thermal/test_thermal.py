"""Learning at a finite temperature: theory against mpmath, limits, identities and closed forms."""

import math

import numpy as np
import pytest
from equilibrium.thermal import thermal_reference as reference
from mpmath import mp, mpf
from scipy.optimize import brentq

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.equilibrium.kernel.kernel import kernel_of
from tutelage.equilibrium.symmetric.branches import follow_branches
from tutelage.equilibrium.symmetric.coexistence import load_of
from tutelage.equilibrium.symmetric.theory import Point, Theory, theory_of
from tutelage.equilibrium.thermal.near_one import NearOne
from tutelage.equilibrium.thermal.quenched import QuenchedTheory
from tutelage.equilibrium.thermal.setting import setting_of
from tutelage.equilibrium.thermal.sheets import roots
from tutelage.equilibrium.thermal.solution import solution_of
from tutelage.equilibrium.thermal.transitions import glass_load

INF, EPSILON = math.inf, float(np.finfo(float).eps)
KERNELS = {"relu": (tl.ReLU(), reference.relu), "erf": (tl.Erf(), reference.erf)}
states, transitions = tl.equilibrium.states, tl.equilibrium.transitions


def specialized(activation, load, **setting):
    """The specialized minimum with the largest R."""
    result = states(activation, INF, load, **setting)
    return max((s for s in result if s.R > 0), key=lambda s: s.R)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("p", [1e-12, 1e-6, 1e-3, 0.3, 0.69, 0.71, 1.0])
def test_kernels_next_to_one_keep_their_digits(name, p):
    activation, kernel = KERNELS[name]
    near, k = NearOne(kernel_of(activation)), reference.without_linear_part(kernel)
    drop, first, second = (float(x) for x in near(p))
    with mp.workdps(reference.DIGITS):
        rho = 1 - mpf(p)
        # κ̃'(cos θ) rounds by ε/√p next to a kink.
        tolerance = 40 * EPSILON / (math.sqrt(p) if near.is_kinked else 1)
        assert drop == pytest.approx(float(k(mpf(1)) - k(rho)), rel=tolerance)
        assert first == pytest.approx(float(mp.diff(k, rho)), rel=tolerance, abs=1e-16)
        assert second == pytest.approx(float(mp.diff(k, rho, 2)), rel=40 * EPSILON)


CASES = [
    ("relu", 3.0, 0.1, 0.0),
    ("relu", 4.0, 0.3, 0.4),
    ("relu", 8.0, 0.05, 0.3),  # below the Nishimori temperature
    ("erf", 9.0, 0.1, 0.0),
    ("erf", 16.0, 0.2, 0.3),
    ("erf", 1.2, 1e-4, 0.0),
]


@pytest.mark.parametrize(("name", "load", "T", "noise"), CASES)
def test_states_are_stationary_points_of_the_free_energy_in_mpmath(name, load, T, noise):
    activation, kernel = KERNELS[name]
    state = specialized(activation, load, temperature=T, label_noise=noise)
    R, q = reference.extremum(kernel, state.R, state.q, load, 1 / T, noise**2)
    # Conditioned like 1/(1 − R²) and 1/T through A = κ̃(1) − κ̃(q).
    assert pytest.approx(float(R), abs=1e-13) == state.R
    assert 1 - state.q == pytest.approx(float(1 - q), rel=1e-11)
    arguments = (mpf(load), 1 / mpf(T), mpf(noise) ** 2)
    with mp.workdps(reference.DIGITS):
        energy = reference.quenched(kernel, R, q, *arguments)
        by_beta = mp.diff(lambda b: reference.quenched(kernel, R, q, mpf(load), b, arguments[2]),
                          arguments[1])  # fmt: skip
        f = lambda R: extremal_in_q(kernel, R, q, arguments)  # noqa: E731
        curvature = mp.diff(f, R, 2)
    assert state.free_energy_per_unit == pytest.approx(float(energy), rel=1e-12)
    assert state.training_error == pytest.approx(float(by_beta / mpf(load)), rel=1e-10)
    assert state.curvature == pytest.approx(float(curvature), rel=1e-8)


def extremal_in_q(kernel, R, q, arguments):
    """βf/K at its extremum over q, computed for each R."""
    slope = lambda q: mp.diff(lambda x: reference.quenched(kernel, R, x, *arguments), q)  # noqa: E731
    return reference.quenched(kernel, R, mp.findroot(slope, (q, q - (1 - q) / 1000)), *arguments)


@pytest.mark.parametrize("name", KERNELS)
def test_determinants_of_integer_replicas_lead_to_the_quenched_free_energy(name):
    """(α̃/2) ln det(1 + βE) − ½ ln det(Q − R²) over n, for n = 2 and 3; and its limit n → 0."""
    kernel, (R, q, load, beta, noise) = KERNELS[name][1], map(mpf, ("0.6", "0.5", "3", "4", "0.1"))
    with mp.workdps(30):
        k = reference.without_linear_part(kernel)
        for n in (2, 3):
            overlaps = mp.matrix(n, n)
            errors = mp.matrix(n, n)
            for a in range(n):
                for b in range(n):
                    Q = mpf(1) if a == b else q
                    overlaps[a, b] = Q - R**2
                    errors[a, b] = (a == b) + beta * (k(Q) - 2 * k(R) + k(mpf(1)) + noise)
            exact = load / 2 * mp.log(mp.det(errors)) - mp.log(mp.det(overlaps)) / 2
            closed = reference.quenched(kernel, R, q, load, beta, noise, replicas=n)
            assert abs(exact / n - closed) < 1e-25
        small = [reference.quenched(kernel, R, q, load, beta, noise, replicas=mpf(10) ** -k)
                 for k in (8, 9)]  # fmt: skip
        limit = (10 * small[1] - small[0]) / 9
        assert abs(limit - reference.quenched(kernel, R, q, load, beta, noise)) < 1e-14


@pytest.mark.parametrize(("name", "load", "T", "noise"), CASES)
def test_states_are_stationary_by_automatic_differentiation(name, load, T, noise):
    """∂/∂R and ∂/∂q of βf/K vanish, and ∂/∂β is α̃ times the training error."""
    state = specialized(KERNELS[name][0], load, temperature=T, label_noise=noise)
    kappa = {
        "relu": lambda r: (jnp.sqrt(1 - r**2) + r * jnp.arcsin(r) - 1) / (2 * jnp.pi),
        "erf": lambda r: 2 / jnp.pi * jnp.arcsin(r / 2) - r / jnp.pi,
    }[name]
    top = {"relu": 0.25 - 0.5 / math.pi, "erf": 1 / 3 - 1 / math.pi}[name]

    def free_energy(x):
        R, q, beta = x
        A, B = top - kappa(q), top - 2 * kappa(R) + kappa(q) + noise**2
        entropy = 0.5 * jnp.log(1 - q) + 0.5 * (q - R**2) / (1 - q)
        return load / 2 * (jnp.log(1 + beta * A) + beta * B / (1 + beta * A)) - entropy

    x = jnp.array([state.R, state.q, 1 / T])
    in_R, in_q, in_beta = np.asarray(jax.grad(free_energy)(x))
    # Terms of the size 1/(1 − q)² cancel; κ̃(1) − κ̃(q) keeps ε/(1 − q).
    size = EPSILON * (1 / (1 - state.q)) ** 3
    assert abs(in_R) < 40 * size and abs(in_q) < 40 * size
    assert in_beta == pytest.approx(load * state.training_error, rel=1e-10)


@pytest.mark.parametrize(("name", "load", "T", "noise"), CASES)
def test_the_replicon_is_the_curvature_of_the_functional_of_integer_replicas(name, load, T, noise):
    """At n replicas Λ has (B+ς²)/((1+βA)(1+βA+nβ(B+ς²))) for (B+ς²)/(1+βA)²; n → 0 by a fit.

    The functional of n replicas, G = (α̃/2) ln det(1 + βE) − ½ ln det(Q − R Rᵀ), is differentiated
    twice along a replicon direction, for n = 4, with matrices in 30 digits.
    """
    _, kernel = KERNELS[name]
    state = specialized(KERNELS[name][0], load, temperature=T, label_noise=noise)
    beta, variance, n = 1 / T, noise**2, 4
    with mp.workdps(30):
        k = reference.without_linear_part(kernel)
        one, R, q = k(mpf(1)), mpf(state.R), mpf(state.q)
        direction = mp.matrix(n)
        for a, b, sign in ((0, 1, 1), (2, 3, 1), (0, 2, -1), (1, 3, -1)):
            direction[a, b] = direction[b, a] = sign

        def functional(x):
            overlaps = mp.matrix(n, n)
            energies = mp.matrix(n, n)
            for a in range(n):
                for b in range(n):
                    Q = mpf(1) if a == b else q + x * direction[a, b]
                    overlaps[a, b] = Q - R**2
                    error = k(Q) - 2 * k(R) + one + mpf(variance)
                    energies[a, b] = (1 if a == b else 0) + mpf(beta) * error
            return mpf(load) / 2 * mp.log(mp.det(energies)) - mp.log(mp.det(overlaps)) / 2

        bend = mp.diff(functional, 0, 2)
        A, B = one - k(q), one - 2 * k(R) + k(q) + mpf(variance)
        width = 1 + mpf(beta) * A
        mixed = B / (width * (width + n * mpf(beta) * B))
        k1, k2 = mp.diff(k, q), mp.diff(k, q, 2)
        p = 1 - q
        of_n = 1 / p**2 - mpf(load) * mpf(beta) ** 2 * (k1**2 / width**2 + mixed * k2)
        norm = sum(direction[a, b] ** 2 for a in range(n) for b in range(n))
        assert float(bend) == pytest.approx(float(norm / 2 * of_n), rel=1e-12)
        limit = 1 - mpf(load) * mpf(beta) ** 2 * p**2 * (k1**2 + B * k2) / width**2
    assert state.replicon == pytest.approx(float(limit), abs=1e-9)


@pytest.mark.parametrize("activation", [tl.ReLU(), tl.Erf(), tl.GELU()])
@pytest.mark.parametrize("approximation", ["quenched", "annealed"])
def test_high_temperature_gives_the_present_theory(activation, approximation):
    """α̃/T → α with corrections of order β κ̃(1)."""
    T = 1e6
    hot = transitions(activation, INF, temperature=T, approximation=approximation)
    limit = transitions(activation, INF)
    beta = 3 * kernel_of(activation).tilde(1.0) / T
    assert hot.order == limit.order
    for name in ("appears", "coexists", "unstable"):
        mine, known = getattr(hot, name), getattr(limit, name)
        if known is None:
            assert mine is None
        else:
            assert mine.value / T == pytest.approx(known.value, rel=beta + 1e-12)
    load = 1.3 * limit.coexists.value
    state = specialized(activation, load * T, temperature=T, approximation=approximation)
    known = max(states(activation, INF, load), key=lambda s: s.R)
    assert state.scaled_load == pytest.approx(load, rel=1e-15)
    assert pytest.approx(known.R, abs=10 * beta + 1e-12) == state.R
    assert state.free_energy_per_unit == pytest.approx(
        known.free_energy_per_unit, abs=10 * beta * load
    )
    assert state.training_error == pytest.approx(known.generalization_error, abs=10 * beta)


def test_closed_lines_of_the_unspecialized_state():
    for T in (0.05, 0.7):
        result = transitions(tl.ReLU(), INF, temperature=T)
        # κ̃''(0) = 2c_2² = 1/(2π) and κ̃(1) = 1/4 − 1/(2π): 2πT + π/2 − 1.
        assert result.unstable.value == pytest.approx(2 * np.pi * T + np.pi / 2 - 1, rel=1e-13)
        assert result.agreement.value == pytest.approx(
            result.unstable.value * (T + 0.25 - 0.5 / np.pi) / (0.25 - 0.5 / np.pi), rel=1e-13
        )
        annealed = transitions(tl.ReLU(), INF, temperature=T, approximation="annealed")
        assert annealed.unstable.value == pytest.approx(2 * np.pi * T + np.pi - 2, rel=1e-13)
    cold = transitions(tl.ReLU(), INF, temperature=0)
    assert cold.unstable.value == pytest.approx(np.pi / 2 - 1, rel=1e-13)
    assert cold.order == "continuous"


@pytest.mark.parametrize("name", KERNELS)
def test_on_the_nishimori_line_replicas_are_as_close_as_the_teacher(name):
    activation, _ = KERNELS[name]
    noise = 0.3
    result = transitions(activation, INF, temperature="bayes", label_noise=noise)
    state = specialized(
        activation, 2 * result.appears.value, temperature="bayes", label_noise=noise
    )
    assert state.temperature == pytest.approx(noise**2)
    assert state.q == pytest.approx(state.R, abs=4 * EPSILON)
    assert state.training_error == pytest.approx(noise**2 / 2, rel=1e-12)
    # The general equations, which do not know of the line, have it as a solution.
    theory = QuenchedTheory(kernel_of(activation), noise**2, noise**2)
    point = Point(state.R, -math.log1p(state.R), 0.0)
    assert theory.slope(point)[0] == pytest.approx(2 * result.appears.value, rel=1e-12)
    assert abs(theory.equations(point).F[0]) < 4 * EPSILON


def test_replica_symmetry_is_marginal_at_the_spinodal_of_the_nishimori_line():
    noise = math.sqrt(0.1)
    result = transitions(tl.Erf(), INF, temperature="bayes", label_noise=noise)
    theory = setting_of(tl.Erf(), INF, "bayes", "quenched", noise).theory
    near = specialized(tl.Erf(), result.appears.value * (1 + 1e-10), temperature="bayes",
                       label_noise=noise)  # fmt: skip
    # Λ vanishes like the square root of the distance, 1e-5.
    assert abs(near.replicon) < 1e-4
    assert theory.replicon(result.appears.value, Point(near.R, -math.log1p(near.R), 0.0)) < 1e-4


def test_the_glass_of_odd_units_appears_where_equal_free_energies_say_on_the_nishimori_line():
    """α̃_K > α̃_c above T = ς², equal to it there, and below it no α̃_c is given."""
    noise = math.sqrt(0.1)
    hot, bayes, cold = (
        transitions(tl.Erf(), INF, temperature=T, label_noise=noise)
        for T in (1 / 8, "bayes", 1 / 12)
    )
    assert (round(hot.agreement.value, 1), round(hot.coexists.value, 1)) == (17.4, 12.5)
    assert bayes.agreement.value == pytest.approx(bayes.coexists.value, rel=1e-12)
    assert round(cold.agreement.value, 1) == 8.6
    assert cold.coexists is None and "Nishimori" in cold.reasons["coexists"]
    assert cold.replica_symmetric is False


def test_the_glass_load_by_a_minimum_over_a_fine_grid():
    theory = QuenchedTheory(kernel_of(tl.Erf()), 0.125, 0.1)
    k = reference.without_linear_part(reference.erf)
    top, T, noise = k(mpf(1)), mpf(0.125), mpf(0.1)

    def load(q):
        u = k(q) / (T + top)
        return (mp.log(1 - q) + q) / (mp.log(1 - u) + u * (T - noise) / (T + top))

    with mp.workdps(20):
        coarse = min((mpf(i) / 200 for i in range(1, 200)), key=load)
        q = mp.findroot(lambda q: mp.diff(load, q), (coarse, coarse + mpf(10) ** -4))
        assert glass_load(theory).value == pytest.approx(float(load(q)), rel=1e-12)


def test_at_zero_temperature_erf_learns_perfectly_from_one_example_per_weight():
    result = transitions(tl.Erf(), INF, temperature=0)
    assert result.coexists.value == 1.0 and result.jump == 1.0
    state = states(tl.Erf(), INF, 1.5, temperature=0)[0]
    assert (state.R, state.q, state.training_error) == (1.0, 1.0, 0.0)
    # χ = 1/((α̃ − 1) κ̃'(1)) is the limit of (1 − q)/T.
    T = 1e-7
    cold = specialized(tl.Erf(), 1.5, temperature=T)
    assert (1 - cold.q) / T == pytest.approx(state.susceptibility, rel=1e-4)
    # α̃_c tends to 1 only logarithmically.
    assert transitions(tl.Erf(), INF, temperature=5e-7).coexists.value == pytest.approx(
        1.0278, abs=1e-4
    )


@pytest.mark.parametrize("name", KERNELS)
def test_states_without_interpolation_are_the_limit_of_low_temperature(name):
    """q → 1 with χ finite at T = 0 and noisy labels, against T = 1e-7."""
    activation, _ = KERNELS[name]
    load, T, noise = 14.0, 1e-7, 0.3
    zero = specialized(activation, load, temperature=0, label_noise=noise)
    cold = specialized(activation, load, temperature=T, label_noise=noise)
    # Corrections of order T for smooth units and √T with a kink.
    tolerance = 3e-3 if name == "relu" else 1e-4
    assert zero.q == 1.0
    assert pytest.approx(zero.R, rel=tolerance) == cold.R
    assert (1 - cold.q) / T == pytest.approx(zero.susceptibility, rel=tolerance)
    assert cold.training_error == pytest.approx(zero.training_error, rel=tolerance)
    assert (zero.replicon == -INF) == (name == "relu")


@pytest.mark.parametrize("activation", [tl.ReLU(), tl.Erf()])
def test_students_are_closest_to_the_teacher_where_replica_symmetry_becomes_unstable(activation):
    """dR/dT = 0 where Λ = 0: at a given R the derivative of the saddle-point equation in q is Λ."""
    load = {"ReLU": 6.0}.get(activation.name, 11.0)

    def state(T):
        return specialized(activation, load, temperature=T, label_noise=0.3)

    T = brentq(lambda T: state(T).replicon, 1e-3, 0.03, xtol=1e-12)
    step = 1e-3 * T
    rate = (state(T + step).R - state(T - step).R) / (2 * step)
    beside = (state(2 * T).R - state(T).R) / T
    # The quotient has an error of the order step².
    assert abs(rate) < 1e-4 * abs(beside)
    assert state(0.5 * T).R < state(T).R > state(2 * T).R


def test_below_the_nishimori_temperature_students_agree_first():
    noise = math.sqrt(0.1)
    result = transitions(tl.ReLU(), INF, temperature=0.05, label_noise=noise)
    assert result.agreement.value < result.unstable.value
    # ... and specialization begins beyond the line (T + κ̃(1))/(2c_2²) of the state q = 0.
    assert result.unstable.value > 2 * np.pi * 0.05 + np.pi / 2 - 1
    load = 0.5 * (result.agreement.value + result.unstable.value)
    listed = states(tl.ReLU(), INF, load, temperature=0.05, label_noise=noise)
    agreeing = next(s for s in listed if s.kind == "agreeing")
    assert agreeing.R == 0.0 and agreeing.q > 0.1 and agreeing.site_stable
    assert not agreeing.replica_symmetric and "unstable" in agreeing.brief
    # Its own equation, in mpmath.
    with mp.workdps(30):
        k = reference.without_linear_part(reference.relu)
        q, T = mpf(agreeing.q), mpf(0.05)
        A, B = k(mpf(1)) - k(q), k(mpf(1)) + k(q) + mpf(noise) ** 2
        residual = q / (1 - q) ** 2 - mpf(load) * B * mp.diff(k, q) / (T + A) ** 2
    assert abs(residual) < 1e-11


def test_all_roots_of_one_overlap_are_found():
    """ReLU at T = 1e-5: a step remains, with three q for one R (below 1e-5 < T < 1e-4)."""
    theory = setting_of(tl.ReLU(), INF, 1e-5, "quenched", 0.0).theory
    (result,) = roots(theory, np.array([0.5]))
    F = theory.equations(Point(np.full(len(result), 0.5), result, 0.0)).F[:, 0]
    assert len(result) == 3 and np.max(np.abs(F)) < 4 * EPSILON
    # A grid forty times finer shows as many changes of sign.
    d = np.linspace(-25, -1e-9, 400_001)
    fine = theory.equations(Point(np.full(len(d), 0.5), d, 0.0)).F[:, 0]
    assert np.count_nonzero(np.diff(np.sign(fine))) == 3


def fold_in_mpmath(kernel, load, T, noise, start):
    """The load at which α̃(R) is extremal on the curve of roots q, from α̃(R, q) and F(R, q)."""
    k = reference.without_linear_part(kernel)
    first, top = lambda x: mp.diff(k, x), k(mpf(1))
    alpha = lambda R, q: R * (T + top - k(q)) / ((1 - q) * first(R))  # noqa: E731

    def residual(R, q):
        A, B = top - k(q), top - 2 * k(R) + k(q) + noise
        return (q - R**2) * first(R) * (T + A) - (1 - q) * B * first(q) * R

    def parallel(R, q):
        a, b = ([mp.diff(f, (R, q), n) for n in ((1, 0), (0, 1))] for f in (alpha, residual))
        return a[0] * b[1] - a[1] * b[0]

    R, q = mp.findroot((residual, parallel), start, tol=mpf(10) ** -40, verify=False)
    assert abs(residual(R, q)) < mpf(10) ** -30 and abs(alpha(R, q) - load) < 1e-6
    return alpha(R, q)


@pytest.mark.parametrize("T", [0.0, 0.003])
def test_a_fold_below_the_nishimori_temperature_is_that_of_mpmath(T):
    setting = setting_of(tl.Erf(), INF, T, "quenched", 0.3)
    solution = solution_of(tl.Erf(), setting)
    fold = min(solution.curves[0].folds, key=lambda p: p.V)
    result = load_of(setting.theory, fold)
    start = fold.V, float(setting.theory.replica_overlap(fold))
    with mp.workdps(25):
        exact = fold_in_mpmath(reference.erf, result.value, mpf(T), mpf("0.09"), start)
    assert abs(result.value - float(exact)) < result.error


@pytest.mark.parametrize(("noise", "T"), [(0.0, 0.1), (0.3, 0.0), (0.3, 0.01), (0.3, 0.09)])
def test_folds_by_newtons_method_are_those_of_bisection(noise, T, monkeypatch):
    """Erf: Newton's method in (R, d), and a bracketed search that solves for d at every R."""
    theory = setting_of(tl.Erf(), INF, T, "quenched", noise).theory
    by_newton = follow_branches(theory).folds
    monkeypatch.setattr(QuenchedTheory, "fold", Theory.fold)
    by_bisection = follow_branches(theory).folds
    assert len(by_newton) == len(by_bisection) > 0
    for first, second in zip(by_newton, by_bisection, strict=True):
        assert pytest.approx(second.V, rel=1e-6) == first.V  # the load is flat there
        loads = [load_of(theory, fold) for fold in (first, second)]
        assert abs(loads[0].value - loads[1].value) < loads[0].error


@pytest.mark.parametrize(("R", "T"), [(1e-6, 0.1), (3e-5, 1.0)])
def test_a_root_next_to_no_overlap_keeps_its_digits(R, T):
    """ReLU, R → 0: q/R² → 1 + (κ̃(1)+ς²)/(T−ς²), the ratio of two linear equations."""
    theory = setting_of(tl.ReLU(), INF, T, "quenched", 0.0).theory
    ((d,),) = roots(theory, np.array([R]))
    q = float(theory.replica_overlap(Point(R, d, 0.0)))
    # Terms of order R² are left out.
    assert q / R**2 == pytest.approx(1 + theory.near.top / T, rel=10 * R**2 / T + 1e-11)


def test_rounding_makes_no_branches():
    """GELU at T = 0 with noise: α̃ of the states R = 0 < q is constant to rounding for q → 1."""
    solution = solution_of(tl.GELU(), setting_of(tl.GELU(), INF, 0.0, "quenched", 0.3))
    interpolating = [b for b in solution.branches[:-1] if b.kind == "agreeing"]
    assert len(interpolating) == 2  # one with q < 1, one with q → 1 and χ finite


@pytest.mark.parametrize("name", KERNELS)
def test_the_annealed_free_energy_is_a_lower_bound_of_the_quenched_one(name):
    """ln ⟨Z⟩ ≥ ⟨ln Z⟩ at the extremum, and equality for β → 0."""
    activation, kernel = KERNELS[name]
    for load, T in ((3.0, 0.3), (9.0, 0.1)):
        arguments = {"temperature": T, "saddles": True}
        quenched = states(activation, INF, load, **arguments)
        annealed = states(activation, INF, load, approximation="annealed", **arguments)
        lowest = [
            min(s.free_energy_per_unit for s in x if s.replica_symmetric)
            for x in (quenched, annealed)
        ]
        assert lowest[1] <= lowest[0]
        for state in annealed:
            with mp.workdps(30):
                exact = reference.annealed(kernel, mpf(state.R), mpf(load), 1 / mpf(T), mpf(0))
                slope = mp.diff(
                    lambda R, load=load, T=T: reference.annealed(
                        kernel, R, mpf(load), 1 / mpf(T), mpf(0)
                    ),
                    mpf(state.R),
                )
            assert state.free_energy_per_unit == pytest.approx(float(exact), rel=1e-12)
            assert abs(slope) < 1e-10


@pytest.mark.parametrize("T", [0.1, 0.3, 0.5])
def test_of_mirror_images_with_one_free_energy_the_positive_one_comes_first(T):
    """κ̃ of the ReLU is even: R and −R differ by rounding alone."""
    first, second = states(tl.ReLU(), INF, 5.0, temperature=T, label_noise=0.3)[:2]
    assert first.R > 0
    assert abs(first.R + second.R) < 1e-9


def test_curves_and_phases_agree_with_single_states():
    loads = np.array([0.5, 1.1, 2.0, 5.0])
    curve = tl.equilibrium.learning_curve(tl.ReLU(), INF, loads, temperature=0.1)
    assert curve["scaled_load"].values == pytest.approx(loads / 0.1)
    for i, load in enumerate(loads):
        for state in states(tl.ReLU(), INF, load, temperature=0.1, saddles=True):
            R = curve["R"].values[:, i]
            same = (curve["kind"].values == state.kind) & (np.abs(R - state.R) < 1e-12)
            assert np.count_nonzero(same) == 1
            row = curve.isel(branch=int(np.flatnonzero(same)[0]), load=i)
            assert float(row["training_error"]) == pytest.approx(state.training_error, rel=1e-12)
            assert bool(row["replica_symmetric"]) == state.replica_symmetric
    phases = tl.equilibrium.phases(tl.ReLU(), INF, loads, temperature=0.1)
    assert phases["phase"].values.tolist() == ["unspecialized"] * 2 + ["specialized"] * 2
    assert tl.results.recompute(phases).equals(phases)


def test_a_curve_at_temperature_is_saved_and_computed_again(tmp_path):
    curve = tl.equilibrium.learning_curve(
        tl.Erf(), INF, [5.0, 9.0], temperature=0.1, label_noise=0.2
    )
    tl.results.save(curve, tmp_path / "curve.nc")
    assert tl.results.recompute(tl.results.load(tmp_path / "curve.nc")).equals(curve)


def test_kinds_of_transitions_are_read_off_the_branch():
    kind = tl.equilibrium.transition_kind(tl.ReLU(), temperature=0.1)
    assert kind.order == "continuous" and "R²" in kind.because
    result = transitions(tl.ReLU(), INF, temperature=0.1)
    state = specialized(tl.ReLU(), result.unstable.value + 1e-4, temperature=0.1)
    bend = 1e-4 / state.R**2
    assert bend == pytest.approx(result.bend.value, rel=1e-3)
    assert tl.equilibrium.transition_kind(tl.Erf(), temperature=0.1).order == "discontinuous"
    assert tl.equilibrium.transition_kind(tl.Linear(), temperature=0.1).order == "none"


@pytest.mark.parametrize("noise", [0.05, 0.3])
def test_noisy_minimizers_specialize_continuously_at_zero_temperature_too(noise):
    """ReLU at T = 0 is the limit of low temperatures, where the branch begins in the glass."""
    zero, cold = (
        transitions(tl.ReLU(), INF, temperature=T, label_noise=noise) for T in (0.0, 1e-9)
    )
    assert zero.order == cold.order == "continuous"
    # Corrections of order √T with a kink, in the regime of q → 1.
    assert zero.unstable.value == pytest.approx(cold.unstable.value, rel=1e-4)
    assert zero.bend.value == pytest.approx(cold.bend.value, rel=1e-3)
    assert zero.replica_symmetric is cold.replica_symmetric is False
    if noise == 0.3:  # κ̃'(1)(2κ̃(1) + ς²)/κ̃''(0)² with κ̃'(1) = 1/4 and κ̃''(0) = 1/(2π)
        width = 2 * (0.25 - 0.5 / math.pi) + noise**2
        assert zero.unstable.value == pytest.approx(math.pi**2 * width, rel=1e-13)


@pytest.mark.parametrize("T", [1e5, 1.0, 1e-4])
def test_a_third_coefficient_in_addition_to_the_second_makes_the_transition_discontinuous(T):
    """κ̃ = ρ² + ρ³: the load begins linearly and falls, and a fold lies below the instability."""
    unit = tl.Activation.from_function(
        lambda x: (x**2 - 1) / math.sqrt(2) + (x**3 - 3 * x) / math.sqrt(6) + x, name="cubic"
    )
    result = transitions(unit, INF, temperature=T)
    assert result.order == "discontinuous" and result.bend is None
    assert result.appears.value < result.coexists.value < result.unstable.value
    # (T + κ̃(1))/κ̃''(0), and the fold on a fine grid of R with all roots q.
    assert result.unstable.value == pytest.approx((T + 2) / 2, rel=1e-12)
    theory = setting_of(unit, INF, T, "quenched", 0.0).theory
    R = np.linspace(0.25, 4, 300) * result.specialized.R
    R = R[R < 1]
    loads = [theory.slope(Point(np.full(len(d), r), d, 0.0 * d))[0].min()
             for r, d in zip(R, roots(theory, R), strict=True)]  # fmt: skip
    assert result.appears.value == pytest.approx(min(loads), rel=1e-3)
    assert result.appears.value <= min(loads) * (1 + 1e-12)


@pytest.mark.parametrize("T", [1e-2, 1e-4])
def test_the_bend_is_that_of_the_branch_that_begins_where_the_transition_is(T):
    """ReLU: [α̃(R) − α̃(0)]/R² at R = 10⁻⁸, from both saddle-point equations in 50 digits."""
    result = transitions(tl.ReLU(), INF, temperature=T)
    with mp.workdps(50):
        R, temperature = mpf(10) ** -8, mpf(T)
        k = reference.without_linear_part(reference.relu)
        first = lambda x: mp.asin(x) / (2 * mp.pi)  # noqa: E731
        width = lambda q: temperature + k(mpf(1)) - k(q)  # noqa: E731
        load = lambda q: R * width(q) / ((1 - q) * first(R))  # noqa: E731

        def residual(q):
            B = k(mpf(1)) - 2 * k(R) + k(q)
            return (q - R**2) / (1 - q) ** 2 - load(q) * B * first(q) / width(q) ** 2

        q = mp.findroot(residual, 2 * R**2)
        start = 2 * mp.pi * temperature + mp.pi / 2 - 1
        bend = float((load(q) - start) / R**2)
    assert abs(result.bend.value - bend) < result.bend.error < 1e-4 * bend


@pytest.mark.parametrize("activation", [tl.ReLU(), tl.Erf()])
@pytest.mark.parametrize("approximation", ["quenched", "annealed"])
def test_at_zero_temperature_without_noise_the_teacher_is_the_state_beyond_one(
    activation, approximation
):
    listed = states(activation, INF, 1.5, temperature=0, approximation=approximation)
    assert (listed[0].R, listed[0].training_error) == (1.0, 0.0)
    assert all(s.R < 1 for s in states(activation, INF, 0.9, temperature=0))


@pytest.mark.parametrize("T", [0.0, 0.2])
@pytest.mark.parametrize("approximation", ["quenched", "annealed"])
def test_linear_units_have_one_state_and_the_noise_is_their_error(T, approximation):
    """κ̃ = 0: quenched ½ ς², annealed ½ ς² T/(T + ς²)."""
    setting = {"temperature": T, "label_noise": 0.3, "approximation": approximation}
    for load in (0.0, 2.0):
        (state,) = states(tl.Linear(), INF, load, saddles=True, **setting)
        share = T / (T + 0.09) if approximation == "annealed" else 1.0
        assert (state.kind, state.R) == ("unspecialized", 0.0)
        assert state.training_error == pytest.approx(0.045 * share, rel=1e-14)
        assert not math.isnan(state.free_energy_per_unit)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": "cold"}, "bayes"),
        ({"temperature": "bayes"}, "label_noise"),
        ({"temperature": 0.1, "approximation": "exact"}, "quenched"),
        ({"temperature": 0.1, "label_noise": -1.0}, "label_noise"),
        ({"label_noise": 0.1}, "temperature"),
        ({"approximation": "annealed"}, "temperature"),
    ],
)
def test_settings_that_mean_nothing_are_refused(arguments, word):
    with pytest.raises(tl.InputError, match=word):
        transitions(tl.Erf(), INF, **arguments)


def test_a_finite_number_of_units_is_refused_with_what_there_is():
    with pytest.raises(tl.InputError, match=r"math\.inf"):
        states(tl.Erf(), 5, 9.0, temperature=0.1)
    with pytest.raises(tl.InputError, match="load"):
        states(tl.Erf(), INF, -1.0, temperature=0.1)
    assert theory_of(tl.Erf(), INF).units == INF

"""Four numbers for all overlaps: the same equations at small K, and K = 10⁶ at the same cost."""

import math

import equinox as eqx
import mpmath
import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.averages.conditional.effort import WANTED
from tutelage.online.flow import Flow
from tutelage.online.symmetric.flow import SymmetricFlow
from tutelage.online.symmetric.patterns import pattern_batches
from tutelage.online.symmetric.scenario import SymmetricScenario, SymmetricState
from tutelage.online.symmetric.trajectory import evolve_symmetric
from tutelage.online.trajectory import evolve

STATE = SymmetricState(Q=0.7, C=0.15, R=0.4, S=0.12)
TEACHER = (1.3, 0.1)
EVERYTHING = {"output_scale": (0.4, 0.7), "label_noise": 0.3, "weight_decay": 0.1}
# Some hundred terms of order one, each right to a few units of 2⁻⁵³.
ROUNDING = 1e-13


def full(K, g, h=None, **keywords):
    T = SymmetricState(*TEACHER, 0.0, 0.0).overlaps(K).Q
    return tl.Scenario(tl.Committee(K, g), tl.Committee(K, h or g), T, **keywords)


def large(K, g, **keywords):
    many = tl.Committee(K, g)
    return SymmetricScenario(many, many, output_scale=1 / math.sqrt(K), **keywords)


@eqx.filter_jit
def rates(flow, state, eta):
    return flow(state, eta)


def arrays(state):
    return SymmetricState(*(jnp.asarray(x) for x in state))


def assert_same_rates(scenario, eta, method=None, tolerance=ROUNDING):
    K = scenario.K
    dQ, dR = (
        np.asarray(getattr(rates(Flow(scenario, method), STATE.overlaps(K, TEACHER), eta), name))
        for name in "QR"
    )
    other = (0, 1) if K > 1 else None
    expected = [dQ[0, 0], dQ[other] if other else 0.0, dR[0, 0], dR[other] if other else 0.0]
    reduced = rates(SymmetricFlow(scenario, method), arrays(STATE), eta)
    np.testing.assert_allclose(reduced, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("K", [3, *(pytest.param(K, marks=pytest.mark.slow) for K in (1, 2, 4, 5))])
def test_error_functions_move_as_in_the_full_equations(K):
    assert_same_rates(full(K, tl.Erf(0.5), tl.Erf(), **EVERYTHING), jnp.asarray(0.8))


def test_the_limit_of_small_learning_rates_is_that_of_the_full_equations():
    assert_same_rates(full(3, tl.Erf(), weight_decay=0.2, output_scale=(0.4, 0.7)), 0)
    assert_same_rates(full(5, tl.ReLU(), tl.LeakyReLU(0.3), output_scale=(0.4, 0.7)), 0)


@pytest.mark.slow
def test_rectifiers_move_as_in_the_full_equations_with_noise_and_decay():
    assert_same_rates(full(2, tl.LeakyReLU(0.2), tl.ReLU(), **EVERYTHING), jnp.asarray(0.8))


@pytest.mark.slow
@pytest.mark.parametrize("K", [1, 3, 4, 5])
def test_more_rectifiers_move_as_in_the_full_equations(K):
    assert_same_rates(full(K, tl.ReLU(), **EVERYTHING), jnp.asarray(0.8))
    assert_same_rates(full(K, tl.LeakyReLU(0.2), tl.ReLU(), **EVERYTHING), jnp.asarray(0.8))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["orthant", "hermite"])
def test_methods_that_are_not_the_best_are_reduced_as_well(method):
    assert_same_rates(
        full(3, tl.Erf(), **EVERYTHING | {"label_noise": 0.0}), jnp.asarray(0.8), method
    )


def trapezoidal(f, C):
    """⟨f(u, w)⟩ by the trapezoidal rule with steps of 0.1, exact to rounding for tanh."""
    z = np.linspace(-9, 9, 181)
    p = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    u = math.sqrt(C[0, 0]) * z[:, None]
    rest = max(C[1, 1] - C[0, 1] ** 2 / C[0, 0], 0.0)
    return p @ f(u, C[0, 1] / C[0, 0] * u + math.sqrt(rest) * z) @ p


def test_any_activation_moves_by_steins_lemma():
    """⟨δ_i v⟩ = Σ_a c_a [C_iv ⟨g''(x_i) g(a)⟩ + C_va ⟨g'(x_i) g'(a)⟩], by another quadrature."""
    C = np.asarray(STATE.overlaps(2, TEACHER).covariance)
    slope = lambda x: 1 - np.tanh(x) ** 2  # noqa: E731
    expected = np.zeros(4)
    for v, a in np.ndindex(4, 4):
        pair = C[np.ix_([0, a], [0, a])]
        bent = trapezoidal(lambda u, w: -2 * np.tanh(u) * slope(u) * np.tanh(w), pair)
        second = trapezoidal(lambda u, w: slope(u) * slope(w), pair)
        expected[v] += (1 if a >= 2 else -1) * (C[0, v] * bent + C[v, a] * second)
    reduced = rates(SymmetricFlow(full(2, tl.Tanh())), arrays(STATE), 0)
    np.testing.assert_allclose(reduced, [2, 2, 1, 1] * expected, rtol=0, atol=ROUNDING)


@pytest.mark.slow
def test_units_without_closed_forms_move_as_in_the_full_equations():
    """Six fields; averages of both routes are accurate to `effort.WANTED`."""
    assert_same_rates(full(3, tl.Tanh(), tl.Swish()), 0, tolerance=10 * WANTED)


@pytest.mark.parametrize("g", [tl.Erf(), tl.Tanh()], ids=lambda g: g.name)
def test_slopes_for_label_noise(g):
    """⟨g'(x_1)²⟩ and ⟨g'(x_1) g'(x_2)⟩, here sampled: within five standard errors."""
    overlaps = STATE.overlaps(3, TEACHER)
    flow = SymmetricFlow(full(3, g, label_noise=0.3))
    averages = jax.jit(lambda C: flow.averages("slopes", C))(overlaps.covariance)
    fields = np.random.default_rng(0).multivariate_normal(np.zeros(3), overlaps.Q, 200_000)
    slopes = np.asarray(g.derivative(jnp.asarray(fields)))
    for k in range(2):
        samples = slopes[:, 0] * slopes[:, k]
        standard_error = np.std(samples) / math.sqrt(len(samples))
        assert abs(averages[k] - np.mean(samples)) < 5 * standard_error


@pytest.mark.parametrize(("K", "g"), [(1, tl.Erf()), (2, tl.ReLU()), (6, tl.Erf(1.0))])
def test_generalization_error_is_that_of_all_overlaps(K, g):
    """K² terms of order one."""
    scenario = full(K, g, tl.LeakyReLU(0.1), output_scale=(0.4, 0.7))
    expected = tl.generalization_error(scenario, STATE.overlaps(K, TEACHER))
    flow = SymmetricFlow(scenario)
    reduced = jax.jit(lambda state: flow.generalization_error(state))(arrays(STATE))
    assert reduced == pytest.approx(float(expected), rel=0, abs=1e-15 * K * K)


@pytest.mark.parametrize(
    ("g", "eta"), [(tl.Erf(), 0), pytest.param(tl.ReLU(), 0.5, marks=pytest.mark.slow)]
)
def test_trajectory_is_that_of_all_overlaps(g, eta):
    """Two integrators with a tolerance of 1e-10 per step, over some hundred steps each."""
    scenario = tl.Scenario(*[tl.Committee(3, g)] * 2)
    start = SymmetricState(Q=0.3, C=0.05, R=0.02, S=0.01)
    times = np.linspace(0, 30, 31)
    options = {"learning_rate": eta, "until": 30, "times": times, "tolerance": 1e-10}
    expected = evolve(scenario, start.overlaps(3), **options)
    run = evolve_symmetric(scenario, start, **options)
    assert run.attrs["outcome"] == expected.attrs["outcome"] == "reached"
    for name, entry in (("Q", (0, 0)), ("C", (0, 1)), ("R", (2, 2)), ("S", (2, 0))):
        values = expected["Q" if name in "QC" else "R"].values[:, *entry]
        np.testing.assert_allclose(run[name], values, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        run.generalization_error, expected.generalization_error, rtol=0, atol=1e-8
    )


# Any number of units -------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [0, 0.5])
def test_one_program_serves_every_number_of_units(eta):
    """The same operations for K = 4 and K = 10⁶: not even the compilation is repeated."""
    eta = jnp.asarray(eta) if eta else 0
    programs = {
        str(
            jax.make_jaxpr(lambda f, s: f(s, eta))(SymmetricFlow(large(K, tl.Erf())), arrays(STATE))
        )
        for K in (4, 5, 10**6)
    }
    assert len(programs) == 1


def test_number_of_averages():
    """Patterns of a (2 with x_1 or y_1, 3 with x_2 or y_2) times two committees: 2 (4 + 6);
    of a and b (5 with x_1 alone, 10 with x_2; fewer where order does not matter): 13 + 24."""
    for kind, count in (("i3", 20), ("i4", 37)):
        assert sum(len(b.fields) for b in pattern_batches(kind, 4, coincidences=True)) == count
        assert sum(len(b.fields) for b in pattern_batches(kind, 4, coincidences=False)) == count


def mpmath_i3(Q, C_uv, C_uw, C_vw, C_ww):
    """⟨θ(u) v w₊⟩, eq. (6) of straat2019; u = w where C_uw = C_uu and C_ww = C_uu."""
    if C_uw == Q and C_ww == Q:
        return C_uv / 2
    mp = mpmath
    angle = mp.mpf(1) / 4 + mp.asin(C_uw / mp.sqrt(Q * C_ww)) / (2 * mp.pi)
    return C_uv * mp.sqrt((C_ww - C_uw**2 / Q) / Q) / (2 * mp.pi) + C_vw * angle


def mpmath_rates(K, Q, C, R, S):
    """dQ, dC, dR, dS for η → 0, T = 1 and outputs scaled by 1/√K, in 40 digits."""
    with mpmath.workdps(40):
        Q, C, R, S, K, t, u = (mpmath.mpf(x) for x in (Q, C, R, S, K, 1, 0))

        def unit(v, with_teacher, with_student, cross):
            """⟨θ(x_1) v (y_a₊ - x_a₊)⟩; covariances of v with y_a, x_a and of x_1 with both."""
            r, c = cross
            return mpmath_i3(Q, v, r, with_teacher, t) - mpmath_i3(Q, v, c, with_student, Q)

        same, other = (R, Q), (S, C)
        x1 = unit(Q, R, Q, same) + (K - 1) * unit(Q, S, C, other)
        x2 = unit(C, S, C, same) + unit(C, R, Q, other) + (K - 2) * unit(C, S, C, other)
        y1 = unit(R, t, R, same) + (K - 1) * unit(R, u, S, other)
        y2 = unit(S, u, S, same) + unit(S, t, R, other) + (K - 2) * unit(S, u, S, other)
        return [float(x / K) for x in (2 * x1, 2 * x2, y1, y2)]


@pytest.mark.parametrize("Q", [0.9, 1.0])
def test_a_million_rectifiers_against_forty_digits(Q):
    """(K - 1)/K averages of order one cancel: 2⁻⁵³ each; C and S, of order 1/K, gain a factor K."""
    K, state = 10**6, SymmetricState(Q, 2e-7, 0.6, 3e-7)
    reduced = rates(SymmetricFlow(large(K, tl.ReLU())), arrays(state), 0)
    differences = np.abs(np.asarray(reduced) - mpmath_rates(K, *state))
    assert np.all(differences < [1e-15, 1e-21, 1e-15, 1e-21])


@pytest.mark.slow
def test_a_million_units_are_like_a_hundred_thousand():
    """Time in units of K, C and S in units of 1/K: the remaining effect of K is of relative order
    1/K.
    """
    start = SymmetricState(Q=0.5, C=0.0, R=0.1, S=0.0)
    runs = {
        K: evolve_symmetric(large(K, tl.Erf()), start, jnp.asarray(0.5), until=20 * K)
        for K in (10**4, 10**5, 10**6)
    }
    ends = {
        K: np.array([run.Q[-1], K * run.C[-1], run.R[-1], K * run.S[-1]]) for K, run in runs.items()
    }
    assert all(np.all(np.isfinite(run.generalization_error)) for run in runs.values())
    near, far = ends[10**6] - ends[10**5], ends[10**5] - ends[10**4]
    assert np.max(np.abs(near)) < 10 / 10**5
    np.testing.assert_allclose(near, far / 10, rtol=1e-2, atol=1e-7)


@pytest.mark.parametrize(
    ("K", "g"),
    [
        (10**6, tl.Linear()),
        *(pytest.param(K, tl.Erf(), marks=pytest.mark.slow) for K in (4, 10**6)),
    ],
)
def test_runs_end_by_themselves(K, g):
    """A student close to the teacher reaches it, and a run that starts there ends at once."""
    near = SymmetricState(Q=1.0, C=0.0, R=0.99, S=0.0)
    run = evolve_symmetric(large(K, g), near, jnp.asarray(0.5), until=1000 * K)
    assert run.attrs["outcome"] == "converged"
    assert run.attrs["ended_at"] < 1000 * K
    assert run.time[-1] == run.attrs["ended_at"]
    rest = evolve_symmetric(large(K, g), SymmetricState(1.0, 0.0, 1.0, 0.0), 0.5, until=1.0)
    assert (rest.attrs["outcome"], rest.attrs["ended_at"], rest.sizes["time"]) == (
        "converged",
        0,
        1,
    )


@pytest.mark.slow
def test_divergence_is_an_outcome():
    """A single ReLU diverges beyond η = 2 (straat2019)."""
    one = tl.Scenario(*[tl.Committee(1, tl.ReLU())] * 2)
    start = SymmetricState(Q=0.5, C=0.0, R=0.0, S=0.0)
    run = evolve_symmetric(one, start, learning_rate=2.5, until=1000)
    assert run.attrs["outcome"] == "diverged"
    assert run.Q[-1] <= 1e6 * (1 + 1e-6)


# Bad input -----------------------------------------------------------------------------------


def refused(message, state=STATE, scenario=None):
    with pytest.raises(tl.InputError, match=message):
        SymmetricFlow(scenario or full(3, tl.Erf())).checked(state)


def test_impossible_states_are_refused():
    """A < 0 or B < 0, the eigenvalues of oostwal2019 eq. (19); K decides which C are possible."""
    refused("Q - C", STATE._replace(C=0.8))
    refused("Q - C", STATE._replace(R=1.5))
    refused(r"Q \+ \(K-1\) C", STATE._replace(S=0.6, R=0.7))
    refused("Q: .*finite", STATE._replace(Q=math.nan))
    refused("SymmetricState", (1.0, 0.0, 0.0, 0.0))
    negative = SymmetricState(Q=1.0, C=-0.3, R=0.0, S=0.0)
    SymmetricFlow(full(3, tl.Erf())).checked(negative)
    refused(r"Q \+ \(K-1\) C", negative, full(5, tl.Erf()))


def test_what_is_no_committee_is_refused():
    with pytest.raises(tl.InputError, match="teacher: got 3"):
        SymmetricScenario(tl.Committee(3, tl.Erf()), 3)


def test_asymmetric_scenarios_are_refused():
    two, three = tl.Committee(2, tl.Erf()), tl.Committee(3, tl.Erf())
    refused("3 students and 2 teachers", scenario=tl.Scenario(three, two))
    refused("from unit to unit", scenario=tl.Scenario(two, two, [[1, 0], [0, 2]]))
    refused("it has to be a Scenario", scenario=two)
    with pytest.raises(tl.InputError, match="teacher_overlaps"):
        SymmetricScenario(three, three, (1.0, -0.6))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"until": 0.0}, "until"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"learning_rate": np.array([1.0, 2.0])}, "learning_rate"),
        ({"times": [3.0, 2.0]}, "times"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"start": SymmetricState(np.ones(2), 0.0, 0.0, 0.0)}, "one state"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    arguments = {"start": STATE, "learning_rate": 1.0, "until": 1.0} | change
    with pytest.raises(tl.InputError, match=message):
        evolve_symmetric(full(2, tl.Erf()), **arguments)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [full(2, tl.Erf()), large(2, tl.Erf())], ids=["full", "large"])
def test_a_run_with_a_schedule_can_be_computed_again(scenario):
    falling = tl.online.Schedule(rates=[1.0, 0.5], switches=[0.5])
    run = evolve_symmetric(scenario, STATE, falling, until=1.0, times=[0.25, 1.0])
    assert tl.results.recompute(run).identical(run)
    constant = evolve_symmetric(scenario, STATE, 1.0, until=1.0, times=[0.25, 1.0])
    assert abs(run.R[0] - constant.R[0]) < 1e-12 < abs(run.R[1] - constant.R[1])


def test_a_run_goes_on_beyond_the_recorded_times():
    start = SymmetricState(Q=1.0, C=0.0, R=0.99, S=0.0)
    run = evolve_symmetric(large(10**6, tl.Erf()), start, 1.0, until=1.0, times=[0.25, 0.5])
    assert (run.attrs["outcome"], run.attrs["ended_at"]) == ("reached", 1.0)
    assert run.time.values.tolist() == [0.25, 0.5]

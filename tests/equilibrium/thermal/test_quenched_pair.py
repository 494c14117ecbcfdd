"""Two units at a temperature, quenched: identities, limits, closed forms and drawn networks."""

import math

import numpy as np
import pytest
from scipy.special import factorial2

import tutelage as tl
from tutelage._checks import InputError
from tutelage.equilibrium.kernel.kernel import kernel_of
from tutelage.equilibrium.thermal import quenched_pair
from tutelage.equilibrium.thermal.quenched_pair import (
    NodeCounts,
    PairAverage,
    PairOverlaps,
    QuenchedPairTheory,
    half_range,
)

FEW = NodeCounts(10, 6, 5, 10)
UNITS = [tl.ReLU(), tl.Erf()]


def test_the_overlap_of_students_is_in_the_norms_of_sum_and_difference():
    """(x_1 ± x_2)/√2 have the norms 1 ± C."""
    U, gap = np.array([0.8, 0.4]), np.array([0.16, 0.24])
    at = PairOverlaps(U, np.array([1.3, 0.7]) - gap - U**2, gap)
    assert abs(at.C - 0.3) < 1e-15


@pytest.fixture(autouse=True)
def few_nodes(monkeypatch, request):
    """Fewer nodes where three digits are enough."""
    if "slow" not in request.keywords:
        for name in ("FINE", "COARSE", "ROUGH"):
            monkeypatch.setattr(quenched_pair, name, FEW)


def theory_of(activation, T, noise=0.0):
    return QuenchedPairTheory(activation, kernel_of(activation), T, noise)


def some_overlaps(theory):
    """Overlaps that are no state."""
    return PairOverlaps(np.array([0.8, 0.4]), np.array([0.3, 0.5]), np.array([0.16, 0.24]))


def test_half_range_rules_have_the_moments_of_a_gaussian():
    x, w = half_range(5)
    for n in range(10):
        # ⟨|x|ⁿ⟩ = (n−1)!! for even n, and times √(2/π) for odd n.
        exact = factorial2(n - 1, exact=True) if n > 1 else 1
        exact *= math.sqrt(2 / math.pi) if n % 2 else 1
        assert w @ np.abs(x) ** n == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("activation", UNITS)
def test_states_are_stationary_points_of_the_free_energy(activation):
    """βf/K by differences in all five overlaps, although the iteration differentiates nothing."""
    load, theory = (6.0, theory_of(tl.ReLU(), 0.5)) if activation == UNITS[0] else (
        30.0, theory_of(tl.Erf(), 0.7))  # fmt: skip
    start = next(s for s in theory._starts(load) if s.U[1] > 0)
    at = theory.solve(load, start)

    def energy(shift):
        U, C, q = at.U + shift[:2], at.C + shift[2], at.q + shift[3:]
        moved = PairOverlaps(U, np.array([1 + C, 1 - C]) - q, q - U**2)
        return -load * theory.average(moved).log + quenched_pair._entropy(moved)

    h = 2e-5  # below the smallest gap
    for step in np.eye(5):
        slope = (energy(h * step) - energy(-h * step)) / (2 * h)
        bend = (energy(h * step) + energy(-h * step) - 2 * energy(0 * step)) / h**2
        # The extremum is displaced by the quadrature: its nodes move, for the ReLU across kinks.
        assert abs(slope / bend) < (1e-2 if activation.kinks else 2e-3)
    by_beta = [-PairAverage(activation, b, 0.0, FEW)(at).log for b in
               (theory.average.beta * (1 + s * 1e-3) for s in (1, -1))]  # fmt: skip
    difference = (by_beta[0] - by_beta[1]) / (2e-3 * theory.average.beta)
    assert difference == pytest.approx(theory.average(at).error, rel=1e-6)


@pytest.mark.parametrize(
    ("activation", "load"), [(tl.ReLU(), 6.0), pytest.param(tl.Erf(), 30.0, marks=pytest.mark.slow)]
)
def test_on_the_nishimori_line_replicas_are_as_close_as_the_teacher(activation, load):
    """T = ς²: q = R, q' = S, students as orthogonal as teachers, training error ς²/2."""
    theory = theory_of(activation, 0.3, 0.3)
    at = theory.solve(load, next(s for s in theory._starts(load) if s.U[1] > 0))
    assert at.U[1] > 0.3
    assert at.q == pytest.approx(at.U, abs=2e-3) and abs(at.C) < 1e-3
    assert theory.average(at).error == pytest.approx(0.15, rel=1e-3)


@pytest.mark.parametrize("activation", [tl.ReLU(), pytest.param(tl.Erf(), marks=pytest.mark.slow)])
def test_high_temperature_gives_the_states_of_section_6(activation):
    T, load = 1e3, {"ReLU": 9.0, "Erf": 40.0}[activation.name]
    hot = tl.equilibrium.states(activation, 2, load)[0]
    state = tl.equilibrium.states(activation, 2, load * T, temperature=T)[0]
    # Corrections of order 1/T times the load, and the quadrature.
    for name in ("R", "S", "C", "generalization_error"):
        assert getattr(state, name) == pytest.approx(getattr(hot, name), abs=3e-3)
    assert state.training_error == pytest.approx(hot.generalization_error, rel=0.03)
    assert state.replicon == pytest.approx(1.0, abs=1e-2)
    q = (1 - state.C - (state.R - state.S) ** 2) / 2 + (1 + state.C - (state.R + state.S) ** 2) / 2
    assert state.q == pytest.approx(1 - q, abs=1e-2)  # q = R² + S²


def test_replicas_of_linear_units_have_the_replicon_of_a_closed_form():
    """σ = x_+: L_++ = −β/(1 + βD_+), all others vanish."""
    theory = theory_of(tl.Linear(), 0.4)
    at, load = some_overlaps(theory), 0.3
    G = theory.average.beta / (1 + theory.average.beta * at.D[0])
    exact = 1 - 2 * load * (at.D[0] * G) ** 2
    result = quenched_pair._replicon(theory.average(at), load, at)
    assert result == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("activation", UNITS)
def test_averages_are_those_of_drawn_fields(activation):
    """⟨L⟩ and ⟨L_i²⟩ over drawn teachers and examples, with a fine sum over z."""
    theory = theory_of(activation, 0.5, 0.1)
    at, rng = some_overlaps(theory), np.random.default_rng(2)
    y, xi = rng.normal(size=(2, 2, 5_000))
    g = lambda x: np.asarray(activation(x))  # noqa: E731
    turned = lambda x: (x[0] + x[1]) / math.sqrt(2)  # noqa: E731
    other = lambda x: (x[0] - x[1]) / math.sqrt(2)  # noqa: E731
    label = (g(turned(y)) + g(other(y))) / math.sqrt(2) + math.sqrt(0.1) * rng.normal(size=5_000)
    z, w = np.linspace(-6, 6, 41), np.exp(-(np.linspace(-6, 6, 41) ** 2) / 2)
    outer = at.U[:, None] * y + np.sqrt(at.gap)[:, None] * xi
    sums = np.zeros((3, 5_000))
    for a, b in zip(z, w / w.sum(), strict=True):
        x = np.stack(np.broadcast_arrays(outer[0][:, None] + math.sqrt(at.D[0]) * a,
                                         outer[1][:, None] + math.sqrt(at.D[1]) * z))  # fmt: skip
        error = (g(turned(x)) + g(other(x))) / math.sqrt(2) - label[:, None]
        density = b * np.exp(-(error**2) / (2 * 0.5)) * (w / w.sum())
        sums += np.stack([density.sum(1), a * density.sum(1), density @ z])
    L, slopes = np.log(sums[0]), (sums[1:] / sums[0]) / np.sqrt(at.D)[:, None]
    moments = theory.average(at)
    for drawn, exact in ((L, moments.log), *zip(slopes**2, moments.squares, strict=True)):
        assert abs(drawn.mean() - exact) < 4 * drawn.std() / math.sqrt(drawn.size) + 1e-3 * exact


def test_states_of_two_relu_units():
    listed = tl.equilibrium.states(tl.ReLU(), 2, 6.0, temperature=0.5, saddles=True)
    first, mirrored, flat = listed
    assert (first.kind, mirrored.kind, flat.kind) == ("R > S", "R < S", "unspecialized")
    assert pytest.approx((first.S, first.R)) == (mirrored.R, mirrored.S)
    assert first.stable and mirrored.stable and not flat.site_stable
    assert first.units == 2 and first.scaled_load == 12.0
    # The annealed free energy is a lower bound.
    annealed = tl.equilibrium.states(tl.ReLU(), 2, 6.0, temperature=0.5, approximation="annealed")
    assert annealed[0].free_energy_per_unit < first.free_energy_per_unit


def test_below_the_transition_there_is_one_state():
    (state,) = tl.equilibrium.states(tl.ReLU(), 2, 1.0, temperature=0.5, saddles=True)
    assert state.kind == "unspecialized" and state.stable


@pytest.mark.slow  # a minute
@pytest.mark.parametrize(
    ("activation", "load", "T"), [(tl.ReLU(), 5.0, 0.15), (tl.Erf(), 15.0, 0.2)]
)
def test_sampled_networks_approach_the_quenched_theory_of_two_units(activation, load, T):
    """Errors and overlaps of networks with N and 2N inputs, extrapolated to N → ∞."""
    theory = tl.equilibrium.states(activation, 2, load, temperature=T)[0]
    committee = tl.Committee(2, activation)
    rows = []
    for N in (24, 48):
        data = tl.equilibrium.sample(
            tl.Scenario(committee, committee, output_scale=2**-0.5),
            examples=round(load * 2 * N),
            temperature=T,
            dimension=N,
            sweeps=80,
            runs=24,
            seed=3,
            start="teacher",
            warm_up=80,
        )
        rows.append(data.sel(quantity=["R", "q", "generalization_error", "training_error"]))
    names = ("mean", "standard_error")
    means, errors = (np.stack([row[name].values for row in rows]) for name in names)
    limit, spread = 2 * means[1] - means[0], np.hypot(2 * errors[1], errors[0])
    exact = np.array([theory.R, theory.q, theory.generalization_error, theory.training_error])
    assert np.all(np.abs(limit - exact) < 4 * spread)
    assert np.all(spread < 0.05 * exact)  # a factor in any term would be seen


def test_what_two_units_have_no_theory_for_is_refused():
    for call in (
        lambda: tl.equilibrium.transitions(tl.ReLU(), 2, temperature=0.5),
        lambda: tl.equilibrium.learning_curve(tl.ReLU(), 2, [1.0], temperature=0.5),
        lambda: tl.equilibrium.states(tl.ReLU(), 3, 1.0, temperature=0.5),
    ):
        with pytest.raises(InputError, match=r"units=2") as refusal:
            call()
        assert refusal.value.argument == "units"
    with pytest.raises(InputError, match="above 0"):
        tl.equilibrium.states(tl.ReLU(), 2, 1.0, temperature=0.0)

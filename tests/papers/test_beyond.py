"""Beyond the papers: every number by a second route.

Fast: free energies with 30 digits, exact limits, made-up escape times.  Slow: continuation with
the series, descents, runs and schedules beside the ones found, and all sections at once.
"""

import math

import matplotlib.pyplot as plt
import mpmath as mp
import numpy as np
import pytest
import xarray as xr
from equilibrium.equilibrium_reference import KERNELS
from scenarios import assert_behaviour_changes
from scipy.stats import kstest

import tutelage as tl
from tutelage import averages
from tutelage.online.stationary.escape import MIDDLE_HALF, escape_probability
from tutelage.papers import PAPERS, recorded
from tutelage.papers.beyond import (
    activations as beyond_activations,
    escape as beyond_escape,
    mismatch as beyond_mismatch,
    noise as beyond_noise,
    optimizers as beyond_optimizers,
    rates as beyond_rates,
    relu as beyond_relu,
    schedules as beyond_schedules,
    starts,
)
from tutelage.papers.row import Row
from tutelage.papers.section import Figure
from tutelage.papers.tian2020 import readings

# The ReLU transition ----------------------------------------------------------------------


class FreeEnergy:
    """βf of oostwal2019, eqs. (19), (20) and (28), for ReLU units, in mpmath."""

    def __init__(self, K):
        self.K = mp.mpf(K)

    def entropy_arguments(self, R, S, C):
        K = self.K
        return 1 + (K - 1) * C - (R + (K - 1) * S) ** 2, 1 - C - (R - S) ** 2

    def value(self, alpha, R, S, C):
        def k(x):
            return x / 4 + (mp.sqrt(1 - x**2) + x * mp.asin(x)) / (2 * mp.pi)

        K = self.K
        A, B = self.entropy_arguments(R, S, C)
        energy = K * (K - 1) * k(C) / 2 - K * k(R) - K * (K - 1) * k(S)
        return alpha * energy - mp.log(A) / 2 - (K - 1) * mp.log(B) / 2

    def gradient(self, alpha, R, S, C):
        def slope(x):
            return mp.mpf(1) / 4 + mp.asin(x) / (2 * mp.pi)

        K, M, V = self.K, R + (self.K - 1) * S, R - S
        A, B = self.entropy_arguments(R, S, C)
        return [
            -alpha * K * slope(R) + M / A + (K - 1) * V / B,
            -alpha * K * (K - 1) * slope(S) + (K - 1) * (M / A - V / B),
            alpha * K * (K - 1) * slope(C) / 2 - (K - 1) * (1 / A - 1 / B) / 2,
        ]

    def determinant(self, alpha, *state):
        def column(n):
            def moved(x):
                return self.gradient(alpha, *(x if m == n else state[m] for m in range(3)))

            return [mp.diff(lambda x, i=i: moved(x)[i], state[n]) for i in range(3)]

        return mp.det(mp.matrix([column(n) for n in range(3)]))


def solved(function, start):
    with mp.workdps(30):
        return mp.findroot(function, [mp.mpf(float(x)) for x in start], tol=1e-40, maxsteps=40)


@pytest.mark.parametrize("K", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_the_jump_of_the_relu_transition_with_30_digits(K):
    """Two stationary states of one free energy, with equal values, solved together."""
    there, f = tl.equilibrium.transitions(tl.ReLU(), K), FreeEnergy(K)
    high, low = there.specialized, there.unspecialized

    def equations(alpha, R, S, C, S0, C0):
        uniform = f.gradient(alpha, S0, S0, C0)
        return [
            *f.gradient(alpha, R, S, C),
            uniform[0] + uniform[1],
            uniform[2],
            f.value(alpha, R, S, C) - f.value(alpha, S0, S0, C0),
        ]

    result = solved(equations, (there.coexists.value, high.R, high.S, high.C, low.S, low.C))
    jump, error = beyond_relu._jump(K)
    assert result[1] - result[2] > 0.03  # not the trivial solution
    assert abs(result[1] - result[2] - jump) < error < 1e-9
    # The load comes with its own error.
    assert abs(result[0] - there.coexists.value) < 2 * there.coexists.error


@pytest.mark.parametrize("K", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_the_width_of_coexistence_with_30_digits(K):
    """α_s is a fold of the specialized state, α_d the end of the unspecialized one."""
    there, f = tl.equilibrium.transitions(tl.ReLU(), K), FreeEnergy(K)
    near = min(
        (s for s in tl.equilibrium.states(tl.ReLU(), K, there.appears.value + 1e-9, saddles=True)),
        key=lambda s: abs(s.R - s.S - 0.75 * there.jump),
    )

    def fold(alpha, R, S, C):
        return [*f.gradient(alpha, R, S, C), f.determinant(alpha, R, S, C)]

    def end(alpha, S, C):
        gradient = f.gradient(alpha, S, S, C)
        return [gradient[0] + gradient[1], gradient[2], f.determinant(alpha, S, S, C)]

    low = there.unspecialized
    appears = solved(fold, (there.appears.value, near.R, near.S, near.C))
    unstable = solved(end, (there.unstable.value, low.S, low.C))
    width, error = beyond_relu._width(K)
    assert appears[1] - appears[2] > 0.01
    assert abs(unstable[0] - appears[0] - width) < error


def test_the_jump_is_largest_for_four_units_and_small_for_all():
    jumps = {K: tl.equilibrium.transitions(tl.ReLU(), K).jump for K in (2, *range(3, 13), 100)}
    assert max(jumps, key=lambda K: jumps[K]) == 4 and jumps[4] < 0.05
    assert jumps[2] == 0 == tl.equilibrium.transitions(tl.ReLU(), math.inf).jump
    assert min(jumps[K] for K in jumps if K > 2) > 1e-3


def test_the_limits_follow_from_the_slope_of_the_load():
    """α(V) ≈ α_d − πV/K + 5πV²/3: jump 2/(5K), width 3π/(20K²)."""
    slope = tl.equilibrium.transitions(tl.ReLU(), 1000).slope * 1000
    assert abs(slope + math.pi) < 0.02  # corrections are of order 1/K
    q = 5 * math.pi / 3
    # K → ∞: α(R) = 2π(1 + 5R²/6 + …), from a state of the limit itself.
    R = tl.equilibrium.states(tl.ReLU(), math.inf, 2 * math.pi + 1e-6)[0].R
    # The next term is of order R² = 2e-7.
    assert pytest.approx(q, rel=1e-5) == 1e-6 / R**2
    for (name, power), exact in zip(
        (("jump", 1), ("width", 2)), (2 * math.pi / (3 * q), math.pi**2 / (4 * q)), strict=True
    ):
        value, error = beyond_relu._limit(name, power)
        assert beyond_relu.LIMITS[name] == pytest.approx(exact, rel=1e-14)
        assert abs(value - exact) < error < 1e-4


# Noise and other activations --------------------------------------------------------------


def test_the_best_noise_of_infinitely_many_units_is_where_c_2_is_largest():
    """c_2 = ⟨x σ(βx) (x² − 1)⟩/√2 by mpmath; α_c = 1/(2c_2²)."""

    def c_2(beta):
        def f(x):
            return x * (x**2 - 1) / (1 + mp.exp(-beta * x)) * mp.npdf(x)

        return mp.quad(f, [-12, -4, -1, 0, 1, 4, 12]) / mp.sqrt(2)

    def slope(beta):
        def f(x):
            y = beta * x
            return x**2 * (x**2 - 1) / (4 * mp.cosh(y / 2) ** 2) * mp.npdf(x)

        return mp.quad(f, [-12, -4, -1, 0, 1, 4, 12])

    with mp.workdps(20):
        beta = mp.findroot(slope, (2.4, 2.9), solver="anderson", tol=1e-16)
        load = 1 / (2 * c_2(beta) ** 2)
    (result, error), (lowest, load_error) = beyond_noise.earliest(math.inf)
    assert abs(result - beta) < error < 1e-4
    assert abs(lowest - load) < load_error < 1e-6
    assert (round(result, 1), round(1 - lowest / (2 * math.pi), 2)) == (2.6, 0.13)  # the caption


@pytest.mark.slow
def test_the_best_noise_of_five_units_is_a_minimum():
    (beta, error), (load, load_error) = beyond_noise.earliest(5)
    there = tl.equilibrium.transitions(tl.Swish(beta), 5).coexists.value
    assert abs(there - load) < load_error
    relu = tl.equilibrium.transitions(tl.ReLU(), 5).coexists.value
    assert (round(beta, 1), round(1 - load / relu, 2)) == (2.7, 0.13)  # the caption
    # At the distance d of a minimum the load is higher by ½α''d², here 1e-6 or so.
    for side in (-1, 1):
        aside = tl.equilibrium.transitions(tl.Swish(beta + side * 1e-3), 5).coexists.value
        assert aside > there and error < 1e-3


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in ("ReLU", "GELU", "tanh")))
        for name in beyond_activations.ACTIVATIONS
    ],
)
def test_another_state_wins_on_the_other_side_of_the_load(name):
    g = beyond_activations.ACTIVATIONS[name]
    load = beyond_activations._row(g, 5)["coexists"]
    below, above = (tl.equilibrium.states(g, 5, load * (1 + side))[0] for side in (-1e-7, 1e-7))
    assert (below.kind, above.kind) == ("unspecialized", "R > S")
    assert below.stable and above.stable


@pytest.mark.parametrize("case", beyond_mismatch.CASES, ids=lambda case: case.label)
def test_the_onset_is_where_the_exact_second_derivative_vanishes(case):
    """Against determinants in 40 digits; the error is neither too small nor too large."""
    result, K, M = beyond_mismatch.onset(case), case.students, case.teachers
    with mp.workdps(40):
        kappa = KERNELS["Erf" if case.name == "erf" else "ReLU"][0]
        wave = [[1, -1, 0], [-1, 1, 0], [0, 0, 0]]  # rows and columns add up to zero

        def free_energy(load, R, C, spread):
            overlaps = mp.matrix([[R + spread * wave[i][n] for n in range(M)] for i in range(K)])
            Q = mp.matrix([[1 if i == k else C for k in range(K)] for i in range(K)])
            students, pair = sum(map(kappa, Q)), sum(map(kappa, overlaps))
            return load / 2 * (students - 2 * pair) - mp.log(mp.det(Q - overlaps * overlaps.T)) / 2

        def equations(load, R, C):
            which = ((0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 2))
            return [mp.diff(free_energy, (load, R, C, mp.mpf(0)), n) for n in which]

        load = mp.findroot(equations, result[0:1] + result[2:], tol=1e-36, verify=False)[0]
        wrong = abs(float(mp.mpf(result.load) - load))
    assert wrong <= result.error <= 100 * max(wrong, np.finfo(float).eps * result.load)


@pytest.mark.slow
@pytest.mark.parametrize("case", beyond_mismatch.CASES, ids=lambda case: case.label)
def test_students_divide_unequal_teachers_beyond_the_load_only(case):
    """Descents from other starts than those of the search, one percent to either side."""
    result = beyond_mismatch.threshold(case)
    load = result.attrs["load"]
    sides = [
        tl.equilibrium.minima(case.scenario, load * (1 + side), starts=24, seed=7)[0]
        for side in (-0.01, 0.01)
    ]
    assert sides[0].name == "unspecialized" != sides[1].name
    # Continuous: |R - S|² grows in proportion to the distance, at most 30 times it here.
    spread = beyond_mismatch._spread(sides[1])
    assert 1e-3 < spread < 0.4


# Escape -----------------------------------------------------------------------------------


def made_up(growth, offset, sizes, runs, seed):
    """Escape times that follow the law exactly."""
    Z = np.abs(np.random.default_rng(seed).standard_normal((len(sizes), runs)))
    times = offset + np.log(sizes)[:, None] / (2 * growth) - np.log(Z) / growth
    return xr.Dataset({"escape_time": (("dimension", "run"), times)}, {"dimension": sizes})


def test_slope_and_width_of_times_that_follow_the_law():
    """Within four standard errors each: wrong once in 8000 for one of them."""
    data = made_up(0.2, 3.0, [200, 1000, 5000], 1000, seed=3)
    slope, error = beyond_escape.slope(data)
    assert abs(slope - 2.5) < 4 * error < 1.0
    width, error = beyond_escape.quartiles(data)
    assert abs(0.2 * width - MIDDLE_HALF) < 4 * 0.2 * error < 0.2


@pytest.mark.slow
def test_simulated_escapes_follow_the_law():
    """N ≥ 200, from their medians: each at the level 0.001.

    A median taken from the same times makes the test milder, not stricter.
    """
    data = beyond_escape.times()
    growth = data.attrs["growth"]
    for N in data["dimension"].values[data["dimension"].values >= beyond_escape.ASYMPTOTIC]:
        times = data["escape_time"].sel(dimension=N).dropna("run").values
        times = np.minimum(times, 1e3)  # not yet left: later than all others
        shifted = times - np.median(times)
        assert kstest(shifted, lambda t: escape_probability(t, growth)).pvalue > 0.001
    slope, error = beyond_escape.slope(data)
    assert abs(slope - 1 / (2 * growth)) < 4 * error


@pytest.mark.slow
def test_a_preference_grows_with_the_eigenvalue_of_the_saddle():
    """A run that starts next to the saddle, without any linearization."""
    saddle = beyond_escape.saddle()
    R = np.asarray(saddle.overlaps.R) + 1e-7 * np.array([[1, -1], [-1, 1]])
    near = tl.Overlaps(Q=saddle.overlaps.Q, R=R, T=np.eye(2))
    times = np.array([0.0, 10.0, 30.0])
    run = tl.online.evolve(
        beyond_escape.scenario(), near, 1.0, until=30.0, times=times, tolerance=1e-12
    )
    preference = run["R"].values[:, 0, 0] - run["R"].values[:, 0, 1]
    growth = np.log(preference[2] / preference[1]) / 20
    # The preference is 2e-7 e^{4.1} = 1e-5 at the end, and corrections are of its square;
    # the tolerance 1e-12 of each step is 1e-6 of it where it begins.
    assert growth == pytest.approx(saddle.eigenvalues[0].real, abs=1e-6)


# Learning rates ---------------------------------------------------------------------------


@pytest.mark.slow
def test_runs_on_either_side_of_the_exact_rates_behave_differently():
    exact = beyond_rates.rates()
    etas = [r.value + side for r in (exact.non_monotonic, exact.diverges) for side in (-1e-4, 1e-4)]
    assert_behaviour_changes(etas)


@pytest.mark.slow
def test_the_end_of_the_plateau_is_the_fold_of_a_continuation():
    exact = beyond_rates.rates().plateau_vanishes
    # The continuation has an error of its own, below 1e-12.
    assert abs(beyond_rates.fold()[1] - exact.value) < exact.error + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("order", [6, 10])
def test_the_shift_of_the_fold_is_that_of_a_continuation_with_the_series(order):
    state, eta = beyond_rates.fold()
    near = tl.Overlaps(Q=[[1.35, 0.54], [0.54, 1.35]], R=[[0.46, 1.05], [0.46, 1.05]], T=state.T)
    options = {"until": 1.3, "max_steps": 30, "method": averages.Hermite(order)}
    along = tl.online.branch(beyond_rates.scenario(), near, 1.0, **options)
    shift = float(along["special_learning_rate"][0]) - eta
    assert abs(shift - beyond_rates.shift(order)) < beyond_rates._second_order(order)
    assert abs(shift) > 10 * beyond_rates._second_order(order)


@pytest.mark.slow
def test_a_schedule_reaches_its_goal_at_the_reported_time_and_no_neighbour_sooner():
    best = beyond_schedules.schedule(2)
    goal, (time, error) = beyond_schedules.GOAL, best.time
    problem = beyond_schedules.scenario(), beyond_schedules.start()

    def reached(rates, switches):
        times = np.linspace(time - 1.0, time + 1.0, 201)
        one = tl.online.Schedule(rates, switches)
        run = tl.online.evolve(*problem, one, until=times[-1], times=times, tolerance=1e-10)
        logs = np.log(run["generalization_error"].values)
        return float(np.interp(-math.log(goal), -logs, times))

    rates, switches = np.asarray(best.schedule.rates), np.asarray(best.schedule.switches)
    there = reached(rates, switches)
    # ln ε_g is nearly linear over steps of 0.01: the interpolation adds less than 1e-5.
    assert abs(there - time) < error + 1e-3
    for factor in (0.9, 1.1):
        for beside in (
            (rates * [factor, 1.0], switches),
            (rates * [1.0, factor], switches),
            (rates, switches * factor),
        ):
            assert reached(*beside) > there
    assert round(1 - time / best.constant.time.value, 2) == 0.10  # the caption
    assert rates[0] / best.constant.learning_rate.value == pytest.approx(0.25, abs=0.03)


# Starts ------------------------------------------------------------------------------------


def test_wide_students_recover_more_from_small_starts_alone():
    """Counted run by run from the records, and compared with the rows and the caption."""
    rows = {
        row.item: row
        for row in starts._shown(readings.load_recorded("starts"))
        if isinstance(row, Row)
    }
    for setting, entry, small, large in (
        ("code", 0.005, 1.0, 30.0),
        ("text", 0.1 / 3**0.5, 0.03, 1),
    ):
        nodes = readings.load_recorded("starts")[setting]["recovered"]
        for scale in (small, large):
            gains = [
                int(nodes.sel(start_scale=scale, polarity=2.0, multiple=10, run=run))
                - int(nodes.sel(start_scale=scale, polarity=2.0, multiple=1, run=run))
                for run in range(16)
            ]
            words = f"{readings.NAMES[setting]}, p = 2, entries of the start {entry * scale:.2g}:"
            (row,) = [row for item, row in rows.items() if item.startswith(words)]
            assert row.computed == pytest.approx(np.mean(gains))
            assert row.uncertainty == pytest.approx(np.std(gains, ddof=1) / 4)
            assert (np.mean(gains) > 4 * np.std(gains) / 4) == (scale == small)


# All sections -----------------------------------------------------------------------------


@pytest.mark.slow
def test_every_section_has_a_figure_and_numbers_with_errors(tmp_path):
    for entry in PAPERS["beyond"].entries:
        parts = list(entry.section.compute(False))
        figures = [part for part in parts if isinstance(part, Figure)]
        rows = [part for part in parts if isinstance(part, Row)]
        assert figures and rows
        assert len({figure.name for figure in figures}) == len(figures)
        for figure in figures:
            for name, dataset in figure.data.items():
                tl.results.save(dataset, tmp_path / f"{entry.section.name}{figure.name}{name}.nc")
        plt.close("all")
        for row in rows:
            assert row.note and abs(row.computed) < math.inf
            # Counts and bounds have no error; that of a solution, and of a run that never happens,
            # is 0.
            counted = float(row.computed).is_integer()
            assert row.uncertainty > 0 or counted or "bound" in row.item
            # That width does not help from a large start is a difference of 0, where the error is
            # lowest replica symmetry is marginally stable, Λ = 0, and a share may be of one start.
            vanishing = ("replicon", "share of starts")
            near_zero = counted or entry.section.name == "starts"
            near_zero |= any(words in row.item for words in vanishing)
            assert row.uncertainty < abs(row.computed) or near_zero


def test_recorded_networks_leave_the_plateau_after_the_steps_of_the_map():
    data = recorded.load_recorded("beyond", "optimizers")
    module, of = beyond_optimizers, beyond_optimizers.deviations(data)
    barely = data["lower_passage"] > module.LATER * data["passage"] + module.LATER_STEPS
    assert int(barely.sum()) <= 4
    # At finite N fluctuations add to the preference of the start: a bias of order 1/N.
    largest = of.sel(dimension=module.CHAIN_DIMENSIONS[-1])
    shares = {
        (0.8, 0.9): (largest["chains"] / largest["chains_error"]).where(~barely),
        (0.85, 0.95): (of["chains"] / of["chains_error"]).sel(dimension=np.inf).where(~barely),
        (0.85, 0.99): of["between"] / of["between_error"],
    }
    for expected, ratios in shares.items():
        values = np.abs(ratios.values[np.isfinite(ratios.values)])
        assert np.mean(values < 2) >= expected[0] and np.mean(values < 3) >= expected[1]


def test_networks_are_recorded_up_to_a_number_of_examples():
    data, module = recorded.load_recorded("beyond", "optimizers"), beyond_optimizers
    examples = data["passage"] * data["batch"]
    chains = np.isfinite(data["chain_passage"]).all("run").all("dimension")
    assert np.array_equal(chains, examples <= module.MOST_OF_CHAINS)
    networks = np.isfinite(data["network_passage"]).all("network_run")
    expected = (examples <= module.MOST_OF_NETWORKS) & (data["batch"] == module.NETWORK_BATCH)
    assert np.array_equal(networks, expected) and int(networks.sum()) >= 8


def test_muon_leaves_the_plateau_first_at_every_batch():
    data = recorded.load_recorded("beyond", "optimizers")
    muon = data["steps"].sel(optimizer="muon")
    others = data["steps"].drop_sel(optimizer="muon")
    assert np.all(np.isfinite(others)) and np.all(muon < others)


def test_the_code_of_the_map_of_optimizers_is_that_of_the_recorded_file():
    data, module = recorded.load_recorded("beyond", "optimizers"), beyond_optimizers
    assert data["case"].values.tolist() == [case.label for case in module.CASES]
    assert data["batch"].values.tolist() == list(module.BATCHES)
    assert data["dimension"].values.tolist() == list(module.CHAIN_DIMENSIONS)
    np.testing.assert_allclose(data["rate"], module.RATES, rtol=1e-12)
    steps = data["map"].where(np.isfinite(data["map"]))
    for batch in data["batch"].values:
        assert steps.sel(batch=batch).max() <= module.most_steps(batch)


def test_deviations_extrapolate_passages_that_are_linear_in_the_inverse_of_n():
    sizes, noise = np.array([100, 400, 1600]), np.array([-1.0, 0.0, 1.0])
    over = ("case", "optimizer", "batch")
    passages = 20.0 + 300.0 / sizes[:, None] + noise
    weights = np.array([22.0, 23.0, 24.0])
    data = xr.Dataset(
        {
            "passage": (over, [[[20.5]]]),
            "chain_passage": ((*over, "dimension", "run"), passages[None, None, None]),
            "network_passage": ((*over, "network_run"), weights[None, None, None]),
        },
        coords={"case": ["one"], "optimizer": ["plain"], "batch": [1.0], "dimension": sizes},
    )
    of = beyond_optimizers.deviations(data).isel(case=0, optimizer=0, batch=0)
    np.testing.assert_allclose(of["chains"], [2.5, 0.25, -0.3125, -0.5], atol=1e-12)
    error = 1 / np.sqrt(3)
    limit_error = error * np.hypot(4 / 3, 1 / 3)
    np.testing.assert_allclose(of["chains_error"], [error, error, error, limit_error])
    assert float(of["networks"]) == 2.5 and float(of["between"]) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1.0, 100.0])
@pytest.mark.parametrize("name", beyond_optimizers.OPTIMIZERS)
def test_the_recorded_map_of_optimizers_is_computed_again(name, batch):
    data = recorded.load_recorded("beyond", "optimizers")
    case, optimizer = beyond_optimizers.CASES[0], beyond_optimizers.OPTIMIZERS[name]
    here = data.sel(case=case.label, optimizer=name, batch=batch)
    rate, goal = float(here["learning_rate"]), beyond_optimizers.level(case)
    assert beyond_optimizers.needed(case, optimizer, batch, rate, goal) == float(here["steps"])

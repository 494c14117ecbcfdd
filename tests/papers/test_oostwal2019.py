"""oostwal2019: second routes for the rows on slips of the paper."""

import math

import numpy as np
import pytest
import xarray as xr
from equilibrium.equilibrium_reference import Landscape
from scipy.optimize import brentq, minimize, minimize_scalar

import tutelage as tl
from tutelage.papers import recorded
from tutelage.papers.oostwal2019 import escape
from tutelage.papers.oostwal2019.error import error, site_symmetric
from tutelage.papers.oostwal2019.free_energy import entropy
from tutelage.papers.oostwal2019.loads import at, load
from tutelage.papers.oostwal2019.measures import holds_in_cases
from tutelage.papers.oostwal2019.samples import Size, _sampled
from tutelage.papers.oostwal2019.states import NOTE_POSITIVE


def test_langevin_noise_of_strength_two_over_beta_samples_the_gibbs_density():
    """E = w⁴/4, β = 4: ⟨w²⟩ = 2Γ(3/4)/(Γ(1/4)√β) = 0.338.  3000 walkers for a time 8, fixed seed.

    The step of 0.01 leaves a bias of that order; four standard errors of ⟨w²⟩ are 0.02.
    """
    β, step, random = 4.0, 0.01, np.random.default_rng(13)
    exact = 2 * math.gamma(0.75) / (math.gamma(0.25) * math.sqrt(β))
    results = {}
    for strength in (2 / β, 2 * β):
        w = np.zeros(3000)
        for _ in range(800):
            w += -step * w**3 + math.sqrt(strength * step) * random.normal(size=w.size)
        results[strength] = float(np.mean(w**2))
    assert abs(results[2 / β] - exact) < 0.03
    assert results[2 * β] > 3 * exact


def test_relu_states_with_negative_specialization_grow_linearly_in_thirty_digits():
    """S - R doubles with α - α_d, at K = 10, up to terms of relative order α - α_d."""
    ends, exact = load(tl.ReLU(), 10, "unstable")[0], Landscape("ReLU", 10)
    grown = []
    for h in (1e-5, 2e-5):
        near = at(tl.ReLU(), 10, ends + h, "R < S")
        R, S, _ = exact.state(ends + h, (near.R, near.S, near.C))
        grown.append(float(S - R))
    assert grown[1] / grown[0] == pytest.approx(2.0, abs=0.02)


def test_overlaps_of_relu_students_become_positive_at_the_loads_of_the_note():
    """C = 0 at R = S, where ∂s/∂C = αK ∂ε_g/∂C, by differences of both; at π for K → ∞."""
    loads = {}
    for K in (3, 5, 10, 10**4):
        sign = lambda a, K=K: at(tl.ReLU(), K, a, "unspecialized").C  # noqa: E731
        loads[K] = brentq(sign, 2.0, 5.0, xtol=1e-10)
        state, h = at(tl.ReLU(), K, loads[K], "unspecialized"), 1e-6
        if K > 10:
            continue  # ε_g of K² averages
        s, e = (
            (f(K, state.R, state.S, h) - f(K, state.R, state.S, -h)) / (2 * h)
            for f in (entropy, lambda *x: error(tl.ReLU(), site_symmetric(*x)))
        )
        assert loads[K] * K * e == pytest.approx(s, rel=1e-5)
    assert [f"{loads[K]:.2f}" for K in (3, 5, 10)] == ["3.36", "3.29", "3.23"]
    assert all(text in NOTE_POSITIVE for text in ("3.36", "3.29", "3.23"))
    assert loads[10**4] == pytest.approx(math.pi, abs=2e-4)


def test_a_statement_that_fails_somewhere_differs():
    assert holds_in_cases("i", "always", [True, True]).verdict == "agrees"
    assert holds_in_cases("i", "always", [True, False]).verdict == "differs"
    assert holds_in_cases("i", "always", [True, False]).computed == 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("g", "K", "start"), [(tl.Erf(), 5, "teacher"), (tl.ReLU(), 2, "teacher")])
def test_symbols_lie_on_the_curves(g, K, start):
    """N = 1600: within six standard errors of four runs, and 2/N for the finite dimension."""
    loads = (90.0, 70.0) if K == 5 else (14.0, 10.0)
    result = _sampled(g, K, start, loads, Size(1600, 60, 4))
    for a in loads:
        best, sample = tl.equilibrium.states(g, K, a)[0], result.sel(load=a)
        for name in ("R", "S", "C", "generalization_error"):
            off = abs(float(sample[name]) - getattr(best, name))
            assert off < 6 * float(sample[f"{name}_error"]) + 2 / 1600


def _sigmoidal_free_energy(K, load, R, S, C):
    """βf of eq. (20), with eq. (11) as corrected and eq. (19)."""
    sine = K / 3 + K * (K - 1) / math.pi * (math.asin(C / 2) - 2 * math.asin(S / 2))
    return load * (sine - 2 * K / math.pi * math.asin(R / 2)) - entropy(K, R, S, C)


def test_the_barrier_of_trapped_networks_is_that_of_eq_20():
    """Δ = max over V = R − S of the minimum of βf over S and C, less that at V = 0."""
    K, load = escape.K, escape.SIGMOIDAL.load

    def profile(V):
        def f(x):
            together, C = x  # of (R − S) + K S, and C
            if together**2 >= 1 + (K - 1) * C:
                return math.inf
            S = (together - V) / K
            return _sigmoidal_free_energy(K, load, S + V, S, C)

        options = {"xatol": 1e-8, "fatol": 1e-13, "initial_simplex": SIMPLEX}
        return minimize(f, SIMPLEX[0], method="Nelder-Mead", options=options).fun

    top = minimize_scalar(lambda V: -profile(V), bounds=(0.05, 0.4), method="bounded")
    # The parabola through three of 201 points has an error of third order.
    assert escape.barrier(escape.SIGMOIDAL) == pytest.approx(-top.fun - profile(0.0), rel=1e-4)
    assert escape.barrier(escape.RECTIFIED) == 0.0


SIMPLEX = np.array([[0.97, 0.0], [0.96, 0.0], [0.97, 0.01]])


def test_slopes_of_made_up_escape_times():
    """Exponential times with the mean 20 exp(0.008 N), cut off at 5000 sweeps."""
    random = np.random.default_rng(35)
    N = np.array(escape.DIMENSIONS)
    mean = 20 * np.exp(0.008 * N)
    times = random.exponential(mean[:, None], size=(len(N), 6000))
    times[times > 5000] = np.inf
    assert 0 < np.isinf(times[-1]).mean() < 0.2
    data = xr.Dataset(
        {"escape_time": (("setting", "dimension", "run"), times[None])},
        coords={"setting": [escape.SIGMOIDAL.label], "dimension": N, "last_sweep": 5000},
    )
    slope, error = escape._mean(escape.slopes(data, escape.SIGMOIDAL))
    assert abs(slope - 0.008) < 4 * error < 0.001
    np.testing.assert_allclose(escape.mean_time(times, 5000), mean, rtol=0.06)
    assert escape._slope_of_logarithm(np.array([300.0, 600.0])) == pytest.approx(math.log(2) / 300)


@pytest.mark.slow
def test_a_recorded_escape_is_computed_again():
    data = recorded.load_recorded("oostwal2019", "escape").sel(dimension=100)
    for one in escape.SETTINGS:
        before = data["escape_time"].sel(setting=one.label).values
        now = escape.escape_times(one, 100, runs=escape.RUNS, last=1000, seed=100)
        both = np.log(before), np.log(now)
        error = math.hypot(*(times.std(ddof=1) / math.sqrt(len(times)) for times in both))
        assert abs(both[0].mean() - both[1].mean()) < 4 * error + 0.01

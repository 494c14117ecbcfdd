"""Sampled weights: exact laws at finite N, and the minima of the free energy at large N.

Seeds are fixed.  Deviations from an exact value are accepted up to four standard errors, which
a correct sampler exceeds once in 16000 comparisons; Kolmogorov-Smirnov tests have level 0.001.
"""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.signal import lfilter
from scipy.stats import beta, kstest

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.equilibrium.general.blocks import matched_overlaps
from tutelage.equilibrium.general.minima import minima
from tutelage.equilibrium.kernel.pair_error import PairError
from tutelage.equilibrium.sampling.autocorrelation import autocorrelation_time, standard_error
from tutelage.equilibrium.sampling.sample import Sampler, hysteresis, sample
from tutelage.equilibrium.sampling.spheres import Gibbs, rotate


def scenario(K, M, activation, T=None):
    return tl.Scenario(
        tl.Committee(K, activation), tl.Committee(M, activation), T, output_scale=K**-0.5
    )


def mean_and_error(values):
    """Return the mean and error of a series over (run, sweep, …)."""
    values = np.moveaxis(np.asarray(values), 1, -1)
    errors = standard_error(values)
    return values.mean(axis=(0, -1)), np.sqrt(np.mean(errors**2, axis=0) / len(values))


def test_the_standard_error_of_a_series_that_forgets_is_that_of_its_law():
    """x_t = x_{t-1}/2 + noise has τ = (1 + ½)/(1 - ½) = 3 and the variance 4/3."""
    n = 2**20
    x = lfilter([1.0], [1.0, -0.5], np.random.default_rng(1).standard_normal(n))
    # A window of 5τ steps leaves √(2·15/n) of τ uncertain, and the error half of it.
    assert standard_error(x) == pytest.approx(math.sqrt(4 / n), rel=4 * 0.5 * math.sqrt(60 / n))


@pytest.mark.slow
def test_without_load_overlaps_have_the_law_of_random_directions():
    """(R + 1)/2 ~ Beta((N-1)/2, (N-1)/2), from chains that all begin at R = 1; variance 1/N."""
    N = 12
    free = sample(
        scenario(2, 2, tl.Erf()), 0.0, dimension=N, sweeps=1, runs=1000, start="teacher", warm_up=30
    )
    assert float(free["acceptance"].min()) > 1 - 1e-10
    law = beta((N - 1) / 2, (N - 1) / 2, loc=-1, scale=2)
    assert law.var() == pytest.approx(1 / N)
    for overlap in (free["R"][:, 0, 0, 0], free["R"][:, 0, 1, 0], free["Q"][:, 0, 0, 1]):
        assert kstest(overlap.values, law.cdf).pvalue > 0.001


ERRORS = {
    "erf": lambda R: 1 / 3 - 2 / math.pi * math.asin(R / 2),
    "relu": lambda R: (2 - R) / 4 - (math.sqrt(1 - R * R) + R * math.asin(R)) / (2 * math.pi),
}


@pytest.mark.parametrize(
    ("name", "unit"),
    [pytest.param("erf", tl.Erf(), marks=pytest.mark.slow), ("relu", tl.ReLU())],
)
def test_one_unit_has_the_exact_moments_of_finite_dimension(name, unit):
    """Density of R: (1 - R²)^((N-3)/2) exp(-αN ε_g), oostwal2019 eqs. (30) and (31)."""
    N, load = 20, 5.0
    drawn = sample(scenario(1, 1, unit), load, dimension=N, sweeps=1000)["R"].values[..., 0, 0]

    def weight(R):
        return (1 - R * R) ** ((N - 3) / 2) * math.exp(-load * N * (ERRORS[name](R) - 0.05))

    total = quad(weight, -1, 1, epsabs=0)[0]
    for power in (1, 2, 4):
        exact = quad(lambda R, p=power: R**p * weight(R), -1, 1, epsabs=0)[0] / total
        mean, error = mean_and_error(drawn**power)
        assert error < 0.01 and abs(mean - exact) < 4 * error


@pytest.mark.slow
def test_a_graded_scenario_satisfies_the_identity_of_stein_on_the_sphere():
    """⟨ΔR_in⟩ = αKN⟨∇R_in·∇ε_g⟩ with ΔR_in = -(N-1)R_in: exact for every N, K, M and T.

    ∇R_in·∇ε_g = Σ_k q_ik (R_kn - Q_ik R_in) + Σ_m r_im (T_nm - R_im R_in), with the derivatives
    q and r of ε_g with respect to Q_ik and R_im, for the ReLU from oostwal2019 eq. (28).
    """
    N, load, T = 16, 6.0, np.array([[1.0, 0.3], [0.3, 2.0]])
    drawn = sample(scenario(2, 2, tl.ReLU(), T), load, dimension=N, sweeps=1000)
    Q, R = drawn["Q"].values, drawn["R"].values
    sizes = np.sqrt(np.diag(T))
    q = 0.5 * (0.25 + np.arcsin(np.clip(Q, -1, 1)) / (2 * np.pi)) * (1 - np.eye(2))
    r = -0.5 * (0.25 + np.arcsin(R / sizes) / (2 * np.pi))
    among = q @ R - np.sum(q * Q, axis=-1)[..., None] * R
    teachers = r @ T - np.sum(r * R, axis=-1)[..., None] * R
    mean, error = mean_and_error((N - 1) * R + load * 2 * N * (among + teachers))
    assert np.all(np.abs(mean) < 4 * error) and np.all(error < 0.5)
    assert np.all(np.abs(mean_and_error((N - 1) * R)[0]) > 4)  # the two terms do not vanish


def test_the_force_is_the_gradient_of_the_energy():
    """Central differences with h = 1e-6: rounding of 1e-16/h."""
    rng = np.random.default_rng(0)
    J = rng.normal(size=(1, 3, 7))
    J /= np.linalg.norm(J, axis=-1, keepdims=True)
    gibbs = Gibbs(PairError(scenario(3, 2, tl.ReLU())), jnp.asarray(np.eye(2, 7)))
    force = np.asarray(gibbs.force(jnp.asarray(J), 2.0))
    energy = jax.jit(lambda J: 2.0 * 3 * gibbs.generalization_error(J))
    for _ in range(5):
        step = 1e-6 * rng.normal(size=J.shape)
        difference = energy(jnp.asarray(J + step)) - energy(jnp.asarray(J - step))
        np.testing.assert_allclose(difference[0], -2 * np.sum(force * step), atol=2e-14)


def test_great_circles_keep_norms_and_can_be_run_backwards():
    rng = np.random.default_rng(1)
    J = rng.normal(size=(2, 3, 9))
    J = jnp.asarray(J / np.linalg.norm(J, axis=-1, keepdims=True))
    v = jnp.asarray(rng.normal(size=J.shape))
    v = v - jnp.sum(J * v, axis=-1, keepdims=True) * J
    moved, velocity = rotate(J, v, 0.7)
    np.testing.assert_allclose(jnp.sum(moved**2, axis=-1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(jnp.sum(velocity**2, -1), jnp.sum(v**2, -1), rtol=1e-13)
    back, reversed_ = rotate(moved, -velocity, 0.7)
    np.testing.assert_allclose(back, J, atol=1e-14)
    np.testing.assert_allclose(reversed_, -v, atol=1e-13)


def test_autocorrelation_time_of_an_autoregression():
    """x' = φx + noise has τ = (1 + φ)/(1 - φ); 8 series of 2·10⁴ give it within 10 %."""
    phi, rng = 0.8, np.random.default_rng(2)
    x = np.zeros((8, 20000))
    noise = rng.normal(size=x.shape)
    for t in range(1, x.shape[1]):
        x[:, t] = phi * x[:, t - 1] + noise[:, t]
    assert np.mean(autocorrelation_time(x)) == pytest.approx(9.0, rel=0.1)
    assert np.mean(standard_error(x)) == pytest.approx(5 / math.sqrt(20000), rel=0.1)
    assert autocorrelation_time(np.ones(50)) == 1.0 and standard_error(np.ones(50)) == 0.0


def test_a_seed_gives_the_same_samples_and_the_dataset_has_its_provenance():
    case = scenario(1, 1, tl.Erf())
    size = {"dimension": 20, "sweeps": 10, "runs": 2}
    first, second, other = (sample(case, 2.0, seed=s, **size) for s in (3, 3, 4))
    assert first.equals(second) and not first.equals(other)
    assert first.attrs["computed_by"] == "equilibrium.sample"
    assert (first.attrs["load"], first.attrs["dimension"], first.attrs["seed"]) == (2.0, 20, 3)
    assert tl.results.recompute(first).equals(first)


def test_chains_begin_at_the_overlaps_that_are_given():
    """To rounding; students beyond M go round the teachers again, whatever their length."""
    case = scenario(3, 2, tl.Erf(), np.diag([1.0, 4.0]))
    given = tl.Overlaps(np.eye(3), [[0.5, 0.2], [0.0, -0.6], [0.3, 0.0]], case.T)
    for start, R in (("teacher", [[1, 0], [0, 2], [1, 0]]), (given, np.asarray(given.R))):
        sampler = Sampler(case, 40, 1, None, 2, 0, start, None)
        Q, result = sampler.gibbs.overlaps(sampler.J)
        np.testing.assert_allclose(result, np.broadcast_to(R, (2, 3, 2)), atol=1e-14)
        np.testing.assert_allclose(Q, np.broadcast_to(sampler.start.Q, (2, 3, 3)), atol=1e-14)
    random = Sampler(case, 40, 1, None, 2, 0, "random", None).J
    np.testing.assert_allclose(jnp.sum(random**2, axis=-1), 1.0, rtol=1e-14)
    assert float(jnp.max(jnp.abs(random[0] - random[1]))) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "K", "load", "dimensions"),
    [(tl.ReLU(), 2, 12.0, (100, 200)), (tl.Erf(), 2, 40.0, (100, 200)),
     (tl.Erf(), 5, 60.0, (400, 800)), (tl.ReLU(), 5, 20.0, (200, 400))],
)  # fmt: skip
def test_means_approach_the_minimum_of_the_free_energy(unit, K, load, dimensions):
    """Means differ from the minimum by O(1/N): 2⟨·⟩(2N) - ⟨·⟩(N) leaves O(1/N²).

    What that leaves is at most the square of the relative shift between N and 2N, added to four
    standard errors.
    """
    case = scenario(K, K, unit)
    state = minima(case, load, starts=16)[0]
    assert state.name == "specialized"
    series = {}
    for N in dimensions:
        drawn = sample(case, load, dimension=N, sweeps=1500, start=state.overlaps, warm_up=500)
        R, Q = drawn["R"].values, drawn["Q"].values
        own, off = np.eye(K, dtype=bool), ~np.eye(K, dtype=bool)
        series[N] = [
            mean_and_error(x)
            for x in (
                R[:, :, own].mean(-1),
                R[:, :, off].mean(-1),
                Q[:, :, off].mean(-1),
                drawn["generalization_error"].values,
            )
        ]
    R, Q = np.asarray(state.overlaps.R), np.asarray(state.overlaps.Q)
    exact = R[0, 0], R[0, 1], Q[0, 1], state.generalization_error
    for value, (small, e_small), (large, e_large) in zip(
        exact, *(series[N] for N in dimensions), strict=True
    ):
        extrapolated, error = 2 * large - small, math.hypot(2 * e_large, e_small)
        assert abs(extrapolated - value) < 4 * error + (small - large) ** 2


@pytest.mark.slow
def test_three_relu_units_do_not_stay_negatively_specialized():
    """The R < S state of oostwal2019 is a saddle for K = 3: no chain that begins there stays.

    α = 9, N = 400; R, S and C are the site-symmetric stationary values there.
    """
    R, S, C = -0.036057, 0.506893, 0.037441
    start = tl.Overlaps(C + (1 - C) * np.eye(3), S + (R - S) * np.eye(3), np.eye(3))
    size = {"dimension": 400, "sweeps": 50, "runs": 4}
    drawn = sample(scenario(3, 3, tl.ReLU()), 9.0, start=start, warm_up=300, **size)
    for mean in drawn["R"].mean("sweep").values:
        own, others = matched_overlaps(mean)
        assert own > others + 0.4


@pytest.mark.slow
def test_five_erf_units_remember_where_they_came_from_and_relu_units_do_not():
    """Two minima of βf coexist for erf, K = 5, from α_s = 44.3 on; the ReLU has one at a time.

    At α = 46 a barrier of 0.013 N separates the erf minima in both directions: exp(-26) at
    N = 2000, so that every run stays where it was.  At α = 80 there is one minimum.
    """
    erf = hysteresis(scenario(5, 5, tl.Erf()), [36.0, 46.0, 80.0], dimension=2000, runs=4)
    split = erf["specialization"]
    assert np.all(split.sel(direction="up", load=46.0) < 0.3)
    assert np.all(split.sel(direction="down", load=46.0) > 0.5)
    assert np.all(np.abs(split.sel(load=36.0)) < 0.2)
    assert np.all(split.sel(direction="down", load=80.0) > 0.7)
    relu = hysteresis(scenario(5, 5, tl.ReLU()), [5.0, 9.0, 11.0], dimension=800, runs=4)
    split = relu["specialization"]
    assert np.all(np.abs(split.sel(load=5.0)) < 0.1)
    for load in (9.0, 11.0):
        up, down = (split.sel(direction=way, load=load) for way in ("up", "down"))
        assert abs(float(up.mean() - down.mean())) < 0.03 and float(up.min()) > 0.5


def test_hysteresis_goes_up_and_down_through_all_loads():
    drawn = hysteresis(scenario(1, 1, tl.Erf()), [0.0, 5.0], dimension=20, sweeps=50, runs=2)
    assert tl.results.recompute(drawn).equals(drawn)
    assert dict(drawn["R"].sizes) == {
        "direction": 2, "load": 2, "run": 2, "student": 1, "teacher": 1
    }  # fmt: skip
    R = drawn["R"].mean("run").values[..., 0, 0]
    assert np.all(R[:, 1] > R[:, 0] + 0.3)


GOOD = {"load": 1.0, "dimension": 10, "sweeps": 2}


@pytest.mark.parametrize(
    ("argument", "value"),
    [("load", -1.0), ("load", math.nan), ("sweeps", 0), ("runs", 0), ("dimension", 3),
     ("dimension", 0), ("warm_up", 0), ("start", "teachers"), ("start", None),
     ("start", tl.Overlaps(np.eye(1), np.zeros((1, 2)), np.eye(2))),
     ("start", tl.Overlaps(2 * np.eye(2), np.zeros((2, 2)), np.eye(2)))],
)  # fmt: skip
def test_bad_input_is_refused_by_name(argument, value):
    with pytest.raises(tl.InputError, match=f"^{argument}"):
        sample(scenario(2, 2, tl.Erf()), **{**GOOD, argument: value})


@pytest.mark.parametrize("loads", [[], [2.0, 1.0], [-1.0, 1.0], [math.nan], 1.0])
def test_loads_that_do_not_increase_are_refused(loads):
    with pytest.raises(tl.InputError, match=r"^loads"):
        hysteresis(scenario(1, 1, tl.Erf()), loads, dimension=10)

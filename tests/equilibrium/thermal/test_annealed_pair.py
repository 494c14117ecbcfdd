"""Two units at a temperature, annealed: averages by other routes, limits, and bad input."""

import itertools
import math

import numpy as np
import pytest

import tutelage as tl
from tutelage._checks import InputError
from tutelage._jax import jnp
from tutelage.averages.orthant.averages import normalised
from tutelage.averages.orthant.moments import pair_angle
from tutelage.averages.orthant.tetrahedron import tetrahedron
from tutelage.equilibrium.kernel.kernel import kernel_of
from tutelage.equilibrium.symmetric.theory import Point
from tutelage.equilibrium.thermal.annealed_pair import AnnealedPairTheory
from tutelage.equilibrium.thermal.orthants import orthant_change, orthant_probability
from tutelage.equilibrium.thermal.two_units import (
    STUDENT_MINUS_TEACHER,
    SmoothAverage,
    average_of,
    covariances,
)

UNITS = [tl.ReLU(), tl.LeakyReLU(0.3), tl.Erf()]
OVERLAPS = np.array([0.7, 0.3, 0.1])  # U, V, C
ANNEALED = {"units": 2, "approximation": "annealed"}


@pytest.mark.parametrize(("rho", "probability"), [(0.0, 1 / 16), (0.5, 1 / 5)])
def test_orthants_of_equal_correlations(rho, probability):
    C = np.full((4, 4), rho) + (1 - rho) * np.eye(4)
    assert orthant_probability(C) == pytest.approx(probability, abs=1e-14)


def test_four_fields_of_which_two_are_nearly_the_same_have_the_orthants_of_three():
    C = np.eye(4)
    C[:3, :3] = [[1, 0.3, -0.4], [0.3, 1, 0.2], [-0.4, 0.2, 1]]
    C[3, :3] = C[:3, 3] = (1 - 1e-12) * C[0, :3]
    three = 1 / 8 + np.sum(np.arcsin([0.3, -0.4, 0.2])) / (4 * math.pi)
    # The two differ in sign with the probability √(2e-12)/π.
    assert orthant_probability(C) == pytest.approx(three, abs=1e-6)


def by_geometry(covariance):
    """P_4 of `averages.orthant`: the volume of a spherical tetrahedron."""
    fields, _ = normalised(jnp.asarray(covariance))
    angles = {pair: pair_angle(fields, *pair) for pair in itertools.combinations(range(4), 2)}
    return float(tetrahedron(fields, angles).volume)


@pytest.mark.parametrize("kind", ["random", "nearly singular", "rank 3", "rank 2", "opposite"])
def test_orthants_are_those_of_averages(kind):
    rng = np.random.default_rng(7)
    for _ in range(4):
        L = rng.normal(size=(4, 4))
        if kind == "nearly singular":
            L[3] = 0.7 * L[0] - 0.4 * L[1] + 1e-9 * L[3]
        elif kind == "opposite":
            L[3] = -L[0]
        elif kind != "random":
            L[:, int(kind[-1]) :] = 0
        C = L @ L.T
        # Next to a singular covariance a rounding ε of its elements changes P_4 by up to √ε.
        tolerance = 1e-14 if kind == "random" else 1.5e-8
        assert orthant_probability(C) == pytest.approx(by_geometry(C), abs=tolerance)
        if kind == "opposite":
            assert abs(orthant_probability(C)) < tolerance


def test_the_change_of_an_orthant_is_its_derivative():
    """Differences of `averages.orthant` in each element of the covariance."""
    L, h = np.random.default_rng(3).normal(size=(4, 4)), 1e-4
    C = L @ L.T
    change = orthant_change(C)
    for i, j in itertools.combinations_with_replacement(range(4), 2):
        step = np.zeros((4, 4))
        step[i, j] = step[j, i] = h
        slope = (8 * (by_geometry(C + step) - by_geometry(C - step))
                 - by_geometry(C + 2 * step) + by_geometry(C - 2 * step)) / (12 * h)  # fmt: skip
        # The fourth-order difference rounds by ε/h.
        assert np.sum(change * step) / h == pytest.approx(slope, abs=1e-11)


@pytest.mark.parametrize(
    ("activation", "beta"), [(u, b) for u in UNITS for b in (0.3, 1.0)] + [(tl.ReLU(), 20.0)]
)
def test_the_average_is_that_of_drawn_fields(activation, beta):
    result = average_of(activation, beta)(*OVERLAPS)
    root = np.linalg.cholesky(covariances(*OVERLAPS))
    g = np.asarray(activation(np.random.default_rng(5).standard_normal((400_000, 4)) @ root.T))
    drawn = np.exp(-0.5 * beta * (g @ STUDENT_MINUS_TEACHER) ** 2)
    assert abs(result.value - drawn.mean()) < 4 * drawn.std() / math.sqrt(len(drawn))


def test_sixteen_orthants_agree_with_a_tensor_quadrature():
    exact = average_of(tl.ReLU(), 1.0)(*OVERLAPS)
    many, fewer = (SmoothAverage(tl.ReLU(), 1.0, nodes)(*OVERLAPS).value for nodes in (24, 16))
    # Next to a kink the error of Gauss–Hermite quadrature falls only like 1/nodes.
    assert 0 < abs(many - exact.value) < 5 * abs(many - fewer) < 5e-3


@pytest.mark.parametrize("activation", UNITS)
@pytest.mark.parametrize("V", [0.3, pytest.param(-0.3, marks=pytest.mark.slow), 0.0])
def test_derivatives_of_the_average_are_differences(activation, V):
    h, beta = 1e-3, 2.0
    average, here = average_of(activation, beta), np.array([0.7, V, 0.1])
    result = average(*here)

    def difference(f):
        return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)  # to h⁴

    for k, step in enumerate(np.eye(3)):
        value = difference(lambda x, step=step: average(*(here + x * step)).value)
        gradient = difference(lambda x, step=step: average(*(here + x * step)).gradient)
        assert result.gradient[k] == pytest.approx(value, abs=1e-9)
        np.testing.assert_allclose(result.hessian[k], gradient, atol=1e-8)
    in_beta = difference(lambda x: average_of(activation, beta + x)(*here).value)
    assert result.in_beta == pytest.approx(in_beta, abs=1e-9)


@pytest.mark.parametrize("V", [0.3, 5e-4, 0.0])
def test_equations_are_derivatives_of_the_free_energy(V):
    theory = AnnealedPairTheory(tl.ReLU(), kernel_of(tl.ReLU()), 0.5, noise=0.04)
    point = theory.at(V, Point(V, -0.3, 0.4))
    load = theory.slope(point)[0]
    h = 1e-4
    for step in np.eye(3):
        up, down = (
            theory.free_energy(load, Point(*(np.array(point) + s * h * step))) for s in (1, -1)
        )
        assert (up - down) / (2 * h) == pytest.approx(0.0, abs=1e-7)  # h² times a third derivative


@pytest.mark.parametrize(
    ("activation", "hot", "tolerance"), [(tl.ReLU(), 6.0940739, 2e-8), (tl.Erf(), 23.675957, 1e-4)]
)
def test_high_temperature_is_the_limit_of_section_6(activation, hot, tolerance):
    loads = []
    for T in (1e3, 2e3):
        theory = AnnealedPairTheory(activation, kernel_of(activation), T)
        loads.append(float(theory.slope(theory.at(0.0, theory.limit(np.array(0.0))))[0]) / T)
    # Corrections are of order 1/T, then 1/T²: (1.6/10³)² of the load at most.
    assert 2 * loads[1] - loads[0] == pytest.approx(hot, rel=tolerance + 4e-7)


def test_a_continuous_transition_and_its_states():
    transitions = tl.equilibrium.transitions(tl.ReLU(), temperature=1.0, **ANNEALED)
    assert transitions.order == "continuous" and transitions.bend.value > 0
    load = 1.2 * transitions.coexists.value
    first, mirrored, flat = tl.equilibrium.states(
        tl.ReLU(), load=load, temperature=1.0, saddles=True, **ANNEALED
    )
    assert (first.kind, mirrored.kind, flat.kind) == ("R > S", "R < S", "unspecialized")
    assert pytest.approx(mirrored.S, abs=1e-10) == first.R and flat.R == flat.S
    assert first.stable and mirrored.stable and not flat.stable
    assert first.q == pytest.approx(first.R**2 + first.S**2) and first.units == 2
    # ∂(βf/K)/∂β is α̃ times the training error, with the overlaps at their extremum.
    h, guess = 1e-3, Point(first.R - first.S, 2 * (first.R + first.S - 1), 4 * first.C)

    def energy(beta):
        theory = AnnealedPairTheory(tl.ReLU(), kernel_of(tl.ReLU()), 1 / beta)
        at = theory.at_load(np.array([load]), Point(*(np.array([x]) for x in guess)))
        return float(theory.free_energy(load, at)[0])

    slope = (energy(1 + h) - energy(1 - h)) / (2 * h)
    assert slope == pytest.approx(load * first.training_error, abs=1e-5)
    phases = tl.equilibrium.phases(tl.ReLU(), loads=[1.0, load], temperature=1.0, **ANNEALED)
    assert phases["phase"].values.tolist() == ["unspecialized", "specialized"]
    assert float(phases["specialization"][1]) == pytest.approx(first.R - first.S, abs=1e-9)


@pytest.mark.slow
def test_at_low_temperature_two_relu_units_specialize_discontinuously():
    transitions = tl.equilibrium.transitions(tl.ReLU(), temperature=0.01, **ANNEALED)
    assert transitions.order == "discontinuous" and transitions.bend.value < 0
    assert transitions.appears.value < transitions.coexists.value < transitions.unstable.value
    special, flat = transitions.specialized, transitions.unspecialized
    energies = special.free_energy_per_unit, flat.free_energy_per_unit
    assert energies[0] == pytest.approx(energies[1], abs=1e-12)
    assert pytest.approx(transitions.jump, abs=1e-9) == special.R - special.S


def sampled_at(N, load, T):
    """Mean training error and ε_g of every set of examples, for ReLU units."""
    committee = tl.Committee(2, tl.ReLU())
    data = tl.equilibrium.sample(
        tl.Scenario(committee, committee, output_scale=2**-0.5),
        examples=round(load * 2 * N),
        temperature=T,
        dimension=N,
        sweeps=100,
        runs=24,
        seed=1,
        warm_up=60,
    )
    names = ("training_error", "generalization_error")
    return np.array([data[name].mean(("replica", "sweep")).values for name in names])


@pytest.mark.slow  # fifteen CPU seconds
def test_sampled_networks_approach_the_annealed_theory_of_two_units_from_above():
    """ReLU, α̃ = 6, β ≤ 1: errors, and βf/K by integrating the training error over β.

    Corrections of order 1/N are removed by two N.  The annealed free energy is a lower bound.
    """
    load, (x, w) = 6.0, np.polynomial.legendre.leggauss(3)
    energies, annealed = np.zeros((2, 24)), 0.0
    for beta, weight in zip((1 + x) / 2, w / 2, strict=True):
        samples = np.stack([sampled_at(N, load, 1 / beta) for N in (16, 32)])  # N, error, set
        theory = tl.equilibrium.states(tl.ReLU(), load=load, temperature=1 / beta, **ANNEALED)[0]
        means, errors = _extrapolated(samples)
        exact = np.array([theory.training_error, theory.generalization_error])
        assert np.all(np.abs(means - exact) < 4 * errors)
        assert np.all(errors < 0.04 * exact)  # a factor in any term would be seen
        energies += weight * load * samples[:, 0]
        annealed += weight * load * theory.training_error
    quenched, error = _extrapolated(energies)
    assert annealed - 3 * error < quenched < annealed + 4 * error and error < 0.02 * annealed
    exact = tl.equilibrium.states(tl.ReLU(), load=load, temperature=1.0, **ANNEALED)[0]
    assert annealed == pytest.approx(exact.free_energy_per_unit, rel=5e-3)  # three nodes


def _extrapolated(samples):
    """2 x(2N) − x(N) of means over sets on the last axis, and its standard error."""
    means, errors = samples.mean(-1), samples.std(-1, ddof=1) / math.sqrt(samples.shape[-1])
    return 2 * means[1] - means[0], np.hypot(2 * errors[1], errors[0])


@pytest.mark.slow  # a minute
def test_smooth_units_carry_the_error_of_the_quadrature():
    theory = [AnnealedPairTheory(tl.Erf(), kernel_of(tl.Erf()), 1.0, nodes=n) for n in (16, 24)]
    starts = [t.slope(t.at(0.0, t.limit(np.array(0.0))))[0] for t in theory]
    transitions = tl.equilibrium.transitions(tl.Erf(), temperature=1.0, **ANNEALED)
    assert transitions.unstable.value == pytest.approx(starts[0], rel=1e-10)
    assert 0 < abs(starts[0] - starts[1]) < transitions.unstable.error < 0.01 * starts[0]


@pytest.mark.parametrize(
    ("setting", "argument"),
    [
        ({"units": 3, "temperature": 1.0, "approximation": "annealed"}, "units"),
        ({"units": 2, "temperature": 1.0, "approximation": "quenched"}, "units"),
        ({"units": 2, "temperature": 0.0, "approximation": "annealed"}, "temperature"),
    ],
)
def test_what_has_no_theory_is_refused(setting, argument):
    with pytest.raises(InputError) as refusal:
        tl.equilibrium.transitions(tl.ReLU(), **setting)
    assert refusal.value.argument == argument and refusal.value.hint


@pytest.mark.slow
def test_smooth_units_are_refused_where_the_quadrature_fails():
    with pytest.raises(tl.ComputationError, match="quadrature"):
        tl.equilibrium.transitions(tl.Erf(), temperature=0.1, **ANNEALED)


def test_linear_units_are_refused():
    with pytest.raises(InputError, match="linear"):
        tl.equilibrium.transitions(tl.Linear(), temperature=1.0, **ANNEALED)

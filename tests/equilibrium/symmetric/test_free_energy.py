"""The site-symmetric free energy, and its Hessian in all overlaps."""

import numpy as np
import pytest
from equilibrium.equilibrium_reference import Landscape

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.equilibrium.symmetric.stability import is_positive
from tutelage.equilibrium.symmetric.theory import Point, theory_of

UNITS = {"Erf": tl.Erf(), "ReLU": tl.ReLU()}


def point_of(K, R, S, C):
    """V, d, c of given overlaps."""
    return Point(R - S, K * (R + (K - 1) * S - 1), K * K * C)


def example(name, K):
    """A specialized and an unspecialized stationary state, each with its load."""
    theory = theory_of(UNITS[name], K)
    special = theory.at(0.6, Point(0.6, 0.0, 0.1))
    return theory, [(float(theory.slope(special)[0]), special), (9.0, theory.unspecialized(9.0))]


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("K", [2, 3, 7])
def test_error_and_free_energy_are_those_of_the_paper(name, K):
    R, S, C = 0.5, 0.1, 0.04
    theory, exact = theory_of(UNITS[name], K), Landscape(name, K)
    point = point_of(K, R, S, C)
    assert abs(theory.error(point) - float(exact.error(R, S, C))) < 1e-14
    expected = float(exact.free_energy(3.0, R, S, C)) / K
    assert abs(theory.free_energy(3.0, point) - expected) < 1e-14


@pytest.mark.parametrize(
    "g",
    [tl.ReLU(), tl.Erf(), pytest.param(tl.Swish(2.0), marks=pytest.mark.slow)],
    ids=lambda g: g.name,
)
def test_the_error_is_the_generalization_error_of_the_overlaps(g):
    K, R, S, C = 4, -0.3, 0.2, 0.05
    one = np.eye(K)
    pair = tl.Committee(K, g)
    scenario = tl.Scenario(pair, pair, output_scale=0.5)
    state = tl.Overlaps(Q=one + C * (1 - one), R=R * one + S * (1 - one), T=one)
    theory = theory_of(g, K)
    exact = tl.generalization_error(scenario, state, return_error=True)
    assert abs(theory.error(point_of(K, R, S, C)) - float(exact.value)) < float(exact.error) + 1e-14


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("K", [2, 3, 10])
def test_states_are_stationary_in_thirty_digits(name, K):
    theory, result = example(name, K)
    for load, point in result:
        at = theory.overlap(point)
        gradient = Landscape(name, K).gradient(load, at.R, at.S, at.C)
        # Each term is at most αK, of which rounding leaves some tens of units.
        assert max(abs(float(x)) for x in gradient) < 1e-14 * load * K


@pytest.mark.parametrize("name", UNITS)
def test_the_hessian_in_the_order_parameters_is_the_second_derivative(name):
    theory, result = example(name, 5)
    for load, point in result:
        at = theory.overlap(point)
        exact = Landscape(name, 5).hessian(load, at.R, at.S, at.C)
        expected = np.array(exact.tolist(), dtype=float)
        assert np.allclose(theory.hessian(load, point), expected, rtol=1e-12)


def general_free_energy(x, K, load, name):
    """α Σ κ(Q_ij) − α Σ κ(R_ij) − ½ ln det(Q − RRᵀ) of all overlaps."""
    if name == "Erf":
        kappa = lambda r: 2 / jnp.pi * jnp.arcsin(r / 2)  # noqa: E731
    else:
        kappa = lambda r: r / 4 + (jnp.sqrt(1 - r**2) + r * jnp.arcsin(r)) / (2 * jnp.pi)  # noqa: E731
    R, q = x[: K * K].reshape(K, K), x[K * K :]
    upper = np.triu_indices(K, 1)
    Q = jnp.eye(K).at[upper].set(q).at[upper[::-1]].set(q)
    energy = load * (jnp.sum(kappa(q)) - jnp.sum(kappa(R)))
    return energy - 0.5 * jnp.linalg.slogdet(Q - R @ R.T)[1]


@pytest.mark.parametrize(
    ("name", "K"),
    [("Erf", 2), ("ReLU", 3), ("Erf", 4), pytest.param("ReLU", 5, marks=pytest.mark.slow)],
)
def test_eigenvalues_by_representation_are_those_of_the_full_hessian(name, K):
    theory, result = example(name, K)
    second = jax.jit(jax.hessian(general_free_energy), static_argnums=(1, 3))
    for load, point in result:
        at, one = theory.overlap(point), np.eye(K)
        R = (at.R * one + at.S * (1 - one)).ravel()
        x = jnp.asarray(np.concatenate([R, np.full(K * (K - 1) // 2, at.C)]))
        exact = np.linalg.eigvalsh(np.asarray(second(x, K, load, name)))
        found_blocks = theory.blocks(load, point)
        mine = [np.repeat(b.eigenvalues, int(b.multiplicity)) for b in found_blocks]
        assert np.allclose(np.sort(np.concatenate(mine)), exact, rtol=0, atol=1e-13 * exact[-1])


@pytest.mark.parametrize("K", [2, 3, 4, 9, 10**6])
def test_every_overlap_is_counted_once(K):
    theory = theory_of(tl.ReLU(), K)
    result = theory.blocks(5.0, theory.unspecialized(5.0))
    assert sum(b.multiplicity * len(b.eigenvalues) for b in result) == K**2 + K * (K - 1) / 2


@pytest.mark.parametrize("K", [3, 10**6])
def test_pivots_and_eigenvalues_agree_on_stability(K):
    theory = theory_of(tl.ReLU(), K)
    for load in (3.0, 6.0, 6.4, 30.0):
        point = theory.unspecialized(load)
        for H in theory.matrices(load, point).values():
            assert is_positive(H) == (np.linalg.eigvalsh(H)[0] > 0)


def test_the_hessian_of_a_million_units_is_that_of_infinitely_many():
    # Corrections are of order 1/K; the stiff eigenvalues, of order K, are left out.
    for V in (0.4, 0.7):
        large, infinite = theory_of(tl.ReLU(), 10**6), theory_of(tl.ReLU(), float("inf"))
        point = large.at(V, Point(V, 0.0, 0.1))
        load = large.slope(point)[0]
        limit = {b.representation: b.eigenvalues for b in infinite.blocks(load, point)}
        for block in large.blocks(load, point):
            expected = limit[block.representation]
            assert np.allclose(block.eigenvalues[: len(expected)], expected, atol=1e-4)

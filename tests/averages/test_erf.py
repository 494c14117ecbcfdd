"""Closed forms of Saad and Solla against signs of noisy fields and against 30 digits."""

from functools import cache

import numpy as np
import pytest
from mpmath import mp
from problems import problems
from reference import erf_four_point
from units import covariances, in_one_piece, true_errors

from tutelage._jax import jax, jit_unoptimized, jnp, numbers_to_arrays
from tutelage.activations import Erf
from tutelage.averages import erf
from tutelage.averages.orthant import averages as orthant

EPSILON = np.finfo(float).eps
COUNT = {"i2": 2, "i3": 2, "i4": 4}


ERF, ORTHANT = in_one_piece(erf), in_one_piece(orthant)


@pytest.mark.parametrize("kind", ["i2", "i3", "i4"])
def test_closed_forms_are_exact_and_their_error_is_not_understated(kind):
    members = problems(kind, tags="erf", without="rounded")
    value, bound = getattr(ERF, kind)((Erf(),) * COUNT[kind], jnp.asarray(covariances(members)))
    error = true_errors(value, members)
    assert len(members) > 3
    assert np.all(error <= 1e-14 * np.array([max(p.scale, 1.0) for p in members]))
    assert np.all(error <= bound + EPSILON)


@pytest.mark.parametrize("kind", ["i2", "i3", "i4"])
@pytest.mark.parametrize("offsets", [(0.0, 0.0), (1.0, 1.0), (0.5, -2.0)])
def test_closed_forms_agree_with_noisy_signs(kind, offsets):
    """Two derivations that share only the covariance, with offsets."""
    size = {"i2": 2, "i3": 3, "i4": 4}[kind]
    A = np.random.default_rng(0).normal(size=(30, size, size))
    C = jnp.asarray(A @ np.swapaxes(A, -1, -2))
    activations = tuple(Erf(x) for x in (offsets if COUNT[kind] == 2 else (0.0, 0.0, *offsets)))
    activations = numbers_to_arrays(activations)  # one program for all offsets
    one, other = (getattr(m, kind)(activations, C).value for m in (ERF, ORTHANT))
    assert np.all(np.abs(one - other) <= 1e-13)


def test_large_variances_turn_erf_into_a_sign():
    """⟨sgn u sgn w⟩ = (2/π) asin ρ, up to 1/√q; no NaN at 1e200."""
    for q in (1e8, 1e16, 1e100):
        C = jnp.asarray([[q, 0.6 * q], [0.6 * q, q]])
        value = ERF.i2((Erf(), Erf()), C).value
        assert abs(value - 2 / np.pi * np.arcsin(0.6)) <= 2 / q + 4 * EPSILON
        assert np.all(np.isfinite(gradient("i2")(C)))


def differences(C):
    """Symmetric D with dI4 = Σ D_ab dC_ab by central differences: the step is 10⁻⁶⁰."""
    D, h = np.zeros((4, 4)), mp.mpf(10) ** -60
    for a in range(4):
        for b in range(a, 4):
            E = mp.zeros(4)
            E[a, b] = E[b, a] = h
            change = erf_four_point(mp.matrix(C) + E) - erf_four_point(mp.matrix(C) - E)
            D[a, b] = D[b, a] = float(change / (2 * h)) / (1 if a == b else 2)
    return D


WEIGHTS = {
    "rank 4": [[3, 0, 1, -1], [1, 2, 0, 1], [-1, 1, 3, 0], [0, 1, -1, 2]],
    "rank 3": [[3, 0, 1], [1, 2, 0], [-1, 1, 3], [0, 1, -1]],
    "rank 2": [[3, 0], [1, 2], [-1, 1], [2, 1]],
    "rank 1": [[3], [1], [-1], [2]],
    "u = v": [[3, 0, 1], [3, 0, 1], [-1, 1, 3], [0, 1, -1]],
    "u = w, v = z": [[3, 0], [1, 2], [3, 0], [1, 2]],
}
# Two eliminations of dependent fields that differ leave rounding of the size of C, as the rounding
# of C itself would, beside the noise of variance 1; the others nothing of that kind.
DEPENDENT = ("rank 3", "rank 2")
derivatives = jit_unoptimized(jax.value_and_grad(lambda C: erf.i4((Erf(),) * 4, C).value))


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("power", [0, 3, 8, 16, 50, 90])
def test_gradients_of_large_and_singular_covariances_are_differences(kind, power):
    """Of size 10 to 10⁵⁵, powers of two times whole numbers: the covariances are exact."""
    W = 2.0**power * np.array(WEIGHTS[kind])
    C = W @ W.T
    if kind in DEPENDENT and power > 16:
        assert np.all(np.isfinite(derivatives(C)[1]))  # nothing but rounding is left
        return
    value, gradient = derivatives(C)
    with mp.workdps(300):
        exact, expected = float(erf_four_point(C.tolist())), differences(C.tolist())
    s = np.sqrt(np.diag(C))
    wrong = np.abs(gradient + gradient.T - 2 * expected) / 2 * np.outer(s, s)
    scale = abs(exact) + np.max(np.abs(expected) * np.outer(s, s))
    relative = 64 * EPSILON * (np.max(C) if kind in DEPENDENT else 1)
    assert np.all(wrong <= relative * scale)
    assert abs(value - exact) <= relative * scale


@pytest.mark.parametrize("kind", ["i2", "i3", "i4", "slopes"])
def test_gradients_are_finite_for_covariances_of_every_size(kind):
    """Up to 10²⁹⁰, of every rank, with fields that coincide up to rounding."""
    size = {"i2": 2, "i3": 3, "i4": 4, "slopes": 2}[kind]
    rng, units = np.random.default_rng(21), (Erf(),) * COUNT.get(kind, 2)
    pair = jit_unoptimized(
        jax.vmap(jax.value_and_grad(lambda C: getattr(erf, kind)(units, C).value))
    )
    for rank in (1, 2, 3, 4):
        W = rng.normal(size=(4, 1000, size, rank)) * 10.0 ** rng.uniform(0, 145, (4, 1000, 1, 1))
        W[:, :, 1] = W[:, :, 0] + np.array([0, 1e-8, 1e-4, 1])[:, None, None] * W[:, :, 1]
        value, slope = pair((W @ np.swapaxes(W, -1, -2)).reshape(-1, size, size))
        assert np.all(np.isfinite(value)) and np.all(np.isfinite(slope))


def test_derivatives_are_right_where_student_and_teacher_coincide():
    """dI2/dR = 2/(π√3) at Q = R = T = 1, where the determinant vanishes."""

    def average(R):
        return erf.i2((Erf(), Erf()), jnp.array([[1.0, R], [R, 1.0]])).value

    assert abs(jit_unoptimized(jax.grad(average))(1.0) - 2 / (np.pi * np.sqrt(3))) <= 4 * EPSILON


@cache
def gradient(kind):
    """The gradient, compiled once."""
    units = (Erf(),) * COUNT.get(kind, 2)
    return jit_unoptimized(jax.grad(lambda C: getattr(erf, kind)(units, C).value))


@pytest.mark.parametrize("kind", ["i2", "i3", "i4", "slopes"])
@pytest.mark.parametrize("excess", [1e-15, 1e-12, 1e-9])
def test_derivatives_are_continuous_across_coinciding_fields(kind, excess):
    """Rounding puts them on either side: derivatives by every entry differ by its order alone."""
    size = {"i2": 2, "i3": 3, "i4": 4, "slopes": 2}[kind]
    same = 0.4 * np.ones((size, size))

    def slope(share):
        C = same * (1 + share * (1 - np.eye(size)))
        return gradient(kind)(jnp.asarray(C))

    inside, outside = slope(-excess), slope(excess)
    assert np.all(np.abs(inside - outside) <= 20 * excess)  # second derivatives are of order one

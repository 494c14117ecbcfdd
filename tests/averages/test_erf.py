"""Saad and Solla's closed forms against signs seen through noise and against 30 digits."""

import numpy as np
import pytest
from problems import problems
from units import covariances, true_errors

from tutelage._jax import jax, jnp
from tutelage.activations import Erf
from tutelage.averages import erf
from tutelage.averages.orthant import averages as orthant

EPSILON = np.finfo(float).eps
COUNT = {"i2": 2, "i3": 2, "i4": 4}


@pytest.mark.parametrize("kind", ["i2", "i3", "i4"])
def test_closed_forms_are_exact_and_their_error_is_not_understated(kind):
    members = problems(kind, tags="erf", without="rounded")
    value, bound = getattr(erf, kind)((Erf(),) * COUNT[kind], jnp.asarray(covariances(members)))
    error = true_errors(value, members)
    assert len(members) > 3
    assert np.all(error <= 1e-14 * np.array([max(p.scale, 1.0) for p in members]))
    assert np.all(error <= bound + EPSILON)


@pytest.mark.parametrize("kind", ["i2", "i3", "i4"])
@pytest.mark.parametrize("offsets", [(0.0, 0.0), (1.0, 1.0), (0.5, -2.0)])
def test_closed_forms_agree_with_noisy_signs(kind, offsets):
    """Two derivations that share nothing but the covariance, with offsets."""
    size = {"i2": 2, "i3": 3, "i4": 4}[kind]
    A = np.random.default_rng(0).normal(size=(30, size, size))
    C = jnp.asarray(A @ np.swapaxes(A, -1, -2))
    activations = tuple(Erf(x) for x in (offsets if COUNT[kind] == 2 else (0.0, 0.0, *offsets)))
    one, other = (getattr(m, kind)(activations, C).value for m in (erf, orthant))
    assert np.all(np.abs(one - other) <= 1e-13)


def test_large_variances_turn_erf_into_a_sign():
    """⟨sgn u sgn w⟩ = (2/π) asin ρ, up to 1/√q; no NaN at 1e200."""
    for q in (1e8, 1e16, 1e100):
        C = jnp.asarray([[q, 0.6 * q], [0.6 * q, q]])
        value = erf.i2((Erf(), Erf()), C).value
        assert abs(value - 2 / np.pi * np.arcsin(0.6)) <= 2 / q + 4 * EPSILON
        assert np.all(np.isfinite(jax.grad(lambda c: erf.i2((Erf(), Erf()), c).value)(C)))


def test_derivatives_are_right_where_student_and_teacher_coincide():
    """dI2/dR = 2/(π√3) at Q = R = T = 1, where the determinant vanishes."""

    def average(R):
        return erf.i2((Erf(), Erf()), jnp.array([[1.0, R], [R, 1.0]])).value

    assert abs(jax.grad(average)(1.0) - 2 / (np.pi * np.sqrt(3))) <= 4 * EPSILON


@pytest.mark.parametrize("kind", ["i2", "i3", "i4", "slopes"])
@pytest.mark.parametrize("excess", [1e-15, 1e-12, 1e-9])
def test_derivatives_are_continuous_across_coinciding_fields(kind, excess):
    """Rounding puts them on either side: derivatives by every entry differ by its order alone."""
    size = {"i2": 2, "i3": 3, "i4": 4, "slopes": 2}[kind]
    same = 0.4 * np.ones((size, size))

    def slope(share):
        C = same * (1 + share * (1 - np.eye(size)))
        units = (Erf(),) * COUNT.get(kind, 2)
        return jax.grad(lambda C: getattr(erf, kind)(units, C).value)(jnp.asarray(C))

    inside, outside = slope(-excess), slope(excess)
    assert np.all(np.abs(inside - outside) <= 20 * excess)  # second derivatives are of order one

"""The factor of the overlaps: its definition, and its change by an example."""

from functools import partial

import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.simulation.factor import Columns, Entries, Example, factorize

EPS = np.finfo(float).eps
WEIGHTS = np.random.default_rng(2).normal(size=(5, 9))


def of_weights(J, B):
    return tl.Overlaps.from_weights(np.atleast_2d(J), np.atleast_2d(B))


STARTS = {
    "regular": of_weights(WEIGHTS[:2], WEIGHTS[2:5]),
    "one unit": of_weights(WEIGHTS[0], WEIGHTS[1]),
    "three students, two teachers": of_weights(WEIGHTS[:3], WEIGHTS[3:5]),
    "students are teachers": of_weights(WEIGHTS[:2], WEIGHTS[:2]),
    "identical students": of_weights(WEIGHTS[[0, 0, 1]], WEIGHTS[2:4]),
    "identical teachers": of_weights(WEIGHTS[:2], WEIGHTS[[2, 2, 3]]),
    "no weights yet": of_weights(np.zeros((2, 9)), WEIGHTS[2:4]),
    "nearly a teacher": of_weights(WEIGHTS[0] + 1e-7 * WEIGHTS[1], WEIGHTS[0]),
    "orders of magnitude": of_weights([[1e-6], [1.0]] * WEIGHTS[:2], WEIGHTS[2:4]),
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_the_factor_has_the_overlaps(start):
    P, U, L = factorize(start)
    scale = np.max(np.abs(start.covariance))
    for product, overlap in ((P @ P.T, start.T), (U @ P.T, start.R), (U @ U.T + L @ L.T, start.Q)):
        np.testing.assert_allclose(product, overlap, rtol=0, atol=20 * EPS * scale)
    assert not np.any(np.triu(L, 1)) and not np.any(np.triu(P, 1))


def test_a_student_that_is_a_teacher_has_nothing_outside():
    """Roots of rounding errors in the covariance would be 10⁻⁸."""
    assert np.max(np.abs(factorize(STARTS["students are teachers"]).L)) < 1e-14


def test_starts_of_many_runs_are_factorized_together():
    two = [STARTS["regular"], of_weights(2 * WEIGHTS[:2], WEIGHTS[2:5])]
    pair = tl.Overlaps(*(np.stack([getattr(s, n) for s in two]) for n in ("Q", "R", "T")))
    for run, start in enumerate(two):
        for together, alone in zip(factorize(pair), factorize(start), strict=True):
            np.testing.assert_allclose(together[run], alone, rtol=0, atol=1e-14)


@partial(jax.jit, static_argnums=0)
def step(layout, factor, d, a, z, χ):
    """Q, R, x, y before, and Q, R after one example in each of several runs."""
    P, U, L = (jnp.asarray(x) for x in factor)
    runs = len(χ)
    before = layout.of(P[None], *(jnp.broadcast_to(x, (runs, *x.shape)) for x in (U, L)))
    ξ = Example(list(z), χ)
    x, y = before.fields(ξ)
    after = before.learned(d, list(a), ξ)
    return *before.overlaps(), jnp.stack(x), jnp.stack(y), *after.overlaps()


@pytest.mark.parametrize("layout", [Entries, Columns])
@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
@pytest.mark.parametrize("size", [1.0, 1e-6])
def test_a_step_is_the_literal_change_of_the_overlaps(start, layout, size):
    """R ← dR + a yᵀ,  Q ← d²Q + d(a xᵀ + x aᵀ) + a aᵀ |ξ|²,  in 7 runs."""
    K, M, runs = start.K, start.M, 7
    rng = np.random.default_rng(4)
    a, z, χ = size * rng.normal(size=(K, runs)), rng.normal(size=(M + K, runs)), rng.chisquare(4, 7)
    χ[0] = 0.0  # N = K + M
    z[:, 1], χ[1] = 0.0, 0.0
    d = 0.97
    Q, R, x, y, new_Q, new_R = (
        np.asarray(v) for v in step(layout, tuple(factorize(start)), d, a, z, χ)
    )
    square = np.sum(z**2, axis=0) + χ**2
    a, x, y = a.T, x.T, y.T
    outer = a[:, :, None] * x[:, None, :]
    literal_R = d * R + a[:, :, None] * y[:, None, :]
    literal_Q = d**2 * Q + d * (outer + np.swapaxes(outer, 1, 2))
    literal_Q += a[:, :, None] * a[:, None, :] * square[:, None, None]
    norm, teacher = (np.sqrt(np.max(np.abs(C))) for C in (literal_Q, start.T))
    np.testing.assert_allclose(new_R, literal_R, rtol=0, atol=30 * EPS * norm * teacher)
    np.testing.assert_allclose(new_Q, literal_Q, rtol=0, atol=30 * EPS * norm**2)


@pytest.mark.parametrize("layout", [Entries, Columns])
@pytest.mark.parametrize(
    "steps", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_rounding_accumulates_no_faster_than_a_random_walk(layout, steps):
    """ΔQ is a sum over examples of a xᵀ + x aᵀ + a aᵀ|ξ|², here with 64 bits of precision.

    Examples push the student to and fro around a nearly singular Q: a = -ε x + ε noise.  Each step
    rounds about ten times by 2⁻⁵³ of the entries: 10·2⁻⁵³·√steps, four times that are allowed.
    """
    start = STARTS["identical students"]
    P, U, L = (jnp.asarray(v)[None] for v in factorize(start))
    first = layout.of(P, U, L)
    K, M, ε = start.K, start.M, 1e-3

    def one(state, key):
        normal = jax.random.normal(key, (M + K + K + 1, 1))
        ξ = Example(list(normal[: M + K]), 3 + jnp.abs(normal[-1]))
        x, y = state.fields(ξ)
        a = [ε * (-x_i + 1e-3 * n) for x_i, n in zip(x, normal[M + K : -1], strict=True)]
        square = jnp.sum(normal[: M + K] ** 2) + ξ.rest[0] ** 2
        record = jnp.concatenate([*a, *x, *y, square[None]])
        return state.learned(1.0, a, ξ), record

    last, records = jax.jit(lambda s, k: jax.lax.scan(one, s, k))(
        first, jax.random.split(jax.random.key(0), steps)
    )
    a, x, y, square = np.split(np.asarray(records, np.longdouble), [K, 2 * K, 2 * K + M], axis=1)
    ΔQ = a.T @ x + x.T @ a + (a * square).T @ a
    Q, R, new_Q, new_R = (np.asarray(v[0]) for v in (*first.overlaps(), *last.overlaps()))
    allowed = 4 * 10 * 2.0**-53 * np.sqrt(steps) * np.max(np.abs(Q))
    np.testing.assert_allclose(new_Q, np.asarray(Q + ΔQ, float), rtol=0, atol=allowed)
    np.testing.assert_allclose(new_R, np.asarray(R + a.T @ y, float), rtol=0, atol=allowed)

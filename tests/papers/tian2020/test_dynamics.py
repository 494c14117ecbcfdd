"""Theorems 6 and 7 of tian2020, the slow escape, and the bridge to the theory of large d."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tutelage as tl
from tutelage._jax import jnp
from tutelage.papers.tian2020 import theorems
from tutelage.papers.tian2020.theorems.growth import Growth

ANGLES = [0.0, 0.3, math.pi / 2, 2.5, math.pi]


@pytest.mark.parametrize("θ", ANGLES)
@pytest.mark.parametrize("law", ["gaussian", "sphere", "heavy"])
def test_theorem_6_by_sampling(θ, law):
    random = np.random.default_rng(int(100 * θ))
    x = random.normal(size=(200_000, 3))
    if law == "sphere":
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    elif law == "heavy":
        x *= random.exponential(size=(len(x), 1))
    w, t = 3.0 * np.array([math.cos(θ), math.sin(θ), 0.0]), np.array([2.0, 0.0, 0.0])
    samples = x * ((x @ w > 0) * np.maximum(x @ t, 0.0))[:, None]
    moment = {"gaussian": 1.0, "sphere": 1 / 3, "heavy": 2.0}[law]  # E‖x‖²/d
    error = samples.std(axis=0) / math.sqrt(len(x))
    # Three components, fifteen cases: 4.5 standard errors have the level 3e-4 in all.
    gap = np.abs(samples.mean(axis=0) - theorems.mean_push(w, t, moment))
    assert np.all(gap <= 4.5 * error + 1e-15)


def test_theorem_6_the_push_does_not_depend_on_the_length_of_the_student_filter():
    t, w = [1.0, 0.2, 0.0], np.array([0.3, -0.4, 1.0])
    assert np.allclose(theorems.mean_push(7 * w, t), theorems.mean_push(w, t), rtol=1e-14)
    assert np.allclose(theorems.mean_push(w, np.multiply(3, t)), 3 * theorems.mean_push(w, t))


def test_theorem_6_the_push_lies_between_both_filters():
    random = np.random.default_rng(3)
    w, t = random.normal(size=(2, 200, 4))
    push = theorems.mean_push(w, t)
    for one in range(200):
        result, rest, *_ = np.linalg.lstsq(np.stack([w[one], t[one]], 1), push[one], rcond=None)
        assert np.all(result >= 0) and rest.sum() < 1e-25


@pytest.mark.parametrize("ε", [0.5, 0.1, 0.02])
def test_the_escape_time_is_that_of_the_flow_of_a_filter(ε):
    """dw/dt = ‖w‖ (π - θ) w*, a vector in the plane, until θ = π/2."""

    def change(_, w):
        θ = math.atan2(abs(w[1]), w[0])
        return math.hypot(*w) * (math.pi - θ) * np.array([1.0, 0.0])

    def turned(_, w):
        return w[0]

    turned.terminal = True
    begin = np.array([-math.cos(ε), math.sin(ε)])
    run = solve_ivp(change, (0, 1e4), begin, "DOP853", events=turned, rtol=1e-11, atol=1e-14)
    assert np.isclose(run.t[-1], theorems.escape_time(ε), rtol=1e-8)


def test_the_escape_is_as_slow_as_in_the_paper():
    ε = np.array([1e-1, 1e-2, 1e-3])
    for θ0 in (0.5, math.pi / 2, 3.0):
        u = math.pi - θ0
        ε_here = ε[ε < u]
        rest = theorems.escape_time(ε_here, θ0) - (1 / ε_here - 1 / u)
        assert np.all(rest >= 0)
        assert np.ptp(rest) < 0.02  # a constant is left: (u - ε)/6 + …, 1/6 of Δε = 0.1
        assert np.isclose(ε_here[-1] * theorems.escape_time(ε_here[-1], θ0), 1.0, atol=0.2)


def path_of(η, steps):
    teacher = tl.deep.teacher("3-2", inputs=5, outputs=4, data="gaussian:1")
    x = np.random.default_rng(0).normal(size=(300, 5))
    path = theorems.descent(tl.deep.student(teacher, 2, seed=1), teacher, x, η, steps=steps)
    return theorems.growth(path, teacher, x)


@pytest.mark.slow
def test_theorem_7_along_a_trajectory():
    """Forward differences of a descent with steps η are off by O(η): half of it with η/2."""
    errors = []
    for η, steps in ((0.02, 20), (0.01, 40)):
        result = Growth(*(a[: steps + 1] for a in path_of(η, 40)))
        gaps = [
            np.diff(result.logarithmic_ratio(k, other)) / η - result.predicted(k, other)[:-1]
            for k in range(6)
            for other in range(k)
        ]
        errors.append(np.max(np.abs(gaps)))
    assert np.max(np.abs(result.predicted(0, 1))) > 0.01
    assert 1.7 < errors[0] / errors[1] < 2.3


FILTERS = np.array([[0.1, 0.2], [0.3, -0.1], [-0.1, 0.3]])
TARGET = np.array([1.0, 0.5])
COEFFICIENTS = np.array([1.0, 0.7, 0.2])


def test_the_symmetric_case_has_negative_feedback():
    """d/dt (h_k - h_k') = -(h_k - h_k') (h_k + h_k' + S) (eq. (68))."""
    t = np.linspace(0.0, 6.0, 601)
    w, h = theorems.symmetric_flow(FILTERS, TARGET, COEFFICIENTS, t)
    S = np.linalg.norm(w, axis=2) @ COEFFICIENTS
    for k, other in ((0, 1), (0, 2), (1, 2)):
        d = h[:, k] - h[:, other]
        slope = np.gradient(d, t)
        expected = -d * (h[:, k] + h[:, other] + S)
        # Central differences are off by dt²/6 times the third derivative.
        third = np.gradient(np.gradient(slope, t), t)
        allowed = 1.5 * 0.01**2 / 6 * np.max(np.abs(third))
        assert np.max(np.abs(slope - expected)[2:-2]) < allowed < 0.01
        assert abs(d[-1]) < 0.05 * np.max(np.abs(d))
        ratio = np.log(np.linalg.norm(w[:, k], axis=1) / np.linalg.norm(w[:, other], axis=1))
        assert np.max(np.abs(np.gradient(ratio, t) - d)[2:-2]) < 0.01  # Theorem 7


def test_in_the_symmetric_case_filters_align_as_far_as_they_have_to_grow():
    """The flow is stationary where Σ a_k w_k = w*; only filters that start short reach w*."""

    def cosines(scale, until):
        times = np.linspace(0.0, until, 11)
        w, _ = theorems.symmetric_flow(scale * FILTERS, TARGET, COEFFICIENTS, times)
        return (w @ TARGET) / np.linalg.norm(w, axis=2) / np.linalg.norm(TARGET)

    near, far = cosines(1.0, 20.0), cosines(1e-3, 40.0)
    assert np.all(np.diff(near, axis=0) > -1e-9)  # all turn towards w*, none away
    assert near[-1].min() < 0.9
    assert far[-1].min() > 0.9999


def test_descent_decreases_the_loss():
    teacher = tl.deep.teacher("3-2", inputs=5, outputs=4, data="gaussian:1")
    x = jnp.asarray(np.random.default_rng(0).normal(size=(300, 5)))
    path = theorems.descent(
        tl.deep.student(teacher, 2), teacher, np.asarray(x), 0.02, steps=50, every=10
    )
    assert path.weights[0].shape == (6, 5, 6)
    losses = [
        float(
            jnp.mean(
                (
                    tl.deep.Network(
                        tuple(W[i] for W in path.weights), tuple(b[i] for b in path.biases)
                    )(x)
                    - teacher(x)
                )
                ** 2
            )
        )
        for i in range(6)
    ]
    assert np.all(np.diff(losses) < 0)

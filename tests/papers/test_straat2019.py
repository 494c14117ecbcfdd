"""straat2019: the second routes behind its rows, and statements that could have failed."""

import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.papers.straat2019 import equations, runs


@pytest.mark.parametrize(
    ("i", "fields", "sign"),
    [
        (0, [(2, 2), (2, 3), (2, 0), (2, 1)], (1, 1, -1, -1)),  # ⟨δ_1 y_1⟩
        (0, [(1, 2), (1, 3), (1, 0), (1, 1)], (1, 1, -1, -1)),  # ⟨δ_1 x_2⟩
        (1, [(0, 2), (0, 3), (0, 0), (0, 1)], (1, 1, -1, -1)),  # ⟨δ_2 x_1⟩
    ],
)
def test_equation_6_summed_is_the_mean_over_examples(i, fields, sign):
    """⟨δ_i f⟩ from drawn examples, which uses neither eq. (5) nor eq. (6)."""
    start = runs.start_2()
    rng = np.random.default_rng(7)
    f = rng.multivariate_normal(np.zeros(4), np.asarray(start.covariance), size=400_000)
    g = np.maximum(f, 0)
    delta = (f[:, i] > 0) * (g[:, 2] + g[:, 3] - g[:, 0] - g[:, 1])
    sample = delta * f[:, fields[0][0]]
    C = np.asarray(start.covariance)
    summed = sum(
        s * equations.equation_6(C[np.ix_([i, a, b], [i, a, b])])
        for s, (a, b) in zip(sign, fields, strict=True)
    )
    # Four standard errors: the level is 6e-5 for each of three fixed seeds.
    assert abs(sample.mean() - summed) < 4 * sample.std() / np.sqrt(len(sample))


@pytest.mark.slow
def test_the_printed_equation_5_is_refuted_by_examples():
    """dR_11 and dQ_12 at the start of Fig. 2, from examples: as computed, not as printed."""
    start = runs.start_2()
    rng = np.random.default_rng(8)
    f = rng.multivariate_normal(np.zeros(4), np.asarray(start.covariance), size=400_000)
    g = np.maximum(f, 0)
    residual = g[:, 2] + g[:, 3] - g[:, 0] - g[:, 1]
    delta = (f[:, :2] > 0) * residual[:, None]
    samples = (delta[:, 0] * f[:, 2], delta[:, 0] * f[:, 1] + delta[:, 1] * f[:, 0])
    for row, sample in zip(equations.equation_5(False), samples, strict=True):
        error = sample.std() / np.sqrt(len(sample))
        assert abs(sample.mean() - row.computed) < 4 * error
        assert abs(sample.mean() - row.published) > 10 * error


def test_the_uncertainty_of_a_limit_covers_a_decay_as_one_over_time():
    import xarray as xr

    time = np.linspace(0.0, 100.0, 401)
    curve = xr.DataArray(0.5 + 3.0 / (1.0 + time), coords={"time": time}, dims="time")
    result = runs.limit(curve)
    left = abs(result.value - 0.5)
    # 9 (f(0.9 T) - f(T)) is f(T) - f(∞) up to terms of order 1/T².
    assert left == pytest.approx(result.uncertainty, rel=0.02)


def test_any_share_of_a_teacher_is_a_solution_for_relu_and_none_for_erf():
    """The output itself, at random inputs: B_2·ξ is split between two students."""
    rng = np.random.default_rng(1)
    y = rng.standard_normal((1000, 2))
    for a in (0.1, 0.5, 0.9):
        x = np.column_stack([y[:, 0], a * y[:, 1], (1 - a) * y[:, 1]])
        relu, erf = (
            np.abs(np.asarray(g(x)).sum(1) - np.asarray(g(y)).sum(1)) for g in (tl.ReLU(), tl.Erf())
        )
        assert relu.max() < 1e-14 and erf.max() > 1e-2


def test_two_students_share_a_teacher_and_not_in_halves():
    """J_2 = a B_2 and J_3 = b B_2 with a + b = 1: Q_22 = a², Q_33 = b², Q_23 = ab, R_i2 = a, b."""
    end = runs.fig_3("ReLU").isel(time=-1)
    Q, (a, b) = end["Q"].values, end["R"].values[1:, 1]
    # What is left falls as 1/time; the run ends at 2000.
    assert abs(a + b - 1) < 1e-3
    np.testing.assert_allclose(Q[1:, 1:], [[a * a, a * b], [a * b, b * b]], atol=1e-3)
    assert round(a, 3) == 0.485 and round(b, 3) == 0.515


@pytest.mark.slow
def test_the_end_of_fig_4_is_a_minimum_of_the_error_over_the_weights():
    """The second route to 0.9463: Newton's method on ε_g(J), without the equations of motion."""
    scenario = tl.Scenario(tl.Committee(2, tl.ReLU()), tl.Committee(3, tl.ReLU()))

    @jax.jit
    def error(J):
        J, B = J.reshape(2, 3), jnp.eye(3)
        return tl.generalization_error(scenario, tl.Overlaps(Q=J @ J.T, R=J @ B.T, T=B))

    R = runs.fig_4()["R"].values[-1]
    J = jnp.asarray(np.round(R, 2).ravel())  # near the minimum, and not at the end of the run
    slope, curvature = jax.jit(jax.grad(error)), jax.jit(jax.hessian(error))
    for _ in range(8):
        J = J - jnp.linalg.solve(curvature(J), slope(J))
    # Curvatures are of order 0.1, averages right to 1e-13: the minimum is known to 1e-12.
    assert jnp.max(jnp.abs(slope(J))) < 1e-13
    assert jnp.min(jnp.linalg.eigvalsh(curvature(J))) > 0
    # The run was integrated with a tolerance of 1e-9 for each step.
    np.testing.assert_allclose(J.reshape(2, 3), R, atol=1e-6)


def test_the_error_of_erf_students_is_finite_while_one_of_them_vanishes():
    """Q_22 passes zero by the error of the integration; ε_g has a value at every time."""
    run = runs.fig_3("Erf")
    assert float(run["Q"].sel(student=2, student_2=2).min()) < 0
    assert np.all(np.isfinite(run["generalization_error"].values))
    assert abs(float(run["generalization_error"][-1])) < 1e-8

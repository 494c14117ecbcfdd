"""Correlations, strengths and rates, each by a second route."""

import numpy as np
import pytest
import xarray as xr

import tutelage as tl
from tutelage._jax import jnp
from tutelage.deep.measures import measure, strengths
from tutelage.papers.tian2020.theorems import mixtures

TEACHER = tl.deep.teacher("4-3", inputs=7, outputs=3, data="gaussian:1")
STUDENT = tl.deep.student(TEACHER, 2, seed=2)
X = np.random.default_rng(0).normal(size=(60, 7))


def test_correlations_are_those_of_numpy():
    for layer, ρ in enumerate(tl.deep.correlations(STUDENT, TEACHER, X)):
        f, g = (np.asarray(net.activations(X)[layer]) for net in (STUDENT, TEACHER))
        for k in range(f.shape[1]):
            for j in range(g.shape[1]):
                if f[:, k].std() > 0:
                    expected = np.corrcoef(f[:, k], g[:, j])[0, 1]
                    assert np.isclose(ρ[k, j], expected, rtol=1e-10, atol=1e-13)


def test_a_node_that_never_fires_is_correlated_with_nothing():
    dead = tl.deep.network(
        [np.asarray(W) for W in STUDENT.weights],
        [np.asarray(STUDENT.biases[0]) - 1e3 * (np.arange(8) == 5), *STUDENT.biases[1:]],
    )
    ρ = tl.deep.correlations(dead, TEACHER, X)[0]
    assert np.all(ρ[5] == 0) and np.all(np.isfinite(ρ))


def test_correlations_do_not_depend_on_length_and_know_the_sign():
    γ = np.array([2.0, 0.5, 3.0, 1.0])
    W, *upper = (np.asarray(W) for W in TEACHER.weights)
    b, *above = (np.asarray(b) for b in TEACHER.biases)
    longer = tl.deep.network([W * γ, *upper], [b * γ, *above])
    opposite = tl.deep.network([-W, *upper], [-b, *above])
    assert np.allclose(np.diag(tl.deep.correlations(longer, TEACHER, X)[0]), 1.0, rtol=1e-13)
    assert np.all(np.diag(tl.deep.correlations(opposite, TEACHER, X)[0]) < 0)


def test_strength_is_the_root_of_the_mean_of_beta():
    for layer, (strength, mixture) in enumerate(
        zip(strengths(STUDENT, jnp.asarray(X)), mixtures(STUDENT, TEACHER, X)[:-1], strict=True)
    ):
        n = STUDENT.widths[layer + 1]
        β = np.asarray(mixture.B)[:, np.arange(n), np.arange(n)]
        assert np.allclose(strength, np.sqrt(β.mean(axis=0)), rtol=1e-12)


def test_strength_of_the_last_hidden_layer_is_the_norm_of_its_fan_out():
    last = strengths(STUDENT, jnp.asarray(X))[-1]
    assert np.allclose(last, np.linalg.norm(STUDENT.weights[-1], axis=1), rtol=1e-14)


@pytest.mark.slow
def test_recorded_winners_and_best_correlations_belong_together():
    result = measure(STUDENT, TEACHER, jnp.asarray(X), True)
    for layer in (1, 2):
        ρ = np.asarray(result[f"correlation_{layer}"])
        j, k = np.arange(ρ.shape[1]), np.arange(ρ.shape[0])
        assert np.array_equal(
            ρ[result[f"winner_{layer}"], j], result[f"teacher_correlation_{layer}"]
        )
        assert np.array_equal(
            ρ[k, result[f"follows_{layer}"]], result[f"student_correlation_{layer}"]
        )
    assert np.isclose(result["evaluation_loss"], np.mean((STUDENT(X) - TEACHER(X)) ** 2))


def made_up():
    best = np.array([[[0.2, 0.96], [0.97, 0.94]], [[0.1, 0.95], [0.99, 0.96]]])
    follows = np.array([[[0, 1, 1], [0, 0, 1]], [[1, 1, 1], [0, 0, 1]]])
    return xr.Dataset(
        {
            "teacher_correlation_1": (("run", "epoch", "teacher_1"), best),
            "follows_1": (("run", "epoch", "student_1"), follows),
        },
        coords={"epoch": [0, 5]},
    )


def test_rates_of_a_made_up_training():
    ds = made_up()
    assert tl.deep.recovery_rate(ds).values.tolist() == [[0.0, 0.5], [1.0, 0.5]]
    assert tl.deep.recovery_rate(ds, threshold=0.1).values.tolist() == [[0.5, 1.0], [1.0, 1.0]]
    assert np.allclose(tl.deep.mean_correlation(ds), [[0.58, 0.955], [0.525, 0.975]])
    assert tl.deep.focus_shifts(ds).values.tolist() == [[0, 1, 0], [1, 1, 0]]


def test_nodes_that_a_narrow_student_lacks_do_not_turn():
    """The layout of a sweep: the narrow student has one of the three nodes."""
    wide = made_up()
    narrow = wide.isel(student_1=[0])
    joined = xr.concat(
        [one.assign_coords(student_1=np.arange(one.sizes["student_1"])) for one in (wide, narrow)],
        xr.Variable("multiple", [3, 1]),
        join="outer",
        coords="minimal",
    )
    shifts = tl.deep.focus_shifts(joined)
    assert shifts.sel(multiple=3).values.tolist() == [[0, 1, 0], [1, 1, 0]]
    assert shifts.sel(multiple=1, student_1=0).values.tolist() == [0, 1]
    assert shifts.sel(multiple=1, student_1=[1, 2]).isnull().all()


def test_runs_that_diverged_neither_recover_nor_turn():
    ds = made_up()
    lost = xr.DataArray([[False, False], [False, True]], dims=("run", "epoch"))
    ds["teacher_correlation_1"] = ds["teacher_correlation_1"].where(~lost)
    ds["follows_1"] = ds["follows_1"].where(~lost, -1)
    assert tl.deep.recovery_rate(ds).values.tolist() == [[0.0, 0.5], [1.0, 0.0]]
    shifts = tl.deep.focus_shifts(ds)
    assert shifts[0].values.tolist() == [0, 1, 0] and shifts[1].isnull().all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tl.deep.recovery_rate(made_up(), threshold=1.5), "threshold"),
        (lambda: tl.deep.recovery_rate(made_up(), layer=2), "layer"),
        (lambda: tl.deep.mean_correlation(xr.Dataset()), "dataset"),
        (lambda: tl.deep.networks(made_up()), "dataset"),
    ],
)
def test_what_cannot_be_measured_is_refused(call, words):
    with pytest.raises(tl.InputError, match=f"^{words}"):
        call()

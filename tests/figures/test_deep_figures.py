"""Figures of tian2020: what is drawn is what is in the Dataset."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import tutelage as tl
from tutelage.figures import deep


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def made_up(**more):
    """Two runs, three epochs; two layers with two and three teacher nodes, students twice that."""
    random = np.random.default_rng(0)
    variables = {"evaluation_loss": (("run", "epoch"), random.uniform(0.1, 1, (2, 3)))}
    for layer, m in ((1, 2), (2, 3)):
        ρ = random.uniform(-0.4, 1, (2, 3, 2 * m, m))
        axes = ("run", "epoch")
        variables |= {
            f"correlation_{layer}": ((*axes, f"student_{layer}", f"teacher_{layer}"), ρ),
            f"teacher_correlation_{layer}": ((*axes, f"teacher_{layer}"), ρ.max(axis=2)),
            f"student_correlation_{layer}": ((*axes, f"student_{layer}"), ρ.max(axis=3)),
            f"strength_{layer}": ((*axes, f"student_{layer}"), random.uniform(0, 2, ρ.shape[:3])),
        }
    return xr.Dataset(variables, coords={"epoch": [0, 5, 10]}).assign(**more)


def test_every_student_node_is_a_point():
    ds = made_up()
    lines = deep.specialization(ds, layer=2, epoch=5).get_lines()
    assert len(lines) == 2
    for run, line in enumerate(lines):
        assert np.array_equal(line.get_xdata(), ds.student_correlation_2[run, 1])
        assert np.array_equal(line.get_ydata(), ds.strength_2[run, 1])


def test_layers_are_drawn_from_the_bottom_up():
    grid = deep.specialization_of_layers(made_up(), [0, 10])
    assert grid.shape == (2, 2)
    assert grid[0, 1].get_title() == "epoch 10"
    assert grid[1, 0].get_ylabel().startswith("layer 1")


def test_recovery_has_a_line_for_each_multiple_early_and_late():
    ds = xr.concat([made_up(), made_up()], xr.Variable("multiple", [1, 5]))
    lines = deep.recovery(ds, layer=1, threshold=0.5).get_lines()
    assert len(lines) == 4
    late = (ds.teacher_correlation_1.sel(multiple=5)[:, -1] > 0.5).mean("run")
    assert np.array_equal(lines[3].get_ydata(), late)
    early = (ds.teacher_correlation_1.sel(multiple=5)[:, 1] > 0.5).mean("run")
    assert np.array_equal(lines[2].get_ydata(), early)


def test_followers_have_a_curve_for_each_student_node():
    ds = made_up()
    lines = deep.followers(ds, teacher=1, run=1, layer=2).get_lines()
    assert len(lines) == 6
    assert np.array_equal(lines[4].get_ydata(), ds.correlation_2[1, :, 4, 1])


def test_best_correlations_and_loss_are_means_over_runs():
    ds = made_up()
    lines = deep.best_correlations(ds, layer=2).get_lines()
    assert np.array_equal(lines[2].get_ydata(), ds.teacher_correlation_2[:, :, 2].mean("run"))
    (line,) = deep.evaluation_loss(ds).get_lines()
    assert np.array_equal(line.get_ydata(), np.log(ds.evaluation_loss.mean("run")))


def test_boundaries_are_where_a_node_begins_to_fire():
    teacher = tl.deep.teacher(2, inputs=2, outputs=3, data="gaussian:1")
    student = tl.deep.student(teacher, 3)
    axes = deep.boundaries(student, teacher)
    lines = axes.get_lines()
    assert len(lines) == 8 and len(axes.get_legend().get_texts()) == 6
    points = np.stack([lines[3].get_xdata(), lines[3].get_ydata()], axis=1)
    assert np.max(np.abs(np.asarray(student.fields(points)[0])[:, 1])) < 1e-12


@pytest.mark.parametrize(
    "call",
    [
        lambda: deep.specialization(xr.Dataset()),
        lambda: deep.followers(made_up().drop_vars("correlation_1")),
        lambda: deep.specialization(made_up().expand_dims(polarity=[0.0, 1.0])),
        lambda: deep.best_correlations(made_up().expand_dims(multiple=[1, 2])),
    ],
)
def test_what_cannot_be_drawn_is_refused(call):
    with pytest.raises(tl.InputError, match=r"^dataset"):
        call()

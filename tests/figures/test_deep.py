"""Figures of students of finite width draw the values of the Dataset."""

import numpy as np
import pytest
import xarray as xr
from made_up_runs import two_layers

import tutelage as tl
from tutelage import figures


def test_every_student_node_is_a_point():
    ds = two_layers()
    lines = figures.specialization(ds, layer=2, epoch=5).get_lines()
    assert len(lines) == 2
    for run, line in enumerate(lines):
        assert np.array_equal(line.get_xdata(), 1 - ds.student_correlation_2[run, 1])
        assert np.array_equal(line.get_ydata(), ds.strength_2[run, 1])


def test_recovery_has_a_line_for_each_multiple_early_and_late():
    ds = xr.concat([two_layers(), two_layers()], xr.Variable("multiple", [1, 5]))
    lines = figures.recovery(ds, layer=1, threshold=0.5).get_lines()
    assert len(lines) == 4
    late = (ds.teacher_correlation_1.sel(multiple=5)[:, -1] > 0.5).mean("run")
    assert np.array_equal(lines[3].get_ydata(), late)
    early = (ds.teacher_correlation_1.sel(multiple=5)[:, 1] > 0.5).mean("run")
    assert np.array_equal(lines[2].get_ydata(), early)


def test_best_correlations_are_means_over_runs():
    ds = two_layers()
    lines = figures.best_correlations(ds, layer=2).get_lines()
    assert np.array_equal(lines[2].get_ydata(), ds.teacher_correlation_2[:, :, 2].mean("run"))


@pytest.mark.parametrize(
    "call",
    [
        lambda: figures.specialization(xr.Dataset()),
        lambda: figures.specialization(two_layers().expand_dims(polarity=[0.0, 1.0])),
        lambda: figures.best_correlations(two_layers().expand_dims(multiple=[1, 2])),
    ],
)
def test_what_cannot_be_drawn_is_refused(call):
    with pytest.raises(tl.InputError, match=r"^dataset"):
        call()

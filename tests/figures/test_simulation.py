"""Figures of simulations: distributions of escape times, and both exponents."""

import numpy as np
import pytest
import xarray as xr
from made_up_runs import ensemble, theory

from tutelage import figures
from tutelage._checks import InputError
from tutelage.simulation import escape_times, finite_size


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_escapes_count_the_runs_that_have_not_left():
    time = np.linspace(0.0, 10.0, 101)
    error = np.array([np.where(time < t, 0.1, 0.01) for t in (4.0, 6.0, 20.0, 30.0)])
    runs = xr.Dataset({"generalization_error": (("run", "time"), error)}, coords={"time": time})
    known = escape_times(runs.assign_attrs(dimension=1000), height=0.1)
    axes = figures.escapes([known, escape_times(runs, height=0.1)])
    assert legend(axes) == ["$N = 1000$", "ensemble 2"]
    assert axes.lines[0].get_ydata().tolist() == [0.0, 0.25, 0.5, 0.5]
    assert axes.lines[0].get_xdata()[-1] == 10.0


def test_finite_size_shows_both_exponents():
    draw = np.random.default_rng(1)
    result = finite_size(theory(), [ensemble(draw, runs=50, N=N, bias=3.0) for N in (50, 200)])
    axes = figures.finite_size(result)
    for text, name in zip(legend(axes), ("mean", "spread"), strict=True):
        assert f"x = {result.attrs[f'{name}_exponent']:.3f}" in text
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_one_ensemble_in_the_place_of_a_list_is_answered_with_a_list():
    with pytest.raises(
        InputError, match=r"^ensembles: got .* has to be a list\. Try: ensembles=\["
    ):
        figures.escapes(xr.Dataset())

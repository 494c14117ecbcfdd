"""Pictures of simulations: symbols on curves, bands as wide as the spread, honest distributions."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from made_up_runs import ensemble, theory

from tutelage import figures
from tutelage._checks import InputError
from tutelage.simulation.comparison import compare
from tutelage.simulation.escape import escape_times
from tutelage.simulation.finite_size import finite_size
from tutelage.simulation.statistics import summary

CURVE = theory(K=2, M=2)
RUNS = ensemble(np.random.default_rng(0), runs=12, N=100, curve=CURVE)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("which", ["RQ", "Q", "R"])
def test_symbols_have_the_colours_of_the_curves(which):
    axes = figures.overlaps(CURVE, which=which)
    curves = list(axes.lines)
    figures.simulated_overlaps(summary(RUNS), axes, which=which)
    symbols = axes.lines[len(curves) :]
    assert [line.get_color() for line in symbols] == [line.get_color() for line in curves]
    assert len(axes.collections) == len(curves)  # the bands


def test_symbols_are_means_at_recorded_times():
    found = summary(RUNS)
    line = figures.simulated_overlaps(found, which="R", symbols=9).lines[1]
    expected = found["R"].sel(time=line.get_xdata(), student=0, teacher=1)
    np.testing.assert_array_equal(line.get_ydata(), expected)
    assert len(line.get_xdata()) == 9


def test_a_band_is_one_standard_deviation_to_either_side():
    found = summary(RUNS)
    (band,) = figures.simulated_error(found).collections
    edges = band.get_paths()[0].vertices[:, 1]
    mean, spread = found["generalization_error"], found["generalization_error_spread"]
    # The path goes along both edges: every one of their points is on it.
    for edge in (mean - spread, mean + spread):
        assert np.all(np.isin(edge.values, edges))


def test_one_run_has_symbols_and_no_band():
    axes = figures.simulated_overlaps(RUNS.isel(run=0))
    assert len(axes.lines) == 7 and not axes.collections


def test_an_error_on_a_logarithmic_axis_stays_above_zero():
    found = summary(RUNS)
    found["generalization_error"][-1] = -1e-18
    found["generalization_error_spread"][:] = 10.0
    axes = figures.error(CURVE)
    figures.simulated_error(found, axes)
    edges = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert np.all(edges[np.isfinite(edges)] > 0)


def test_a_comparison_is_drawn_with_its_verdict():
    found = compare(CURVE, RUNS)
    axes = figures.comparison(found)
    assert [ax.get_ylabel() for ax in axes] == ["$Q_{ik}$", "$R_{in}$", r"$\epsilon_g$"]
    assert axes[0].figure.get_suptitle() == str(found)
    assert legend(axes[2]) == ["theory", "12 runs"]


def test_without_a_theory_the_lines_are_the_means():
    found = summary(RUNS)
    axes = figures.simulated_curves(found)
    np.testing.assert_array_equal(axes[1].lines[3].get_ydata(), found["R"][:, 1, 1])
    assert legend(axes[2]) == ["12 runs"]
    assert legend(figures.simulated_curves(RUNS.isel(run=0))[2]) == ["one run"]


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
    found = finite_size(theory(), [ensemble(draw, runs=50, N=N, bias=3.0) for N in (50, 200)])
    axes = figures.finite_size(found)
    for text, name in zip(legend(axes), ("mean", "spread"), strict=True):
        assert f"x = {found.attrs[f'{name}_exponent']:.3f}" in text
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


@pytest.mark.parametrize(
    "draw", [figures.simulated_overlaps, figures.simulated_error, figures.simulated_curves]
)
def test_several_runs_have_to_be_summarized(draw):
    with pytest.raises(InputError, match=r"summary: got 12 runs.*tl.simulation.summary"):
        draw(RUNS)

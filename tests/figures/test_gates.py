"""Figures of gates: one curve per β, lines for limits, correct lengths of bars."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import tutelage as tl
from tutelage._checks import InputError
from tutelage.figures.gates import critical_load, gate_activations, sampled_gates

TWO = tl.gates.Gate([0, 1])
CURVES = tl.gates.curves(TWO, [0.5, 2.0, math.inf], np.linspace(-2, 2, 5))


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("which", ["signal", "expectation", "backpropagation_factor", "entropy"])
def test_every_beta_is_a_curve_with_its_name(which):
    axes = gate_activations(CURVES, which=which)
    assert legend(axes) == [r"$\beta=0.5$", r"$\beta=2$", r"$\beta=\infty$"]
    for line, values in zip(axes.lines[:-1], CURVES[which].values, strict=False):
        assert np.array_equal(line.get_ydata(), values)
    assert axes.get_xlabel() == "$h$" and axes.get_ylabel()
    assert tl.figures.caption(axes).startswith("Gate with levels {0, 1};")
    assert axes.lines[-1].get_linestyle() == "--"


def test_without_noise_a_step_has_no_line_across_it():
    """The position of the jump between two grid points is unknown."""
    grid = np.linspace(-2, 2, 40)
    axes = gate_activations(tl.gates.curves(TWO, [math.inf], grid), which="expectation")
    h, s = axes.lines[0].get_data()
    (gap,) = np.flatnonzero(np.isnan(s))
    assert (s[gap - 1], s[gap + 1]) == (0.0, 1.0) and h[gap - 1] < 0 < h[gap + 1]
    assert np.array_equal(s[np.isfinite(s)], (grid > 0).astype(float))


def test_an_unknown_quantity_is_refused():
    with pytest.raises(InputError, match=r"which: got 'swish'.*signal"):
        gate_activations(CURVES, which="swish")


def loads(units):
    beta = [0.0, 0.5, 2.0, math.inf]
    return xr.Dataset(
        {"coexists": ("beta", [math.inf, 20.0, 6.0, 6.1])},
        coords={"beta": beta},
        attrs={"gate": "Gate([0, 1])", "units": units},
    )


def test_loads_are_drawn_where_there_are_some_and_limits_as_lines():
    axes = critical_load([loads("2"), loads("inf")])
    curve, limit = axes.lines[:2]
    assert np.array_equal(curve.get_xdata(), [0.5, 2.0])
    assert np.array_equal(curve.get_ydata(), [20.0, 6.0])
    assert set(limit.get_ydata()) == {6.1} and limit.get_color() == curve.get_color()
    assert legend(axes) == ["$K=2$", r"$K=\infty$", r"$\beta = \infty$"]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert axes.get_ylabel() == r"$\alpha_c$" and axes.get_xlabel() == r"$\beta$"


def test_sampled_layers_have_bars_of_two_standard_errors():
    W = np.eye(2)
    result = tl.gates.sample_network([W, W], [0.5, 1.0], TWO, 1.0, samples=20, seed=0)
    axes = sampled_gates(result)
    assert legend(axes) == ["layer 1", "layer 2"]
    bars = axes.containers[0].lines[2][0].get_segments()
    lengths = [bar[1, 1] - bar[0, 1] for bar in bars]
    expected = 4 * result["standard_error"].values[0, :2]
    assert np.allclose(lengths, expected, rtol=1e-12)


def test_it_draws_on_the_axes_given():
    _, axes = plt.subplots()
    assert gate_activations(CURVES, axes) is axes
    assert critical_load([loads("2")], axes) is axes

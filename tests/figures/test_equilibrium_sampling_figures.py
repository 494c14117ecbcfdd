"""Pictures of hysteresis: both ways, every run, and the theory behind them."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from tutelage._checks import InputError
from tutelage.figures.equilibrium_sampling import hysteresis


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def made_up():
    """A Dataset of the right form, without any sampling."""
    draw = np.random.default_rng(0).uniform(size=(2, 2, 5, 3))
    dims = ("direction", "load", "run")
    return xr.Dataset(
        {"specialization": (dims, draw[0]), "generalization_error": (dims, draw[1])},
        coords={"direction": ["up", "down"], "load": np.arange(5.0)},
    )


def test_each_way_has_its_runs_and_the_mean_over_them():
    data = made_up()
    axes = hysteresis(data)
    up = data["specialization"].sel(direction="up")
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), up[:, 1])
    np.testing.assert_allclose(axes.lines[3].get_ydata(), up.mean("run"))
    assert len(axes.lines) == 2 * (3 + 1)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["load up", "load down"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == (r"$\alpha$", r"$R - S$")


def test_the_ways_differ_in_colour_and_marker():
    lines = hysteresis(made_up()).lines
    looks = {(line.get_color(), line.get_marker()) for line in lines if line.get_marker() != "None"}
    assert looks == {("C0", "^"), ("C3", "v")}


def test_theory_is_drawn_on_the_axes_that_are_given():
    _, given = plt.subplots()
    theory = {"specialized": ([1.0, 2.0], [0.5, 0.7])}
    axes = hysteresis(made_up(), given, which="generalization_error", theory=theory)
    assert axes is given and axes.get_ylabel() == r"$\epsilon_g$"
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [0.5, 0.7])
    assert axes.get_legend().get_texts()[0].get_text() == "specialized"


def test_an_unknown_quantity_is_refused():
    with pytest.raises(InputError, match=r"^which"):
        hysteresis(made_up(), which="R")

"""Figures of equilibrium: what is drawn is what was computed."""

import math

import matplotlib
import numpy as np
import pytest

import tutelage as tl

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def erf_curves():
    return tl.equilibrium.learning_curve(tl.Erf(), 5, np.linspace(0, 100, 201))


def lines(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def test_every_minimum_is_a_line_and_every_transition_a_mark(erf_curves):
    found = tl.equilibrium.transitions(tl.Erf(), 5)
    axes = tl.figures.order_parameters(erf_curves, transitions=found)
    drawn = lines(axes)
    assert {"$R$, $R > S$", "$R$, $R = S$", "$S$, $R < S$"} <= set(drawn)
    assert [f"{x:.4f}" for x in (44.3378, 45.9137, 62.2146)] == sorted(
        f"{line.get_xdata()[0]:.4f}" for name, line in drawn.items() if "alpha" in name
    )
    assert axes.get_xlabel() == r"$\alpha$"


def test_a_state_that_is_stable_only_while_units_stay_alike_is_a_thin_line(erf_curves):
    drawn = lines(tl.figures.order_parameters(erf_curves, which=("R",)))
    thin, thick = drawn["$R$, $R < S$"], drawn["$R$, $R > S$"]
    assert thin.get_linewidth() < thick.get_linewidth()


def test_the_error_starts_at_a_third(erf_curves):
    """ε_g = 1/3 without data (oostwal2019 below eq. (12))."""
    drawn = lines(tl.figures.equilibrium_error(erf_curves))[r"$\epsilon_g$, $R = S$"]
    assert abs(drawn.get_ydata()[0] - 1 / 3) < 1e-12


def test_both_panels_side_by_side(erf_curves):
    axes = tl.figures.equilibrium_curves(erf_curves)
    assert [a.get_ylabel() for a in axes] == ["$R$, $S$", r"$\epsilon_g$"]


def test_a_phase_diagram_has_its_critical_line():
    """K → ∞: the unspecialized state is unstable at 1/(2 c_2²), for leaky units 2π/(1 - slope)²."""
    slopes = np.linspace(0.0, 0.5, 6)
    diagram = tl.equilibrium.phase_diagram(tl.LeakyReLU, slopes, math.inf, np.linspace(1, 30, 10))
    axes = tl.figures.phase_diagram(diagram, parameter="slope")
    line = lines(axes)[r"$\alpha_c$"]
    assert np.allclose(line.get_ydata(), 2 * np.pi / (1 - slopes) ** 2, rtol=1e-9)
    assert axes.get_xlabel() == "slope"

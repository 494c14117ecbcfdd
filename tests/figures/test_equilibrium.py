"""Figures of equilibrium draw the computed values."""

import math
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import tutelage as tl
from tutelage._checks import InputError
from tutelage.equilibrium.symmetric.phases import PHASES


@pytest.fixture(scope="module")
def erf_curves():
    return tl.equilibrium.learning_curve(tl.Erf(), 5, np.linspace(0, 100, 201))


def lines(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def test_every_minimum_is_a_line_and_every_transition_a_mark(erf_curves):
    transitions = tl.equilibrium.transitions(tl.Erf(), 5)
    axes = tl.figures.order_parameters(erf_curves, transitions=transitions)
    drawn = lines(axes)
    assert {"$R$, $R > S$", "$R = S$", "$S$, $R < S$"} <= set(drawn)
    assert [f"{x:.4f}" for x in (44.3378, 45.9137, 62.2146)] == sorted(
        f"{line.get_xdata()[0]:.4f}" for name, line in drawn.items() if "alpha" in name
    )
    assert axes.get_xlabel() == r"$\alpha$"


def test_a_state_that_is_stable_only_for_equal_units_is_a_thin_line(erf_curves):
    drawn = lines(tl.figures.order_parameters(erf_curves, which=("R",)))
    thin, thick = drawn["$R$, $R < S$"], drawn["$R$, $R > S$"]
    assert thin.get_linewidth() < thick.get_linewidth()


def test_a_style_is_that_of_one_curve_and_one_kind_of_state(erf_curves):
    plain, styled = (
        lines(tl.figures.order_parameters(erf_curves, styles=styles))
        for styles in (None, {("S", "R > S"): "-."})
    )
    named = [name for name in plain if not name.startswith("_")]
    changed = {name for name in named if plain[name].get_ls() != styled[name].get_ls()}
    assert changed == {"$S$, $R > S$"} and styled["$S$, $R > S$"].get_ls() == "-."


def test_curves_with_given_styles_have_one_legend_entry_each(erf_curves):
    """The style tells the kind of a state only if it is equal for all symbols."""
    axes = tl.figures.order_parameters(erf_curves, styles={("S", "R > S"): "-."})
    named = {text.get_text() for text in axes.get_legend().get_texts()}
    assert {"$R$, $R > S$", "$S$, $R > S$", "$R = S$"} <= named


def test_the_error_starts_at_a_third(erf_curves):
    """ε_g = 1/3 without data (oostwal2019 below eq. (12))."""
    drawn = lines(tl.figures.order_parameters(erf_curves, which=["generalization_error"]))[
        r"$\varepsilon_g$, $R = S$"
    ]
    assert abs(drawn.get_ydata()[0] - 1 / 3) < 1e-12


def test_both_panels_side_by_side(erf_curves):
    axes = tl.figures.equilibrium_curves(erf_curves)
    assert [a.get_ylabel() for a in axes] == ["$R$, $S$", r"$\varepsilon_g$"]


def test_a_phase_diagram_has_its_critical_line():
    """K → ∞: the unspecialized state is unstable at 1/(2 c_2²), for leaky units 2π/(1 - slope)²."""
    slopes = np.linspace(0.0, 0.5, 6)
    over = {"activation": [tl.LeakyReLU(slope) for slope in slopes[::-1]]}
    options = {"units": math.inf, "loads": np.linspace(1, 30, 10), "workers": 1}
    axes = tl.figures.phase_diagram(tl.sweeps.run(tl.equilibrium.phases, over, **options))
    line = lines(axes)[r"$\alpha_c$ $\approx$ $\alpha_s$ $\approx$ $\alpha_d$"]
    assert np.allclose(line.get_ydata(), 2 * np.pi / (1 - slopes) ** 2, rtol=1e-9)
    assert axes.get_xlabel() == "slope $a$"


def diagram_of(loads):
    """Made-up phase diagram with three different lines."""
    result = {name: ("activation", y) for name, y in zip(LINES, LOADS, strict=True)}
    phase = (("activation", "load"), np.full((2, len(loads)), "unspecialized"))
    coords = {"activation_beta": ("activation", [1.0, 2.0]), "load": loads}
    return xr.Dataset(result | {"phase": phase}, coords)


LINES = ("appears", "coexists", "unstable")
LOADS = np.array([[10.0, 20.0], [20.0, 40.0], [40.0, 80.0]])


def test_the_three_lines_of_a_phase_diagram_differ_without_colour():
    drawn = tl.figures.phase_diagram(diagram_of(np.linspace(1.0, 100.0, 9))).get_lines()
    assert len({line.get_linestyle() for line in drawn}) == len(drawn) == 3


def test_areas_of_phases_end_at_the_lines_and_not_between_the_sampled_loads():
    """Every area between two lines has the colour of its phase everywhere."""
    axes = tl.figures.phase_diagram(diagram_of(np.linspace(1.0, 100.0, 3)))
    areas = [area.get_paths()[0] for area in axes.collections]
    for β in (1.1, 1.7):
        edges = [1.0, *(float(np.interp(β, [1.0, 2.0], y)) for y in LOADS), 100.0]
        for number, (low, high) in enumerate(pairwise(edges)):
            for load in (low + 1e-6 * (high - low), high - 1e-6 * (high - low)):
                inside = [area.contains_point((β, load)) for area in areas]
                assert inside == [k == number for k in range(4)]
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named[:4] == list(PHASES)


def test_coinciding_transitions_are_one_line_with_all_names():
    curves = tl.equilibrium.learning_curve(tl.ReLU(), 10, np.linspace(0.5, 20, 40))
    transitions = tl.equilibrium.transitions(tl.ReLU(), 10)
    axes = tl.figures.order_parameters(curves, transitions=transitions)
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == [
        *("$R$", "$S$", "$R = S$", "$R < S$", "$R > S$"),
        r"$\alpha_s$, $\alpha_c$, $\alpha_d$ $\approx$ 6.286",
    ]
    for name in ("appears", "coexists", "unstable"):
        assert f"{float(getattr(transitions, name).value):.6g}" in tl.figures.caption(axes)


def test_units_of_several_kinds_have_no_phase_diagram():
    diagram = diagram_of(np.linspace(1.0, 100.0, 9))
    with pytest.raises(InputError, match="of one kind and differ in one number"):
        tl.figures.phase_diagram(diagram.drop_vars("activation_beta"))
    with pytest.raises(InputError, match="it has to be a sweep over activations"):
        tl.figures.phase_diagram(diagram.isel(activation=0))


def test_loads_in_a_geometric_series_have_a_logarithmic_axis():
    for loads, scale in ((np.geomspace(1, 1000, 9), "log"), (np.linspace(1, 1000, 9), "linear")):
        axes = tl.figures.phase_diagram(diagram_of(loads))
        assert axes.get_yscale() == scale and axes.get_ylim() == (1, 1000)


def sampled():
    """Made-up results of sampling."""
    draw = np.random.default_rng(0).uniform(size=(2, 2, 5, 3))
    dims = ("direction", "load", "run")
    return xr.Dataset(
        {"specialization": (dims, draw[0]), "generalization_error": (dims, draw[1])},
        coords={"direction": ["up", "down"], "load": np.arange(5.0)},
    )


def test_each_way_has_its_runs_and_the_mean_over_them():
    data = sampled()
    axes = tl.figures.hysteresis(data)
    up = data["specialization"].sel(direction="up")
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), up[:, 1])
    np.testing.assert_allclose(axes.lines[3].get_ydata(), up.mean("run"))
    assert len(axes.lines) == 2 * (3 + 1)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "increasing load, mean",
        "decreasing load, mean",
    ]
    assert (axes.get_xlabel(), axes.get_ylabel()) == (r"$\alpha$", r"$R - S$")


def test_the_ways_differ_in_colour_and_marker():
    lines = tl.figures.hysteresis(sampled()).lines
    looks = {(line.get_color(), line.get_marker()) for line in lines if line.get_marker() != "None"}
    assert {marker for _, marker in looks} == {"^", "v"} and len(looks) == 2


def test_theory_is_drawn_on_the_axes_that_are_given():
    _, given = plt.subplots()
    theory = {"specialized": ([1.0, 2.0], [0.5, 0.7])}
    axes = tl.figures.hysteresis(sampled(), given, which="generalization_error", theory=theory)
    assert axes is given and axes.get_ylabel() == r"$\varepsilon_g$"
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [0.5, 0.7])
    assert axes.get_legend().get_texts()[0].get_text() == "specialized"


def test_an_unknown_quantity_is_refused():
    with pytest.raises(tl.InputError, match=r"^which"):
        tl.figures.hysteresis(sampled(), which="R")


def test_at_a_temperature_unstable_replica_symmetry_is_grey():
    """ReLU below the Nishimori temperature: the branch becomes stable within the range of loads."""
    setting = {"temperature": 0.05, "label_noise": 0.316}
    loads = np.linspace(0, 2.6, 53)
    curve = tl.equilibrium.learning_curve(tl.ReLU(), np.inf, loads, **setting)
    result = tl.equilibrium.transitions(tl.ReLU(), np.inf, **setting)
    overlaps, errors = tl.figures.temperature_curves(curve, result)
    labels = [line.get_label() for line in overlaps.lines]
    assert "replica symmetry unstable" in labels and "$R$, R > S" in labels
    symmetric = curve["replica_symmetric"].sel(branch=curve["kind"] == "R > S").values[0]
    coloured = next(line for line in overlaps.lines if line.get_label() == "$R$, R > S")
    assert np.array_equal(np.isfinite(coloured.get_ydata()), symmetric)
    named = [text.get_text() for text in overlaps.get_legend().get_texts()]
    transitions = r"$\tilde\alpha_s$, $\tilde\alpha_c$, $\tilde\alpha_d$"
    assert any(name.startswith(transitions) for name in named)
    assert any(name.startswith(r"$\tilde\alpha_g$") for name in named)
    assert errors.get_ylim()[0] == 0.0


def test_a_diagram_over_temperatures_has_the_lines_of_the_transitions():
    loads, temperatures = np.linspace(0.2, 4, 20), [0.03, 0.09, 0.3]
    setting = {"activation": tl.ReLU(), "units": math.inf, "label_noise": 0.3}
    over = {"temperature": temperatures}
    run = tl.sweeps.run(tl.equilibrium.phases, over, loads=loads, workers=1, **setting)
    assert set(run.coords) == {"temperature", "load", "label_noise"}
    axes = tl.figures.temperature_diagram(run)
    drawn = lines(axes)
    for name, label in (("coexists", r"$\tilde\alpha_c$"), ("agreement", r"$\tilde\alpha_g$")):
        assert np.array_equal(drawn[label].get_xdata(), run[name].values)
        assert drawn[label].get_ydata().tolist() == temperatures
    # α̃_c and α̃_g meet on the Nishimori line, and α̃_s is α̃_c at a continuous transition.
    assert drawn[r"$\tilde\alpha_c$"].get_xdata()[1] == pytest.approx(
        drawn[r"$\tilde\alpha_g$"].get_xdata()[1], rel=1e-12
    )
    assert r"$\tilde\alpha_s$" not in drawn
    assert drawn[r"Nishimori, $T = \varsigma^2$"].get_ydata()[0] == pytest.approx(0.09)
    with pytest.raises(InputError, match="temperature"):
        tl.figures.temperature_diagram(diagram_of(np.linspace(1.0, 100.0, 3)))


def test_states_at_several_temperatures_are_thin_where_replica_symmetry_is_unstable():
    curves = [
        tl.equilibrium.learning_curve(
            tl.ReLU(), math.inf, np.linspace(0, 4, 41), temperature=T, label_noise=0.3
        )
        for T in (0.03, 0.3)
    ]
    axes = tl.figures.temperature_states(curves)
    widths = {line.get_linewidth() for line in axes.get_lines()}
    assert len(widths) == 2
    thick = [line for line in axes.get_lines() if line.get_linewidth() == max(widths)]
    drawn = np.nansum([np.isfinite(line.get_ydata()).sum() for line in thick])
    # The ReLU's κ̃ is even: states R < 0 mirror those with R > 0, and are left out.
    shown = [c.sel(branch=c["kind"] != "R < S") for c in curves]
    stable = sum(int((c["stable"] & np.isfinite(c["R"])).sum()) for c in shown)
    assert drawn == stable
    # States with R = 0 are lines of their own just below 0, one for each temperature.
    low = [line for line in axes.get_lines() if np.nanmin(line.get_ydata()) < 0]
    heights = {tuple(line.get_color()): np.nanmin(line.get_ydata()) for line in low}
    largest = max(np.nanmax(c["R"].values) for c in curves)
    assert sorted(heights.values()) == pytest.approx([-0.06 * largest, -0.03 * largest])
    assert all(np.nanmin(line.get_ydata()) == np.nanmax(line.get_ydata()) for line in low)
    assert "just below 0 are states with R = 0" in tl.figures.caption(axes)
    with pytest.raises(InputError, match="which"):
        tl.figures.temperature_states(curves, which="S")
    with pytest.raises(InputError, match="datasets"):
        tl.figures.temperature_states([])


def test_no_thin_line_fills_the_gaps_of_a_dashed_one():
    curves = tl.equilibrium.learning_curve(tl.Erf(), 5, np.linspace(0, 100, 41))
    lines = tl.figures.order_parameters(curves, which=["R"]).get_lines()
    wide = max(line.get_linewidth() for line in lines)
    drawn = {
        width: sum(np.isfinite(x.get_ydata()).astype(int) for x in lines if
                   (x.get_linewidth() == wide) == width)
        for width in (True, False)
    }  # fmt: skip
    stable = int(curves["stable"].sum())
    site_stable = int(curves["site_stable"].sum())
    ends = drawn[True].sum() + drawn[False].sum() - site_stable
    assert drawn[True].sum() == stable < site_stable
    assert 0 < ends <= 4  # points where a thin line begins

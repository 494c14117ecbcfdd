"""Figures of on-line learning: all curves, symbols and captions."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from made_up_runs import ensemble, theory
from scipy.optimize import linear_sum_assignment

import tutelage as tl
from tutelage import figures
from tutelage._checks import InputError
from tutelage.figures.line_styles import best_assignment
from tutelage.figures.style import colour as palette_colour
from tutelage.simulation import compare, summary


def made_up(K=2, M=3, runs=0):
    """Made-up overlaps and errors."""
    time = np.linspace(0.0, 1.0, 5)
    run, shape = (("run",), (runs,)) if runs else ((), ())
    draw = np.random.default_rng(0).uniform
    return xr.Dataset(
        {
            "Q": ((*run, "time", "student", "student_2"), draw(size=(*shape, 5, K, K))),
            "R": ((*run, "time", "student", "teacher"), draw(size=(*shape, 5, K, M))),
            "generalization_error": ((*run, "time"), draw(size=(*shape, 5))),
        },
        coords={"time": time},
        attrs={"learning_rate": json.dumps(list(np.arange(1, runs + 1) / 10))},
    )


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_overlaps_have_one_curve_for_each_symbol():
    run = made_up()
    axes = figures.overlaps(run)
    names = ["R_{11}", "R_{12}", "R_{13}", "R_{21}", "R_{22}", "R_{23}"]
    assert legend(axes) == [f"${name}$" for name in [*names, "Q_{11}", "Q_{12}", "Q_{22}"]]
    np.testing.assert_array_equal(axes.lines[4].get_ydata(), run["R"][:, 1, 1])
    np.testing.assert_array_equal(axes.lines[7].get_ydata(), run["Q"][:, 0, 1])


@pytest.mark.parametrize(("which", "count"), [("R", 25), ("Q", 15), ("RQ", 40)])
def test_all_curves_of_five_units_have_different_looks(which, count):
    lines = figures.overlaps(made_up(5, 5), which=which).lines
    looks = {(x.get_color(), str(x._unscaled_dash_pattern), x.get_marker()) for x in lines}
    assert len(lines) == len(looks) == count


def test_overlaps_in_one_style_have_a_colour_each_which_later_means_take():
    axes = figures.overlaps(made_up(), which="R", style="--")
    colours = [line.get_color() for line in axes.lines]
    assert len(set(colours)) == len(axes.lines) == 6
    figures.overlaps(made_up(), axes, which="R", style="-")
    assert [line.get_color() for line in axes.lines[6:]] == colours


def looks(lines):
    return {
        (x.get_color(), str(x._unscaled_dash_pattern), x.get_marker(), x.get_fillstyle())
        for x in lines
    }


@pytest.mark.parametrize("style", ["-", "--", ":", "-.", "o"])
def test_curves_in_one_style_have_different_looks_up_to_five_units(style):
    for units, count in ((2, 7), (3, 15), (5, 40)):
        lines = figures.overlaps(made_up(units, units), style=style).lines
        assert len(lines) == len(looks(lines)) == count
        assert len({x._unscaled_dash_pattern for x in lines}) == 1


def test_many_symbols_on_curves_have_different_looks():
    curves = figures.overlaps(made_up(5, 5))
    before = len(curves.lines)
    figures.overlaps(made_up(5, 5), curves, style="o")
    symbols = curves.lines[before:]
    assert len(symbols) == len(looks(symbols)) == 40
    colours = [line.get_color() for line in curves.lines]
    assert colours[before:] == colours[:before]


def test_a_long_legend_of_one_style_explains_colours_and_markers():
    axes = figures.overlaps(made_up(3, 3), style="--")
    words = [*(f"$i = {k}$" for k in (1, 2, 3)), *(f"$n, k = {k}$" for k in (1, 2, 3))]
    assert legend(axes) == [*words, "$R_{in}$", "$Q_{ik}$"]
    shown = dict(zip(legend(axes), axes.get_legend().legend_handles, strict=True))
    drawn = axes.lines[7]  # R_32
    assert drawn.get_marker() == shown["$n, k = 2$"].get_marker()
    assert drawn.get_color() == shown["$i = 3$"].get_color()
    assert drawn.get_fillstyle() == shown["$R_{in}$"].get_fillstyle()
    assert "markers the second" in figures.caption(axes)


def test_a_long_legend_explains_colours_and_styles():
    axes = figures.overlaps(made_up(4, 4), which="R")
    assert len(axes.lines) == 16
    words = [f"${letter} = {k}$" for letter in "in" for k in (1, 2, 3, 4)]
    assert legend(axes) == [*words, "assigned"]


def test_each_student_has_one_thick_line_of_its_teacher():
    """The sum of R_in over pairs is the largest at the end."""
    run = made_up(3, 3)
    run["R"][-1] = np.array([[0.1, 0.9, 0.0], [0.8, 0.7, 0.1], [0.6, 0.2, 0.3]])
    lines = figures.overlaps(run, which="R").lines
    widths = {line.get_label(): line.get_linewidth() for line in lines}
    thick = {name for name, width in widths.items() if width > min(widths.values())}
    assert thick == {"$R_{12}$", "$R_{21}$", "$R_{33}$"}


def test_curves_that_coincide_are_one_line_with_all_names():
    run = made_up(2, 2)
    run["R"][:, 1, 0] = run["R"][:, 0, 1]
    run["R"][:, 1, 1] = run["R"][:, 0, 0] + 1e-4  # not equal, and no wider than a line
    axes = figures.overlaps(run, which="R")
    assert legend(axes) == [r"$R_{11}$ $\approx$ $R_{22}$", "$R_{12}$ = $R_{21}$"]
    figures.overlaps(run, axes, which="R", style="o")
    colours = [line.get_color() for line in axes.lines[2:]]
    assert colours == [axes.lines[k].get_color() for k in (0, 1, 1, 0)]


def test_many_equal_curves_have_one_name():
    run = made_up(4, 4)
    run["R"][:] = 0.1 + 0.5 * np.eye(4)
    assert legend(figures.overlaps(run, which="R")) == ["$R_{ii}$", r"$R_{in}$, $i \neq n$"]
    run["R"][:, 0, 1] = 0.3
    names = legend(figures.overlaps(run, which="R"))
    assert names == ["$R_{ii}$", "$R_{12}$", "$R_{13}$ = $R_{14}$, 9 more"]


def test_of_more_than_five_units_the_ranges_of_groups_are_drawn():
    run = made_up(7, 7)
    axes = figures.overlaps(run)
    assert legend(axes) == [
        *("$R_{in}$, assigned", "$R_{in}$, others"),
        *("$Q_{ii}$", r"$Q_{ik}$, $i \neq k$"),
    ]
    diagonal = np.diagonal(run["Q"].values, axis1=1, axis2=2)
    np.testing.assert_allclose(axes.lines[2].get_ydata(), np.median(diagonal, axis=1))
    low = axes.collections[2].get_paths()[0].vertices[:, 1].min()
    assert low == diagonal.min()


def test_runs_that_diverge_leave_the_picture_and_are_named():
    run = made_up(runs=3)
    run["generalization_error"][2] = [0.5, 10.0, 1e3, 1e5, 1e6]
    run["outcome"] = "run", ["reached", "converged", "diverged"]
    axes = figures.error(run)
    stay = float(run["generalization_error"][:2].max())
    assert stay < axes.get_ylim()[1] <= 3.0 * max(stay, 0.5) * (1 + 1e-12)
    assert legend(axes)[2] == r"$\eta = 0.3$, diverges"
    assert "1 of 3 runs diverge" in figures.caption(axes)


def test_errors_of_several_runs_are_labelled_by_their_learning_rates():
    assert legend(figures.error(made_up(runs=3))) == [rf"$\eta = {x}$" for x in (0.1, 0.2, 0.3)]


def test_error_uses_the_symbols_of_the_papers_and_the_axes_it_is_given():
    _, given = plt.subplots()
    axes = figures.error(made_up(), given, label="exact", scale="linear")
    assert axes is given and legend(axes) == ["exact"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == (r"$\alpha$", r"$\varepsilon_g$")
    assert axes.get_yscale() == "linear"


@pytest.mark.parametrize(("rate", "symbol"), [(0, r"$\eta\alpha$"), (0.1, r"$\alpha$")])
def test_time_is_in_units_of_the_learning_rate_in_its_limit(rate, symbol):
    run = made_up()
    run.attrs["learning_rate"] = rate
    assert figures.error(run).get_xlabel() == figures.overlaps(run).get_xlabel() == symbol


def branch_of(eigenvalues, values=None):
    run = made_up(2, 1).rename(time="point")
    if values is not None:
        run["R"][:, 0, 0] = values
    run["R"][:, 1] = run["R"][:, 0]
    return run.assign(
        learning_rate=("point", np.linspace(0.1, 0.5, 5)),
        eigenvalue=(("point", "direction"), np.array(eigenvalues)[:, None] * np.ones(5)),
        special_kind=("special", ["fold", "branch point"]),
        special_learning_rate=("special", [0.5, 0.3]),
        special_R=(("special", "student", "teacher"), np.full((2, 2, 1), 0.7)),
    )


def test_a_branch_is_solid_where_it_is_stable_and_its_special_points_are_marked():
    """Eigenvalues of up to -1e-7 are marginal, as for `tutelage.online.FixedPoint.stable`."""
    axes = figures.branch(branch_of([-1.0, -1.0, -1e-8, 1.0, 1.0]), which="R")
    assert legend(axes) == [
        "$R_{11}$ = $R_{21}$",
        "stable",
        "unstable",
        r"fold, $\eta = 0.5$",
        r"branch point, $\eta = 0.3$",
    ]
    solid, dashed = axes.lines[:2]
    assert np.isfinite(solid.get_ydata()).tolist() == [True, True, False, False, False]
    assert np.isfinite(dashed.get_ydata()).tolist() == [False, True, True, True, True]
    assert solid.get_linestyle() == "-" != dashed.get_linestyle()
    marks = {
        (*line.get_xdata(), *line.get_ydata())
        for line in axes.lines[2:]
        if len(line.get_xdata()) == 1
    }
    assert marks == {(0.5, 0.7), (0.3, 0.7)}
    assert "dashed: unstable or marginal" in figures.caption(axes)


def test_a_branch_that_goes_to_infinity_shows_its_beginning_as_well():
    axes = figures.branch(branch_of([-1.0] * 5, [0.1, 0.2, 0.3, 1e3, 1e6]), which="R")
    assert axes.get_yscale() == "symlog" and axes.get_ylim()[1] > 1e6


def test_an_error_that_is_rounding_is_left_out_of_a_logarithmic_axis():
    run = made_up()
    run["generalization_error"][-1] = -1e-17
    assert np.isnan(figures.error(run).lines[0].get_ydata()[-1])


def test_learning_curves_are_three_panels_for_one_run_and_one_for_several():
    assert [axes.get_ylabel() for axes in figures.learning_curves(made_up())] == [
        "$Q_{ik}$",
        "$R_{in}$",
        r"$\varepsilon_g$",
    ]
    assert len(figures.learning_curves(made_up(runs=2))) == 1


def test_overlaps_at_several_learning_rates_are_refused():
    with pytest.raises(InputError, match="isel"):
        figures.overlaps(made_up(runs=2))


CURVE = theory(K=2, M=2)
RUNS = ensemble(np.random.default_rng(0), runs=12, N=100, curve=CURVE)


@pytest.mark.parametrize("which", ["RQ", "Q", "R"])
@pytest.mark.parametrize("runs", [RUNS, summary(RUNS)], ids=["runs", "summary"])
def test_symbols_of_runs_have_the_colours_of_the_curves(which, runs):
    axes = figures.overlaps(CURVE, which=which)
    curves, names = list(axes.lines), legend(axes)
    figures.overlaps(runs, axes, which=which)
    symbols = axes.lines[len(curves) :]
    assert [line.get_color() for line in symbols] == [line.get_color() for line in curves]
    assert {line.get_marker() for line in symbols} == {"o"}
    assert len(axes.collections) == len(curves)  # the bands
    assert legend(axes) == names


def test_symbols_are_means_at_recorded_times():
    line = figures.overlaps(RUNS, which="R").lines[1]
    expected = summary(RUNS)["R"].sel(time=line.get_xdata(), student=0, teacher=1)
    np.testing.assert_array_equal(line.get_ydata(), expected)
    assert len(line.get_xdata()) == 20


def test_a_band_is_one_standard_deviation_to_either_side():
    result = summary(RUNS)
    (band,) = figures.error(RUNS, scale="linear").collections
    edges = band.get_paths()[0].vertices[:, 1]
    mean, spread = result["generalization_error"], result["generalization_error_spread"]
    # The path goes along both edges: every one of their points is on it.
    for edge in (mean - spread, mean + spread):
        assert np.all(np.isin(edge.values, edges))


def test_one_simulated_run_is_drawn_without_a_band_as_one_likes():
    axes = figures.overlaps(RUNS.isel(run=0), style="o")
    assert len(axes.lines) == 7 and not axes.collections
    assert axes.lines[0].get_marker() == "o"


def test_a_band_on_a_logarithmic_axis_stays_above_zero():
    result = summary(RUNS)
    result["generalization_error"][-1] = -1e-18
    result["generalization_error_spread"][:] = 10.0
    axes = figures.error(CURVE)
    figures.error(result, axes)
    edges = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert np.all(edges[np.isfinite(edges)] > 0)
    assert axes.lines[1].get_color() == axes.lines[0].get_color()


def test_a_comparison_is_drawn_with_its_verdict():
    comparison = compare(CURVE, RUNS)
    axes = figures.comparison(comparison)
    assert [ax.get_ylabel() for ax in axes[:3]] == ["$Q_{ik}$", "$R_{in}$", r"$\varepsilon_g$"]
    assert axes[0].figure.get_suptitle() == "Theory and 12 runs agree, without any bias"
    assert legend(axes[2]) == ["theory", "12 runs"]
    for line in str(comparison).splitlines():
        assert line[1:] in figures.caption(axes)


def test_a_comparison_draws_the_deviations_on_which_the_verdict_rests():
    """The largest deviation is that of the test, and the band ends at its threshold."""
    comparison = compare(CURVE, RUNS)
    last = figures.comparison(comparison)[-1]
    drawn = np.concatenate([line.get_ydata() for line in last.lines])
    assert np.nanmax(np.abs(drawn)) == pytest.approx(comparison.raw.standard_errors, rel=1e-6)
    band = last.patches[0].get_extents().transformed(last.transData.inverted())
    assert (band.y0, band.y1) == pytest.approx((-comparison.threshold, comparison.threshold))


def test_errors_on_axes_of_the_user_have_the_colours_of_the_style():
    """Axes made before the style keep the colours that Matplotlib had then."""
    axes = plt.subplots()[1]
    for number in range(2):
        figures.error(CURVE, axes, label=str(number))
    with tl.figures.style():
        assert [line.get_color() for line in axes.lines] == [palette_colour(k) for k in range(2)]
    assert figures.error(CURVE, plt.subplots()[1], colour="red").lines[0].get_color() == "red"


def test_without_a_theory_the_lines_are_the_means():
    axes = figures.learning_curves(RUNS)
    np.testing.assert_array_equal(axes[1].lines[3].get_ydata(), summary(RUNS)["R"][:, 1, 1])
    assert legend(axes[2]) == ["12 runs"]
    assert legend(figures.learning_curves(RUNS.isel(run=0), CURVE)[2]) == ["theory", "one run"]


def test_errors_below_the_integration_error_are_not_drawn_and_the_caption_explains_it():
    time = np.linspace(0.0, 30.0, 31)
    error = ("time", np.exp(-time))
    curve = xr.Dataset({"generalization_error": error}, coords={"time": time})
    of_theory = curve.assign_attrs(integration_error=1e-8)
    axes = figures.error(of_theory)
    drawn = axes.lines[0].get_ydata()
    assert np.nanmin(drawn) > 1e-8 > np.exp(-time[np.sum(np.isfinite(drawn))])
    assert len(axes.lines) == 1
    for second in (axes, figures.error(of_theory, axes)):
        message = [text.get_text() for text in second.texts]
        assert message == ["below $10^{-8}$: error of the integration"]
    assert "1e-08, are left out" in figures.caption(axes)
    narrow = figures.error(of_theory, figures.learning_curves(RUNS, CURVE, figsize=(5, 2))[2])
    assert [text.get_text() for text in narrow.texts] == ["integration error"]
    linear = figures.error(of_theory, scale="linear")
    assert len(linear.lines) == 1 and np.all(np.isfinite(linear.lines[0].get_ydata()))
    assert np.all(np.isfinite(figures.error(curve).lines[0].get_ydata()))  # not integrated here


@pytest.mark.parametrize(
    ("name", "symbol"),
    [("label_noise", r"\varsigma"), ("drift", r"\delta"), ("readout_decay", r"\gamma_v")],
)
def test_every_number_has_a_different_symbol(name, symbol):
    one = tl.Committee(1, tl.ReLU())
    scenario = tl.Scenario(one, one, **{name: np.array([0.1, 0.2])})
    start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    axes = figures.error(tl.online.evolve(scenario, start, 0.5, until=1))
    assert axes.get_legend().get_texts()[0].get_text() == rf"${symbol} = 0.1$"


def test_runs_with_different_numbers_are_separate_curves():
    """Runs with several weight decays are not averaged."""
    one = tl.Committee(1, tl.ReLU())
    scenario = tl.Scenario(one, one, weight_decay=np.array([0.0, 0.1]))
    start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    runs = tl.online.evolve(scenario, start, 0.5, until=2)
    axes = figures.error(runs)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        r"$\gamma = 0$",
        r"$\gamma = 0.1$",
    ]


@pytest.mark.parametrize("shape", [(1, 1), (2, 4), (4, 2), (5, 5), (3, 6)])
def test_the_assignment_of_students_to_teachers_is_that_of_scipy(shape):
    R = np.random.default_rng(7).normal(size=shape)
    rows, columns = best_assignment(R)
    assert len(set(rows)) == len(set(columns)) == min(shape)
    assert R[rows, columns].sum() == pytest.approx(R[linear_sum_assignment(-R)].sum(), rel=1e-14)

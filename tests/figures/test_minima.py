"""Pictures of minima: which levels, shares and branches they show."""

from itertools import pairwise

import made_up_figures
import numpy as np
import pytest
import xarray as xr
from matplotlib.text import Text
from scipy.optimize import minimize

import tutelage as tl
from tutelage import figures
from tutelage.figures.minima import _spread_out


def levels():
    """Two minima and a saddle, made up."""
    return xr.Dataset(
        {
            "generalization_error": ("level", [0.0, 0.02, 0.03]),
            "family": ("level", ["solution", "2 spread", "1 anti-aligned"]),
            "index": ("level", [0, 1, 0]),
            "share": ("level", [0.7, 0.0, 0.3]),
            "share_error": ("level", [0.1, 0.05, 0.1]),
            "hessian_eigenvalue": (("level", "direction"), [[0.1, 1.0], [-0.1, 1.0], [0.2, 1.0]]),
            "transverse_eigenvalue": (("level", "student"), [[0.3], [0.2], [0.1]]),
        },
        attrs={"starts": 10, "start_dimension": 4, "scale": 1.0},
    )


def branch(values):
    eta = np.linspace(0.1, 1.0, len(values))
    return xr.Dataset(
        {
            "learning_rate": ("point", eta),
            "generalization_error": ("point", 0.1 * eta),
            "eigenvalue": (("point", "direction"), np.array(values, float)[:, None]),
            "special_kind": ("special", ["fold"]),
            "special_learning_rate": ("special", [0.5]),
        }
    )


def test_the_ladder_shows_minima_and_shares_only():
    axes = figures.landscape(levels())
    assert [text.get_text() for text in axes.texts] == ["solution", "1 anti-aligned"]
    assert axes.containers[0].lines[0].get_xdata().tolist() == [0.7, 0.3]
    assert "2 minima" in figures.caption(axes) and "d = 4" in figures.caption(axes)
    assert "saddles" in figures.caption(figures.landscape(levels(), saddles=True))


def test_names_of_levels_move_apart_as_little_as_possible():
    """Compared with a general solver of the same least squares under constraints."""
    heights, step = np.array([0.0, 0.3, 0.31, 0.32, 0.5, 0.9]), 0.1
    moved = _spread_out(heights, step)
    apart = {"type": "ineq", "fun": lambda x: np.diff(x) - step}
    best = minimize(lambda x: np.sum((x - heights) ** 2), heights, constraints=apart, tol=1e-14)
    assert moved[1:] == pytest.approx(best.x[1:], abs=1e-6)
    assert moved[0] == 0.25 * step  # inside the picture
    crowded = _spread_out(np.full(9, 0.9), step)
    assert np.diff(crowded) == pytest.approx(np.full(8, step)) and crowded[-1] < 1


@pytest.mark.parametrize("style", ["screen", "paper"])
def test_of_many_levels_those_with_the_largest_shares_are_named(style):
    """Of levels at nearly the same error one is named; the others are points without a bar."""
    many = made_up_figures.many_levels()
    with figures.style(style):
        axes = figures.landscape(many)
    names = [text.get_text() for text in axes.texts]
    assert 5 < len(names) < 25
    error, share = (many[name].values for name in ("generalization_error", "share"))
    is_named = np.isin(many["family"].values, names)
    axes.figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in axes.texts]
    assert all(above.y0 > below.y1 for below, above in pairwise(boxes))
    closest = np.min(np.diff(error[is_named]))
    assert closest > 0.4 * boxes[0].height / axes.bbox.height * np.ptp(error)
    for k in np.flatnonzero(~is_named):
        larger = is_named & (share > share[k])
        no_room = len(names) >= axes.bbox.height / boxes[0].height / 1.6
        assert no_room or np.min(np.abs(error[larger] - error[k])) < 2 * closest
    bars = axes.containers[0].lines[0]
    np.testing.assert_array_equal(bars.get_ydata(), error[is_named])
    assert f"{len(names)} minima have names and standard errors" in figures.caption(axes)


def test_curvatures_of_many_levels_show_the_smallest():
    many = made_up_figures.many_levels()
    with figures.style("paper"):
        axes = figures.curvatures(many)
    ticks = axes.get_xticks()
    assert len(ticks) < 20 and f"One of {int(ticks[1])} levels" in figures.caption(axes)
    wide, dark = (axes.collections[k] for k in (0, 1))
    assert wide.get_alpha() < 1 and dark.get_alpha() is None
    lowest = [segment[0, 1] for segment in dark.get_segments()]
    np.testing.assert_array_equal(lowest, many["hessian_eigenvalue"].values.min(axis=1))
    few = figures.curvatures(levels())
    assert len(few.collections) == 2 and "Dark" not in figures.caption(few)


def test_curvatures_of_saddles_need_an_axis_with_negative_values():
    assert figures.curvatures(levels()).get_yscale() == "log"
    axes = figures.curvatures(levels(), saddles=True)
    assert axes.get_yscale() == "symlog" and len(axes.get_xticks()) == 3
    with pytest.raises(tl.InputError, match="no minimum"):
        figures.curvatures(levels().isel(level=[1]))


def test_branches_are_split_where_their_index_changes():
    axes = figures.all_branches([branch([-1, -1, 1, 1]), branch([1, 1])])
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["stable", "index 1"]
    stable = axes.lines[0]
    assert stable.get_linestyle() == "-" and len(stable.get_xdata()) == 3
    with pytest.raises(tl.InputError, match="at least one"):
        figures.all_branches([])


def test_overlaps_that_agree_are_one_curve():
    scenario = tl.Scenario(tl.Committee(1, tl.ReLU()), tl.Committee(3, tl.ReLU()))
    best = tl.online.landscape(scenario, starts=2).isel(level=0)
    start = tl.Overlaps(Q=best.Q.values, R=best.R.values, T=scenario.T)
    axes = figures.opening(tl.online.added_unit(scenario, start, until=20.0))
    assert 2 <= len(axes.lines) <= 4

"""Figures of studies: curves, maps, panels, tables, and missing points."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import tutelage as tl
from tutelage._checks import InputError


def made_up(**axes):
    """Made-up study with one diverged and one failed point."""
    shape = tuple(map(len, axes.values()))
    numbers = np.random.default_rng(0).uniform(0.01, 1.0, shape)
    outcome = np.full(shape, "reached", dtype="<U9")
    outcome.flat[0], numbers.flat[0], numbers.flat[-1] = "diverged", 1e12, np.nan
    over = json.dumps({"table": False, "values": {name: list(x) for name, x in axes.items()}})
    names = tuple(axes)
    return xr.Dataset(
        {"generalization_error": (names, numbers), "outcome": (names, outcome)},
        axes,
        {"over": over},
    )


RATES, DECAYS, UNITS = [0.1, 0.2, 0.3, 0.4], [1e-3, 1e-2, 1e-1], ["ReLU", "Erf"]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_one_argument_is_a_curve_without_runs_that_diverged():
    axes = tl.figures.sweep(made_up(learning_rate=RATES))
    line, crosses = axes.lines
    assert crosses.get_xdata().tolist() == [RATES[0], RATES[-1]]
    assert "2 of 4 points diverged or failed" in tl.figures.caption(axes)
    assert line.get_xdata().tolist() == RATES
    assert np.isnan(line.get_ydata()[0]) and np.isfinite(line.get_ydata()[1:3]).all()
    assert axes.get_xlabel() == r"$\eta$" and axes.get_ylabel() == r"$\varepsilon_g$"


def test_names_are_curves_and_numbers_are_axes():
    axes = tl.figures.sweep(made_up(activation=UNITS, weight_decay=DECAYS))
    assert [line.get_label() for line in axes.lines[:3]] == [*UNITS, "diverged or failed"]
    assert axes.get_xscale() == "log" and axes.get_xlabel() == r"$\gamma$"


def test_two_numbers_are_a_map_with_contours_and_a_scale():
    study = made_up(learning_rate=RATES, weight_decay=DECAYS)
    axes = tl.figures.sweep(study)
    image = axes.collections[0]
    drawn = np.ma.filled(image.get_array(), np.nan)
    wanted = study.generalization_error.where(study.outcome == "reached").values.T
    assert np.array_equal(drawn.reshape(wanted.shape), wanted, equal_nan=True)
    assert len(axes.collections) == 1 and len(axes.figure.axes) == 2
    assert axes.get_legend().get_texts()[0].get_text() == "diverged or failed"


def test_contours_have_round_values_and_end_at_the_edges_of_the_map():
    x, y = np.linspace(0.0, 1.0, 9), np.linspace(0.0, 2.0, 8)
    study = made_up(learning_rate=list(x), weight_decay=list(y)).drop_vars("outcome")
    study["generalization_error"][:] = 0.5 + x[:, None] + 0 * y
    axes = tl.figures.sweep(study)
    lines = axes.collections[1]
    assert [f"{level:g}" for level in lines.levels] == ["0.6", "0.8", "1", "1.2", "1.4"]
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        np.testing.assert_allclose(path.vertices[:, 0], level - 0.5, atol=1e-12)
        assert (path.vertices[:, 1].min(), path.vertices[:, 1].max()) == axes.get_ylim()


def test_on_logarithmic_axes_cells_and_contours_are_those_of_the_axes_as_drawn():
    """Contours of exp(-log10 x - log10 y) are straight lines, the cells squares."""
    x = y = np.geomspace(1e-3, 1e2, 6)
    study = made_up(learning_rate=list(x), weight_decay=list(y)).drop_vars("outcome")
    study["generalization_error"][:] = np.exp(-np.log10(x)[:, None] - np.log10(y))
    axes = tl.figures.sweep(study)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    np.testing.assert_allclose(np.log10(axes.get_xlim()), [-3.5, 2.5])
    corners = axes.collections[0].get_coordinates()
    np.testing.assert_allclose(np.log10(corners[0, :, 0]), np.arange(-3.5, 3.0))
    contours = axes.collections[1]
    assert len(contours.levels) == len([p for p in contours.get_paths() if len(p.vertices)]) > 3
    for height, path in zip(contours.levels, contours.get_paths(), strict=True):
        np.testing.assert_allclose(path.vertices.sum(axis=1), -height, atol=1e-12)


@pytest.mark.parametrize(
    ("function", "names", "chosen"),
    [
        ("online.plateau", ["point_residual", "height", "height_error", "length"], "length"),
        ("online.fixed_point", ["residual", "generalization_error"], "generalization_error"),
        ("averages.i4", ["value_error", "value"], "value"),
    ],
)
def test_what_is_drawn_is_what_the_swept_function_is_about(function, names, chosen):
    study = made_up(learning_rate=RATES)
    study = study.assign({name: study["generalization_error"] for name in names})
    study = study[[*names, "outcome"]].assign_attrs(study.attrs | {"function": function})
    drawn = tl.figures.sweep(study).get_ylabel()
    assert drawn == tl.figures.sweep(study, variable=chosen).get_ylabel()
    assert all(
        drawn != tl.figures.sweep(study, variable=other).get_ylabel()
        for other in set(names) - {chosen}
    )


def test_three_are_panels_with_one_scale_of_colours():
    every = tl.figures.sweep(made_up(learning_rate=RATES, weight_decay=DECAYS, activation=UNITS))
    assert [axes.get_title() for axes in every] == UNITS
    limits = {axes.collections[0].get_clim() for axes in every}
    assert len(limits) == 1


def test_a_table_is_drawn_over_its_numbers():
    study = made_up(learning_rate=RATES).rename(learning_rate="point")
    table = study.assign_coords(learning_rate=("point", RATES[::-1])).drop_vars("point")
    table.attrs["over"] = json.dumps({"table": True, "values": {"learning_rate": RATES}})
    assert tl.figures.sweep(table).lines[0].get_xdata().tolist() == RATES
    two = table.assign_coords(weight_decay=("point", RATES))
    two.attrs["over"] = json.dumps(
        {"table": True, "values": {"learning_rate": [], "weight_decay": []}}
    )
    assert len(tl.figures.sweep(two).collections[0].get_offsets()) == 4


def test_what_cannot_be_drawn_is_refused_in_words():
    with pytest.raises(InputError, match="without a record of the swept arguments"):
        tl.figures.sweep(xr.Dataset({"R": ("time", [1.0])}))
    with pytest.raises(InputError, match="one number per point: generalization_error"):
        tl.figures.sweep(made_up(learning_rate=RATES), variable="R")
    four = made_up(learning_rate=RATES, weight_decay=DECAYS, drift=DECAYS, label_noise=DECAYS)
    with pytest.raises(InputError, match="one, two or three"):
        tl.figures.sweep(four)
    curves = made_up(learning_rate=RATES, time=[0.0, 1.0])
    curves.attrs["over"] = json.dumps({"table": False, "values": {"learning_rate": RATES}})
    with pytest.raises(InputError, match=r"tl\.sweeps\.last"):
        tl.figures.sweep(curves)

"""One page without a server: its numbers, and that it is one file."""

import json
import re

import pytest

import tutelage as tl
from tutelage.explorer import bundle
from tutelage.explorer.export import FIXED, GRIDS, data
from tutelage.explorer.parameters import state_of
from tutelage.explorer.pictures import Mark, Picture
from tutelage.explorer.views import VIEWS
from tutelage.explorer.views.online import setting


def test_pictures_stand_in_the_order_of_the_grid():
    content = data({"transitions": {"K": (2, 3), "load": (10.0, 30.0)}})
    grid = content["grids"]["transitions"]
    assert grid["over"] == {"K": [2, 3], "load": [10.0, 30.0]}
    states = [(picture["state"]["K"], picture["state"]["load"]) for picture in grid["pictures"]]
    assert states == [(2, 10.0), (2, 30.0), (3, 10.0), (3, 30.0)]
    numbers = {row["symbol"]: row["value"] for row in grid["pictures"][1]["numbers"]}
    assert numbers["βf/K"] == tl.equilibrium.states(tl.Erf(), 2, 30.0)[0].free_energy_per_unit
    assert content["views"][0]["documentation"] == "equilibrium.html"
    page = bundle.page(content, "/* what draws */")
    (table,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL
    )
    assert json.loads(table) == json.loads(json.dumps(content))


@pytest.mark.slow
def test_an_exported_page_has_the_marks_of_the_plateau():
    content = data({"online": {"activation": ("erf",), "learning_rate": (1.0,)}})
    (picture,) = content["grids"]["online"]["pictures"]
    scenario = setting.scenario_of(picture["state"])
    plateau = tl.online.plateau(scenario, setting.start_of(picture["state"], scenario), 1.0)
    marks = {mark["label"]: mark["at"] for mark in picture["panels"][0]["marks"]}
    assert marks == {"plateau begins": plateau.begins, "plateau ends": plateau.ends,
                     "height of the plateau": float(plateau.height.value)}  # fmt: skip
    assert "eigenvalues" in [panel["name"] for panel in picture["panels"]]


def test_details_of_a_picture_are_put_into_the_exported_one(monkeypatch):
    mark = Mark("x", 5.0, "plateau begins")
    monkeypatch.setattr(
        VIEWS["online"], "exported_details", lambda state: Picture(panel_marks={"error": [mark]})
    )
    content = data({"online": {"activation": ("erf",), "until": (30.0,)}})
    (picture,) = content["grids"]["online"]["pictures"]
    marks = {panel["name"]: panel["marks"] for panel in picture["panels"]}
    assert marks == {"error": [{"axis": "x", "at": 5.0, "label": "plateau begins"}], "overlaps": []}


def test_every_point_of_the_grids_is_a_state():
    for name, grid in GRIDS.items():
        for parameter, values in grid.items():
            for value in values:
                given = {parameter: str(value), **FIXED.get(name, {})}
                assert state_of(VIEWS[name].PARAMETERS, given)[parameter] == value


@pytest.mark.slow
def test_the_whole_page_is_written(tmp_path):
    file = tmp_path / "talk.html"
    tl.explorer.export(str(file))
    page = file.read_text(encoding="utf-8")
    assert page.count("<html") == 1 and "Plotly" in page
    assert not re.search(r'(?:src|href)="(?:https?:)?/', page.partition('id="data"')[0])

"""One page without a server: its numbers, and that it is one file."""

import json
import re

import pytest

import tutelage as tl
from tutelage.explorer import bundle
from tutelage.explorer.export import FIXED, GRIDS, data
from tutelage.explorer.parameters import state_of
from tutelage.explorer.views import VIEWS


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

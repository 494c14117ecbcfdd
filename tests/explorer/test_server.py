"""What the server answers."""

import strict_json

import tutelage as tl
from tutelage.explorer.views import VIEWS


def test_the_views_are_told(client):
    answer = client.get("/api/views")
    assert answer.status_code == 200
    views = answer.json()["views"]
    assert [view["name"] for view in views] == list(VIEWS)
    for view in views:
        assert view["formula"].startswith("<math") or view["name"] == "papers"
        names = [parameter["name"] for parameter in view["parameters"]]
        assert len(names) == len(set(names))


def test_a_picture_has_the_numbers_of_the_library(client):
    answer = client.get(
        "/api/picture", params={"view": "transitions", "K": "2", "load": "30", "activation": "erf"}
    )
    strict_json.check(answer.text)
    numbers = {row["symbol"]: row["value"] for row in answer.json()["numbers"]}
    found = tl.equilibrium.transitions(tl.Erf(), 2)
    assert numbers["α_c"] == float(found.coexists.value)
    assert numbers["ε_g"] == tl.equilibrium.states(tl.Erf(), 2, 30.0)[0].generalization_error


def test_curves_are_those_of_the_library(client):
    answer = client.get("/api/picture", params={"learning_rate": "0.7", "activation": "erf"}).json()
    found = {}
    exec(compile(answer["python"], "copied", "exec"), found)
    run = found["run"]
    panels = {panel["name"]: panel for panel in answer["panels"]}
    traces = {trace["name"]: trace for panel in panels.values() for trace in panel["traces"]}
    assert traces["ε_g"]["y"] == run["generalization_error"].values.tolist()
    assert traces["R₁₂"]["y"] == run["R"].values[:, 0, 1].tolist()
    assert traces["Q₁₂"]["x"] == run["time"].values.tolist()

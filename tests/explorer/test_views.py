"""Pictures have the numbers of the library, and the copied code reproduces them."""

import json
import math
import shlex

import numpy as np
import pytest
from explorer import training_files

import tutelage as tl
from tutelage.explorer.parameters import state_of
from tutelage.explorer.pictures import as_json, lowered
from tutelage.explorer.views import VIEWS, online, papers, playback, transitions
from tutelage.explorer.views.online import setting
from tutelage.papers import sections
from tutelage.papers.citton2025 import runs as citton
from tutelage.papers.straat2019 import runs as straat

slow = pytest.mark.slow


def drawn(name, **given):
    """Return state and picture as the page receives them."""
    view = VIEWS[name]
    state = state_of(view.PARAMETERS, {key: str(value) for key, value in given.items()})
    return state, json.loads(as_json(view.draw(state)))


def traces(picture):
    return {trace["name"]: trace for panel in picture["panels"] for trace in panel["traces"]}


def executed(code):
    results = {}
    exec(compile(code, "copied", "exec"), results)
    return results


def missing_as_none(values):
    return [None if np.isnan(x) else x for x in np.asarray(values).tolist()]


ONLINE = {
    "erf": {"activation": "erf", "K": 2, "M": 2, "label_noise": 0.1, "weight_decay": 0.01,
            "teacher_norm_last": 2.0, "teacher_cosine": 0.3, "learning_rate": 0.5},
    "relu": {"activation": "relu", "learning_rate": 0.7},
    "random": {"activation": "erf", "start": "random", "start_seed": 7, "learning_rate": 0},
    "norms": {"activation": "erf", "K": 3, "M": 2, "start_norms": "0.2, 0.3, 0.25",
              "start_first": "true", "learning_rate": 0, "until": 30},
    "readouts": {"activation": "erf", "readout": "1, -0.5", "readout_rate": 0.3,
                 "teacher_readout": "1, 2", "batch": 3, "learning_rate": 0.5},
    "drift": {"activation": "erf", "drift": 0.01, "learning_rate": 0.5},
    "leaky": {"activation": "leaky", "slope": 0.3, "teacher_activation": "relu"},
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [n if n in ("erf", "norms") else pytest.param(n, marks=slow) for n in ONLINE]
)
def test_copied_code_gives_the_curves_to_the_last_digit(name):
    state, picture = drawn("online", **ONLINE[name])
    run, shown = executed(online.python(state))["run"], traces(picture)
    assert shown["R₁₁"]["x"] == run["time"].values.tolist()
    assert shown["R₁₁"]["y"] == run["R"].values[:, 0, 0].tolist()
    assert shown["Q₁₂"]["y"] == run["Q"].values[:, 0, 1].tolist()
    error = run["generalization_error"].values
    noise = run.attrs["integration_error"]
    assert shown["ε_g"]["y"] == [x if x > noise else None for x in error.tolist()]
    if "readout" in run:
        assert shown["v₂"]["y"] == run["readout"].values[:, 0, 1].tolist()


@pytest.mark.parametrize("name", ["erf", pytest.param("readouts", marks=slow)])
def test_the_copied_command_ends_where_the_curves_do(name, run):
    given = {key: x for key, x in ONLINE[name].items() if key != "teacher_cosine"}
    state, picture = drawn("online", **given)
    command = online.command(state)
    code, out, _ = run(*shlex.split(command)[1:], "--json")
    assert code == 0
    numbers = {row["symbol"]: row["value"] for row in picture["numbers"]}
    (last, *_), *_ = json.loads(out)["R"][-1]
    # Recorded at other times, a run is the same to the tolerance of its steps.
    assert abs(last - numbers["R₁₁"]) < 1e-6


@pytest.mark.parametrize("given", [{"start": "random"}, {"teacher_cosine": 0.2}])
def test_states_that_no_command_describes_have_no_command(given):
    state = state_of(online.PARAMETERS, {key: str(x) for key, x in given.items()})
    assert online.command(state) is None


@pytest.mark.parametrize(
    "given",
    [
        {"activation": "erf", "K": 5, "load": 46.0},
        pytest.param({"activation": "swish", "beta": 2.0, "K": 3, "load": 20.0}, marks=slow),
        {"activation": "relu", "infinite": "true", "load": 7.0},
        {"activation": "erf", "K": 1, "load": 5.0},
    ],
)
def test_copied_code_gives_states_and_transitions(given):
    state, picture = drawn("transitions", **given, followed="lowest")
    result, shown = executed(VIEWS["transitions"].python(state)), traces(picture)
    numbers = {row["symbol"]: row["value"] for row in picture["numbers"]}
    assert numbers["βf/K"] == result["states"][0].free_energy_per_unit
    assert shown["βf/K"]["y"] == missing_as_none(result["energy"]["free_energy_per_unit"])
    coexists = result["transitions"].coexists
    assert numbers["α_c"] == (None if coexists is None else float(coexists.value))
    curves = result["curves"]
    for branch, kind in enumerate(curves["kind"].values.tolist()):
        one = curves.isel(branch=branch)
        if bool(one["stable"].any()):
            stable = np.where(one["stable"], one["R"], np.nan)
            assert shown[f"R ({kind})"]["y"] == missing_as_none(stable)


def test_the_error_has_a_logarithmic_axis():
    """On a linear axis the plateau of erf units would be invisible."""
    for name, given in (("online", {"activation": "erf", "until": 30}),
                        ("transitions", {"K": 2, "load": 30.0}), ("activation", {})):  # fmt: skip
        axes = {panel["name"]: panel["y"] for panel in drawn(name, **given)[1]["panels"]}
        assert axes["error"]["scale"] == "log" and "linear" in axes["error"]["scales"]


def test_the_derivative_has_a_gap_where_it_jumps():
    slope = traces(drawn("activation", activation="relu")[1])["g′(x)"]
    at = slope["x"].index(0.0)
    assert slope["y"][at - 1 : at + 2] == [0.0, None, 1.0]
    assert slope["x"][at + 1] - slope["x"][at - 1] < 1e-8
    assert set(slope["y"]) == {0.0, None, 1.0}


def test_the_student_stays_in_a_minimum_until_it_vanishes():
    erf = {"activation": "erf", "K": 5}  # α_s = 44.3, α_c = 45.9, α_d = 62.2
    for load, before, after in (
        (50.0, "unspecialized", "unspecialized"),
        (63.0, "unspecialized", "R > S"),
        (45.0, "R > S", "R > S"),
        (44.0, "R > S", "unspecialized"),
    ):
        _, picture = drawn("transitions", **erf, load=load, followed=before)
        assert picture["next"] == {"followed": after}
        # The same request again has the same answer.
        second = drawn("transitions", **erf, load=load, followed=after)[1]
        assert second["numbers"] == picture["numbers"]


@pytest.mark.parametrize(
    "given",
    [
        {"activation": "relu"},
        pytest.param({"activation": "formula", "formula": "x + 0.3*x^2", "infinite": "false"},
                     marks=slow),
    ],
)  # fmt: skip
def test_copied_code_gives_the_unit_and_its_transition(given):
    state, picture = drawn("activation", **given)
    result, shown = executed(VIEWS["activation"].python(state)), traces(picture)
    assert shown["c_n"]["y"] == result["coefficients"].tolist()
    numbers = {row["label"]: row["value"] for row in picture["numbers"]}
    assert numbers["because"] == lowered(result["kind"].because)


@pytest.mark.slow
def test_the_plateau_and_critical_rates_are_those_of_the_library():
    given = {"activation": "relu", "K": 1, "M": 1, "start_q": 0.25, "start_r": 0.0}
    state = state_of(online.PARAMETERS, {key: str(x) for key, x in given.items()})
    picture = online.details(state)
    scenario = setting.scenario_of(state)
    rates = tl.online.critical_learning_rates(scenario, setting.start_of(state, scenario))
    marks = {mark["at"] for mark in picture.slider_marks["learning_rate"]}
    assert float(rates.diverges.value) in marks and float(rates.loses_stability.value) in marks
    assert picture.numbers[0].value is None and "without lingering" in picture.numbers[0].reason


@pytest.mark.slow
def test_streamed_networks_end_as_the_copied_code_does():
    given = {"activation": "erf", "dimension": 1000, "runs": 3, "until": 60, "learning_rate": 0.5}
    state = state_of(online.PARAMETERS, {key: str(x) for key, x in given.items()})
    events = list(online.stream(state))
    parts = [event["done"] for name, event in events if name == "progress"]
    assert parts == [0, 30_000, 60_000]
    last = [event for name, event in events if name == "traces" and event["panel"] == "error"][-1]
    shown = {trace.name: trace for trace in last["traces"]}
    runs = executed(online.python_of_runs(state))["runs"]
    assert np.array_equal(shown["ε_g, run 2"].y, runs["generalization_error"].values[1])


def test_networks_need_a_learning_rate_and_have_limits():
    for given in ({"learning_rate": "0"}, {"dimension": "1000000", "until": "1000"}):
        with pytest.raises(tl.InputError):
            next(online.stream(state_of(online.PARAMETERS, given)))


def test_figures_of_papers_open_with_their_parameters():
    known = {(entry.paper.key, entry.section.name) for entry in sections()}
    assert set(papers.OPENS) <= known
    for view, state in papers.OPENS.values():
        text = {k: str(x).lower() if isinstance(x, bool) else str(x) for k, x in state.items()}
        assert state.items() <= state_of(VIEWS[view].PARAMETERS, text).items()


PUBLISHED = {
    ("straat2019", "fig1"): lambda: (straat.scenario(1, 1), straat.single_start()),
    ("straat2019", "fig2"): lambda: (straat.scenario(2, 2), straat.start_2()),
    ("citton2025", "fig1"): lambda: (citton.scenario(), citton.start()),
}


@pytest.mark.parametrize("key", PUBLISHED, ids="_".join)
def test_they_are_those_of_the_papers(key):
    given = {name: str(x) for name, x in papers.OPENS[key][1].items()}
    state = state_of(online.PARAMETERS, given)
    scenario, start = PUBLISHED[key]()
    ours = setting.scenario_of(state)
    for mine, theirs in (
        (ours.T, scenario.T),
        *zip(setting.given(state), (start.Q, start.R), strict=True),
    ):
        assert np.array_equal(mine, theirs)


# K of the captions of oostwal2019, and of the text of its Section III A.
UNITS = {"fig2": 5, "text3a": math.inf, "fig3": 10, "fig4": math.inf, "fig5": 5, "eq32": 1}


@pytest.mark.parametrize("name", UNITS)
def test_figures_of_equilibrium_open_with_as_many_units_as_the_paper(name):
    view, given = papers.OPENS["oostwal2019", name]
    units = math.inf if given.get("infinite") else given["K"]
    assert (view, units) == ("transitions", UNITS[name])


def test_starts_of_figures_3_and_4():
    given = {"K": "3", "M": "2", "start_norms": "0.2, 0.3, 0.25", "start_first": "true"}
    Q, R = setting.given(state_of(online.PARAMETERS, given))
    assert np.array_equal(Q, np.diag([0.2, 0.3, 0.25])) and np.sum(R) == R[0][0] == 1e-3


def test_a_saved_training_is_played_back(tmp_path, monkeypatch):
    from tutelage.explorer import files

    monkeypatch.setenv(files.REPORT, str(tmp_path / "none"))
    monkeypatch.setenv(files.FILES, str(tmp_path))
    for name in ("a.nc", "b.csv"):
        tl.results.save(training_files.training(), tmp_path / name)
    (tmp_path / "c.nc").write_text("nothing")
    names = [file["name"] for file in files.playable()]
    assert [name for name in names if name not in files.recorded()] == ["a.nc", "b.csv"]
    _, picture = drawn("playback", file="b.csv", run=2)
    assert [frame["label"] for frame in picture["frames"]] == ["epoch 0", "epoch 5", "epoch 10"]
    assert set(picture["frames"][0]["traces"]) == {"eigenvalues", "nodes", "correlations"}
    last = picture["frames"][-1]["traces"]
    assert last["eigenvalues"][0]["x"] == [10.0, 11.0]
    assert last["correlations"][0]["z"] == [[10 / 12] * 2, [11 / 12] * 2]
    for given in ({"file": "../a.nc"}, {"file": "c.nc"}, {"file": "a.nc", "run": "3"},
                  {"file": "a.nc", "setting": "2"}):  # fmt: skip
        with pytest.raises(tl.InputError):
            playback.draw(state_of(playback.PARAMETERS, given))


def test_branches_that_coincide_have_one_curve_and_both_names():
    """For K → ∞ states with R > S and R < S have the same error."""
    curves = tl.equilibrium.learning_curve(tl.ReLU(), math.inf, np.linspace(0.0, 10.0, 21))
    names = [trace.name for trace in transitions.error_branches(curves)]
    assert names[-1] == "ε_g (R < S and R > S)" and len(set(names)) == len(names) == 3

"""``tutelage equilibrium``: tables, numbers, files and refusals."""

import numpy as np
import pytest
import strict_json
import xarray as xr
from typer.testing import CliRunner

import tutelage as tl
from tutelage.cli import equilibrium as cli
from tutelage.cli.entry import app

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, ["equilibrium", *arguments])


def test_the_table_shows_the_published_load():
    """α_s(5) ≈ 44.3 (oostwal2019, Fig. 2)."""
    shown = run("--activation", "erf", "--units", "5", "--load", "46")
    assert shown.exit_code == 0
    assert "44.33780" in shown.output
    assert "discontinuous" in shown.output and "unspecialized" in shown.output


def test_programs_get_the_same_numbers_as_from_python():
    printed = strict_json.check(run("--activation", "relu", "--units", "inf", "--json").output)
    assert printed["units"] == "inf"  # which JSON has no number for
    transitions = tl.equilibrium.transitions(tl.ReLU(), float("inf"))
    assert printed["coexists"]["value"] == float(transitions.coexists.value)
    assert printed["order"] == "continuous"
    assert len(printed["load"]) == len(printed["R"][0])


def test_a_linear_unit_has_no_transition_and_the_reason_is_printed():
    shown = run("--activation", "linear", "--units", "3")
    assert shown.exit_code == 0
    assert "absent" in shown.output and "linear" in shown.output


def test_files_are_written_and_read_again(tmp_path):
    out, plot = tmp_path / "erf.nc", tmp_path / "erf.png"
    assert run("--units", "2", "--out", str(out), "--plot", str(plot)).exit_code == 0
    assert plot.stat().st_size > 10_000
    saved = tl.results.load(out)
    assert tl.results.recompute(saved).equals(saved)


def test_a_phase_diagram_over_the_slope(tmp_path):
    out, plot = tmp_path / "d.nc", tmp_path / "d.png"
    shown = run(
        *("--activation", "leaky", "--units", "2", "--phase-diagram", "0:0.5:5"),
        *("--out", str(out), "--plot", str(plot)),
    )
    assert shown.exit_code == 0 and "6.094074" in shown.output and " rows" not in shown.output
    loaded = tl.results.load(out)
    assert loaded["activation_slope"].values.tolist() == [0.0, 0.125, 0.25, 0.375, 0.5]
    # The loads go from below the lowest line to above the highest.
    assert loaded["load"][0] < loaded["appears"].min()
    assert loaded["unstable"].max() < loaded["load"][-1]
    assert plot.stat().st_size > 10_000


def test_a_long_table_prints_the_number_of_omitted_rows(capsys):
    result = {name: ("activation", np.linspace(1.0, 2.0, 100)) for name in cli.LOADS}
    result["unstable"][1][-1] = np.nan
    order = {"order": ("activation", np.full(100, "continuous"))}
    betas = {"activation_beta": ("activation", np.arange(100.0))}
    cli._print_diagram(xr.Dataset(result | order, betas), "swish", 2)
    out = capsys.readouterr().out
    assert "20 of 100 rows; --json prints all of them" in out
    assert "nan" not in out and out.count("continuous") == 20
    assert "│ 99 " in out and "│ – " in out  # the last one, where a line is missing


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--units", "0"], "--units"),
        (["--units", "2.5"], "--units"),
        (["--load", "-1"], "--load"),
        (["--load", "nan"], "--load"),
        (["--loads", "5:1:10"], "--loads"),
        (["--activation", "step"], "--activation"),
        (["--activation", "erf", "--phase-diagram", "1:2:5"], "needs a unit with a parameter"),
        (["--activation", "swish", "--phase-diagram", "0:2:5"], "--phase-diagram"),
        (["--plot", "x.txt"], "--plot"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, message):
    with pytest.raises(tl.InputError, match=message):
        runner.invoke(app, ["equilibrium", *arguments], catch_exceptions=False)


def test_a_temperature_shows_replicon_and_training_error(tmp_path):
    arguments = ("--activation", "relu", "--units", "inf", "--temperature", "0.05")
    arguments = (*arguments, "--label-noise", "0.3", "--load", "1.1", "--loads", "0:3:31")
    shown = run(
        *arguments, "--plot", str(tmp_path / "cold.png"), "--out", str(tmp_path / "cold.nc")
    )
    assert shown.exit_code == 0 and "replica symmetry is unstable" in shown.output
    assert (tmp_path / "cold.png").stat().st_size > 10_000
    curves = tl.results.load(tmp_path / "cold.nc")
    assert float(curves["temperature"]) == 0.05 and "scaled_load" in curves.coords
    printed = strict_json.check(run(*arguments, "--json").output)
    transitions = tl.equilibrium.transitions(tl.ReLU(), np.inf, temperature=0.05, label_noise=0.3)
    assert printed["unstable"]["value"] == transitions.unstable.value
    assert printed["states"][0]["replica_symmetric"] is False


def test_two_units_at_a_temperature_show_their_overlaps():
    """`--units 2 --approximation annealed`: R, S and C of states, and the exchanged state."""
    arguments = ("--activation", "relu", "--units", "2", "--approximation", "annealed")
    arguments = (*arguments, "--temperature", "1", "--load", "9", "--loads", "0:12:5")
    shown = run(*arguments)
    assert shown.exit_code == 0 and "K = 2, T = 1, annealed" in shown.output
    headings = next(line for line in shown.output.splitlines() if "state" in line and "ε_g" in line)
    assert [word for word in ("R", "S", "C", "q") if f" {word} " in headings] == ["R", "S", "C"]
    states = strict_json.check(run(*arguments, "--json").output)["states"]
    first, second = states
    assert (first["kind"], second["kind"]) == ("R > S", "R < S")
    assert first["R"] == pytest.approx(second["S"], abs=1e-9) and first["C"] > 0
    assert f"{first['S']:.8f}" in shown.output and f"{first['C']:.8f}" in shown.output


def test_with_a_temperature_units_are_infinitely_many_by_default():
    arguments = ("--temperature", "bayes", "--approximation", "quenched", "--label-noise", "0.3")
    shown = run(*arguments, "--loads", "0:20:5")
    assert shown.exit_code == 0 and "Erf, K → ∞, T = 0.09" in shown.output


def test_a_diagram_over_two_temperatures_has_their_lines(tmp_path):
    """Above the Nishimori temperature α̃_c = 2πT + π/2 − 1."""
    arguments = ("--activation", "relu", "--units", "inf", "--label-noise", "0.3")
    arguments = (*arguments, "--temperatures", "0.2:0.3:2", "--loads", "0:3:2")
    shown = run(*arguments, "--out", str(tmp_path / "diagram.nc"))
    assert shown.exit_code == 0 and "α̃_g" in shown.output and "unstable" not in shown.output
    diagram = tl.results.load(tmp_path / "diagram.nc")
    assert diagram["temperature"].values == pytest.approx([0.2, 0.3])
    exact = 2 * np.pi * diagram["temperature"].values + np.pi / 2 - 1
    assert diagram["coexists"].values == pytest.approx(exact, rel=1e-12)
    assert all(f"{load:.6f}" in shown.output for load in exact)


@pytest.mark.slow
def test_a_diagram_over_temperatures_has_the_lines_of_every_temperature(tmp_path):
    arguments = ("--activation", "relu", "--units", "inf", "--label-noise", "0.3")
    arguments = (*arguments, "--temperatures", "0:0.3:4", "--loads", "0:3:13")
    plot, out = tmp_path / "diagram.png", tmp_path / "diagram.nc"
    shown = run(*arguments, "--plot", str(plot), "--out", str(out))
    assert shown.exit_code == 0 and "0.09" in shown.output and "α̃_g" in shown.output
    assert shown.output.count("unstable") == 1 and "stable" in shown.output  # T = 0 alone
    assert plot.stat().st_size > 10_000
    diagram = tl.results.load(out)
    assert diagram["temperature"].values == pytest.approx([0.0, 0.1, 0.2, 0.3])
    # Above the Nishimori temperature α̃_c = 2πT + π/2 − 1.
    exact = 2 * np.pi * diagram["temperature"].values[1:] + np.pi / 2 - 1
    assert diagram["coexists"].values[1:] == pytest.approx(exact, rel=1e-12)
    printed = strict_json.check(run(*arguments, "--json").output)
    assert printed["coexists"][1] == diagram["coexists"].values[1]
    wide = run(*arguments[:-2], "--json")
    assert np.max(strict_json.check(wide.output)["load"]) > diagram["coexists"].values[-1]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--temperatures", "0.1:1:3", "--units", "inf", "--temperature", "0.1"], "--temperature"),
        (["--temperatures", "0.1:1:3", "--units", "inf", "--load", "2"], "--load"),
        (["--temperatures", "1:0.1:3", "--units", "inf"], "--temperatures"),
        (["--temperatures", "0.1:1:3", "--units", "3"], "--units inf"),
        (["--temperature", "cold", "--units", "inf"], "bayes"),
        (["--temperature", "0.1", "--units", "5"], "--units inf"),
        (["--label-noise", "0.1", "--units", "inf"], "high temperature"),
    ],
)
def test_temperatures_that_mean_nothing_are_refused(arguments, word):
    refused = run(*arguments)
    assert refused.exit_code != 0 and word in str(refused.exception)

"""Tables: what is saved as CSV comes back bit for bit, and others can read it."""

import csv

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import tutelage as tl
from tutelage import results
from tutelage._checks import InputError
from tutelage.runs.coordinates import indexed

TIMES = [0.0, 0.1, 1 / 3]
RUNS = xr.Dataset(
    {
        "R": (("run", "time", "student"), np.arange(12.0).reshape(2, 3, 2) / 7),
        "generalization_error": (("run", "time"), [[0.5, 1e-300, np.nan], [np.inf, -0.0, 2.0]]),
        "outcome": ("run", ["reached", "diverged"]),
    },
    {"time": ("time", TIMES, {"symbol": "α"}), "learning_rate": ("run", [0.25, 0.5])},
    {
        "seed": 2**40,
        "outcome": "1",
        "scenario": '{"units": [1, 2]}',
        "fresh": "true",
        "words": '"1"',
    },
)
ODD = {
    "nothing": xr.Dataset(),
    "one number": xr.Dataset({"x": 5.0}),
    "no entries": xr.Dataset({"x": ("i", [])}, {"j": [1, 2]}),
    "one time": RUNS.isel(time=1),
    "text": xr.Dataset({"x": (("i", "j"), [["a,b", 'say "b"'], ["# two\nlines", ""]])}),
    "single precision": xr.Dataset({"x": ("i", np.float32([0.1, np.nan, 1e-45]))}),
    "truth": xr.Dataset({"x": ("i", [True, False])}, {"j": ("i", np.array(["a", "bc"], object))}),
    "a coordinate of two indices": xr.Dataset(
        {"x": (("i", "j"), [[1, 2, 3], [4, 5, 6]])}, {"y": (("j", "i"), [[1, 2], [3, 4], [5, 6]])}
    ),
    "attributes of many lines": xr.Dataset(attrs={"a": "x\ny", "b": "[1,\n2]", "c": np.inf}),
    "an array of an attribute": xr.Dataset(attrs={"a": np.array([0.5, 1.0])}),
}


def saved(dataset, path):
    results.save(dataset, path)
    return results.load(path)


@pytest.mark.parametrize("dataset", [RUNS, *ODD.values()], ids=["runs", *ODD])
def test_a_table_is_read_back_bit_for_bit(tmp_path, dataset):
    second = saved(dataset, tmp_path / "run.csv")
    xr.testing.assert_identical(second, indexed(dataset))
    for name, variable in dataset.variables.items():
        if variable.dtype != object:
            assert second[name].dtype == variable.dtype
            number = variable.dtype.kind == "f"
            here = ~np.isnan(variable.values) if number else np.full(variable.shape, True)
            assert second[name].values[here].tobytes() == variable.values[here].tobytes()


def test_a_result_is_computed_again_from_its_table(tmp_path):
    one = tl.Committee(1, tl.Erf())
    start = tl.Overlaps(Q=[[0.25]], R=[[0.1]], T=[[1.0]])
    run = tl.online.evolve(tl.Scenario(one, one), start, [0.5, 0.3], until=2.0)
    second = saved(run, tmp_path / "run.csv")
    xr.testing.assert_identical(results.recompute(second), run)


def test_pandas_reads_a_column_for_each_index_and_variable(tmp_path):
    results.save(RUNS, tmp_path / "run.csv")
    table = pd.read_csv(tmp_path / "run.csv", comment="#")
    indices = ["run", "time", "student", "learning_rate"]
    assert list(table) == [*indices, "R", "generalization_error", "outcome"]
    curve = table[(table.learning_rate == 0.5) & (table.student == 1)]
    np.testing.assert_allclose(curve.time, TIMES)
    np.testing.assert_allclose(curve.R, RUNS.R.sel(run=1, student=1))
    assert table.outcome.dropna().tolist() == ["reached", "diverged"]
    assert table.generalization_error.dtype == float


def test_the_table_itself_has_one_heading_and_equally_long_rows(tmp_path):
    results.save(RUNS, tmp_path / "run.csv")
    lines = (tmp_path / "run.csv").read_text(encoding="utf-8").splitlines()
    assert '# attribute scenario: {"units": [1, 2]}' in lines
    rows = list(csv.reader(line for line in lines if not line.startswith("# ")))
    # 2 outcomes, 2 x 3 errors, 2 x 3 x 2 overlaps, below the names of the columns.
    assert len(rows) == 1 + 2 + 6 + 12 and {len(row) for row in rows} == {7}


def test_other_ends_of_lines_are_no_damage(tmp_path):
    path = tmp_path / "run.csv"
    results.save(RUNS, path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    xr.testing.assert_identical(results.load(path), indexed(RUNS))


def test_a_table_that_a_spreadsheet_has_rounded_is_refused(tmp_path):
    path = tmp_path / "run.csv"
    results.save(RUNS, path)
    text = path.read_text(encoding="utf-8")
    assert "0.3333333333333333" in text
    path.write_text(text.replace("0.3333333333333333", "0.333333333333333"), encoding="utf-8")
    with pytest.raises(InputError, match=r"or edited.*pandas read it"):
        results.load(path)


def test_an_index_of_several_levels_is_refused(tmp_path):
    stacked = xr.Dataset({"x": (("i", "j"), [[1, 2]])}, {"i": [1], "j": [1, 2]}).stack(
        ij=("i", "j")
    )
    for ending in results.ENDINGS:
        with pytest.raises(InputError, match="dataset: got"):
            results.save(stacked, tmp_path / f"run{ending}")


@pytest.mark.parametrize("name", [3, "a: b", "a\nb"])
def test_names_that_no_line_holds_are_refused(tmp_path, name):
    with pytest.raises(InputError, match="dataset: got the name"):
        results.save(xr.Dataset({name: 1.0}), tmp_path / "run.csv")

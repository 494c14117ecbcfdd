"""Results: what is saved comes back, and can be computed again from the file alone."""

import numpy as np
import pytest
import xarray as xr

import tutelage as tl
from tutelage import results
from tutelage._checks import InputError
from tutelage.runs import provenance
from tutelage.runs.recompute import argument

ONE = tl.Committee(1, tl.Erf())
START = tl.Overlaps(Q=[[0.25]], R=[[0.1]], T=[[1.0]])


def run(learning_rate=0.5, until=10.0, student=ONE, **options):
    scenario = tl.Scenario(student, ONE, output_scale=(0.9, 1.1), weight_decay=0.01)
    return tl.online.evolve(scenario, START, learning_rate, until=until, **options)


def test_a_saved_result_comes_back_with_all_its_attributes(tmp_path):
    saved = run()
    results.save(saved, tmp_path / "run.nc")
    loaded = results.load(tmp_path / "run.nc")
    xr.testing.assert_identical(loaded, saved)
    assert loaded.attrs["learning_rate"] == 0.5 and loaded.attrs["outcome"] == "reached"


@pytest.mark.parametrize("rates", [0.5, 0, [0.25, 0.5]], ids=["one rate", "limit", "several"])
def test_a_file_is_enough_to_compute_its_result_again(tmp_path, rates):
    saved = run(rates)
    results.save(saved, tmp_path / "run.nc")
    recomputed = results.recompute(results.load(tmp_path / "run.nc"))
    for name in ("Q", "R", "generalization_error"):
        # The same compiled code on the same numbers: equal to the last bit.
        np.testing.assert_array_equal(recomputed[name], saved[name])


def test_a_run_that_ended_by_itself_does_so_again(tmp_path):
    # K = M = 1 without decay: the error vanishes exponentially.
    saved = tl.online.evolve(tl.Scenario(ONE, ONE), START, learning_rate=1.0, until=1000.0)
    assert saved.attrs["outcome"] == "converged"
    recomputed = results.recompute(saved)
    assert recomputed.attrs["outcome"] == "converged"
    np.testing.assert_array_equal(recomputed["time"], saved["time"])


@pytest.mark.slow
def test_the_method_of_the_averages_is_remembered():
    method = tl.averages.Hermite(order=6)
    saved = run(method=method, times=[1.0, 2.0], until=2.0)
    recomputed = results.recompute(saved)
    assert recomputed.attrs["method"] == saved.attrs["method"]
    np.testing.assert_array_equal(recomputed["R"], saved["R"])


UNITS = [tl.ReLU(), tl.LeakyReLU(0.1), tl.Linear(), tl.Erf(), tl.Erf(1.0), tl.Sigmoid(2.0)]
UNITS += [tl.Tanh(), tl.Swish(), tl.Swish(0.5), tl.GELU(), tl.Softplus()]


@pytest.mark.parametrize("unit", UNITS, ids=lambda g: g.name)
def test_every_activation_comes_back(unit):
    scenario = tl.Scenario(tl.Committee(1, unit), tl.Committee(1, unit))
    saved = xr.Dataset(attrs={**run().attrs, "scenario": provenance.attribute(scenario)})
    assert argument(saved, "scenario").student.activation == unit


def test_values_that_a_file_cannot_hold_are_named():
    with pytest.raises(InputError, match=r"learning_rate: got the function"):
        results.recompute(run(lambda t: 0.5 + 0.0 * t))


def test_missing_attributes_are_named():
    attrs = {name: value for name, value in run().attrs.items() if name != "scenario"}
    with pytest.raises(InputError, match="no attribute 'scenario'"):
        results.recompute(xr.Dataset(attrs=attrs))


def simulated(simulator, seed=7, **options):
    scenario = tl.Scenario(ONE, ONE, label_noise=0.1, weight_decay=0.01)
    simulate = getattr(tl.simulation, simulator)
    return simulate(scenario, START, 0.5, dimension=30, until=2.01, runs=3, seed=seed, **options)


@pytest.mark.parametrize(
    ("simulator", "options"),
    [
        ("chain", {}),
        ("chain", {"times": [0.5, 1.7]}),
        pytest.param("network", {"inputs": "uniform"}, marks=pytest.mark.slow),
        pytest.param("network", {"corrected_start": True}, marks=pytest.mark.slow),
    ],
)
def test_a_file_is_enough_to_simulate_again(tmp_path, simulator, options):
    saved = simulated(simulator, **options)
    results.save(saved, tmp_path / "runs.nc")
    recomputed = results.recompute(results.load(tmp_path / "runs.nc"))
    for name in ("time", "Q", "R", "generalization_error"):
        np.testing.assert_array_equal(recomputed[name], saved[name])
    assert recomputed.attrs == saved.attrs


@pytest.mark.parametrize("seed", [2**31, 2**63 - 1])
def test_a_seed_of_more_than_32_bits_is_stored(tmp_path, seed):
    saved = simulated("chain", seed=seed)
    results.save(saved, tmp_path / "runs.nc")
    assert saved.attrs["seed"] == seed  # what the caller has is left alone
    recomputed = results.recompute(results.load(tmp_path / "runs.nc"))
    assert recomputed.attrs["seed"] == seed
    np.testing.assert_array_equal(recomputed["R"], saved["R"])


@pytest.mark.parametrize(
    "value", [2**31 - 1, -(2**31), 2**31, -(2**31) - 1, np.int64(2**40), 2**70]
)
def test_whole_numbers_are_saved_as_numbers_if_they_fit_else_as_text(tmp_path, value):
    results.save(xr.Dataset(attrs={"number": value}), tmp_path / "number.nc")
    received = results.load(tmp_path / "number.nc").attrs["number"]
    assert int(received) == value
    fits = np.iinfo(np.int32).min <= value <= np.iinfo(np.int32).max
    assert isinstance(received, np.integer if fits else str)


@pytest.mark.slow
def test_inputs_of_the_user_are_not_stored(tmp_path):
    saved = simulated("network", inputs=np.random.default_rng(0).normal(size=(400, 30)))
    results.save(saved, tmp_path / "runs.nc")
    with pytest.raises(InputError, match=r"inputs: got an array of shape \(400, 30\)"):
        results.recompute(results.load(tmp_path / "runs.nc"))


@pytest.mark.parametrize("function", ["aligned", "summary", "escape_times"])
def test_statistics_of_runs_are_computed_again_with_their_runs(tmp_path, function):
    options = {"height": 0.1} if function == "escape_times" else {}
    saved = getattr(tl.simulation, function)(simulated("chain"), **options)
    results.save(saved, tmp_path / "runs.nc")
    xr.testing.assert_identical(results.recompute(results.load(tmp_path / "runs.nc")), saved)


@pytest.mark.parametrize("name", ["simulation.random_start"])
def test_what_cannot_be_computed_again_is_named(name):
    with pytest.raises(InputError, match=f"dataset: got a result of {name}"):
        results.recompute(xr.Dataset(attrs={"computed_by": name}))


@pytest.mark.parametrize("path", ["run.txt", "nowhere/run.nc", None, 3, b"run.nc", "", "a\0.nc"])
def test_a_path_that_cannot_be_written_is_refused(path):
    with pytest.raises(InputError, match=r"path: got"):
        results.save(xr.Dataset(), path)


@pytest.mark.parametrize("dataset", ["x", None, xr.DataArray([1.0])], ids=["text", "none", "array"])
def test_only_a_dataset_is_saved(tmp_path, dataset):
    with pytest.raises(InputError, match=r"dataset: got .* it has to be a Dataset"):
        results.save(dataset, tmp_path / "run.nc")


@pytest.mark.parametrize("path", [None, 3, "", "run.txt", 300 * "a" + ".nc", "a\0.nc", "."])
def test_only_a_file_is_loaded(path):
    with pytest.raises(InputError, match=r"path: got"):
        results.load(path)


@pytest.mark.parametrize("ending", results.ENDINGS)
@pytest.mark.parametrize("entries", [[1j], [2**40], [{}]], ids=["complex", "large", "objects"])
def test_attributes_missing_in_a_file_are_named_and_the_file_stays(tmp_path, ending, entries):
    path = tmp_path / f"run{ending}"
    results.save(xr.Dataset(attrs={"number": 1}), path)
    if ending == ".csv" and entries == [2**40]:  # a table has no largest number
        results.save(xr.Dataset({"x": ("i", entries)}), path)
        assert results.load(path)["x"].item() == 2**40
        return
    with pytest.raises(InputError, match="dataset: got"):
        results.save(xr.Dataset({"x": ("i", entries)}), path)
    assert results.load(path).attrs["number"] == 1


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"path: got .*there is no such file"):
        results.load(tmp_path / "nothing.nc")


@pytest.mark.parametrize("name", ["dimensions", "variables", "mode"])
def test_an_attribute_that_would_destroy_the_file_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=f"dataset: got an attribute '{name}'"):
        results.save(xr.Dataset(attrs={name: 1}), tmp_path / "run.nc")


@pytest.mark.parametrize("names", [("a",), ("a", "b")])
def test_a_file_of_another_program_may_have_an_axis_that_grows(names, tmp_path):
    """Records of one variable are stored without padding: three bytes of int8 in each."""
    values = np.arange(15, dtype=np.int8).reshape(5, 3)
    grown = xr.Dataset({name: (("time", "place"), values) for name in names})
    grown.to_netcdf(tmp_path / "grown.nc", engine="scipy", unlimited_dims=["time"])
    loaded = tl.results.load(tmp_path / "grown.nc")
    for name in names:
        np.testing.assert_array_equal(loaded[name].values, values)

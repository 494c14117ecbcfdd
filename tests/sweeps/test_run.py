"""A sweep is the loop that a user would write, with all results in one Dataset."""

import contextlib
import inspect
import math
import subprocess
import sys
from typing import get_type_hints

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from good_calls import public
from studies import FIXED, GRID, ONE, SCENARIO, START, error_at, study

import tutelage as tl
from tutelage._checks import InputError
from tutelage.runs import progress
from tutelage.sweeps import combine, compute, groups
from tutelage.sweeps.study import _check_result

TWO = tl.Committee(2, tl.ReLU())
TWO_START = tl.Overlaps(Q=[[0.2, 0], [0, 0.3]], R=[[1e-3, 0], [0, 1e-3]], T=np.eye(2))


@pytest.fixture(scope="module")
def found():
    return study()


def test_swept_arguments_are_dimensions_and_every_point_is_what_a_loop_gives(found):
    assert found.generalization_error.dims == ("learning_rate", "weight_decay", "time")
    assert found.Q.dims == ("learning_rate", "weight_decay", "time", "student", "student_2")
    for rate in GRID["learning_rate"]:
        for decay in GRID["weight_decay"]:
            point = found.sel(learning_rate=rate, weight_decay=decay)
            assert np.array_equal(point.generalization_error, error_at(rate, decay))  # bit for bit
            alone = tl.online.evolve(
                **{**FIXED, "scenario": tl.Scenario(ONE, ONE, weight_decay=decay)},
                learning_rate=rate,
            )
            # A program for one run may round otherwise: to the tolerance of the integration.
            np.testing.assert_allclose(point.Q, alone.Q, atol=1e-8)
            assert (point.outcome, point.failure) == (alone.attrs["outcome"], "")


def test_a_point_gives_the_same_bits_in_any_company(found):
    other = {"learning_rate": [0.7, 1.0, 0.9, 0.3, 0.2], "weight_decay": [0.01, 0.3, 0.0]}
    second = study(other)
    pair = {"learning_rate": [0.3, 1.0], "weight_decay": [0.0, 0.01]}
    part = found.sel(pair).drop_attrs()
    xr.testing.assert_identical(second.sel(pair).drop_attrs(), part)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("student", "teacher", "start"),
    [
        *((tl.Committee(2, g), TWO, TWO_START) for g in (tl.ReLU(), tl.LeakyReLU(0.2), tl.Erf())),
        (tl.Committee(1, tl.GELU()), tl.Committee(1, tl.GELU()), START),
    ],
)
def test_so_it_does_with_units_of_every_kind(student, teacher, start, monkeypatch):
    fixed = {"scenario": tl.Scenario(student, teacher), "start": start, "until": 20.0}
    over = {"learning_rate": [0.1, 0.4, 1.0], "label_noise": [0.0, 0.2]}
    every = study(over, **fixed)
    one = study({"learning_rate": [0.4], "label_noise": [0.2]}, **fixed)
    part = every.sel(learning_rate=[0.4], label_noise=[0.2]).drop_attrs()
    xr.testing.assert_identical(part, one.drop_attrs())
    monkeypatch.setattr(groups, "MAX_GROWTH", 1)
    backwards = {name: values[::-1] for name, values in over.items()}
    second = study(backwards, **fixed).sel(over)
    xr.testing.assert_identical(second.drop_attrs(), every.drop_attrs())


@pytest.mark.slow
def test_parameters_of_units_and_starts_are_points_of_one_call(monkeypatch):
    calls = []
    evolved = compute.evolved
    monkeypatch.setattr(
        compute, "evolved", lambda some, *rest: calls.append(len(some)) or evolved(some, *rest)
    )
    starts = [START, tl.Overlaps(Q=[[0.5]], R=[[0.0]], T=[[1.0]])]
    units = [tl.LeakyReLU(0.1), tl.LeakyReLU(0.3)]
    run = tl.sweeps.run(
        tl.online.evolve,
        {"activation": units, "start": starts},
        **{name: x for name, x in FIXED.items() if name != "start"},
        learning_rate=0.5,
        workers=1,
    )
    assert calls == [4]
    assert run.activation.values.tolist() == ["LeakyReLU(0.1)", "LeakyReLU(0.3)"]
    assert run.start.values.tolist() == [0, 1]
    assert run.Q.isel(activation=0, start=1, time=0).item() == 0.5
    unit = tl.Committee(1, units[1])
    alone = tl.online.evolve(
        **{**FIXED, "scenario": tl.Scenario(unit, unit), "start": starts[1]}, learning_rate=0.5
    )
    np.testing.assert_allclose(run.R.isel(activation=1, start=1), alone.R, atol=1e-8)


def test_readouts_are_swept_in_one_call(monkeypatch):
    calls = []
    evolved = compute.evolved
    monkeypatch.setattr(
        compute, "evolved", lambda some, *rest: calls.append(len(some)) or evolved(some, *rest)
    )
    result = study({"readout": [[0.5], [2.0]], "readout_decay": [0.0]}, learning_rate=0.5)
    assert calls == [2]
    for number, v in enumerate([0.5, 2.0]):
        unit = tl.Committee(1, tl.Erf(), readout=[v])
        alone = tl.online.evolve(
            **{**FIXED, "scenario": tl.Scenario(unit, unit)}, learning_rate=0.5
        )
        np.testing.assert_allclose(result.R[number, 0], alone.R, atol=1e-8)


def test_a_grid_a_table_and_zipped_lists_are_the_same_points(found):
    rows = [{"learning_rate": a, "weight_decay": b} for a, b in [(1.0, 0.01), (0.3, 0.0)]]
    for table in (pd.DataFrame(rows), tl.sweeps.zipped(pd.DataFrame(rows).to_dict("list"))):
        result = study(table)
        assert result.generalization_error.dims == ("point", "time")
        assert result.learning_rate.values.tolist() == [1.0, 0.3]
        for number, row in enumerate(rows):
            assert np.array_equal(result.R.isel(point=number), found.R.sel(row))


def test_results_of_several_sizes_have_what_they_lack_missing():
    starts = [tl.Overlaps(Q=0.2 * np.eye(K), R=np.zeros((K, 1)), T=np.eye(1)) for K in (1, 2)]
    run = tl.sweeps.run(
        tl.online.evolve,
        tl.sweeps.zipped({"student_units": [1, 2], "start": starts}),
        **{name: x for name, x in FIXED.items() if name != "start"},
        learning_rate=0.5,
        workers=1,
    )
    assert run.R.shape == (2, 3, 2, 1)
    assert np.isnan(run.R[0, :, 1]).all() and np.isfinite(run.R[1]).all()
    assert np.isfinite(run.R[0, :, 0]).all()


def test_no_argument_of_a_function_is_hidden_by_one_of_a_sweep():
    own = {*inspect.signature(tl.sweeps.run).parameters} - {"seed", "progress", "fixed"}
    for name, function in public().items():
        if inspect.isfunction(function):
            try:
                _check_result(name, get_type_hints(function).get("return"))
            except InputError:  # no function that can be swept
                continue
            # A part of channels, a number, is no `keep` of a sweep, which refuses it.
            known = {"keep"} if name == "deep.images.train_on_images" else set()
            assert own & {*inspect.signature(function).parameters} == known, name


@pytest.mark.parametrize(
    ("kind", "swept"),
    [
        *((kind, True) for kind in (xr.Dataset, float, np.ndarray, tl.averages.Estimate)),
        *((kind, True) for kind in (tl.online.FixedPoint, list[tl.online.FixedPoint])),
        *((kind, False) for kind in (list[float], str, None)),
        (tuple[tl.online.FixedPoint, ...], True),
        (list[tl.online.FixedPoint] | list[tl.online.Plateau], True),
        (list[tl.online.FixedPoint | tl.online.Plateau], True),
        (list[tl.online.FixedPoint] | str, False),
    ],
)
def test_a_function_is_swept_if_it_returns_numbers_or_findings(kind, swept):
    with contextlib.nullcontext() if swept else pytest.raises(InputError, match="has to compute"):
        _check_result("online.fixed_points", kind)


def test_workers_take_shapes_that_nobody_works_on_also_if_another_has_more_points():
    shapes = ["one"] * 4 + ["other"] * 20 + ["third"] * 4
    queue = groups.Queue(list(range(28)), shapes, least=2)
    queue.share(["a", "b", "c"])
    assert [queue.take(worker).shape for worker in "abc"] == ["one", "other", "third"]


def test_a_worker_does_not_compile_what_another_has_nearly_finished():
    queue = groups.Queue(list(range(40)), ["one"] * 20 + ["other"] * 20, least=2)
    queue.share(["a", "b"])
    pair = {worker: queue.take(worker) for worker in "ab"}
    assert [pair[worker].shape for worker in "ab"] == ["one", "other"]
    queue.took(pair["b"], 10.0)  # compiled: the next ones take a second for each point
    while (group := queue.take("b")) and group.shape == "other":
        queue.took(group, 1.0 * len(group.numbers))
    assert group.shape == "one"  # of which it is not known that it takes little
    queue.took(pair["a"], 30.0)
    queue.took(queue.take("a"), 2.0)
    left = len(queue)
    queue.share(["a", "c"])
    assert left == len(queue) < 20 and queue.take("c") is None
    queue.share(["c"])  # without the one who could have finished it
    assert queue.take("c").shape == "one"


def test_a_worker_loads_what_another_has_compiled_if_programs_are_stored():
    queue = groups.Queue(list(range(20)), ["one"] * 20, least=2, stored=True)
    queue.share(["a", "b"])
    queue.took(queue.take("a"), 30.0)  # compiled
    queue.took(queue.take("a"), 0.2)  # the rest takes 1.6 s
    assert queue.take("b").shape == "one"
    while len(queue) > 2:
        queue.took(queue.take("a"), 0.2)
    queue.share(["a", "c"])
    assert queue.take("c") is None  # the last two points take less time than the program


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_workers_finish_together(workers):
    """The dear points come first, and their workers are the last; groups take seconds."""
    each = {"dear": 0.02, "cheap": 0.002}
    shapes = ["dear"] * 1000 + ["cheap"] * 1000
    queue = groups.Queue(list(range(2000)), shapes, least=16, stored=True)
    names = [f"worker {number}" for number in range(workers)]
    queue.share(names)
    ends, count = dict.fromkeys(names, 0.0), 0
    while len(queue):
        worker = min(ends, key=ends.get)
        group = queue.take(worker)
        if group is None:
            ends[worker] += 0.01
            continue
        seconds = each[group.shape] * len(group.numbers)
        ends[worker] += seconds
        queue.took(group, seconds)
        count += 1
    least = 22.0 / workers
    assert max(ends.values()) < least + 16 * each["dear"] + groups.LAST_GROUP_SECONDS
    assert count < 20 * workers


def test_findings_have_their_errors_and_reasons():
    result = study({"activation": [tl.Erf(), tl.Linear()]}, tl.equilibrium.transitions, units=2)
    for number, unit in enumerate([tl.Erf(), tl.Linear()]):
        alone = tl.equilibrium.transitions(unit, 2)
        point = result.isel(activation=number)
        if alone.appears is None:
            assert math.isnan(point.appears) and point.appears_reason == alone.reasons["appears"]
        else:
            assert (float(point.appears), float(point.appears_error)) == alone.appears
            assert point.appears_reason == ""


@pytest.mark.slow
def test_optimal_schedules_are_swept_with_their_curves_and_certificates():
    """Curves of several lengths: every point is what one call gives."""
    linear = tl.Committee(1, tl.Linear())
    start = tl.Overlaps(Q=[[0.5]], R=[[0.2]], T=[[1.0]])
    fixed = {"start": start, "error": 0.05, "knots": 8}
    result = tl.sweeps.run(
        tl.online.best_control,
        over={"label_noise": [0.2, 0.5], "seed": [3]},
        scenario=tl.Scenario(linear, linear),
        workers=1,
        **fixed,
    )
    noisy = tl.Scenario(linear, linear, label_noise=0.5)
    alone = tl.online.best_control(noisy, seed=3, **fixed)
    point = result.sel(label_noise=0.5, seed=3)
    assert set(result.failure.values.ravel()) == {""}
    assert float(point.time) == alone.time.value and float(point.time_error) == alone.time.error
    assert np.array_equal(point.schedules_learning_rate, alone.schedule.values)
    assert np.array_equal(point.schedules_learning_rate_times, alone.schedule.times)
    count = alone.curve.sizes["time"]
    assert np.array_equal(point.curve_time[:count], alone.curve.time)
    assert np.array_equal(point.curve_hamiltonian[:count], alone.curve.hamiltonian)
    assert np.array_equal(
        point.certificate_hamiltonian_spread, alone.certificate.hamiltonian_spread
    )


def test_several_findings_are_along_a_dimension_of_their_own():
    loads = [5.0, 30.0]
    result = study({"load": loads}, tl.equilibrium.states, activation=tl.Erf(), units=2)
    for load in loads:
        states = tl.equilibrium.states(tl.Erf(), 2, load)
        energies = result.free_energy_per_unit.sel(load=load).dropna("number")
        assert energies.values.tolist() == [state.free_energy_per_unit for state in states]


def test_a_random_function_has_a_seed_for_each_point_whichever_others_there_are():
    fixed = {"scenario": SCENARIO, "start": START, "dimension": 20, "until": 1.0, "runs": 2}
    result = study({"learning_rate": [0.5, 0.6]}, tl.simulation.chain, **fixed)
    key = '{"learning_rate": 0.6}'
    alone = tl.simulation.chain(**fixed, learning_rate=0.6, seed=compute.seed_of(0, key))
    assert np.array_equal(result.Q.sel(learning_rate=0.6), alone.Q)
    part = study({"learning_rate": [0.6]}, tl.simulation.chain, **fixed)
    assert np.array_equal(part.Q[0], alone.Q)
    other = study({"learning_rate": [0.6]}, tl.simulation.chain, **fixed, seed=1)
    assert not np.array_equal(other.Q[0], alone.Q)
    named = study({"seed": [3]}, tl.simulation.chain, **fixed, learning_rate=0.6)
    assert np.array_equal(
        named.Q.sel(seed=3), tl.simulation.chain(**fixed, learning_rate=0.6, seed=3).Q
    )


def test_a_landscape_over_sizes_has_the_levels_of_each(tmp_path):
    """Two and three units have one and two levels, whose names have several lengths."""
    options = {"scenario": tl.Scenario(TWO, TWO), "starts": 1, "scale": 1.0, "workers": 1}
    options |= {"over": {"units": [2, 3]}, "store": tmp_path / "study"}
    whole = tl.sweeps.run(tl.online.landscape, **options)
    xr.testing.assert_equal(whole, tl.sweeps.run(tl.online.landscape, **options))
    assert whole.share.dims == ("units", "level")
    three = tl.Committee(3, tl.ReLU())
    seed = compute.seed_of(0, '{"units": 3}')
    alone = tl.online.landscape(tl.Scenario(three, three), starts=1, scale=1.0, seed=seed)
    point = whole.sel(units=3)
    assert np.array_equal(point.hessian_eigenvalue, alone.hessian_eigenvalue)
    assert point.family.values.tolist() == alone.family.values.tolist()
    assert set(whole.family.sel(units=2).values) == {"solution", ""}


@pytest.mark.slow
def test_a_landscape_over_sizes_and_scales_continues_from_its_store(tmp_path):
    """Levels of several numbers and names of several lengths, also when read from files."""
    options = {
        "over": {"units": [2, 3], "scale": [0.1, 1.0]},
        "scenario": tl.Scenario(TWO, TWO),
        "starts": 4,
        "store": tmp_path / "study",
        "workers": 1,
    }
    whole = tl.sweeps.run(tl.online.landscape, **options, progress=True)
    again = tl.sweeps.run(tl.online.landscape, **options)
    xr.testing.assert_equal(whole, again)
    assert whole.share.dims == ("units", "scale", "level")
    key = '{"scale": 0.1, "units": 3}'
    three = tl.Committee(3, tl.ReLU())
    alone = tl.online.landscape(
        tl.Scenario(three, three), starts=4, scale=0.1, seed=compute.seed_of(0, key)
    )
    point = again.sel(units=3, scale=0.1)
    assert np.array_equal(point.hessian_eigenvalue, alone.hessian_eigenvalue)
    assert point.family.values.tolist() == alone.family.values.tolist()
    assert float(point.unsettled) == alone.attrs["unsettled"]
    assert set(again.family.sel(units=2).values.ravel()) == {"solution", ""}


def test_last_is_the_end_of_each_run_and_says_how_it_ended():
    over = {"learning_rate": [0.5, 8.0]}
    unit = tl.Committee(1, tl.ReLU())
    fixed = {"scenario": tl.Scenario(unit, unit), "until": 40.0, "times": np.arange(41.0)}
    whole = study(over, **fixed)
    result = study(over, **fixed, keep=tl.sweeps.last(["generalization_error"]))
    assert set(result.data_vars) == {"generalization_error", "outcome", "ended_at", "failure"}
    assert result.outcome.values.tolist() == ["reached", "diverged"]
    for number in range(2):
        curve = whole.generalization_error[number].dropna("time")
        assert result.generalization_error[number] == curve[-1]
    assert set(study(over, **fixed, keep="R").data_vars) == {"R", "outcome", "ended_at", "failure"}


def test_a_point_that_fails_is_a_result_and_the_others_are_computed(found):
    over = {"learning_rate": [0.3, -1.0], "weight_decay": [0.0]}
    with pytest.warns(UserWarning, match=r"1 of 2 points failed.*learning_rate = -1\.0"):
        result = study(over)
    assert np.isnan(result.R.sel(learning_rate=-1.0)).all()
    assert "got -1.0, but it has to be at least 0" in str(
        result.failure.sel(learning_rate=-1.0).values
    )
    assert np.array_equal(result.R[0, 0], found.R[0, 0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"function": print}, "function: got"),
        ({"function": tl.figures.error}, "it has to compute a Dataset, a finding or a number"),
        ({"over": {"weight_decai": [0.1]}}, "Try: weight_decay"),
        ({"over": {"learning_rate": []}}, "at least one value"),
        ({"over": {"learning_rate": [0.5, 0.5]}}, "0.5 twice"),
        ({"over": {"until": [1.0]}}, "fixed or swept, not both"),
        ({"over": {"weight_decay": [0.1]}}, "learning_rate: got nothing"),
        ({"method": 3}, "method: got 3"),
        ({"keep": 3}, "keep: got 3"),
        ({"workers": 0}, "workers: got 0"),
        ({"workers": 1_000_000}, "workers: got 1000000, but each is a process"),
        ({"over": {"start": [1.0], "learning_rate": [1.0]}, "start": None}, "start: got"),
    ],
)
def test_what_cannot_be_swept_is_refused_before_any_work(options, words):
    with pytest.raises(InputError, match=words):
        study(**options)


def test_a_study_is_computed_again_from_its_attributes(found, tmp_path):
    tl.results.save(found, tmp_path / "study.nc")
    recomputed = tl.results.recompute(tl.results.load(tmp_path / "study.nc"))
    xr.testing.assert_identical(recomputed, found)


def test_what_is_told_while_it_runs_has_the_points_that_failed(monkeypatch):
    message = []
    with monkeypatch.context() as patched, pytest.warns(UserWarning, match="1 of 2 points failed"):
        patched.setattr(progress.Progress, "rename", lambda _, words: message.append(words))
        study({"learning_rate": [0.3, -1.0]}, progress=True)
    assert message == ["points, 1 failed"]
    with progress.Progress(False, 1000, "points") as bar:
        bar.rename("points, 3 failed")
        bar.show(500)
    assert bar.words(20.0).startswith("500 of 1000 points, 3 failed after 20 s")


@pytest.mark.parametrize(
    ("guess", "words"),
    [
        *((name, "workers=4, a number") for name in ("n_workers", "n_jobs", "processes")),
        *((name, 'workers="tcp://HOST:8786"') for name in ("client", "cluster", "scheduler")),
        ("address", "workers=client.scheduler.address"),
    ],
)
def test_other_names_for_workers_are_answered_with_workers(guess, words):
    with pytest.raises(InputError, match=f"^{guess}: .* given by workers=. Try: .*{words}"):
        study(**{guess: object()})


def test_a_client_is_answered_with_its_address():
    with pytest.raises(InputError, match=r"^workers: .*Try: .*workers=client\.scheduler\.address"):
        study(workers=object())


@pytest.mark.parametrize("name", ["over", "fixed"])
@pytest.mark.parametrize("text", [None, "", "[]", "3", "[" * 100_000])
def test_a_study_without_a_mapping_cannot_be_computed_again(found, name, text):
    damaged = found.copy()
    del damaged.attrs[name]
    damaged.attrs |= {} if text is None else {name: text}
    with pytest.raises(InputError, match=f"an attribute '{name}' that contains a JSON object"):
        tl.results.recompute(damaged)


def test_axes_of_arrays_in_findings_are_counted_from_1():
    one = tl.online.FixedPoint(
        overlaps=START,
        readout=np.ones((1, 1)),
        residual=0.0,
        eigenvalues=np.array([-1.0, -2.0]),
        eigenvectors=np.eye(2),
        labels=("R_11", "Q_11"),
        generalization_error=0.0,
    )
    table = combine.as_dataset(one)
    assert table.eigenvectors.dims == ("eigenvectors_1", "eigenvectors_2")
    assert table.eigenvalues.dims == ("eigenvalues_1",)


def test_a_number_is_a_part_of_the_scenario_and_a_schedule_an_argument():
    """`evolve` takes schedules of the weight decay under the name of the scenario's number."""
    constant = study({"learning_rate": [0.5], "weight_decay": [0.2]})
    schedule = study({"learning_rate": [0.5]}, weight_decay=lambda t: 0.2 + 0 * t)
    for name in ("R", "Q"):  # both to the tolerance of the integration
        exact, result = constant[name].squeeze(), schedule[name].squeeze()
        np.testing.assert_allclose(result, exact, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
def test_a_sweep_does_not_import_dask():
    """xarray imports it, 0.3 CPU s, for each variable that it inspects."""
    code = (
        "import sys, tutelage as tl\n"
        "over = {'tolerance': [0.1, 0.2]}\n"
        "tl.sweeps.run(tl.spectra.negative_fraction, over, eigenvalues=[-1.0, 2.0], workers=1)\n"
        "assert 'xarray' in sys.modules and 'dask' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

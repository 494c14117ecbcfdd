"""Statistics over runs: the numbers of NumPy, missing runs left out, units relabelled."""

import json

import numpy as np
import pytest
import xarray as xr

from tutelage._checks import ComputationError, InputError
from tutelage.simulation.alignment import aligned
from tutelage.simulation.statistics import components, summary


def ensemble(runs=7, times=5, K=2, M=3, T=None, seed=0):
    """Numbers in the form of a simulation, without any learning."""
    draw = np.random.default_rng(seed).normal
    Q = draw(size=(runs, times, K, K))
    return xr.Dataset(
        {
            "Q": (("run", "time", "student", "student_2"), Q + np.swapaxes(Q, 2, 3)),
            "R": (("run", "time", "student", "teacher"), draw(size=(runs, times, K, M))),
            "generalization_error": (("run", "time"), draw(size=(runs, times)) ** 2),
        },
        coords={"time": np.arange(times, dtype=float)},
        attrs={
            "scenario": json.dumps({"teacher_overlaps": np.eye(M).tolist() if T is None else T})
        },
    )


@pytest.mark.parametrize("name", ["Q", "R", "generalization_error"])
def test_statistics_are_those_of_numpy(name):
    runs = ensemble()
    result, x = summary(runs, quantiles=[0.1, 0.5]), runs[name].values
    for ending, expected in (
        ("", x.mean(axis=0)),
        ("_spread", x.std(axis=0, ddof=1)),
        ("_standard_error", x.std(axis=0, ddof=1) / np.sqrt(7)),
        ("_quantile", np.quantile(x, [0.1, 0.5], axis=0)),
    ):
        # Sums of seven numbers of order one.
        np.testing.assert_allclose(result[name + ending], expected, atol=1e-14)
    assert result[name].dims == runs[name].dims[1:]


def test_a_run_that_diverged_is_left_out_from_then_on_and_counted():
    runs = ensemble()
    later = runs.where((runs["run"] != 3) | (runs["time"] < 2))
    result, others = summary(later), summary(runs.isel(run=[0, 1, 2, 4, 5, 6]))
    assert result["present"].values.tolist() == [7, 7, 6, 6, 6]
    assert (result.attrs["run_count"], result.attrs["diverged"]) == (7, 1)
    for name in ("R", "R_spread", "R_standard_error", "R_quantile"):
        np.testing.assert_allclose(
            result[name].sel(time=slice(2, None)), others[name].sel(time=slice(2, None)), atol=1e-14
        )
    np.testing.assert_array_equal(result["R"][:2], summary(runs)["R"][:2])


def test_a_time_at_which_every_run_has_diverged_is_missing():
    result = summary(ensemble().where(lambda runs: runs["time"] < 3))
    for name in ("Q", "Q_spread", "Q_quantile", "generalization_error"):
        assert (
            np.isnan(result[name].isel(time=-1)).all()
            and np.isfinite(result[name].isel(time=0)).all()
        )
    assert result.attrs["diverged"] == 7


def test_one_run_has_a_mean_but_no_spread():
    result = summary(ensemble(runs=1))
    np.testing.assert_array_equal(result["R"], ensemble(runs=1)["R"][0])
    assert np.isnan(result["R_spread"]).all() and np.isnan(result["R_standard_error"]).all()


def test_components_are_every_overlap_once_and_the_error():
    runs = ensemble()
    names, x = components(runs)
    assert names == ["R_11", "R_12", "R_13", "R_21", "R_22", "R_23", "Q_11", "Q_12", "Q_22", "ε_g"]
    np.testing.assert_array_equal(x[..., 5], runs["R"][..., 1, 2])
    np.testing.assert_array_equal(x[..., 7], runs["Q"][..., 0, 1])
    np.testing.assert_array_equal(components(runs.isel(run=4))[1], x[4])


def relabelled(runs, students, teachers):
    """The same runs with other names of the units."""
    return runs.assign(
        Q=(runs["Q"].dims, runs["Q"].values[:, :, students][:, :, :, students]),
        R=(runs["R"].dims, runs["R"].values[:, :, students][:, :, :, teachers]),
    )


@pytest.mark.parametrize("teachers", [[0, 1, 2], [2, 0, 1]])
@pytest.mark.parametrize("students", [[0, 1], [1, 0]])
def test_relabelled_copies_of_one_run_become_that_run(students, teachers):
    run = ensemble(runs=1)
    copies = xr.concat([run, relabelled(run, students, teachers)], "run", combine_attrs="override")
    result = aligned(copies)
    for name in ("Q", "R"):
        np.testing.assert_array_equal(result[name][1], run[name][0])
    assert result["student_order"][1].values.tolist() == [students.index(i) + 1 for i in (0, 1)]
    back = [result["teacher_order"][1].values[n] - 1 for n in range(3)]
    assert [teachers[b] for b in back] == [0, 1, 2]


def test_different_teachers_are_not_relabelled():
    run = ensemble(runs=1, T=np.diag([1.0, 2.0, 3.0]).tolist())
    copies = xr.concat([run, relabelled(run, [1, 0], [2, 0, 1])], "run", combine_attrs="override")
    assert aligned(copies)["teacher_order"].values.tolist() == [[1, 2, 3]] * 2


def test_relabelling_changes_names_and_nothing_else():
    runs = ensemble()
    result = aligned(runs)
    for name in ("Q", "R"):
        before, after = (np.sort(x[name].values.reshape(7, 5, -1), axis=-1) for x in (runs, result))
        np.testing.assert_array_equal(before, after)
    assert result["generalization_error"].equals(runs["generalization_error"])


def test_runs_are_relabelled_towards_a_reference():
    run = ensemble(runs=1)
    other = relabelled(run, [1, 0], [1, 2, 0]).isel(run=0)
    np.testing.assert_array_equal(aligned(run, other)["R"][0], other["R"])


def test_students_with_different_starts_are_not_relabelled_where_teachers_are():
    """At the end both relabellings are possible; the start, Q_11 ≠ Q_22, decides."""
    run = ensemble(runs=1, K=2, M=2)
    run["Q"][0, 0] = np.diag([0.2, 0.3])
    run["R"][0, 0] = 0.0
    run["Q"][0, -1], run["R"][0, -1] = np.eye(2), np.eye(2)
    other = run.copy(deep=True)
    other["R"][0, -1] = np.eye(2)[::-1]
    result = aligned(xr.concat([run, other], "run", combine_attrs="override"))
    assert result["student_order"][1].values.tolist() == [1, 2]
    assert result["teacher_order"][1].values.tolist() == [2, 1]


def test_a_run_that_diverged_is_relabelled_by_its_last_state():
    runs = ensemble()
    gone = relabelled(runs, [1, 0], [0, 1, 2]).isel(run=[0]).where(runs["time"] < 3)
    pair = xr.concat(
        [runs.isel(run=[0]).where(runs["time"] < 3), gone], "run", combine_attrs="override"
    )
    result = aligned(pair)
    np.testing.assert_array_equal(result["R"][1], result["R"][0])


def test_what_cannot_be_relabelled_is_refused():
    with pytest.raises(ComputationError, match="9 students and 2 teachers"):
        aligned(ensemble(K=9, M=2))
    with pytest.raises(InputError, match="no attribute 'scenario'"):
        aligned(ensemble().drop_attrs())
    with pytest.raises(InputError, match="reference: got"):
        aligned(ensemble(), reference=ensemble())


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        (None, "runs: got None, but it has to be a Dataset"),
        (ensemble().isel(run=0), "runs: got no Q over run and time"),
        (ensemble().drop_vars("R"), "runs: got no R over run and time"),
    ],
)
def test_what_is_no_ensemble_is_refused(runs, message):
    for function in (summary, aligned):
        with pytest.raises(InputError, match=message):
            function(runs)


@pytest.mark.parametrize("quantiles", [[-0.1], [1.1], [np.nan], "many"])
def test_quantiles_lie_between_0_and_1(quantiles):
    with pytest.raises(InputError, match="quantiles: got"):
        summary(ensemble(), quantiles=quantiles)

"""Numbers that differ between runs: a batch equals its runs one by one, and finds them by value."""

import re

import jax
import numpy as np
import pytest

import tutelage as tl
from tutelage import InputError
from tutelage._jax import ONE_KERNEL
from tutelage.model.timing import Rate
from tutelage.online import integration
from tutelage.online.flow import LANES, SWEEP_LANES, Flow
from tutelage.online.trajectory import Run, _averages_error, evolve_each

STUDENT, TEACHER = tl.Committee(2, tl.ReLU()), tl.Committee(1, tl.ReLU())
START = tl.Overlaps(Q=[[0.2, 0.0], [0.0, 0.3]], R=[[0.01], [0.02]], T=[[1.0]])


def evolve(eta=0.5, units=None, **numbers):
    student, teacher = units or (STUDENT, TEACHER)
    scenario = tl.Scenario(student, teacher, **numbers)
    return tl.online.evolve(scenario, START, eta, until=5.0)


GELU = tl.Committee(2, tl.GELU()), tl.Committee(1, tl.GELU())


@pytest.mark.parametrize(
    ("units", "name", "values"),
    [
        (None, "weight_decay", [0.0, 0.1]),
        (None, "label_noise", [0.0, 0.5]),
        (None, "drift", [0.0, 0.1]),
        (None, "output_scale", [0.5, 1.0]),
        pytest.param(GELU, "label_noise", [0.0, 0.5], marks=pytest.mark.slow),
    ],
)
def test_a_batch_is_its_runs_one_by_one(units, name, values):
    """To the tolerance of the integration, whose steps are those of each run."""
    together = evolve(units=units, **{name: np.array(values)})
    for value in values:
        alone, result = evolve(units=units, **{name: value}), together.sel({name: value})
        assert np.allclose(alone.R, result.R, atol=1e-12)
        assert np.allclose(alone.generalization_error, result.generalization_error, atol=1e-12)


@pytest.mark.parametrize(
    ("student", "teacher", "rate"),
    [
        (STUDENT, TEACHER, 0.5),
        *(
            pytest.param(tl.Committee(K, g), tl.Committee(M, g), rate, marks=pytest.mark.slow)
            for g in (tl.Erf(), tl.Erf(0.1), tl.ReLU(), tl.LeakyReLU(0.2))
            for K, M in ((1, 1), (2, 2), (3, 2))
            for rate in (0.5, 0)
        ),
    ],
)
def test_a_run_has_the_same_bits_in_every_batch_and_position(student, teacher, rate):
    """Every operation is rounded separately (`tutelage._jax.ROUNDED_ALONE`), at all positions; runs
    of erf units are computed by the same code one after the other.
    """
    K, M = student.units, teacher.units
    draw = np.random.default_rng(0)
    R = draw.normal(size=(LANES, K, M)) * 0.1
    starts = R @ R.swapaxes(1, 2) + np.eye(K) * draw.uniform(0.1, 0.4, size=(LANES, 1, 1)), R
    decays = draw.choice([0.0, 1e-3, 0.1, 0.3], size=LANES)

    def runs(order):
        scenario = tl.Scenario(student, teacher, weight_decay=decays[order])
        start = tl.Overlaps(*(x[order] for x in starts), T=scenario.T)
        return tl.online.evolve(scenario, start, rate, until=30.0, times=[3.0, 30.0])

    every = runs(np.arange(LANES))
    orders = [np.roll(np.arange(LANES), shift) for shift in range(1, LANES)]
    orders += [draw.choice(LANES, size=size, replace=False) for size in (1, 2, 5, 15)]
    for order in orders:
        other = runs(order)
        for name in ("Q", "R", "generalization_error", "ended_at"):
            assert np.array_equal(every[name].values[order], other[name].values, equal_nan=True)


@pytest.mark.parametrize(
    ("g", "K", "M", "rate"),
    [
        (tl.ReLU(), 2, 2, 0.5),
        *(
            pytest.param(g, K, M, rate, marks=pytest.mark.slow)
            for g in (tl.Erf(), tl.LeakyReLU(0.2))
            for K, M in ((1, 1), (2, 2), (3, 2))
            for rate in (0.5, 0)
        ),
    ],
)
def test_a_run_of_a_sweep_has_the_same_bits_in_every_call_and_position(g, K, M, rate):
    """As in a batch, in a program of more runs."""
    draw = np.random.default_rng(0)
    R = draw.normal(size=(SWEEP_LANES, K, M)) * 0.1
    starts = R @ R.swapaxes(1, 2) + np.eye(K) * draw.uniform(0.1, 0.4, (SWEEP_LANES, 1, 1)), R
    decays = draw.choice([0.0, 1e-3, 0.1, 0.3], size=SWEEP_LANES)
    student, teacher = tl.Committee(K, g), tl.Committee(M, g)
    every = [
        Run(
            tl.Scenario(student, teacher, weight_decay=decay),
            tl.Overlaps(Q, R, T=np.eye(M)),
            rate * (1 + 0.1 * (n % 3)),
        )
        for n, (Q, R, decay) in enumerate(zip(*starts, decays, strict=True))
    ]
    whole = evolve_each(every, until=30.0, times=[3.0, 30.0])
    orders = [np.roll(np.arange(SWEEP_LANES), shift) for shift in range(1, SWEEP_LANES)]
    orders += [draw.choice(SWEEP_LANES, size=size, replace=False) for size in (1, 2, 5, 17, 31)]
    for order in orders:
        other = evolve_each([every[n] for n in order], until=30.0, times=[3.0, 30.0])
        for name in ("Q", "R", "generalization_error", "ended_at"):
            assert np.array_equal(whole[name].values[order], other[name].values, equal_nan=True)


@pytest.mark.parametrize(
    ("unit", "rate"), [(tl.Erf(0.1), 0.5), (tl.ReLU(), 0.5), (tl.LeakyReLU(0.2), 0)]
)
def test_a_kernel_of_several_runs_has_no_sum_whose_order_the_compiler_chooses(
    unit, rate, monkeypatch
):
    """The compiler may reorder reductions and products of matrices, differently for each run."""
    programs = []

    def traced(*arguments):
        leaves, structure = jax.tree.flatten(arguments)
        places = [k for k, x in enumerate(leaves) if isinstance(x, np.ndarray)]

        def program(*arrays):
            values = dict(enumerate(leaves)) | dict(zip(places, arrays, strict=True))
            kernel = integration._compiled_lanes_one_kernel
            return kernel(*structure.unflatten(list(values.values())))

        arrays = [leaves[k] for k in places]
        programs.append(jax.jit(program, keep_unused=True).lower(*arrays).as_text())
        raise InterruptedError

    monkeypatch.setattr(integration, "_advance", lambda *_: traced)
    with pytest.raises(InterruptedError):
        evolve(rate, committees(unit, unit), weight_decay=np.array([0.0, 0.1]))
    (program,) = programs
    reductions = re.findall(r"applies stablehlo\.(\w+)", program)
    assert set(reductions) == {"maximum", "or"}  # which have no order
    assert "dot_general" not in program


@pytest.mark.parametrize(
    ("unit", "K", "serial"),
    [(tl.Erf(), 2, True), (tl.ReLU(), 2, False), (tl.ReLU(), 4, True), (tl.ReLU(), 8, False)],
)
def test_runs_with_long_loops_in_one_kernel_are_computed_one_after_the_other(unit, K, serial):
    committee = tl.Committee(K, unit)
    flow = Flow(tl.Scenario(committee, committee))
    is_serial = integration._advance(flow, 3, Rate(0.5)) is integration._compiled_serially
    assert is_serial == (serial and bool(ONE_KERNEL))


@pytest.mark.parametrize(("K", "M", "large"), [(6, 6, False), (8, 8, True), (12, 4, False)])
def test_a_single_run_of_up_to_sixteen_fields_is_one_large_kernel(K, M, large):
    flow = Flow(tl.Scenario(tl.Committee(K, tl.ReLU()), tl.Committee(M, tl.ReLU())))
    for runs, rate in ((1, Rate(0.5)), (2, Rate(0.5))):
        chosen = integration._advance(flow, runs, rate) is integration._compiled_large_kernel
        assert chosen == (large and runs == 1)


@pytest.mark.slow
def test_more_runs_side_by_side_are_what_they_are_one_after_the_other():
    """To rounding; these are more than one program of `LANES` runs takes."""
    units, decays = committees(tl.Erf(), tl.Erf()), np.linspace(0.0, 0.4, LANES + 1)
    many, few = (evolve(units=units, weight_decay=d) for d in (decays, decays[3:6]))
    for run in range(3):
        for name in ("Q", "R", "generalization_error"):
            one, other = many[name].isel(run=3 + run), few[name].isel(run=run)
            assert np.allclose(one, other, rtol=0, atol=1e-12)
    assert not np.allclose(many.R.isel(run=3), few.R.isel(run=1), atol=1e-3)


@pytest.mark.parametrize(
    "name", ["weight_decay", pytest.param("learning_rate", marks=pytest.mark.slow)]
)
def test_many_runs_are_integrated_in_blocks(name, monkeypatch):
    """To rounding; blocks of 18 runs, and the last of 17."""
    runs = 3 * (LANES + 2) - 1
    units, values = committees(tl.Erf(), tl.Erf()), np.linspace(0.1, 0.4, runs)

    def evolved():
        if name == "learning_rate":
            return evolve(values, units)
        return evolve(units=units, **{name: values})

    whole = evolved()
    if name == "weight_decay":  # and one of them alone, which is computed by another program
        alone, one = evolve(units=units, weight_decay=values[30]), whole.isel(run=30)
        for variable in ("Q", "R", "generalization_error"):
            assert np.allclose(one[variable], alone[variable], rtol=0, atol=1e-12)
    monkeypatch.setattr(integration, "MAX_RUNS_OF_A_BLOCK", LANES + 2)
    blocks = evolved()
    assert whole.drop_vars(["Q", "R", "generalization_error"]).identical(
        blocks.drop_vars(["Q", "R", "generalization_error"])
    )
    for variable in ("Q", "R", "generalization_error"):
        assert np.allclose(whole[variable], blocks[variable], rtol=0, atol=1e-12)
    assert np.ptp(blocks.R.values[:, -1]) > 1e-3


def committees(*activations):
    return [tl.Committee(n, g) for n, g in zip((2, 1), activations, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "of_teacher", "values", "found_by"),
    [
        (tl.LeakyReLU, 0.0, [0.1, 0.5], "slope"),
        pytest.param(tl.Erf, 0.1, [0.0, 0.1, 0.5], "offset", marks=pytest.mark.slow),  # odd in one
        pytest.param(tl.Swish, 0.1, [0.1, 0.5], "beta", marks=pytest.mark.slow),  # alike in one
    ],
)
def test_units_that_differ_between_runs_are_found_by_them(kind, of_teacher, values, found_by):
    together = evolve(units=committees(kind(values), kind(of_teacher)))
    for value in values:
        alone = evolve(units=committees(kind(value), kind(of_teacher)))
        result = together.sel({found_by: value})
        assert np.allclose(alone.R, result.R, atol=1e-12)
        assert np.allclose(alone.generalization_error, result.generalization_error, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "name"),
    [(tl.Erf, "offset"), pytest.param(tl.LeakyReLU, "slope", marks=pytest.mark.slow)],
)
def test_units_of_teachers_and_those_that_are_the_same(kind, name):
    several = kind([0.1, 0.5])
    teachers = evolve(units=committees(kind(0.2), several))
    assert teachers[f"teacher_{name}"].values.tolist() == [0.1, 0.5]
    assert name not in teachers.coords
    same = evolve(units=committees(several, several))
    assert same[name].values.tolist() == [0.1, 0.5] and f"teacher_{name}" not in same.coords
    recomputed = tl.results.recompute(same)
    assert recomputed.identical(same)


@pytest.mark.parametrize("ending", ["nc", "csv"])
def test_teachers_that_differ_between_runs(tmp_path, ending):
    T = np.array([[[1.0]], [[2.0]]])
    scenario = tl.Scenario(STUDENT, TEACHER, T)
    start = tl.Overlaps(Q=START.Q, R=START.R, T=scenario.T)
    runs = tl.online.evolve(scenario, start, 0.5, until=5.0)
    for run, each in enumerate(scenario.split_runs()):
        begin = tl.Overlaps(Q=START.Q, R=START.R, T=each.T)
        alone = tl.online.evolve(each, begin, 0.5, until=5.0)
        assert np.allclose(alone.R, runs.R[run], atol=1e-12)
    assert np.array_equal(runs.teacher_overlaps, T)
    tl.results.save(runs, tmp_path / f"runs.{ending}")
    assert tl.results.load(tmp_path / f"runs.{ending}").identical(runs)
    with pytest.raises(InputError, match="another T than the scenario's"):
        tl.online.evolve(scenario, START, 0.5, until=5.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda g: g(0.5),
        lambda g: g.derivative(0.5),
        lambda g: g.hermite(3),
        lambda g: tl.averages.i2(g, np.eye(2)),
        lambda g: tl.averages.i2([g, tl.ReLU()], np.eye(2)),
        lambda g: tl.equilibrium.transitions(g, 3),
        lambda g: tl.equilibrium.kernel_of(g),
        lambda g: tl.spectra.Classifier((2, 3, 1), g),
    ],
)
def test_several_units_are_refused_where_there_has_to_be_one(function):
    with pytest.raises(InputError, match="2 values of slope, but there has to be a single value"):
        function(tl.LeakyReLU([0.1, 0.2]))


def test_several_units_are_refused_in_a_scenario_for_one():
    scenario = tl.Scenario(*committees(tl.LeakyReLU([0.1, 0.2]), tl.ReLU()))
    with pytest.raises(InputError, match=r"scenario\.split_runs"):
        tl.online.Flow(scenario)
    for function in (tl.online.fixed_point, tl.online.plateau):
        with pytest.raises(InputError, match=r"scenario\.split_runs"):
            function(scenario, START, 0.5)
    with pytest.raises(InputError, match=r"scenario\.split_runs"):
        tl.generalization_error(scenario, START)
    with pytest.raises(InputError, match=r"scenario\.split_runs"):
        tl.simulation.chain(scenario, START, 0.5, dimension=50, until=1.0)
    with pytest.raises(InputError, match="at least 0"):
        tl.LeakyReLU([0.1, -0.2])


class Rough(Flow):
    """Averages whose error is the norm of the first student."""

    exact = False
    method = moments = property(lambda self: self)

    def error(self, state):
        return float(state.Q[0, 0])


def test_the_error_of_averages_is_that_of_the_worst_run():
    starts = tl.Overlaps(Q=[[[0.2]], [[4.0]], [[1.0]]], R=[[0.1]], T=[[1.0]])
    begin = jax.tree.map(lambda x: np.broadcast_to(x, (3, 1, 1)), starts)
    assert _averages_error([object.__new__(Rough)], begin) == 4.0
    assert _averages_error([object.__new__(Rough)] * 3, begin) == 4.0


def test_runs_are_found_by_their_learning_rate_before_and_after_saving(tmp_path):
    rates = evolve(eta=np.array([0.3, 0.5, 1.0]))
    alone = evolve(eta=0.5)
    tl.results.save(rates, tmp_path / "rates.nc")
    for runs in (rates, tl.results.load(tmp_path / "rates.nc")):
        assert np.allclose(runs.sel(learning_rate=0.5).Q, alone.Q, atol=1e-12)  # rounding


def test_two_numbers_at_once_and_lengths_that_differ():
    run = evolve(eta=np.array([0.3, 0.5]), weight_decay=np.array([0.0, 0.1]))
    assert run.sel(weight_decay=0.1).learning_rate == 0.5
    with pytest.raises(InputError, match="one axis of runs"):
        evolve(eta=np.array([0.3, 0.5, 0.7]), weight_decay=np.array([0.0, 0.1]))
    with pytest.raises(InputError, match="the same length"):
        evolve(label_noise=np.ones(3), weight_decay=np.ones(2))
    with pytest.raises(InputError, match="at least 0"):
        evolve(weight_decay=np.array([0.0, -0.1]))


def test_a_grid_of_two_numbers_is_found_by_either_and_unfolds(tmp_path):
    eta, gamma = (x.ravel() for x in np.meshgrid([0.3, 0.5], [0.0, 0.1, 0.2]))
    runs = evolve(eta=eta, weight_decay=gamma)
    tl.results.save(runs, tmp_path / "grid.nc")
    for grid in (runs, tl.results.load(tmp_path / "grid.nc")):
        assert grid.sel(learning_rate=0.5).weight_decay.values.tolist() == [0.0, 0.1, 0.2]
        one = grid.sel(learning_rate=0.5).sel(weight_decay=0.1).generalization_error
        error = grid.set_index(run=["learning_rate", "weight_decay"]).unstack("run")
        error = error.generalization_error.sel(learning_rate=0.5, weight_decay=0.1)
        assert np.array_equal(one, error) and one.dims == ("time",)


def test_functions_of_one_scenario_refuse_several():
    several = tl.Scenario(STUDENT, TEACHER, weight_decay=np.array([0.0, 0.1]))
    with pytest.raises(InputError, match=r"scenario\.split_runs"):
        tl.online.fixed_point(several, START, 0.5)
    assert [s.weight_decay for s in several.split_runs()] == [0.0, 0.1]


def test_a_batch_of_numbers_is_computed_again():
    runs = evolve(weight_decay=np.array([0.0, 0.1]))
    assert np.array_equal(tl.results.recompute(runs).Q, runs.Q)

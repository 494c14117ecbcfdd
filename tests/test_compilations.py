"""Numbers are data, shapes are compiled: another value needs no other program."""

import jax
import numpy as np
import pytest

import tutelage as tl
from tutelage.online.integration import UNOPTIMIZED_CALLS

COMPILED = "/jax/core/compile/backend_compile_duration"
compilations = [0]


def _count(event, duration, **_):
    compilations[0] += event == COMPILED


jax.monitoring.register_event_duration_secs_listener(_count)


def compiled(function):
    """How many programs a call compiles."""
    before = compilations[0]
    function()
    return compilations[0] - before


def scenario(g, h, decay=0.0, noise=0.0, scale=1.0, T=1.0):
    student, teacher = tl.Committee(2, g), tl.Committee(1, h)
    return tl.Scenario(
        student, teacher, [[T]], weight_decay=decay, label_noise=noise, output_scale=scale
    )


def start(T=1.0, q=0.2):
    return tl.Overlaps(Q=[[q, 0.0], [0.0, 0.3]], R=[[0.01], [0.02]], T=[[T]])


def evolve(g, h, eta=0.5, until=1.0, tolerance=1e-8, **numbers):
    s, begin = scenario(g, h, **numbers), start(numbers.get("T", 1.0))
    return tl.online.evolve(s, begin, eta, until=until, tolerance=tolerance)


OTHER = {"decay": 0.02, "noise": 0.3, "scale": (0.7, 1.2), "T": 2.0}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((tl.LeakyReLU(0.1), tl.ReLU()), (tl.LeakyReLU(0.3), tl.ReLU())),
        ((tl.Erf(), tl.Erf()), (tl.Erf(), tl.Erf())),
        pytest.param(  # soft enough for one rule; a finer one is compiled where it is first needed
            (tl.Swish(0.5), tl.Swish(0.7)),
            (tl.Swish(0.6), tl.Swish(0.8)),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_another_number_needs_no_other_program(first, second):
    for _ in range(UNOPTIMIZED_CALLS + 1):  # the last one compiles with optimization
        evolve(*first)
    assert compilations[0] > 0
    assert compiled(lambda: evolve(*second)) == 0
    for name, value in OTHER.items():
        assert compiled(lambda name=name, value=value: evolve(*second, **{name: value})) == 0
    assert compiled(lambda: evolve(*second, eta=0.7, until=2.0, tolerance=1e-9)) == 0


def test_a_run_that_ends_earlier_needs_no_other_program():
    evolve(tl.Erf(), tl.Erf(), eta=0.5, until=2.0)
    ended = []
    assert compiled(lambda: ended.append(evolve(tl.Erf(), tl.Erf(), eta=1e3, until=2e3))) == 0
    assert ended[0].attrs["outcome"] == "diverged" and 1 < ended[0].sizes["time"] < 401


def test_another_number_of_runs_needs_no_other_program():
    def runs(count):
        evolve(tl.Erf(), tl.Erf(), decay=np.linspace(0.0, 0.1, count), until=2.0)

    runs(2)
    assert compiled(lambda: runs(5)) == compiled(lambda: runs(8)) == 0


def test_a_chain_and_an_error_with_other_numbers():
    def runs(**numbers):
        s = scenario(tl.LeakyReLU(0.1), tl.ReLU(), noise=0.1, **numbers)
        tl.simulation.chain(s, start(), 0.5, dimension=100, until=1, runs=2)

    def error(slope):
        s = scenario(tl.LeakyReLU(slope), tl.ReLU())
        tl.generalization_error(s, start())
        tl.averages.i4(tl.LeakyReLU(slope), np.eye(4))

    runs()
    assert compiled(lambda: runs(decay=0.1)) == 0
    error(0.1)
    assert compiled(lambda: error(0.2)) == 0


ALONE = tl.Overlaps(Q=[[0.25]], R=[[0.1]], T=[[1.0]])
SOLVED = tl.Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])


def single(slope):
    one = tl.Committee(1, tl.LeakyReLU(slope))
    return tl.Scenario(one, one)


def symmetric(slope, eta=0.5, tolerance=1e-9, noise=0.0):
    one = tl.Committee(1, tl.LeakyReLU(slope))
    scenario = tl.online.SymmetricScenario(one, one, label_noise=noise)
    begin = tl.online.SymmetricState(Q=0.5, C=0.0, R=0.1, S=0.0)
    tl.online.evolve_symmetric(scenario, begin, eta, until=1.0, tolerance=tolerance)


def minima(slope, load=5.0):
    tl.equilibrium.minima(single(slope), load, starts=2)


def sample(slope, load=5.0):
    tl.equilibrium.sample(single(slope), load, dimension=10, sweeps=3, runs=2)


def states(beta, load=5.0, units=3):
    tl.equilibrium.states(tl.Swish(beta), units, load)


def transitions(beta, units=3):
    tl.equilibrium.transitions(tl.Swish(beta), units)


def fixed_point(slope, eta=0.5):
    tl.online.fixed_point(single(slope), ALONE, eta)


def plateau(slope, eta=0.5):
    tl.online.plateau(single(slope), ALONE, eta)


def branch(slope, until=1.1):
    tl.online.branch(single(slope), SOLVED, 1.0, until=until)


@pytest.mark.parametrize(
    ("function", "others"),
    [
        (symmetric, [{"eta": 0.7}, {"tolerance": 1e-8}, {"noise": 0.1}]),
        (states, [{"load": 6.0}, {"units": 5}]),
        pytest.param(transitions, [{"units": 5}], marks=pytest.mark.slow),
        pytest.param(minima, [{"load": 6.0}], marks=pytest.mark.slow),
        pytest.param(sample, [{"load": 6.0}], marks=pytest.mark.slow),
        pytest.param(fixed_point, [{"eta": 0.6}], marks=pytest.mark.slow),
        pytest.param(plateau, [{"eta": 0.6}], marks=pytest.mark.slow),
        pytest.param(branch, [{"until": 1.2}], marks=pytest.mark.slow),
    ],
)
def test_another_slope_load_or_rate_needs_no_other_program(function, others):
    function(0.47)  # no other test uses this slope: what it needs is compiled here
    assert compiled(lambda: function(0.6)) == 0
    for other in others:
        assert compiled(lambda other=other: function(0.6, **other)) == 0

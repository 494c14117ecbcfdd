"""Numbers are data, shapes are compiled: another value needs no other program."""

import jax
import numpy as np
import pytest

import tutelage as tl

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
        pytest.param(
            (tl.Swish(1.0), tl.Swish(2.0)),
            (tl.Swish(1.5), tl.Swish(3.0)),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_another_number_needs_no_other_program(first, second):
    assert compiled(lambda: evolve(*first)) > 0
    assert compiled(lambda: evolve(*second)) == 0
    for name, value in OTHER.items():
        assert compiled(lambda name=name, value=value: evolve(*second, **{name: value})) == 0
    assert compiled(lambda: evolve(*second, eta=0.7, until=2.0, tolerance=1e-9)) == 0


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

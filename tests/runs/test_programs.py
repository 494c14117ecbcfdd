"""Calls with equal keys of programs compile nothing new, others do: compared with what JAX
compiles.
"""

import jax
import numpy as np
import pytest

import tutelage as tl
from tutelage.runs.programs import program_of

COMPILED = "/jax/core/compile/backend_compile_duration"
compilations = [0]


def _count(event, duration, **_):
    compilations[0] += event == COMPILED


jax.monitoring.register_event_duration_secs_listener(_count)


def call(g=None, h=None, T=None, units=1, learning_rate=0.5, **numbers):
    """Arguments of `evolve`; five teacher units, which no other test of the process compiles."""
    teacher = tl.Committee(5, h or tl.Erf())
    T = 0.5 * np.eye(5) + 0.5 if T is None else T
    scenario = tl.Scenario(tl.Committee(units, g or tl.Erf()), teacher, T, **numbers)
    start = tl.Overlaps(Q=0.2 * np.eye(units), R=np.zeros((units, 5)), T=scenario.T)
    return {"scenario": scenario, "start": start, "learning_rate": learning_rate}


@pytest.fixture(scope="module")
def first():
    tl.online.evolve(**call(), until=1.0)
    return program_of(call())


@pytest.mark.parametrize(
    ("other", "shared"),
    [
        (call(learning_rate=0.7), True),
        (call(weight_decay=0.1, label_noise=0.2, output_scale=(0.5, 1.0)), True),
        (call(T=np.diag([2.0, 1.0, 1.0, 1.0, 1.0])), True),
        (call(learning_rate=0), False),
        (call(drift=0.1), False),
        (call(units=2), False),
        (call(g=tl.Erf(0.1)), False),  # neither odd nor equal to the teacher's
    ],
)
def test_a_program_is_shared_if_and_only_if_nothing_is_compiled_for_the_other_call(
    first, other, shared
):
    before = compilations[0]
    tl.online.evolve(**other, until=1.0)
    assert (compilations[0] == before) == shared == (program_of(other) == first)


def test_other_functions_shapes_and_words_are_other_programs():
    def one(x):
        return x

    def other(x):
        return x

    differ = [
        {"f": one},
        {"f": other},
        {"times": np.zeros(3)},
        {"times": np.zeros(4)},
        {"method": "quadrature"},
        {"method": None},
        {"units": 2},
        {"units": 3},
    ]
    assert len(set(map(program_of, differ))) == len(differ)
    assert program_of({"seed": 1, "until": 2}) == program_of({"seed": 2, "until": 3.5})

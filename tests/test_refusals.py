"""No argument of a public function or class raises anything but an `InputError`,
or a `ComputationError` where the value is allowed and the computation cannot be finished.

Every argument that `inspect.signature` finds is called with every value of `bad_values`, and the
other arguments of a good call.  The value is refused with a reason, or gives a result without an
unexplained NaN.  A new function is covered as soon as it is public; if it needs arguments, its good
call is a line in `good_calls`.
"""

import inspect
import signal
import warnings
from collections import defaultdict
from functools import cache

import good_calls
import hypothesis.strategies as st
import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from bad_values import BAD, is_work
from good_calls import CALLS, call, public
from hypothesis import given, settings

import tutelage as tl
from tutelage._checks import ComputationError, InputError
from tutelage._findings import Finding

# A function whose docstring has one of these says which numbers are missing, and why.
EXPLAINS = ("NaN", "missing", "not a number")
# Calls that take longer wait, whatever they do then: seconds of this process, on a busy machine
# as on an idle one.
LIMIT_SECONDS = 60
# Those of whom a call takes long, or compiles anew for other values.
SLOW = {
    "deep.images.train_on_images",
    "deep.train",
    "equilibrium.hysteresis",
    "equilibrium.minima",
    "equilibrium.phases",
    "equilibrium.sample",
    "gates.specialization_loads",
    "figures.eigenvalue_animation",
    "online.best_control",
    "online.best_learning_rate",
    "online.best_schedule",
    "online.best_tracking",
    "online.branch",
    "online.critical_learning_rates",
    "online.evolve_symmetric",
    "online.fixed_points",
    "simulation.network",
    "spectra.train",
}


# A number of workers starts processes; two units at a temperature take seconds.
SLOW_ARGUMENTS = {("sweeps.run", "workers"), ("equilibrium.states", "temperature")}


def parameters(name):
    return inspect.signature(public()[name]).parameters


def is_result(kind):
    """Results of public functions, which users do not construct."""
    if not isinstance(kind, type):
        return False
    return issubclass(kind, Finding) or inspect.isabstract(kind) or kind.__name__ in RESULTS


RESULTS = (
    "Estimate",
    "Blocks",
    "Network",
    "Row",
    "Entry",
    "Paper",
    "Kernel",
    "Activation",
    "Method",
)
# Takes what `sections` takes, which is tried, and then minutes; and what ends when interrupted.
LEFT_OUT = {"papers.reproduce", "explorer.serve", "explorer.export"}
NAMES = sorted(n for n, kind in public().items() if not is_result(kind) and n not in LEFT_OUT)
PAIRS = [
    pytest.param(
        name,
        argument,
        marks=[pytest.mark.slow] * (name in SLOW or (name, argument) in SLOW_ARGUMENTS),
    )
    for name in NAMES
    for argument in parameters(name)
]


def good(name):
    """The arguments of the good call; a function without arguments has one."""
    return CALLS[name]() if name in CALLS else {}


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_good_call(name):
    needed = [p.name for p in parameters(name).values() if p.default is p.empty]
    assert name in CALLS or not needed, (
        f"{name} needs {', '.join(needed)}: add a cheap call of it to CALLS in tests/good_calls.py"
    )


@pytest.mark.parametrize("name", NAMES)
def test_unknown_names_are_refused_with_a_reason(name):
    function, every = public()[name], parameters(name)
    with pytest.raises(InputError, match=r"^nonsense: got an argument that .* does not have"):
        function(nonsense=1)
    with pytest.raises(InputError, match=r"^arguments: got \d+ positional arguments"):
        function(*[None] * (len(every) + 1))
    needed = [p.name for p in every.values() if p.default is p.empty]
    if needed:
        with pytest.raises(InputError, match=f"^{needed[0]}: got nothing"):
            function()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: tl.online.evolve(momentum=8), "momentum μ acts like the learning rate η/(1 - μ)"),
        (lambda: tl.Scenario(batch=8), "Try: tl.online.evolve(scenario, start, learning_rate=0.5"),
        (lambda: tl.online.evolve(drift=1), "Try: tl.Scenario(student, teacher, drift="),
        (lambda: tl.Scenario(lable_noise=0.1), "Try: label_noise."),
        (lambda: tl.online.evolve(label_noise=1), "Try: tl.Scenario(student, teacher, label_"),
        (
            lambda: tl.online.evolve(*[None] * 3, 100),
            "scenario, start, learning_rate. Try: until=1",
        ),
        (lambda: tl.LeakyReLU(0.1, slope=0.2), "slope: got two values, but one value is allowed"),
        (lambda: tl.online.SymmetricState(Q=1.0), "C: got nothing, but SymmetricState"),
    ],
)
def test_a_wrong_name_is_distinguished_from_one_that_belongs_elsewhere(wrong, words):
    with pytest.raises(InputError) as refused:
        wrong()
    assert words in str(refused.value)


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory):
    """The folder for files that public functions write."""
    good_calls.FOLDER = tmp_path_factory.mktemp("refusals")
    np.savez(good_calls.FOLDER / "rows.npz", X=good_calls.ROWS, y=np.arange(20) % 2)
    call("results.save")
    yield
    plt.close("all")


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, folder):
    """Files with names that were not meant as files are not written into the project."""
    monkeypatch.chdir(good_calls.FOLDER)


class Waits(BaseException):
    pass


def waits(*_):
    raise Waits


def refused_or_computed(name, argument, value):
    """Call the function with a value; return None, or what is wrong about the answer."""
    arguments = {**good(name), argument: value}
    before = signal.signal(signal.SIGPROF, waits)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return unexplained(public()[name], public()[name](**arguments))
    except (InputError, ComputationError) as problem:
        return None if len(str(problem)) < 1000 else "a message of more than 1000 letters"
    except Waits:
        return f"waits for more than {LIMIT_SECONDS} s"
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        plt.close("all")


def unexplained(function, result):
    """None, or that there is an unexplained NaN; classes are not checked."""
    if isinstance(function, type) or any(word in (function.__doc__ or "") for word in EXPLAINS):
        return None
    if isinstance(result, xr.Dataset | xr.DataArray):
        result = result.to_dict()
    numbers = [np.asarray(x) for x in jax.tree.leaves(result) if not isinstance(x, str)]
    nan = any(x.dtype.kind in "fc" and np.isnan(x).any() for x in numbers)
    return "a result with NaN" if nan else None


def values(name, argument):
    """The bad values, without those that only cause much work."""
    return {what: x for what, x in BAD.items() if not (is_work(name, argument) and what in LONG)}


LONG = ("beyond 32 bits",)


# In the fast tests the arguments with one annotation share the table of bad values: every one of
# them meets a sixteenth, the next one the next.  In the slow tests all meet the others, too.
PARTS = 16


@cache
def place_among_its_kind():
    """The number of each argument among those with the same annotation."""
    kinds, places = defaultdict(int), {}
    for name in NAMES:
        for argument, parameter in parameters(name).items():
            places[name, argument] = kinds[str(parameter.annotation)]
            kinds[str(parameter.annotation)] += 1
    return places


def test_common_kinds_of_arguments_meet_every_bad_value_in_the_fast_tests():
    met = defaultdict(set)
    for (name, argument), place in place_among_its_kind().items():
        if name not in SLOW and (name, argument) not in SLOW_ARGUMENTS:
            met[str(parameters(name)[argument].annotation)].add(place % PARTS)
    whole = {kind for kind, parts in met.items() if len(parts) == PARTS}
    assert {str(int), str(float), str(xr.Dataset)} <= whole


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(range(1), id="fast"),
        pytest.param(range(1, PARTS), id="slow", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(("name", "argument"), PAIRS)
def test_bad_values_are_refused_in_words_or_give_no_unexplained_nan(name, argument, parts):
    results = {}
    mine = {(part + place_among_its_kind()[name, argument]) % PARTS for part in parts}
    for place, (what, make) in enumerate(values(name, argument).items()):
        if place % PARTS not in mine:
            continue
        wrong = refused_or_computed(name, argument, make() if what in FRESH else make)
        if wrong:
            results[what] = wrong
    assert not results


FRESH = ("an iterator",)  # which is used up

ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=5),
    st.lists(st.floats(), max_size=3),
    st.lists(st.lists(st.integers(-2, 2), max_size=2), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "argument"), PAIRS)
def test_anything_is_refused_in_words_or_gives_no_unexplained_nan(name, argument):
    if is_work(name, argument):
        pytest.skip("another amount of work")

    @settings(max_examples=30, database=None)
    @given(ANYTHING)
    def check(value):
        assert refused_or_computed(name, argument, value) is None

    check()

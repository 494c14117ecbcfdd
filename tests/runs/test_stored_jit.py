"""Stored programs: the next process computes the same digits without compiling."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pytest
from jax.experimental.compilation_cache.compilation_cache import reset_cache

import tutelage as tl
from tutelage._jax import ONE_KERNEL, jax, jnp
from tutelage.model.timing import Rate
from tutelage.online.flow import Flow
from tutelage.runs import program_store, stored_jit as stored
from tutelage.runs.stored_jit import NotStorableError, described, stored_jit

IS_ON = program_store.is_on.__wrapped__  # which tests/conftest.py has replaced
COMPILED = "/jax/core/compile/backend_compile_duration"

FIRST_CURVE = """
import hashlib, json, sys
import jax
import tutelage as tl
import numpy as np

before = dict(jax.config.values)
compiled = [0]
def count(event, duration, **_):
    compiled[0] += event == "/jax/core/compile/backend_compile_duration"
jax.monitoring.register_event_duration_secs_listener(count)
kind, eta, outcome = sys.argv[1:]
two = tl.Committee(2, getattr(tl, kind)())
start = {
    "reached": tl.Overlaps(Q=[[.1, 0], [0, .2]], R=[[1e-3, 0], [0, 1e-3]], T=np.eye(2)),
    "plateau": tl.Overlaps(Q=np.full((2, 2), .25), R=np.zeros((2, 2)), T=np.eye(2)),
}[outcome]
until = {"reached": 20, "plateau": 200}[outcome]
run = tl.online.evolve(tl.Scenario(two, two), start, float(eta) or 0, until=until)
assert run.attrs["outcome"] == outcome
digits = b"".join(run[name].values.tobytes() for name in ("Q", "R", "generalization_error"))
same = all(before[name] == value for name, value in jax.config.values.items() if name in before)
print(json.dumps([compiled[0], hashlib.sha256(digits).hexdigest(), same]))
"""


@stored_jit
def doubled(x, factor=2.0):
    return {"product": factor * x, "shape": jnp.asarray(x.shape)}


@stored_jit
def decomposed(x):
    return jnp.linalg.eigvalsh(x)


@stored_jit
def called_back(x):
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


@stored_jit
def uniform(x):
    return jax.random.uniform(jax.random.key(0), x.shape)


@partial(stored_jit, as_one_kernel=True)
def squared(x):
    return x * jnp.cumsum(x * x)


@partial(stored_jit, as_one_kernel=True)
def multiplied(x):
    """A product of matrices, which XLA leaves to a library."""
    return (x[:, None] * x[None]) @ (x[:, None] * x[None])


@partial(stored_jit, optimize_after=2)
def summed(x):
    return jnp.sum(jnp.sqrt(x) / 3)


@pytest.fixture
def store(monkeypatch, tmp_path):
    """A folder of programs for this process; functions that have compiled nothing."""
    monkeypatch.setattr(program_store, "is_on", lambda: True)
    monkeypatch.setattr("tutelage.runs.stored_jit.MAY_BEGIN_UNOPTIMIZED", True)
    monkeypatch.setenv(program_store.SWITCH, str(tmp_path / "programs"))
    for function in (doubled, decomposed, called_back, uniform, squared, multiplied, summed):
        monkeypatch.setattr(function, "programs", {})
    jax.config.update("jax_enable_compilation_cache", False)
    reset_cache()  # JAX asks for the option once; programs that it has read cannot be written
    yield tmp_path / "programs"
    jax.config.update("jax_enable_compilation_cache", True)
    reset_cache()


def count(store):
    return len(list(store.iterdir())) if store.exists() else 0


def first_curve(store, *arguments, **environment):
    """A curve in a new process: compiled programs, digits, whether options of JAX are the same."""
    environment = {**os.environ, program_store.SWITCH: str(store), **environment}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    command = [sys.executable, "-c", FIRST_CURVE, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        ("Erf", "0.5", "plateau"),
        pytest.param(("Erf", "0.5", "reached"), marks=pytest.mark.slow),
        pytest.param(("ReLU", "0", "reached"), marks=pytest.mark.slow),
    ],
)
def test_the_next_process_compiles_nothing_and_has_the_same_digits(tmp_path, arguments):
    store = tmp_path / "programs"
    compiled, digits, unchanged = first_curve(store, *arguments)
    assert compiled > 0 and unchanged
    assert first_curve(store, *arguments) == [0, digits, True]


@pytest.mark.slow
def test_a_file_that_was_not_written_to_its_end_is_compiled_again(tmp_path):
    arguments, store = ("Erf", "0.5", "plateau"), tmp_path / "programs"
    whole = first_curve(store, *arguments)
    for file in store.iterdir():
        os.truncate(file, 1000)
    assert first_curve(store, *arguments) == whole


@pytest.mark.slow
def test_the_switch_turns_storing_off(tmp_path):
    home = {"XDG_CACHE_HOME": str(tmp_path)}
    first_curve(program_store.OFF, "Erf", "0.5", "reached", **home)
    assert not (tmp_path / "tutelage").exists()


def test_the_switch_of_a_process_turns_storing_off(store, monkeypatch):
    monkeypatch.setattr(program_store, "is_on", IS_ON)
    monkeypatch.setenv("XDG_CACHE_HOME", str(store.parent))
    monkeypatch.setenv(program_store.SWITCH, program_store.OFF)
    doubled(np.ones(2))
    assert not list(store.parent.iterdir())
    monkeypatch.delenv(program_store.SWITCH)
    doubled(np.ones(3))
    assert count(store.parent / "tutelage" / "programs") == 1


def test_a_program_that_was_not_written_to_its_end_is_compiled_again(store):
    doubled(np.ones(2))
    (file,) = store.iterdir()
    os.truncate(file, file.stat().st_size // 2)
    doubled.programs.clear()
    assert doubled(np.ones(2))["product"].tolist() == [2.0, 2.0]
    assert program_store.read(file.name) is not None


def test_a_program_is_stored_once_and_loaded(store):
    x = np.array([1.0, 2.0])
    first = doubled(x)
    assert count(store) == 1
    doubled.programs.clear()
    second = doubled(x)
    assert count(store) == 1
    assert first["product"].tolist() == second["product"].tolist() == [2.0, 4.0]
    assert second["shape"].tolist() == [2]


def test_shapes_and_constants_have_separate_programs(store):
    for arguments in (((2,), 2.0), ((3,), 2.0), ((3,), 5.0), ((3,), 5)):
        shape, factor = arguments
        assert np.all(doubled(np.ones(shape), factor)["product"] == factor)
    assert count(store) == 4


def test_a_program_that_another_process_compiles_is_awaited_and_loaded(store, monkeypatch):
    """The other process stores it while this one waits."""
    x = np.array([1.0, 2.0])
    doubled(x)
    (program,) = store.iterdir()
    content = program_store.read(program.name)
    program_store.remove(program.name)
    doubled.programs.clear()

    @contextlib.contextmanager
    def compiling(name):
        assert name == program.name
        program_store.write(name, content)
        yield True

    monkeypatch.setattr(program_store, "compiling", compiling)
    monkeypatch.setattr(doubled, "_compiled", None)  # calling it would fail
    assert doubled(x)["product"].tolist() == [2.0, 4.0]


def test_a_program_that_the_other_process_has_not_stored_is_compiled(store, monkeypatch):
    monkeypatch.setattr(program_store, "compiling", lambda name: contextlib.nullcontext(True))
    assert doubled(np.ones(3))["product"].tolist() == [2.0] * 3
    assert count(store) == 1


@pytest.mark.parametrize(
    "what", ["jax", "jaxlib", "source", "processor", "flags", "another function"]
)
def test_another_version_has_a_separate_program(store, monkeypatch, what):
    doubled(np.ones(2))
    doubled.programs.clear()
    stored._environment.cache_clear()
    if what == "flags":
        monkeypatch.setenv("XLA_FLAGS", os.environ.get("XLA_FLAGS", "") + " ")
    elif what in ("jax", "jaxlib"):
        monkeypatch.setattr(f"{what}.__version__", "0.0.1")
    elif what == "another function":
        monkeypatch.setattr(doubled.function, "__qualname__", "tripled")
        monkeypatch.setattr(sys.modules[__name__], "tripled", doubled, raising=False)
    else:
        name = {"source": "digest_of_package", "processor": "_cpu"}[what]
        monkeypatch.setattr(stored, name, lambda: ("other",))
    doubled(np.ones(2))
    stored._environment.cache_clear()
    assert count(store) == 2


def test_a_function_is_compiled_into_one_kernel_if_xla_can(store):
    assert np.array_equal(squared(np.arange(3.0)), [0, 1, 10])
    x = np.arange(32.0)
    assert np.array_equal(multiplied(x), (x @ x) * np.outer(x, x))
    (one,), (many,) = squared.programs.values(), multiplied.programs.values()
    is_called = 'xla_cpu_small_call="true"'
    assert (is_called in one.call.as_text()) == bool(ONE_KERNEL)
    assert is_called not in many.call.as_text()


def test_a_function_is_optimized_after_a_number_of_calls(store):
    x = np.arange(2.0, 12.0)
    values, programs = [], []
    for _ in range(4):
        values.append(float(summed(x)))
        programs += summed.programs.values()
    first, second, third, fourth = programs
    assert first is second and third is fourth and second is not third
    np.testing.assert_allclose(values, np.sum(np.sqrt(x) / 3), rtol=1e-15)
    assert count(store) == 2


def test_a_thread_can_compile_the_optimized_program(store, monkeypatch):
    monkeypatch.setattr(stored, "OPTIMIZES_IN_THREAD", True)
    x = np.arange(2.0, 13.0)
    values = [float(summed(x)) for _ in range(2)]
    (unoptimized,) = summed.programs.values()
    values.append(float(summed(x)))  # by the same program: the thread has just begun
    for thread in threading.enumerate():
        if thread.name == stored.OPTIMIZER:
            thread.join()
    (optimized,) = summed.programs.values()
    values.append(float(summed(x)))
    assert optimized is not unoptimized and count(store) == 2
    np.testing.assert_allclose(values, np.sum(np.sqrt(x) / 3), rtol=1e-15)


def test_the_next_process_uses_the_optimized_program_if_there_is_one(store):
    x = np.arange(3.0)
    summed(x)
    (unoptimized,) = store.iterdir()
    for calls in (1, 2):  # by the stored program
        summed.programs.clear()
        for _ in range(calls):
            summed(x)
        assert list(store.iterdir()) == [unoptimized]
    summed(x)  # the third call, of a function that this process has not traced before
    assert count(store) == 2
    summed.programs.clear()
    summed(x)
    (program,) = summed.programs.values()
    assert program.remaining_calls == np.inf


def test_an_uncounted_call_does_not_bring_the_optimized_program_closer(store):
    x = np.arange(3.0)
    expected = summed(x)
    ((key, program),) = summed.programs.items()
    for calls in (1, 0):
        assert program.remaining_calls == calls
        for _ in range(3):
            assert summed.uncounted(x) == expected
        assert summed.programs[key] is program
        if calls:
            summed(x)
    summed(x)
    assert summed.programs[key] is not program


def test_what_cannot_be_loaded_is_compiled_and_stored_again(store):
    doubled(np.ones(2))
    (file,) = store.iterdir()
    program_store.write(file.name, b"no program, with the right checksum")
    damaged = file.read_bytes()
    doubled.programs.clear()
    assert doubled(np.ones(2))["product"].tolist() == [2.0, 2.0]
    assert file.read_bytes() != damaged


def test_a_program_that_is_incomplete_is_compiled_and_stored_again(store, monkeypatch):
    class Incomplete:
        def __call__(self, arrays):
            raise jax.errors.JaxRuntimeError("NOT_FOUND: Function fusion not found")

    doubled(np.ones(2))
    (file,) = store.iterdir()
    written = file.stat().st_mtime_ns
    doubled.programs.clear()
    structure = jax.tree.structure([0])
    monkeypatch.setattr(stored, "_loaded", lambda *_: stored.Program(Incomplete(), structure))
    assert doubled(np.ones(2))["product"].tolist() == [2.0, 2.0]
    assert file.stat().st_mtime_ns > written


def test_what_jax_stores_is_not_stored_again(store):
    """XLA writes programs without their functions if they come from the cache of JAX."""
    jax.config.update("jax_enable_compilation_cache", True)
    assert doubled(np.ones(2))["product"].tolist() == [2.0, 2.0]
    assert count(store) == 0


@pytest.mark.parametrize("function", [decomposed, called_back])
def test_a_program_that_calls_other_libraries_is_not_stored(store, function):
    x = np.array([[2.0, 1.0], [1.0, 2.0]])
    expected = np.linalg.eigvalsh(x) if function is decomposed else np.sin(x)
    np.testing.assert_allclose(function(x), expected, rtol=1e-14)
    assert count(store) == 0


def test_a_function_of_the_user_is_not_stored(store):
    activation = tl.Activation.from_function(jnp.tanh)
    assert doubled(np.ones(2), 3.0) and count(store) == 1
    with pytest.raises(NotStorableError):
        described(activation)
    with pytest.raises(NotStorableError):
        described(lambda x: x)


class Pretender(tl.ReLU):
    """A user's unit that looks like a unit of the package."""

    def __repr__(self):
        return "ReLU()"


def test_a_class_of_the_user_is_not_stored():
    pretender = Pretender()
    with pytest.raises(NotStorableError):
        described(pretender)
    Pretender.__module__ = "tutelage.activations"
    with pytest.raises(NotStorableError):
        described(pretender)


def test_descriptions_contain_everything_that_determines_a_program():
    two, three = (tl.Committee(units, tl.ReLU()) for units in (2, 3))
    scenarios = [tl.Scenario(two, two), tl.Scenario(two, three), tl.Scenario(three, two)]
    scenarios += [tl.Scenario(two, tl.Committee(2, tl.LeakyReLU(0.1)))]
    flows = [Flow(scenario, limit=limit) for scenario in scenarios for limit in (False, True)]
    values = [*flows, Rate(1.0), Rate(1.0, limit=True), (1,), [1], (1.0,), (True,), ("1",), (None,)]
    values += [np.zeros(2), np.zeros(3), np.zeros(2, dtype=int), {"a": 1}, {"b": 1}]
    assert len(set(map(described, values))) == len(values)
    assert described(np.zeros(2)) == described(jnp.ones(2))
    assert described(np.zeros(2), constant=True) != described(np.ones(2), constant=True)


def test_inside_a_transformation_a_function_is_traced_with_it():
    gradient = jax.jit(jax.grad(lambda x: jnp.sum(doubled(x, 3.0)["product"])))
    assert gradient(jnp.ones(2)).tolist() == [3.0, 3.0]
    with jax.disable_jit():
        assert doubled(jnp.ones(2))["product"].tolist() == [2.0, 2.0]


def test_options_of_jax_are_those_of_the_call(store):
    drawn = {}
    for kind in ("threefry2x32", "rbg", "threefry2x32"):
        with jax.default_prng_impl(kind):
            expected = jax.random.uniform(jax.random.key(0), (2,)).tolist()
            drawn[kind] = uniform(np.zeros(2)).tolist()
            assert drawn[kind] == expected
    assert drawn["rbg"] != drawn["threefry2x32"]

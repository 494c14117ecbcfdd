"""Functions that are compiled once, and stored for the next process.

`stored_jit` compiles a function of arrays and of objects that hold arrays.  A program is the same
for all values of its arrays: it belongs to their shapes and to everything else in the arguments.
`tutelage.runs.program_store` has the folder.

A stored program is the machine code that would be compiled again, so that results have the same
digits with it.  Its name is therefore a hash of everything that determines the code: the source
files of the package, the versions of JAX, equinox and NumPy, the options of the compiler and of
JAX, the features of the processor, the number of cores, and the arguments.  A program is not stored
if its arguments contain a function or a class from outside of this package, whose source is not
known, or if it calls back into Python or into other libraries.

Optimization is most of the time that XLA takes.  A function may therefore begin with a program that
is not optimized, and is replaced after a few calls (``optimize_after``); in the explorer a thread
compiles the optimized one.  Programs that are not optimized are stored, too, with other names than
the optimized ones, until these are stored.
"""

import dataclasses
import hashlib
import math
import os
import pickle
import platform
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache, partial, update_wrapper
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jaxlib
import numpy as np
from jax.experimental import serialize_executable

from tutelage import __version__
from tutelage._jax import OLDER_GENERATOR, UNOPTIMIZED, jax, one_kernel
from tutelage._precision import OPTION
from tutelage.runs import program_store
from tutelage.runs.code import digest_of_package

Function = TypeVar("Function", bound=Callable[..., Any])

# Options of JAX, in this version, that change what a program computes, or where.
OPTIONS = tuple(
    name
    for name in (
        OPTION,
        "jax_default_device",
        "jax_default_matmul_precision",
        "jax_default_prng_impl",
        "jax_threefry_partitionable",
        "jax_random_seed_offset",
        "jax_numpy_dtype_promotion",
        "jax_softmax_custom_jvp",
    )
    if hasattr(jax.config, name)
)
_options = attrgetter(*OPTIONS)  # their present values
# Whether programs may begin unoptimized; the tests compile each program once, without optimization.
MAY_BEGIN_UNOPTIMIZED = True
# Whether a thread compiles optimized programs, while the unoptimized ones are still called.  A
# worker of the explorer then answers without a pause; elsewhere the results of a call would depend
# on how far the thread is.
OPTIMIZES_IN_THREAD = False
OPTIMIZER = "tutelage optimizes a program"  # the name of such a thread
# A program that calls another library contains an address of the present process.
CALLS_OUTSIDE = re.compile(r"custom_call|callback")
# XLA refuses some operations in one kernel, and others start threads, whose function is missing.
ONE_KERNEL_FAILS = ("UNIMPLEMENTED", "Failed to materialize symbols")
# Arrays of up to this many numbers are passed to a program together, as one array.
MAX_PACKED = 256
ARRAY, NUMBERS, CONSTANT = "array", "numbers", "constant"
PACKAGE = __name__.partition(".")[0]
NUMPY = (np.ndarray, np.generic)
ARRAYS = (*NUMPY, jax.Array)
FLOAT64 = np.dtype(np.float64)
PLAIN = (type(None), bool, int, float, complex, str, bytes)


class NotStorableError(Exception):
    """An argument that cannot be identified by another process."""


@dataclasses.dataclass(slots=True)
class Program:
    """A compiled function of a list of arrays, and the structure of its results.

    remaining_calls: number of calls after which an optimized program replaces this one.
    lowered: the function before compilation, from which the optimized program is compiled.
    """

    call: Any
    structure: Any
    remaining_calls: float = math.inf
    lowered: Any = None


def stored_jit(
    function: Function,
    options: dict[str, Any] = OLDER_GENERATOR,
    *,
    as_one_kernel: bool = False,
    optimize_after: int = 0,
) -> Function:
    """Compile a function, and store the program for the next process.

    options: those of the compiler.
    as_one_kernel: whether to compile it into one kernel (`tutelage._jax.one_kernel`), if XLA can.
    optimize_after: number of calls by a program that is not optimized.  Its results differ from
        those of the optimized one by rounding.

    As with `equinox.filter_jit`, arrays in the arguments are data, and everything else is constant.
    Results have to be arrays.  Inside another transformation of JAX the function is traced with it.

    >>> import jax.numpy as jnp
    >>> @stored_jit
    ... def twice(x):
    ...     return 2 * x
    >>> float(twice(jnp.asarray(3.0)))
    6.0
    """
    stored = StoredFunction(function, options, as_one_kernel, optimize_after)
    return update_wrapper(stored, function)  # type: ignore[return-value]


class StoredFunction:
    """A function with all of its programs that this process has used."""

    __wrapped__: Callable[..., Any]

    def __init__(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        as_one_kernel: bool = False,
        optimize_after: int = 0,
    ):
        self.function, self.options, self.as_one_kernel = function, options, as_one_kernel
        self.optimize_after = optimize_after
        self.programs: dict[Any, Program] = {}

    def __call__(self, *args: Any, **keywords: object) -> Any:
        return self._called(args, keywords, calls=1)

    def uncounted(self, *args: Any) -> Any:
        """Call a compiled program without bringing the optimized one closer, for a small part of
        an ordinary call.
        """
        return self._called(args, {}, calls=0)

    def _called(self, args: tuple[Any, ...], keywords: dict[str, Any], calls: int) -> Any:
        """Call the program of the arguments; ``calls``: how many calls this one counts as."""
        leaves, structure = jax.tree.flatten((args, keywords))
        arrays, numbers, of_leaves = [], [], []
        for x in leaves:
            if _is_packed(x):
                numbers.append(x.ravel())
                of_leaves.append(x.shape)
            elif isinstance(x, ARRAYS):
                if isinstance(x, jax.core.Tracer):
                    return self.function(*args, **keywords)
                arrays.append(x)
                of_leaves += [x.shape, x.dtype]
            else:
                of_leaves += [type(x), x]
        if _option("jax_disable_jit"):
            return self.function(*args, **keywords)
        if numbers:
            arrays.append(np.concatenate(numbers))
        key = (structure, _options(jax.config), *of_leaves)
        program = self.programs.get(key)
        is_due = program is not None and not program.remaining_calls and calls
        if program is not None and is_due and OPTIMIZES_IN_THREAD:
            program.remaining_calls = math.inf
            self._optimize_in_thread(key, arrays, leaves, structure, program)
        if program is not None and (program.remaining_calls or not calls):
            results = program.call(arrays)
        else:
            program, results = self._first_call(arrays, leaves, structure, program)
            self.programs[key] = program
        program.remaining_calls -= calls
        return jax.tree.unflatten(program.structure, results)

    def __get__(self, instance: object, owner: object = None) -> Any:
        """Bind to an instance, as a function in a class does."""
        return self if instance is None else partial(self, instance)

    def _optimize_in_thread(self, key: tuple[Any, ...], *arguments: Any) -> None:
        """Start a thread that replaces a program by an optimized one.

        The thread does not keep the process from ending.
        arguments: of `_first_call`.
        """

        def optimize() -> None:
            self.programs[key] = self._first_call(*arguments)[0]

        threading.Thread(target=optimize, name=OPTIMIZER, daemon=True).start()

    def _first_call(
        self,
        arrays: list[Any],
        leaves: list[Any],
        structure: object,
        unoptimized: Program | None = None,
    ) -> tuple[Program, list[Any]]:
        """Load a program and call it; or compile, call and store one.

        unoptimized: the program that an optimized one replaces.
        """
        # Compiler options in addition to those of the function, and the number of calls.
        variants: list[tuple[dict[str, Any], float]] = [({}, math.inf)]
        may_begin = MAY_BEGIN_UNOPTIMIZED and unoptimized is None and on_one_processor()
        if self.optimize_after and may_begin:
            variants.append((UNOPTIMIZED, self.optimize_after))
        names = [self._name(leaves, structure, options) for options, _ in variants]
        for name, (_, calls) in zip(names, variants, strict=True):
            loaded = _call_of_loaded(name, arrays, calls)
            if loaded is not None:
                return loaded
        name, (options, calls) = names[-1], variants[-1]
        with ExitStack() as lock:
            if name is not None and lock.enter_context(program_store.compiling(name)):
                loaded = _call_of_loaded(name, arrays, calls)
                if loaded is not None:
                    return loaded
            if unoptimized is not None and unoptimized.lowered is not None:
                lowered, of_results = unoptimized.lowered, unoptimized.structure
            else:
                jitted, structures = self._jitted(leaves, structure)
                if not on_one_processor():  # JAX decides at every call where to compute
                    results = jitted(arrays)
                    return Program(jitted, structures[0]), results
                lowered, of_results = jitted.lower(arrays), structures[0]
            if name is not None and CALLS_OUTSIDE.search(lowered.as_text()):
                name = None
                lock.close()
            compiled = self._compiled(lowered, options)
            program = Program(compiled, of_results, calls, None if calls == math.inf else lowered)
            if name is not None and compiled is not None:
                _store(name, program)
        if compiled is None:
            in_many_kernels = StoredFunction(self.function, self.options)
            return in_many_kernels._first_call(arrays, leaves, structure)
        return program, program.call(arrays)

    def _compiled(self, lowered: Any, options: dict[str, Any]) -> Any:
        """Compile a program; return None if XLA cannot compile it into one kernel."""
        try:
            return lowered.compile(options)
        except jax.errors.JaxRuntimeError as problem:
            fails = any(text in str(problem) for text in ONE_KERNEL_FAILS)
            if not self.as_one_kernel or not fails:
                raise
            return None

    def _jitted(self, leaves: list[Any], structure: Any) -> tuple[Any, list[Any]]:
        """Return the function of a list of arrays, and a list that receives the structure of its
        results.
        """
        slots = list(map(_slot, leaves))
        structures: list[Any] = []

        def flat(arrays: list[Any]) -> list[Any]:
            shapes = [shape for kind, shape in slots if kind is NUMBERS]
            data = {ARRAY: iter(arrays), NUMBERS: _unpacked(arrays[-1], shapes)}
            values = [x if kind is CONSTANT else next(data[kind]) for kind, x in slots]
            args, keywords = structure.unflatten(values)
            results, values = jax.tree.flatten(self.function(*args, **keywords))
            structures.append(values)
            return results

        flat.__name__ = self.function.__name__
        whole = one_kernel(flat) if self.as_one_kernel and on_one_processor() else flat
        return jax.jit(whole, compiler_options=self.options), structures

    def _name(self, leaves: list[Any], structure: Any, more: dict[str, Any]) -> str | None:
        """Return the file name of a program: a hash of everything that determines its code; None
        if it cannot be stored.

        more: compiler options in addition to those of the function.
        """
        if not _can_be_stored():
            return None
        function = f"{self.function.__module__}.{self.function.__qualname__}"
        options = [f"{name}={_option(name)}" for name in OPTIONS]
        try:
            if not _is_named(self.function, through=self):
                raise NotStorableError
            kinds = [_slot(x)[0] for x in leaves]
            arguments = f"{described(structure.unflatten(leaves))} {kinds}"
        except NotStorableError:
            return None
        text = "\n".join([function, *options, str(self.options | more), _environment(), arguments])
        return hashlib.sha256(text.encode()).hexdigest()


def _is_packed(x: object) -> bool:
    """Return whether an argument is passed to the program together with other small NumPy
    arrays.

    JAX takes five microseconds for each array of NumPy, as long as a step of an integration.
    """
    return isinstance(x, NUMPY) and x.size <= MAX_PACKED and x.dtype == FLOAT64


def _slot(x: Any) -> tuple[str, Any]:
    """Return how an argument is passed to a program, and the shape of numbers or a constant."""
    if _is_packed(x):
        return NUMBERS, x.shape
    return (ARRAY, None) if isinstance(x, ARRAYS) else (CONSTANT, x)


def _unpacked(numbers: Any, shapes: list[tuple[int, ...]]) -> Iterator[Any]:
    """Yield small arrays of these shapes from one array of their numbers."""
    ends = np.cumsum([0, *map(math.prod, shapes)]).tolist()
    for first, last, shape in zip(ends[:-1], ends[1:], shapes, strict=True):
        yield jax.lax.reshape(jax.lax.slice(numbers, (first,), (last,)), shape)


def described(value: Any, constant: bool = False) -> str:
    """Describe an argument by a text that is equal in all processes.

    Arrays are described by shape and dtype, those that are ``constant`` by their bytes as well.

    >>> described((0.5, np.zeros(3)))
    'tuple(float 0.5, float64 (3,))'
    """
    inner = partial(described, constant=constant)
    kind = type(value)
    if isinstance(value, ARRAYS):
        shape = f"{value.dtype} {value.shape}"
        return f"{shape} {np.asarray(value).tobytes().hex()}" if constant else shape
    if kind in PLAIN:
        return f"{kind.__name__} {value!r}"
    if isinstance(value, tuple | list) and (kind in (tuple, list) or _is_ours(kind)):
        return f"{_type_name(kind)}({', '.join(map(inner, value))})"
    if kind is dict:
        return f"dict({', '.join(f'{inner(n)}: {inner(x)}' for n, x in value.items())})"
    if isinstance(value, np.dtype):
        return f"dtype {value.str}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and _is_ours(kind):
        parts = (
            described(getattr(value, f.name), constant or f.metadata.get("static", False))
            for f in dataclasses.fields(value)
        )
        return f"{_type_name(kind)}({', '.join(parts)})"
    if callable(value) and _is_ours(value):
        return f"named {_type_name(value)}"
    raise NotStorableError(_type_name(kind))


def _is_ours(value: object) -> bool:
    """Return whether a class or a function is defined by the package, so that its source is
    hashed.
    """
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] == PACKAGE and _is_named(value)


def _is_named(value: object, through: object = None) -> bool:
    """Return whether an object can be found by its qualified name; a closure cannot."""
    value_of_name: Any = sys.modules.get(value.__module__)
    for part in getattr(value, "__qualname__", "").split("."):
        value_of_name = getattr(value_of_name, part, None)
    return value_of_name is value or (through is not None and value_of_name is through)


def _type_name(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}" if _is_ours(kind) else str(kind.__qualname__)


def _option(name: str) -> Any:
    """Return the present value of an option of JAX."""
    return getattr(jax.config, name)


def _can_be_stored() -> bool:
    """Return whether this package stores compiled programs; False if JAX caches them itself.

    XLA cannot write a program that JAX has read from its own cache: it leaves out the functions.
    """
    by_jax = _option("jax_compilation_cache_dir") and _option("jax_enable_compilation_cache")
    return program_store.is_on() and not by_jax and on_one_processor()


@cache
def on_one_processor() -> bool:
    """Return whether the only device is a processor."""
    return jax.default_backend() == "cpu" and jax.device_count() == 1


@cache
def _environment() -> str:
    """Describe versions, options and processor, which all programs depend on."""
    versions = (jax.__version__, jaxlib.__version__, eqx.__version__, np.__version__)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    flags = os.environ.get("XLA_FLAGS", "")
    python = platform.python_version()
    sources = digest_of_package()
    return "\n".join(map(str, (__version__, *versions, python, cores, flags, sources, _cpu())))


def _cpu() -> str:
    """Describe the processor and its features: code for one may not run on another."""
    try:
        lines = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
    except OSError:  # not Linux
        return repr(platform.uname()[4:])
    features = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU ")
    return "\n".join(line for line in lines if line.startswith(features))


def _store(name: str, program: Program) -> None:
    count = program.structure.num_leaves
    try:
        results = pickle.dumps(jax.tree.unflatten(program.structure, range(count)))
        code = serialize_executable.serialize(program.call)[0]
    except (
        Exception
    ):  # programs that JAX or pickle cannot write are compiled again by every process
        return
    program_store.write(name, pickle.dumps((code, count, results)))


def _call_of_loaded(
    name: str | None, arrays: list[Any], calls: float
) -> tuple[Program, list[Any]] | None:
    """Return a stored program and the results of its first call; None if there is none."""
    program = None if name is None else _loaded(name, len(arrays), calls)
    if name is None or program is None:
        return None
    try:
        return program, program.call(arrays)
    except jax.errors.JaxRuntimeError:  # a damaged program may fail only when called
        program_store.remove(name)
        return None


def _loaded(name: str, arguments: int, calls: float) -> Program | None:
    """Return a stored program, for a number of calls; None if there is none."""
    content = program_store.read(name)
    if content is None:
        return None
    try:
        code, count, results = pickle.loads(content)
        given, returned = jax.tree.structure((([0] * arguments,), {})), [0] * count
        call = serialize_executable.deserialize_and_load(code, given, jax.tree.structure(returned))
        return Program(call, jax.tree.structure(pickle.loads(results)), calls)
    except Exception:  # it is compiled and stored again
        program_store.remove(name)
        return None

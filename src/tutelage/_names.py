"""Errors about names of arguments: unknown, missing, or too many.

``docs/not_here.md`` lists what the package does not have, and where to find it instead.
"""

import difflib
import inspect
from collections.abc import Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar

from tutelage._checks import InputError, short_repr

Class = TypeVar("Class", bound=type)

PAGE = "docs/not_here.md, What is not here"
# Names that people try and that the package does not have, with the reason.
UNSUPPORTED = {
    "temperature": "equilibrium is computed in the limit of a high temperature",
    "hidden": "the theory has one hidden layer, whose units are those of the committees",
    "bias": "units of the theory have no bias",
    "device": "JAX chooses where to compute",
    "gpu": "JAX chooses where to compute",
    "epochs": "every example is used once; the number of examples is until times N",
    "examples": "every example is used once; the number of examples is until times N",
}
USAGE_IN_SCENARIO = "tl.Scenario(student, teacher, {name}=...)"
ITERATE = "tl.online.iterate(scenario, start, 0.1, steps=100, optimizer=tl.optimizers.Muon())"
# Where to give arguments that are often passed to the wrong call; `tutelage.model.numbers` adds the
# numbers of a scenario.
USAGE_OF_ARGUMENT = {
    "teacher_overlaps": USAGE_IN_SCENARIO,
    "activation": "tl.Committee(2, tl.ReLU())",
    "readout": "tl.Committee(2, tl.ReLU(), readout=[1, -1])",
    "optimizer": ITERATE,
    "momentum": (
        f"on-line, momentum μ acts like the learning rate η/(1 - μ); with large batches {ITERATE}"
    ),
    "readout_rate": "tl.online.evolve(scenario, start, 0.5, until=100, readout_rate=0.5)",
    "batch": "tl.online.evolve(scenario, start, learning_rate=0.5, until=100, batch=8)",
    "learning_rate": "tl.online.evolve(scenario, start, learning_rate=0.5, until=100)",
    "seed": "tl.simulation.chain or tl.simulation.network: the theory has nothing random",
    "runs": "tl.simulation.chain or tl.simulation.network: the theory has nothing random",
}
# How to give workers to a sweep, by the names of other libraries.
WORKERS = {
    **dict.fromkeys(
        (
            "n_workers",
            "num_workers",
            "n_jobs",
            "njobs",
            "jobs",
            "processes",
            "n_processes",
            "cores",
        ),
        "workers=4, a number of processes on this machine",
    ),
    **dict.fromkeys(
        ("client", "scheduler", "cluster", "address", "executor", "pool"),
        'workers="tcp://HOST:8786", the address of a Dask scheduler; '
        "for a Dask client workers=client.scheduler.address",
    ),
}
# Similarity above which a name is suggested: a typing error, not another meaning.
CLOSE_MATCH_CUTOFF = 0.7


def unknown_name_error(
    name: str, received: str, available: Iterable[str], listed: str
) -> InputError:
    """Return the error for an unknown name: why it does not exist, or the name that is closest.

    name: with the dashes of an option or without.
    available: the names that exist.
    listed: a sentence that lists them, or the place of the list.
    """
    word = name.lstrip("-").replace("-", "_")
    if word in UNSUPPORTED:
        return InputError(name, received, UNSUPPORTED[word], PAGE)
    matches = difflib.get_close_matches(name, list(available), n=1, cutoff=CLOSE_MATCH_CUTOFF)
    return InputError(name, received, listed, matches[0] if matches else PAGE)


def bind_arguments(
    signature: inspect.Signature, called: str, args: tuple, options: Mapping[str, Any]
) -> inspect.BoundArguments:
    """Bind the arguments of a call to their names; raise InputError instead of TypeError.

    >>> bind_arguments(inspect.signature(lambda time, until=1: None), "evolve", (1,), {"untli": 2})
    Traceback (most recent call last):
        ...
    tutelage._checks.InputError: untli: got an argument that evolve does not have, but it has \
time, until. Try: until.
    """
    try:
        return signature.bind(*args, **options)
    except TypeError:
        raise _problem(signature, called, args, options) from None


class SignatureParameters:
    """The parameters of a function, for binding arguments to them in a fifth of the time.

    `bound` returns None where `inspect` has to decide: for arguments that do not fit, and for
    functions with positional-only or variable parameters.
    """

    def __init__(self, signature: inspect.Signature):
        every = signature.parameters.values()
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        self._is_plain = all(p.kind in kinds for p in every)
        self._by_place = tuple(p.name for p in every if p.kind is kinds[0])
        self._order = tuple(p.name for p in every)
        self._names = frozenset(self._order)
        self._needed = tuple(p.name for p in every if p.default is p.empty)

    def bound(self, args: tuple, options: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the arguments of a call by name.

        >>> parameters = SignatureParameters(inspect.signature(lambda time, until=1: None))
        >>> parameters.bound((1,), {"until": 2}), parameters.bound((1,), {"untli": 2})
        ({'time': 1, 'until': 2}, None)
        """
        if not self._is_plain or len(args) > len(self._by_place):
            return None
        arguments = dict(zip(self._by_place, args, strict=False))
        if not self._names.issuperset(options) or not arguments.keys().isdisjoint(options):
            return None
        arguments.update(options)
        if not all(name in arguments for name in self._needed):
            return None
        return {name: arguments[name] for name in self._order if name in arguments}


def with_checked_arguments(kind: Class) -> Class:
    """Decorate a class so that its constructor raises InputError for wrong names of arguments."""
    method = "__new__" if issubclass(kind, tuple) else "__init__"
    make = getattr(kind, method)
    signature = inspect.signature(make)
    parameters = SignatureParameters(signature)

    @wraps(make)
    def checked(self: object, *args: Any, **options: Any) -> Any:
        if parameters.bound((self, *args), options) is None:
            bind_arguments(signature, kind.__name__, (self, *args), options)
        return make(self, *args, **options)

    setattr(kind, method, checked)
    return kind


def _problem(
    signature: inspect.Signature, called: str, args: tuple, options: Mapping[str, Any]
) -> InputError:
    every = {n: p for n, p in signature.parameters.items() if n not in ("self", "_cls")}
    args = args[len(signature.parameters) - len(every) :]
    listed = f"it has {', '.join(every)}" if every else "it takes no arguments"
    for name in options:
        if name not in every:
            return _unknown_argument(name, called, every, listed)
    by_place = [n for n, p in every.items() if p.kind is not p.KEYWORD_ONLY]
    if len(args) > len(by_place):
        rest = [n for n in every if n not in by_place and n not in options]
        hint = f"{rest[0]}={short_repr(args[len(by_place)])}" if rest else ""
        allowed = (
            f"{called} takes {len(by_place)} positional arguments: {', '.join(by_place) or 'none'}"
        )
        return InputError("arguments", f"{len(args)} positional arguments", allowed, hint)
    for name in by_place[: len(args)]:
        if name in options:
            return InputError(name, "two values", "one value is allowed", f"only {name}=...")
    needed = [n for n, p in every.items() if p.default is p.empty]
    missing = next(n for n in needed[len(args) :] if n not in options)
    return InputError(missing, "nothing", f"{called} needs {', '.join(needed)}")


def _unknown_argument(
    name: str, called: str, available: Mapping[str, object], listed: str
) -> InputError:
    received = f"an argument that {called} does not have"
    if name in USAGE_OF_ARGUMENT:
        return InputError(name, received, listed, USAGE_OF_ARGUMENT[name].format(name=name))
    return unknown_name_error(name, received, available, listed)

"""Check call arguments against their annotations, before any work.

`validated` decorates every public function.  It refuses to compute in less than float64,
an argument that the function does not have (`_names`), and a value of another type than the
annotation: a `Scenario`, a whole number, a number, True or False, a text, a function, a Dataset.
Ranges and shapes are not part of annotations; functions check them with `_checks`.
Arrays are annotated as ``Any`` or by their shape, and pass.
"""

import inspect
import os
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from numbers import Integral, Rational
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from tutelage._checks import InputError, check_float64, is_number, is_traced, short_repr
from tutelage._names import WORKERS, SignatureParameters, bind_arguments

Function = TypeVar("Function", bound=Callable[..., Any])

NAMED = {
    float: "a number",
    int: "a whole number",
    bool: "True or False",
    str: "a text",
    Path: "a file name",
    type(None): "None",
    Callable: "a function",
    Mapping: "a mapping",
    Sequence: "a list",
    Iterable: "a list",
    tuple: "a tuple",
    list: "a list",
}
# Hints: how to build values of these types.
MADE_BY = {
    "Scenario": "tl.Scenario(...)",
    "Overlaps": "tl.Overlaps(Q, R, T)",
    "Method": "'orthant', 'erf', 'hermite', 'quadrature' or tl.averages.Hermite(order=20)",
    "Committee": "tl.Committee(2, tl.ReLU())",
    "Activation": "tl.ReLU(), tl.Erf() or tl.Activation.from_function(f)",
    "Network": "tl.deep.network(weights)",
    "ConvNet": "tl.deep.images.convnet((64, 64))",
    "AbstractGate": "tl.gates.Gate([0, 1])",
    "Dataset": "the result of a public function, or tl.results.load(path)",
    "Examples": "tl.spectra.examples(inputs, labels)",
}


def validated(function: Function) -> Function:
    """Decorator that checks the arguments of a call against the annotations of the function.

    >>> @validated
    ... def twice(times: int) -> int:
    ...     return 2 * times
    >>> twice(2.5)
    Traceback (most recent call last):
        ...
    tutelage._checks.InputError: times: got 2.5, but it has to be a whole number.
    """
    signature = inspect.signature(function)
    parameters = SignatureParameters(signature)
    called = function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def entered(*args: Any, **options: Any) -> Any:
        check_float64()
        kinds, arguments = _kinds(function), parameters.bound(args, options)
        if arguments is not None:
            return function(**_converted(arguments, kinds))
        call = bind_arguments(signature, called, args, options)
        call.arguments.update(_converted(call.arguments, kinds))
        return function(*call.args, **call.kwargs)

    return entered  # type: ignore[return-value]


def _converted(arguments: Mapping[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse arguments of other types than their annotations; convert numbers to plain ones."""
    converted = dict(arguments)
    for name, value in arguments.items():
        kind = kinds.get(name, Any)
        if kind is Any or type(value) is kind:
            continue
        if not fits(value, kind):
            refuse(name, value, kind)
        if value is None or type(value) is float:
            continue
        if isinstance(value, np.ndarray):
            if value.ndim == 0 and kind is float:
                converted[name] = value[()]
        elif isinstance(value, Rational) and float in (kind, *get_args(kind)):
            converted[name] = _as_number(name, value)
        elif isinstance(value, np.integer) and int in (kind, *get_args(kind)):
            converted[name] = int(value)
    return converted


@cache
def _kinds(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the resolved annotations; resolution waits for the first call because some name lazy
    modules.
    """
    return get_type_hints(function)


def fits(value: object, kind: Any) -> bool:
    """Return whether a value has the type of an annotation.

    >>> fits(3, int), fits(True, int), fits(2, float | None), fits("a", Literal["b"])
    (True, False, True, False)
    """
    if kind is Any or type(value) is kind:
        return True
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return type(value) in inner or any(fits(value, one) for one in inner)
    if origin is Literal:
        return isinstance(value, str | int | type(None)) and value in inner
    if origin in (Sequence, Iterable, list, tuple):
        return _sequence(value, origin, inner)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            fits(part, one)
            for item in value.items()
            for part, one in zip(item, inner, strict=False)
        )
    kind = origin or kind
    if kind in (float, int, bool):
        return is_traced(value) or _number(value, kind)
    if kind is Path:
        return isinstance(value, str | os.PathLike)
    if kind is Callable or getattr(kind, "__name__", "") == "Callable":
        return callable(value)
    # An array argument accepts everything that NumPy converts; the function itself checks the
    # shape.
    if not isinstance(kind, type) or kind is np.ndarray or hasattr(kind, "array_type"):
        return True
    return isinstance(value, kind)


def _number(value: object, kind: type) -> bool:
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    return is_number(value) and (kind is float or isinstance(value, Integral))


def _as_number(name: str, value: Rational) -> Any:
    """Convert a whole number of at most 64 bits to int, any other number to float."""
    if isinstance(value, Integral) and abs(int(value)) < 2**63:
        return int(value)
    try:
        return float(value)
    except OverflowError:
        raise InputError(name, short_repr(value), "it has to be a number below 1.8e308") from None


def _sequence(value: object, origin: object, inner: tuple) -> bool:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return False
    if getattr(value, "ndim", 1) == 0 or not (origin is Iterable or hasattr(value, "__getitem__")):
        return False
    if origin is tuple and inner and inner[-1] is not Ellipsis:
        return len(value) == len(inner) and all(map(fits, value, inner))  # type: ignore
    once = origin is Iterable and not isinstance(
        value, list | tuple
    )  # an iterator: reading its entries would exhaust it
    return once or not inner or all(fits(x, inner[0]) for x in value)


def refuse(name: str, value: object, kind: Any) -> None:
    parts = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    allowed = " or ".join(dict.fromkeys(map(_words, parts)))
    hints = [MADE_BY[part.__name__] for part in parts if getattr(part, "__name__", "") in MADE_BY]
    if name == "workers" and str in parts:
        hints = [f"workers=4, or {WORKERS['client']}"]
    if any(_is_entry(value, part) for part in parts):
        hints = [f"{name}=[...], a list that contains this value"]
    raise InputError(name, short_repr(value), f"it has to be {allowed}", hints[0] if hints else "")


def _is_entry(value: object, kind: Any) -> bool:
    """Return whether a value is one entry of the list that an annotation asks for."""
    inner = get_args(kind)
    if get_origin(kind) not in (Sequence, Iterable, list) or not inner or inner[0] is Any:
        return False
    return fits(value, inner[0])


def _words(kind: Any) -> str:
    """Describe an annotation in words."""
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(repr, get_args(kind)))
    plain = get_origin(kind) or kind
    if plain in NAMED:
        return NAMED[plain]
    name = getattr(plain, "__name__", "")
    if "ndarray" in name or hasattr(plain, "array_type"):
        return "an array"
    name = name.removeprefix("Abstract")
    article = "" if name.endswith("s") else "an " if name[:1] in "AEIOU" else "a "
    return article + name

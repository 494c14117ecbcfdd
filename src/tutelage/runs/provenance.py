"""Function and arguments that a result was computed with, as attributes of its Dataset.

`recorded` writes the arguments of a function into the attributes of the Dataset that it returns:
numbers and text unchanged, everything else as JSON.  An object of this package is written as its
type and the arguments of its constructor, which are its attributes of the same names.
`tutelage.runs.recompute` reads the arguments back.
"""

import hashlib
import inspect
import json
import platform
from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial, wraps
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from tutelage import __version__
from tutelage._arguments import validated
from tutelage._names import SignatureParameters
from tutelage.runs.public_names import UNRECORDED, name_of

Function = TypeVar("Function", bound=Callable[..., Any])

# Larger arrays are not written into attributes.
MAX_WRITTEN_NUMBERS = 10_000
# Texts of arrays in the cache, and the size of an array without a text there.
MAX_CACHED_ARRAYS, MAX_CACHED_SIZE = 16, 1000
# Marks a value that cannot be written, with the reason.
UNWRITTEN = "not written"
NEEDED = inspect.Parameter.empty
# Types that are written unchanged; isinstance with abstract classes would be slower.
PLAIN = (float, int, str, bool, type(None))


def recorded(
    function: Function | None = None,
    *,
    name: str | None = None,
    from_variables: Mapping[str, Callable[[xr.Dataset], Any]] | None = None,
) -> Any:
    """Decorate a function so that its Dataset records how to compute it again.

    It adds the attributes ``computed_by``, one for every argument except `checkpoint` and
    `progress`, and the versions.

    Args:
        function: a public function that returns a Dataset.
        name: its name after ``tl.``; by default package and function name.
        from_variables: functions of the Dataset, for arguments that it holds as variables.
    """
    if function is None:
        return partial(recorded, name=name, from_variables=from_variables)
    signature = inspect.signature(function)
    parameters = SignatureParameters(signature)
    defaults = {name: p.default for name, p in signature.parameters.items()}
    enter = validated(function)
    called = name or f"{function.__module__.split('.')[1]}.{function.__name__}"
    left_out = {*UNRECORDED, *(from_variables or ())}

    @wraps(function)
    def computed(*args: Any, **options: Any) -> xr.Dataset:
        result = enter(*args, **options)
        arguments = parameters.bound(args, options)
        if arguments is None:
            call = signature.bind(*args, **options)
            call.apply_defaults()
            arguments = call.arguments
        every = {name: arguments.get(name, default) for name, default in defaults.items()}
        given = {name: x for name, x in every.items() if name not in left_out}
        attrs = {name: attribute(value) for name, value in given.items()}
        result.attrs = {"computed_by": called, **result.attrs, **attrs, **versions()}
        return result  # type: ignore[no-any-return]

    computed.from_variables = dict(from_variables or {})  # type: ignore[attr-defined]
    return computed


def versions() -> dict[str, str]:
    """Return the versions of the package, JAX and Python."""
    from tutelage._jax import jax  # not imported to read a file

    return {
        "tutelage_version": __version__,
        "jax_version": jax.__version__,
        "python_version": platform.python_version(),
    }


def attribute(value: object) -> Any:
    """Return a number or a text unchanged, anything else as JSON.

    >>> attribute(0.5), attribute("gaussian"), attribute([1, 2]), attribute(None)
    (0.5, 'gaussian', '[1, 2]', 'null')
    """
    if value is None:
        return "null"
    if type(value) is float:
        return value
    if (
        isinstance(value, np.ndarray)
        and value.dtype.kind in "biuf"
        and value.size < MAX_CACHED_SIZE
    ):
        return _text_of_array(value.tobytes(), value.dtype.str, value.shape)
    return _attribute(value)


@lru_cache(MAX_CACHED_ARRAYS)
def _text_of_array(content: bytes, dtype: str, shape: tuple[int, ...]) -> Any:
    """Return the attribute of an array: the recorded times are the same in many calls."""
    return _attribute(np.frombuffer(content, dtype).reshape(shape))


def _attribute(value: object) -> Any:
    plain = described(value)
    if isinstance(plain, int | float) and not isinstance(plain, bool):
        return plain
    return plain if isinstance(plain, str) and not is_json(plain) else json.dumps(plain)


def is_json(text: str) -> bool:
    """Return whether a text is valid JSON and would therefore be read back as something else."""
    try:
        json.loads(text)
        return True
    except (ValueError, RecursionError):  # not JSON, or lists nested too deeply
        return False


def described(value: object) -> Any:
    """Describe a value by numbers, text, lists and mappings.

    >>> import tutelage as tl
    >>> described(tl.Swish(0.5))
    {'type': 'activations.Swish', 'beta': 0.5}
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind.__module__.startswith("tutelage."):
        return _object(value)
    if getattr(value, "ndim", 0) and hasattr(value, "__array__"):
        return _array(np.asarray(value))
    if isinstance(value, str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, type) and name_of(value):
        return {"class": name_of(value)}
    if isinstance(value, xr.Dataset):
        return {"dataset": {name: described(x) for name, x in value.attrs.items()}}
    if isinstance(value, Mapping):
        return {str(name): described(x) for name, x in value.items()}
    if isinstance(value, list | tuple | range):
        return [described(x) for x in value]
    if hasattr(value, "__array__"):
        return _array(np.asarray(value))
    return unwritten(value)


def unwritten(value: object) -> dict[str, str]:
    """Return a marker for a value that a file cannot hold."""
    name = getattr(value, "__name__", getattr(value, "name", type(value).__name__))
    return {UNWRITTEN: f"the function {name!r}" if callable(value) else f"an object {name!r}"}


def _array(array: np.ndarray) -> Any:
    if array.size <= MAX_WRITTEN_NUMBERS and array.dtype.kind in "biufUS":
        return array.tolist()
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]
    return {UNWRITTEN: f"an array of shape {array.shape}", "sha256": digest}


def _object(value: object) -> Any:
    """Describe an object by the name of its type and the arguments of its constructor."""
    kind = type(value)
    name = name_of(kind)
    if name is None:
        return unwritten(value)
    description: dict[str, Any] = {"type": name}
    for argument, default in constructor(kind).items():
        x = getattr(value, argument, NEEDED)
        if x is not NEEDED:
            description[argument] = described(x)
        elif default is NEEDED:
            return unwritten(value)
    return description


def constructor(kind: type) -> Mapping[str, Any]:
    """Return the arguments of a constructor and their defaults."""
    fields = getattr(kind, "_fields", None)  # of a named tuple
    if fields:
        return {name: kind._field_defaults.get(name, NEEDED) for name in fields}  # type: ignore
    return _parameters(kind.__init__)  # type: ignore[misc]


@cache
def _parameters(method: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the arguments of a method and their defaults."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return {parameter.name: parameter.default for parameter in parameters}

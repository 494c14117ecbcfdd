"""Parts of a model in order: layers, functions and unsupported parts."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import PyTree

from tutelage._jax import jnp
from tutelage.bridge.description import Description, Dropout, Function, Layer, described

IDENTITY = Function("identity", lambda x: x, lambda x: x)
# A part that the theory lacks is described by a text instead.
Part = Layer | Function | Dropout | str


def assembled(
    argument: str,
    framework: str,
    parts: Iterable[Part],
    *,
    ordered: bool,
    **known: object,
) -> Description:
    """Describe the parts; in an ordered model the functions are those between the layers."""
    every = list(parts)
    layers = [part for part in every if isinstance(part, Layer)]
    strange = [part for part in every if isinstance(part, str)]
    functions = [part for part in every if isinstance(part, Function)]
    if ordered and layers:
        functions, odd = _between(every)
        strange += odd
    dropout = tuple(part.words for part in every if isinstance(part, Dropout) and part.rate > 0)
    known |= {"functions": tuple(functions), "strange": tuple(strange), "ordered": ordered}
    known |= {"dropout": dropout}
    return described(argument, framework, layers, **known)


def _between(parts: list[Any]) -> tuple[list[Function], list[str]]:
    """Return one function after each layer but the last, and the parts that the theory lacks."""
    places: list[list[Function]] = [[]]
    for part in parts:
        if isinstance(part, Layer):
            places.append([])
        elif isinstance(part, Function):
            places[-1].append(part)
    before, *between, last = places
    strange = [f"{f.name} before the first layer" for f in before]
    if not between:  # one layer: functions after it are its activation
        return [_composed(last)], strange
    return [_composed(some) for some in between], strange + [f"{f.name} at the end" for f in last]


def _composed(functions: list[Function]) -> Function:
    if not functions:
        return IDENTITY
    if len(functions) == 1:
        return functions[0]
    first, *rest = functions
    inner = _composed(rest)
    both = first.jax is not None and inner.jax is not None
    return Function(
        f"{first.name} and {inner.name}",
        lambda x: inner.values(first.values(x)),
        (lambda x: inner.jax(first.jax(x))) if both else None,  # type: ignore[misc]
    )


def jax_function(function: Any) -> Function:
    """Return a function of JAX arrays."""
    name = getattr(function, "__name__", None) or type(function).__name__

    def values(x: np.ndarray) -> np.ndarray:
        return np.asarray(function(np.asarray(x, dtype=np.float64)), dtype=np.float64)

    return Function(name, values, function)


def in_float64(x: PyTree) -> Any:
    """Convert a leaf of real numbers to float64; return any other leaf unchanged."""
    real = hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.floating)
    return jnp.asarray(x, jnp.float64) if real else x

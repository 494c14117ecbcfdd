"""Equinox modules: weights are (out, in), and a module takes one example."""

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import equinox as eqx
import numpy as np

from tutelage._jax import jax, jnp
from tutelage.bridge.description import Description, Dropout, layer
from tutelage.bridge.frameworks.arrays import as_array
from tutelage.bridge.frameworks.parts import Part, assembled, in_float64, jax_function

PASSIVE = ("Identity",)


def read(argument: str, module: object) -> Description:
    """Describe every linear layer of a module, at any depth."""
    return assembled(
        argument,
        "Equinox",
        _parts(argument, module, ""),
        ordered=_is_chain(module),
        call=_evaluated(module),
    )


def _parts(argument: str, module: object, name: str) -> Iterator[Part]:
    kind = type(module).__name__
    own = type(module).__module__.startswith("equinox.")
    if isinstance(module, eqx.nn.Linear):
        bias = None if module.bias is None else as_array(argument, module.bias)
        yield layer(argument, name or "linear", as_array(argument, module.weight), bias)
    elif isinstance(module, eqx.nn.MLP):
        yield from _perceptron(argument, module, name)
    elif isinstance(module, eqx.nn.Dropout):
        yield Dropout(name, kind, float(module.p))
    elif isinstance(module, eqx.nn.Lambda):
        yield jax_function(module.fn)
    elif isinstance(module, eqx.Module) and own and kind in PASSIVE:
        return
    elif isinstance(module, eqx.Module) and own and not isinstance(module, eqx.nn.Sequential):
        function = "activation" in type(module).__module__
        yield jax_function(module) if function else f"{name} ({kind})".strip()
    elif isinstance(module, eqx.Module | list | tuple | Mapping):
        for inner, child in _children(module):
            yield from _parts(argument, child, f"{name}.{inner}".lstrip("."))
    elif hasattr(module, "dtype"):
        yield f"{name} (a parameter without a layer)"
    elif callable(module):
        yield jax_function(module)


def _perceptron(argument: str, module: Any, name: str) -> Iterator[Part]:
    """Yield the layers of an MLP and its activations; no final activation if it is the identity."""
    for i, one in enumerate(module.layers):
        if i:
            yield jax_function(module.activation)
        yield from _parts(argument, one, f"{name}.layers.{i}".lstrip("."))
    x = np.linspace(-2.0, 2.0, 9)
    last = jax_function(module.final_activation)
    if not np.array_equal(last.values(x), x):
        yield last


def _children(module: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(module, eqx.Module):
        fields = dataclasses.fields(module)
        yield from ((f.name, getattr(module, f.name)) for f in fields)
    elif isinstance(module, Mapping):
        yield from module.items()
    else:
        yield from ((str(i), child) for i, child in enumerate(module))


def _is_chain(module: object) -> bool:
    if isinstance(module, eqx.nn.Sequential):
        return all(not isinstance(x, eqx.Module) or _is_chain(x) for x in module.layers)
    return type(module).__module__.startswith("equinox.")


def _evaluated(module: object) -> Any:
    """Return the module as a function of NumPy arrays, evaluated by a copy in float64."""

    @cache
    def precise() -> Any:
        return jax.vmap(eqx.nn.inference_mode(jax.tree.map(in_float64, module)))

    return lambda x: np.asarray(precise()(jnp.asarray(x)), dtype=np.float64)


def functional(argument: str, module: object) -> tuple[Any, Any]:
    """Return the arrays of a module, and the module as a function of them."""
    moving, fixed = eqx.partition(eqx.nn.inference_mode(module), eqx.is_inexact_array)
    return moving, lambda tree, x: jax.vmap(eqx.combine(tree, fixed))(x)

"""Flax linen modules that are bound to their variables: kernels are (in, out)."""

from dataclasses import replace
from typing import Any

import numpy as np

from tutelage._checks import InputError
from tutelage._jax import jax, jnp
from tutelage.bridge.description import Description
from tutelage.bridge.frameworks import arrays
from tutelage.bridge.frameworks.parts import in_float64


def read(argument: str, module: Any) -> Description:
    """The parameters of a bound module as a mapping, and the module to evaluate."""
    plain, tree = _unbound(argument, module)
    found = arrays.read(argument, tree)
    precise = jax.tree.map(in_float64, tree)
    return replace(
        found,
        framework="Flax (linen)",
        call=lambda x: np.asarray(plain.apply(precise, jnp.asarray(x)), dtype=np.float64),
    )


def functional(argument: str, module: Any) -> tuple[Any, Any]:
    """Its parameters, and the module as a function of them; other variables stay as they are."""
    plain, variables = _unbound(argument, module)
    rest = {name: x for name, x in jax.tree.map(in_float64, variables).items() if name != "params"}
    return variables["params"], lambda tree, x: plain.apply({"params": tree, **rest}, x)


def _unbound(argument: str, module: Any) -> tuple[Any, Any]:
    """The module, and its variables."""
    if module.scope is None:
        came, allowed = "a linen module without parameters", "it has to be bound to its variables"
        raise InputError(argument, came, allowed, "module.bind(variables), or variables alone")
    plain, variables = module.unbind()
    return plain, dict(variables)

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
    if module.scope is None:
        came, allowed = "a linen module without parameters", "it has to be bound to its variables"
        raise InputError(argument, came, allowed, "module.bind(variables), or variables alone")
    plain, variables = module.unbind()
    tree = jax.tree.map(lambda x: x, variables)
    found = arrays.read(argument, tree)
    precise = jax.tree.map(in_float64, tree)
    return replace(
        found,
        framework="Flax (linen)",
        call=lambda x: np.asarray(plain.apply(precise, jnp.asarray(x)), dtype=np.float64),
    )

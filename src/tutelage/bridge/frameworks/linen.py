"""Flax linen modules that are bound to their variables: kernels are (in, out)."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from tutelage._checks import InputError
from tutelage._jax import jax, jnp
from tutelage.bridge.description import Description, Dropout
from tutelage.bridge.frameworks import arrays
from tutelage.bridge.frameworks.parts import in_float64


def read(argument: str, module: object) -> Description:
    """Describe the parameters of a bound module as a mapping, with the module to evaluate."""
    plain, tree = _unbound(argument, module)
    description = arrays.read(argument, tree)
    precise = jax.tree.map(in_float64, tree)
    return replace(
        description,
        framework="Flax (linen)",
        dropout=_dropout(plain, tree, description.inputs),
        call=lambda x: np.asarray(plain.apply(precise, jnp.asarray(x)), dtype=np.float64),
    )


def _dropout(module: object, variables: object, inputs: int) -> tuple[str, ...]:
    """Describe dropout layers, which are visible only while the code of a module runs."""
    leaves, structure = jax.tree.flatten(variables)
    shapes = tuple(jax.ShapeDtypeStruct(np.shape(x), jnp.result_type(x)) for x in leaves)
    try:
        return _traced_dropout(module, structure, shapes, inputs)
    except TypeError:  # a module with fields that cannot be hashed
        return _traced_dropout.__wrapped__(module, structure, shapes, inputs)


@lru_cache(maxsize=16)  # a recorder reads the same module at every record
def _traced_dropout(
    module: Any, structure: Any, shapes: tuple[Any, ...], inputs: int
) -> tuple[str, ...]:
    from flax import linen

    layers: dict[str, Dropout] = {}

    def note(call: Any, args: Any, options: Any, context: Any) -> Any:
        if isinstance(context.module, linen.Dropout):
            name = str(context.module.name)
            layers[name] = Dropout(name, "Dropout", float(context.module.rate))
        return call(*args, **options)

    variables = jax.tree.unflatten(structure, shapes)
    try:
        with linen.intercept_methods(note):
            jax.eval_shape(module.apply, variables, jax.ShapeDtypeStruct((1, inputs), float))
    except Exception:  # a module that needs further inputs is described as far as it ran
        pass
    return tuple(one.words for one in layers.values() if one.rate > 0)


def functional(argument: str, module: object) -> tuple[Any, Any]:
    """Return the parameters, and the module as a function of them; other variables are fixed."""
    plain, variables = _unbound(argument, module)
    rest = {name: x for name, x in jax.tree.map(in_float64, variables).items() if name != "params"}
    return variables["params"], lambda tree, x: plain.apply({"params": tree, **rest}, x)


def _unbound(argument: str, module: Any) -> tuple[Any, Any]:
    """Return the module without its variables, and the variables."""
    if module.scope is None:
        received, allowed = (
            "a linen module without parameters",
            "it has to be bound to its variables",
        )
        raise InputError(argument, received, allowed, "module.bind(variables), or variables alone")
    plain, variables = module.unbind()
    return plain, dict(variables)

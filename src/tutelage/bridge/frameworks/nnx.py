"""Flax nnx modules: kernels are (in, out)."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from tutelage._jax import jax, jnp
from tutelage.bridge.description import Description, Dropout, layer
from tutelage.bridge.frameworks.arrays import as_array
from tutelage.bridge.frameworks.parts import Part, assembled, in_float64, jax_function

PASSIVE = ("Rngs", "RngStream")


def read(argument: str, module: object) -> Description:
    """Describe every linear layer of a module, at any depth."""
    from flax import nnx

    return assembled(
        argument,
        "Flax (nnx)",
        _parts(argument, module, ""),
        ordered=isinstance(module, nnx.Linear) or _is_chain(module),
        call=_evaluated(module),
    )


def _parts(argument: str, module: object, name: str) -> Iterator[Part]:
    from flax import nnx

    kind = type(module)
    if isinstance(module, nnx.Linear):
        bias = None if module.bias is None else as_array(argument, module.bias)
        weights = as_array(argument, module.kernel)
        yield layer(argument, name or "linear", weights, bias, transposed=True)
    elif isinstance(module, nnx.Dropout):
        yield Dropout(name, kind.__name__, float(module.rate))
    elif isinstance(module, nnx.Variable):
        yield f"{name} (a parameter without a layer)"
    elif isinstance(module, nnx.Module | list | tuple | Mapping):
        own = kind.__module__.startswith("flax.nnx.nn")
        if own and kind.__name__ in PASSIVE:
            return
        if own and kind is not nnx.Sequential:
            yield f"{name} ({kind.__name__})".strip()
            return
        for inner, child in _children(module):
            yield from _parts(argument, child, f"{name}.{inner}".lstrip("."))
    elif callable(module) and kind.__name__ not in PASSIVE:
        yield jax_function(module)


def _children(module: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(module, Mapping):
        yield from module.items()
    elif not hasattr(module, "__dict__") or isinstance(module, list | tuple):
        yield from ((str(i), child) for i, child in enumerate(module))
    elif hasattr(module, "__len__") and hasattr(module, "__getitem__"):  # a list of nnx
        yield from ((str(i), module[i]) for i in range(len(module)))
    else:
        yield from ((n, x) for n, x in vars(module).items() if not n.startswith("_"))


def _is_chain(module: object) -> bool:
    from flax import nnx

    inner = list(module.layers) if isinstance(module, nnx.Sequential) else []
    return bool(inner) and all(
        not isinstance(x, nnx.Module) or isinstance(x, nnx.Linear) or _is_chain(x) for x in inner
    )


def _evaluated(module: object) -> Any:
    """Return the module as a function of NumPy arrays, computed by a copy in float64."""
    from flax import nnx

    @cache
    def precise() -> Any:
        graph, state = nnx.split(module)
        return nnx.merge(graph, jax.tree.map(in_float64, state))

    return lambda x: np.asarray(precise()(jnp.asarray(x)), dtype=np.float64)


def functional(argument: str, module: Any) -> tuple[Any, Any]:
    """Return the parameters, and the module as a function of them; other state is fixed."""
    from flax import nnx

    graph, *states = nnx.split(module, nnx.Param, ...)
    parameters, rest = states
    rest = jax.tree.map(in_float64, rest)
    return parameters, lambda tree, x: nnx.merge(graph, tree, rest)(x)

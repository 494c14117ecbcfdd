"""PyTorch modules: weights are (out, in)."""

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from tutelage.bridge.description import Description, Dropout, Function, layer
from tutelage.bridge.frameworks.arrays import as_array
from tutelage.bridge.frameworks.parts import Part, assembled

# Modules that do nothing to an input in evaluation.
PASSIVE = ("Identity", "Flatten")
# Containers, and whether their order is the order of evaluation.
CHAIN, CONTAINERS = "Sequential", ("ModuleList", "ModuleDict")


def read(argument: str, module: object) -> Description:
    """Describe every linear layer of a module, at any depth."""
    return assembled(
        argument,
        "PyTorch",
        _parts(argument, module, ""),
        ordered=_is_chain(module),
        call=_evaluated(module),
    )


def _parts(argument: str, module: Any, name: str) -> Iterator[Part]:
    kind = type(module).__name__
    own = type(module).__module__.startswith("torch.nn.modules")
    if own and kind in ("Linear", "LazyLinear"):
        bias = None if module.bias is None else as_array(argument, module.bias)
        yield layer(argument, name or "linear", as_array(argument, module.weight), bias)
    elif own and kind in PASSIVE:
        return
    elif own and "Dropout" in kind:
        yield Dropout(name, kind, float(module.p))
    elif own and kind not in (CHAIN, *CONTAINERS):
        plain = not [*module.parameters()] and not [*module.buffers()]
        yield _function(module) if plain else f"{name} ({kind})".strip()
    else:
        for raw in module._parameters:
            yield f"{name}.{raw} (a parameter without a layer)".lstrip(".")
        for inner, child in module.named_children():
            yield from _parts(argument, child, f"{name}.{inner}".lstrip("."))


def _is_chain(module: Any) -> bool:
    """Return whether an input passes the submodules in the order of their list."""
    own = type(module).__module__.startswith("torch.nn.modules")
    kind = type(module).__name__
    if own and kind == CHAIN:
        return all(map(_is_chain, module.children()))
    return own and kind not in CONTAINERS


def _function(module: Any) -> Function:
    def values(x: np.ndarray) -> np.ndarray:
        import torch

        with torch.no_grad():
            return module(torch.as_tensor(np.asarray(x, dtype=np.float64))).numpy()

    return Function(str(module), values)


def _evaluated(module: Any) -> Any:
    """Return the module as a function of NumPy arrays, evaluated by an untrained copy
    in float64.
    """

    @cache
    def precise() -> Any:
        return copy.deepcopy(module).cpu().double().eval()

    def call(x: np.ndarray) -> np.ndarray:
        import torch

        with torch.no_grad():
            return np.asarray(precise()(torch.as_tensor(x)).numpy(), dtype=np.float64)

    return call

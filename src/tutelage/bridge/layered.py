"""Activations of the nodes of layered networks of any depth, in NumPy or in JAX."""

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from tutelage._checks import InputError
from tutelage.bridge.behaviour import tolerance, units
from tutelage.bridge.description import Description, Function
from tutelage.bridge.recognition import Spline, recognised

EXAMPLES = 32


def functions(argument: str, network: Description) -> tuple[Function, ...]:
    """Return the functions between the layers, from the structure or by evaluating the network."""
    if network.strange:
        received = f"a network ({network.framework}) with {', '.join(network.strange)}"
        allowed = "it has to be dense layers with activations between them"
        raise InputError(argument, received[:300], allowed, "a function from data to activations")
    count = max(len(network.layers) - 1, 1)
    if network.ordered:
        return network.functions
    if network.call is not None:
        for g in network.functions:
            if _agrees(network, (g,) * count):
                return (g,) * count
        if len(network.layers) == 2:
            hidden = units(argument, network, None)
            if hidden.function is not None and not hidden.scaled and hidden.factor == 1:
                return (hidden.function,)
    received = f"a network ({network.framework}) whose functions between layers cannot be read"
    hint = "a model made as a sequence, or a function from data to activations"
    raise InputError(argument, received, "tutelage has to know its activations", hint)


def activations(
    network: Description, between: tuple[Function, ...], ξ: Float[np.ndarray, "n N"], layer: int
) -> Float[np.ndarray, "n nodes"]:
    """Return f_l of the nodes of layer l = 1, 2, …; of the last layer the outputs."""
    f = ξ
    for place, one in enumerate(network.layers[:layer]):
        h = f @ one.weights.T + (0.0 if one.bias is None else one.bias)
        f = between[place].values(h) if place < len(between) else h
    return f


def for_jax(function: Function) -> Any:
    """Convert a function to one that JAX can differentiate."""
    recognised_unit = recognised(function, 1e-10)
    if recognised_unit is not None:
        return lambda x: recognised_unit.factor * recognised_unit.activation(x)
    if function.jax is not None:
        return function.jax
    import jax.numpy as jnp

    return jnp.vectorize(Spline.through(function.values, ()))


def _agrees(network: Description, between: tuple[Function, ...]) -> bool:
    """Return whether the layers with these functions compute what the network computes."""
    ξ = (
        4
        / math.sqrt(network.inputs)
        * np.random.default_rng(0).standard_normal((EXAMPLES, network.inputs))
    )
    assert network.call is not None
    try:
        computed = activations(network, between, ξ, len(network.layers))
        expected = np.asarray(network.call(ξ)).reshape(computed.shape)
    except Exception:  # a model may fail in any way on inputs of a wrong shape
        return False
    return bool(
        np.max(np.abs(computed - expected)) <= tolerance(network) * np.max(np.abs(expected))
    )

"""The layered networks of `tutelage.deep`."""

from typing import Any

import numpy as np

from tutelage._jax import jnp
from tutelage.bridge.description import Description, Function, described, layer

RELU = Function("relu", lambda x: np.maximum(x, 0.0), lambda x: jnp.maximum(x, 0.0))


def read(argument: str, network: Any) -> Description:
    """Describe a deep network: its weights have shape (in, out), and all units except the
    outputs are ReLU.
    """
    pairs = enumerate(zip(network.weights, network.biases, strict=True))
    layers = [layer(argument, f"layer {i + 1}", W, b, transposed=True) for i, (W, b) in pairs]
    functions = (RELU,) * (len(layers) - 1)
    return described(
        argument,
        "tutelage.deep",
        layers,
        functions=functions,
        ordered=True,
        call=lambda x: np.asarray(network(x)),
    )

"""Keras models: kernels are (in, out), and a layer contains its activation."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Array

from tutelage._checks import InputError
from tutelage.bridge.description import Description, Dropout, Function, layer
from tutelage.bridge.frameworks.arrays import as_array
from tutelage.bridge.frameworks.parts import Part, assembled

PASSIVE = ("InputLayer", "Flatten", "Identity")


def read(argument: str, model: Any) -> Description:
    """Describe every dense layer of a model that has been built."""
    if not model.built:
        received, allowed = "a Keras model without weights", "it has to be built"
        raise InputError(argument, received, allowed, "model.build((None, inputs))")
    import keras

    return assembled(
        argument,
        "Keras",
        _parts(argument, model),
        ordered=_is_chain(model),
        call=lambda x: _numpy(model(keras.ops.convert_to_tensor(x), training=False)),
        precision=2.0**-23,  # models compute in float32, or in a lower precision on request
    )


def _parts(argument: str, part: Any) -> Iterator[Part]:
    import keras

    kind = type(part).__name__
    if isinstance(part, keras.layers.Dense):
        bias = _numpy(part.bias) if part.use_bias else None
        yield layer(argument, part.name, _numpy(part.kernel), bias, transposed=True)
        yield from _function(part.activation)
    elif isinstance(part, keras.Model):
        for inner in part.layers:
            yield from _parts(argument, inner)
    elif kind in PASSIVE:
        return
    elif "Dropout" in kind or kind == "GaussianNoise":
        yield Dropout(part.name, kind, float(getattr(part, "rate", getattr(part, "stddev", 0.0))))
    elif isinstance(part, keras.layers.Activation):
        yield from _function(part.activation)
    else:
        yield _of_layer(part) if not part.weights else f"{part.name} ({kind})"


def _function(function: Any) -> Iterator[Function]:
    import keras

    if function is not None and function is not keras.activations.linear:
        name = getattr(function, "__name__", type(function).__name__)
        yield Function(name, lambda x: _applied(function, x), _for_jax(function))


def _of_layer(part: Any) -> Function:
    """Describe a layer without weights, such as LeakyReLU."""
    return Function(type(part).__name__, lambda x: _applied(part, x))


def _applied(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    import keras

    return _numpy(function(keras.ops.convert_to_tensor(x, dtype="float64")))


def _for_jax(function: Callable[[Array], Array]) -> Any:
    import keras

    return function if keras.backend.backend() == "jax" else None


def _numpy(x: object) -> np.ndarray:
    """Convert a tensor or variable of any backend to NumPy."""
    return as_array("model", x)


def _is_chain(model: Any) -> bool:
    import keras

    chain = isinstance(model, keras.Sequential)
    return chain and all(not isinstance(x, keras.Model) or _is_chain(x) for x in model.layers)

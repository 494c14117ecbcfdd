"""Find the library of a model by the modules of its classes, without importing the library."""

import importlib
from dataclasses import replace
from functools import cache
from typing import Any

from tutelage._arguments import validated
from tutelage._checks import InputError, short_repr
from tutelage.bridge.behaviour import measured_words
from tutelage.bridge.description import Description, check_finite

# The reader of models whose class, or a parent class, is defined in a package of this name.
READERS = (
    ("tutelage.deep.network", "deep"),
    ("keras", "keras"),
    ("flax.nnx.statelib", "arrays"),
    ("flax.nnx", "nnx"),
    ("flax.linen", "linen"),
    ("flax.core", "arrays"),
    ("equinox", "equinox"),
    ("torch.nn.modules", "pytorch"),
)
HINT = "weight matrices, or a PyTorch, Flax, Equinox or Keras model"


@validated
def describe(network: object) -> Description:
    """Read the layers and activations of a network of any supported library.

    Args:
        network: one of

            - W of shape (units, inputs), or a list [W_1, W_2, …] of them, each (out, in): NumPy,
              JAX or PyTorch arrays; a second layer of one output may be (units,);
            - a mapping of names to arrays, nested or not: a PyTorch state dict (``weight``,
              (out, in)), parameters of Flax (``kernel``, (in, out));
            - a PyTorch module, a Flax nnx module, a Flax linen module that is bound to its
              variables (``module.bind(variables)``), an Equinox module, a Keras model that has
              been built, or a `tutelage.deep.Network`.

    Returns:
        A `Description`: ``layers`` with weights (out, in) in float64 and biases, the functions
        between them as far as the structure contains them, the names of parts without weights,
        and dropout.  Functions in the code of a model with one hidden layer, which no
        structure shows, are measured by evaluating the model: ``measured`` describes the result, or
        the reason why nothing could be measured.

    >>> import tutelage as tl
    >>> tl.bridge.describe([[[3.0, 4.0, 0.0], [0.0, 0.0, 1.0]], [1.0, -1.0]])
    Description
      framework  arrays
      layers     layer 1: 3 to 2, no bias
                 layer 2: 2 to 1, no bias
      functions  not known
    """
    description = read("network", network)
    return replace(description, measured=measured_words(description))


def read(argument: str, network: object) -> Description:
    """Read a network given as an argument, and check that its weights are finite."""
    description = read_any(argument, network)
    check_finite(argument, description)
    return description


def read_any(argument: str, network: object) -> Description:
    """Read a network like `read`, but accept infinite or NaN weights of a diverged training."""
    if isinstance(network, Description):
        return network
    name = reader_of(network)
    if name is None:
        allowed = "it has to be a network, or its weights"
        raise InputError(argument, short_repr(network), allowed, HINT)
    return reader(name).read(argument, network)


def reader_of(network: object) -> str | None:
    """Return the name of the module that reads this model."""
    kind: Any = type(network)
    return _reader_of(kind)


@cache
def reader(name: str) -> Any:
    """Return the module of this name, imported once because a recorder reads many times."""
    return importlib.import_module(f"tutelage.bridge.frameworks.{name}")


@cache
def _reader_of(kind: type) -> str | None:
    modules = [parent.__module__ for parent in kind.__mro__]
    for package, name in READERS:
        if any(f"{module}.".startswith(f"{package}.") for module in modules):
            return name
    arrays = issubclass(kind, list | tuple | dict) or hasattr(kind, "__array__")
    return "arrays" if arrays else None

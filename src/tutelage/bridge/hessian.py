"""The loss of a user's model as a function of its parameters, as `tutelage.spectra` takes it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxtyping import Array

from tutelage._arguments import validated
from tutelage._checks import InputError, short_repr
from tutelage._jax import jax, jnp
from tutelage.bridge.frameworks.arrays import as_array
from tutelage.bridge.layered import for_jax, functions
from tutelage.bridge.models import read, reader, reader_of


class Objective(NamedTuple):
    """A loss, and the parameters at which it is evaluated: arrays by their names."""

    loss: Callable[[Any], Any]
    parameters: dict[str, Any]


@validated
def hessian(
    model: object, loss: Callable[[Any, Any], Any], data: object, *, part: str | None = None
) -> Objective:
    """Return the loss L(θ) of a model on data and its θ, for the functions of `tutelage.spectra`.

        tl.spectra.hessian_eigenvalues(*tl.bridge.hessian(model, loss, data))

    Parameters are in float64.  Models of Flax and Equinox are evaluated as a whole; for PyTorch,
    Keras and arrays JAX evaluates the dense layers and the functions between them.

    Args:
        model: anything that `describe` reads.
        loss: of outputs and targets, one number, written with ``jax.numpy``:
            ``lambda y, t: 0.5 * jnp.mean((y - t) ** 2)``.
        data: the pair (inputs, targets), examples first.
        part: the beginning of the names of the parameters that move, such as the name of a layer;
            other parameters are fixed.  By default all move.

    Returns:
        An `Objective`, the pair (loss, parameters).

    Raises:
        InputError: if the model cannot be evaluated in this way, or has no such part.

    >>> import numpy as np, tutelage as tl
    >>> w, x, t = np.array([[1.0, 2.0]]), np.eye(2), np.zeros((2, 1))
    >>> linear = tl.deep.network([np.eye(2), w.T])
    >>> problem = tl.bridge.hessian(linear, lambda y, t: 0.5 * ((y - t) ** 2).sum(), (x, t),
    ...                           part="layer 2.weights")
    >>> tl.spectra.hessian_eigenvalues(*problem)
    array([1., 1.])
    """
    inputs, targets = _pair(data)
    tree, apply = _functional(model)
    leaves, shape = jax.tree_util.tree_flatten_with_path(tree)
    names = [_name(path) for path, _ in leaves]
    values = [jnp.asarray(leaf, jnp.float64) for _, leaf in leaves]
    moving = [i for i, name in enumerate(names) if part is None or _begins(name, part)]
    if not moving:
        present = ", ".join(repr(name) for name in names)
        raise InputError("part", repr(part), f"the parameters are {present}"[:300])

    def of_parameters(parameters: dict[str, Array]) -> Any:
        every = list(values)
        for i in moving:
            every[i] = parameters[names[i]]
        return loss(apply(jax.tree.unflatten(shape, every), inputs), targets)

    return Objective(of_parameters, {names[i]: values[i] for i in moving})


def _functional(model: object) -> tuple[Any, Any]:
    """Return parameters as a pytree, and the model as a function of parameters and inputs."""
    name = reader_of(model)
    if name is not None and hasattr(reader(name), "functional"):
        return reader(name).functional("model", model)
    network = read("model", model)
    between = [for_jax(one) for one in functions("model", network)]

    def apply(tree: Any, x: Any) -> Any:
        for place, one in enumerate(network.layers):
            x = x @ tree[one.name]["weights"].T + tree[one.name].get("bias", 0.0)
            x = between[place](x) if place < len(between) else x
        return x

    tree = {one.name: {"weights": one.weights} for one in network.layers}
    for one in network.layers:
        if one.bias is not None:
            tree[one.name]["bias"] = one.bias
    return tree, apply


def _pair(data: object) -> tuple[Any, Any]:
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise InputError(
            "data",
            short_repr(data),
            "it has to be a pair of inputs and targets",
            "(inputs, targets)",
        )
    inputs, targets = (as_array(f"data[{i}]", x) for i, x in enumerate(data))
    whole = "int" in str(getattr(data[1], "dtype", ""))  # integers are labels
    if len(inputs.shape) < 1 or len(targets.shape) < 1 or len(inputs) != len(targets):
        received = f"inputs of shape {inputs.shape} and targets of shape {targets.shape}"
        raise InputError("data", received, "there has to be a target for every input")
    return jnp.asarray(inputs), jnp.asarray(targets.astype(int) if whole else targets)


def _begins(name: str, part: str) -> bool:
    return f"{name}.".startswith(f"{part}.")


def _name(path: Any) -> str:
    """Join the keys of a pytree path by dots, without the ``value`` in which Flax wraps arrays."""
    words = [str(getattr(k, "name", getattr(k, "key", getattr(k, "idx", k)))) for k in path]
    return ".".join(words[:-1] if words[-1:] == ["value"] else words)

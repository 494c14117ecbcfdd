"""Overlaps of two networks of any framework."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from tutelage._arguments import validated
from tutelage._checks import InputError, short_repr
from tutelage._given import ArrayLike
from tutelage.bridge.behaviour import HiddenLayer, units
from tutelage.bridge.description import Description
from tutelage.bridge.fields import covariances
from tutelage.bridge.inputs import check_inputs
from tutelage.bridge.models import read
from tutelage.model import Overlaps

# Names of the compared layers of student and teacher; None for networks with one hidden layer.
LayerNames = tuple[str | None, str | None]
# The squared norm of components with variance 1 is within this many standard deviations of N.
DEVIATIONS = 5
# With fewer inputs a norm of order N cannot be distinguished from one of order one.
FEW_INPUTS = 50


@validated
def overlaps(
    student: object,
    teacher: object,
    inputs: ArrayLike | None = None,
    *,
    layer: str | Sequence[str] | None = None,
    scaled: bool | None = None,
) -> Overlaps:
    """Compute Q, R and T of a student and a teacher from their weights.

    Q_ik = w_i·C w_k,   R_in = w_i·C w*_n,   T_nm = w*_n·C w*_m,

    the covariance of the fields w·ξ, with C = 1 or the covariance of the given inputs.  Biases
    shift the fields and do not enter; readouts are those of `tutelage.bridge.scenario`.

    Args:
        student, teacher: anything that `describe` reads; frameworks and widths may differ.
        inputs: rows of data, shape (examples, N), whose covariance enters; by default the identity.
        layer: the name of a layer, or that of the student's and that of the teacher's, where a
            network has more than one hidden layer (`describe` lists the names).  Only its weights
            are taken then, and nothing is asked of the rest of the network.
        scaled: whether fields are w·ξ/√N, with weights of order one, and not w·ξ; Q is w·w'/N then.
            By default a model is evaluated to find out; bare weights count as those of fields w·ξ,
            and are refused if their components look like numbers of variance 1.

    Raises:
        InputError: if they are no networks with one hidden layer of the same inputs.

    >>> import tutelage as tl
    >>> tl.bridge.overlaps([[3.0, 4.0]], [[1.0, 0.0]]).R.tolist()
    [[3.0]]
    """
    layers = _names(layer)
    J, B = (one.weights for one in pair(student, teacher, layers, scaled))
    if inputs is None:
        return Overlaps.from_weights(J, B)
    ξ = check_inputs(inputs, J.shape[1])
    if layer is not None:
        _check_first(read("student", student), read("teacher", teacher), layers)
    return Overlaps(*covariances(ξ, J, B))


def pair(
    student: object, teacher: object, layers: LayerNames, scaled: bool | None
) -> tuple[HiddenLayer, HiddenLayer]:
    """Return the hidden layers of student and teacher, which need the same number of inputs."""
    arguments = (("student", student, layers[0]), ("teacher", teacher, layers[1]))
    J, B = (
        hidden(argument, read(argument, one), name, scaled) for argument, one, name in arguments
    )
    n, m = J.weights.shape[1], B.weights.shape[1]
    if n != m:
        turned = len(J.weights) == len(B.weights)
        hint = (
            "student.T and teacher.T: rows are units" if turned else "layers with the same inputs"
        )
        raise InputError("teacher", f"units with {m} inputs", f"the student's have {n}", hint)
    return J, B


def _names(layer: Any) -> LayerNames:
    """Return the name of the student's layer and that of the teacher's."""
    if layer is None or isinstance(layer, str):
        return layer, layer
    names = tuple(layer) if isinstance(layer, list | tuple) else ()
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        allowed = "one name, or the student's and the teacher's"
        raise InputError("layer", short_repr(layer), allowed, '("hidden", "hidden")')
    return names


def hidden(
    argument: str, network: Description, name: str | None, scaled: bool | None
) -> HiddenLayer:
    """Return the units of a network with one hidden layer, or the weights of the layer of this
    name.
    """
    layer = units(argument, network, scaled) if name is None else _named(network, name, scaled)
    if scaled is None and network.call is None:
        _check_scale(argument, layer.weights)
    return layer


def _named(network: Description, name: str, scaled: bool | None) -> HiddenLayer:
    for one in network.layers:
        if one.name == name:
            W = one.weights / (math.sqrt(one.weights.shape[1]) if scaled else 1.0)
            b = np.zeros(len(W)) if one.bias is None else one.bias
            return HiddenLayer(W, b, None, None, None, None, bool(scaled))
    names = ", ".join(repr(one.name) for one in network.layers)
    raise InputError("layer", repr(name), f"the {network.framework} network has {names}"[:300])


def _check_scale(argument: str, W: Float[np.ndarray, "units N"]) -> None:
    """Refuse bare weights whose norms suggest fields w·ξ/√N."""
    N = W.shape[1]
    norms = np.sum(W**2, axis=1)
    if N >= FEW_INPUTS and np.all(np.abs(norms / N - 1) < DEVIATIONS * math.sqrt(2 / N)):
        raise InputError(
            argument,
            f"weights with |w|² = {np.mean(norms):.4g} at N = {N}",
            "fields w·ξ of variance N are outside the theory, which needs a variance of order 1",
            (
                "scaled=True if your fields are w·ξ/√N, scaled=False if they really "
                "have this variance"
            ),
        )


def _check_first(student: Description, teacher: Description, layers: LayerNames) -> None:
    """Check that the inputs of the network enter this layer and no other."""
    for network, name in zip((student, teacher), layers, strict=True):
        if network.layers[0].name != name:
            allowed = "this layer does not receive the inputs of the network"
            hint = "tl.bridge.correlations, or the call without inputs="
            raise InputError("layer", repr(name), allowed, hint)

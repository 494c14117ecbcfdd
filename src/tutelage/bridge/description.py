"""Description of a network of any framework: layers, biases, functions between them.

f_0 = ξ,   h_l = W_l f_{l-1} + b_l,   f_l = g_l(h_l)
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, permutations
from typing import Any

import numpy as np
from jaxtyping import Float

from tutelage._checks import InputError, finite_array, is_usable, real_array
from tutelage._findings import Finding
from tutelage._given import ArrayLike

# Largest number of layers of which all orders are tried.
MOST_LAYERS = 6
FLOAT64 = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Layer:
    """A dense layer: W of shape (out, in) in every framework, and b.

    name: as the framework has it;  transposed: whether the framework stores (in, out).
    """

    name: str
    weights: Float[np.ndarray, "out in"]
    bias: Float[np.ndarray, " out"] | None = None
    transposed: bool = False

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Return weights and biases by their names in messages."""
        weights = {self.name: self.weights}
        return weights if self.bias is None else {**weights, f"{self.name}.bias": self.bias}


@dataclass(frozen=True)
class Function:
    """A function that a network applies after a layer.

    values: of a NumPy array in float64;  jax: the same for JAX, where the framework has it.
    """

    name: str
    values: Callable[[np.ndarray], np.ndarray]
    jax: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Dropout:
    """A layer that is random in training and inactive in evaluation.

    rate: the share of units that it drops, or the size of its noise.
    """

    name: str
    kind: str
    rate: float

    @property
    def words(self) -> str:
        """Describe parts in words, such as "1 (Dropout, rate 0.5)"."""
        return f"{self.name} ({self.kind}, rate {self.rate:g})".strip()


@dataclass(frozen=True, repr=False)
class Description(Finding):
    """A network as `tutelage.bridge` represents it; ``str`` lists its layers and functions.

    framework: whose it is.
    layers: in the order in which an input passes them.
    functions: functions between the layers, if the structure contains them; else all functions of
        the model.
    ordered: whether the structure contains the order of layers and functions.
    strange: parts that are no layers of weights, by name and kind.
    call: the network itself, (examples, inputs) to (examples, outputs), in float64 where it can.
    precision: rounding of `call`, relative.
    dropout: parts that are random during training, in words.
    measured: what `describe` found by evaluating the network, in words; empty if it did not.
    """

    framework: str
    layers: tuple[Layer, ...]
    functions: tuple[Function, ...] = ()
    ordered: bool = False
    strange: tuple[str, ...] = ()
    call: Callable[[np.ndarray], np.ndarray] | None = field(default=None, repr=False)
    precision: float = FLOAT64
    dropout: tuple[str, ...] = ()
    measured: str = ""

    @property
    def inputs(self) -> int:
        """Number of inputs N."""
        return int(self.layers[0].weights.shape[1])

    @property
    def is_finite(self) -> bool:
        """Whether all weights and biases are numbers that `check_finite` accepts."""
        return all(is_usable(x) for layer in self.layers for x in layer.arrays.values())

    def _rows(self) -> Iterator[tuple[str, str]]:
        yield "framework", self.framework
        yield "layers", "\n".join(map(_words, self.layers))
        yield "functions", self._functions()
        if self.strange:
            yield "strange", ", ".join(self.strange)
        if self.dropout:
            yield "dropout", ", ".join(self.dropout)

    def _functions(self) -> str:
        """Describe the functions between the layers, those found in the structure and those
        measured.
        """
        names = ", ".join(f.name for f in self.functions)
        if self.ordered or not (names or self.measured):
            return names or "not known"
        measured = f"{names}, at unknown places" if names else "none in the structure"
        return f"{measured}; {self.measured}" if self.measured else measured


def _words(layer: Layer) -> str:
    out, into = layer.weights.shape
    turned = f", stored as ({into}, {out})" if layer.transposed else ""
    bias = "no bias" if layer.bias is None else f"biases up to {np.max(np.abs(layer.bias)):.3g}"
    return f"{layer.name}: {into} to {out}{turned}, {bias}"


def described(argument: str, framework: str, layers: Sequence[Layer], **fields: Any) -> Description:
    """Describe layers in the order in which their shapes fit."""
    if not layers:
        strange = ", ".join(fields.get("strange", ())) or "nothing"
        allowed = "there has to be a layer of weights, a matrix"
        raise InputError(
            argument, f"a network ({framework}) with {strange}", allowed, "Linear or Dense layers"
        )
    description = Description(framework, tuple(layers), **fields)
    return replace(description, layers=_in_order(argument, description))


def layer(
    argument: str,
    name: str,
    weights: ArrayLike,
    bias: ArrayLike | None = None,
    *,
    transposed: bool = False,
) -> Layer:
    """Make a layer of real weights and biases of matching shapes; ``transposed``: (in, out).

    Infinite numbers, as in a diverged training, are accepted here; `check_finite` refuses them.
    """
    W = real_array(f"{argument}.{name}", weights)
    W = W.T if transposed else W
    b = None if bias is None else real_array(f"{argument}.{name}.bias", bias)
    if W.ndim != 2 or 0 in W.shape:
        allowed = "its weights have to be a matrix"
        raise InputError(f"{argument}.{name}", f"shape {W.shape}", allowed, "a dense layer")
    if b is not None and b.shape != W.shape[:1]:
        received, allowed = f"shape {b.shape}", f"its weights have {W.shape[0]} outputs"
        raise InputError(f"{argument}.{name}.bias", received, allowed)
    return Layer(name, W, b, transposed)


def check_finite(argument: str, network: Description) -> None:
    """Refuse weights and biases that are not finite."""
    for layer in network.layers:
        for name, x in layer.arrays.items():
            finite_array(f"{argument}.{name}", x)


def _in_order(argument: str, description: Description) -> tuple[Layer, ...]:
    """Return layers in the given order if their shapes fit, else in the only order that fits."""
    layers = description.layers
    if _fit(layers):
        return layers
    orders = permutations(layers) if len(layers) <= MOST_LAYERS and not description.ordered else ()
    fitting = [order for order in orders if _fit(order)]
    if len(fitting) == 1:
        return fitting[0]
    shapes = ", ".join(f"{one.name} {one.weights.shape}" for one in layers)
    allowed = (
        "with shapes (outputs, inputs), each layer needs as many inputs as the "
        "layer before has outputs"
    )
    hint = "a weight matrix is (units, inputs): W.T if yours is not"
    raise InputError(argument, f"layers {shapes}", allowed, hint)


def _fit(layers: Sequence[Layer]) -> bool:
    return all(one.weights.shape[0] == next_.weights.shape[1] for one, next_ in pairwise(layers))

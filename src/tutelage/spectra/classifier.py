"""Fully connected classifiers: sizes, activation, and the noise β as a parameter of its own."""

import math
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
from jaxtyping import Array, Float

from tutelage._checks import InputError, positive_integer
from tutelage._jax import jax, jnp
from tutelage.activations import Activation

Beta = Literal["fixed", "shared", "per unit"]


class Parameters(NamedTuple):
    """Weights W_l of shape (n_{l−1}, n_l), biases b_l, and what is learned of β (may be empty)."""

    weights: tuple[Float[Array, "..."], ...]
    biases: tuple[Float[Array, "..."], ...]
    beta: tuple[Float[Array, "..."], ...]


class Classifier(eqx.Module):
    """A fully connected network: a_l = g(W_l a_{l−1} + b_l), with logits in the last layer.

    Args:
        sizes: features, hidden units of each layer, outputs: (2, 10, 1), (64, 25, 10).
            One output is the logit of class 1; several are the logits of as many classes.
        activation: of the hidden units.
        beta: "fixed"; "shared", one trainable β for all hidden units; or "per unit", one for
            each, the β_i of milletari2019, eq. (2).  Trainable ones begin at ``activation.beta``
            and are part of the Hessian; the activation has to have a β.

    >>> import tutelage as tl
    >>> Classifier((2, 10, 1), tl.ReLU()).count, Classifier((64, 25, 10), tl.ReLU()).count
    (41, 1885)
    >>> Classifier((2, 10, 1), tl.Swish(), beta="per unit").count
    51
    """

    sizes: tuple[int, ...] = eqx.field(static=True)
    activation: Activation
    beta: Beta = eqx.field(static=True)

    def __init__(self, sizes: Any, activation: Activation, beta: Beta = "fixed"):
        self.sizes = tuple(positive_integer("sizes", size, "(2, 10, 1)") for size in sizes)
        if len(self.sizes) < 2:
            allowed = "a network has at least inputs and outputs"
            raise InputError("sizes", repr(self.sizes), allowed, "(2, 10, 1)")
        if not isinstance(activation, Activation):
            allowed = "it has to be an Activation"
            raise InputError("activation", repr(activation), allowed, "tl.Swish()")
        if beta not in get_args(Beta):
            allowed = f"it has to be one of {', '.join(map(repr, get_args(Beta)))}"
            raise InputError("beta", repr(beta), allowed, "beta='fixed'")
        if beta != "fixed" and not hasattr(activation, "beta"):
            allowed = f"{activation.name} has no β that could be trained"
            raise InputError("beta", repr(beta), allowed, "beta='fixed', or tl.Swish()")
        self.activation, self.beta = activation, beta

    @property
    def hidden(self) -> tuple[int, ...]:
        """Units of each hidden layer."""
        return self.sizes[1:-1]

    @property
    def count(self) -> int:
        """How many parameters there are, the trainable β included."""
        layers = sum((n + 1) * m for n, m in zip(self.sizes, self.sizes[1:], strict=False))
        return layers + {"fixed": 0, "shared": 1, "per unit": sum(self.hidden)}[self.beta]

    def initial(self, key: Any) -> Parameters:
        """Weights uniform in ±√(6/(n_{l−1} + n_l)) (Glorot and Bengio 2010), biases zero."""
        pairs = list(zip(self.sizes, self.sizes[1:], strict=False))
        weights = []
        for layer, (n, m) in enumerate(pairs):
            width = math.sqrt(6 / (n + m))
            one = jax.random.fold_in(key, layer)
            weights.append(jax.random.uniform(one, (n, m), minval=-width, maxval=width))
        return Parameters(
            tuple(weights), tuple(jnp.zeros(m) for _, m in pairs), self._initial_beta()
        )

    def _initial_beta(self) -> tuple[Any, ...]:
        if self.beta == "fixed":
            return ()
        start = getattr(self.activation, "beta")  # noqa: B009  (checked at the door)
        shapes = [()] if self.beta == "shared" else [(units,) for units in self.hidden]
        return tuple(jnp.full(shape, start, dtype=float) for shape in shapes)

    def logits(
        self, parameters: Parameters, inputs: Float[Array, "m n"]
    ) -> Float[Array, "m outputs"]:
        """The fields of the last layer."""
        a: Any = inputs
        layers = list(zip(parameters.weights, parameters.biases, strict=True))
        for layer, (W, b) in enumerate(layers[:-1]):
            a = self._unit(parameters, layer)(a @ W + b)
        W, b = layers[-1]
        return a @ W + b

    def _unit(self, parameters: Parameters, layer: int) -> Activation:
        if self.beta == "fixed":
            return self.activation
        beta = parameters.beta[0 if self.beta == "shared" else layer]
        # An array, one β for each unit, in the place of the number.
        return eqx.tree_at(lambda g: g.beta, self.activation, beta)

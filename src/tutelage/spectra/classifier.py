"""Fully connected classifiers: sizes, activation, and a noise β that may be trainable."""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import equinox as eqx
from jaxtyping import Array, Float, Key

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_number, positive_integer
from tutelage._jax import jax, jnp, match_rank
from tutelage._types import Scalar
from tutelage.activations import Activation
from tutelage.activations.base import check_one

Beta = Literal["fixed", "shared", "per unit", "every unit"]
Start = Scalar | Sequence[Scalar] | None


class Parameters(NamedTuple):
    """Weights W_l of shape (n_{l−1}, n_l), biases b_l, and trainable β, which may be empty."""

    weights: tuple[Float[Array, "..."], ...]
    biases: tuple[Float[Array, "..."], ...]
    beta: tuple[Float[Array, "..."], ...]


class Classifier(eqx.Module):
    """A fully connected network: a_l = g(W_l a_{l−1} + b_l), with logits in the last layer.

    Args:
        sizes: features, hidden units of each layer, outputs: (2, 10, 1), (64, 25, 10).
            One output is the logit of class 1; several are the logits of as many classes.
        activation: of the hidden units.
        beta: "fixed"; "shared", one trainable β for all hidden units; "per unit", one for each, the
            β_i of milletari2019, eq. (2); or "every unit", one for each, the outputs included,
            whose logits are β_i h_i.  Trainable ones begin at ``activation.beta`` unless `train`
            sets another start, and are part of the Hessian; the activation has to have a β.

    >>> import tutelage as tl
    >>> Classifier((2, 10, 1), tl.ReLU()).count, Classifier((64, 25, 10), tl.ReLU()).count
    (41, 1885)
    >>> Classifier((2, 10, 1), tl.Swish(), beta="per unit").count
    51
    >>> Classifier((2, 10, 1), tl.Swish(), beta="every unit").count
    52
    """

    sizes: tuple[int, ...] = eqx.field(static=True)
    activation: Activation
    beta: Beta = eqx.field(static=True)

    @validated
    def __init__(self, sizes: Sequence[int], activation: Activation, beta: Beta = "fixed"):
        self.sizes = tuple(positive_integer("sizes", size, "(2, 10, 1)") for size in sizes)
        if len(self.sizes) < 2:
            allowed = "a network has at least inputs and outputs"
            raise InputError("sizes", repr(self.sizes), allowed, "(2, 10, 1)")
        check_one(activation)
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
        """Number of parameters, the trainable β included."""
        layers = sum((n + 1) * m for n, m in zip(self.sizes, self.sizes[1:], strict=False))
        return layers + sum(math.prod(shape) for shape in self._beta_shapes())

    def initial(self, key: Key[Array, ""], beta_start: Start = None) -> Parameters:
        """Weights uniform in ±√(6/(n_{l−1} + n_l)) (Glorot and Bengio 2010), biases zero.

        Args:
            key: of the random numbers.
            beta_start: where trainable β begin: one number, or the mean and the standard
                deviation of independent Gaussian ones; ``activation.beta`` when left out.
        """
        pairs = list(zip(self.sizes, self.sizes[1:], strict=False))
        weights = []
        for layer, (n, m) in enumerate(pairs):
            width = math.sqrt(6 / (n + m))
            one = jax.random.fold_in(key, layer)
            weights.append(jax.random.uniform(one, (n, m), minval=-width, maxval=width))
        biases = tuple(jnp.zeros(m) for _, m in pairs)
        return Parameters(tuple(weights), biases, self._initial_beta(key, beta_start))

    def _beta_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the trainable β: one per layer, or one shared value."""
        layers = {"per unit": self.hidden, "every unit": self.sizes[1:]}.get(self.beta, ())
        return [()] if self.beta == "shared" else [(units,) for units in layers]

    def _initial_beta(self, key: Key[Array, ""], start: Start) -> tuple[Any, ...]:
        begin: Any = getattr(self.activation, "beta", None) if start is None else start
        mean, spread = begin if isinstance(begin, tuple) else (begin, 0.0)
        return tuple(
            # Random keys that differ from those of the weights.
            mean + spread * jax.random.normal(jax.random.fold_in(key, len(self.sizes) + layer), s)
            for layer, s in enumerate(self._beta_shapes())
        )

    def logits(
        self, parameters: Parameters, inputs: Float[Array, "m n"]
    ) -> Float[Array, "m outputs"]:
        """Compute the fields of the last layer."""
        return self.logits_of_fields(parameters, self.first_fields(parameters, inputs))

    def first_fields(
        self, parameters: Parameters, inputs: Float[Array, "m n"]
    ) -> Float[Array, "m units"]:
        """Compute the fields of the first layer."""
        fields = inputs @ parameters.weights[0]
        return fields + match_rank(parameters.biases[0], fields)

    def logits_of_fields(
        self, parameters: Parameters, fields: Float[Array, "m units"]
    ) -> Float[Array, "m outputs"]:
        """Compute logits from the fields of the first layer."""
        h: Any = fields
        above = zip(parameters.weights[1:], parameters.biases[1:], strict=True)
        for layer, (W, b) in enumerate(above):
            h = self._unit(parameters, layer, h)(h) @ W
            h = h + match_rank(b, h)
        return h * match_rank(parameters.beta[-1], h) if self.beta == "every unit" else h

    def _unit(
        self, parameters: Parameters, layer: int, fields: Float[Array, "m units"]
    ) -> Activation:
        """Return the activation of a layer."""
        if self.beta == "fixed":
            return self.activation
        beta = parameters.beta[0 if self.beta == "shared" else layer]
        # An array with one β for each unit replaces the number.
        return eqx.tree_at(lambda g: g.beta, self.activation, match_rank(beta, fields))


def check_beta_start(classifier: Classifier, start: object) -> Start:
    """Check the start of a trainable β: one number, or a mean and a standard deviation."""
    if start is None:
        return None
    if classifier.beta == "fixed":
        allowed = "β of this classifier is not learned, and stays that of its activation"
        raise InputError("beta_start", repr(start), allowed, "Classifier(…, beta='per unit')")
    hint = "beta_start=(0.0, 0.005)"
    if not isinstance(start, list | tuple):
        return float(finite_number("beta_start", start, hint=hint))
    if len(start) != 2:
        allowed = "it has to be one number, or a mean and a standard deviation"
        raise InputError("beta_start", repr(start), allowed, hint)
    mean, spread = start
    finite_number("beta_start", mean, hint=hint)
    finite_number("beta_start", spread, at_least=0.0, hint=hint)
    return float(mean), float(spread)

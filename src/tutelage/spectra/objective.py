"""The loss of a classifier, and optimizers."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Int

from tutelage._checks import InputError, finite_number
from tutelage._jax import jax, jnp
from tutelage._names import with_checked_arguments
from tutelage.spectra.classifier import Classifier, Parameters
from tutelage.spectra.cross_entropy import Output, cross_entropy


class Loss(eqx.Module):
    """The cross-entropy of a classifier on examples, as a function of its parameters."""

    classifier: Classifier
    inputs: Any
    labels: Any
    output: Output = eqx.field(static=True, default="softmax")

    def __call__(self, parameters: Parameters) -> Float[Array, ""]:
        logits = self.classifier.logits(parameters, self.inputs)
        return cross_entropy(logits, self.labels, self.output)

    def curvatures(self, parameters: Parameters) -> Float[Array, "m units units"]:
        """∂²L/∂h_j∂h_l for the fields h of the first layer, of each example."""
        h = self.classifier.first_fields(parameters, self.inputs)

        def of_one(field: Float[Array, " units"], label: Int[Array, ""]) -> Any:
            logits = self.classifier.logits_of_fields(parameters, field[None])
            return cross_entropy(logits, label[None], self.output) / len(h)

        return jax.vmap(jax.hessian(of_one))(h, self.labels)


class ClassifierOptimizer(eqx.Module):
    """A rule for the next step from the gradient of all examples.

    Args:
        learning_rate: η of the first step.
        decay: the learning rate after t steps is η · decayᵗ; 1 for a constant one.
    """

    learning_rate: eqx.AbstractVar[float]
    decay: eqx.AbstractVar[float]

    @abc.abstractmethod
    def transformation(self) -> Any:
        """Return the rule as an optax transformation."""

    def rate(self, step: int | Int[Array, ""]) -> Any:
        """η · decayᵗ."""
        return self.learning_rate * self.decay ** jnp.asarray(step, float)

    def __check_init__(self) -> None:
        finite_number("learning_rate", self.learning_rate, above=0.0, hint="learning_rate=0.01")
        finite_number("decay", self.decay, above=0.0, hint="decay=0.9 ** (1 / 500)")
        if self.decay > 1:
            raise InputError(
                "decay", f"{self.decay:g}", "the learning rate must not grow", "decay=1"
            )


@with_checked_arguments
class Adam(ClassifierOptimizer):
    """Kingma and Ba (2015), with their β₁ = 0.9, β₂ = 0.999 and ε = 10⁻⁸.

    >>> rule = Adam(0.01, decay=0.9 ** (1 / 500))
    >>> round(float(rule.rate(1000)), 12)
    0.0081
    """

    learning_rate: float = 0.01
    decay: float = 1.0

    def transformation(self) -> Any:
        import optax

        return optax.adam(self.rate)


@with_checked_arguments
class SGD(ClassifierOptimizer):
    """Plain gradient descent: θ ← θ − η ∇L."""

    learning_rate: float = 0.01
    decay: float = 1.0

    def transformation(self) -> Any:
        import optax

        return optax.sgd(self.rate)

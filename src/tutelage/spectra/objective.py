"""What is minimised, how well it has been, and by which steps of a fixed learning rate."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Int

from tutelage._checks import finite_number
from tutelage._jax import jax, jnp
from tutelage.spectra.classifier import Classifier, Parameters


def cross_entropy(logits: Float[Array, "m outputs"], labels: Int[Array, " m"]) -> Float[Array, ""]:
    """The mean of −log of the probability of the right class, from logits without overflow.

    One output z:  ln(1 + e^z) − y z  (milletari2019, eq. (16));  several:  ln Σ_k e^{z_k} − z_y.

    >>> ln2 = cross_entropy(jnp.zeros((5, 1)), jnp.array([0, 1, 1, 0, 1]))
    >>> round(float(jnp.exp(ln2)), 12)
    2.0
    """
    if logits.shape[1] == 1:
        z = logits[:, 0]
        return jnp.mean(jax.nn.softplus(z) - labels * z)
    # Sums over a one-hot row: a gather has a slow scatter as its derivative.
    chosen = jnp.sum(logits * jax.nn.one_hot(labels, logits.shape[1]), axis=1)
    return jnp.mean(jax.nn.logsumexp(logits, axis=1) - chosen)


def residuals(
    logits: Float[Array, "m outputs"], labels: Int[Array, " m"]
) -> Float[Array, "m outputs"]:
    """e^μ = (ŷ^μ − y^μ)/m, the derivative of the loss by the logits (milletari2019, Section 3)."""
    m = logits.shape[0]
    if logits.shape[1] == 1:
        return (jax.nn.sigmoid(logits) - labels[:, None]) / m
    return (jax.nn.softmax(logits, axis=1) - jax.nn.one_hot(labels, logits.shape[1])) / m


def accuracy(logits: Float[Array, "m outputs"], labels: Int[Array, " m"]) -> Float[Array, ""]:
    """Fraction of the examples whose most probable class is the right one."""
    one = logits.shape[1] == 1
    chosen = (logits[:, 0] > 0).astype(int) if one else jnp.argmax(logits, axis=1)
    return jnp.mean((chosen == labels).astype(float))  # the mean of booleans is in float32


class Loss(eqx.Module):
    """The cross-entropy of a classifier on examples, as a function of its parameters."""

    classifier: Classifier
    inputs: Any
    labels: Any

    def __call__(self, parameters: Parameters) -> Float[Array, ""]:
        return cross_entropy(self.classifier.logits(parameters, self.inputs), self.labels)


class Optimizer(eqx.Module):
    """A rule for the next step from the gradient of all examples."""

    learning_rate: eqx.AbstractVar[float]

    @abc.abstractmethod
    def transformation(self) -> Any:
        """The same as an optax transformation."""

    def __check_init__(self) -> None:
        finite_number("learning_rate", self.learning_rate, above=0.0, hint="learning_rate=0.01")


class Adam(Optimizer):
    """Kingma and Ba (2015), with their β₁ = 0.9, β₂ = 0.999 and ε = 10⁻⁸."""

    learning_rate: float = 0.01

    def transformation(self) -> Any:
        import optax

        return optax.adam(self.learning_rate)


class SGD(Optimizer):
    """Plain gradient descent: θ ← θ − η ∇L."""

    learning_rate: float = 0.01

    def transformation(self) -> Any:
        import optax

        return optax.sgd(self.learning_rate)

"""How the networks learn: full-batch Adam or gradient descent, with a fixed learning rate."""

import abc
from typing import Any

import equinox as eqx

from tutelage._checks import finite_number


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

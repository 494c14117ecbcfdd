"""The methods for Gaussian averages, as values that `i2`, `i3` and `i4` take."""

from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from tutelage._arguments import validated
from tutelage._checks import InputError, positive_integer
from tutelage._module import Module
from tutelage._names import with_checked_arguments
from tutelage.activations import Activation
from tutelage.averages import erf
from tutelage.averages.conditional import averages as conditional
from tutelage.averages.estimate import Estimate
from tutelage.averages.hermite import averages as hermite
from tutelage.averages.orthant import averages as orthant
from tutelage.averages.quadrature import averages as quadrature

Activations = tuple[Activation, ...]


class Method(Module):
    """How an average is computed."""

    name: ClassVar[str]
    module: ClassVar[Any]
    exact: ClassVar[bool] = False

    def supports(self, activations: Activations) -> bool:
        """Return whether the method can average these units."""
        supported: bool = self.module.supports(activations)
        return supported

    def options(self) -> dict[str, int]:
        """Return further arguments of the functions of the module."""
        return {}

    def average(self, kind: str, activations: Activations, C: Float[Array, "... n n"]) -> Estimate:
        """I2, I3 or I4 (``kind`` is "i2", "i3" or "i4") with a bound on its error."""
        estimate: Estimate = getattr(self.module, kind)(activations, C, **self.options())
        return estimate


@with_checked_arguments
class Orthant(Method):
    """Exact, for ReLU, leaky ReLU, linear and erf in any mixture."""

    name: ClassVar[str] = "orthant"
    module: ClassVar[Any] = orthant
    exact: ClassVar[bool] = True


@with_checked_arguments
class ErfClosedForm(Method):
    """The closed forms of Saad and Solla, if all units are error functions."""

    name: ClassVar[str] = "erf"
    module: ClassVar[Any] = erf
    exact: ClassVar[bool] = True


@with_checked_arguments
class Hermite(Method):
    """The series of Kibble and Slepian, eq. (1) of citton2025, for every activation.

    order: N, the highest Hermite polynomial of g; g' is expanded to N - 1.
    """

    order: int = eqx.field(static=True)
    name: ClassVar[str] = "hermite"
    module: ClassVar[Any] = hermite

    @validated
    def __init__(self, order: int = 10):
        self.order = positive_integer("order", order, "10, as citton2025 does")

    def supports(self, activations: Activations) -> bool:
        return True

    def options(self) -> dict[str, int]:
        return {"order": self.order}


@with_checked_arguments
class Quadrature(Method):
    """Tensor quadrature through a factor of the covariance, for every activation.

    nodes: points per direction; by default as many as the average needs.
    """

    nodes: int | None = eqx.field(static=True)
    name: ClassVar[str] = "quadrature"
    module: ClassVar[Any] = quadrature

    @validated
    def __init__(self, nodes: int | None = None):
        self.nodes = None if nodes is None else positive_integer("nodes", nodes, "33")

    def supports(self, activations: Activations) -> bool:
        return True

    def options(self) -> dict[str, int]:
        return {} if self.nodes is None else {"nodes": self.nodes}


@with_checked_arguments
class Conditional(Method):
    """Quadrature over two fields, Mehler's series for the others given these, for every
    activation.
    """

    name: ClassVar[str] = "conditional"
    module: ClassVar[Any] = conditional


METHODS: tuple[type[Method], ...] = (ErfClosedForm, Orthant, Conditional, Quadrature, Hermite)
DEFAULTS = tuple(kind() for kind in METHODS)


def chosen(method: Method | str | None, activations: Activations) -> Method:
    """Return the named method, or the best exact one, or else quadrature."""
    if method is None:
        return next(m for m in DEFAULTS if m.supports(activations))
    if isinstance(method, str):
        method = _named(method)
    if not method.supports(activations):
        units = ", ".join(g.name for g in activations)
        raise InputError(
            "method",
            f"{method.name!r} for the units {units}",
            "this method has no formula for some of these units",
            "method='quadrature', which takes every activation, or None for the best one",
        )
    return method


def _named(name: str) -> Method:
    for kind in METHODS:
        if kind.name == name:
            return kind()
    names = ", ".join(repr(kind.name) for kind in METHODS)
    raise InputError("method", repr(name), f"it has to be one of {names} or None", "None")

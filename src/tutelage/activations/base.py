"""The base class of activations: value, derivatives, kinks, parity, Hermite coefficients."""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._arguments import validated
from tutelage._checks import InputError, is_traced
from tutelage._given import ArrayLike
from tutelage._jax import jnp, numbers_to_arrays
from tutelage._module import Module
from tutelage._types import Scalar
from tutelage.activations.closed import ClosedForm
from tutelage.activations.hermite import HermiteCoefficients, check_order, check_variance
from tutelage.activations.projection import project

# The name of an activation shows at most this many values of a parameter.
MAX_VALUES = 3
Parity = Literal["odd", "even", "none"]


class Kink(NamedTuple):
    """A point where g' jumps: g'' contains jump · δ(x − position)."""

    position: float
    jump: Any


class Activation(Module):
    """An activation function g(x) of a hidden unit with the field x.

    At a kink the derivative is the mean of both sides: θ(0) = ½ and sgn(0) = 0.
    Parameters may be traced, so that averages can be differentiated with respect to them.
    """

    def __call__(self, x: ArrayLike) -> Float[Array, "..."]:
        """g(x), entry by entry."""
        return check_one(self)._g(jnp.asarray(x, float))

    def derivative(self, x: ArrayLike) -> Float[Array, "..."]:
        """g'(x), entry by entry; at a kink the mean of both sides."""
        return check_one(self)._dg(jnp.asarray(x, float))

    def second_derivative(self, x: ArrayLike) -> Float[Array, "..."]:
        """The regular part of g''(x); its delta functions are in ``kinks``."""
        return check_one(self)._ddg(jnp.asarray(x, float))

    @property
    def closed_form(self) -> ClosedForm | None:
        """The closed form of g, which averages, moments and kernels read, or None."""
        return None

    @property
    def is_line_times_distribution(self) -> bool:
        """Return whether g(x) = x Φ(x), with Φ the Gaussian distribution function (GELU)."""
        return False

    @property
    def kinks(self) -> tuple[Kink, ...]:
        """All delta functions of g'': g'' = second_derivative + Σ jump δ(x − position)."""
        form = self.closed_form
        return () if form is None or form.modulus is None else (Kink(0.0, 2 * form.modulus),)

    @property
    def parity(self) -> Parity:
        """``"odd"``: g(−x) = −g(x); ``"even"``: g(−x) = g(x); ``"none"``: neither, or unknown."""
        return "none"

    @property
    def per_run(self) -> dict[str, np.ndarray]:
        """The parameters with one value per run, by name.

        >>> from tutelage.activations import LeakyReLU
        >>> LeakyReLU([0.1, 0.2]).per_run
        {'slope': array([0.1, 0.2])}
        """
        every = {name: getattr(self, name) for name in type(self).__dataclass_fields__}
        return {n: x for n, x in every.items() if isinstance(x, np.ndarray) and x.ndim == 1}

    def of_run(self, run: int) -> "Activation":
        """Return the activation of one run; the activation itself if all runs share it."""
        numbers = {name: float(values[run]) for name, values in self.per_run.items()}
        return dataclasses.replace(self, **numbers) if numbers else self

    @property
    def name(self) -> str:
        """The name in messages and tables."""
        return type(self).__name__

    @validated
    def hermite(self, order: int, variance: ArrayLike = 1.0) -> HermiteCoefficients:
        """c_n(q) = ⟨h_n(z) g(√q z)⟩ for n = 0 … order, h_n = He_n/√n!, z standard Gaussian.

        Args:
            order: the largest n, at least 0.
            variance: q ≥ 0, any shape.

        Returns:
            ``values`` and ``error``, both of shape ``variance.shape + (order + 1,)``.
            Values are differentiable in the variance.  At q = 0 the derivatives of c_1, and
            of all even c_n if g has a kink at 0, are infinite: they are given as zero there.

        >>> from tutelage.activations import ReLU
        >>> bool(abs(ReLU().hermite(2).values[1] - 0.5) < 1e-15)
        True
        """
        one, n, q = check_one(self), check_order(order), check_variance(variance)
        closed = _series(numbers_to_arrays(one), n, q)
        return project(one, n, q) if closed is None else closed

    @abc.abstractmethod
    def _g(self, x: Float[Array, "..."]) -> Float[Array, "..."]: ...

    @abc.abstractmethod
    def _dg(self, x: Float[Array, "..."]) -> Float[Array, "..."]: ...

    @abc.abstractmethod
    def _ddg(self, x: Float[Array, "..."]) -> Float[Array, "..."]: ...

    # Symmetries that give every second coefficient.
    @property
    def odd_part_slope(self) -> Scalar | None:
        """m if (g(x) − g(−x))/2 = m x for every x: then c_1 = m√q and c_3 = c_5 = … = 0."""
        form = self.closed_form
        if form is not None and form.erf is None:
            return 0.0 if form.line is None else form.line
        return 0.0 if self.parity == "even" else None

    @property
    def even_part_level(self) -> Scalar | None:
        """a if (g(x) + g(−x))/2 = a for every x: then c_0 = a and c_2 = c_4 = … = 0."""
        form = self.closed_form
        if form is not None and form.modulus is None:
            return 0.0 if form.constant is None else form.constant
        return 0.0 if self.parity == "odd" else None

    def hermite_series(self, order: int, q: Float[Array, "..."]) -> HermiteCoefficients | None:
        """c_0 … c_order in closed form at every variance, or None where there is none."""
        form = self.closed_form
        return None if form is None else form.hermite(order, q)

    @staticmethod
    @validated
    def from_function(
        f: Callable[[Any], Any],
        name: str | None = None,
        kinks: ArrayLike = (),
        parity: Parity = "none",
    ) -> "Activation":
        """Make an activation from a function of one number that JAX can differentiate.

        Args:
            f: takes and returns a number; written with ``jax.numpy``.  A callable equinox
                module keeps its parameters differentiable.
            name: for messages and tables; by default the name of the function.
            kinks: positions where f' jumps.  The sizes of the jumps are found from f.
                Positions where f merely changes fast are welcome too: the numerical
                coefficients are refined there.  They are needed for a spike narrower than
                1/100, which may hide between the nodes; steps and bends are noticed.
            parity: ``"odd"`` or ``"even"`` if f is; checked on a grid, never guessed.

        Raises:
            InputError: if f is no such function, or jumps or bends where no kink is declared.

        >>> import jax.numpy as jnp
        >>> from tutelage.activations import Activation
        >>> absolute = Activation.from_function(jnp.abs, kinks=(0.0,), parity="even")
        >>> [round(float(jump), 12) for _, jump in absolute.kinks]
        [2.0]
        """
        from tutelage.activations.custom import (
            Custom,
        )  # imported here, because Custom is a subclass of Activation

        return Custom(f, name, kinks, parity)


@eqx.filter_jit
def _series(
    activation: Activation, order: int, q: Float[Array, "..."]
) -> HermiteCoefficients | None:
    """Compute the closed-form Hermite series in one compiled program."""
    return activation.hermite_series(order, q)


def check_one(activation: Activation) -> Activation:
    """Check that an activation has one value of each parameter."""
    for name, values in activation.per_run.items():
        raise InputError(
            "activation",
            f"{len(values)} values of {name}",
            "there has to be a single value",
            "tl.online.evolve for several values, or one call for each value",
        )
    return activation


def form_of(activation: Activation) -> ClosedForm:
    """Return the closed form of an activation that is known to have one."""
    form = activation.closed_form
    assert form is not None, activation.name
    return form


def labelled(name: str, parameter: Any, default: Any = None) -> str:
    """Return ``name(parameter)``, or ``name`` alone if the parameter has its default."""
    if is_traced(parameter):
        return f"{name}(traced)"
    if np.ndim(parameter):
        values = [f"{x:g}" for x in np.ravel(parameter)]
        return f"{name}({', '.join(values[:MAX_VALUES] + ['…'] * (len(values) > MAX_VALUES))})"
    return name if parameter == default else f"{name}({float(parameter):g})"

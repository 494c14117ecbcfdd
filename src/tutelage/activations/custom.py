"""Activations defined by functions of the user."""

from collections.abc import Callable, Iterable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array

from tutelage._checks import InputError, finite_number, is_traced
from tutelage._given import ArrayLike
from tutelage._jax import jax, jnp
from tutelage.activations.base import Activation, Kink, Parity
from tutelage.activations.probe import check_function, probe

# One-sided limits are extrapolated from three points this far apart (relative to 1 + |x|):
# the error is their distance cubed, 1e-18, times a derivative, and seven roundings.
STEP = 1e-6


class Custom(Activation):
    """g(x) = f(x); created by ``Activation.from_function``, whose docstring lists the conditions
    on f.
    """

    function: Callable[[Any], Any]
    label: str = eqx.field(static=True)
    positions: tuple[float, ...] = eqx.field(static=True)
    declared_parity: Parity = eqx.field(static=True)

    def __init__(
        self,
        f: Callable[[Any], Any],
        name: str | None = None,
        kinks: ArrayLike = (),
        parity: Parity = "none",
    ):
        check_function(f)
        self.function = _as_pytree(f)
        self.label = name if name is not None else getattr(f, "__name__", type(f).__name__)
        self.positions = _positions(kinks)
        self.declared_parity = parity
        probe(self)

    @property
    def kinks(self) -> tuple[Kink, ...]:
        if not self.positions:
            return ()
        below, above = _both_sides(jax.grad(self.function), self.positions)
        return tuple(Kink(p, jump) for p, jump in zip(self.positions, above - below, strict=True))

    @property
    def parity(self) -> Parity:
        return self.declared_parity

    @property
    def name(self) -> str:
        return self.label

    def _g(self, x):
        return jnp.vectorize(self.function)(x)

    def _dg(self, x):
        return self._mean_at_kinks(jax.grad(self.function), x)

    def _ddg(self, x):
        return self._mean_at_kinks(jax.grad(jax.grad(self.function)), x)

    def _mean_at_kinks(self, f, x):
        value = jnp.vectorize(f)(x)
        if not self.positions:
            return value
        below, above = _both_sides(f, self.positions)
        for p, mean in zip(self.positions, 0.5 * (below + above), strict=True):
            value = jnp.where(x == p, mean, value)
        return value


class _Fixed(eqx.Module):
    """A function without parameters as a pytree."""

    function: Callable[[Any], Any] = eqx.field(static=True)

    def __call__(self, x):
        return self.function(x)


def _as_pytree(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Convert f to a pytree: traced parameters are leaves, the rest is static."""
    if isinstance(f, eqx.Module):
        return f
    with jax.ensure_compile_time_eval():
        closes_over_parameters = is_traced(f(jnp.asarray(0.5)))
    if closes_over_parameters:
        return eqx.filter_closure_convert(f, jnp.asarray(0.5))
    return _Fixed(f)


def _both_sides(f, positions: tuple[float, ...]) -> tuple[Array, Array]:
    """f(p − 0) and f(p + 0) for every p, by quadratic extrapolation."""
    p = np.asarray(positions)[:, None]
    distances = STEP * (1 + np.abs(p)) * np.array([1, 2, 3])
    weights = np.array([3.0, -3.0, 1.0])
    f = jnp.vectorize(f)
    return f(p - distances) @ weights, f(p + distances) @ weights


def _positions(kinks: ArrayLike) -> tuple[float, ...]:
    hint = "kinks=(0.0,) for a function like |x|"
    if not isinstance(kinks, Iterable) or isinstance(kinks, str):
        raise InputError("kinks", repr(kinks), "it has to be a sequence of positions", hint)
    return tuple(sorted({float(finite_number("kinks", p, hint=hint)) for p in kinks}))

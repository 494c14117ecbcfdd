"""Single averages I2, I3 and I4 by conditioning, with a bound on the error."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage.activations import Activation
from tutelage.averages.conditional import effort
from tutelage.averages.conditional.kernel import PRIVATE, Units, over_batch, product, quadratic
from tutelage.averages.estimate import Estimate
from tutelage.averages.quadrature import averages as quadrature

# Relative rounding of sums over some thousand nodes.
ROUNDING = 1e-14


def supports(activations: tuple[Activation, ...]) -> bool:
    """True: every activation."""
    return True


i3, slopes = quadrature.i3, quadrature.slopes


@eqx.filter_jit
def i2(activations: tuple[Activation, ...], C: Float[Array, "... 2 2"]) -> Estimate:
    """⟨g(u) h(w)⟩, w given u; the error as for `i4`."""
    units = Units(tuple((g, 1) for g in activations))

    def one(C: Float[Array, "2 2"]) -> Estimate:
        return _judged(units, C, 1, lambda rule: (product(units, C, rule), 0.0))

    return over_batch(one, C)


@eqx.filter_jit
def i4(activations: tuple[Activation, ...], C: Float[Array, "... 4 4"]) -> Estimate:
    """⟨g_1'(u) g_2'(v) h(w) k(z)⟩, given u and v by Mehler's series for w and z.

    The error is the change with the rule next to the one that was good enough.
    """
    return over_batch(lambda C: _i4(activations, C), C)


def _i4(activations: tuple[Activation, ...], C: Float[Array, "4 4"]) -> Estimate:
    g1, g2, h, k = activations
    units = Units(((g1, 1), (g2, 1), (h, 1), (k, 1)))
    both = 0.5 * jnp.zeros((4, 4)).at[2, 3].set(1.0).at[3, 2].set(1.0)

    def slopes(x: Float[Array, "2 p"]) -> Float[Array, " p"]:
        return g1.derivative(x[0]) * g2.derivative(x[1])

    def compute(rule: Any) -> tuple[Array, Array]:
        return quadratic(slopes, units, C, both, 0.0, 2, rule)

    return _judged(units, C, 2, compute)


def _judged(
    units: Units, C: Float[Array, "n n"], given: int, compute: Callable[[Any], tuple[Any, Any]]
) -> Estimate:
    """What is computed, and its change with the rule that judges, with all that no rule sees."""
    value, left_out = effort.with_rule(units, C, given, compute)
    other, _ = effort.with_rule(units, C, given, compute, judge=True)
    error = jnp.abs(value - other) + left_out + ROUNDING * jnp.abs(value)
    error = error + (effort.unresolved(units, C, given) + PRIVATE) * jnp.abs(value)
    return Estimate(value, jax.lax.stop_gradient(error) + np.finfo(float).eps)

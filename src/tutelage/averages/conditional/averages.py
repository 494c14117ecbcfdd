"""Single averages I2, I3 and I4 by conditioning, with a bound on the error."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage.activations import Activation
from tutelage.averages.conditional import effort
from tutelage.averages.conditional.kernel import Units, quadratic
from tutelage.averages.estimate import Estimate
from tutelage.averages.quadrature import averages as quadrature

# Relative rounding of sums over some thousand nodes.
ROUNDING = 1e-14


def supports(activations: tuple[Activation, ...]) -> bool:
    """True: every activation."""
    return True


# Two-point averages are two-dimensional integrals, which need no condition.
i2, i3, slopes = quadrature.i2, quadrature.i3, quadrature.slopes


@eqx.filter_jit
def i4(activations: tuple[Activation, ...], C: Float[Array, "... 4 4"]) -> Estimate:
    """⟨g_1'(u) g_2'(v) h(w) k(z)⟩, given u and v by Mehler's series for w and z.

    The error is the change with the rule next to the one that was good enough.
    """
    return _over_batch(lambda C: _i4(activations, C), C)


def _i4(activations: tuple[Activation, ...], C: Float[Array, "4 4"]) -> Estimate:
    g1, g2, h, k = activations
    units = Units(((g1, 1), (g2, 1), (h, 1), (k, 1)))
    product = 0.5 * jnp.zeros((4, 4)).at[2, 3].set(1.0).at[3, 2].set(1.0)

    def slopes(x: Float[Array, "2 p"]) -> Float[Array, " p"]:
        return g1.derivative(x[0]) * g2.derivative(x[1])

    def compute(rule: Any) -> tuple[Array, Array]:
        return quadratic(slopes, units, C, product, 0.0, 2, rule)

    value, left_out = effort.with_rule(units, C, 2, compute)
    other, _ = effort.with_rule(units, C, 2, compute, judge=True)
    error = jnp.abs(value - other) + left_out + ROUNDING * jnp.abs(value)
    error = error + effort.unresolved(units, C, 2) * jnp.abs(value)
    return Estimate(value, jax.lax.stop_gradient(error) + np.finfo(float).eps)


def _over_batch(function: Callable[[Array], Any], C: Float[Array, "... 4 4"]) -> Any:
    if C.ndim == 2:
        return function(C)
    results = jax.lax.map(function, C.reshape(-1, *C.shape[-2:]))
    return jax.tree.map(lambda x: x.reshape(*C.shape[:-2], *x.shape[1:]), results)

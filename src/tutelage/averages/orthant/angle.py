"""Arcsine and arctangents as elementwise polynomials, which compile to vector instructions.

XLA calls a scalar library function for every arcsine or arctangent, about 10 ns each; these
functions take 1 to 2 ns in a batch.  Arguments are reduced by selects to an interval on which one
polynomial of a square is exact to the last digit:

    asin(s)/s = 1 + z P(z),   z = s² ≤ 1/4,   from asin(x) = π/2 - 2 asin √((1 - x)/2) for x > 1/2;
    atan(t)/t = 1 + z P(z),   z = t² ≤ tan²(π/8), from atan(t) = π/4 + atan((t - 1)/(t + 1)).

Both P interpolate at Chebyshev nodes; a test computes them with 60 digits.  Every operation is
elementwise and none is a library call: a value does not depend on its place in an array.
"""

import math
from typing import Any

from jaxtyping import Array, Float

from tutelage._jax import jax, jnp

_TAN_EIGHTH_TURN = math.sqrt(2.0) - 1.0  # tan(π/8)

# (asin(s)/s - 1)/s² as a polynomial in z = s², lowest power first, s <= 1/2: degree 12, relative
# error of asin below 1e-17.
ARCSINE = (
    0.16666666666666669,
    0.07499999999998433,
    0.04464285714635543,
    0.030381944138531247,
    0.02237217294214989,
    0.017352392720869973,
    0.013971212973552933,
    0.011479177415184906,
    0.01032281435018578,
    0.005457506718640358,
    0.01740087944269402,
    -0.014851887071247204,
    0.028757851367421566,
)
# (atan(t)/t - 1)/t² as a polynomial in z = t², lowest power first, |t| <= tan(π/8): degree 11,
# relative error of atan below 1e-17.
ARCTANGENT = (
    -0.3333333333333333,
    0.19999999999999804,
    -0.14285714285659828,
    0.11111111105155447,
    -0.09090908753500877,
    0.07692296375032143,
    -0.06666424885738255,
    0.05878928997834775,
    -0.05230454270650244,
    0.04551593220626549,
    -0.034570561981427744,
    0.016285756855221028,
)
_TINY = 1e-300  # the angle of the point (0, 0) is 0, not NaN


@jax.custom_jvp
@jax.jit  # traced once for all arguments of one shape
def arcsine(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """asin(x), accurate to 2 units in the last place; NaN beyond ±1.

    >>> float(arcsine(jnp.asarray(1.0))) == math.pi / 2
    True
    """
    size = jnp.abs(x)
    small = size < 0.5
    z = jnp.where(small, size * size, 0.5 - 0.5 * size)
    s = jnp.where(small, size, jnp.sqrt(z))
    angle = s + s * z * _polynomial(z, ARCSINE)
    return jnp.copysign(jnp.where(small, angle, math.pi / 2 - 2 * angle), x)


@arcsine.defjvp
def _arcsine_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """d asin(x) = dx/√(1 - x²)."""
    (x,), (dx,) = primals, tangents
    return arcsine(x), dx / jnp.sqrt((1 - x) * (1 + x))


@jax.custom_jvp
def arctangent(y: Float[Array, "..."], x: Float[Array, "..."]) -> Float[Array, "..."]:
    """atan2(y, x) in [-π/2, π/2] for x >= 0, and 0 at (0, 0); accurate to 2 units in the last
    place.

    >>> float(arctangent(jnp.asarray(-2.0), jnp.asarray(0.0))) == -math.pi / 2
    True
    """
    return jnp.copysign(_first_quadrant(jnp.abs(y), x), y)


@jax.custom_jvp
def angle(y: Float[Array, "..."], x: Float[Array, "..."]) -> Float[Array, "..."]:
    """atan2(y, x) in [0, π] for y >= 0, with an absolute error of a few 1e-16."""
    acute = _first_quadrant(y, jnp.abs(x))
    return jnp.where(x < 0, math.pi - acute, acute)


def _angle_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """(x dy - y dx)/(x² + y²)."""
    (y, x), (dy, dx) = primals, tangents
    size = jnp.maximum(jnp.maximum(jnp.abs(x), jnp.abs(y)), _TINY)
    across, along = y / size, x / size
    # The sum of squares is at least 1 unless both are 0.
    return (along * dy - across * dx) / (size * jnp.maximum(across**2 + along**2, 1.0))


@arctangent.defjvp
def _arctangent_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    return arctangent(*primals), _angle_jvp(primals, tangents)


@angle.defjvp
def _angle_with_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    return angle(*primals), _angle_jvp(primals, tangents)


def _first_quadrant(y: Array, x: Array) -> Array:
    """atan2(y, x) for y, x >= 0."""
    low, high = jnp.minimum(x, y), jnp.maximum(x, y)
    # For angles beyond tan(π/8) measured from 45 degrees, with the same single division.
    far = low > _TAN_EIGHTH_TURN * high
    t = jnp.where(far, low - high, low) / jnp.where(far, low + high, high + _TINY)
    z = t * t
    near = t + t * z * _polynomial(z, ARCTANGENT)
    acute = jnp.where(far, math.pi / 4 + near, near)
    return jnp.where(y > x, math.pi / 2 - acute, acute)


def _polynomial(z: Array, coefficients: tuple[float, ...]) -> Array:
    """Σ_k c_k z^k, by Horner's rule in z² on pairs: a shorter chain of dependent operations."""
    pairs = [c[0] + c[1] * z if len(c) == 2 else c[0] for c in _pairs(coefficients)]
    square, total = z * z, jnp.asarray(pairs[-1])
    for pair in reversed(pairs[:-1]):
        total = total * square + pair
    return total


def _pairs(coefficients: tuple[float, ...]) -> list[tuple[float, ...]]:
    return [coefficients[k : k + 2] for k in range(0, len(coefficients), 2)]

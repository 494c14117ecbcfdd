"""Sums of two float64 numbers: covariances without cancellation.

Near a singular covariance everything depends on differences such as
C_ii C_jj - C_ij², whose leading sixteen digits cancel.  A `Twofold` carries a number as
hi + lo with about 79 bits, so that the difference keeps the digits that the given matrix has.

The splitting of Dekker (1971) is done by masking bits instead of by multiplication: the
product of two leading halves is then exact, and a compiler that fuses a multiplication
with an addition cannot change the result.

Here and in the other modules of this package, functions that are used dozens of times are jitted,
so that they are traced once: a four-point average and its gradient are traced in a third of the
time.
"""

from typing import NamedTuple

from jaxtyping import Array, Float

from tutelage._jax import jax, jnp

Number = Float[Array, "..."]

# The sign, the exponent and the leading 26 of the 53 significant bits of a float64.
_LEADING_BITS = 0xFFFF_FFFF_F800_0000


class Twofold(NamedTuple):
    """The unevaluated sum hi + lo."""

    hi: Number
    lo: Number


def rounded(x: Twofold) -> Number:
    """The nearest float64."""
    return x.hi + x.lo


def product(a: Number, b: Number) -> Twofold:
    """a·b without rounding of the leading 79 bits."""
    a_hi, a_lo = _halves(a)
    b_hi, b_lo = _halves(b)
    return _normalised(a_hi * b_hi, a_hi * b_lo + a_lo * b)


def add(x: Twofold, y: Twofold) -> Twofold:
    """x + y (Knuth's two-sum on the leading parts)."""
    s = x.hi + y.hi
    y_part = s - x.hi
    rest = (x.hi - (s - y_part)) + (y.hi - y_part)
    return _normalised(s, rest + (x.lo + y.lo))


@jax.jit
def subtract(x: Twofold, y: Twofold) -> Twofold:
    """x - y."""
    return add(x, Twofold(-y.hi, -y.lo))


@jax.jit
def multiply(x: Twofold, y: Twofold) -> Twofold:
    """x·y."""
    p = product(x.hi, y.hi)
    return _normalised(p.hi, p.lo + (x.hi * y.lo + x.lo * y.hi))


@jax.jit
def divide(x: Twofold, y: Twofold) -> Twofold:
    """x/y, by one correction of the rounded quotient."""
    q = x.hi / y.hi
    remainder = subtract(x, multiply(Twofold(q, jnp.zeros_like(q)), y))
    return _normalised(q, remainder.hi / y.hi)


@jax.jit
def minor(a: Number, b: Number, c: Number, d: Number) -> Number:
    """The determinant a·d - b·c of [[a, b], [c, d]], rounded once, at the end."""
    return rounded(subtract(product(a, d), product(b, c)))


def _normalised(hi: Number, lo: Number) -> Twofold:
    s = hi + lo
    return Twofold(s, lo - (s - hi))


def _halves(a: Number) -> tuple[Number, Number]:
    bits = jax.lax.bitcast_convert_type(a, jnp.uint64)
    leading = jax.lax.bitcast_convert_type(bits & jnp.uint64(_LEADING_BITS), jnp.float64)
    # Bit masks have no derivative: a − lo gets the derivative of a, and lo is constant.
    lo = jax.lax.stop_gradient(a - leading)
    return a - lo, lo

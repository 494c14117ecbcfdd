"""Counter-based random numbers: the numbers of run r at example s depend only on (key of r, s).

A counter-based generator turns (key, example, slot) into 64 random bits, whatever was drawn
before: batches, restarts and blocks of examples change nothing.  Slots number the draws within
one example.  Everything is elementwise, so that XLA fuses it, and works on arrays that broadcast.
"""

import math
from typing import Any, NamedTuple

from jaxtyping import Array, Bool, Float, Int, Key, UInt32, UInt64

from tutelage._jax import jax, jnp, match_rank, match_ranks
from tutelage._types import AnyArray

# Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011), Table 2 and section 4.1.
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA

# Taylor coefficients in φ² of sin φ/φ and cos φ: the first term left out is below 2⁻⁵⁴ of the
# value for |φ| <= π/4.  XLA's own sin and cos take ten times as long on a CPU.
SINE = [(-1) ** k / math.factorial(2 * k + 1) for k in range(8)]
COSINE = [(-1) ** k / math.factorial(2 * k) for k in range(9)]


class Address(NamedTuple):
    """The address of random numbers: two words of the key of a run, and the number of an example.

    The three broadcast against each other; the drawn numbers have the common shape.
    """

    high: UInt32[Array, "..."]
    low: UInt32[Array, "..."]
    example: Any

    @classmethod
    def of(cls, keys: Key[Array, "..."], example: Int[Array, "..."]) -> "Address":
        """Return the address of JAX keys, shape (...), and examples s < 2⁴⁸ of a matching shape."""
        words = jax.random.key_data(keys)
        return cls(words[..., 0], words[..., 1], jnp.asarray(example, jnp.int64))


def threefry(
    key: tuple[UInt32[AnyArray, "..."], UInt32[AnyArray, "..."]],
    counter: tuple[UInt32[AnyArray, "..."], UInt32[AnyArray, "..."]],
) -> tuple[Any, Any]:
    """Compute Threefry-2x32 with 20 rounds: two words of 32 bits for each key and counter.

    The generator behind `jax.random`, written out so that it fuses with what uses it.

    >>> import jax.numpy as jnp
    >>> ones = jnp.uint32(0xFFFFFFFF)  # a known answer of the authors' Random123
    >>> [hex(x) for x in threefry((ones, ones), (ones, ones))]
    ['0x1cb996fc', '0xbb002be7']
    """
    k = (*key, key[0] ^ key[1] ^ jnp.uint32(PARITY))
    a, b = counter[0] + k[0], counter[1] + k[1]
    for turn in range(5):
        for r in ROTATIONS[turn % 2]:
            a = a + b
            b = ((b << r) | (b >> (32 - r))) ^ a
        a, b = a + k[(turn + 1) % 3], b + k[(turn + 2) % 3] + jnp.uint32(turn + 1)
    return a, b


def bits(at: Address, slot: int | UInt32[Array, "..."]) -> UInt64[Array, "..."]:
    """Draw 64 random bits; the counter is the slot < 2¹⁶, then the example in 48 bits."""
    high, low, example, slot = match_ranks(*at, jnp.asarray(slot, jnp.uint32))
    first = (slot << 16) | (example >> 32).astype(jnp.uint32)
    a, b = threefry((high, low), (first, example.astype(jnp.uint32)))
    return (a.astype(jnp.uint64) << 32) | b.astype(jnp.uint64)


def uniform(at: Address, slot: int | UInt32[Array, "..."]) -> Float[Array, "..."]:
    """Return u = (w + ½)/2⁶⁴ of 64 bits w, in float64: 0 < u <= 1, with all digits near 0."""
    return (bits(at, slot).astype(jnp.float64) + 0.5) * 2.0**-64


def two_normals(
    at: Address, slot: int | UInt32[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Draw two independent standard normals (Box and Muller 1958), from two neighbouring slots.

    z = √(-2 ln u) (cos θ, sin θ)

    u has 64 bits, so that tails are right up to √(2·65 ln 2) = 9.5 standard deviations, which
    are exceeded once in 10²⁰ draws.
    """
    radius = jnp.sqrt(-2.0 * jnp.log(uniform(at, slot)))
    x, y = _on_circle(bits(at, jnp.asarray(slot, jnp.uint32) + 1))
    return radius * x, radius * y


def _on_circle(w: UInt64[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Return a uniform point on the circle: 62 bits for φ in [-π/4, π/4), two for the quarter."""
    turn = jax.lax.bitcast_convert_type(w << 2, jnp.int64).astype(jnp.float64) * 2.0**-64
    φ = (math.pi / 2) * turn
    s, c = φ * _polynomial(SINE, φ * φ), _polynomial(COSINE, φ * φ)
    swapped, negative = (w >> 63) == 1, (w >> 62) & 1 == 1
    x, y = jnp.where(swapped, s, c), jnp.where(swapped, c, s)
    return jnp.where(negative, -x, x), jnp.where(negative, -y, y)


def _polynomial(coefficients: list[float], x: Float[Array, "..."]) -> Float[Array, "..."]:
    value = jnp.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = value * x + c
    return value


def normals(at: Address, count: int) -> list[Float[Array, "..."]]:
    """Draw independent standard normals from the slots 0, …, count - 1 (count if it is odd)."""
    pairs = (count + 1) // 2
    shape = jnp.broadcast_shapes(*(x.shape for x in at))
    slots = 2 * jnp.arange(pairs, dtype=jnp.uint32).reshape(-1, *(1 for _ in shape))
    return [z for two in zip(*two_normals(at, slots), strict=True) for z in two][:count]


def chi_squared(
    at: Address, slot: int, freedom: float | Float[Array, "..."], at_most_two: int
) -> Float[Array, "..."]:
    """Draw χ² with ν degrees of freedom, a whole number ν >= 0; exact for every ν.

    For ν >= 2 the method of Marsaglia and Tsang (2000): with d = ν/2 - 1/3, c = 1/√(9d), a
    normal x and a uniform u, χ² = 2d (1 + cx)³ is accepted if

        ln u < ½x² + d - d(1 + cx)³ + 3d ln(1 + cx),

    which fails with a probability of about 1/(18ν); then the next slots are tried.

    Args:
        at: where to draw.
        slot: the first of three, and of three more for each further try.
        freedom: ν.
        at_most_two: min(ν, 2), known when compiling.
    """
    if at_most_two < 2:
        return at_most_two * two_normals(at, slot)[0] ** 2
    x, u = _proposal(at, jnp.uint32(slot))
    d = match_rank(freedom / 2 - 1 / 3, x)

    def again(carry: tuple[Array, Array, Array, Array]) -> Any:
        slot, x, u, waiting = carry
        waiting = waiting & ~_accepted(d, x, u)
        new_x, new_u = _proposal(at, slot)
        x, u = jnp.where(waiting, new_x, x), jnp.where(waiting, new_u, u)
        return slot + 3, x, u, waiting & ~_surely_accepted(d, x, u)

    carry = (jnp.uint32(slot + 3), x, u, ~_surely_accepted(d, x, u))
    _, x, _, _ = jax.lax.while_loop(lambda carry: jnp.any(carry[-1]), again, carry)
    return 2 * d * (1 + x / jnp.sqrt(9 * d)) ** 3


def _proposal(
    at: Address, slot: UInt32[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    return two_normals(at, slot)[0], uniform(at, slot + 2)


def _accepted(
    d: float | Float[Array, "..."], x: Float[Array, "..."], u: Float[Array, "..."]
) -> Bool[Array, "..."]:
    """Apply the acceptance test of Marsaglia and Tsang.

    With w = cx it is ln u < 3d [ln(1 + w) - w + w²/2 - w³/3], as ½x² = 9d w²/2.  Where w is small
    the bracket is -w⁴/4 + w⁵/5 - …, and would be lost in rounding.
    """
    w = x / jnp.sqrt(9 * d)
    logarithm = jnp.log1p(jnp.where(w > -1, w, 0.0))
    difference = logarithm - w * (1 - w * (1 / 2 - w / 3))
    series = -(w**4) * _polynomial([(-1) ** k / (k + 4) for k in range(7)], w)
    return (w > -1) & (jnp.log(u) < 3 * d * jnp.where(jnp.abs(w) < 0.02, series, difference))


def _surely_accepted(
    d: float | Float[Array, "..."], x: Float[Array, "..."], u: Float[Array, "..."]
) -> Bool[Array, "..."]:
    """Apply a sufficient test without logarithms, which rarely fails where the exact test passes.

    The bracket in `_accepted` is -w⁴/4 + w⁵/5 - … >= -w⁴/(4(1 - |w|)) for |w| < 1, and
    ln u < -b follows from u < 1 - b.
    """
    w = jnp.abs(x) / jnp.sqrt(9 * d)
    return (1 - u) * (1 - w) > 0.75 * d * (w * w) * (w * w)

"""Four fields as four vectors: a factor of the covariance that keeps its digits.

C = L Lᵀ by Cholesky's method with pivoting, in twofold arithmetic.  The rows of L are unit
vectors a_1 … a_4 in four dimensions whose angles are those of the *given* matrix to the
last digit, however close to singular it is.  Orthant averages are Lipschitz functions of
these vectors, so that nothing is lost from here on.

A private coordinate of relative size ``PRIVATE`` is added to every field (C_ii grows by
PRIVATE² C_ii): invisible in C, but every conditional variance gets a definite value, and
all of them belong to one and the same configuration.
"""

from typing import NamedTuple, TypeVar

from jaxtyping import Array, Bool, Float

from tutelage._jax import jax, jnp
from tutelage.averages.orthant.twofold import Twofold, divide, multiply, rounded, subtract

Number = Float[Array, "..."]
Mask = Bool[Array, "..."]
Entries = dict[tuple[int, int], Number]
Exchanges = dict[tuple[int, int], Mask]
# C_ij keyed by i <= j: arrays of numbers, one for each entry, so that every operation runs
# along the batch in vector instructions.
Covariance = Entries
# The conditional covariance given some fields, in twofold numbers.
Remainder = dict[tuple[int, int], Twofold]
Tree = TypeVar("Tree")

PRIVATE = 1e-11

PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))


def at(C: Covariance, i: int, j: int) -> Number:
    """C_ij."""
    return C[min(i, j), max(i, j)]


class UnitRows(NamedTuple):
    """Unit rows in the order of the pivots, and the exchanges that led there."""

    L: list[list[Number]]
    exchanges: Exchanges


def rows(C: Covariance) -> UnitRows:
    """Pivoted Cholesky factor of a covariance with positive diagonal.

    The first two pivots span the best conditioned plane through the first field.
    """
    v = [at(C, i, i) for i in range(4)]
    S = {(i, j): Twofold(at(C, i, j), jnp.zeros_like(v[0])) for i in range(4) for j in range(i)}
    S |= {(i, i): Twofold(v[i], PRIVATE**2 * v[i]) for i in range(4)}
    L = [[jnp.zeros_like(v[0]) for _ in range(4)] for _ in range(4)]
    exchanges: Exchanges = {}
    for k in range(4):
        # All diagonal entries are equal: any field can be the first pivot.
        for i in range(k + 1, 4) if k > 0 else ():
            larger = S[i, i].hi * v[k] > S[k, k].hi * v[i]
            _exchange(S, L, v, k, i, larger)
            exchanges[k, i] = larger
        _eliminate(S, L, v, k)
        S, L, v = computed_once((S, L, v))
    unit = [[L[i][j] / jnp.sqrt(v[i]) for j in range(4)] for i in range(4)]
    return UnitRows(*computed_once((unit, exchanges)))


def computed_once(values: Tree) -> Tree:
    """Keep the compiler from recomputing a shared value for each of its uses."""
    same: Tree = jax.lax.optimization_barrier(values)  # type: ignore[no-untyped-call]
    return same


def _eliminate(S: Remainder, L: list[list[Number]], v: list[Number], k: int) -> None:
    """Set column k of the Cholesky factor L, and reduce S to the covariance given field k."""
    floor = [PRIVATE**2 * v_i for v_i in v]
    below = S[k, k].hi < floor[k]  # indefinite within rounding: the nearest definite value
    pivot = Twofold(jnp.where(below, floor[k], S[k, k].hi), jnp.where(below, 0.0, S[k, k].lo))
    root = jnp.sqrt(rounded(pivot))
    L[k][k] = root
    for i in range(k + 1, 4):
        # Cauchy and Schwarz: |S_ik| <= √(S_kk S_ii).  Only a C that is indefinite within rounding
        # violates it; fields that coincide obey it with equality and must not be touched.
        bound = root * jnp.sqrt(jnp.maximum(S[i, i].hi, floor[i]))
        beyond = jnp.abs(S[i, k].hi) > (1 + 1e-14) * bound
        hi = jnp.where(beyond, jnp.sign(S[i, k].hi) * bound, S[i, k].hi)
        S[i, k] = Twofold(hi, jnp.where(beyond, 0.0, S[i, k].lo))
        L[i][k] = rounded(S[i, k]) / root
    for i in range(k + 1, 4):
        factor = divide(S[i, k], pivot)
        for j in range(k + 1, i + 1):
            S[i, j] = subtract(S[i, j], multiply(factor, S[j, k]))


def _exchange(
    S: Remainder, L: list[list[Number]], v: list[Number], k: int, i: int, swap: Mask
) -> None:
    """Exchange fields k and i where ``swap`` is true."""

    def exchanged(a: Number, b: Number) -> tuple[Number, Number]:
        return jnp.where(swap, b, a), jnp.where(swap, a, b)

    def exchange_entries(p: tuple[int, int], q: tuple[int, int]) -> None:
        hi, lo = exchanged(S[p].hi, S[q].hi), exchanged(S[p].lo, S[q].lo)
        S[p], S[q] = Twofold(hi[0], lo[0]), Twofold(hi[1], lo[1])

    exchange_entries((k, k), (i, i))
    for j in range(k + 1, 4):
        if j != i:
            exchange_entries((max(j, k), min(j, k)), (max(j, i), min(j, i)))
    for column in range(k):
        L[k][column], L[i][column] = exchanged(L[k][column], L[i][column])
    v[k], v[i] = exchanged(v[k], v[i])


def in_pivot_order(values: Entries, exchanges: Exchanges) -> Entries:
    """Reorder quantities of pairs of fields like the rows of L."""
    for (k, i), swap in exchanges.items():
        values = _exchange_pairs(values, k, i, swap)
    return values


def in_field_order(values: Entries, exchanges: Exchanges) -> Entries:
    """Undo `in_pivot_order`."""
    for (k, i), swap in reversed(exchanges.items()):
        values = _exchange_pairs(values, k, i, swap)
    return values


def _exchange_pairs(values: Entries, k: int, i: int, swap: Mask) -> Entries:
    result = dict(values)
    for j in range(4):
        if j not in (k, i):
            p, q = (min(j, k), max(j, k)), (min(j, i), max(j, i))
            result[p] = jnp.where(swap, values[q], values[p])
            result[q] = jnp.where(swap, values[p], values[q])
    return result

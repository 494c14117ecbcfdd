"""Exact averages of piecewise linear units and of the error function, mixed in any way.

A piecewise linear unit (ReLU, leaky ReLU, linear) is g(x) = m x + d |x| with the derivative
m + d sgn x.  The error function is a sign seen through noise: with an independent n ~ N(0, 1),

    erf(x/√2) = ⟨sgn(x + n)⟩,    its derivative is ⟨2 δ(x + n)⟩.

Every I2, I3 and I4 of such units is therefore a sum of moments of signs and fields
(`_moments`), where erf fields have their variance increased by one and a delta function is a
condition.  Only moments with four signs need an integral.

A field of zero variance counts as an independent one of infinitesimal variance: g' = m there.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp, match_rank
from tutelage.activations import Activation
from tutelage.activations.base import form_of
from tutelage.activations.closed import ClosedForm
from tutelage.averages.estimate import Estimate
from tutelage.averages.orthant import moments as _moments
from tutelage.averages.orthant.rows import Covariance, at, computed_once

Number = Float[Array, "..."]
Kind = tuple[int, int]
Term = tuple[Any, Kind]  # a coefficient and the kind of its term
Factor = list[Term]

_CHUNK = 1024  # matrices; about a hundred numbers each

# Powers of z and of sgn z (0 or 1) in a term of a factor.
ONE, SIGN, FIELD, MODULUS = (0, 0), (0, 1), (1, 0), (1, 1)
DELTA = (-1, 0)  # δ(z)


def supports(activations: tuple[Activation, ...]) -> bool:
    """Return whether every unit is piecewise linear or an error function."""
    return all(_supports(g.closed_form) for g in activations)


def _supports(form: ClosedForm | None) -> bool:
    return form is not None and (form.is_piecewise_linear or form.is_error_function)


def i2(activations: tuple[Activation, ...], C: Float[Array, "... 2 2"]) -> Estimate:
    """⟨g(u) h(w)⟩; for the ReLU eq. (27) of oostwal2019."""
    g, h = activations
    return _average([_value(g), _value(h)], [g, h], C)


def i3(
    activations: tuple[Activation, ...],
    C: Float[Array, "... 3 3"],
    same: tuple[int, ...] = (0, 1, 2),
) -> Estimate:
    """⟨g'(u) v h(w)⟩; for the ReLU eq. (6) of straat2019.

    same: for each argument the first one that is the same field, for example (0, 1, 0) if
        w is u.  The value does not need it, but derivatives do: the covariance of two signs
        has an infinite derivative where they coincide, that of one sign with itself has none.
    """
    g, h = activations
    return _average([_slope(g), [(1.0, FIELD)], _value(h)], [g, None, h], C, same)


def i4(
    activations: tuple[Activation, ...],
    C: Float[Array, "... 4 4"],
    same: tuple[int, ...] = (0, 1, 2, 3),
) -> Estimate:
    """⟨g_1'(u) g_2'(v) h(w) k(z)⟩, which citton2025 expands in a series; ``same`` as in `i3`."""
    g1, g2, h, k = activations
    factors = [_slope(g1), _slope(g2), _value(h), _value(k)]
    return _in_chunks(lambda part: _average(factors, [g1, g2, h, k], part, same), C)


def slopes(
    activations: tuple[Activation, ...], C: Float[Array, "... 2 2"], same: tuple[int, ...] = (0, 1)
) -> Estimate:
    """⟨g'(u) h'(w)⟩."""
    g, h = activations
    return _average([_slope(g), _slope(h)], [g, h], C, same)


def _in_chunks(average: Callable[[Array], Estimate], C: Float[Array, "... n n"]) -> Estimate:
    """Split a large batch so that intermediate results fit in the cache: twice as fast."""
    batch, matrix = C.shape[:-2], C.shape[-2:]
    size = math.prod(batch)
    if size <= _CHUNK:
        return average(C)
    chunks = -(-size // _CHUNK)
    padding = jnp.broadcast_to(jnp.eye(matrix[0]), (chunks * _CHUNK - size, *matrix))
    parts = jnp.concatenate([C.reshape(size, *matrix), padding]).reshape(chunks, _CHUNK, *matrix)
    values: Estimate = jax.lax.map(average, parts)
    return Estimate(*(x.reshape(-1)[:size].reshape(batch) for x in values))


def _value(g: Activation) -> Factor:
    """Return g as a sum of terms."""
    return _terms(g, {"line": FIELD, "modulus": MODULUS, "erf": SIGN, "constant": ONE})


def _slope(g: Activation) -> Factor:
    """Return g' as a sum of terms."""
    if _is_noisy(g):
        return [(2.0 * c, kind) for c, kind in _terms(g, {"erf": DELTA})]
    return _terms(g, {"line": ONE, "modulus": SIGN}) or [(0.0, ONE)]


def _terms(g: Activation, kinds: dict[str, Kind]) -> Factor:
    """Return coefficients of the named terms of the closed form, and the kind of each term."""
    terms = form_of(g).terms
    return [(terms[name], kind) for name, kind in kinds.items() if name in terms]


def _is_noisy(g: Activation | None) -> bool:
    """Return whether g is an error function; None stands for the field itself."""
    return g is not None and form_of(g).is_error_function


def _average(
    factors: list[Factor], units: list[Any], C: Float[Array, "... n n"], same: tuple[int, ...] = ()
) -> Estimate:
    """⟨Π factors⟩; each factor is a function of a separate field, unless ``same`` gives their
    fields.
    """
    C = 0.5 * (C + jnp.swapaxes(C, -1, -2))
    noise = np.diag([1.0 if _is_noisy(g) else 0.0 for g in units])
    C = C + match_rank(noise, C)
    factors, positions = _merged(factors, units, same or tuple(range(len(factors))))
    C = C[..., positions, :][..., :, positions] if len(positions) < len(units) else C
    prefactor = jnp.ones_like(C[..., 0, 0])
    for x, factor in enumerate(factors):
        if factor[0][1] == DELTA:
            prefactor = prefactor * factor[0][0] / jnp.sqrt(2 * math.pi * C[..., x, x])
            C = C - C[..., :, x, None] * C[..., None, x, :] / C[..., x, x][..., None, None]
            factors[x] = [(1.0, ONE)]
    value = prefactor * _expanded(factors, C)
    return Estimate(value, prefactor * _error(factors, C))


def _merged(
    factors: list[Factor], units: list[Any], same: tuple[int, ...]
) -> tuple[list[Factor], np.ndarray]:
    """Merge factors of the same field; also return the positions of the fields.

    Each error function has a separate field, because it has independent noise.
    """
    merged: dict[int, Factor] = {}
    for x, (factor, unit, first) in enumerate(zip(factors, units, same, strict=True)):
        if first in merged and not _is_noisy(unit) and not _is_noisy(units[first]):
            pairs = itertools.product(merged[first], factor)
            merged[first] = [(a * b, (p + q, (s + t) % 2)) for (a, (p, s)), (b, (q, t)) in pairs]
        else:
            merged[x] = factor
    return list(merged.values()), np.array(list(merged))


def _error(factors: list[Factor], C: Float[Array, "... n n"]) -> Number:
    """Bound the rounding errors and, with four signs, the errors of the integral.

    The integral is accurate to 1e-15 of its factor unless a transition is very narrow, and then
    to 2e-11; the private coordinate of `_rows` adds 1e-11 on singular covariances.
    """
    powers = [max(power for _, (power, _) in factor) for factor in factors]
    signs = sum(any(sign for _, (_, sign) in factor) for factor in factors)
    relative = 1e-10 if signs == 4 else 1e-14
    sizes = jnp.sqrt(jnp.maximum(jnp.diagonal(C, axis1=-2, axis2=-1), 0.0))
    scale = jnp.ones_like(C[..., 0, 0])
    for i, (factor, power) in enumerate(zip(factors, powers, strict=True)):
        scale = scale * sizes[..., i] ** power * sum(abs(c) for c, _ in factor)
    return relative * scale


def _expanded(factors: list[Factor], C: Float[Array, "... n n"]) -> Number:
    """Σ of coefficient times moment over all products of terms that do not vanish by symmetry."""
    unit, amplitude = normalised(C)
    total = jnp.zeros_like(C[..., 0, 0])
    for terms in itertools.product(*factors):
        kinds = [kind for _, kind in terms]
        signs = [i for i, (_, sign) in enumerate(kinds) if sign]
        fields = [i for i, (power, _) in enumerate(kinds) for _ in range(power)]
        coefficient = math.prod(c for c, _ in terms)
        never = isinstance(coefficient, float) and coefficient == 0.0
        if never or (len(signs) + len(fields)) % 2:
            continue
        if signs:
            scale = math.prod(amplitude[a] for a in fields)
            total = total + coefficient * scale * _sign_moment(unit, fields, signs)
        else:
            total = total + coefficient * (C[..., fields[0], fields[1]] if fields else 1.0)
    return total


def _sign_moment(C: Covariance, fields: list[int], signs: list[int]) -> Number:
    """⟨Π fields · Π signs⟩."""
    match len(signs), len(fields):
        case 1, 1:
            (a,), (c,) = fields, signs
            return math.sqrt(2 / math.pi) * at(C, a, c) / jnp.sqrt(at(C, c, c))
        case 2, 0:
            return _moments.pair_sign(C, *signs)
        case 2, 2:
            return _moments.pair_moment(C, *fields, *signs)
        case 3, 1:
            return _moments.triple_moment(_selected(C, [*fields, *signs]))
        case 4, 0:
            return _moments.quad_sign(C)
        case _:  # four signs, of which the two of the fields come last
            others = [c for c in signs if c not in fields]
            return _moments.quad_moment(_selected(C, [*others, *fields]))


def _selected(C: Covariance, fields: list[int]) -> Covariance:
    n = range(len(fields))
    return {(i, j): at(C, fields[i], fields[j]) for i in n for j in n if i <= j}


def normalised(C: Float[Array, "... n n"]) -> tuple[Covariance, list[Number]]:
    """Entries of a covariance with diagonal in [1, 4), and the factors taken out of the fields.

    The factors are powers of two: no digit changes, and no product of variances under- or
    overflows.  A field of zero variance becomes an independent one with the factor zero.
    """
    n = range(C.shape[-1])
    variance = [jax.lax.stop_gradient(C[..., i, i]) for i in n]
    zero = [v < 1e-290 for v in variance]
    amplitude = [
        power_of_two(jnp.sqrt(jnp.where(z, 1.0, v))) for z, v in zip(zero, variance, strict=True)
    ]
    unit = {
        (i, j): jnp.where(
            zero[i] | zero[j],
            1.0 if i == j else 0.0,
            0.5 * (C[..., i, j] + C[..., j, i]) / (amplitude[i] * amplitude[j]),
        )
        for i in n
        for j in n
        if i <= j
    }
    factors = [jnp.where(z, 0.0, a) for z, a in zip(zero, amplitude, strict=True)]
    return computed_once(unit), factors


def power_of_two(x: Number) -> Number:
    """The largest power of two that is at most x > 0."""
    bits = jax.lax.bitcast_convert_type(x, jnp.uint64)
    return jax.lax.bitcast_convert_type(bits & jnp.uint64(0x7FF0_0000_0000_0000), jnp.float64)

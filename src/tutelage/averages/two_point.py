"""⟨g(u) h(w)⟩ of units with a closed form, as a function of the covariance c of u and w.

Such units are sums of a constant, x, |x| and erf(x/√2) (`ClosedForm`), so that their averages are
sums over pairs of these.  `PAIRS` is the table of them, with p the variance of u and q that of w:

    1,    1         1
    1,    |w|       √(2q/π)
    u,    w         c
    erf,  w         √(2/π) c/√(1 + p)
    |u|,  |w|       √(pq) κ(c/√(pq)),    κ(ρ) = (2/π) [√(1−ρ²) + ρ asin ρ]
    erf,  erf       κ(c/ℓ),              κ(ρ) = (2/π) asin(ρ/2),    ℓ = √((1+p)(1+q))/2

Other pairs are an odd times an even function, and vanish.  κ are ``oostwal2019`` eqs. (26) and (27)
at norms one, the second without its linear part.
"""

import math
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from tutelage._jax import jax, jnp
from tutelage._types import AnyArray, ArrayModule, FloatOrArray
from tutelage.activations.closed import ClosedForm
from tutelage.averages.orthant.angle import arcsine


def erf_kernel(rho: FloatOrArray, derivative: int = 0) -> Any:
    """(2/π) asin(ρ/2), differentiated up to three times; ρ is an array of NumPy or of JAX."""
    if derivative == 0:
        return 2 / math.pi * _arcsine(rho / 2)
    square = 4 - rho**2
    numerator = {1: 1.0, 2: rho, 3: 2 * (2 + rho**2)}[derivative]
    return 2 / math.pi * numerator / square ** (derivative - 0.5)


def modulus_kernel(rho: FloatOrArray, derivative: int = 0) -> Any:
    """(2/π) [√(1−ρ²) + ρ asin ρ], differentiated up to three times; from two on infinite at ±1."""
    xp, square = _module(rho), (1 - rho) * (1 + rho)
    if derivative == 0:
        value = rho * _arcsine(rho)
        value += xp.sqrt(square)  # in place, in NumPy
        value *= 2 / math.pi
        return value
    if derivative == 1:
        return 2 / math.pi * _arcsine(rho)
    with np.errstate(divide="ignore"):
        return 2 / math.pi * (1.0 if derivative == 2 else rho) / square ** (derivative - 1.5)


def _module(x: FloatOrArray) -> ArrayModule:
    return jnp if isinstance(x, jax.Array) else np


def _arcsine(x: FloatOrArray) -> Any:
    """Return asin(x); in compiled programs by operations whose digits do not depend on the place
    in an array.
    """
    return arcsine(x) if isinstance(x, jax.Array) else np.arcsin(x)


class Curved(NamedTuple):
    """s κ(c/ℓ)."""

    kappa: Callable[..., Any]
    scale: Any
    size: Any


class TwoPoint(NamedTuple):
    """level + linear · c + Σ s κ(c/ℓ)."""

    level: Any = 0.0
    linear: Any = 0.0
    curved: tuple[Curved, ...] = ()


def _erf_erf(p: AnyArray, q: AnyArray) -> TwoPoint:
    size = _module(p).sqrt((1 + p) / 2 * ((1 + q) / 2))
    return TwoPoint(curved=(Curved(erf_kernel, 1.0, size),))


def _modulus_modulus(p: AnyArray, q: AnyArray) -> TwoPoint:
    xp = _module(p)
    root = xp.sqrt(p * q)
    # A field of variance zero is constant: any unit of length can be used.
    all_vary = xp is np and np.min(root, initial=1.0) > 0
    size = root if all_vary else xp.where(root > 0, root, 1.0)
    return TwoPoint(curved=(Curved(modulus_kernel, root, size),))


PAIRS: dict[tuple[str, str], Callable[[Any, Any], TwoPoint]] = {
    ("constant", "constant"): lambda p, q: TwoPoint(level=1.0),
    ("constant", "modulus"): lambda p, q: TwoPoint(level=_module(q).sqrt(2 * q / math.pi)),
    ("line", "line"): lambda p, q: TwoPoint(linear=1.0),
    ("erf", "line"): lambda p, q: TwoPoint(linear=_module(p).sqrt(2 / math.pi / (1 + p))),
    ("modulus", "modulus"): _modulus_modulus,
    ("erf", "erf"): _erf_erf,
}


def two_point(
    g: ClosedForm, h: ClosedForm, p: Float[AnyArray, "..."], q: Float[AnyArray, "..."]
) -> TwoPoint:
    """⟨g(u) h(w)⟩ for fields of the variances p and q, of NumPy or of JAX.

    >>> relu = ClosedForm(line=0.5, modulus=0.5)
    >>> average = two_point(relu, relu, jnp.ones(()), jnp.ones(()))
    >>> average.level, average.linear, [float(part.scale) for part in average.curved]
    (0.0, 0.25, [0.25])
    """
    level, linear, curved = 0.0, 0.0, list[Curved]()
    for (a, x), (b, y) in product(g.terms.items(), h.terms.items()):
        if (a, b) in PAIRS:
            average = PAIRS[a, b](p, q)
        elif (b, a) in PAIRS:
            average = PAIRS[b, a](q, p)
        else:
            continue
        level, linear = level + x * y * average.level, linear + x * y * average.linear
        curved += [part._replace(scale=x * y * part.scale) for part in average.curved]
    return TwoPoint(level, linear, tuple(curved))

"""The exact properties of an activation, as data that averages and kernels read."""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jnp, match_rank
from tutelage.activations.hermite import (
    HermiteCoefficients,
    hermite_at_zero,
    powers,
    safe_sqrt,
    with_rounding,
)


class ClosedForm(NamedTuple):
    """g(x) = o + m x + d |x| + e erf(x/√2).

    None means that g never has the term, whatever its parameters are; zero means that it does not
    have it now.  Formulas leave out the first, and compiled programs do not depend on the second.

    line: m.
    modulus: d; g' jumps by 2d at 0.
    erf: e.
    constant: o.
    """

    line: Any = None
    modulus: Any = None
    erf: Any = None
    constant: Any = None

    @property
    def terms(self) -> dict[str, Any]:
        """The coefficients of the terms that g may have, by name."""
        return {name: x for name, x in self._asdict().items() if x is not None}

    @property
    def is_piecewise_linear(self) -> bool:
        """Return whether g is linear on both sides of 0."""
        return self.erf is None

    @property
    def is_error_function(self) -> bool:
        """Return whether g is an error function plus a constant."""
        return self.erf is not None and self.line is None and self.modulus is None

    @property
    def is_homogeneous(self) -> bool:
        """Return whether g(sx) = s g(x) for s > 0."""
        return self.erf is None and self.constant is None

    @property
    def is_static(self) -> bool:
        """Return whether all coefficients are numbers, not arrays, so that formulas can be
        written out.
        """
        return all(isinstance(x, int | float) for x in self.terms.values())

    @property
    def slopes(self) -> tuple[Any, Any]:
        """g' on the left and on the right of 0, of a piecewise linear unit."""
        m, d = (0.0 if x is None else x for x in (self.line, self.modulus))
        return m - d, m + d

    def at_unit_variance(self, order: int) -> np.ndarray:
        """c_0 … c_order of g at q = 1."""
        m, d, e, o = (0.0 if x is None else float(x) for x in self)
        n = np.arange(1, order + 1)
        c = 2 * d * relu_at_unit_variance(order)
        c[1:] += e * erf_factors(order) * 0.5 ** (n / 2)
        c[:1] += o
        c[1:2] += m
        return c

    def hermite(self, order: int, q: Float[Array, "..."]) -> HermiteCoefficients:
        """c_0 … c_order of g at the variance q: the sum over the terms of g."""
        parts = []
        if self.line is not None or self.modulus is not None:
            parts.append(_lines(self, order, q))
        if self.erf is not None or self.constant is not None:
            parts.append(_erf_and_constant(self, order, q))
        # Each part has a separate rounding error, because their sum may be much smaller than both.
        rounded = [with_rounding(part) for part in parts]
        return HermiteCoefficients(*(sum(x) for x in zip(*rounded, strict=True)))


def _lines(form: ClosedForm, order: int, q: Float[Array, "..."]) -> Float[Array, "... n"]:
    """m x + d |x|: c_1 = m √q and, for even n, c_n = 2d √q c_n[ReLU] (``citton2025`` section 2.2).

    From g'' = 2d δ: c_n[ReLU] = h_{n−2}(0)/√(2π n (n−1)) for n ≥ 2, c_0 = 1/√(2π).
    """
    m, d = (0.0 if x is None else x for x in (form.line, form.modulus))
    is_line = np.arange(order + 1) == 1
    c = jnp.where(is_line, m, 2 * d * relu_at_unit_variance(order))
    scale = safe_sqrt(q)[..., None]
    return scale * match_rank(c, scale)


def relu_at_unit_variance(order: int) -> np.ndarray:
    """c_n of the ReLU at q = 1; zero at n = 1, which belongs to the linear part."""
    h = hermite_at_zero(order)
    n = np.arange(2, order + 1)
    c = np.concatenate([h[:1], np.zeros(min(order, 1)), h[: order - 1] / np.sqrt(n * (n - 1))])
    return c / np.sqrt(2 * np.pi)


def erf_factors(order: int) -> np.ndarray:
    """√(2/π) h_{n−1}(0)/√n for n = 1 … order; zero for even n."""
    n = np.arange(1, order + 1)
    return math.sqrt(2 / math.pi) * hermite_at_zero(order)[:order] / np.sqrt(n)


def _erf_and_constant(
    form: ClosedForm, order: int, q: Float[Array, "..."]
) -> Float[Array, "... n"]:
    """o + e erf(x/√2): c_0 = o and, for odd n, c_n = e √(2/π) (q/(1+q))^{n/2} h_{n−1}(0)/√n.

    Averaging erf'((y + √q z)/√2) over z gives 2 N(y; 0, 1+q); c_n = √(qⁿ/n!) times its
    derivative of order n−1 in y at 0, again a Hermite polynomial.
    """
    o, e = (0.0 if x is None else x for x in (form.constant, form.erf))
    r = q / (1 + q)
    # n is odd wherever h_{n−1}(0) ≠ 0, so that one factor √r and a whole power remain.
    whole = powers(r, (order + 1) // 2)[..., np.arange(order) // 2]
    roots = safe_sqrt(r)[..., None] * whole
    c = e * (match_rank(erf_factors(order), roots) * roots)
    mean = jnp.broadcast_to(jnp.asarray(o, float), (*q.shape, 1))
    return jnp.concatenate([mean, c], axis=-1)

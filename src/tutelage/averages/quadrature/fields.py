"""⟨f_1(x_1) ⋯ f_d(x_d)⟩ for Gaussian x of any mean and covariance, and its derivatives.

A field carries an activation and how often it is differentiated.  Regular parts are
integrated; the delta functions that kinks leave in second and higher derivatives are
integrated exactly, by conditioning:

    ⟨δ⁽ᵐ⁾(x_a − s) G⟩ = (−1)ᵐ (d/ds)ᵐ [ p(s) ⟨G | x_a = s⟩ ],   d/ds ⟨G|s⟩ = ⟨β·∂G|s⟩,

with p the density of x_a and β = C_·a/C_aa.  Derivatives with respect to the covariance
follow from Price's theorem (IRE Trans. Inf. Theory 4 (1958) 69),

    d⟨F⟩ = Σ_a dμ_a ⟨∂_a F⟩ + ½ Σ_ab dC_ab ⟨∂_a ∂_b F⟩,

so that no square root or eigenvector is differentiated, and singular covariances are
points like any other.
"""

from collections.abc import Callable
from math import comb
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._given import ArrayLike
from tutelage._jax import jax, jnp
from tutelage._types import Scalar
from tutelage.activations import Activation
from tutelage.activations.base import Kink
from tutelage.averages.estimate import Estimate
from tutelage.averages.quadrature.grid import Absolute, Grid, ordered_factor
from tutelage.averages.quadrature.rules import RANK_TOLERANCE, SMALLEST_VARIANCE, cut_off


class Effort(NamedTuple):
    """Nodes per axis of integrals with 0, 1, … axes, and whether an error is wanted."""

    nodes: tuple[int, ...]
    judged: bool = True


class Field(eqx.Module):
    """The derivative of the given order of an activation, without its delta functions."""

    activation: Activation
    order: int = eqx.field(static=True)

    def __call__(self, x: Array) -> Array:
        return _regular(self.activation, self.order)(x)

    @property
    def kinks(self) -> tuple[Kink, ...]:
        return tuple(self.activation.kinks)

    @property
    def is_zero(self) -> bool:
        """Return whether the regular part vanishes identically."""
        return self.order >= 2 and self._is_straight

    def deltas(self, kink: Kink) -> list[tuple[int, Scalar]]:
        """Pairs (m, J): the k-th derivative contains J δ⁽ᵐ⁾ with J the jump of g⁽ᵏ⁻¹⁻ᵐ⁾."""
        k = self.order
        deltas = [(k - 2, kink.jump)]
        if self._is_straight:
            return deltas
        step = 1e-9 * (1 + abs(kink.position))
        sides = jnp.stack([kink.position + step, kink.position - step])
        for m in range(k - 2):
            above, below = _regular(self.activation, k - 1 - m)(sides)
            deltas.append((m, above - below))
        return deltas

    @property
    def _is_straight(self) -> bool:
        """True if g is straight between its kinks."""
        form = self.activation.closed_form
        return form is not None and form.is_piecewise_linear

    def raised(self) -> "Field":
        return Field(self.activation, self.order + 1)


Fields = tuple[Field, ...]


def _regular(g: Activation, order: int) -> Callable[[Array], Array]:
    if order <= 2:
        return (g, g.derivative, g.second_derivative)[order]
    lower = _regular(g, order - 1)
    return lambda x: jax.jvp(lower, (x,), (jnp.ones_like(x),))[1]


def raise_orders(fields: Fields, *which: int) -> Fields:
    """Apply ∂_a for every a in the list."""
    for a in which:
        fields = (*fields[:a], fields[a].raised(), *fields[a + 1 :])
    return fields


def total(*terms: tuple[ArrayLike, Estimate]) -> Estimate:
    """Σ coefficient × estimate; errors add up."""
    value, error = jnp.zeros(()), jnp.zeros(())
    for coefficient, estimate in terms:
        c = jnp.asarray(coefficient)
        value = value + c * estimate.value
        error = error + jax.lax.stop_gradient(jnp.abs(c)) * estimate.error
    return Estimate(value, error)


def average(
    fields: Fields, mean: Float[Array, " d"], C: Float[Array, "d d"], effort: Effort
) -> Estimate:
    """⟨Π_i f_i(x_i)⟩, delta functions included."""
    for a, field in enumerate(fields):
        if field.kinks and field.order >= 2:
            regular = (1.0, _integral_of(fields, mean, C, effort))
            deltas = (
                (jump, _delta(fields, a, kink.position, m, mean, C, effort))
                for kink in field.kinks
                for m, jump in field.deltas(kink)
            )
            return total(regular, *deltas)
    return _integral_of(fields, mean, C, effort)


def _integral_of(fields: Fields, mean: Array, C: Array, effort: Effort) -> Estimate:
    if not fields:
        return Estimate(jnp.ones(()), jnp.zeros(()))
    if any(field.is_zero for field in fields):
        return Estimate(jnp.zeros(()), jnp.zeros(()))
    estimate: Estimate = _integral(fields, mean, C, effort=effort)
    return estimate


def _delta(
    fields: Fields, a: int, s: float, m: int, mean: Array, C: Array, effort: Effort
) -> Estimate:
    """⟨δ⁽ᵐ⁾(x_a − s) Π_{i≠a} f_i⟩; zero where x_a does not vary."""
    rest = np.delete(np.arange(len(fields)), a)
    varies = C[a, a] > SMALLEST_VARIANCE
    variance = jnp.where(varies, C[a, a], 1.0)
    beta = C[rest, a] / variance
    conditional = _cleaned(C[np.ix_(rest, rest)] - jnp.outer(beta, C[a, rest]), C[rest, rest])
    centre = mean[rest] + beta * (s - mean[a])
    G = tuple(fields[i] for i in rest)

    def along_beta(G: Fields, times: int) -> Estimate:
        if times == 0:
            return average(G, centre, conditional, effort)
        return total(*((beta[j], along_beta(raise_orders(G, j), times - 1)) for j in range(len(G))))

    density = [jnp.where(varies, p, 0.0) for p in _density_derivatives(s - mean[a], variance, m)]
    return total(
        *(((-1) ** m * comb(m, r) * density[m - r], along_beta(G, r)) for r in range(m + 1))
    )


def _density_derivatives(x: Array, variance: Array, highest: int) -> list[Array]:
    """p, p', …, of a centred Gaussian density: p⁽ʲ⁾ = (−1)ʲ He_j(t) p/σʲ, t = x/σ."""
    sigma = jnp.sqrt(variance)
    t = x / sigma
    He = [jnp.ones(()), t]
    for j in range(1, highest):
        He.append(t * He[j] - j * He[j - 1])
    p = jnp.exp(-0.5 * t**2) / (np.sqrt(2 * np.pi) * sigma)
    return [(-1) ** j * He[j] * p / sigma**j for j in range(highest + 1)]


def _cleaned(conditional: Array, before: Array) -> Array:
    """Set rows of fields that the condition makes constant, up to rounding, to zero."""
    free = jnp.diagonal(conditional) > RANK_TOLERANCE * before
    return jnp.where(free[:, None] & free[None], conditional, 0.0)


@eqx.filter_custom_jvp
def _integral(fields: Fields, mean: Array, C: Array, *, effort: Effort) -> Estimate:
    """Integrate on several nested grids; their differences give the error.

    Smooth: the trapezoidal rule and the one on shifted nodes have opposite errors, except for waves
    that run diagonally through the axes; their mean is the value, and their difference and a
    coarser grid give the error.  With kinks: the finest grid is the value, and three others give
    the error.
    """
    n = effort.nodes[len(fields)]
    L, order = ordered_factor(fields, C)
    grid = Grid(tuple(fields[i] for i in order), mean[order], L)
    kinked = any(field.kinks for field in fields)
    first = grid.sum(n)
    second = grid.sum(n, shifted=True) if effort.judged or not kinked else first
    value = first if kinked else (first + second) / 2
    if not effort.judged:
        return Estimate(value, jnp.zeros(()))
    size = Grid(tuple(Absolute(f) for f in grid.fields), grid.mean, L).sum(max(4, n // 4))
    floor = 64 * np.finfo(float).eps * size + cut_off(n, len(fields)) * grid.largest(n)
    change = jnp.abs(first - second)
    if kinked:
        change = 2 * (change + jnp.abs(first - grid.sum(max(4, 7 * n // 10), finest=n)))
        coarse = jnp.abs(first - grid.sum(max(4, n // 2), finest=n))
        floor = floor + grid.unresolved(n)
        return Estimate(value, change + _from_coarser(coarse, size, 1.3) + floor)
    coarse = jnp.abs(value - grid.sum(max(2, 3 * n // 4)))
    return Estimate(value, change + _from_coarser(coarse, size, 1.2) + floor)


def _from_coarser(change: Array, size: Array, power: float) -> Array:
    """Estimate the error of the finest grid from that of a coarser one.

    If its logarithm grows like n^(2/3), ¾ n nodes have its power 1/1.2 and ½ n its power 1/1.6;
    dependent kinks leave n^−2, which the smaller power 1.3 and the factor of ten allow for down
    to relative errors of 1e-6.
    """
    share = change / jnp.where(size > 0, size, 1.0)
    return jnp.where(size > 0, 10 * size * share**power, change)


@_integral.def_jvp  # type: ignore[untyped-decorator]
def _integral_tangent(
    primals: tuple[Any, ...], tangents: tuple[Any, ...], *, effort: Effort
) -> tuple[Estimate, Estimate]:
    fields, mean, C = primals
    d_fields, d_mean, d_C = tangents
    estimate = _integral(fields, mean, C, effort=effort)
    axes = range(len(fields))
    slope = jnp.zeros(())
    alone = effort._replace(judged=False)  # derivatives are computed without error estimates
    if d_mean is not None:
        for a in axes:
            slope += d_mean[a] * average(raise_orders(fields, a), mean, C, alone).value
    if d_C is not None:
        for a in axes:
            for b in axes[a:]:
                dC = 0.5 * d_C[a, a] if a == b else 0.5 * (d_C[a, b] + d_C[b, a])
                slope += dC * average(raise_orders(fields, a, b), mean, C, alone).value
    if jax.tree.leaves(d_fields):
        L, order = ordered_factor(fields, C)

        def parameters_alone(f: Fields) -> Array:
            return Grid(tuple(f[i] for i in order), mean[order], L).sum(effort.nodes[len(f)])

        slope += eqx.filter_jvp(parameters_alone, (fields,), (d_fields,))[1]
    return estimate, Estimate(slope, jnp.zeros(()))

"""The gradient of ε_g with respect to the weights of a batch of students.

Gradient flow of student weights w_i (docs/physics/online.md) is

    dw_i/dt = F_i = -∂ε_g/∂w_i = Σ_a A_ia w_a,

over students and teachers a, with the mean Jacobian A of `tutelage.averages.pairs`.  With
∂I2/∂C_uw = ⟨g'(u) h'(w)⟩ and 2 ∂I2/∂C_uu = ⟨g''(u) h(w)⟩ (Price), A follows from the two-point
function I2(p, q, c) = ⟨g(u) h(w)⟩ of fields with variances p, q and covariance c,

    A_ia = G_ia ∂I2/∂c + [a = i] Σ_b 2 G_ib ∂I2/∂p.

Three kinds of units have an elementary I2 that is written out here, because a landscape takes 10⁷
gradients.  For units m x + d|x|, with θ the angle between the fields,

    I2 = m m' c + (2/π) d d' [√(pq - c²) + c (π/2 - θ)];

for units o + e erf(x/√2), with Λ = (1+p)(1+q) - c²,

    I2 = o o' + (2/π) e e' atan(c/√Λ);

and for GELU, x Φ(x) = ⟨x 1(x + z > 0)⟩ over a standard normal z, a moment of two orthants,

    I2 = c [1/4 + atan(c/√Λ)/2π] + [pq - c² + c²/(1+p) + c²/(1+q)] / (2π √Λ).

Other units use the averages of the order-parameter equations.
"""

import math
from functools import partial
from typing import Any, Literal

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from tutelage._jax import jax, jnp
from tutelage._types import AnyArray
from tutelage.activations import Activation
from tutelage.activations.base import form_of
from tutelage.averages.generalization import coefficients
from tutelage.averages.orthant.angle import angle
from tutelage.model import Scenario
from tutelage.model.layout import unchecked
from tutelage.online.flow import moments
from tutelage.online.moments.base import Moments
from tutelage.runs.stored_jit import stored_jit

Kind = Literal["lines", "erf", "gelu", "other"]


class Landscape(eqx.Module):
    """The error of a scenario as a function of the weights of its students.

    Weights have the shape (runs, K, n): the first r columns are coordinates in the span of the
    teachers, the others are orthogonal to it.

    teachers: B with T = B Bᵀ, shape (M, r).
    plain, curved: m and d, or o and e, of the units of all fields.
    kind: which formula gives the averages.
    """

    moments: Moments
    teachers: Float[np.ndarray, "M r"]
    output_weights: Float[np.ndarray, "outputs n"]
    plain: Float[np.ndarray, " n"]
    curved: Float[np.ndarray, " n"]
    kind: Kind = eqx.field(static=True)

    def __init__(self, scenario: Scenario):
        g, h = scenario.student.activation, scenario.teacher.activation
        self.moments = moments(scenario, None, limit=True)
        self.teachers = teacher_weights(np.asarray(scenario.T))
        self.output_weights = np.asarray(coefficients(scenario, np))
        self.kind = kind_of(scenario)
        counts = (scenario.K, scenario.M)
        self.plain, self.curved = (
            np.repeat(pair, counts)
            for pair in zip(*(_amplitudes(unit, self.kind) for unit in (g, h)), strict=True)
        )

    @property
    def scenario(self) -> Scenario:
        """The scenario of student and teacher."""
        return self.moments.scenario

    @property
    def couplings(self) -> Float[AnyArray, "K n"]:
        """G_ia."""
        r, K = self.output_weights, self.scenario.K
        return -r[:, :K].T @ r

    def all_weights(self, W: Float[Array, "runs K n"]) -> Float[Array, "runs fields n"]:
        """Weights of students and teachers."""
        M, r = self.teachers.shape
        B = jnp.zeros((M, W.shape[-1])).at[:, :r].set(self.teachers)
        return jnp.concatenate([W, jnp.broadcast_to(B, (*W.shape[:-2], *B.shape))], axis=-2)

    def force(self, W: Float[Array, "runs K n"]) -> Float[Array, "runs K n"]:
        """F_i = Σ_a A_ia w_a."""
        J = self.all_weights(W)
        if self.kind == "other":
            return self.moments.jacobian(self._overlaps(W)) @ J
        slopes, along = self._terms(W, J)
        return slopes @ J + along * W

    def jacobian(self, W: Float[Array, "runs K n"]) -> Float[Array, "runs K fields"]:
        """A."""
        if self.kind == "other":
            return self.moments.jacobian(self._overlaps(W))
        slopes, along = self._terms(W, self.all_weights(W))
        return slopes + along * np.eye(slopes.shape[-2], slopes.shape[-1])[None]

    def _terms(self, W: Array, J: Array) -> tuple[Array, Array]:
        """Return G_ia ∂I2/∂c and Σ_b 2 G_ib ∂I2/∂p."""
        K, C, q = W.shape[-2], W @ jnp.swapaxes(J, -1, -2), _squares(J)
        p, q, G = q[..., :K, None], q[..., None, :], self.couplings[None]
        if self.kind == "lines":
            slope, curvature = self._lines(p, q, C)
        else:
            slope, curvature = self._smooth(p, q, C)
        return G * slope, jnp.sum(G * curvature, axis=-1, keepdims=True)

    def _lines(self, p: Array, q: Array, C: Array) -> tuple[Array, Array]:
        """Return ∂I2/∂c and 2 ∂I2/∂p of units m x + d|x|."""
        K = C.shape[-2]
        m, d = (_outer(x[:K], x) for x in (self.plain, self.curved))
        d = 2 / math.pi * d
        is_itself = np.eye(C.shape[-2], C.shape[-1], dtype=bool)[None]
        area = jnp.where(is_itself, 0.0, _area(p, q, C))
        arcsine = jnp.where(is_itself, math.pi / 2, math.pi / 2 - angle(area, C))
        return m + d * arcsine, d * area / jnp.where(p > 0, p, 1.0)

    def _smooth(self, p: Array, q: Array, C: Array) -> tuple[Array, Array]:
        """Return ∂I2/∂c and 2 ∂I2/∂p of erf and GELU, by automatic differentiation."""
        p, q = (jnp.broadcast_to(x, C.shape) for x in (p, q))
        one = jnp.ones_like(C)
        slope = jax.jvp(partial(self._product, p, q), (C,), (one,))[1]
        curvature = jax.jvp(lambda p: self._product(p, q, C), (p,), (one,))[1]
        return slope, 2 * curvature

    def _product(self, p: Array, q: Array, c: Array) -> Array:
        """Return I2 of all fields with each other, or of students with all fields."""
        plain, size = (_outer(x[: c.shape[-2]], x) for x in (self.plain, self.curved))
        if self.kind == "lines":
            area = _area(p, q, c)
            return plain * c + 2 / math.pi * size * (area + c * (math.pi / 2 - angle(area, c)))
        a, b = 1 + p, 1 + q
        root = jnp.sqrt(a * b - c * c)
        angles = jnp.arctan2(c, root)
        if self.kind == "erf":
            return plain + 2 / math.pi * size * angles
        rest = (p * q - c * c + c * c / a + c * c / b) / root
        return c * (0.25 + angles / (2 * math.pi)) + rest / (2 * math.pi)

    def error(self, W: Float[Array, "runs K n"]) -> Float[Array, " runs"]:
        """ε_g = ½ Σ_ab r_a r_b I2."""
        if self.kind == "other":
            return self.moments.generalization_error(self._overlaps(W))
        J, r = self.all_weights(W), self.output_weights
        q = _squares(J)
        I2 = self._product(q[..., :, None], q[..., None, :], J @ jnp.swapaxes(J, -1, -2))
        return 0.5 * jnp.sum((r.T @ r)[None] * I2, axis=(-2, -1))

    def _overlaps(self, W: Float[Array, "runs K n"]) -> Any:
        M, r = self.teachers.shape
        Q, R = W @ jnp.swapaxes(W, -1, -2), W[..., :r] @ self.teachers.T
        T = jnp.asarray(self.teachers @ self.teachers.T)
        return unchecked(Q, R, jnp.broadcast_to(T, (*W.shape[:-2], M, M)))


def kind_of(scenario: Scenario) -> Kind:
    """Return which formula gives the averages of all units."""
    units = (scenario.student.activation, scenario.teacher.activation)
    forms = [g.closed_form for g in units]
    if all(g.is_line_times_distribution for g in units):
        return "gelu"
    if all(f is not None and f.is_homogeneous for f in forms):
        return "lines"
    return "erf" if all(f is not None and f.is_error_function for f in forms) else "other"


def _amplitudes(unit: Activation, kind: Kind) -> tuple[float, float]:
    """Return m and d, or o and e."""
    if kind not in ("lines", "erf"):
        return 0.0, 0.0
    form = form_of(unit)
    plain, curved = (form.line, form.modulus) if kind == "lines" else (form.constant, form.erf)
    return float(plain or 0.0), float(curved or 0.0)


def teacher_weights(T: Float[np.ndarray, "M M"]) -> Float[np.ndarray, "M r"]:
    """B with T = B Bᵀ, one column per dimension of the teachers' span; diagonal if T is diagonal.

    >>> teacher_weights(np.diag([1.0, 4.0])).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    values, vectors = np.linalg.eigh(T)
    rank = values > 1e-12 * np.max(values)
    if np.all(rank):
        return np.linalg.cholesky(T)
    return vectors[:, rank] * np.sqrt(values[rank])


def _outer(x: Float[AnyArray, " n"], y: Float[AnyArray, " m"]) -> Array:
    return jnp.outer(x, y)[None]


def _squares(J: Array) -> Array:
    return jnp.sum(J * J, axis=-1)


def _area(p: Array, q: Array, c: Array) -> Array:
    return jnp.sqrt(jnp.maximum(p * q - c * c, 0.0))


@stored_jit
def descend(
    landscape: Landscape,
    W: Float[Array, "runs K n"],
    rate: Float[AnyArray, " runs"],
    steps: int | Int[AnyArray, ""],
) -> tuple[Array, Array, Array]:
    """Take gradient steps; return the weights, the largest |F| of each run and the errors."""

    def step(_: Int[Array, ""], W: Array) -> Array:
        return W + rate[:, None, None] * landscape.force(W)

    W = jax.lax.fori_loop(0, steps, step, W)
    return W, jnp.max(jnp.abs(landscape.force(W)), axis=(-2, -1)), landscape.error(W)


@stored_jit
def forces(landscape: Landscape, W: Float[Array, "runs K n"]) -> Float[Array, "runs K n"]:
    """Compute F of a batch, compiled."""
    return landscape.force(W)


@stored_jit
def errors(landscape: Landscape, W: Float[Array, "runs K n"]) -> Float[Array, " runs"]:
    """ε_g of a batch, compiled."""
    return landscape.error(W)


@stored_jit
def mean_jacobian(landscape: Landscape, W: Float[Array, "K n"]) -> Float[Array, "K fields"]:
    """Return A of one student."""
    return landscape.jacobian(W[None])[0]

"""The average M = ⟨exp(−βΔ²/2)⟩ of two units, with its derivatives in the overlaps.

Δ = [g(x_1) + g(x_2) − g(y_1) − g(y_2)]/√2 for Gaussian fields x of the students and y of the
teachers with ⟨x_i y_i⟩ = R, ⟨x_1 y_2⟩ = ⟨x_2 y_1⟩ = S and ⟨x_1 x_2⟩ = C.  Coordinates are
U = R + S, V = R − S and C.

Price's theorem gives the derivatives: ∂M/∂C_ab = ⟨∂_a ∂_b exp(−βΔ²/2)⟩ for two fields a ≠ b.
"""

import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._checks import ComputationError
from tutelage._jax import jax, jnp
from tutelage._types import FloatOrArray
from tutelage.activations import Activation
from tutelage.equilibrium.thermal.orthants import orthant_change, orthant_probability

# Fields x_1, x_2, y_1, y_2, and their signs in Δ.
STUDENT_MINUS_TEACHER = np.array([1.0, 1.0, -1.0, -1.0]) / math.sqrt(2)
# Derivatives of the covariance in U, V and C.
_R = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]])
_S = np.array([[0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]])
_C = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
DIRECTIONS = np.stack([(_R + _S) / 2, (_R - _S) / 2, _C])
# Step in the imaginary direction: a derivative by a complex step has no cancellation.
SMALL_STEP = 1e-20
# Nodes of the quadrature, and of the coarser one whose difference is its error.
NODES, FEWER_NODES = 16, 14
SMALLEST_WEIGHT = 1e-14
STORED_POINTS = 4096


class AnnealedAverage(NamedTuple):
    """M and its derivatives: in β, and the first and second in (U, V, C), whose last axes are 3 and
    3 × 3.
    """

    value: Any
    in_beta: Any
    gradient: np.ndarray
    hessian: np.ndarray


def check_quadrature(
    temperature: float, error: float, largest: float, quantity: str, instead: str
) -> None:
    """Refuse a temperature at which the error of a quadrature of two units is too large.

    quantity: what has the error.
    instead: what to try.
    """
    if error > largest:
        allowed = f"for units=2 its quadrature gives {quantity} with errors of {error:.1g}"
        hint = f"{instead}, or units=math.inf"
        raise ComputationError("temperature", f"{temperature:g}", allowed, hint)


def covariances(U: FloatOrArray, V: FloatOrArray, C: FloatOrArray) -> np.ndarray:
    """The covariance of the four fields, shape (..., 4, 4)."""
    overlaps = np.stack(np.broadcast_arrays(U, V, C), -1).astype(float)
    return np.eye(4) + np.tensordot(overlaps, DIRECTIONS, 1)


class PiecewiseAverage:
    """M of the ReLU and leaky ReLUs, exactly, as a sum over the 16 orthants of the four fields.

    On an orthant Δ = a·f, and with w = 1 + βaᵀCa its part of M is

        M_o = w^(−1/2) P_4[C − βCaaᵀC/w],    ∂M/∂C_ab = −β Σ_o a_a a_b (1 + 2β∂_β) M_o.
    """

    def __init__(self, slopes: tuple[float, float], beta: float):
        self.beta = beta
        signs = itertools.product((-1.0, 1.0), repeat=4)
        # Exchanging the two students and the two teachers changes neither M nor the overlaps.
        pairs = [(s, (s[1], s[0], s[3], s[2])) for s in signs]
        self.signs = np.array([s for s, exchanged in pairs if s <= exchanged])
        self.often = np.array([1.0 + (s < exchanged) for s, exchanged in pairs if s <= exchanged])
        self.a = STUDENT_MINUS_TEACHER * np.where(self.signs < 0, *slopes)

    def __call__(self, U: FloatOrArray, V: FloatOrArray, C: FloatOrArray) -> AnnealedAverage:
        covariance = covariances(U, V, C)
        probability = orthant_probability(self._reduced(covariance)[0])
        value, in_beta, gradient = self._first(covariance, probability)
        rows = []
        for direction in DIRECTIONS:
            moved = covariance + 1j * SMALL_STEP * direction
            rows.append(self._first(moved, probability)[2].imag / SMALL_STEP)
        return AnnealedAverage(value, in_beta, gradient, np.stack(rows, -2))

    def _reduced(self, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return for every orthant C − βCaaᵀC/w and Ca, of fields made positive, and w."""
        Ca = np.einsum("...ij,oj->...oi", covariance, self.a)
        w = 1 + self.beta * np.sum(self.a * Ca, -1)
        Ca = Ca * self.signs
        flipped = covariance[..., None, :, :] * self.signs[:, :, None] * self.signs[:, None, :]
        return flipped - self.beta * _squares(Ca) / w[..., None, None], Ca, w

    def _first(self, covariance: np.ndarray, probability: np.ndarray) -> tuple[Any, Any, Any]:
        """Return M, ∂M/∂β and ∂M/∂(U, V, C) by infinitesimal steps, which make the covariance
        complex.
        """
        beta, (reduced, Ca, w) = self.beta, self._reduced(covariance)
        change = orthant_change(reduced)
        if np.iscomplexobj(reduced):
            real = orthant_change(reduced.real)
            probability = probability + 1j * np.sum(real * reduced.imag, (-2, -1))
        root = self.often / np.sqrt(w)
        parts = root * probability
        in_beta = -0.5 * (w - 1) / (beta * w) * parts
        in_beta = in_beta - root * np.sum(change * _squares(Ca), (-2, -1)) / w**2
        pairs = -beta * np.einsum("...o,oa,ob->...ab", parts + 2 * beta * in_beta, self.a, self.a)
        gradient = 0.5 * np.tensordot(pairs, DIRECTIONS, ([-2, -1], [-2, -1]))
        return np.sum(parts, -1), np.sum(in_beta, -1), gradient


class SmoothAverage:
    """M of a smooth unit, by Gauss–Hermite quadrature with ``nodes`` points for each field.

    Derivatives are those of the sum over nodes, so that they belong to its value exactly.
    """

    def __init__(self, activation: Activation, beta: float, nodes: int = NODES):
        self.beta = beta
        x, w = np.polynomial.hermite_e.hermegauss(nodes)
        w = w / np.sum(w)
        # Exchanging the two students and the two teachers changes the sign of x_1 - x_2 and of y_1
        # - y_2.
        half = slice(0, (nodes + 1) // 2)
        often = np.where(x[half] == 0, 1.0, 2.0) * w[half]
        weights = np.einsum("i,j,k,l->ijkl", w, w, w, often).ravel()
        self.weights = weights[weights > SMALLEST_WEIGHT]
        z = np.stack([part.ravel() for part in np.meshgrid(x, x, x, x[half], indexing="ij")])
        self.z = z[:, weights > SMALLEST_WEIGHT]
        self.unit = _derivatives(activation)
        # Newton's method also evaluates points that have converged.
        self._stored = functools.lru_cache(maxsize=STORED_POINTS)(self._at)

    def __call__(self, U: FloatOrArray, V: FloatOrArray, C: FloatOrArray) -> AnnealedAverage:
        U, V, C = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (U, V, C)))
        points = zip(
            U.ravel().tolist(), np.abs(V).ravel().tolist(), C.ravel().tolist(), strict=True
        )
        columns = [np.array(x) for x in zip(*(self._stored(*p) for p in points), strict=True)]
        value, in_beta, first, second = (x.reshape(U.shape + x.shape[1:]) for x in columns)
        # M is even in V: exchanging the two students exchanges R and S.
        sign = np.stack([np.ones_like(V), np.where(V < 0, -1.0, 1.0), np.ones_like(V)], -1)
        return AnnealedAverage(value, in_beta, first * sign, second * _squares(sign))

    def _at(self, U: float, V: float, C: float) -> AnnealedAverage:
        """Average over all nodes at one point: x_1 ± x_2 = √2 (mean, rest), y_1 ± y_2 = √2 (t, v).

        mean = Ut + √A s and rest = Vv + √B u, A = 1 + C − U², B = 1 − C − V².
        """
        (t, s, v, u), beta = self.z, self.beta
        A, B = 1 + C - U * U, 1 - C - V * V
        if not (A > 0 and B > 0):
            return AnnealedAverage(*(np.full(shape, np.nan) for shape in ((), (), (3,), (3, 3))))
        a, b = math.sqrt(A), math.sqrt(B)
        mean, rest = U * t + a * s, V * v + b * u
        (g1, e1, h1), (g2, e2, h2) = (self.unit((mean + x) / math.sqrt(2)) for x in (rest, -rest))
        teacher = self.unit((t + v) / math.sqrt(2))[0] + self.unit((t - v) / math.sqrt(2))[0]
        D = (g1 + g2 - teacher) / math.sqrt(2)
        in_mean, in_rest = (e1 + e2) / 2, (e1 - e2) / 2
        even, odd = (h1 + h2) / math.sqrt(8), (h1 - h2) / math.sqrt(8)
        G = self.weights * np.exp(-0.5 * beta * D**2)
        G1, G2 = -beta * D * G, beta * (beta * D**2 - 1) * G
        # First derivatives of mean and rest in (U, V, C); the second ones are s·mm and u·rr.
        dm = np.stack([t - U / a * s, 0 * t, s / (2 * a)])
        dr = np.stack([0 * t, v - V / b * u, -u / (2 * b)])
        mm = np.array([[-(1 + C), 0, U / 2], [0, 0, 0], [U / 2, 0, -0.25]]) / a**3
        rr = np.array([[0, 0, 0], [0, -(1 - C), -V / 2], [0, -V / 2, -0.25]]) / b**3
        dD = in_mean * dm + in_rest * dr
        mixed = (G1 * odd * dm) @ dr.T
        hessian = (G2 * dD) @ dD.T + (G1 * even * dm) @ dm.T + (G1 * even * dr) @ dr.T
        hessian = hessian + mixed + mixed.T
        hessian = hessian + np.dot(G1, in_mean * s) * mm + np.dot(G1, in_rest * u) * rr
        return AnnealedAverage(np.sum(G), -0.5 * np.dot(G, D**2), dD @ G1, hessian)


def _derivatives(activation: Activation) -> Any:
    """Return a function x -> g, g', g''."""

    @jax.jit
    def with_derivatives(x: Float[Array, " z"]) -> Any:
        def slope(x: Float[Array, " z"]) -> Any:
            return jax.jvp(activation, (x,), (jnp.ones_like(x),))[1]

        return activation(x), *jax.jvp(slope, (x,), (jnp.ones_like(x),))

    return lambda x: tuple(np.asarray(y) for y in with_derivatives(jnp.asarray(x)))


def average_of(
    activation: Activation, beta: float, nodes: int = NODES
) -> PiecewiseAverage | SmoothAverage:
    """Return the average for an activation: exact for piecewise linear units."""
    form = activation.closed_form
    if form is not None and form.is_homogeneous:
        low, high = (float(x) for x in form.slopes)
        return PiecewiseAverage((low, high), beta)
    return SmoothAverage(activation, beta, nodes)


def _squares(x: np.ndarray) -> np.ndarray:
    return x[..., :, None] * x[..., None, :]

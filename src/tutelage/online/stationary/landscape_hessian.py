"""Eigenvalues at a stationary point of gradient flow.

The Hessian of ε_g in the span of the teachers has K r eigenvalues h; the curvature in every
direction orthogonal to the teachers is one of the K eigenvalues of -A_xx.  The Jacobian of the
order-parameter equations as η → 0 has the eigenvalues -h and, for all pairs i <= j, λ_i + λ_j of
A_xx (docs/physics/online.md).

For units m x + d|x| the Hessian is written out.  With s_a f_a the part of w_a that is orthogonal to
w_i, e the unit vector from w_a towards w_i orthogonal to w_a, and P = 1 - ŵ_i ŵ_iᵀ, the force of
a on i, F = ⟨sgn(x_i) |f_a| ξ⟩, has the derivatives

    ∂F/∂w_i = (2/π) (s_a/|w_i|) (P + f fᵀ),
    ∂F/∂w_a = (2/π) [asin ρ 1 + ŵ_a eᵀ + ŵ_i fᵀ],

which are finite where the two fields coincide.  There f is found from the difference of unit
vectors, so that no variance is a difference of covariances.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage.online.stationary.landscape_gradient import Landscape, forces, mean_jacobian
from tutelage.runs.stored_jit import stored_jit
from tutelage.solve.newton import Root, newton

# Curvatures below this count as zero: the closed forms are exact to about 1e-10.
ZERO_CURVATURE = 1e-8
NEWTON_STEPS = 60
CONVERGED_FORCE = 1e-12


class Spectrum(NamedTuple):
    """Eigenvalues at a stationary point, the smallest first.

    hessian: h in the span of the teachers, shape (K r,).
    transverse: of -A_xx, the curvature orthogonal to the teachers, shape (K,).
    direction: the eigenvector of the smallest h, shape (K, r).
    """

    hessian: Float[np.ndarray, " Kr"]
    transverse: Float[np.ndarray, " K"]
    direction: Float[np.ndarray, "K r"]

    @property
    def negative(self) -> int:
        """Number of negative curvatures; an orthogonal one counts once for all dimensions."""
        every = np.concatenate([self.hessian, self.transverse])
        return int(np.sum(every < -ZERO_CURVATURE))


def spectrum(landscape: Landscape, W: Float[np.ndarray, "K r"]) -> Spectrum:
    """Compute eigenvalues from the weights."""
    K = len(W)
    values, vectors = np.linalg.eigh(hessian(landscape, W))
    A = np.asarray(mean_jacobian(landscape, jnp.asarray(W)))[:, :K]
    transverse = np.sort(np.linalg.eigvals(-A).real)
    return Spectrum(values, transverse, vectors[:, 0].reshape(W.shape))


def hessian(landscape: Landscape, W: Float[np.ndarray, "K r"]) -> Float[np.ndarray, "Kr Kr"]:
    """Compute the Hessian of ε_g with respect to weights in the span of the teachers."""
    if landscape.kind == "lines":
        H = -_force_derivative(landscape, W)
    else:
        H = -np.asarray(_force_jacobian(landscape, jnp.asarray(W)))
    H = H.reshape(W.size, W.size)
    return 0.5 * (H + H.T)


@stored_jit
def _force_jacobian(landscape: Landscape, W: Float[Array, "K r"]) -> Array:
    return jax.jacfwd(lambda w: landscape.force(w[None])[0])(W)


def _force_derivative(landscape: Landscape, W: np.ndarray) -> np.ndarray:
    """Compute ∂F_i/∂w_k for units m x + d|x|, shape (K, r, K, r)."""
    K, r = W.shape
    J = np.concatenate([W, landscape.teachers])
    G = np.asarray(landscape.couplings)
    m, d = (np.outer(x[:K], x) for x in (landscape.plain, landscape.curved))
    norms = np.linalg.norm(J, axis=-1)
    unit = J / np.where(norms > 0, norms, 1.0)[:, None]
    theta, toward = _angles(unit, K)
    f, e = toward, -_reversed(unit, toward, theta)
    strength = 2 / math.pi * G * d
    asin = math.pi / 2 - theta
    own = np.arange(K)
    f[own, own] = e[own, own] = 0.0
    asin[own, own] = math.pi / 2
    D = np.zeros((K, r, K, r))
    one = np.eye(r)
    P = one - unit[:K, :, None] * unit[:K, None, :]
    # Derivative with respect to the weights of the unit itself, from the delta function of g''.
    # A unit without weights has no direction; Newton's method does not return to such a unit.
    own_norms = np.where(norms[:K] > 0, norms[:K], 1.0)
    pull = strength * norms * np.sin(theta) / own_norms[:, None]
    pull[own, own] = 0.0
    own_part = pull.sum(1)[:, None, None] * P + np.einsum("ia,iax,iay->ixy", pull, f, f)
    D[own, :, own, :] += own_part
    # Derivative with respect to the weights of the students a.
    s, f, e = strength[:, :K], f[:, :K], e[:, :K]
    D += np.einsum("ia,xy->ixay", s * asin[:, :K] + (G * m)[:, :K], one)
    D += np.einsum("ia,ax,iay->ixay", s, unit[:K], e)
    D += np.einsum("ia,ix,iay->ixay", s, unit[:K], f)
    return D


def _angles(unit: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Return θ between students and all units, and the unit vectors f orthogonal to w_i towards
    w_a.
    """
    difference, total = unit - unit[:K, None], unit + unit[:K, None]
    theta = 2 * np.arctan2(np.linalg.norm(difference, axis=-1), np.linalg.norm(total, axis=-1))
    # The nearer of ŵ_a and -ŵ_a, so that a small vector is subtracted.
    near = np.where((theta < math.pi / 2)[..., None], difference, total)
    f = near - np.sum(near * unit[:K, None], -1, keepdims=True) * unit[:K, None]
    size = np.linalg.norm(f, axis=-1, keepdims=True)
    return theta, np.where(size > 1e-13, f / np.where(size > 0, size, 1.0), 0.0)


def _reversed(unit: np.ndarray, f: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return -e: f rotated by θ in the plane of both fields, which is orthogonal to ŵ_a."""
    K, sine = len(f), np.sin(theta)[..., None]
    turned = np.cos(theta)[..., None] * f - sine * unit[:K, None]
    return np.where(np.any(f, axis=-1, keepdims=True), turned, 0.0)


def polished(landscape: Landscape, W: Float[np.ndarray, "K r"], steps: int = NEWTON_STEPS) -> Root:
    """Find the stationary point next to weights in the span of the teachers, by Newton's method."""

    def function(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        w = x.reshape(W.shape)
        F = np.asarray(forces(landscape, jnp.asarray(w[None])))[0]
        return F.ravel(), -hessian(landscape, w)

    root = newton(function, W.ravel(), steps=steps, tolerance=CONVERGED_FORCE)
    return root._replace(x=root.x.reshape(W.shape))

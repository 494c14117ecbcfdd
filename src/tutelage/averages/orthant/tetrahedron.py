"""The spherical tetrahedron {z_1 > 0, …, z_4 > 0}: its volume and its edges.

Seen from the origin, the orthant of four Gaussian fields is a spherical tetrahedron on S³.
Its facets have the unit normals a_1 … a_4 (the rows of a factor of the covariance), its
volume is the orthant probability P_4, and the edge in which the facets c and d meet has the
length ℓ_cd = π - θ_kl, with θ_kl the angle of the other two fields given z_c = z_d = 0.

The volume needs one integral.  Hold all angles but θ_34 fixed and turn a_4 about the plane
of a_1 and a_2, until it lies in the space of a_1, a_2, a_3.  There the volume is elementary
(Gauss and Bonnet: ½ - perimeter/4π, for the convex hull of the four normals), and on the way
it changes by Plackett's and Schläfli's identity dP_4 = -ℓ_34 dθ_34/4π².  Written with
τ = tan(ψ/2), ψ the angle that is turned, the integrand is made of two quadratic polynomials in
τ², one square root and one angle; all terms of the square root are positive, nothing cancels.
A shorter way to P_4 than the three integrals of Plackett's usual path, on which every
correlation of a_4 is switched on.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp, match_rank
from tutelage.averages.orthant.angle import angle
from tutelage.averages.orthant.rows import (
    PAIRS,
    Covariance,
    Entries,
    computed_once,
    in_field_order,
    in_pivot_order,
    rows,
)

Number = Float[Array, "..."]

# The integrand is even in τ and analytic except for points on the imaginary axis, at any distance
# from 0.  On the scale of log τ they are all equally far away; τ ∝ sinh(20 y) is that scale down to
# 4e-9.  The rule of 112 points on [-1, 1] has 56 on [0, 1], and reaches 1e-15 unless a transition
# is narrower than 1e-4, where its error is at most its contribution to the integral, 2e-11.
_SCALE, _POINTS = 20.0, 56
_y, _w = (half[_POINTS:] for half in np.polynomial.legendre.leggauss(2 * _POINTS))
_NODES = np.sinh(_SCALE * _y) / np.sinh(_SCALE)
_WEIGHTS = _w * _SCALE * np.cosh(_SCALE * _y) / np.sinh(_SCALE)
# With fewer tetrahedra, LLVM compiles a loop over them to scalar code: the loop is over the nodes.
# For the 15 of six fields this would take 0.8 of the time, but 1.5 times as long in the programs
# that are not optimized, with which every first curve begins.
FEW_TETRAHEDRA = 8


class Tetrahedron(NamedTuple):
    """P_4 and the edge lengths ℓ_cd, keyed by the pair of fields that vanish on the edge."""

    volume: Number
    edges: Entries


@jax.jit
def tetrahedron(C: Covariance, angles: Entries) -> Tetrahedron:
    """Volume and edges for a covariance with positive diagonal.

    angles: θ_ij between the fields, keyed by pairs i < j.
    """
    L, exchanges = rows(C)
    volume = _volume(L, in_pivot_order(angles, exchanges))
    return Tetrahedron(volume, in_field_order(_edges(L), exchanges))


def _edges(L: list[list[Number]]) -> Entries:
    """ℓ_cd is the angle between the two vertices that lie on the edge.

    The vertex opposite to facet k is the column k of L⁻¹, up to a positive factor: here the
    cofactors, which a triangular L gives without a division.
    """
    (_, *_), (b0, b1, *_), (c0, c1, c2, _), (d0, d1, d2, d3) = L
    zero = jnp.zeros_like(b0)
    u = b0 * c1 - b1 * c0
    vertices = [
        [b1 * c2 * d3, -b0 * c2 * d3, u * d3, -(d0 * b1 * c2 - d1 * b0 * c2 + d2 * u)],
        [zero, c2 * d3, -c1 * d3, d2 * c1 - d1 * c2],
        [zero, zero, d3, -d2],
        [zero, zero, zero, jnp.ones_like(b0)],
    ]
    # All edges at once: a sixth of the program to compile.
    ends = [[k for k in range(4) if k not in pair] for pair in PAIRS]
    first, second = (
        [jnp.stack([vertices[pair[end]][i] for pair in ends]) for i in range(4)] for end in (0, 1)
    )
    return dict(zip(PAIRS, _angle_between(first, second), strict=True))


def _angle_between(a: list[Number], b: list[Number]) -> Number:
    area = sum(((a[i] * b[j] - a[j] * b[i]) ** 2 for i, j in PAIRS), jnp.zeros(()))
    return angle(jnp.sqrt(area), sum((a[i] * b[i] for i in range(4)), jnp.zeros(())))


def _volume(L: list[list[Number]], angles: Entries) -> Number:
    """P_4 from the rows (1,0,0,0), (x_2,y_2,0,0), (x_3,y_3,s_3,0), (x_4, y_4, s_4 e^{iψ})."""
    (_, *_), (x2, y2, *_), (x3, y3, s3, _), (x4, y4, along, across) = L
    # P_4(a_4) + P_4(-a_4) = P_3 brings ψ below a right angle, where the path of integration is
    # shorter.
    flip = along < 0
    sign = jnp.where(flip, -1.0, 1.0)
    x4, y4, along = sign * x4, sign * y4, sign * along
    s4 = jnp.sqrt(along**2 + across**2)
    end = across / (s4 + along)

    B = s3 * s4
    chi = x3 * y4 - y3 * x4
    d = (s4 * x3 - s3 * x4, s4 * y3 - s3 * y4)
    p = (s4 * x3 + s3 * x4, s4 * y3 + s3 * y4)
    d1, d2 = d[1], x2 * d[1] - y2 * d[0]  # a_1 × d and a_2 × d, in the plane of a_1 and a_2
    p1, p2 = p[1], x2 * p[1] - y2 * p[0]
    dd, pp = d[0] ** 2 + d[1] ** 2, p[0] ** 2 + p[1] ** 2
    E = (chi**2 + dd, 2 * chi**2 + dd + pp + 4 * B**2, chi**2 + pp)
    X = (d1 * d2, d1 * d2 + p1 * p2 + 4 * B**2 * x2, p1 * p2)
    turned = _integral(end, B, y2, E, X)

    flat = angle(jnp.sqrt(E[0]), x3 * x4 + y3 * y4 + B)
    t14, t24 = (jnp.where(flip, math.pi - angles[i, 3], angles[i, 3]) for i in (0, 1))
    t12, t13, t23 = angles[0, 1], angles[0, 2], angles[1, 2]
    perimeter = t12 + jnp.where(
        d2 <= 0,
        jnp.where(d1 >= 0, t14 + t24, t13 + flat + t24),
        jnp.where(d1 >= 0, t14 + flat + t23, t13 + t23),
    )
    volume = 0.5 - perimeter / (4 * math.pi) - turned / (4 * math.pi**2)
    triangle = 0.5 - (t12 + t13 + t23) / (4 * math.pi)
    return jnp.where(flip, triangle - volume, volume)


def _integral(
    end: Number, B: Number, sin12: Number, E: tuple[Number, ...], X: tuple[Number, ...]
) -> Number:
    """∫ ℓ_34 dθ_34 for τ from 0 to ``end``, with E = (1 + τ²) sin θ_34 and ℓ_34 = atan2(Y, -X)."""
    if end.size < FEW_TETRAHEDRA:
        end, B, sin12, E, X = jax.tree.map(lambda x: x[..., None], (end, B, sin12, E, X))
        nodes, weights = (match_rank(jnp.asarray(x), end) for x in (_NODES, _WEIGHTS))
        values = weights * _integrand(end * nodes, B, sin12, E, X)
        return end[..., 0] * _sum_of_nodes(computed_once(values))
    nodes, weights = jnp.asarray(_NODES), jnp.asarray(_WEIGHTS)

    def add_node(i: Array, total: Number) -> Number:
        return total + weights[i] * _integrand(end * nodes[i], B, sin12, E, X)

    # Nodes are summed serially: each step is one pass over the batch in vector instructions.
    integral: Array = end * jax.lax.fori_loop(0, _POINTS, add_node, jnp.zeros_like(B))
    return integral


def _integrand(
    tau: Number, B: Number, sin12: Number, E: tuple[Number, ...], X: tuple[Number, ...]
) -> Number:
    """ℓ_34 dθ_34/dτ."""
    q = tau * tau
    root = jnp.sqrt(E[0] + q * (E[1] + q * E[2])) + 1e-300
    Y = 2 * B * tau * sin12 * root
    edge = angle(Y, -(X[0] + q * (X[1] + q * X[2])))
    return edge * 4 * B * tau / ((1 + q) * root)


def _sum_of_nodes(x: Float[Array, "... nodes"]) -> Number:
    """Sum over the last axis, in the same order at every position of an array (`ordered_sum`)."""
    while x.shape[-1] % 2 == 0:
        half = x.shape[-1] // 2
        x = x[..., :half] + x[..., half:]
    return sum((x[..., k] for k in range(1, x.shape[-1])), x[..., 0])

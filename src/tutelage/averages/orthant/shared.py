"""Moments of many fields over one covariance; every shared quantity is computed once.

The formulas are those of `tutelage.averages.orthant.moments`.  What belongs to a pair of signs (its
angle, and the components of every field along its bisectors) is computed once for the pair, and a
tetrahedron once for its set of four fields, however many moments have them: for eight students and
eight teachers 120 pairs and 1302 sets for 7408 moments.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int

from tutelage._jax import jax, jnp
from tutelage.averages.orthant.angle import angle
from tutelage.averages.orthant.averages import power_of_two
from tutelage.averages.orthant.moments import TWO_OVER_PI, bounded
from tutelage.averages.orthant.rows import PAIRS, computed_once
from tutelage.averages.orthant.tetrahedron import tetrahedron
from tutelage.averages.orthant.twofold import minor


class Pairs(NamedTuple):
    """Quantities of the fields and of their pairs c < d (`pair_places`), shared by all moments.

    unit: covariance of the fields in units of `amplitude`, powers of two.
    angles: θ_cd.
    plus, minus: the components of every field along û_c + û_d, times √(½ tan(θ/2)), and along
        û_c - û_d, divided by √(2 tan(θ/2)): w_cd is the difference of their products.
    """

    unit: Float[Array, "... n n"]
    amplitude: Float[Array, "... n"]
    angles: Float[Array, "... pairs"]
    plus: Float[Array, "... pairs n"]
    minus: Float[Array, "... pairs n"]


@cache
def pair_places(n: int) -> Int[np.ndarray, "n n"]:
    """Return the position of the pair (c, d) or (d, c) among the pairs c < d."""
    place = np.zeros((n, n), dtype=int)
    place[np.triu_indices(n, 1)] = np.arange(n * (n - 1) // 2)
    return place + place.T


def pairs_of(C: Float[Array, "... n n"]) -> Pairs:
    """Angles and components of all pairs of fields."""
    n = C.shape[-1]
    c, d = np.triu_indices(n, 1)
    unit, amplitude = normalized(C)
    deviation = jnp.sqrt(jnp.diagonal(unit, axis1=-2, axis2=-1))
    variances, dot = unit[..., c, c] * unit[..., d, d], unit[..., c, d]
    determinant = jnp.maximum(minor(unit[..., c, c], dot, dot, unit[..., d, d]), 0.0)
    # The numerators that are divided by the tangent vanish with its square, so the smallest floor
    # suffices.
    area = jnp.sqrt(determinant + 2e-30 * variances)
    sum_of_both = deviation[..., c] * deviation[..., d] + jnp.abs(dot)
    tangent = jnp.where(dot > 0, area / sum_of_both, sum_of_both / area)
    cosine = 1 / jnp.sqrt(1 + tangent * tangent)
    of_c, of_d = (unit[..., x, :] / deviation[..., x][..., None] for x in (c, d))
    # Clip to the bound of Cauchy and Schwarz, which a rounded covariance can violate.
    size = deviation[..., None, :]
    plus = bounded(of_c + of_d, 2 * cosine[..., None] * size)
    minus = bounded(of_c - of_d, 2 * (cosine * tangent)[..., None] * size)
    return Pairs(
        *computed_once(
            (
                unit,
                amplitude,
                angle(jnp.sqrt(determinant), dot),
                plus * jnp.sqrt(0.5 * tangent)[..., None],
                minus / jnp.sqrt(2 * tangent)[..., None],
            )
        )
    )


def normalized(C: Float[Array, "... n n"]) -> tuple[Array, Array]:
    """Scale a covariance as `orthant.averages.normalised` does, all fields at once."""
    variance = jax.lax.stop_gradient(jnp.diagonal(C, axis1=-2, axis2=-1))
    zero = variance < 1e-290
    amplitude = power_of_two(jnp.sqrt(jnp.where(zero, 1.0, variance)))
    unit = C / (amplitude[..., :, None] * amplitude[..., None, :])
    identity = np.eye(C.shape[-1]).reshape((1,) * (C.ndim - 2) + C.shape[-2:])
    unit = jnp.where(zero[..., :, None] | zero[..., None, :], identity, unit)
    return unit, jnp.where(zero, 0.0, amplitude)


def sign_moments(pairs: Pairs, f: Int[np.ndarray, "moments 2"]) -> Float[Array, "... moments"]:
    """⟨s_c s_d⟩ = (2/π) (π/2 - θ_cd)."""
    return 1 - TWO_OVER_PI * pairs.angles[..., _place(pairs, f[:, 0], f[:, 1])]


def pair_moments(pairs: Pairs, f: Int[np.ndarray, "moments 4"]) -> Float[Array, "... moments"]:
    """⟨z_a z_b s_c s_d⟩ = C_ab ⟨s_c s_d⟩ + (2/π) w_cd."""
    a, b, c, d = f.T
    signs = pairs.unit[..., a, b] * sign_moments(pairs, f[:, 2:])
    moment = signs + TWO_OVER_PI * _weight(pairs, _place(pairs, c, d), a, b)
    return pairs.amplitude[..., a] * pairs.amplitude[..., b] * moment


def quad_moments(pairs: Pairs, f: Int[np.ndarray, "moments 4"]) -> Float[Array, "... moments"]:
    """⟨s_0 s_1 |z_2| |z_3|⟩ = C_23 ⟨s s s s⟩ + (2/π) Σ_{c<d} w_cd ⟨s_k s_l⟩ given z_c = z_d = 0."""
    sets, of_moment = np.unique(np.sort(f, axis=1), axis=0, return_inverse=True)
    of_moment = of_moment.ravel()
    covariance = {
        (i, j): pairs.unit[..., sets[:, i], sets[:, j]] for i in range(4) for j in range(i, 4)
    }
    places = {(c, d): _place(pairs, sets[:, c], sets[:, d]) for c, d in PAIRS}
    angles = {pair: pairs.angles[..., place] for pair, place in places.items()}
    volume, edges = tetrahedron(*computed_once((covariance, angles)))
    four_signs = 16 * volume - 7 + TWO_OVER_PI * sum(angles.values(), jnp.zeros(()))
    four_signs, edges = computed_once((four_signs, edges))
    a, b = f[:, 2], f[:, 3]
    moment = pairs.unit[..., a, b] * four_signs[..., of_moment]
    for pair in PAIRS:
        two_signs = (TWO_OVER_PI * edges[pair] - 1)[..., of_moment]
        weight = _weight(pairs, places[pair][of_moment], a, b)
        moment = moment + TWO_OVER_PI * weight * two_signs
    scaled: Array = pairs.amplitude[..., a] * pairs.amplitude[..., b] * moment
    return scaled


def _place(pairs: Pairs, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    places: np.ndarray = pair_places(pairs.unit.shape[-1])[c, d]
    return places


def _weight(pairs: Pairs, place: np.ndarray, a: np.ndarray, b: np.ndarray) -> Array:
    """w_cd of two fields a and b."""
    plus, minus = pairs.plus, pairs.minus
    return plus[..., place, a] * plus[..., place, b] - minus[..., place, a] * minus[..., place, b]

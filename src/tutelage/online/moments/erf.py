"""Error functions: ⟨δ_i δ_k⟩ in closed form for all fields at once.

g' = √(2/π) exp(-x²/2) is a Gaussian factor: under the weight of two of them fields are Gaussian
with the covariance Σ of fields given x_i + u and x_k + v, where u and v are independent noise of
variance 1, and erf averages as usual,

    ⟨δ_i δ_k⟩ = (2/π)/√Λ Σ_cd v_ci v_dk [Σ_ab r_ca r_db (2/π) asin(Σ_ab/√((1 + Σ_aa)(1 + Σ_bb)))
                                          + o_c o_d + ς² δ_cd],
    Λ = (1 + C_ii)(1 + C_kk) - C_ik²,    o_c = Σ_a r_ca offset_a,

with r of `tutelage.averages.generalization.coefficients` times the factors e_a of the error
functions, offsets without them, c and d outputs, and v = -r of students.
The terms are those of Saad and Solla (1995); there are (K + M)² of them for every pair instead of
determinants of four fields.
"""

import math

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jnp
from tutelage.averages.erf import two_signs
from tutelage.averages.generalization import coefficients
from tutelage.averages.methods import Erf, Method
from tutelage.averages.orthant.twofold import minor
from tutelage.averages.pairs import UnitCoefficients, unit_coefficients
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import upper_triangle
from tutelage.online.moments.base import EXACT, Moments, exact_first_order


class ErfMoments(Moments):
    """Exact, for error functions with any offsets."""

    @staticmethod
    def serve(scenario: Scenario, method: Method) -> bool:
        return isinstance(method, Erf)

    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        return exact_first_order(self.scenario, overlaps)

    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        C, K = jnp.asarray(overlaps.covariance), self.scenario.K
        units, r = self._units, coefficients(self.scenario)
        offset, r = r @ units.o, r * units.e
        i, k = np.triu_indices(K)
        # One field after the other: C given x_i + u, then that given x_k + v.
        first = _given(C[..., None, :, :], np.arange(K))[..., i, :, :]
        rows = np.arange(len(i))
        root = jnp.sqrt((1 + C[..., i, i]) * (1 + first[..., rows, k, k]))
        Sigma = _given(first, k)
        a, b = np.triu_indices(r.shape[-1])
        signs = two_signs(Sigma[..., a, a], Sigma[..., a, b], Sigma[..., b, b])
        both = np.where(a == b, 0.5, 1.0) * (r[:, None, a] * r[:, b] + r[:, None, b] * r[:, a])
        constant = offset[:, None] * offset + self.scenario.label_noise**2 * np.eye(len(r))
        square = signs @ both.reshape(-1, len(a)).T + constant.ravel()
        outer = (r[:, None, i] * r[:, k]).reshape(-1, len(i)).T
        return (2 / math.pi * jnp.sum(outer * square, axis=-1) / root)[..., upper_triangle(K)]

    def error(self, overlaps: Overlaps) -> float:
        return EXACT

    @property
    def _units(self) -> UnitCoefficients:
        sides = ((c.activation, c.units) for c in (self.scenario.student, self.scenario.teacher))
        return unit_coefficients(list(sides))


def _given(C: Float[Array, "... #m n n"], fields: np.ndarray) -> Float[Array, "... m n n"]:
    """The covariance of all fields given one with noise of variance 1, a different one in each.

    C_ab - C_ai C_ib/(1 + C_ii), without cancellation where fields coincide.
    """
    rows = np.arange(len(fields))
    C = jnp.broadcast_to(C, (*C.shape[:-3], len(fields), *C.shape[-2:]))
    own, column = C[..., rows, fields, fields][..., None, None], C[..., rows, fields, :]
    reduced = minor(own, column[..., None], column[..., None, :], C)
    return (C + reduced) / (1 + own)

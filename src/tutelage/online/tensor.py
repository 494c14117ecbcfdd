"""All averages of the equations at once, by quadrature over all K + M <= 4 fields.

For activations without closed forms: with C = L Lᵀ and a tensor of Gauss-Hermite nodes z the
fields are L z, and ⟨δ_i v⟩ and ⟨δ_i δ_k⟩ are plain weighted sums over the definition of δ.
One pass over the nodes costs less than a single four-point average does on its own.
"""

from functools import cache
from itertools import product

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jnp
from tutelage.networks import Scenario

MOST_FIELDS = 4
# Per field. tanh at unit variance: 1e-7; 24⁴ nodes take some ten milliseconds.
NODES = 24
# Added to the diagonal of the covariance, relative to it: where student and teacher coincide
# the factor keeps a derivative, and averages change by as little.
PRIVATE = 1e-13


def averages(
    scenario: Scenario, C: Float[Array, "... n n"], nodes: int = NODES
) -> tuple[Float[Array, "... K n"], Float[Array, "... K K"]]:
    """⟨δ_i v⟩ for all fields v, and ⟨δ_i δ_k⟩ with the label noise."""
    K, (s_K, s_M) = scenario.K, scenario.output_scale
    z, weights = (jnp.asarray(x) for x in _tensor(K + scenario.M, nodes))
    scale = jnp.diagonal(C, axis1=-2, axis2=-1)[..., None] * jnp.eye(K + scenario.M)
    tiny = jnp.finfo(jnp.float64).tiny * jnp.eye(K + scenario.M)
    f = jnp.linalg.cholesky(C + PRIVATE * scale + tiny) @ z
    x, y = f[..., :K, :], f[..., K:, :]
    g, h = scenario.student.activation, scenario.teacher.activation
    gap = s_M * jnp.sum(h(y), axis=-2) - s_K * jnp.sum(g(x), axis=-2)
    slopes = s_K * g.derivative(x)
    delta = slopes * gap[..., None, :]
    first = jnp.einsum("...ip,...vp,p->...iv", delta, f, weights)
    noisy = slopes * jnp.sqrt(gap**2 + scenario.label_noise**2)[..., None, :]
    return first, jnp.einsum("...ip,...kp,p->...ik", noisy, noisy, weights)


@cache
def _tensor(fields: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (fields, nodes**fields) and weights of the standard normal distribution."""
    z, w = np.polynomial.hermite_e.hermegauss(nodes)
    w = w / np.sum(w)
    grid = np.array(list(product(z, repeat=fields))).T
    return grid, np.prod(np.array(list(product(w, repeat=fields))), axis=1)

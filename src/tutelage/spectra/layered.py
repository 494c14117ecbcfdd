"""The Hessian of a classifier's loss, using the structure of the first layer.

The loss depends on these weights through the fields h = Wᵀx + b alone, so that

    ∂²L/∂W_ij ∂W_kl = Σ_μ x_i^μ x_k^μ ∂²L/∂h_j^μ ∂h_l^μ :

products of matrices, where other columns take a derivative of a gradient each.  Most parameters of
a network with many inputs are weights of its first layer.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Array, Float, PyTree

from tutelage._jax import jax, jnp
from tutelage.spectra.hessian import Flattened, columns, matrix
from tutelage.spectra.objective import Loss

# Up to this many parameters the matrix is one batch of columns, which compiles faster.
ONE_BATCH = 64


def classifier_hessian(
    loss: Loss, shape: Callable[[Array], PyTree], flat: Float[Array, " n"]
) -> Float[Array, "n n"]:
    """Compute H in the order of the parameters, the weights of the first layer first.

    Symmetric up to rounding, as it comes: an eigensolver reads one half of it.
    """
    whole = Flattened(loss, shape)
    if flat.size <= ONE_BATCH:
        return matrix(whole, flat)
    first = loss.inputs.shape[1] * loss.classifier.sizes[1]
    rest = columns(whole, flat, first)
    corner = _first_layer(loss.inputs, loss.curvatures(shape(flat)))
    return jnp.block([[corner, rest[:, :first].T], [rest[:, :first], rest[:, first:]]])


def _first_layer(X: Float[Array, "m n"], A: Float[Array, "m u u"]) -> Float[Array, "nu nu"]:
    """Compute Σ_μ x_i x_k A_jl, one pair of units j ≤ l after the other: A_jl = A_lj."""
    n, units = X.shape[1], A.shape[1]
    first, second = np.triu_indices(units)
    blocks = jax.lax.map(lambda a: (X * a[:, None]).T @ X, A[:, first, second].T)
    pair_number = np.zeros((units, units), int)
    pair_number[first, second] = pair_number[second, first] = np.arange(len(first))
    return blocks[pair_number].transpose(2, 0, 3, 1).reshape(n * units, n * units)

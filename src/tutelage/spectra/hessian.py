"""The exact Hessian of any loss over any tree of parameters, and all of its eigenvalues."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_number, short_repr, value_of
from tutelage._jax import jax, jnp
from tutelage._memory import in_gib
from tutelage._types import AnyArray

# Columns of the Hessian in one batch: all of a small one, which compiles fastest; few of a large
# one, so that the derivatives of all examples stay in the cache.
ALL_COLUMNS, COLUMNS = 64, 8
# Matrices in memory: the Hessian, a copy that the eigensolver overwrites, and its workspace.
COPIES = 3
# Smaller matrices are finished before several threads would have started.
ONE_THREAD = 200
DENSE_MEMORY = 4 * 2**30


@validated
def hessian_eigenvalues(
    loss: Callable[[Any], Any], parameters: PyTree, *, memory: float = DENSE_MEMORY
) -> np.ndarray:
    """Compute all eigenvalues of H = ∂²L/∂θ∂θ, in ascending order.

    The derivatives are exact (forward over reverse), those of the smooth parts: where the loss
    has a kink, as with ReLU units, second derivatives contain delta functions, which are left
    out; the parameters that sit on one have measure zero.

    Args:
        loss: a function of the tree of parameters alone, written with ``jax.numpy``; a callable
            equinox module keeps its arrays out of the compiled code.
        parameters: any tree of floating-point arrays.
        memory: how many bytes the dense matrix may take.

    Raises:
        InputError: a matrix that takes more memory; parameters or a loss that cannot be used.

    >>> H = jnp.array([[2.0, 1.0], [1.0, 2.0]])
    >>> hessian_eigenvalues(lambda x: 0.5 * x @ H @ x, jnp.zeros(2)).round(12)
    array([1., 3.])
    """
    flat, loss_of = flattened(loss, parameters)
    check_dense(flat.size, memory)
    return eigenvalues_of(check_finite(np.asarray(_hessian(loss_of, flat))))


@validated
def hessian(loss: Callable[[Any], Any], parameters: PyTree, *, memory: float = DENSE_MEMORY) -> Any:
    """Compute H in the order of ``ravel_pytree(parameters)``."""
    flat, loss_of = flattened(loss, parameters)
    check_dense(flat.size, memory)
    return _hessian(loss_of, flat)


class Flattened(eqx.Module):
    """A loss as a function of one vector.

    shape: makes the tree of parameters of it;  fixed: what of the tree is no number.
    """

    loss: Callable[[Any], Any]
    shape: Any = eqx.field(static=True)
    fixed: Any = None

    def __call__(self, flat: Float[Array, " n"]) -> Any:  # value of the user's loss
        parameters = self.shape(flat)
        return self.loss(parameters if self.fixed is None else eqx.combine(parameters, self.fixed))


def flattened(loss: Callable[[Any], Any], parameters: PyTree) -> tuple[Any, Flattened]:
    """Return the parameters as one vector, and the loss as a function of it."""
    # Functions in a network, such as its activation, are leaves of the tree but not parameters.
    moving, fixed = eqx.partition(parameters, lambda leaf: not callable(leaf))
    leaves = jax.tree.leaves(moving)
    if not leaves or not all(map(_real, leaves)):
        allowed = "they have to be a pytree of arrays of real numbers"
        raise InputError("parameters", short_repr(parameters), allowed, "floats, not whole numbers")
    flat, shape = ravel_pytree(jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), moving))
    if not bool(jnp.all(jnp.isfinite(flat))):
        raise InputError("parameters", "NaN or infinity", "every parameter has to be finite")
    function = Flattened(loss, shape, fixed if jax.tree.leaves(fixed) else None)
    hint = "jnp.sin(x) for np.sin(x) or math.sin(x)"
    allowed = "it has to be a function of the parameters alone, written with jax.numpy"
    out = value_of("loss", _shape_of, function, flat, allowed=allowed, hint=hint)
    if getattr(out, "shape", None) != () or not jnp.issubdtype(out.dtype, jnp.floating):
        raise InputError("loss", short_repr(out), "it has to return one real number", "jnp.mean")
    return flat, function


def _shape_of(function: Flattened, flat: Any) -> Any:
    return jax.eval_shape(lambda x: function(x), flat)


def _real(leaf: Any) -> bool:
    """Return an array of floats, or one float."""
    dtype = getattr(leaf, "dtype", np.dtype(float) if isinstance(leaf, float) else None)
    return dtype is not None and jnp.issubdtype(dtype, jnp.floating)


def check_dense(count: int, memory: float) -> None:
    """Refuse a dense matrix of count × count numbers that does not fit in memory."""
    memory = finite_number("memory", memory, above=0.0, hint="memory=2**32")
    needed = COPIES * 8 * count**2
    if needed > memory:
        raise InputError(
            "parameters",
            f"{count} parameters",
            (
                f"the dense Hessian and its eigenvalues take {in_gib(needed)}; "
                f"{in_gib(memory)} are allowed"
            ),
            "tl.spectra.density or tl.spectra.extreme_eigenvalues, which only need products with "
            "the Hessian, or memory=BYTES if this machine has enough",
        )


def eigenvalues_of(H: np.ndarray) -> np.ndarray:
    """Compute eigenvalues of symmetric matrices, from their lower halves.

    NumPy's eigensolver takes half the time of that in JAX, on one thread: several wait for each
    other at every column, for most of their time, and for ten times as long if cores are shared.
    """
    if H.shape[-1] < ONE_THREAD:
        return np.linalg.eigvalsh(H)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):
        return np.linalg.eigvalsh(H)


def check_finite(values: np.ndarray) -> np.ndarray:
    """Return results of a Hessian; refuse parameters at which they are not finite."""
    if not np.isfinite(values).all():
        received, allowed = (
            "a Hessian with NaN or infinity",
            "it has to be finite at these parameters",
        )
        raise InputError("loss", received, allowed, "other parameters, or logits instead of log(p)")
    return values


@eqx.filter_jit
def _hessian(loss: Flattened, flat: Float[AnyArray, " n"]) -> Any:
    return matrix(loss, flat)


def products(loss: Callable[[Any], Any], flat: Float[Array, " n"]) -> Callable[[Any], Any]:
    """Return the function v → H v; terms without v are computed once."""
    return jax.linearize(jax.grad(loss), flat)[1]


def matrix(loss: Callable[[Any], Any], flat: Float[Array, " n"]) -> Float[Array, "n n"]:
    """Compute H, symmetrized to remove rounding errors."""
    H = columns(loss, flat)
    return 0.5 * (H + H.T)


def columns(
    loss: Callable[[Any], Any], flat: Float[Array, " n"], first: int = 0
) -> Float[Array, "some n"]:
    """Compute columns of H in batches, beginning with a given column."""
    n = flat.size
    some = n - first
    together = some if n <= ALL_COLUMNS else COLUMNS
    rows = -(-some // together) * together  # a last batch of another size would be compiled again
    return jax.lax.map(products(loss, flat), jnp.eye(rows, n, first), batch_size=together)[:some]

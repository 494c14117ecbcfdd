"""The eigenvalues at both ends of the spectrum of a large Hessian, by Lanczos."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float, PyTree

from tutelage._arguments import validated
from tutelage._checks import ComputationError, InputError, finite_number, positive_integer
from tutelage._findings import Finding
from tutelage._jax import jax, jnp
from tutelage._types import AnyArray
from tutelage.averages import Estimate
from tutelage.runs.seed import check_seed
from tutelage.spectra.hessian import Flattened, check_finite, flattened, matrix

# With fewer parameters than this the dense matrix is faster than an iteration.
DENSE = 100
# Sizes of Krylov spaces, in units of the number of eigenvalues; the first is ARPACK's default.
SPACES = (4, 16, 64)


@dataclass(frozen=True, repr=False)
class Extremes(Finding):
    """The lowest and the highest eigenvalues, ascending, each with its error.

    An error is the length of H v − λ v for |v| = 1: an eigenvalue lies at least as close.
    """

    lowest: Estimate
    highest: Estimate


@validated
def extreme_eigenvalues(
    loss: Callable[[Any], Any],
    parameters: PyTree,
    count: int = 1,
    *,
    tolerance: float = 1e-8,
    seed: int = 0,
) -> Extremes:
    """Compute the lowest and highest eigenvalues of ∂²L/∂θ∂θ from products with it.

    Implicitly restarted Lanczos (ARPACK, Lehoucq, Sorensen and Yang 1998), at both ends at once.

    Args:
        loss: a function of the tree of parameters alone.
        parameters: any tree of floating-point arrays.
        count: how many at each end; at most a quarter of the parameters.
        tolerance: of the eigenvalues, in units of the largest |λ|.
        seed: of the vector to begin with.

    Raises:
        InputError: if an argument cannot be used, or the iteration does not converge.

    >>> λ = jnp.arange(-100.0, 200.0)
    >>> ends = extreme_eigenvalues(lambda x: 0.5 * x @ (λ * x), jnp.zeros(300), count=2)
    >>> ends.lowest.value.round(6), ends.highest.value.round(6)
    (array([-100.,  -99.]), array([198., 199.]))
    """
    flat, loss_of = flattened(loss, parameters)
    count = positive_integer("count", count)
    finite_number("tolerance", tolerance, above=0.0, hint="tolerance=1e-8")
    seed = check_seed(seed)
    n = flat.size
    if n <= DENSE and count <= n:
        λ, V = np.linalg.eigh(check_finite(np.asarray(_matrix(loss_of, flat))))
    elif 4 * count > n:
        allowed = f"this method finds at most a quarter of the {n} eigenvalues"
        raise InputError("count", str(count), allowed, "tl.spectra.hessian_eigenvalues")
    else:
        λ, V = _iterate(loss_of, flat, count, tolerance, seed)
    error = _errors(loss_of, flat, λ, V)
    return Extremes(Estimate(λ[:count], error[:count]), Estimate(λ[-count:], error[-count:]))


def _iterate(
    loss: Flattened, flat: Float[AnyArray, " n"], count: int, tolerance: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Run ARPACK at both ends, again with a larger Krylov space if it does not converge."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    n = flat.size
    H = LinearOperator((n, n), lambda v: np.asarray(_product(loss, flat, v.ravel())), dtype=float)
    start = np.random.default_rng(seed).normal(size=n)
    if not np.any(check_finite(H @ start)):  # only a zero matrix maps a random vector to zero
        return np.zeros(2 * count), np.eye(n, 2 * count)
    for size in SPACES:
        space = min(n, max(size * 2 * count, 40))
        try:
            λ, V = eigsh(H, 2 * count, which="BE", v0=start, ncv=space, tol=tolerance)
        except ArpackNoConvergence:
            continue
        order = np.argsort(λ)
        return λ[order], V[:, order]
    raise ComputationError(
        "tolerance",
        f"a tolerance of {tolerance:g} was not reached",
        f"Lanczos did not converge in a space of {space} vectors",
        "a larger tolerance, or tl.spectra.density",
    )


def _errors(
    loss: Flattened, flat: Float[AnyArray, " n"], λ: np.ndarray, V: np.ndarray
) -> np.ndarray:
    residual = [
        np.linalg.norm(np.asarray(_product(loss, flat, v)) - value * v)
        for value, v in zip(λ, V.T, strict=True)
    ]
    return np.array(residual)


@eqx.filter_jit
def _product(loss: Flattened, flat: Float[AnyArray, " n"], v: Float[AnyArray, " n"]) -> Any:
    return jax.jvp(jax.grad(loss), (flat,), (jnp.asarray(v),))[1]


@eqx.filter_jit
def _matrix(loss: Flattened, flat: Float[AnyArray, " n"]) -> Any:
    return matrix(loss, flat)

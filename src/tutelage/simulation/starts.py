"""Initial weights: from given overlaps, from given weights, or random."""

import abc
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int, Key

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_array, positive_integer
from tutelage._given import ArrayLike, CheckedInside
from tutelage._jax import jax, jnp
from tutelage._memory import check_memory
from tutelage.model import Overlaps, Scenario
from tutelage.model.scenario import check_fits
from tutelage.runs.seed import check_seed
from tutelage.simulation.ensemble import check_dimension

TINY = float(np.finfo(float).tiny)


@validated
def random_start(
    scenario: Scenario,
    *,
    dimension: int,
    student_norm: ArrayLike = 0.5,
    runs: int | None = None,
    seed: int = 0,
) -> Overlaps:
    """Draw overlaps of students with independent random weights, J_ij ~ N(0, |J_i|²/N).

    R_in has mean 0 and variance |J_i|² T_nn/N, and Q is a Wishart matrix with mean diag(|J_i|²);
    both are drawn directly (Bartlett 1933), at a cost that does not grow with N.

    Args:
        scenario: student and teacher; students have random overlaps with its teacher.
        dimension: N >= K + M.
        student_norm: typical |J_i| > 0, one number or one for each student; 0.5 in straat2019,
            Fig. 1 (Q = 0.25).
        runs: how many; a start for each run has the leading axis ``runs``, one alone has none.
        seed: of the random numbers.

    >>> import tutelage as tl
    >>> two = tl.Committee(2, tl.ReLU())
    >>> start = tl.simulation.random_start(tl.Scenario(two, two), dimension=1000, runs=50)
    >>> start.Q.shape, bool(abs(start.Q[:, 0, 0].mean() - 0.25) < 0.01)
    ((50, 2, 2), True)
    """
    N = check_dimension(scenario, dimension)
    K, M = scenario.K, scenario.M
    norm = _norms(student_norm, K)
    count = 1 if runs is None else positive_integer("runs", runs)
    check_memory("runs", count, lambda runs: 64 * runs * K * (K + M), "their weights and overlaps")
    rng = np.random.default_rng(check_seed(seed))
    # In an orthonormal frame that begins with the teachers' space: J = norm/√N (G, A 0 … 0).
    G, A = rng.standard_normal((count, K, M)), np.tril(rng.standard_normal((count, K, K)), -1)
    for i in range(K):
        A[:, i, i] = np.sqrt(rng.chisquare(N - M - i, count))
    J = np.concatenate([G, A], axis=-1) * (norm / np.sqrt(N))[:, None]
    B = np.concatenate([_root(np.asarray(scenario.T)), np.zeros((M, K))], axis=-1)
    overlaps = J @ np.swapaxes(J, -1, -2), J @ B.T
    Q, R = overlaps if runs is not None else (x[0] for x in overlaps)
    return Overlaps(Q, R, np.broadcast_to(scenario.T, (*Q.shape[:-2], M, M)))


def _norms(student_norm: ArrayLike, K: int) -> Float[np.ndarray, " K"]:
    norm = finite_array("student_norm", student_norm)
    if norm.shape not in ((), (K,)) or np.any(norm <= 0):
        allowed = f"it has to be one positive number, or {K}"
        raise InputError("student_norm", repr(student_norm), allowed, "student_norm=0.5")
    return np.broadcast_to(norm, (K,))


def _root(C: Float[np.ndarray, "... n n"]) -> Float[np.ndarray, "... n n"]:
    """Return F with F Fᵀ = C, also for singular C; eigenvalues of about -1e-16 count as rounding
    errors.
    """
    values, vectors = np.linalg.eigh(C)
    return vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]


class InitialWeights(eqx.Module):
    """Initial weights of runs; abstract."""

    @abc.abstractmethod
    def weights(self, key: Key[Array, ""], run: Int[Array, ""], N: int) -> Float[Array, "n N"]:
        """Return the weights of one run: the K students, then the M teachers."""


class Frame(InitialWeights):
    """Weights F O with the overlaps F Fᵀ, O a random orthonormal frame of each run.

    The Gram-Schmidt start of straat2019 and citton2025: overlaps are realised to rounding.
    factor: F, shape (n, n), or (runs, n, n) if runs start differently.
    """

    factor: Float[Array, "... n n"]

    def weights(self, key: Key[Array, ""], run: Int[Array, ""], N: int) -> Float[Array, "n N"]:
        F = self.factor[run] if self.factor.ndim == 3 else self.factor
        frame = orthonormal(jax.random.normal(key, (len(F), N)))
        return jnp.sum(F[:, :, None] * frame[None], axis=1)


def orthonormal(vectors: Float[Array, "n N"]) -> Float[Array, "n N"]:
    """Orthonormalize by Gram and Schmidt, twice: one pass leaves errors that grow with the
    condition.
    """
    previous: list[Any] = []
    for v in vectors:
        for u in previous + previous:
            v = v - products(v[None], u[None])[0] * u
        # A vector in the span of the others becomes zero, and does not change the rest.
        previous.append(v / jnp.maximum(jnp.sqrt(products(v[None], v[None])[0]), TINY))
    return jnp.stack(previous)


def products(V: Float[Array, "n N"], W: Float[Array, "m N"]) -> Float[Array, "n m"]:
    """Return V_a·W_b.

    On a CPU runs are done one by one, and a library multiplies matrices fastest; in a batch on
    a GPU its order of summation is not known, and sums are written out.
    """
    if jax.default_backend() == "cpu":
        return V @ W.T
    return jnp.sum(V[:, None] * W, axis=-1)


class GivenWeights(InitialWeights):
    """Given weights of shape (n, N), or (runs, n, N)."""

    array: Float[Array, "... n N"]

    def weights(self, key: Key[Array, ""], run: Int[Array, ""], N: int) -> Float[Array, "n N"]:
        return self.array[run] if self.array.ndim == 3 else self.array


def own_readouts(
    scenario: Scenario, runs: int
) -> tuple[Scenario, Float[Array, "runs outputs K"] | None]:
    """Return the scenario with one readout of the student, and the readouts of all runs, if any."""
    v = scenario.student.readout
    if v is None or v.ndim < 3:
        return scenario, None
    if len(v) != positive_integer("runs", runs, hint="runs=10"):
        received, allowed = (
            f"readouts of {len(v)} runs",
            f"one readout per run is needed, for {runs} runs",
        )
        raise InputError("student", received, allowed, f"runs={len(v)}")
    return scenario.with_readout(v[0]), v


def initial_weights(
    scenario: Scenario,
    start: CheckedInside[Overlaps | tuple[ArrayLike, ArrayLike]],
    N: int,
    runs: int,
) -> InitialWeights:
    """Return initial weights from overlaps or weights (J, B), checked against the scenario."""
    if isinstance(start, Overlaps):
        check_fits("start", scenario, start, batches=((), (runs,)), time_dependent_T=True)
        return Frame(jnp.asarray(_root(np.asarray(start.covariance))))
    if not isinstance(start, tuple | list) or len(start) != 2:
        allowed = "it has to be Overlaps, or a pair (J, B) of weights"
        raise InputError("start", type(start).__name__, allowed, "tl.Overlaps(Q, R, T)")
    overlaps = Overlaps.from_weights(*start)
    check_fits("start", scenario, overlaps, batches=((), (runs,)), time_dependent_T=True)
    J, B = (np.asarray(W, dtype=np.float64) for W in start)
    if J.shape[-1] != N:
        received = f"weights of {J.shape[-1]} components"
        raise InputError("start", received, f"dimension is {N}", f"weights of {N} components")
    batch = np.broadcast_shapes(J.shape[:-2], B.shape[:-2])
    both = [np.broadcast_to(W, (*batch, *W.shape[-2:])) for W in (J, B)]
    return GivenWeights(jnp.asarray(np.concatenate(both, axis=-2)))

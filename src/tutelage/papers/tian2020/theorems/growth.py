"""Winners take all: relative growth of the lengths of filters (tian2020, Theorem 7)."""

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage.deep import Network
from tutelage.papers.tian2020.theorems.gradients import recursive_gradients


def descent(
    student: Network,
    teacher: Network,
    x: Float[Array | np.ndarray, "examples d"],
    learning_rate: float,
    *,
    steps: int,
    every: int = 1,
) -> Network:
    """Gradient descent on all examples at once, the flow of tian2020, eqs. (1) and (2).

    W_l ← W_l + η E[f_{l-1} g_lᵀ], the gradient of J = ½ E‖f*_L - f_L‖²

    Args:
        student, teacher: of the same depth.
        x: examples, of shape (examples, d).
        learning_rate: η > 0.
        steps: how many.
        every: how many of them lie between two recorded networks.

    Returns:
        A batch of 1 + steps//every networks, the first one being the start.
    """
    x = jnp.asarray(x)
    later = _descent(student, x, teacher(x), jnp.asarray(learning_rate), steps // every, every)
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), student, later)


@eqx.filter_jit
def _descent(
    student: Network,
    x: Float[Array, "examples d"],
    y: Float[Array, "examples outputs"],
    η: Float[Array, ""],
    records: int,
    every: int,
) -> Network:
    def step(_: Array, now: Network) -> Network:
        g = jax.grad(lambda net: 0.5 * jnp.mean(jnp.sum((net(x) - y) ** 2, axis=1)))(now)
        return jax.tree.map(lambda w, g: w - η * g, now, g)

    def record(now: Network, _: None) -> tuple[Network, Network]:
        now = jax.lax.fori_loop(0, every, step, now)
        return now, now

    return jax.lax.scan(record, student, None, length=records)[1]


class Growth(NamedTuple):
    """Lengths of the filters of the lowest layer along a path, and their rates of growth.

    length: ‖w_k‖ with the bias as a last entry, shape (records, n_1).
    rate: w̄_k·r_k, where dw_k/dt = ‖w_k‖ r_k, shape (records, n_1).
    """

    length: Float[Array, "records nodes"]
    rate: Float[Array, "records nodes"]

    def logarithmic_ratio(self, k: int, other: int) -> np.ndarray:
        """ln ‖w_k‖/‖w_k'‖ along the path."""
        return np.log(np.asarray(self.length[:, k] / self.length[:, other]))

    def predicted(self, k: int, other: int) -> np.ndarray:
        """The derivative of `logarithmic_ratio` by Theorem 7: w̄_k·r_k - w̄_k'·r_k'."""
        return np.asarray(self.rate[:, k] - self.rate[:, other])


def growth(path: Network, teacher: Network, x: Float[Array | np.ndarray, "examples d"]) -> Growth:
    """Lengths and rates along a path of two or more layers (tian2020, eq. (6) and Theorem 7).

    d/dt ln ‖w_k‖/‖w_k'‖ = w̄_k·r_k - w̄_k'·r_k',   w̄_k·r_k = E[h_k g_k]/‖w_k‖²

    The rate is taken from the recursion of Lemma 1, without a derivative in time.

    Args:
        path: from `descent`.
        teacher, x: those of the path.
    """
    return Growth(*_growth(path, teacher, jnp.asarray(x)))


@eqx.filter_jit
def _growth(path: Network, teacher: Network, x: Float[Array, "examples d"]) -> tuple[Any, Any]:
    def one(now: Network) -> tuple[Any, Any]:
        squared = jnp.sum(now.weights[0] ** 2, axis=0) + now.biases[0] ** 2
        g = recursive_gradients(now, teacher, x)[0]
        return jnp.sqrt(squared), jnp.mean(now.fields(x)[0] * g, axis=0) / squared

    return jax.lax.map(one, path)


def symmetric_flow(
    filters: Any, target: Any, coefficients: Any, times: Any, excess: Any = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The symmetric case after Theorem 7: dw_k/dt = ‖w_k‖ r, r = w* - Σ_k a_k w_k.

    The rates h_k = w̄_k·r then obey d/dt (h_k - h_k') = -(h_k - h_k') (h_k + h_k' + Σ a ‖w‖)
    (eq. (68)): differences die out, and the ratios of lengths come to rest.

    Args:
        filters: w_k at time 0, shape (n, d).
        target: w*, shape (d,).
        coefficients: a_k > 0, shape (n,).
        times: increasing, from 0.
        excess: ε_k, shape (n,), of nodes that break the symmetry: r_k = r + ε_k w*.

    Returns:
        The filters, shape (times, n, d), and the rates h_k, shape (times, n).
    """
    from scipy.integrate import solve_ivp

    w0, t, a, when = map(np.asarray, (filters, target, coefficients, times))
    more = np.broadcast_to(excess, len(w0))[:, None] * t

    def change(_: float, flat: np.ndarray) -> np.ndarray:
        w = flat.reshape(w0.shape)
        return (np.linalg.norm(w, axis=1, keepdims=True) * (t - a @ w + more)).ravel()

    ends = (float(when[0]), float(when[-1]))
    solution = solve_ivp(change, ends, w0.ravel(), "DOP853", when, rtol=1e-11, atol=1e-13)
    w = solution.y.T.reshape(len(when), *w0.shape)
    r = (t - np.einsum("k,tkd->td", a, w))[:, None] + more
    return w, np.einsum("tkd,tkd->tk", w, r) / np.linalg.norm(w, axis=2)

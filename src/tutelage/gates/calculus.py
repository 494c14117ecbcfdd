"""Elementwise derivatives, and derivatives of a log-sum-exp without cancellation.

Automatic differentiation of log Σ w exp(st) gives ⟨s⟩, and next p_i (s_i − ⟨s⟩) for the derivative
of a probability.  Where one state has nearly all the weight this difference is rounding; in

    dp_i/dt = p_i Σ_j p_j (s_i − s_j)

it is not, so that variances stay accurate, and positive, however small they are.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp, match_rank

Levels = tuple[tuple[float, ...], tuple[float, ...]]  # states and weights
Function = Callable[[Float[Array, "..."]], Float[Array, "..."]]


def derivative(f: Function) -> Function:
    """f' for a function that acts entry by entry."""
    return lambda t: jax.jvp(f, (t,), (jnp.ones_like(t),))[1]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def log_sum(levels: Levels, t: Float[Array, "..."]) -> Float[Array, "..."]:
    """log Σ_i w_i exp(s_i t)."""
    return _winner(levels, t) * t + jax.nn.logsumexp(_exponents(levels, t), axis=-1)


@log_sum.defjvp
def _log_sum_jvp(levels, primals, tangents):
    (t,), (t_dot,) = primals, tangents
    states = np.asarray(levels[0])
    # Sums of p_i (s_i − middle): otherwise a common shift of all states cancels in the variance.
    middle = 0.5 * (states[0] + states[-1])
    mean = middle + probabilities(levels, t) @ (states - middle)
    return log_sum(levels, t), mean * t_dot


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def probabilities(levels: Levels, t: Float[Array, "..."]) -> Float[Array, "... n"]:
    """p_i = w_i exp(s_i t)/Z, states in the last axis."""
    return jax.nn.softmax(_exponents(levels, t), axis=-1)


@probabilities.defjvp
def _probabilities_jvp(levels, primals, tangents):
    (t,), (t_dot,) = primals, tangents
    states = np.asarray(levels[0])
    p = probabilities(levels, t)
    return p, p * (p @ (states[None, :] - states[:, None])) * t_dot[..., None]


def _winner(levels: Levels, t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the state with the largest exponent."""
    return jnp.where(t >= 0, levels[0][-1], levels[0][0])


def _exponents(levels: Levels, t: Float[Array, "..."]) -> Float[Array, "... n"]:
    """log w_i + (s_i − s_winner) t: never large and positive.

    A common term s t, subtracted only later, may be rounded in two ways by a compiler, and their
    difference is anything at |t| = 1e100.
    """
    winner, t = _winner(levels, t)[..., None], t[..., None]
    states, weights = (match_rank(np.asarray(x), t) for x in levels)
    return np.log(weights) + (states - winner) * t

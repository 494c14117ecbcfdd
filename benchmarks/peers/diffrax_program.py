"""JAX and diffrax: closed forms of all pairs at once, compiled with the solver."""

from functools import partial

import diffrax
import jax
import jax.numpy as jnp
import numpy as np


def covariance(y, K, M, T):
    R = y[: K * M].reshape(K, M)
    place = np.zeros((K, K), dtype=int)
    place[np.triu_indices(K)] = np.arange(K * (K + 1) // 2)
    Q = y[K * M :][np.maximum(place, place.T)]
    return jnp.block([[Q, R], [R.T, T]])


def first_erf(C, K, s):
    own, columns, c = 1 + jnp.diag(C)[:K, None], 1 + jnp.diag(C)[None], C[:K]
    f = 2 / jnp.pi * s / jnp.sqrt(own * columns - c**2)
    return f @ C - c * jnp.sum(f * c / own, axis=1, keepdims=True)


def second_erf(C, K, s):
    i, k = np.triu_indices(K)
    a, b = np.triu_indices(len(C))
    p, q, c = (x[:, None] for x in (1 + C[i, i], 1 + C[k, k], C[i, k]))
    L4 = p * q - c**2
    x, z = C[i], C[k]
    L = L4 * (1 + jnp.diag(C)) - p * z**2 - q * x**2 + 2 * c * x * z
    root = 1 / jnp.sqrt(L)
    crossed = x[:, a] * z[:, b] + z[:, a] * x[:, b]
    L0 = L4 * C[a, b] - p * z[:, a] * z[:, b] - q * x[:, a] * x[:, b] + c * crossed
    weight = s[a] * s[b] * np.where(a == b, 1.0, 2.0)
    terms = jnp.arcsin(L0 * root[:, a] * root[:, b])
    return 4 / jnp.pi**2 * (terms @ weight) / jnp.sqrt(L4[:, 0])


def first_relu(C, K, s):
    own = jnp.diag(C)[:K, None]
    size = jnp.sqrt(own * jnp.diag(C))
    same = np.eye(K, len(C), dtype=bool)
    rho = jnp.where(same, 0.0, jnp.clip(C[:K] / size, -1, 1))
    angle = jnp.where(same, 0.5, (jnp.pi / 2 + jnp.arcsin(rho)) / (2 * jnp.pi))
    along = jnp.where(same, 0.0, jnp.sqrt((1 - rho) * (1 + rho)) * size / own / (2 * jnp.pi))
    return (s * angle) @ C + C[:K] * jnp.sum(s * along, axis=1, keepdims=True)


def rates(unit, K, M, t, y, args):
    T, eta = args
    s = np.where(np.arange(K + M) < K, -1.0, 1.0)
    C = covariance(y, K, M, T)
    D = (first_relu if unit == "relu" else first_erf)(C, K, s)
    i, k = np.triu_indices(K)
    if eta is None:
        return jnp.concatenate([D[:, K:].ravel(), D[i, k] + D[k, i]])
    dQ = eta * (D[i, k] + D[k, i]) + eta**2 * second_erf(C, K, s)
    return jnp.concatenate([eta * D[:, K:].ravel(), dQ])


@partial(jax.jit, static_argnames=("unit", "K", "M"))
def solve(y, T, eta, times, tolerance, unit, K, M):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(partial(rates, unit, K, M)),
        diffrax.Dopri5(),
        t0=0.0,
        t1=times[-1],
        dt0=1e-3,
        y0=y,
        args=(T, eta),
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
        max_steps=10**6,
        adjoint=diffrax.ForwardMode(),
    ).ys


def curve(unit, Q, R, T, learning_rate, times, tolerance):
    K, M = R.shape
    y = np.concatenate([R.ravel(), Q[np.triu_indices(K)]])
    eta = None if learning_rate == 0 else learning_rate
    return np.asarray(solve(y, T, eta, times, tolerance, unit, K, M))

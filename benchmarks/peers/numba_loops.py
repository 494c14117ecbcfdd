"""Loops compiled by numba: closed forms pair by pair, and Dormand and Prince's method."""

import math

import numpy as np
from numba import njit

A = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
E = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])


@njit(fastmath=True)
def covariance(y, K, M, T, C):
    place = K * M
    for i in range(K):
        for m in range(M):
            C[i, K + m] = C[K + m, i] = y[i * M + m]
        for k in range(i, K):
            C[i, k] = C[k, i] = y[place]
            place += 1
    C[K:, K:] = T


@njit(fastmath=True)
def first_erf(C, K, n, D):
    """D_iv = Σ_a s_a I3(x_i, v, a), s = -1 for students and 1 for teachers."""
    for i in range(K):
        for v in range(n):
            D[i, v] = 0.0
        for a in range(n):
            s = -1.0 if a < K else 1.0
            own = 1 + C[i, i]
            L3 = own * (1 + C[a, a]) - C[i, a] ** 2
            f = s * 2 / math.pi / (math.sqrt(L3) * own)
            for v in range(n):
                D[i, v] += f * (C[v, a] * own - C[i, v] * C[i, a])


@njit(fastmath=True)
def second_erf(C, K, n, S, work):
    """S_ik = Σ_ab s_a s_b I4(x_i, x_k, a, b), each pair of a and b once."""
    L = work[0, 0]
    for i in range(K):
        for k in range(i, K):
            p, q, c = 1 + C[i, i], 1 + C[k, k], C[i, k]
            L4 = p * q - c * c
            for a in range(n):
                x, z = C[i, a], C[k, a]
                L[a] = 1 / math.sqrt(L4 * (1 + C[a, a]) - p * z * z - q * x * x + 2 * c * x * z)
            total = 0.0
            for a in range(n):
                x, z = C[i, a], C[k, a]
                for b in range(a, n):
                    u, w = C[i, b], C[k, b]
                    L0 = L4 * C[a, b] - p * z * w - q * x * u + c * (x * w + z * u)
                    term = math.asin(L0 * L[a] * L[b])
                    if b > a:
                        term *= 2
                    total += term if (a < K) == (b < K) else -term
            S[i, k] = 4 / math.pi**2 * total / math.sqrt(L4)


@njit(fastmath=True)
def first_relu(C, K, n, D):
    """⟨θ(x) v a₊⟩ = [C_va (π/2 + asin ρ) + C_xv √(1 - ρ²) √(C_aa/C_xx)]/2π."""
    for i in range(K):
        for v in range(n):
            D[i, v] = 0.0
        for a in range(n):
            s = -1.0 if a < K else 1.0
            if a == i:
                for v in range(n):
                    D[i, v] += s * C[i, v] / 2
                continue
            size = math.sqrt(C[i, i] * C[a, a])
            rho = C[i, a] / size
            rho = min(1.0, max(-1.0, rho))
            angle = (math.pi / 2 + math.asin(rho)) / (2 * math.pi)
            along = math.sqrt((1 - rho) * (1 + rho)) * size / C[i, i] / (2 * math.pi)
            for v in range(n):
                D[i, v] += s * (C[v, a] * angle + C[i, v] * along)


@njit(fastmath=True)
def rates(first, second, y, K, M, T, eta, C, D, S, work, dy):
    n = K + M
    covariance(y, K, M, T, C)
    first(C, K, n, D)
    h = eta
    if eta == 0:
        h = 1.0
        S[:] = 0.0
    else:
        second(C, K, n, S, work)
    place = K * M
    for i in range(K):
        for m in range(M):
            dy[i * M + m] = h * D[i, K + m]
        for k in range(i, K):
            dy[place] = h * (D[i, k] + D[k, i]) + eta * eta * S[i, k]
            place += 1


@njit(fastmath=True)
def integrate(first, second, y, K, M, T, eta, times, tolerance, out):
    n, d = K + M, len(y)
    C, D, S, work = np.empty((n, n)), np.empty((K, n)), np.zeros((K, K)), np.empty((4, n, n))
    k, new = np.empty((7, d)), np.empty(d)
    t, h, record = 0.0, 1e-3, 0
    rates(first, second, y, K, M, T, eta, C, D, S, work, k[0])
    end = times[-1]
    while record < len(times):
        if times[record] <= t:
            out[record] = y
            record += 1
            continue
        step = min(h, end - t)
        for s in range(1, 7):
            for j in range(d):
                total = 0.0
                for r in range(s):
                    total += A[s, r] * k[r, j]
                new[j] = y[j] + step * total
            rates(first, second, new, K, M, T, eta, C, D, S, work, k[s])
        size = 0.0
        for j in range(d):
            total = 0.0
            for r in range(7):
                total += E[r] * k[r, j]
            scale = tolerance * (1 + max(abs(y[j]), abs(new[j])))
            size += (step * total / scale) ** 2
        size = math.sqrt(size / d)
        if size <= 1:
            later = end if step >= end - t else t + step
            while record < len(times) and times[record] <= later:
                # Quartic interpolation of Hairer, Nørsett and Wanner (II.6).
                x = (times[record] - t) / step
                for j in range(d):
                    change = new[j] - y[j]
                    bent = step * k[0, j] - change
                    rest = change - step * k[6, j] - bent
                    more = step * (
                        -12715105075 / 11282082432 * k[0, j]
                        + 87487479700 / 32700410799 * k[2, j]
                        - 10690763975 / 1880347072 * k[3, j]
                        + 701980252875 / 199316789632 * k[4, j]
                        - 1453857185 / 822651844 * k[5, j]
                        + 69997945 / 29380423 * k[6, j]
                    )
                    out[record, j] = y[j] + x * (
                        change + (1 - x) * (bent + x * (rest + (1 - x) * more))
                    )
                record += 1
            t = later
            y[:] = new
            k[0] = k[6]
        h = step * min(10.0, max(0.2, 0.9 * size**-0.2 if size > 0 else 10.0))


@njit(fastmath=True)
def repeat(first, second, y, K, M, T, eta, count):
    """So many right-hand sides, each at a state that depends on the one before."""
    n, dy = K + M, np.empty_like(y)
    C, D, S, work = np.empty((n, n)), np.empty((K, n)), np.zeros((K, K)), np.empty((4, n, n))
    for _ in range(count):
        rates(first, second, y, K, M, T, eta, C, D, S, work, dy)
        y += 1e-12 * dy
    return y


def solve(first, second, Q, R, T, learning_rate, times, tolerance):
    K, M = R.shape
    y = np.concatenate([R.ravel(), Q[np.triu_indices(K)]])
    out = np.empty((len(times), len(y)))
    integrate(first, second, y, K, M, T, float(learning_rate), times, tolerance, out)
    return out


def curve(unit, Q, R, T, learning_rate, times, tolerance):
    first = first_relu if unit == "relu" else first_erf
    return solve(first, second_erf, Q, R, T, learning_rate, times, tolerance)

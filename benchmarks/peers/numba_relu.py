"""Loops compiled by numba: ReLUs at a positive learning rate, with exact four-point averages.

S_ik = ⟨δ_i δ_k⟩ = Σ_ab s_a s_b ⟨θ(x_i) θ(x_k) f_a₊ f_b₊⟩.  With R the correlations of all fields,
every term is √(C_aa C_bb) times a moment of the set S of different fields among i, k, a and b,

    ⟨f_a f_b Π_S θ⟩ = R_ab P_S + Σ_{c<d in S} w_cd P_{S∖cd} given f_c = f_d = 0,
    w_cd = [R_ac R_bd + R_ad R_bc - R_cd (R_ac R_bc + R_ad R_bd)] / 2π√(1 - R_cd²)

(Stein's lemma, twice).  Probabilities P of up to three signs are elementary.  For four, Plackett's
identity switches on the correlations of the fourth field with each of the others, an integral over
the angle φ with tan φ = v tan φ_end, 0 < v < 1.

Conditional moments are differences of correlations: digits are lost where fields nearly coincide,
as at the end of learning, and where they do coincide the result is NaN.
"""

import math

import numpy as np
from numba import njit

from peers.numba_loops import first_relu, solve

# v = 1 - (1 - s)² at the nodes of Gauss: the integrand may change fast near v = 1.
x, w = np.polynomial.legendre.leggauss(32)
V2, WEIGHT = (1 - (0.5 - 0.5 * x) ** 2) ** 2, w * (0.5 - 0.5 * x)
# asin(s)/s at Chebyshev nodes of s², up to s = ½: the functions of libm are not vectorized.
z = 0.125 + 0.125 * np.cos(np.pi * (np.arange(13) + 0.5) / 13)
P = np.polynomial.Polynomial.fit(z, np.arcsin(np.sqrt(z)) / np.sqrt(z), 12).convert().coef.tolist()
P0, P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12 = P
PAIRS = ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2), (1, 2, 0, 3), (1, 3, 0, 2), (2, 3, 0, 1))


@njit(fastmath=True, error_model="numpy")
def asin(r):
    size = min(abs(r), 1.0)
    large = size > 0.5
    z = 0.5 - 0.5 * size if large else size * size
    p = P6 + z * (P7 + z * (P8 + z * (P9 + z * (P10 + z * (P11 + z * P12)))))
    p = P0 + z * (P1 + z * (P2 + z * (P3 + z * (P4 + z * (P5 + z * p)))))
    p *= math.sqrt(z)
    p = math.pi / 2 - 2 * p if large else p
    return p if r > 0 else -p


@njit(fastmath=True, error_model="numpy")
def given(R, k, m, c, d):
    """The correlation of k and m given f_c = f_d = 0."""
    r, kc, kd, mc, md = R[c, d], R[k, c], R[k, d], R[m, c], R[m, d]
    e = 1 / (1 - r * r)
    u, w = kd - r * kc, md - r * mc
    own = (1 - kc * kc - e * u * u) * (1 - mc * mc - e * w * w)
    return (R[k, m] - kc * mc - e * u * w) / math.sqrt(own)


@njit(fastmath=True, error_model="numpy")
def path(R, i, j, k, m):
    """∫ asin(correlation of j and k given f_i = f_m = 0) dφ up to sin φ = R_im."""
    r, ij, ik = R[i, m], R[i, j], R[i, k]
    e = 1 / (1 - r * r)
    u, w = R[j, m] - ij * r, R[k, m] - ik * r
    jk, jj, kk = R[j, k] - ij * ik, 1 - ij * ij, 1 - ik * ik
    total = 0.0
    for node in range(len(V2)):
        q = e * V2[node]
        c = (jk - q * u * w) / math.sqrt((jj - q * u * u) * (kk - q * w * w))
        total += WEIGHT[node] * asin(c) / (1 + q * r * r)
    return r * math.sqrt(e) * total


@njit(fastmath=True, error_model="numpy")
def moment(R, A, B, f, P, E, a, b, i, k):
    """⟨f_a f_b θ θ θ θ⟩ of the fields f at the places a, b, i, k.

    E: P_2 of the other two fields given those at two places.
    """
    fa, fb, fi, fk = f[a], f[b], f[i], f[k]
    ik, ai, ak, bi, bk = R[fi, fk], R[fa, fi], R[fa, fk], R[fb, fi], R[fb, fk]
    w = ai * bk + ak * bi - ik * (ai * bi + ak * bk)
    total = R[fa, fb] * P + B[fa, fb] * E[a, b] + w * B[fi, fk] / (1 - ik * ik) * E[i, k]
    total += bi * B[fa, fi] * E[a, i] + bk * B[fa, fk] * E[a, k]
    return total + ai * B[fb, fi] * E[b, i] + ak * B[fb, fk] * E[b, k]


@njit(fastmath=True, error_model="numpy")
def add_four(R, A, B, h, K, f, E, S):
    """The terms of four different fields, the fields f."""
    for c, d, k, m in PAIRS:
        E[c, d] = E[d, c] = 0.25 + asin(given(R, f[k], f[m], f[c], f[d])) / (2 * math.pi)
    p, q, r, s = f
    total = path(R, p, q, r, s) + path(R, q, p, r, s) + path(R, r, p, q, s)
    P = 0.0625 + (A[p, q] + A[p, r] + A[q, r] + A[p, s] + A[q, s] + A[r, s]) / 4
    P += total / (4 * math.pi**2)
    for i, k, a, b in PAIRS:
        if f[k] < K:
            S[f[i], f[k]] += 2 * h[f[a]] * h[f[b]] * moment(R, A, B, f, P, E, a, b, i, k)


@njit(fastmath=True, error_model="numpy")
def add_pair(R, A, B, h, K, p, q, S):
    """The terms of two different fields, p a student."""
    P, r, b = 0.25 + A[p, q], R[p, q], B[p, q]
    own, both = P + r * b, 2 * h[p] * h[q] * (r * P + b)
    S[p, p] += h[q] ** 2 * own + both
    if q < K:
        S[q, q] += h[p] ** 2 * own + both
        S[p, q] += (h[p] ** 2 + h[q] ** 2) * own + both


@njit(fastmath=True, error_model="numpy")
def add_three(R, A, B, h, K, p, q, r, S):
    """The terms of three different fields p < q < r, p a student."""
    P = 0.125 + (A[p, q] + A[p, r] + A[q, r]) / 2
    pq, pr, qr = R[p, q], R[p, r], R[q, r]
    a, b, c = B[p, q] / 2, B[p, r] / 2, B[q, r] / 2
    m_pq = 2 * h[p] * h[q] * (pq * P + a + qr * b + pr * c)
    m_pr = 2 * h[p] * h[r] * (pr * P + b + qr * a + pq * c)
    m_qr = 2 * h[q] * h[r] * (qr * P + c + pr * a + pq * b)
    S[p, p] += m_qr
    if q < K:
        S[q, q] += m_pr
        S[p, q] += h[r] ** 2 * (P + pr * b + qr * c + bent(pq, pr, qr, a)) + m_pr + m_qr
    if r < K:
        S[r, r] += m_pq
        S[p, r] += h[q] ** 2 * (P + pq * a + qr * c + bent(pr, pq, qr, b)) + m_pq + m_qr
        S[q, r] += h[p] ** 2 * (P + pq * a + pr * b + bent(qr, pq, pr, c)) + m_pq + m_pr


@njit(fastmath=True, error_model="numpy")
def bent(r, u, w, b):
    return (2 * u * w - r * (u * u + w * w)) / (1 - r * r) * b


@njit(fastmath=True, error_model="numpy")
def second_relu(C, K, n, S, work):
    R, A, B, h = work[0], work[1], work[2], work[3, 0]
    E, f = np.empty((4, 4)), np.empty(4, np.int64)
    for a in range(n):
        h[a] = math.sqrt(C[a, a])
    for a in range(n):
        for b in range(n):
            R[a, b] = C[a, b] / (h[a] * h[b])
            A[a, b] = asin(R[a, b]) / (2 * math.pi)
            B[a, b] = math.sqrt(max(1 - R[a, b] ** 2, 0.0)) / (2 * math.pi)
    for p in range(K):
        h[p] = -h[p]
    S[:] = 0.0
    for p in range(K):
        S[p, p] += h[p] ** 2 / 2
        for q in range(p + 1, n):
            add_pair(R, A, B, h, K, p, q, S)
            for r in range(q + 1, n):
                add_three(R, A, B, h, K, p, q, r, S)
                if q < K:
                    for s in range(r + 1, n):
                        f[0], f[1], f[2], f[3] = p, q, r, s
                        add_four(R, A, B, h, K, f, E, S)


def curve(unit, Q, R, T, learning_rate, times, tolerance):
    return solve(first_relu, second_relu, Q, R, T, learning_rate, times, tolerance)

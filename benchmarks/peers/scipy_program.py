"""NumPy and SciPy's `solve_ivp`: closed forms of all pairs at once."""

import numpy as np
from scipy.integrate import solve_ivp


class Equations:
    """Index arrays and signs, made once."""

    def __init__(self, unit, K, M, T, eta):
        self.unit, self.K, self.M, self.eta = unit, K, M, eta
        n = K + M
        self.i, self.k = np.triu_indices(K)
        self.a, self.b = np.triu_indices(n)
        self.s = np.where(np.arange(n) < K, -1.0, 1.0)
        self.weight = self.s[self.a] * self.s[self.b] * np.where(self.a == self.b, 1.0, 2.0)
        self.same = np.eye(K, n, dtype=bool)
        self.C = np.zeros((n, n))
        self.C[K:, K:] = T

    def rates(self, t, y):
        K, M, C, i, k = self.K, self.M, self.C, self.i, self.k
        C[:K, K:] = y[: K * M].reshape(K, M)
        C[K:, :K] = C[:K, K:].T
        C[i, k] = C[k, i] = y[K * M :]
        D = self.first_relu() if self.unit == "relu" else self.first_erf()
        if self.eta == 0:
            return np.concatenate([D[:, K:].ravel(), D[i, k] + D[k, i]])
        dQ = self.eta * (D[i, k] + D[k, i]) + self.eta**2 * self.second_erf()
        return np.concatenate([self.eta * D[:, K:].ravel(), dQ])

    def first_erf(self):
        C, K = self.C, self.K
        own, columns, c = 1 + C.diagonal()[:K, None], 1 + C.diagonal(), C[:K]
        f = 2 / np.pi * self.s / np.sqrt(own * columns - c**2)
        return f @ C - c * np.sum(f * c / own, axis=1, keepdims=True)

    def second_erf(self):
        C, i, k, a, b = self.C, self.i, self.k, self.a, self.b
        p, q, c = (x[:, None] for x in (1 + C[i, i], 1 + C[k, k], C[i, k]))
        L4 = p * q - c**2
        x, z = C[i], C[k]
        root = 1 / np.sqrt(L4 * (1 + C.diagonal()) - p * z**2 - q * x**2 + 2 * c * x * z)
        crossed = x[:, a] * z[:, b] + z[:, a] * x[:, b]
        L0 = L4 * C[a, b] - p * z[:, a] * z[:, b] - q * x[:, a] * x[:, b] + c * crossed
        terms = np.arcsin(L0 * root[:, a] * root[:, b])
        return 4 / np.pi**2 * (terms @ self.weight) / np.sqrt(L4[:, 0])

    def first_relu(self):
        C, K = self.C, self.K
        own = C.diagonal()[:K, None]
        size = np.sqrt(own * C.diagonal())
        rho = np.where(self.same, 0.0, np.clip(C[:K] / size, -1, 1))
        angle = np.where(self.same, 0.5, (np.pi / 2 + np.arcsin(rho)) / (2 * np.pi))
        root = np.sqrt((1 - rho) * (1 + rho)) * size / own / (2 * np.pi)
        along = np.where(self.same, 0.0, root)
        return (self.s * angle) @ C + C[:K] * np.sum(self.s * along, axis=1, keepdims=True)


def curve(unit, Q, R, T, learning_rate, times, tolerance):
    K, M = R.shape
    y = np.concatenate([R.ravel(), Q[np.triu_indices(K)]])
    system = Equations(unit, K, M, T, learning_rate)
    span = (0.0, times[-1])
    return solve_ivp(
        system.rates, span, y, t_eval=times, rtol=max(tolerance, 3e-14), atol=tolerance
    ).y.T

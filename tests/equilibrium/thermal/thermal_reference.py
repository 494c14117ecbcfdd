"""The replica symmetric free energy of K → ∞ units in mpmath, written from its definition.

It shares nothing with the library: kernels are closed forms or Hermite sums, and the saddle-point
equations are derivatives of the free energy by differences in forty digits.
"""

from collections.abc import Callable

from mpmath import mp, mpf

Kernel = Callable[[mpf], mpf]
DIGITS = 40


def relu(rho: mpf) -> mpf:
    """⟨g(u) g(w)⟩ of the ReLU (Cho and Saul 2009)."""
    return (mp.sqrt(1 - rho**2) + rho * (mp.pi / 2 + mp.asin(rho))) / (2 * mp.pi)


def erf(rho: mpf) -> mpf:
    """⟨g(u) g(w)⟩ of erf(x/√2)."""
    return 2 / mp.pi * mp.asin(rho / 2)


def without_linear_part(kernel: Kernel) -> Kernel:
    """κ̃(ρ) = κ(ρ) − κ(0) − κ'(0) ρ."""
    level, slope = kernel(mpf(0)), mp.diff(kernel, 0)
    return lambda rho: kernel(rho) - level - slope * rho


def quenched(
    kernel: Kernel, R: mpf, q: mpf, load: mpf, beta: mpf, noise: mpf, replicas: int = 0
) -> mpf:
    """βf/K at given R and q; `replicas` n > 0: the n-replica functional over n."""
    k = without_linear_part(kernel)
    A, B = k(mpf(1)) - k(q), k(mpf(1)) - 2 * k(R) + k(q) + noise
    if not replicas:
        entropy = mp.log(1 - q) / 2 + (q - R**2) / (2 * (1 - q))
        return load / 2 * (mp.log(1 + beta * A) + beta * B / (1 + beta * A)) - entropy
    n = replicas
    energy = (n - 1) * mp.log(1 + beta * A) + mp.log(1 + beta * A + n * beta * B)
    entropy = (n - 1) * mp.log(1 - q) + mp.log(1 - q + n * (q - R**2))
    return (load * energy - entropy) / (2 * n)


def annealed(kernel: Kernel, R: mpf, load: mpf, beta: mpf, noise: mpf) -> mpf:
    """βf/K."""
    k = without_linear_part(kernel)
    error = k(mpf(1)) - k(R)
    return load / 2 * mp.log(1 + beta * (2 * error + noise)) - mp.log(1 - R**2) / 2


def extremum(kernel: Kernel, R: float, q: float, load: float, beta: float, noise: float):
    """The stationary (R, q) next to a guess, by the secant method on differences of `quenched`."""
    load, beta, noise = mpf(load), mpf(beta), mpf(noise)

    def slopes(R: mpf, q: mpf) -> tuple[mpf, mpf]:
        f = lambda R, q: quenched(kernel, R, q, load, beta, noise)  # noqa: E731
        return mp.diff(f, (R, q), (1, 0)), mp.diff(f, (R, q), (0, 1))

    with mp.workdps(DIGITS):
        return mp.findroot(slopes, (mpf(R), mpf(q)), tol=mpf(10) ** -40)

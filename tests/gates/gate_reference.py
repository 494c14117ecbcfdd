"""Gates in mpmath at 40 digits: sums and integrals by their definition."""

import equinox as eqx
import mpmath as mp
import numpy as np

import tutelage as tl
from tutelage._jax import jax, jnp

mp.mp.dps = 40

GATES = {
    "two": tl.gates.Gate([0, 1]),
    "signs": tl.gates.Gate([-1, 1]),
    "weighted": tl.gates.Gate([0, 0.5, 2], weights=[1, 3, 0.5]),
    "high": tl.gates.Gate([10, 11]),
    "single": tl.gates.Gate([1]),
    "wide": tl.gates.Interval(-1, 3),
}
EPSILON = float(np.finfo(float).eps)


def log_partition(gate, t):
    """A(t) = log Σ w exp(st), or log ∫ ds exp(st)."""
    t = mp.mpf(t)
    if isinstance(gate, tl.gates.Interval):
        if t == 0:
            return mp.log(mp.mpf(gate.high) - mp.mpf(gate.low))
        return mp.log((mp.exp(t * gate.high) - mp.exp(t * gate.low)) / t)
    pairs = zip(gate.states, gate.weights, strict=True)
    return mp.log(mp.fsum(mp.mpf(w) * mp.exp(mp.mpf(s) * t) for s, w in pairs))


def cumulants(gate, t):
    """A', A'' and A''' at t from the moments of the state around the exact mean."""
    t = mp.mpf(t)
    if isinstance(gate, tl.gates.Interval):
        return _of_interval(gate, t)
    s, w = [mp.mpf(x) for x in gate.states], [mp.mpf(x) for x in gate.weights]
    p = [a * mp.exp(b * t) for a, b in zip(w, s, strict=True)]
    Z = mp.fsum(p)
    mean = mp.fdot(p, s) / Z
    central = [mp.fsum(a * (b - mean) ** n for a, b in zip(p, s, strict=True)) / Z for n in (2, 3)]
    return mean, *central


def _of_interval(gate, t):
    """From coth x − 1/x and its derivatives; near 0 they cancel, which more digits pay for."""
    c, half = mp.mpf(gate.low + gate.high) / 2, mp.mpf(gate.high - gate.low) / 2
    if t == 0:
        return c, half**2 / 3, mp.mpf(0)
    with mp.workdps(80):
        x = half * t
        sinh = mp.sinh(x)
        mean = c + half * (mp.coth(x) - 1 / x)
        variance = half**2 * (1 / x**2 - 1 / sinh**2)
        third = half**3 * (2 * mp.coth(x) / sinh**2 - 2 / x**3)
    return mean, variance, third


def entropy(gate, t):
    """−Σ p log(p/w), state by state; of an interval A − t A'."""
    t = mp.mpf(t)
    A = log_partition(gate, t)
    if isinstance(gate, tl.gates.Interval):
        return A - t * cumulants(gate, t)[0]
    pairs = zip(gate.states, gate.weights, strict=True)
    return mp.fsum(w * mp.exp(s * t - A) * (A - s * t) for s, w in pairs)


@eqx.filter_jit
def everything(g, x):
    """The activation and its two derivatives, and the automatic derivatives of these three."""
    functions = (g, g.derivative, g.second_derivative)
    return [f(x) for f in functions], [jax.vmap(jax.grad(f))(x) for f in functions]


@eqx.filter_jit
def of_gate(gate, t):
    """A, its three derivatives and the entropy: one compilation for all."""
    values = gate.log_partition(1.0, t), gate.mean(1.0, t), gate.variance(1.0, t)
    return *values, gate._third(t), gate._entropy(t)


@eqx.filter_jit
def by_autodiff(gate, beta, h):
    """∂_h log Z, ∂_β log Z, ∂⟨j⟩/∂h and β² ∂F/∂β."""

    def free_energy(b, x):
        return tl.gates.thermodynamics(gate, b, x).free_energy

    at = jax.grad(gate.log_partition, argnums=(1, 0))(beta, h)
    factor = jax.grad(gate.transmitted, argnums=1)(beta, h)
    return *at, factor, beta**2 * jax.grad(free_energy)(beta, h)


def with_noise(kind, gate, beta):
    """An activation whose β is an array, so that another β does not compile again."""
    return kind(gate, jnp.asarray(float(beta)))

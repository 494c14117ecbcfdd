"""Speed of equilibrium at a temperature, on one core.

    python benchmarks/temperature.py

CPU seconds after compilation.  Each row states its target.
"""

import math
import time

import equinox as eqx
import numpy as np
from rich.console import Console
from rich.table import Table

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.equilibrium.kernel.pair_error import PairError
from tutelage.equilibrium.sampling.examples import GibbsOfExamples

TEMPERATURES = np.geomspace(0.01, 1.0, 40)


def cpu_seconds(*calls, repeats=5):
    """Best of several rounds of all calls, after a first one.

    Calls alternate: a ratio does not depend on what else the machine does meanwhile.
    """
    best = np.full(len(calls), np.inf)
    for number in range(1 + repeats):
        for i, call in enumerate(calls):
            start = time.process_time()
            jax.block_until_ready(call())
            if number:
                best[i] = min(best[i], time.process_time() - start)
    return best


def state_row(table, activation):
    """One state after the transitions of its temperature are known."""
    loads = iter(np.linspace(9.0, 15.0, 6))
    call = lambda: tl.equilibrium.states(activation, math.inf, next(loads), temperature=0.1)  # noqa: E731
    (seconds,) = cpu_seconds(call)
    table.add_row(f"{activation.name}: a state", f"{1e3 * seconds:.2f} ms", "milliseconds")


def transitions_row(table, activation):
    """Transitions at new temperatures, against the limit of high temperature."""
    temperatures = iter(np.linspace(0.1, 0.3, 11))
    hot, cold = cpu_seconds(
        lambda: tl.equilibrium.transitions(activation, math.inf),
        lambda: tl.equilibrium.transitions(activation, math.inf, temperature=next(temperatures)),
        repeats=10,
    )
    table.add_row(
        f"{activation.name}: transitions at one temperature",
        f"{1e3 * cold:.0f} ms",
        f"{cold / hot:.1f} times the limit of high temperature ({1e3 * hot:.1f} ms); target 10",
    )


def diagram_row(table):
    """A phase diagram of 40 temperatures with 100 loads."""
    start = time.process_time()
    tl.sweeps.run(
        tl.equilibrium.phases,
        {"temperature": TEMPERATURES},
        activation=tl.Erf(),
        units=math.inf,
        loads=np.linspace(0.2, 30, 100),
        label_noise=0.3,
        workers=1,
    )
    seconds = time.process_time() - start
    table.add_row("erf: 40 temperatures, 100 loads", f"{seconds:.1f} s", "target one minute")


@eqx.filter_jit
def force(gibbs, J):
    return gibbs.force(J, jnp.asarray(10.0))


@eqx.filter_jit
def products(gibbs, J):
    """The two products of matrices of a gradient, and the activation."""

    def of_set(arrays):
        inputs, weights = arrays
        fields = weights.reshape(-1, weights.shape[-1]) @ inputs.T
        return gibbs.error.scenario.student.activation(fields) @ inputs

    sets = J.reshape(-1, gibbs.replicas, *J.shape[1:])
    return jax.lax.map(of_set, (gibbs.inputs, sets))


def gradient_row(table, activation, K=8, N=48, load=6.0, chains=16):
    """A gradient of the energy of the examples."""
    committee, rng = tl.Committee(K, activation), np.random.default_rng(0)
    error = PairError(tl.Scenario(committee, committee, output_scale=K**-0.5, label_noise=0.3))
    teachers = jnp.asarray(np.linalg.qr(rng.normal(size=(N, K)))[0].T)
    J = rng.normal(size=(chains, K, N))
    J = jnp.asarray(J / np.linalg.norm(J, axis=-1, keepdims=True))
    draw = jax.random.key(0), chains // 2, round(load * K * N), 2
    gibbs = GibbsOfExamples.draw(error, teachers, *draw)
    own, least = cpu_seconds(lambda: force(gibbs, J), lambda: products(gibbs, J), repeats=40)
    table.add_row(
        f"{activation.name}: gradient, K = {K}, N = {N}, α̃ = {load:g}, {chains} chains",
        f"{1e3 * own:.2f} ms",
        f"{own / least:.2f} times its products and activation; target 1.5",
    )


def main():
    table = Table("what", "CPU time", "against", title="equilibrium at a temperature")
    for activation in (tl.Erf(), tl.ReLU(), tl.GELU()):
        transitions_row(table, activation)
        state_row(table, activation)
    diagram_row(table)
    for activation in (tl.Erf(), tl.ReLU(), tl.GELU()):
        gradient_row(table, activation)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()

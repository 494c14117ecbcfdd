"""Speed of units without closed forms, on one core.

    make bench

Seconds are CPU seconds after compilation unless a row says otherwise. Ratios are to the
alternative named in the row, in the same run.
"""

import os
import subprocess
import sys
import time

import equinox as eqx
import numpy as np
from online import committee
from rich.console import Console
from rich.table import Table

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.online import Flow, evolve

CURVE = {"learning_rate": 0.5, "until": 100, "tolerance": 1e-8}


def cpu_seconds(call, repeats=6):
    """First call, best of the others, and the last result."""
    times = []
    for _ in range(1 + repeats):
        start = time.process_time()
        result = jax.block_until_ready(call())
        times.append(time.process_time() - start)
    return times[0], min(times[1:]), result


def somewhere(units):
    """Overlaps without symmetry, of norms about 1, as they are amid learning."""
    J = np.random.default_rng(units).normal(size=(units, 3 * units)) / np.sqrt(3 * units)
    return tl.Overlaps.from_weights(J, np.eye(units, 3 * units))


@eqx.filter_jit
def second_order(flow, overlaps):
    return flow.moments.second_order(overlaps)


@eqx.filter_jit
def right_hand_side(flow, overlaps):
    return flow(overlaps, jnp.asarray(0.5))


def right_hand_side_rows(table, sizes=(2, 3, 4)):
    """The whole right-hand side against ⟨δ_i δ_k⟩ alone by four-dimensional rules."""
    for K in sizes:
        scenario, _ = committee(K, tl.GELU())
        state, flow = somewhere(K), Flow(scenario)
        first, fast, _ = cpu_seconds(lambda f=flow, s=state: right_hand_side(f, s).Q, 9)
        slow_flow = Flow(scenario, "quadrature")
        _, slow, by_rules = cpu_seconds(lambda f=slow_flow, s=state: second_order(f, s), 1)
        apart = np.max(np.abs(second_order(flow, state) - by_rules))
        table.add_row(
            f"GELU, K = M = {K}: one right-hand side",
            f"{1e3 * fast:.2f} ms",
            f"{slow / fast:,.0f} times faster than ⟨δδ⟩ by four-dimensional rules ({slow:.1f} s), "
            f"which are {apart:.1e} away; error by a finer rule below "
            f"{flow.moments.error(state):.1e}; target {20 if K == 2 else 300} times, 1e-8; "
            f"first call {first:.1f} s",
        )


def curve_rows(table):
    """A curve against that of the ReLU; first calls each in a new process."""
    seconds = {}
    for name, unit in (("ReLU", tl.ReLU()), ("GELU", tl.GELU())):
        scenario, start = committee(3, unit)
        seconds[name] = cpu_seconds(lambda s=scenario, o=start: evolve(s, o, **CURVE).R.values)[1]
    table.add_row(
        "GELU, K = M = 3, η = 0.5, to α = 100",
        f"{seconds['GELU']:.2f} s",
        f"{seconds['GELU'] / seconds['ReLU']:.0f} times the ReLU's {1e3 * seconds['ReLU']:.0f} ms; "
        "target 60",
    )
    first = {name: alone("first_call", name) for name in FIRST}
    relu, _ = first.pop("ReLU")
    for name, (compiled, _) in first.items():
        table.add_row(
            f"first call of that curve in a new process, {name}",
            f"{compiled:.1f} s",
            f"{compiled / relu:.1f} times the ReLU's {relu:.1f} s; target 3",
        )


FIRST = {
    "ReLU": tl.ReLU,
    "GELU": tl.GELU,
    "tanh": tl.Tanh,
    "erf": tl.Erf,
    "sin": lambda: tl.Activation.from_function(jnp.sin, parity="odd"),
}


def first_call(name):
    scenario, start = committee(3, FIRST[name]())
    evolve(scenario, start, **CURVE)


def eight_units():
    flow = Flow(committee(8, tl.GELU())[0])
    jax.block_until_ready(right_hand_side(flow, somewhere(8)).Q)


def alone(function, *arguments):
    """CPU seconds of a call in a new process without a compilation cache, and its peak in MB."""
    code = f"""
import resource, time
from units import {function}
start = time.process_time()
{function}{arguments!r}
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
"""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return [float(x) for x in done.stdout.split()[-2:]]


def large_rows(table):
    """Memory at K = M = 8, and many units in the limit η → 0."""
    seconds, megabytes = alone("eight_units")
    table.add_row(
        "GELU, K = M = 8: first right-hand side, compiled and computed",
        f"{seconds:.1f} s",
        f"{megabytes / 1e3:.2f} GB at most, all libraries included; target below 1 GB",
    )
    scenario, _ = committee(17, tl.ReLU())
    start = time.process_time()
    flow, state = Flow(scenario, limit=True), somewhere(17)
    built = time.process_time() - start
    limit = eqx.filter_jit(lambda flow, overlaps: flow(overlaps, 0).Q)
    first, best, _ = cpu_seconds(lambda: limit(flow, state), 9)
    table.add_row(
        "ReLU, K = M = 17, η → 0: one right-hand side",
        f"{1e3 * best:.2f} ms",
        f"{built:.2f} s to prepare, {first:.1f} s for the first call; target milliseconds",
    )


if __name__ == "__main__":
    load = f"load {os.getloadavg()[0]:.1f} when begun" if hasattr(os, "getloadavg") else ""
    table = Table(title=f"units without closed forms, one core, {load}")
    for column in ("work", "time", "compared"):
        table.add_column(column)
    for rows in (curve_rows, large_rows, right_hand_side_rows):
        rows(table)
    Console(width=None if sys.stdout.isatty() else 150).print(table)

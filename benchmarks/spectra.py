"""Speed of Hessian spectra, after compilation, on two cores.

    make bench

Each row is compared with a plain loop over compiled products with the Hessian, in the same run.
Seconds are CPU seconds of both cores together.
"""

import os
import sys
import time

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))

import numpy as np
from jax.flatten_util import ravel_pytree
from rich.console import Console
from rich.table import Table

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.spectra.objective import Loss


def seconds(call, repeats=3):
    """First call, best of the others, and the last result."""
    times = []
    for _ in range(1 + repeats):
        start = time.process_time()
        result = call()
        times.append(time.process_time() - start)
    return times[0], min(times[1:]), result


def loss_of(network, examples):
    return Loss(network, jnp.asarray(examples.inputs), jnp.asarray(examples.labels))


def product_of(loss, parameters):
    """v → H v, compiled, and the number of parameters."""
    flat, shape = ravel_pytree(parameters)
    slope = jax.grad(lambda v: loss(shape(v)))
    compiled = jax.jit(lambda x, v: jax.jvp(slope, (x,), (v,))[1])
    compiled(flat, flat).block_until_ready()
    return lambda v: compiled(flat, v), flat.size


def plain_loop(loss, parameters):
    """One column after the other, then the eigenvalues."""
    product, n = product_of(loss, parameters)
    start = time.process_time()
    λ = np.linalg.eigvalsh(np.array([product(e) for e in np.eye(n)]))
    return time.process_time() - start, λ


def small_row(table):
    line = tl.spectra.linear_examples()
    network = tl.spectra.Classifier(line.sizes(10), tl.Swish())
    first, best, run = seconds(lambda: tl.spectra.train(network, line, epochs=2300, runs=20))
    shape = ravel_pytree(network.initial(jax.random.key(0)))[1]
    end = shape(jnp.asarray(run["final_parameters"].values[0]))
    loop, λ = plain_loop(loss_of(network, line), end)
    error = np.max(np.abs(λ - run["eigenvalues"].values[0, -1])) / λ[-1]
    table.add_row(
        "2-10-1, 20 seeds, 2300 epochs, 60 dense spectra of each",
        f"{best:.1f} s",
        f"first call {first:.1f} s; the loop takes {1200 * loop:.1f} s for the spectra alone "
        f"(1200 times one), eigenvalues apart by {error:.0e}; target 10 s",
    )


def digits_row(table):
    images = tl.spectra.digits()
    network = tl.spectra.Classifier(images.sizes(25), tl.Swish())
    loss, start = loss_of(network, images), network.initial(jax.random.key(0))
    first, best, λ = seconds(lambda: tl.spectra.hessian_eigenvalues(loss, start))
    loop, other = plain_loop(loss, start)
    error = np.max(np.abs(λ - other)) / λ[-1]
    table.add_row(
        "64-25-10 on the digits, one dense spectrum of 1885 parameters",
        f"{best:.1f} s",
        f"first call {first:.1f} s; {loop / best:.1f} times faster than the loop, "
        f"eigenvalues apart by {error:.0e}; target 8 s",
    )


def large_row(table):
    random = np.random.default_rng(0)
    y = np.arange(1000) % 10
    points = tl.spectra.examples(random.normal(size=(1000, 64)) + 2 * np.eye(10, 64)[y], y)
    network = tl.spectra.Classifier((64, 270, 290, 10), tl.Swish())
    loss, start = loss_of(network, points), network.initial(jax.random.key(0))
    first, best, result = seconds(lambda: tl.spectra.density(loss, start), 1)
    product, n = product_of(loss, start)
    v = random.normal(size=n)
    clock = time.process_time()
    for _ in range(20):
        product(v).block_until_ready()
    loop = (time.process_time() - clock) / 20 * result["nodes"].size
    table.add_row(
        f"density of {n:,} parameters on 1000 points, {result['nodes'].size} products",
        f"{best:.1f} s",
        f"first call {first:.1f} s; as many products in a loop, without orthogonalisation, take "
        f"{loop:.1f} s; largest standard error "
        f"{float((result.density_error / result.density.max()).max()):.1%}; target 30 s",
    )
    _, best, ends = seconds(lambda: tl.spectra.extreme_eigenvalues(loss, start))
    table.add_row(
        "its lowest and highest eigenvalue",
        f"{best:.1f} s",
        f"{ends.lowest.value[0]:.4f} ± {ends.lowest.error[0]:.0e}, "
        f"{ends.highest.value[0]:.4f} ± {ends.highest.error[0]:.0e}",
    )


if __name__ == "__main__":
    table = Table(title="spectra, two cores")
    for column in ("work", "time", "compared"):
        table.add_column(column)
    for row in (small_row, digits_row, large_row):
        row(table)
    Console(width=None if sys.stdout.isatty() else 150).print(table)

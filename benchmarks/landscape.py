"""Cost of a landscape on one core: many descents of K = M = 17, and one gradient beside NumPy's.

    make bench, or: python benchmarks/landscape.py [STARTS]

Seconds are CPU seconds.
"""

import os
import sys
import time

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from rich.console import Console
from rich.table import Table

import tutelage as tl
from tutelage._jax import jnp
from tutelage.online.stationary.landscape_descent import random_starts
from tutelage.online.stationary.landscape_gradient import Landscape, descend, forces

UNITS, DIMENSION, BATCH, STEPS = 17, 34, 64, 250
STARTS = 1000


def force_by_numpy(W):
    """The gradient as it is usually written: arrays of NumPy, no compiler."""
    K, M, d = UNITS, UNITS, W.shape[-1]
    J = np.concatenate([W, np.broadcast_to(np.eye(M, d), (len(W), M, d))], axis=1)
    C = W @ J.transpose(0, 2, 1)
    q = np.sum(J**2, axis=-1)
    sign = np.repeat([-1.0, 1.0], [K, M])
    area = np.sqrt(np.maximum(q[:, :K, None] * q[:, None] - C**2, 0.0))
    A = sign * (np.pi - np.arctan2(area, C)) / (2 * np.pi)
    own = np.arange(K)
    A[:, own, own], area[:, own, own] = -0.5, 0.0
    along = np.sum(sign * area, axis=-1) / (2 * np.pi * q[:, :K])
    return A @ J + along[..., None] * W


def seconds(call, repeats=5):
    """The best of several calls, after one that compiles."""
    call()
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def main():
    starts = int(sys.argv[1]) if len(sys.argv) > 1 else STARTS
    committee = tl.Committee(UNITS, tl.ReLU())
    scenario = tl.Scenario(committee, committee)
    landscape = Landscape(scenario)
    W = random_starts(np.random.default_rng(0), BATCH, UNITS, UNITS, DIMENSION, 1.0)
    error = np.max(np.abs(np.asarray(forces(landscape, jnp.asarray(W))) - force_by_numpy(W)))
    rates = np.full(BATCH, 0.2)
    ours = seconds(lambda: np.asarray(descend(landscape, jnp.asarray(W), rates, STEPS)[0]))
    theirs = seconds(lambda: force_by_numpy(W))
    start = time.process_time()
    minima = tl.online.landscape(scenario, starts=starts, dimension=DIMENSION)
    total = time.process_time() - start
    table = Table("ReLU, K = M = 17, d = 34", "value")
    table.add_row("one gradient, in a batch of 64", f"{ours / BATCH / STEPS * 1e6:.1f} µs")
    table.add_row("one gradient by NumPy, same batch", f"{theirs / BATCH * 1e6:.1f} µs")
    table.add_row("largest difference of the two", f"{error:.1e}")
    table.add_row(f"landscape of {starts} starts, compilation included", f"{total:.1f} s")
    table.add_row("  for 10,000 starts, in proportion", f"{total / starts * 1e4:.0f} s")
    table.add_row("  gradients for each start", f"{minima.attrs['gradients'] / starts:.0f}")
    table.add_row("  not settled", str(minima.attrs["unsettled"]))
    for level in np.flatnonzero(minima.share.values > 0):
        one = minima.isel(level=int(level))
        share = f"{100 * float(one.share):.2f} ± {100 * float(one.share_error):.2f} %"
        table.add_row(f"  ε_g = {float(one.generalization_error):.10f}, {one.family.item()}", share)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()

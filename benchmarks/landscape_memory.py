"""Memory of a landscape: the largest resident memory of a fresh process for each part and size.

    python benchmarks/landscape_memory.py

Prints it less the memory of three units, and divided by the estimate by which
`tutelage.online.landscape` refuses committees that are too large.
"""

import os
import subprocess
import sys

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import resource

import numpy as np

import tutelage as tl
from tutelage._jax import jnp
from tutelage.online.stationary.landscape import descent_bytes, newton_bytes
from tutelage.online.stationary.landscape_descent import Atlas
from tutelage.online.stationary.landscape_gradient import Landscape, descend
from tutelage.online.stationary.landscape_hessian import polished, spectrum

STATES = 162
CASES = [
    *(("Newton", "ReLU", K, M) for K, M in ((24, 24), (32, 32), (40, 40), (48, 48))),
    *(("Newton", "ReLU", K, M) for K, M in ((56, 28), (28, 56))),
    *(("Newton", "Erf", K, M) for K, M in ((16, 16), (24, 24), (32, 32), (30, 15), (15, 30))),
    *(("Newton", "GELU", K, M) for K, M in ((16, 16), (24, 24), (32, 32))),
    *(("descent", "ReLU", K, M) for K, M in ((40, 40), (80, 80), (120, 120), (80, 40), (40, 80))),
    *(("descent", "Erf", K, M) for K, M in ((64, 64), (96, 96))),
    *(("descent", "GELU", K, M) for K, M in ((64, 64), (96, 96))),
]


def resident():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(part, unit, K, M):
    """Print the memory of one part, in this process."""
    g, rng = getattr(tl, unit)(), np.random.default_rng(0)
    Atlas(tl.Scenario(tl.Committee(3, g), tl.Committee(3, g))).add_families()
    before = resident()
    landscape = Landscape(tl.Scenario(tl.Committee(K, g), tl.Committee(M, g)))
    W = np.eye(K, M) + 0.05 * rng.standard_normal((STATES, K, M)) / np.sqrt(M)
    if part == "Newton":
        spectrum(landscape, polished(landscape, W[0], 2).x)
        estimate = newton_bytes(K, M, unit == "ReLU")
    else:
        descend(landscape, jnp.asarray(W), np.full(STATES, 0.1), 2)[0].block_until_ready()
        estimate = descent_bytes(K, M, STATES)
    taken = resident() - before
    words = f"{taken / 2**20:.0f} MiB, {taken / estimate:.2f} of the estimate"
    print(f"{part}, {unit}, K = {K}, M = {M}: {words}", flush=True)


def main():
    if len(sys.argv) > 1:
        part, unit, K, M = sys.argv[1:]
        return measure(part, unit, int(K), int(M))
    for case in CASES:
        subprocess.run([sys.executable, __file__, *map(str, case)], check=True)


if __name__ == "__main__":
    main()
